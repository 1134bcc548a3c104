/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/stopped.h"

#include <sys/wait.h>

/* The signal that stopped it; 0: it runs, or has ended. */
static int stopped_by(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
                   info.si_pid == pid
               ? info.si_status
               : 0;
}

bool wl_stopped_look(struct wl_stopped *s, pid_t pid, uint64_t now_ns,
                     uint64_t after_ns, int *signal_out)
{
    const int signal = stopped_by(pid);
    if (signal == 0) {
        *s = (struct wl_stopped){.since_ns = 0};
        return false;
    }
    if (s->since_ns == 0) {
        s->since_ns = now_ns;
    }
    if (s->told || now_ns - s->since_ns < after_ns) {
        return false;
    }
    s->told = true;
    *signal_out = signal;
    return true;
}
