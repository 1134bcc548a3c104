/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of an endpoint:
 *
 *   connect --> RETRYING --> GREETING --> OPEN --> DOOMED --> CLOSED
 *   accept  ------------------^   `----------------^
 *
 * Whatever waits for time or for room in the event list (RETRYING, GREETING,
 * DOOMED) is in t->waiting, which is walked when t->due_ns has come.
 */
#include "transport/shm/shm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/base/err.h"
#include "core/base/forks.h"
#include "core/base/neutral.h"

static void waiting_put(struct shm_ep *ep)
{
    struct shm *t = ep->t;
    if (ep->link == NULL) {
        ep->next = t->waiting;
        ep->link = &t->waiting;
        if (ep->next != NULL) {
            ep->next->link = &ep->next;
        }
        t->waiting = ep;
    }
    t->due_ns = 0;
}

static void waiting_take(struct shm_ep *ep)
{
    if (ep->link != NULL) {
        *ep->link = ep->next;
        if (ep->next != NULL) {
            ep->next->link = ep->link;
        }
        ep->link = NULL;
    }
}

static void listen_again(struct shm *t)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &t->listen_fd};
    t->resume_ns = 0;
    (void)epoll_ctl(t->epoll_fd, EPOLL_CTL_MOD, t->listen_fd, &e);
}

/* Level-triggered epoll would report the connection that cannot be taken
 * forever: look away until a descriptor may be free. */
static WI_COLD void listen_later(struct shm *t)
{
    struct epoll_event e = {.events = 0, .data.ptr = &t->listen_fd};
    (void)epoll_ctl(t->epoll_fd, EPOLL_CTL_MOD, t->listen_fd, &e);
    t->resume_ns = t->now_ns + SHM_PAUSE_NS;
    t->due_ns = 0;
}

/* Neither a stranger nor one of the accepted links any more. */
static void uncount(struct shm_ep *ep)
{
    if (ep->accepted && ep->state == SHM_GREETING) {
        ep->t->n_strangers--;
    }
    if (ep->accepted && ep->state < SHM_DOOMED) {
        ep->t->n_accepted--;
    }
}

static struct shm_ep *ep_open(struct shm *t, int fd)
{
    struct shm_ep *ep = aligned_alloc(WI_CACHE_LINE, sizeof(*ep));
    if (ep != NULL) {
        /* The stage is left alone: its pages come when they are used. */
        memset(ep, 0, offsetof(struct shm_ep, stage));
        ep->base.transport = &t->base;
        ep->t = t;
        ep->fd = fd;
    }
    return ep;
}

void wi_shm_ep_free(struct shm_ep *ep)
{
    struct shm *t = ep->t;
    uncount(ep);
    waiting_take(ep);
    if (t->rest.ep == ep) {
        t->rest.ep = NULL;
    }
    wi_shm_grants_fini(ep);
    /* Not by close alone: a child by a bare clone(2) may hold a copy of the
     * descriptor, which would keep both alive. */
    (void)epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, ep->fd, NULL);
    (void)shutdown(ep->fd, SHUT_RDWR);
    wi_fd_close(ep->fd);
    free(ep);
    if (t->resume_ns != 0) {
        listen_again(t);
    }
}

void wi_shm_doom(struct shm_ep *ep, const char *fmt, ...)
{
    if (ep->state >= SHM_DOOMED) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    (void)wi_neutral_vformat(ep->reason, sizeof(ep->reason), fmt, args);
    va_end(args);
    (void)epoll_ctl(ep->t->epoll_fd, EPOLL_CTL_DEL, ep->fd, NULL);
    (void)shutdown(ep->fd, SHUT_RDWR); /* the send side gets EPIPE from now */
    uncount(ep);
    /* An endpoint that the core never saw ends unseen. */
    bool unseen = ep->accepted && ep->state == SHM_GREETING;
    ep->state = SHM_DOOMED;
    ep->due_ns = unseen ? 1 : 0;
    waiting_put(ep);
}

void wi_shm_greeted(struct shm_ep *ep, struct shm_events *out)
{
    ep->t->n_strangers -= ep->accepted;
    ep->state = SHM_OPEN;
    waiting_take(ep);
    wi_shm_event(out, (struct wi_event){.kind = ep->accepted ? WI_EV_ACCEPTED
                                                             : WI_EV_CONNECTED,
                                        .ep = &ep->base});
}

/* The socket is connected: greet and wait for the peer's greeting. */
static int begin(struct shm_ep *ep)
{
    struct shm_greeting g = {SHM_MAGIC, SHM_VERSION, SHM_PACKET_BYTES};
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = ep};
    if (epoll_ctl(ep->t->epoll_fd, EPOLL_CTL_ADD, ep->fd, &e) != 0) {
        return errno;
    }
    /* A failure shows when the peer's answer is read. */
    wi_shm_send_now(ep->fd, SHM_GREET, &g, sizeof(g));
    ep->state = SHM_GREETING;
    waiting_put(ep);
    return 0;
}

/* ---- connecting --------------------------------------------------------- */

static void connected(struct shm_ep *ep)
{
    char why[WI_REASON_BYTES];
    if (!wi_shm_may_be_peer(ep->t, ep->fd, &ep->pid, why)) {
        wi_shm_doom(ep, "shm:%s: %s", ep->name, why);
        return;
    }
    int err = begin(ep);
    if (err != 0) {
        wi_shm_doom(ep, "epoll_ctl for shm:%s: %s", ep->name, strerror(err));
    }
}

static void try_connect(struct shm_ep *ep)
{
    struct sockaddr_un sa;
    socklen_t len = 0;
    (void)wi_shm_sockaddr(ep->name, &sa, &len); /* checked by wi_shm_check */
    if (connect(ep->fd, (struct sockaddr *)&sa, len) == 0) {
        ep->due_ns = 0;
        connected(ep);
    } else if (errno == ECONNREFUSED) {
        wi_shm_doom(ep, "nobody listens at shm:%s", ep->name);
    } else if (errno == EAGAIN || errno == EINTR) {
        waiting_put(ep);
    } else {
        wi_shm_doom(ep, "connect to shm:%s: %s", ep->name, strerror(errno));
    }
}

weir_err wi_shm_check(struct wi_transport *t, const char *address,
                      struct weir_error *err)
{
    struct sockaddr_un sa;
    socklen_t len;
    (void)t;
    if (strncmp(address, "shm:", 4) != 0 ||
        !wi_shm_sockaddr(address + 4, &sa, &len)) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "\"%.120s\" is not an address: expected shm:NAME with a "
                       "NAME of 1 to %d characters and no white space",
                       address, SHM_NAME_BYTES - 1);
    }
    return WEIR_OK;
}

weir_err wi_shm_connect(struct wi_transport *base, const char *address,
                        struct wi_ep **ep_out, struct weir_error *err)
{
    struct shm *t = wi_container_of(base, struct shm, base);
    weir_err rc = wi_shm_check(base, address, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    int fd = wi_fd_open(
        socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) {
        return wi_shm_fail_fd(err, errno, "socket for a connection");
    }
    struct shm_ep *ep = ep_open(t, fd);
    if (ep == NULL) {
        wi_fd_close(fd);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "%zu bytes for an endpoint",
                       sizeof(*ep));
    }
    (void)snprintf(ep->name, sizeof(ep->name), "%s", address + 4);
    ep->state = SHM_RETRYING;
    try_connect(ep);
    *ep_out = &ep->base;
    return WEIR_OK;
}

void wi_shm_disconnect(struct wi_ep *base)
{
    struct shm_ep *ep = wi_container_of(base, struct shm_ep, base);
    if (ep->state == SHM_OPEN) {
        (void)wi_shm_kick(base); /* as much as the socket takes */
    }
    wi_shm_ep_free(ep);
}

/* ---- accepting ---------------------------------------------------------- */

static WI_COLD void refuse(int fd, const char *fmt, ...) WI_PRINTF(2, 3);

static void refuse(int fd, const char *fmt, ...)
{
    char text[WI_REASON_BYTES];
    va_list args;
    va_start(args, fmt);
    int n = wi_neutral_vformat(text, sizeof(text), fmt, args);
    va_end(args);
    uint32_t bytes = wi_min_u32((uint32_t)n, sizeof(text) - 1);
    wi_shm_send_now(fd, SHM_REFUSE, text, bytes);
    (void)shutdown(fd, SHUT_WR); /* what was sent can still be read */
    wi_fd_close(fd);
}

/* Strangers that stay silent must not keep out a node that comes. New ones are
 * put in front of the list. */
static void free_oldest_stranger(struct shm *t)
{
    struct shm_ep *oldest = NULL;
    for (struct shm_ep *ep = t->waiting; ep != NULL; ep = ep->next) {
        if (ep->accepted && ep->state == SHM_GREETING) {
            oldest = ep;
        }
    }
    wi_shm_ep_free(oldest);
}

static void welcome(struct shm *t, int fd)
{
    char why[WI_REASON_BYTES];
    pid_t pid = 0;
    if (!wi_shm_may_be_peer(t, fd, &pid, why)) {
        refuse(fd, "shm:%.40s: %s", t->name, why);
        return;
    }
    if (t->n_accepted - t->n_strangers >= t->max_links) {
        refuse(fd, "shm:%.40s has its maximum of %u links", t->name,
               t->max_links);
        return;
    }
    struct shm_ep *ep = ep_open(t, fd);
    if (ep == NULL) {
        refuse(fd, "shm:%.40s has no memory for a link", t->name);
        return;
    }
    if (t->n_strangers == SHM_STRANGERS) {
        free_oldest_stranger(t);
    }
    ep->pid = pid;
    ep->accepted = true;
    ep->state = SHM_CLOSED; /* not counted yet */
    if (begin(ep) != 0) {
        wi_shm_ep_free(ep);
        return;
    }
    t->n_accepted++;
    t->n_strangers++;
}

void wi_shm_accept(struct shm *t)
{
    for (int i = 0; i < SHM_READY && t->resume_ns == 0; i++) {
        int fd = wi_fd_open(
            accept4(t->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (fd >= 0) {
            welcome(t, fd);
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            listen_later(t); /* EMFILE, ENFILE, ENOBUFS, ENOMEM */
        }
    }
}

/* ---- waiting ------------------------------------------------------------ */

/* Look at one endpoint; returns when to look again, 0: as soon as possible. */
static uint64_t step_one(struct shm_ep *ep, struct shm_events *out)
{
    struct shm *t = ep->t;
    uint64_t now = t->now_ns;
    if (ep->state == SHM_DOOMED && ep->due_ns == 1) {
        wi_shm_ep_free(ep);
        return UINT64_MAX;
    }
    if (ep->state == SHM_DOOMED) {
        if (wi_shm_full(out)) {
            return 0;
        }
        waiting_take(ep);
        ep->state = SHM_CLOSED;
        wi_shm_event(out, (struct wi_event){.kind = WI_EV_CLOSED,
                                            .ep = &ep->base,
                                            .reason = ep->reason,
                                            .hung_up = ep->hung_up});
        return UINT64_MAX;
    }
    if (ep->due_ns == 0) {
        ep->due_ns = now + (ep->accepted ? SHM_STRANGER_NS : SHM_CONNECT_NS);
    }
    if (now >= ep->due_ns && !t->all_read) {
        return 0; /* its greeting may be among what was not read yet */
    }
    if (now >= ep->due_ns) {
        wi_shm_doom(ep, "shm:%s did not answer for %llu s", ep->name,
                    (unsigned long long)(SHM_CONNECT_NS / 1000000000));
        return 0;
    }
    if (ep->state == SHM_GREETING) {
        return ep->due_ns;
    }
    if (now >= ep->retry_ns) {
        ep->retry_ns = now + SHM_RETRY_NS;
        try_connect(ep);
    }
    return ep->state == SHM_RETRYING ? ep->retry_ns : 0;
}

static void set_timer(struct shm *t)
{
    uint64_t ns = t->due_ns - t->now_ns;
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(ns / 1000000000),
                                           .tv_nsec = (long)(ns % 1000000000)}};
    (void)timerfd_settime(t->timer_fd, 0, &when, NULL);
}

void wi_shm_step_waiting(struct shm *t, struct shm_events *out)
{
    uint64_t due = UINT64_MAX;
    if (t->resume_ns != 0 && t->now_ns >= t->resume_ns) {
        listen_again(t);
    } else if (t->resume_ns != 0) {
        due = t->resume_ns;
    }
    for (struct shm_ep *ep = t->waiting, *next; ep != NULL; ep = next) {
        next = ep->next;
        due = wi_min_u64(due, step_one(ep, out));
    }
    t->due_ns = due;
    if (due != 0 && due != UINT64_MAX) {
        set_timer(t);
    }
}
