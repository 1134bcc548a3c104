/* SPDX-License-Identifier: Apache-2.0 */
/* Who stands still is told once, and not before the time. */
#include "launch/stopped.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

/* A child that stops itself, and ends when it is let go on. */
static pid_t stopping_child(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        (void)raise(SIGSTOP);
        _exit(EXIT_SUCCESS);
    }
    cr_assert_gt(pid, 0);
    return pid;
}

static void wait_for(pid_t pid, int state)
{
    siginfo_t info;
    cr_assert_eq(waitid(P_PID, (id_t)pid, &info, state | WNOWAIT), 0);
}

Test(stopped, is_told_once_when_the_time_has_passed, .timeout = 60)
{
    struct wl_stopped s = {.since_ns = 0};
    int signal = 0;
    const pid_t pid = stopping_child();
    wait_for(pid, WSTOPPED);
    cr_expect_not(wl_stopped_look(&s, pid, 5, 100, &signal));
    cr_expect_not(wl_stopped_look(&s, pid, 104, 100, &signal));
    cr_expect(wl_stopped_look(&s, pid, 105, 100, &signal));
    cr_expect_eq(signal, SIGSTOP);
    cr_expect_not(wl_stopped_look(&s, pid, 1000, 100, &signal));
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

Test(stopped, is_forgotten_when_it_goes_on, .timeout = 60)
{
    struct wl_stopped s = {.since_ns = 0};
    int signal = 0;
    const pid_t pid = stopping_child();
    wait_for(pid, WSTOPPED);
    cr_expect_not(wl_stopped_look(&s, pid, 1, 10, &signal));
    cr_expect(wl_stopped_look(&s, pid, 11, 10, &signal));
    cr_assert_eq(kill(pid, SIGCONT), 0);
    wait_for(pid, WEXITED);
    cr_expect_not(wl_stopped_look(&s, pid, 50, 10, &signal));
    cr_expect_eq(s.since_ns, 0);
    cr_expect_not(s.told);
    (void)waitpid(pid, NULL, 0);
}
