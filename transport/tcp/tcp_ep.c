/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of a tcp endpoint: connect, lost or disconnected; tcp_greet.c has what
 * lies between.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/base/err.h"
#include "core/base/forks.h"
#include "core/base/neutral.h"
#include "transport/tcp/tcp.h"

/* ---- open and close ------------------------------------------------------ */

struct tcp_ep *wi_tcp_ep_open(struct tcp_transport *t, int fd,
                              enum tcp_state state)
{
    struct tcp_ep *ep = calloc(1, sizeof(*ep));
    if (!ep) {
        return NULL;
    }
    ep->base.transport = &t->base;
    ep->fd = fd;
    ep->state = state;
    wi_list_push_back(&t->eps, &ep->all);
    wi_list_init(&ep->ready);
    t->links++;
    return ep;
}

/* Not by close alone: a child by a bare clone(2) may hold a copy of the
 * descriptor, which would keep the connection up, and watched. */
static void hang_up(struct tcp_ep *ep)
{
    if (ep->fd >= 0) {
        wi_tcp_ep_watch(ep, EPOLL_CTL_DEL, 0);
        (void)shutdown(ep->fd, SHUT_RDWR);
    }
    wi_fd_close(ep->fd);
    ep->fd = -1;
}

void wi_tcp_ep_close(struct tcp_ep *ep)
{
    struct tcp_transport *t = tcp_home(ep);
    wi_tcp_lookup_drop(ep);
    wi_list_remove(&ep->all);
    wi_list_remove(&ep->ready);
    if (ep->state == TCP_LINGER) {
        t->linger_count--;
    } else if (ep->until_ns != 0) {
        t->greeting_count--;
    } else {
        t->links--;
    }
    wi_tls_end(ep->tls);
    hang_up(ep);
    wi_grants_fini(&ep->grants);
    free(ep);
    wi_tcp_resume(t);
}

void wi_tcp_ep_trash(struct tcp_ep *ep)
{
    wi_list_remove(&ep->ready);
    ep->todo = 0;
    wi_list_remove(&ep->all);
    wi_list_push_back(&tcp_home(ep)->trash, &ep->all);
}

void wi_tcp_ep_watch(struct tcp_ep *ep, int op, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.ptr = ep};
    /* Fails only for a descriptor that is no longer watched. */
    (void)epoll_ctl(tcp_home(ep)->epoll_fd, op, ep->fd, &ev);
}

void wi_tcp_ep_todo(struct tcp_ep *ep, uint32_t todo)
{
    ep->todo |= todo;
    if (wi_list_empty(&ep->ready)) {
        wi_list_push_back(&tcp_home(ep)->ready, &ep->ready);
    }
}

void wi_tcp_ep_lose(struct tcp_ep *ep, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)wi_neutral_vformat(ep->reason, sizeof(ep->reason), fmt, args);
    va_end(args);
    bool known = !ep->accepted || ep->state == TCP_UP;
    ep->state = TCP_DEAD;
    wi_tcp_ep_watch(ep, EPOLL_CTL_DEL, 0);
    (void)shutdown(ep->fd, SHUT_RDWR);
    /* Relaxed: from now on send and kick refuse; a kick that is under way
     * finds the socket shut. */
    wi_store_rlx(&ep->send_errno, ESHUTDOWN);
    if (known) {
        wi_tcp_ep_todo(ep, TCP_TODO_CLOSED);
    } else {
        wi_tcp_ep_trash(ep); /* the core never heard of it */
    }
}

/* ---- connect ------------------------------------------------------------- */

static WI_COLD weir_err no_socket(int why, const char *address,
                                  struct weir_error *err)
{
    struct rlimit lim = {0};
    if (why != EMFILE && why != ENFILE) {
        return wi_fail_errno(err, why, "socket for %s", address);
    }
    (void)getrlimit(RLIMIT_NOFILE, &lim);
    return wi_fail(err, WEIR_ERR_SYSTEM,
                   "no descriptor for a connection to %s: %s; the limit of "
                   "this process is %llu: raise ulimit -n",
                   address, strerror(why), (unsigned long long)lim.rlim_cur);
}

/* The address is known. */
static weir_err dial(struct tcp_ep *ep, const union wi_inet *addr,
                     struct weir_error *err)
{
    const int one = 1;
    ep->fd = wi_fd_open(socket(addr->any.sa_family,
                               SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (ep->fd < 0) {
        return no_socket(errno, ep->peer, err);
    }
    ep->state = TCP_CONNECTING;
    (void)setsockopt(ep->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    wi_inet_encode(addr, ep->peer, sizeof(ep->peer));
    wi_tcp_ep_watch(ep, EPOLL_CTL_ADD, 0);
    if (connect(ep->fd, &addr->any, wi_inet_len(addr)) == 0 ||
        errno == EINPROGRESS) {
        wi_tcp_ep_watch(ep, EPOLL_CTL_MOD, EPOLLOUT);
    } else {
        wi_tcp_ep_lose(ep, "connect to %s: %s", ep->peer, strerror(errno));
    }
    return WEIR_OK;
}

void wi_tcp_ep_found(struct tcp_ep *ep, const union wi_inet *addr,
                     const char *why)
{
    struct weir_error err;
    if (addr == NULL) {
        wi_tcp_ep_lose(ep, "%s", why);
    } else if (dial(ep, addr, &err) != WEIR_OK) {
        wi_tcp_ep_lose(ep, "%s", err.message);
    }
}

void wi_tcp_ep_again(struct tcp_ep *ep)
{
    union wi_inet addr;
    struct weir_error err;
    wi_tls_end(ep->tls);
    ep->tls = NULL;
    hang_up(ep);
    weir_err rc = wi_inet_decode(ep->peer, 0, &addr, &err);
    if (rc != WEIR_OK || dial(ep, &addr, &err) != WEIR_OK) {
        wi_tcp_ep_lose(ep, "%s", err.message);
    }
}

static weir_err check(const char *address, bool *name_out,
                      struct weir_error *err)
{
    if (strncmp(address, "tcp:", 4) != 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "'%.120s' is not an address of tcp (tcp:HOST:PORT)",
                       address);
    }
    return wi_inet_check(address + 4, WI_INET_NAMES, name_out, err);
}

weir_err wi_tcp_check(struct wi_transport *t, const char *address,
                      struct weir_error *err)
{
    bool name;
    (void)t;
    return check(address, &name, err);
}

weir_err wi_tcp_connect(struct wi_transport *base, const char *address,
                        struct wi_ep **ep_out, struct weir_error *err)
{
    bool name = false;
    union wi_inet addr;
    weir_err rc = check(address, &name, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct tcp_ep *ep = wi_tcp_ep_open(tcp_of(base), -1, TCP_LOOKING);
    if (!ep) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a link to %s",
                       address);
    }
    (void)snprintf(ep->peer, sizeof(ep->peer), "%s", address + 4);
    if (wi_inet_host(ep->peer, ep->host, sizeof(ep->host))) {
        ep->base.host = ep->host;
    }
    if (name) {
        rc = wi_tcp_lookup_start(ep, address + 4, err);
    } else {
        rc = wi_inet_decode(address + 4, 0, &addr, err);
        rc = rc == WEIR_OK ? dial(ep, &addr, err) : rc;
    }
    if (rc != WEIR_OK) {
        wi_tcp_ep_close(ep);
        return rc;
    }
    *ep_out = &ep->base;
    return WEIR_OK;
}

/* ---- disconnect ---------------------------------------------------------- */

bool wi_tcp_ep_linger(struct tcp_ep *ep)
{
    for (uint32_t i = 0; i < 16; i++) {
        ssize_t n = recv(ep->fd, ep->rx.look, TCP_LOOK_BYTES, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            return true;
        }
        if (n < 0) {
            return false;
        }
    }
    return false;
}

/*
 * Closing a socket that holds unread bytes resets the connection, and the
 * reset drops what the peer has not got yet. So the socket says its end, and
 * lives on without its endpoint until the peer's end has come: at most
 * TCP_LINGER_NS, and at most TCP_MAX_LINGER of them. What the kernel has not
 * taken is lost; the peer sees a record that is cut.
 */
void wi_tcp_disconnect(struct wi_ep *base)
{
    struct tcp_ep *ep = tcp_ep_of(base);
    struct tcp_transport *t = tcp_home(ep);
    if (ep->state != TCP_UP || wi_tcp_ep_linger(ep)) {
        wi_tcp_ep_close(ep);
        return;
    }
    if (t->linger_count == TCP_MAX_LINGER) {
        wi_tcp_ep_close(wi_container_of(t->linger.next, struct tcp_ep, all));
    }
    (void)shutdown(ep->fd, SHUT_WR);
    wi_tcp_ep_watch(ep, EPOLL_CTL_MOD, EPOLLIN);
    ep->state = TCP_LINGER;
    ep->until_ns = t->now_ns + TCP_LINGER_NS;
    ep->todo = 0;
    t->links--;
    t->linger_count++;
    wi_list_remove(&ep->ready);
    wi_list_remove(&ep->all);
    wi_list_push_back(&t->linger, &ep->all);
}
