/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Real processes for tests: a parent that knows at every moment where its
 * children are, without sleeping and without a clock.
 *
 *   parent                          child k
 *   wt_procs_open(n, fn) -- fork -> fn(p)
 *   wt_procs_expect(k, 'a') <------ wt_proc_say(p, 'a')
 *   wt_procs_go(k) ---------------> wt_proc_await(p) returns
 *   wt_procs_signal(k, SIGKILL)
 *   wt_procs_end(k) <-------------- return, exit, or death
 *
 * Marks travel over a pipe per child, which the kernel closes when the child
 * ends, however it ends. Every wait of the parent is bounded; it fails the test
 * with what the child had to say. Children die with the parent.
 *
 * Children must not use Criterion: they call wt_proc_check, which ends them.
 */
#ifndef WT_PROC_H
#define WT_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { WT_PROCS = 64, WT_PROC_WHY_BYTES = 640 };

struct wt_procs;

/** A child's view of itself. */
struct wt_proc {
    uint32_t self;
    uint32_t n;
    void *shared; /* seen by all children and the parent */
    void *arg;
    int say_fd;
    int go_fd;
    char *why; /* in shared memory */
};

typedef void (*wt_proc_fn)(struct wt_proc *p);

/** Fork n children. shared_bytes of zeroed memory are seen by all. Fails the
 *  test on error. The parent must have one thread. */
struct wt_procs *wt_procs_open(uint32_t n, size_t shared_bytes, wt_proc_fn fn,
                               void *arg);

/** Every child has ended (wt_procs_end was called): free. */
void wt_procs_close(struct wt_procs *ps);

void *wt_procs_shared(struct wt_procs *ps);
pid_t wt_procs_pid(const struct wt_procs *ps, uint32_t k);

/** The next mark of child k is this one; fails the test if it is another, if
 *  the child ends, or after a minute. */
void wt_procs_expect(struct wt_procs *ps, uint32_t k, char mark);
void wt_procs_expect_all(struct wt_procs *ps, char mark);

/** True if child k says something (or ends) within ns. The one place where
 *  time passes: for tests of what must *not* happen. */
bool wt_procs_stirs(struct wt_procs *ps, uint32_t k, uint64_t ns);

void wt_procs_go(struct wt_procs *ps, uint32_t k);
void wt_procs_go_all(struct wt_procs *ps);

void wt_procs_signal(struct wt_procs *ps, uint32_t k, int signal_number);

/** Wait until child k is stopped (after SIGSTOP). */
void wt_procs_stopped(struct wt_procs *ps, uint32_t k);

/** Wait for the end of child k; returns its status as waitpid has it. Fails the
 *  test after a minute, and if the child complained. */
int wt_procs_end(struct wt_procs *ps, uint32_t k);

/** Child k returns from its function, or calls exit(0), in time. */
void wt_procs_end_well(struct wt_procs *ps, uint32_t k);

/* ---- in children --------------------------------------------------------- */

void wt_proc_say(struct wt_proc *p, char mark);
void wt_proc_await(struct wt_proc *p);

/** End the child with this complaint. */
void wt_proc_die(struct wt_proc *p, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

#define wt_proc_check(p, ok, ...)                                              \
    do {                                                                       \
        if (!(ok)) {                                                           \
            wt_proc_die((p), __VA_ARGS__);                                     \
        }                                                                      \
    } while (0)

/** Monotonic nanoseconds, the same in all processes. */
uint64_t wt_now_ns(void);

#endif /* WT_PROC_H */
