/* SPDX-License-Identifier: Apache-2.0 */
#include "test/soak/crew.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch/clock.h"

static const uint64_t patience_ns = 60 * 1000000000ull;
static const uint64_t report_ns = 1000000000u;

void wt_crew_open(struct wt_crew *c, const struct wt_crew_params *params)
{
    *c = (struct wt_crew){.params = *params};
    c->slot = mmap(NULL, WT_CREW * sizeof(*c->slot), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c->slot == MAP_FAILED) {
        wt_soak_violation("no shared memory: %s", strerror(errno));
    }
    (void)signal(SIGPIPE, SIG_IGN); /* members may be dead */
    for (uint32_t k = 0; k < params->n; k++) {
        (void)snprintf(c->slot[k].name, sizeof(c->slot[k].name),
                       "soak-%ld-m%02u", (long)getpid(), k);
    }
}

void wt_crew_close(struct wt_crew *c)
{
    for (uint32_t k = 0; k < c->params.n; k++) {
        if (c->pid[k] != 0) {
            wt_crew_end(c, k, SIGKILL);
        }
    }
}

static void be_member(const struct wt_crew *c, uint32_t k, const int fds[2])
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint32_t i = 0; i < c->params.n; i++) {
        if (c->pid[i] != 0) {
            (void)close(c->say_fd[i]);
            (void)close(c->go_fd[i]);
        }
    }
    wt_crew_member(&c->params, c->slot, k, fds);
}

void wt_crew_start(struct wt_crew *c, uint32_t k)
{
    int say[2];
    int go[2];
    pid_t parent = getpid();
    if (pipe(say) != 0 || pipe(go) != 0) {
        wt_soak_violation("pipe: %s", strerror(errno));
    }
    (void)fflush(NULL); /* else it would hold a copy of unwritten text */
    pid_t pid = fork();
    if (pid < 0) {
        wt_soak_violation("fork: %s", strerror(errno));
    }
    if (pid == 0) {
        const int fds[2] = {go[0], say[1]};
        (void)close(say[0]);
        (void)close(go[1]);
        if (getppid() == parent) {
            be_member(c, k, fds);
        }
        _exit(EXIT_FAILURE);
    }
    (void)close(say[1]);
    (void)close(go[0]);
    c->pid[k] = pid;
    c->say_fd[k] = say[0];
    c->go_fd[k] = go[1];
    c->busy |= wt_bit(k);
    c->gone &= ~wt_bit(k);
}

void wt_crew_go(struct wt_crew *c, uint32_t k)
{
    char mark = 'g';
    (void)!write(c->go_fd[k], &mark, 1); /* EPIPE: it is found gone */
}

void wt_crew_order(struct wt_crew *c, uint32_t k)
{
    c->busy |= wt_bit(k);
    c->hit &= ~wt_bit(k);
    wt_crew_go(c, k);
}

/* ---- what they say ------------------------------------------------------- */

static void hear(struct wt_crew *c, uint32_t k)
{
    char mark[16];
    ssize_t n = read(c->say_fd[k], mark, sizeof(mark));
    if (n <= 0) {
        c->gone |= wt_bit(k);
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        if (mark[i] == 'h') {
            c->hit |= wt_bit(k);
        } else {
            c->busy &= ~wt_bit(k);
        }
    }
}

static bool stirred(const struct wt_crew *c, uint64_t until, bool moments)
{
    uint64_t idle = ~c->busy | c->gone | (moments ? c->hit : 0);
    return (until & idle) != 0;
}

bool wt_crew_look(struct wt_crew *c, uint64_t until, bool moments, uint64_t ns)
{
    uint64_t end = wl_now_ns() + ns;
    struct pollfd fds[WT_CREW];
    while (!stirred(c, until, moments)) {
        uint64_t now = wl_now_ns();
        uint64_t left = now < end ? end - now : 0;
        struct timespec ts = {.tv_sec = (time_t)(left / 1000000000u),
                              .tv_nsec = (long)(left % 1000000000u)};
        for (uint32_t k = 0; k < c->params.n; k++) {
            bool there = c->pid[k] != 0 && (c->gone & wt_bit(k)) == 0;
            fds[k] = (struct pollfd){.fd = there ? c->say_fd[k] : -1,
                                     .events = POLLIN};
        }
        int n = ppoll(fds, c->params.n, &ts, NULL);
        for (uint32_t k = 0; n > 0 && k < c->params.n; k++) {
            if (fds[k].revents != 0) {
                hear(c, k);
            }
        }
        if (left == 0 && !stirred(c, until, moments)) {
            return false;
        }
    }
    return true;
}

/* Those that do not answer are asked what they wait for; it goes to stderr. */
static void complain(struct wt_crew *c, uint64_t late)
{
    for (uint32_t k = 0; k < c->params.n; k++) {
        if (c->pid[k] != 0) {
            (void)kill(c->pid[k], SIGUSR1);
        }
    }
    (void)wt_crew_look(c, 0, false, report_ns); /* they write meanwhile */
    wt_soak_violation("members %#llx did not answer within %llu s",
                      (unsigned long long)late,
                      (unsigned long long)(patience_ns / 1000000000u));
}

static void check_gone(struct wt_crew *c, uint32_t k)
{
    int status = 0;
    if ((c->gone & wt_bit(k)) != 0) {
        (void)waitpid(c->pid[k], &status, 0);
        wt_soak_violation("member %u ended by itself, %s %d: %s", k,
                          WIFSIGNALED(status) ? "signal" : "exit code",
                          WIFSIGNALED(status) ? WTERMSIG(status)
                                              : WEXITSTATUS(status),
                          c->slot[k].answer.message);
    }
}

void wt_crew_await(struct wt_crew *c, uint64_t members)
{
    for (uint32_t k = 0; k < c->params.n; k++) {
        if ((members & wt_bit(k)) == 0) {
            continue;
        }
        if (!wt_crew_look(c, wt_bit(k), false, patience_ns)) {
            complain(c, members & c->busy);
        }
        check_gone(c, k);
    }
}

/* ---- signals ------------------------------------------------------------- */

void wt_crew_signal(struct wt_crew *c, uint32_t k, int signal_number)
{
    (void)kill(c->pid[k], signal_number);
}

void wt_crew_stop(struct wt_crew *c, uint32_t k)
{
    int status = 0;
    wt_crew_signal(c, k, SIGSTOP);
    if (waitpid(c->pid[k], &status, WUNTRACED) != c->pid[k] ||
        !WIFSTOPPED(status)) {
        wt_soak_violation("member %u cannot be stopped: %s", k,
                          c->slot[k].answer.message);
    }
}

void wt_crew_end(struct wt_crew *c, uint32_t k, int signal_number)
{
    int status = 0;
    if (signal_number != 0) {
        wt_crew_signal(c, k, signal_number);
    } else {
        c->busy |= wt_bit(k); /* its pipe's end is waited for, no 'd' */
        if (!wt_crew_look(c, wt_bit(k), false, patience_ns)) {
            complain(c, wt_bit(k));
        }
    }
    (void)waitpid(c->pid[k], &status, 0);
    bool well = signal_number != 0
                    ? WIFSIGNALED(status) && WTERMSIG(status) == signal_number
                    : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!well) {
        wt_soak_violation("member %u ended with status %#x: %s", k,
                          (unsigned)status, c->slot[k].answer.message);
    }
    (void)close(c->say_fd[k]);
    (void)close(c->go_fd[k]);
    c->pid[k] = 0;
    c->busy &= ~wt_bit(k);
    c->gone |= wt_bit(k);
}
