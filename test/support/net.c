/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Namespaces are made once, and members that are started again go into theirs.
 * Each knows the Ethernet addresses of all: nobody is asked for them, which
 * takes seconds after a wire was cut. A pair is parted by wrong ones at both
 * ends. That needs neither a packet filter nor a queueing discipline.
 */
#include "test/support/net.h"

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int home_fd = -1;
static int ns_fd[WT_NET_MEMBERS];

/* Run a shell command in the namespace; its exit code. */
static int in(int fd, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int in(int fd, const char *fmt, ...)
{
    char command[512];
    int status = 0;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(command, sizeof(command), fmt, args);
    va_end(args);
    pid_t pid = fork();
    if (pid == 0) {
        if (setns(fd, CLONE_NEWNET) == 0) {
            (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        }
        _exit(126);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        return 126;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

/* The namespace that this process is in. The descriptors go on to members,
 * which need them. */
static int here(void)
{
    return open("/proc/self/ns/net", O_RDONLY);
}

static bool make(uint32_t k)
{
    if (unshare(CLONE_NEWNET) != 0 || (ns_fd[k] = here()) < 0 ||
        setns(home_fd, CLONE_NEWNET) != 0) {
        return false;
    }
    return in(home_fd,
              "ip link add v%u type veth peer name e%u && "
              "ip link set e%u netns /proc/%ld/fd/%d && "
              "ip link set v%u master wires up",
              k, k, k, (long)getpid(), ns_fd[k], k) == 0 &&
           in(ns_fd[k],
              "ip link set lo up && ip addr add 10.78.0.%u/24 dev e%u && "
              "ip link set e%u address 02:00:00:00:00:%02x up",
              k + 1, k, k, k + 1) == 0;
}

/* Where a sends what is for b. */
static bool point(uint32_t a, uint32_t b, bool wrong)
{
    return in(ns_fd[a],
              "ip neigh replace 10.78.0.%u lladdr 02:00:00:00:%02x:%02x "
              "dev e%u nud permanent",
              b + 1, wrong ? 0xff : 0, b + 1, a) == 0;
}

static bool introduce(uint32_t n)
{
    bool done = true;
    for (uint32_t a = 0; a < n; a++) {
        for (uint32_t b = 0; b < n; b++) {
            done = done && (a == b || point(a, b, false));
        }
    }
    return done;
}

const char *wt_net_open(uint32_t n)
{
    int outside = here();
    if (n > WT_NET_MEMBERS || outside < 0 || unshare(CLONE_NEWNET) != 0) {
        return "no network namespaces here";
    }
    home_fd = here();
    bool made = in(home_fd, "ip link set lo up && "
                            "ip link add wires type bridge && "
                            "ip link set wires up") == 0;
    for (uint32_t k = 0; k < n && made; k++) {
        made = make(k);
    }
    made = made && introduce(n);
    if (!made && setns(outside, CLONE_NEWNET) != 0) {
        return "no way back out of a network namespace";
    }
    (void)close(outside);
    return made ? NULL : "ip(8) cannot make bridges and pairs of wires here";
}

bool wt_net_enter(uint32_t k)
{
    return setns(ns_fd[k], CLONE_NEWNET) == 0;
}

void wt_net_listen(uint32_t k, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "10.78.0.%u:0", k + 1);
}

bool wt_net_cut(uint32_t k, bool cut)
{
    return in(home_fd, "ip link set v%u %s", k, cut ? "down" : "up") == 0;
}

bool wt_net_part(uint32_t a, uint32_t b, bool part)
{
    return point(a, b, part) && point(b, a, part);
}
