/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/proc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/cc.h"

static const uint64_t patience_ns = 60 * 1000000000ull;

enum { COMPLAINED = 3, LEAKED = 4 };

struct child {
    pid_t pid; /* 0: reaped */
    int status;
    int say_fd;
    int go_fd;
};

struct wt_procs {
    uint32_t n;
    size_t map_bytes;
    char (*why)[WT_PROC_WHY_BYTES];
    void *shared;
    struct child child[WT_PROCS];
};

#if defined(__SANITIZE_ADDRESS__)
int __lsan_do_recoverable_leak_check(void);
/* Children leave by _exit, where nobody else would look. */
static int leave_code(void)
{
    return __lsan_do_recoverable_leak_check() != 0 ? LEAKED : 0;
}
#else
static int leave_code(void)
{
    return 0;
}
#endif

uint64_t wt_now_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- in children --------------------------------------------------------- */

void wt_proc_die(struct wt_proc *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(p->why, WT_PROC_WHY_BYTES, fmt, args);
    va_end(args);
    _exit(COMPLAINED);
}

void wt_proc_say(struct wt_proc *p, char mark)
{
    wt_proc_check(p, write(p->say_fd, &mark, 1) == 1, "say: %s",
                  strerror(errno));
}

void wt_proc_await(struct wt_proc *p)
{
    char c;
    ssize_t got;
    do {
        got = read(p->go_fd, &c, 1);
    } while (got < 0 && errno == EINTR);
    wt_proc_check(p, got == 1, "await: the parent has gone");
}

/* ---- the parent ---------------------------------------------------------- */

static void *map_shared(size_t bytes)
{
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(map, MAP_FAILED, "%zu shared bytes", bytes);
    return map;
}

static void run_child(struct wt_procs *ps, uint32_t k, wt_proc_fn fn, void *arg,
                      int say_fd, int go_fd)
{
    struct wt_proc p = {.self = k,
                        .n = ps->n,
                        .shared = ps->shared,
                        .arg = arg,
                        .say_fd = say_fd,
                        .go_fd = go_fd,
                        .why = ps->why[k]};
    fn(&p);
    _exit(leave_code());
}

static void start(struct wt_procs *ps, uint32_t k, wt_proc_fn fn, void *arg)
{
    int say[2];
    int go[2];
    pid_t parent = getpid();
    cr_assert_eq(pipe(say), 0);
    cr_assert_eq(pipe(go), 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0, "fork of child %u: %s", k, strerror(errno));
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(COMPLAINED);
        }
        for (uint32_t i = 0; i < k; i++) {
            (void)close(ps->child[i].say_fd);
            (void)close(ps->child[i].go_fd);
        }
        (void)close(say[0]);
        (void)close(go[1]);
        run_child(ps, k, fn, arg, say[1], go[0]);
    }
    (void)close(say[1]);
    (void)close(go[0]);
    ps->child[k] = (struct child){.pid = pid, .say_fd = say[0], .go_fd = go[1]};
}

struct wt_procs *wt_procs_open(uint32_t n, size_t shared_bytes, wt_proc_fn fn,
                               void *arg)
{
    size_t why = wi_align_up((size_t)n * WT_PROC_WHY_BYTES, WI_CACHE_LINE);
    struct wt_procs *ps = calloc(1, sizeof(*ps));
    cr_assert_neq(ps, NULL);
    cr_assert_leq(n, WT_PROCS);
    ps->n = n;
    ps->map_bytes = why + shared_bytes;
    ps->why = map_shared(ps->map_bytes);
    ps->shared = (char *)ps->why + why;
    (void)fflush(NULL); /* else children would hold copies of unwritten text */
    (void)signal(SIGPIPE, SIG_IGN); /* children may be dead */
    for (uint32_t k = 0; k < n; k++) {
        start(ps, k, fn, arg);
    }
    return ps;
}

void wt_procs_close(struct wt_procs *ps)
{
    for (uint32_t k = 0; k < ps->n; k++) {
        cr_assert_eq(ps->child[k].pid, 0, "child %u was not waited for", k);
        (void)close(ps->child[k].say_fd);
        (void)close(ps->child[k].go_fd);
    }
    (void)munmap(ps->why, ps->map_bytes);
    free(ps);
}

void *wt_procs_shared(struct wt_procs *ps)
{
    return ps->shared;
}

pid_t wt_procs_pid(const struct wt_procs *ps, uint32_t k)
{
    return ps->child[k].pid;
}

bool wt_procs_stirs(struct wt_procs *ps, uint32_t k, uint64_t ns)
{
    uint64_t until = wt_now_ns() + ns;
    struct pollfd fd = {.fd = ps->child[k].say_fd, .events = POLLIN};
    for (;;) {
        uint64_t now = wt_now_ns();
        uint64_t left = now < until ? until - now : 0;
        struct timespec ts = {.tv_sec = (time_t)(left / 1000000000u),
                              .tv_nsec = (long)(left % 1000000000u)};
        int n = ppoll(&fd, 1, &ts, NULL);
        if (n > 0) {
            return true;
        }
        if (left == 0) {
            return false;
        }
    }
}

void wt_procs_expect(struct wt_procs *ps, uint32_t k, char mark)
{
    char c = 0;
    cr_assert(wt_procs_stirs(ps, k, patience_ns),
              "child %u did not come to '%c' within a minute", k, mark);
    ssize_t got = read(ps->child[k].say_fd, &c, 1);
    cr_assert_eq(got, 1, "child %u ended before '%c': %s", k, mark, ps->why[k]);
    cr_assert_eq(c, mark, "child %u came to '%c', not '%c'", k, c, mark);
}

void wt_procs_expect_all(struct wt_procs *ps, char mark)
{
    for (uint32_t k = 0; k < ps->n; k++) {
        wt_procs_expect(ps, k, mark);
    }
}

void wt_procs_go(struct wt_procs *ps, uint32_t k)
{
    char c = 'g';
    (void)!write(ps->child[k].go_fd, &c, 1); /* EPIPE: it is found dead later */
}

void wt_procs_go_all(struct wt_procs *ps)
{
    for (uint32_t k = 0; k < ps->n; k++) {
        wt_procs_go(ps, k);
    }
}

void wt_procs_signal(struct wt_procs *ps, uint32_t k, int signal_number)
{
    cr_assert_eq(kill(ps->child[k].pid, signal_number), 0);
}

void wt_procs_stopped(struct wt_procs *ps, uint32_t k)
{
    int status = 0;
    cr_assert_eq(waitpid(ps->child[k].pid, &status, WUNTRACED),
                 ps->child[k].pid);
    cr_assert(WIFSTOPPED(status), "child %u ended: %s", k, ps->why[k]);
}

int wt_procs_end(struct wt_procs *ps, uint32_t k)
{
    struct child *c = &ps->child[k];
    char mark = 0;
    int status = 0;
    cr_assert(wt_procs_stirs(ps, k, patience_ns),
              "child %u did not end within a minute", k);
    ssize_t got = read(c->say_fd, &mark, 1);
    cr_assert_eq(got, 0, "child %u came to '%c', not to its end", k, mark);
    cr_assert_eq(waitpid(c->pid, &status, 0), c->pid);
    c->pid = 0;
    c->status = status;
    cr_assert(!WIFEXITED(status) || WEXITSTATUS(status) != COMPLAINED,
              "child %u: %s", k, ps->why[k]);
    return status;
}

void wt_procs_end_well(struct wt_procs *ps, uint32_t k)
{
    int status = wt_procs_end(ps, k);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0,
              "child %u ended with %s %d", k,
              WIFEXITED(status) ? "exit code" : "signal",
              WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}
