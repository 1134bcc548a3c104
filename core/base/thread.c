/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting threads, and what to say when there is none to be had.
 *
 * pthread_create gives EAGAIN alike for four limits (pids.max of a control
 * group, RLIMIT_NPROC, threads-max, pid_max) and for lack of memory for the
 * stack. Which one it was is found out afterwards.
 */
#include "core/base/thread.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "core/base/err.h"
#include "core/base/proc.h"

/* ---- limits -------------------------------------------------------------- */

static void take_group(void *arg, const char *dir)
{
    uint64_t *full = arg; /* pids.max of a group that is full, or 0 */
    char text[WI_PROC_TEXT];
    uint64_t most = 0;
    uint64_t used = 0;
    wi_proc_read(text, dir, "pids.max");
    if (!wi_proc_number(text, "", &most)) {
        return; /* "max", or no such file */
    }
    wi_proc_read(text, dir, "pids.current");
    if (wi_proc_number(text, "", &used) && used >= most) {
        *full = most;
    }
}

/* The number in one file of /proc/sys/kernel, UINT64_MAX if there is none. */
static uint64_t setting(const char *root, const char *file)
{
    char text[WI_PROC_TEXT];
    uint64_t value = UINT64_MAX;
    wi_proc_read(text, root, file);
    (void)wi_proc_number(text, "", &value);
    return value;
}

/* Threads of the whole host: "0.00 0.01 0.05 2/345 6789" says 345. */
static uint64_t threads_of_host(const char *root)
{
    char text[WI_PROC_TEXT];
    uint64_t n = 0;
    wi_proc_read(text, root, "proc/loadavg");
    const char *slash = strchr(text, '/');
    return slash != NULL && wi_proc_number(slash + 1, "", &n) ? n : 0;
}

void wi_thread_limit(const char *root, char *text, size_t room)
{
    struct rlimit user = {.rlim_cur = RLIM_INFINITY};
    struct rlimit stack = {.rlim_cur = RLIM_INFINITY};
    uint64_t group = 0;
    uint64_t host = wi_min_u64(setting(root, "proc/sys/kernel/threads-max"),
                               setting(root, "proc/sys/kernel/pid_max"));
    (void)getrlimit(RLIMIT_NPROC, &user);
    (void)getrlimit(RLIMIT_STACK, &stack);
    wi_proc_groups(root, take_group, &group);
    if (group != 0) {
        (void)snprintf(text, room,
                       "the control group has its %" PRIu64
                       " threads (pids.max): raise it",
                       group);
    } else if (threads_of_host(root) >= host - host / 64) {
        (void)snprintf(text, room,
                       "the host has its %" PRIu64
                       " threads (sysctl kernel.threads-max and "
                       "kernel.pid_max): raise them",
                       host);
    } else if (user.rlim_cur != RLIM_INFINITY) {
        (void)snprintf(text, room,
                       "this user may have %" PRIu64
                       " threads (RLIMIT_NPROC): raise \"ulimit -u\"",
                       (uint64_t)user.rlim_cur);
    } else {
        (void)snprintf(text, room,
                       "no memory for a stack of %" PRIu64
                       " KiB (RLIMIT_STACK, RLIMIT_AS): lower \"ulimit -s\" or "
                       "raise \"ulimit -v\"",
                       (uint64_t)stack.rlim_cur / 1024);
    }
}

/* ---- starting ------------------------------------------------------------ */

weir_err wi_thread_start(pthread_t *out, void *(*fn)(void *arg), void *arg,
                         const char *what, struct weir_error *err)
{
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* inherited */
    int rc = pthread_create(&thread, NULL, fn, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        char limit[160];
        wi_thread_limit("", limit, sizeof(limit));
        return wi_fail(err, WEIR_ERR_SYSTEM, "no thread for %s: %s; %s", what,
                       strerror(rc), limit);
    }
    if (out == NULL) {
        (void)pthread_detach(thread);
    } else {
        *out = thread;
    }
    return WEIR_OK;
}
