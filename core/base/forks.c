/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bit for each descriptor, under a lock that fork(2) takes as well: so a
 * child never finds one that is open and not marked, or marked and not open
 * any more, perhaps with its number in other hands.
 */
#include "core/base/forks.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "core/base/cc.h"

enum {
    BITS = 64,
    FDS = 1 << 20, /* the most that Linux gives a process, unless told more */
};

uint32_t wi_forks;

/* Not allocated: to open a descriptor needs no memory. */
static struct {
    pthread_mutex_t lock;
    uint64_t marks[FDS / BITS];
    uint32_t n_words; /* none is set from here on */
    bool handled;     /* the handlers below are registered */
} fds = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- fork ---------------------------------------------------------------- */

static void before_fork(void)
{
    (void)pthread_mutex_lock(&fds.lock);
}

static void after_fork_parent(void)
{
    (void)pthread_mutex_unlock(&fds.lock);
}

static void after_fork_child(void)
{
    for (uint32_t i = 0; i < fds.n_words; i++) {
        for (; fds.marks[i] != 0; fds.marks[i] &= fds.marks[i] - 1) {
            (void)close((int)(i * BITS) + __builtin_ctzll(fds.marks[i]));
        }
    }
    wi_forks++;
    (void)pthread_mutex_unlock(&fds.lock);
}

/* ---- marks: under the lock ----------------------------------------------- */

static bool mark(int fd)
{
    fds.handled = fds.handled || pthread_atfork(before_fork, after_fork_parent,
                                                after_fork_child) == 0;
    if (fds.handled && fd < FDS) {
        fds.marks[fd / BITS] |= 1ull << (uint32_t)fd % BITS;
        fds.n_words = wi_max_u32(fds.n_words, (uint32_t)fd / BITS + 1);
    }
    return fds.handled;
}

static void unmark(int fd)
{
    if (fd < FDS) {
        fds.marks[fd / BITS] &= ~(1ull << (uint32_t)fd % BITS);
    }
}

/* ---- public -------------------------------------------------------------- */

void wi_fd_begin(void)
{
    (void)pthread_mutex_lock(&fds.lock);
}

int wi_fd_end(int fd)
{
    int why = errno;
    if (fd >= 0 && !mark(fd)) {
        (void)close(fd);
        fd = -1;
        why = ENOMEM;
    }
    (void)pthread_mutex_unlock(&fds.lock);
    errno = why;
    return fd;
}

void wi_fd_close(int fd)
{
    int why = errno;
    if (fd >= 0) {
        (void)pthread_mutex_lock(&fds.lock);
        unmark(fd);
        (void)close(fd);
        (void)pthread_mutex_unlock(&fds.lock);
    }
    errno = why;
}

int wi_fd_keep(int fd)
{
    if (fd >= 0) {
        (void)pthread_mutex_lock(&fds.lock);
        (void)mark(fd); /* else a child keeps it */
        (void)pthread_mutex_unlock(&fds.lock);
    }
    return fd;
}

void wi_fd_leave(int fd)
{
    (void)pthread_mutex_lock(&fds.lock);
    unmark(fd);
    (void)pthread_mutex_unlock(&fds.lock);
}
