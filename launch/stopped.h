/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A process that stands still because a signal has stopped it (SIGSTOP, ^Z, a
 * debugger): everybody waits for it, and nothing else says so.
 */
#ifndef WL_STOPPED_H
#define WL_STOPPED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** One child; zeroed at first. written by: its parent */
struct wl_stopped {
    uint64_t since_ns; /* it was seen stopped; 0: it runs */
    bool told;
};

/**
 * Look at a child of this process.
 *
 * @param now_ns      any clock's time, above 0
 * @param after_ns    how long it may be stopped before that is reported
 * @param signal_out  [out] that stopped it; set if true is returned
 *
 * Returns:    true once for each stop that lasts this long
 * Errors:     none
 * Blocks:     never; what wait() says of the child later is not changed
 * Threads:    one
 * Ownership:  nothing
 */
bool wl_stopped_look(struct wl_stopped *s, pid_t pid, uint64_t now_ns,
                     uint64_t after_ns, int *signal_out);

#endif /* WL_STOPPED_H */
