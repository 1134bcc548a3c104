/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process groups: fork, process-shared barriers, and a parent that sleeps on
 * one pipe per member, which the kernel closes when the member ends, however it
 * ends. So no signal handler is needed and no other child of the program is
 * ever reaped; pidfds would do the same, but not under valgrind.
 */
#define _GNU_SOURCE 1
#include "launch/group.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/base/err.h"
#include "launch/ask.h"
#include "launch/clock.h"
#include "launch/stopped.h"

#define DEFAULT_TIMEOUT_NS UINT64_C(120000000000)
#define DEFAULT_STOPPED_NS UINT64_C(10000000000)
#define LOOK_NS                                                                \
    UINT64_C(1000000000) /* at least, between looks for stopped members */

/* As if it had exited with 255. */
#define UNKNOWN_STATUS 0xff00

/* Instead of a member's number: the error is no member's own. */
#define NO_MEMBER WL_MAX_MEMBERS

/* At the start of the shared mapping; the user's area follows. */
struct shared {
    pthread_barrier_t members;
    pthread_barrier_t threads;
    atomic_uint claimed; /* 0, or 1 + number of the first member that failed,
                            1 + NO_MEMBER */
    atomic_uint failed;  /* the same, once `error` is complete */
    struct weir_error error; /* written by: that member */
};

struct wl_group {
    struct wl_group_params params;
    struct shared *shared;
    size_t map_bytes;
    size_t user_off;
};

struct member {
    pid_t pid;
    int alive; /* pipe whose other end the member holds; -1: has ended */
    struct wl_stopped stopped;
};

static weir_err barrier_init(pthread_barrier_t *barrier, uint32_t n,
                             struct weir_error *err)
{
    pthread_barrierattr_t attr;
    int rc = pthread_barrierattr_init(&attr);
    if (rc == 0) {
        rc = pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
        if (rc == 0) {
            rc = pthread_barrier_init(barrier, &attr, n);
        }
        (void)pthread_barrierattr_destroy(&attr);
    }
    return rc == 0 ? WEIR_OK : wi_fail_errno(err, rc, "barrier of %u", n);
}

weir_err wl_group_open(const struct wl_group_params *params,
                       struct wl_group **out, struct weir_error *err)
{
    if (params->members == 0 || params->members > WL_MAX_MEMBERS) {
        return wi_fail(err, WEIR_ERR_ARG, "members is %u; must be 1..%u",
                       params->members, WL_MAX_MEMBERS);
    }
    struct wl_group *g = calloc(1, sizeof(*g));
    if (g == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a group");
    }
    g->params = *params;
    if (g->params.threads == 0) {
        g->params.threads = params->members;
    }
    if (g->params.timeout_ns == 0) {
        g->params.timeout_ns = DEFAULT_TIMEOUT_NS;
    }
    if (g->params.stopped_ns == 0) {
        g->params.stopped_ns = DEFAULT_STOPPED_NS;
    }
    g->user_off = wi_align_up(sizeof(struct shared), WI_CACHE_LINE);
    g->map_bytes = wi_align_up(g->user_off + params->shared_bytes, WI_PAGE);
    void *map = mmap(NULL, g->map_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        weir_err rc =
            wi_fail_errno(err, errno, "map %zu shared bytes", g->map_bytes);
        free(g);
        return rc;
    }
    g->shared = map;
    weir_err rc = barrier_init(&g->shared->members, params->members, err);
    if (rc == WEIR_OK) {
        rc = barrier_init(&g->shared->threads, g->params.threads, err);
    }
    if (rc != WEIR_OK) {
        wl_group_close(g);
        return rc;
    }
    *out = g;
    return WEIR_OK;
}

void wl_group_close(struct wl_group *group)
{
    if (group == NULL) {
        return;
    }
    /* The barriers are not destroyed: that would wait for members that were
     * killed inside. Barriers hold nothing but this mapping. */
    (void)munmap(group->shared, group->map_bytes);
    free(group);
}

void *wl_group_shared(struct wl_group *group)
{
    return (char *)group->shared + group->user_off;
}

void wl_group_meet(struct wl_group *group)
{
    (void)pthread_barrier_wait(&group->shared->members);
}

void wl_group_meet_threads(struct wl_group *group)
{
    (void)pthread_barrier_wait(&group->shared->threads);
}

void wl_group_die(struct wl_group *group, uint32_t self,
                  const struct weir_error *err)
{
    unsigned int none = 0;
    /* E60: decides which member is the first; carries nothing. The others sleep
     * until the parent ends them; the first one's exit wakes it. So the cause
     * is reported, not one of its consequences. */
    while (!wi_cas_ar(&group->shared->claimed, &none, self + 1)) {
        none = 0;
        (void)pause();
    }
    group->shared->error = *err;
    /* E60 release: the message before its number; pairs with E60 acquire in
     * judge() */
    wi_store_rel(&group->shared->failed, self + 1);
    _exit(EXIT_FAILURE);
}

void wl_group_end(struct wl_group *group, const struct weir_error *err)
{
    wl_group_die(group, NO_MEMBER, err);
}

static void member_main(struct wl_group *g, uint32_t self, pid_t parent,
                        wl_member_fn fn, void *arg) __attribute__((noreturn));

static void member_main(struct wl_group *g, uint32_t self, pid_t parent,
                        wl_member_fn fn, void *arg)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) { /* the parent died before prctl */
        _exit(EXIT_FAILURE);
    }
    /* The siw driver sends SIGPIPE to whoever posts to a connection that is
     * gone (docs/measuring.md, "Known faults of the drivers"). */
    (void)signal(SIGPIPE, SIG_IGN);
    struct weir_error err = {.code = WEIR_OK};
    weir_err rc = fn(g, self, arg, &err);
    if (rc != WEIR_OK) {
        err.code = rc;
        wl_group_die(g, self, &err);
    }
    _exit(EXIT_SUCCESS); /* no exit handlers: they are the parent's */
}

static weir_err start_member(struct wl_group *g, uint32_t self,
                             struct member *m, wl_member_fn fn, void *arg,
                             struct weir_error *err)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return wi_fail_errno(err, errno, "pipe of process %u", self);
    }
    pid_t pid = fork();
    if (pid == 0) {
        member_main(g, self, parent, fn, arg);
    }
    (void)close(ends[1]); /* before the next member could inherit it */
    if (pid < 0) {
        (void)close(ends[0]);
        return wi_fail_errno(err, errno, "fork of process %u", self);
    }
    m->pid = pid;
    m->alive = ends[0];
    wl_ask_member(self, pid);
    return WEIR_OK;
}

/* Wait for a member that has ended or is about to; returns its status. If that
 * is not to be had, somebody else in this program has taken it, and nothing
 * says that it was a good one. */
static int reap(struct member *m, uint32_t self)
{
    int status = 0;
    pid_t pid;
    wl_ask_member(self, 0);
    do {
        pid = waitpid(m->pid, &status, 0);
    } while (pid < 0 && errno == EINTR);
    if (pid < 0) {
        status = UNKNOWN_STATUS;
    }
    (void)close(m->alive);
    m->alive = -1;
    return status;
}

static void kill_members(struct member *members, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (members[i].alive >= 0) {
            (void)kill(members[i].pid, SIGKILL);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (members[i].alive >= 0) {
            (void)reap(&members[i], i);
        }
    }
}

/* Judge how a member ended; the message of the first failure wins. */
static weir_err judge(struct wl_group *g, uint32_t self, int status,
                      struct weir_error *err)
{
    struct shared *s = g->shared;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return WEIR_OK;
    }
    if (WIFSIGNALED(status)) {
        return wi_fail(err, WEIR_ERR_SYSTEM,
                       "process %u of %u died of signal %d (%s)", self,
                       g->params.members, WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    }
    /* E60 acquire: the message; pairs with E60 release in wl_group_die() */
    uint32_t first = wi_load_acq(&s->failed);
    if (first == 0 && status == UNKNOWN_STATUS) {
        return wi_fail(err, WEIR_ERR_SYSTEM,
                       "process %u of %u has ended, and its status was taken "
                       "by somebody else: is SIGCHLD ignored?",
                       self, g->params.members);
    }
    if (first == 0) {
        return wi_fail(err, WEIR_ERR_SYSTEM, "process %u of %u exited with %d",
                       self, g->params.members, WEXITSTATUS(status));
    }
    if (first - 1 == NO_MEMBER) {
        return wi_fail(err, s->error.code, "%s", s->error.message);
    }
    return wi_fail(err, s->error.code, "process %u of %u: %s", first - 1,
                   g->params.members, s->error.message);
}

/* Reap the members whose pipe has ended. */
static weir_err reap_ended(struct wl_group *g, struct member *members,
                           const struct pollfd *fds, uint32_t *left,
                           struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; i < g->params.members; i++) {
        if (members[i].alive < 0 || fds[i].revents == 0) {
            continue;
        }
        int status = reap(&members[i], i);
        (*left)--;
        weir_err one = judge(g, i, status, rc == WEIR_OK ? err : NULL);
        rc = rc == WEIR_OK ? one : rc;
    }
    return rc;
}

/* On standard error at once, as this does not end the run. */
static void tell_stopped(const struct wl_group *g, struct member *members,
                         uint64_t now_ns)
{
    for (uint32_t i = 0; i < g->params.members; i++) {
        struct member *m = &members[i];
        int signal;
        if (m->alive >= 0 && wl_stopped_look(&m->stopped, m->pid, now_ns,
                                             g->params.stopped_ns, &signal)) {
            (void)fprintf(stderr,
                          "%s: process %u of %u (pid %d) is stopped by signal "
                          "%d (%s), and all wait for it: kill -CONT %d lets it "
                          "go on, kill -KILL %d ends the run\n",
                          program_invocation_short_name, i, g->params.members,
                          (int)m->pid, signal, strsignal(signal), (int)m->pid,
                          (int)m->pid);
        }
    }
}

/* How long to sleep: to the deadline, or to the next look. */
static int patience_ms(const struct wl_group *g, uint64_t left_ns)
{
    const uint64_t half_ns = g->params.stopped_ns / 2;
    const uint64_t look_ns = half_ns < LOOK_NS ? half_ns : LOOK_NS;
    return (int)((left_ns < look_ns ? left_ns : look_ns) / 1000000u) + 1;
}

static weir_err watch_members(struct wl_group *g, struct member *members,
                              struct weir_error *err)
{
    uint32_t n = g->params.members;
    uint32_t left = n;
    uint64_t deadline_ns = wl_now_ns() + g->params.timeout_ns;
    struct pollfd *fds = calloc(n, sizeof(*fds));
    if (fds == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory to watch %u", n);
    }
    weir_err rc = WEIR_OK;
    while (left > 0 && rc == WEIR_OK) {
        for (uint32_t i = 0; i < n; i++) {
            fds[i] = (struct pollfd){.fd = members[i].alive, .events = POLLIN};
        }
        uint64_t now_ns = wl_now_ns();
        if (now_ns >= deadline_ns) {
            rc = wi_fail(err, WEIR_ERR_TIMEOUT,
                         "%u of %u processes had not ended after %.1f s", left,
                         n, (double)g->params.timeout_ns * 1e-9);
            break;
        }
        tell_stopped(g, members, now_ns);
        if (poll(fds, n, patience_ms(g, deadline_ns - now_ns)) > 0) {
            rc = reap_ended(g, members, fds, &left, err);
        }
    }
    free(fds);
    return rc;
}

weir_err wl_group_run(struct wl_group *group, wl_member_fn fn, void *arg,
                      struct weir_error *err)
{
    uint32_t n = group->params.members;
    struct member *members = calloc(n, sizeof(*members));
    if (members == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u members", n);
    }
    for (uint32_t i = 0; i < n; i++) {
        members[i].alive = -1;
    }
    (void)fflush(NULL); /* else members would hold copies of unwritten text */
    weir_err rc = WEIR_OK;
    wl_ask_block(1); /* members leave it so */
    for (uint32_t i = 0; i < n && rc == WEIR_OK; i++) {
        rc = start_member(group, i, &members[i], fn, arg, err);
    }
    wl_ask_block(0);
    if (rc == WEIR_OK) {
        rc = watch_members(group, members, err);
    }
    kill_members(members, n);
    free(members);
    return rc;
}
