/* SPDX-License-Identifier: Apache-2.0 */
/** futex(2) on words that may lie in memory shared between processes. */
#ifndef WI_BASE_FUTEX_H
#define WI_BASE_FUTEX_H

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/** Sleep while *word == value, at most timeout_ns (UINT64_MAX: forever). May
 *  return early for no reason. */
static inline void wi_futex_wait(_Atomic uint32_t *word, uint32_t value,
                                 uint64_t timeout_ns)
{
    struct timespec ts = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                          .tv_nsec = (long)(timeout_ns % 1000000000u)};
    (void)syscall(SYS_futex, word, FUTEX_WAIT, value,
                  timeout_ns == UINT64_MAX ? NULL : &ts, NULL, 0);
}

static inline void wi_futex_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/** Let another thread that waits for this processor run first. Only before a
 *  sleep, never in place of one: what ends the wait must still wake the
 *  sleeper. */
static inline void wi_give_turn(void)
{
    (void)sched_yield();
}

#endif /* WI_BASE_FUTEX_H */
