/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process dies between clearing `parked` of a peer's sleeping worker and
 * the system call that would wake it. No kill can be aimed at that moment, so
 * the test does to the bell what the dying process did.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/ring/ready.h"

enum { IDS = 64 };

struct sleeper {
    struct wi_bell *bell;
    _Atomic long tid;
    bool woken;
};

static void *sleep_on(void *arg)
{
    struct sleeper *s = arg;
    wi_store_sc(&s->tid, syscall(SYS_gettid)); /* read by the test */
    s->woken = wi_bell_park(s->bell, IDS, UINT64_MAX);
    return NULL;
}

/* State of a thread of this process, as the kernel has it; 'S' is asleep. */
static char thread_state(long tid)
{
    char path[64];
    char line[512] = "";
    (void)snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", tid);
    FILE *f = fopen(path, "re");
    if (f != NULL) {
        (void)!fgets(line, sizeof(line), f);
        (void)fclose(f);
    }
    const char *end = strrchr(line, ')');
    return end != NULL ? end[2] : '?';
}

Test(fault_wake, waker_that_died_half_way, .timeout = 30)
{
    struct wi_bell *bell = aligned_alloc(WI_CACHE_LINE, wi_bell_bytes(IDS));
    cr_assert_neq(bell, NULL);
    memset(bell, 0, wi_bell_bytes(IDS));
    struct sleeper s = {.bell = bell};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, sleep_on, &s), 0);
    while (wi_load_sc(&bell->parked) != WI_PARKED ||
           thread_state(wi_load_sc(&s.tid)) != 'S') {
        (void)sched_yield();
    }
    wi_store_sc(&bell->parked, WI_AWAKE); /* and then it died */
    /* Whoever comes next takes the worker for awake. */
    cr_assert_eq(wi_bell_mark(bell, IDS, 7), WI_WAKE_NONE);
    cr_assert_eq(thread_state(wi_load_sc(&s.tid)), 'S');
    wi_bell_rouse(bell, WI_ATTN_EVENT);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert(s.woken);
    cr_assert_eq(wi_bell_take_attn(bell), WI_ATTN_EVENT);
    free(bell);
}
