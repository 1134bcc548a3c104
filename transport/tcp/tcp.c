/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tcp transport: listening, polling, sleeping. See tcp.h for the picture.
 *
 * poll first asks epoll what is new, which marks endpoints as ready, then
 * takes ready endpoints in turn while there are events left to fill. Epoll is
 * level triggered, so bytes in a socket are never forgotten; what is left in
 * memory (records that found the event array full) keeps its endpoint ready.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/forks.h"
#include "core/base/log.h"
#include "transport/tcp/tcp.h"

enum { EPOLL_EVENTS = 64, MAX_ACCEPTS = 16, DEFAULT_LINKS = 64 };

/* ---- listening ----------------------------------------------------------- */

static void listen_watch(struct tcp_transport *t, int op)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &t->listen_fd};
    (void)epoll_ctl(t->epoll_fd, op, t->listen_fd, &ev);
}

void wi_tcp_resume(struct tcp_transport *t)
{
    if (t->paused_until_ns != 0) {
        t->paused_until_ns = 0;
        listen_watch(t, EPOLL_CTL_ADD);
    }
}

/* The peer that waits to be accepted would make epoll report it forever. */
static WI_COLD void pause_accept(struct tcp_transport *t, int why)
{
    struct rlimit lim = {0};
    (void)getrlimit(RLIMIT_NOFILE, &lim);
    listen_watch(t, EPOLL_CTL_DEL);
    t->paused_until_ns = t->now_ns + TCP_PAUSE_NS;
    if (!t->pause_reported) {
        wi_log(t->log, WI_LOG_ERROR,
               "cannot accept connections at %s: %s; the limit of descriptors "
               "is %llu: raise ulimit -n",
               t->address, strerror(why), (unsigned long long)lim.rlim_cur);
    }
    t->pause_reported = true;
}

static void accepted(struct tcp_transport *t, int fd, const union wi_inet *addr)
{
    const int one = 1;
    struct tcp_ep *ep = wi_tcp_ep_open(t, fd, TCP_GREETING);
    if (!ep) {
        (void)shutdown(fd, SHUT_RDWR);
        wi_fd_close(fd);
        return;
    }
    if (t->greeting_count >= TCP_MAX_GREETING && !wi_list_empty(&t->greeting)) {
        /* Strangers that stay silent must not keep out a node that comes. */
        wi_tcp_ep_trash(wi_container_of(t->greeting.next, struct tcp_ep, all));
    }
    ep->accepted = true;
    ep->until_ns = t->now_ns + TCP_GREETING_NS;
    wi_inet_encode(addr, ep->peer, sizeof(ep->peer));
    wi_list_remove(&ep->all);
    wi_list_push_back(&t->greeting, &ep->all);
    t->links--;
    t->greeting_count++;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    wi_tcp_ep_watch(ep, EPOLL_CTL_ADD, EPOLLIN);
    (void)wi_tcp_ep_begin(ep);
}

static void accept_some(struct tcp_transport *t)
{
    for (uint32_t i = 0; i < MAX_ACCEPTS; i++) {
        union wi_inet addr = {0};
        socklen_t len = sizeof(addr);
        int fd = wi_fd_open(accept4(t->listen_fd, &addr.any, &len,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (fd >= 0) {
            t->pause_reported = false;
            accepted(t, fd, &addr);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
                   errno == ENOMEM) {
            pause_accept(t, errno);
            return;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } /* else a connection that died in the queue: take the next */
    }
}

/* ---- open and close ------------------------------------------------------ */

/* What peers are told. */
static weir_err set_address(struct tcp_transport *t, const char *advertise,
                            union wi_inet *at, struct weir_error *err)
{
    char *text = t->address + 4;
    memcpy(t->address, "tcp:", 4);
    if (advertise != NULL) {
        return wi_inet_advertise(advertise, WI_INET_NAMES, at, text,
                                 sizeof(t->address) - 4, err);
    }
    wi_tcp_addr_reachable(at);
    wi_inet_encode(at, text, sizeof(t->address) - 4);
    return WEIR_OK;
}

static weir_err open_listener(struct tcp_transport *t, const char *text,
                              const char *advertise, struct weir_error *err)
{
    const int one = 1;
    union wi_inet addr;
    socklen_t len = sizeof(addr);
    weir_err rc =
        wi_inet_decode(text, WI_INET_LISTEN | WI_INET_NAMES, &addr, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    t->listen_fd = wi_fd_open(socket(
        addr.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (t->listen_fd < 0) {
        return wi_fail_errno(err, errno,
                             "socket to listen at %s (if out of descriptors: "
                             "raise ulimit -n)",
                             text);
    }
    (void)setsockopt(t->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(t->listen_fd, &addr.any, wi_inet_len(&addr)) != 0 ||
        listen(t->listen_fd, SOMAXCONN) != 0) {
        return wi_fail_errno(err, errno,
                             "listen at %s (take another address, or port 0 "
                             "for a free one)",
                             text);
    }
    (void)getsockname(t->listen_fd, &addr.any, &len);
    t->base.networked = !wi_inet_is_loopback(&addr);
    return set_address(t, advertise, &addr, err);
}

static weir_err open_epoll(struct tcp_transport *t, struct weir_error *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &t->timer_fd};
    t->epoll_fd = wi_fd_open(epoll_create1(EPOLL_CLOEXEC));
    t->timer_fd =
        wi_fd_open(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (t->epoll_fd < 0 || t->timer_fd < 0 ||
        epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, t->timer_fd, &ev) != 0) {
        return wi_fail_errno(err, errno,
                             "epoll and timer of the tcp transport (if out of "
                             "descriptors: raise ulimit -n)");
    }
    listen_watch(t, EPOLL_CTL_ADD);
    return WEIR_OK;
}

static void close_list(struct wi_list *list)
{
    wi_list_each(node, list)
    {
        struct tcp_ep *ep = wi_container_of(node, struct tcp_ep, all);
        if (ep->state == TCP_LINGER) {
            (void)wi_tcp_ep_linger(ep); /* fewer resets, see disconnect */
        }
        wi_tcp_ep_close(ep);
    }
}

static void tcp_close(struct wi_transport *base)
{
    struct tcp_transport *t = tcp_of(base);
    t->paused_until_ns = 0; /* closing endpoints must not resume */
    close_list(&t->eps);
    close_list(&t->greeting);
    close_list(&t->linger);
    close_list(&t->trash);
    wi_tcp_lookup_close(t);
    if (t->listen_fd >= 0) {
        /* A copy in a child must not hold the port, nor take connections. */
        (void)shutdown(t->listen_fd, SHUT_RDWR);
    }
    wi_fd_close(t->listen_fd);
    wi_fd_close(t->epoll_fd);
    wi_fd_close(t->timer_fd);
    wi_tls_close(t->tls);
    free(t);
}

/* A second at least: an acknowledgement may be late, or sent once more. */
static uint32_t silent_ms(uint64_t ns)
{
    uint64_t ms = wi_max_u64(ns / 1000000, 1000);
    return ns == 0 ? 0 : (uint32_t)wi_min_u64(ms, INT32_MAX);
}

static weir_err tcp_open(const struct wi_transport_params *params,
                         struct wi_transport **out, struct weir_error *err)
{
    struct tcp_transport *t = calloc(1, sizeof(*t));
    if (!t) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a transport");
    }
    t->base.ops = &wi_tcp_ops;
    t->epoll_fd = t->listen_fd = t->timer_fd = -1;
    t->max_links = params->max_links ? params->max_links : DEFAULT_LINKS;
    t->silent_ms = silent_ms(params->silent_ns);
    t->log = params->log;
    wi_list_init(&t->eps);
    wi_list_init(&t->greeting);
    wi_list_init(&t->linger);
    wi_list_init(&t->ready);
    wi_list_init(&t->trash);
    weir_err rc =
        open_listener(t, params->listen ? params->listen : "127.0.0.1:0",
                      params->advertise, err);
    if (rc == WEIR_OK && params->tls != NULL) {
        rc = wi_tls_open(params->tls, params->name, &t->tls, err);
    }
    if (rc == WEIR_OK) {
        rc = open_epoll(t, err);
    }
    if (rc != WEIR_OK) {
        tcp_close(&t->base);
        return rc;
    }
    *out = &t->base;
    return WEIR_OK;
}

static void tcp_address(struct wi_transport *base, char *text)
{
    memcpy(text, tcp_of(base)->address, WI_ADDRESS_BYTES);
}

/* ---- poll ---------------------------------------------------------------- */

static void collect(struct tcp_transport *t)
{
    struct epoll_event evs[EPOLL_EVENTS];
    bool incoming = false;
    int n = epoll_wait(t->epoll_fd, evs, EPOLL_EVENTS, 0);
    for (int i = 0; i < n; i++) {
        void *what = evs[i].data.ptr;
        if (what == &t->listen_fd) {
            incoming = true;
        } else if (what == &t->timer_fd) {
            uint64_t ticks;
            (void)!read(t->timer_fd, &ticks, sizeof(ticks));
        } else if (what == &t->lookups) {
            wi_tcp_lookup_poll(t);
        } else {
            /* A socket in error is readable: reading tells why. */
            uint32_t in = evs[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP);
            uint32_t out = evs[i].events & EPOLLOUT;
            wi_tcp_ep_todo(what, (in ? (uint32_t)TCP_TODO_IN : 0) |
                                     (out ? (uint32_t)TCP_TODO_OUT : 0));
        }
    }
    if (incoming) {
        accept_some(t); /* last: it may drop endpoints */
    }
}

static void expire_list(struct tcp_transport *t, struct wi_list *list)
{
    wi_list_each(node, list) /* oldest first */
    {
        struct tcp_ep *ep = wi_container_of(node, struct tcp_ep, all);
        if (ep->until_ns > t->now_ns) {
            return;
        }
        wi_tcp_ep_trash(ep);
    }
}

static void expire(struct tcp_transport *t)
{
    expire_list(t, &t->greeting);
    expire_list(t, &t->linger);
    if (t->paused_until_ns != 0 && t->paused_until_ns <= t->now_ns) {
        wi_tcp_resume(t);
    }
}

/* Report one event of the endpoint if it is due and there is room. */
static uint32_t report(struct tcp_ep *ep, uint32_t todo,
                       enum wi_event_kind kind, struct wi_event *events,
                       uint32_t max)
{
    if ((ep->todo & todo) == 0 || max == 0) {
        return 0;
    }
    ep->todo &= ~todo;
    events[0] = (struct wi_event){.kind = kind, .ep = &ep->base};
    if (kind == WI_EV_CLOSED) {
        events[0].reason = ep->reason;
        events[0].hung_up = ep->hung_up;
        events[0].refused = ep->refused;
    }
    return 1;
}

static uint32_t report_reads(struct tcp_ep *ep, struct wi_event *events,
                             uint32_t max)
{
    uint32_t n = 0;
    while (n < max && ep->reads_done > 0) {
        n += report(ep, TCP_TODO_READ_DONE, WI_EV_READ_DONE, events + n, 1);
        ep->reads_done--;
        ep->todo |= ep->reads_done > 0 ? (uint32_t)TCP_TODO_READ_DONE : 0;
    }
    return n;
}

/* Endpoint that is up or was: its events, in the order of their meaning. */
static uint32_t step_up(struct tcp_ep *ep, struct wi_event *events,
                        uint32_t max)
{
    uint32_t n =
        report(ep, TCP_TODO_UP, ep->accepted ? WI_EV_ACCEPTED : WI_EV_CONNECTED,
               events, max);
    if (ep->state == TCP_UP && (ep->todo & TCP_TODO_OUT)) {
        wi_tcp_unblock(ep); /* before SENDABLE, edge E41 */
        ep->todo |= TCP_TODO_SENDABLE;
    }
    ep->todo &= ~(uint32_t)TCP_TODO_OUT;
    if (ep->state == TCP_UP && (ep->todo & (TCP_TODO_IN | TCP_TODO_PARSE))) {
        n += wi_tcp_receive(ep, events + n, max - n);
    }
    n += report_reads(ep, events + n, max - n);
    n += report(ep, TCP_TODO_SENDABLE, WI_EV_SENDABLE, events + n, max - n);
    if ((ep->todo & (TCP_TODO_READ_DONE | TCP_TODO_SENDABLE)) == 0) {
        n += report(ep, TCP_TODO_CLOSED, WI_EV_CLOSED, events + n, max - n);
    }
    return n;
}

static uint32_t step(struct tcp_ep *ep, struct wi_event *events, uint32_t max)
{
    if (ep->state == TCP_LINGER) {
        ep->todo = 0;
        if (wi_tcp_ep_linger(ep)) {
            wi_tcp_ep_trash(ep);
        }
        return 0;
    }
    if (ep->state == TCP_CONNECTING) {
        ep->todo = 0;
        wi_tcp_ep_connected(ep);
    } else if (ep->state == TCP_TLS) {
        ep->todo = 0;
        wi_tcp_ep_shake(ep);
    } else if (ep->state == TCP_GREETING) {
        ep->todo = 0;
        wi_tcp_ep_greeted(ep);
    }
    return step_up(ep, events, max);
}

static uint32_t tcp_poll(struct wi_transport *base, uint64_t now_ns,
                         struct wi_event *events, uint32_t max)
{
    struct tcp_transport *t = tcp_of(base);
    struct wi_list again;
    struct wi_list *node;
    uint32_t n = 0;
    wi_list_init(&again);
    t->now_ns = now_ns;
    collect(t);
    expire(t);
    while (n < max && (node = wi_list_take(&t->ready))) {
        struct tcp_ep *ep = wi_container_of(node, struct tcp_ep, ready);
        n += step(ep, events + n, max - n);
        wi_list_remove(&ep->ready);
        if (ep->todo != 0) {
            wi_list_push_back(&again, &ep->ready);
        }
    }
    while ((node = wi_list_take(&again))) {
        wi_list_push_back(&t->ready, node);
    }
    close_list(&t->trash);
    return n;
}

/* ---- sleep --------------------------------------------------------------- */

static uint64_t first_deadline(const struct tcp_transport *t)
{
    const struct wi_list *lists[] = {&t->greeting, &t->linger};
    uint64_t first = t->paused_until_ns ? t->paused_until_ns : UINT64_MAX;
    for (size_t i = 0; i < WI_ARRAY_LEN(lists); i++) {
        if (!wi_list_empty(lists[i])) {
            const struct tcp_ep *ep =
                wi_container_of(lists[i]->next, struct tcp_ep, all);
            first = wi_min_u64(first, ep->until_ns);
        }
    }
    return first;
}

static weir_err tcp_arm(struct wi_transport *base)
{
    struct tcp_transport *t = tcp_of(base);
    if (!wi_list_empty(&t->ready)) {
        return WEIR_AGAIN;
    }
    uint64_t first = first_deadline(t);
    if (first != UINT64_MAX) {
        /* Relative: the engine's clock need not be this one. */
        uint64_t left = first > t->now_ns ? first - t->now_ns : 1;
        struct itimerspec when = {
            .it_value = {.tv_sec = (time_t)(left / 1000000000u),
                         .tv_nsec = (long)(left % 1000000000u)},
        };
        (void)timerfd_settime(t->timer_fd, 0, &when, NULL);
    }
    return WEIR_OK;
}

static int tcp_fd(struct wi_transport *base)
{
    return tcp_of(base)->epoll_fd;
}

const struct wi_transport_ops wi_tcp_ops = {
    .name = "tcp",
    .caps = WI_CAP_WRITE | WI_CAP_READ | WI_CAP_FD | WI_CAP_GUARD |
            WI_CAP_LOCAL_ANY | WI_CAP_LAZY | WI_CAP_TALLY,
    .max_message_bytes = TCP_MESSAGE_BYTES,
    .usual_frame_bytes = WI_USUAL_FRAME_BYTES,
    .open = tcp_open,
    .close = tcp_close,
    .address = tcp_address,
    .mem_open = wi_tcp_mem_open,
    .mem_reserve = wi_tcp_mem_reserve,
    .mem_take = wi_tcp_mem_take,
    .mem_borrow = wi_tcp_mem_borrow,
    .mem_close = wi_tcp_mem_close,
    .grant = wi_tcp_grant,
    .ungrant = wi_tcp_ungrant,
    .map = wi_no_map,
    .unmap = wi_no_unmap,
    .check = wi_tcp_check,
    .connect = wi_tcp_connect,
    .connect_next = wi_no_next,
    .why = wi_plain_why,
    .disconnect = wi_tcp_disconnect,
    .send = wi_tcp_send,
    .write = wi_tcp_write,
    .read = wi_tcp_read,
    .kick = wi_tcp_kick,
    .poll = tcp_poll,
    .arm = tcp_arm,
    .fd = tcp_fd,
};
