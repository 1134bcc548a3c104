/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is at the other end of a socket: the kernel says of which user it is, and
 * its files below /proc in which namespaces. A user id alone says little: root
 * of a container without rights of its own is root to SO_PEERCRED, and all
 * users that a namespace does not map are one user in it. Processes of the same
 * user and namespaces could have each other's memory anyway (/proc/PID/mem).
 *
 * A process number may be another process's by the time it is looked at. The
 * kernel gives a descriptor of the process that has connected or listened
 * (SO_PEERPIDFD, Linux 6.5): it lives after its namespaces were looked at, so
 * they were its own. Before 6.5 the descriptor is that of whoever has the
 * number when the connection is taken.
 */
#include "transport/shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/err.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* ---- namespaces ---------------------------------------------------------- */

/* Of /proc/WHO. Not known: it is gone, or not for this process to look at. */
static void look(const char *who, struct shm_spaces *out)
{
    static const char *const names[SHM_SPACES] = {"user", "pid", "mnt"};
    out->known = true;
    for (int i = 0; i < SHM_SPACES && out->known; i++) {
        char path[64];
        struct stat st;
        (void)snprintf(path, sizeof(path), "/proc/%s/ns/%s", who, names[i]);
        out->known = stat(path, &st) == 0;
        out->number[i] = out->known ? (uint64_t)st.st_ino : 0;
    }
}

/* The numbers below /proc are those of the namespace that mounted it. */
static bool has_own_proc(void)
{
    char text[16] = "";
    char own[16];
    (void)snprintf(own, sizeof(own), "%d", (int)getpid());
    return readlink("/proc/self", text, sizeof(text) - 1) > 0 &&
           strcmp(text, own) == 0;
}

void wi_shm_own_spaces(struct shm_spaces *out)
{
    look("self", out);
    out->known = out->known && has_own_proc();
}

static bool are_same(const struct shm_spaces *a, const struct shm_spaces *b)
{
    return a->known && b->known &&
           memcmp(a->number, b->number, sizeof(a->number)) == 0;
}

/* A descriptor of the peer; -1: it is gone, or there are no such descriptors
 * here, in which case *none_out is set. */
static int open_process(int fd, pid_t pid, bool *none_out)
{
    int process = -1;
    socklen_t len = sizeof(process);
    *none_out = false;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &len) == 0 ||
        errno == ESRCH || errno == EINVAL) {
        return process;
    }
    process = (int)syscall(SYS_pidfd_open, pid, 0);
    *none_out = process < 0 && (errno == ENOSYS || errno == EPERM);
    return process;
}

static bool lives(int process)
{
    struct pollfd p = {.fd = process, .events = POLLIN};
    return poll(&p, 1, 0) == 0;
}

static bool lives_here(const struct shm *t, int fd, pid_t pid)
{
    struct shm_spaces its = {.known = false};
    char who[16];
    bool none = false;
    if (pid == getpid()) {
        return true;
    }
    if (pid == 0) {
        return false; /* no number in this namespace */
    }
    int process = open_process(fd, pid, &none);
    if (process < 0 && !none) {
        return false;
    }
    (void)snprintf(who, sizeof(who), "%d", (int)pid);
    look(who, &its);
    bool here = are_same(&t->own, &its) && (none || lives(process));
    if (process >= 0) {
        (void)close(process);
    }
    return here;
}

/* ---- users --------------------------------------------------------------- */

/* First number in a file; `preset`: it cannot be read. */
static uint64_t read_number(const char *path, uint64_t preset)
{
    char text[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return n > 0 ? strtoull(text, NULL, 10) : preset;
}

/* Are all users mapped, as in the namespace that the system begins with? */
static bool maps_all(void)
{
    char text[64] = "";
    uint64_t inside = 1;
    uint64_t outside = 1;
    uint64_t n = 0;
    int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return len > 0 &&
           sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &inside, &outside,
                  &n) == 3 &&
           inside == 0 && n == UINT32_MAX;
}

/* Whoever has no number in this namespace has this one, as has who is not
 * mapped: it may be anybody's (user_namespaces(7)). */
static bool is_anybodys(uid_t uid)
{
    return uid == read_number("/proc/sys/kernel/overflowuid", 65534) &&
           !maps_all();
}

/* ---- both ---------------------------------------------------------------- */

bool wi_shm_may_be_peer(const struct shm *t, int fd, pid_t *pid_out, char *why)
{
    struct ucred its = {.uid = (uid_t)-1};
    socklen_t len = sizeof(its);
    uid_t own = geteuid();
    (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &its, &len);
    const char *but = NULL;
    if (its.uid != own) {
        (void)snprintf(why, WI_REASON_BYTES,
                       "the two processes are of uid %u and uid %u", own,
                       its.uid);
        return false;
    }
    if (!t->proved && is_anybodys(own)) {
        but = "a uid that its namespace does not map, as anybody's is";
    } else if (!t->proved && !lives_here(t, fd, its.pid)) {
        but = "processes in other namespaces (user, pid, mnt), or that cannot "
              "be compared";
    }
    if (but != NULL) {
        (void)snprintf(why, WI_REASON_BYTES,
                       "%s: give both the same secret_file", but);
        return false;
    }
    *pid_out = its.pid;
    return true;
}
