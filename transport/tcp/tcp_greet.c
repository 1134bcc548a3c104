/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a connection to an endpoint that is up: TLS, if the node has a
 * certificate or a key, then each side greets with 16 bytes:
 * "WEIR\r\n\r\n", a version, seven zero bytes. The line ends are there for
 * servers of other protocols: they take the greeting for a whole request and
 * answer, instead of waiting for more.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "core/base/log.h"
#include "core/base/neutral.h"
#include "transport/tcp/tcp.h"

enum { MAGIC_BYTES = 8, VERSION = 1 };

static const uint8_t greeting[TCP_GREETING_BYTES] = "WEIR\r\n\r\n\1";

/* ---- greeting ------------------------------------------------------------ */

/* A peer that was there has closed: unlike a port where nobody listens. */
static bool is_hang_up(int why)
{
    return why == ECONNRESET || why == EPIPE;
}

static bool greet(struct tcp_ep *ep)
{
    const struct iovec iov = {(void *)(uintptr_t)greeting, sizeof(greeting)};
    /* A new socket has room for 16 bytes. */
    ssize_t n = ep->tls != NULL
                    ? wi_tls_put(ep->tls, &iov, 1)
                    : send(ep->fd, greeting, sizeof(greeting), MSG_NOSIGNAL);
    if (n != (ssize_t)sizeof(greeting)) {
        ep->hung_up = n < 0 && is_hang_up(errno);
        wi_tcp_ep_lose(ep, "greeting to %s: %s", ep->peer,
                       n < 0 ? strerror(errno) : "no room");
        return false;
    }
    return true;
}

/* Connecting to a port of one's own host at which nobody listens can end in a
 * connection to oneself, if the kernel picks that port as the local one. */
static bool is_myself(const struct tcp_ep *ep)
{
    struct sockaddr_storage a = {0};
    struct sockaddr_storage b = {0};
    socklen_t a_len = sizeof(a);
    socklen_t b_len = sizeof(b);
    return getsockname(ep->fd, (struct sockaddr *)&a, &a_len) == 0 &&
           getpeername(ep->fd, (struct sockaddr *)&b, &b_len) == 0 &&
           a_len == b_len && memcmp(&a, &b, a_len) == 0;
}

void wi_tcp_ep_connected(struct tcp_ep *ep)
{
    int why = 0;
    socklen_t len = sizeof(why);
    (void)getsockopt(ep->fd, SOL_SOCKET, SO_ERROR, &why, &len);
    if (why == 0 && is_myself(ep)) {
        why = ECONNREFUSED;
    }
    if (why != 0) {
        ep->hung_up = is_hang_up(why); /* connected, and reset before we look */
        wi_tcp_ep_lose(ep, "connect to %s: %s", ep->peer, strerror(why));
        return;
    }
    wi_tcp_ep_watch(ep, EPOLL_CTL_MOD, EPOLLIN);
    if (wi_tcp_ep_begin(ep) && ep->state == TCP_TLS) {
        wi_tcp_ep_shake(ep);
    }
}

/* ---- TLS ----------------------------------------------------------------- */

/* A line for the first one in a second, with how many came since the last. */
static WI_COLD void say_refused(const struct tcp_ep *ep, const char *why)
{
    struct tcp_transport *t = tcp_home(ep);
    t->refused++;
    if (t->now_ns < t->refused_ns) {
        return;
    }
    wi_log(t->log, WI_LOG_WARN, "refused a connection of %s at %s: %s%s",
           ep->peer, t->address, why,
           t->refused > 1 ? "; there were more since the last line" : "");
    t->refused = 0;
    t->refused_ns = t->now_ns + TCP_REFUSED_NS;
}

static WI_COLD void lose_tls(struct tcp_ep *ep, const char *why)
{
    if (ep->accepted) {
        say_refused(ep, why);
    }
    ep->refused = true;
    wi_tcp_ep_lose(ep, "TLS with %s: %s", ep->peer, why);
}

/* One end speaks TLS, the other one does not: an alert (RFC 8446, section 6,
 * protocol_version) tells both kinds so. What is unread would make the end of
 * the connection a reset, which would drop it. */
static WI_COLD void refuse_kind(struct tcp_ep *ep, const char *why)
{
    static const uint8_t alert[] = {0x15, 3, 3, 0, 2, 2, 70};
    if (ep->accepted) {
        (void)recv(ep->fd, ep->rx.look, TCP_LOOK_BYTES, MSG_DONTWAIT);
        (void)send(ep->fd, alert, sizeof(alert), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    lose_tls(ep, why);
}

/* Does it begin like a record of TLS, of whatever kind? */
static bool is_tls(const uint8_t *at, size_t bytes)
{
    return bytes >= 2 && at[0] >= 0x14 && at[0] <= 0x17 && at[1] == 3;
}

/* False: the peer, which connects, greets without TLS. */
static bool knows_tls(const struct tcp_ep *ep)
{
    uint8_t first[2];
    ssize_t n = recv(ep->fd, first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);
    return n < 2 || is_tls(first, sizeof(first));
}

/* Both ends are known to each other, or need not be: say which protocol. */
static void begin_greeting(struct tcp_ep *ep)
{
    ep->state = TCP_GREETING;
    if (!ep->accepted) {
        (void)greet(ep);
    }
}

/* The core asks a silent peer while it needs the link only. At rest the kernel
 * does: else the next query would find both ends of a wire that was cut and is
 * well again waiting for each other, for as long as it was cut (a packet that
 * is not acknowledged is sent again after twice the time, each time), or one
 * end that knows no more of the link. (tcp(7): TCP_USER_TIMEOUT, TCP_KEEPIDLE;
 * they count in seconds.) */
static void watch_silence(const struct tcp_ep *ep)
{
    const int on = 1;
    const int ms = (int)tcp_home(ep)->silent_ms;
    const int idle = (int)wi_max_u32(1, (uint32_t)ms / 2000);
    const int again = (int)wi_max_u32(1, (uint32_t)ms / 4000);
    if (ms == 0) {
        return;
    }
    (void)setsockopt(ep->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
    (void)setsockopt(ep->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(ep->fd, IPPROTO_TCP, TCP_KEEPINTVL, &again, sizeof(again));
    (void)setsockopt(ep->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

bool wi_tcp_ep_begin(struct tcp_ep *ep)
{
    struct wi_tls *tls = tcp_home(ep)->tls;
    watch_silence(ep);
    if (tls == NULL) {
        begin_greeting(ep);
        return true;
    }
    ep->state = TCP_TLS;
    ep->tls = wi_tls_start(tls, ep->fd, ep->accepted, ep->turn);
    if (ep->tls == NULL) {
        wi_tcp_ep_lose(ep, "no memory for TLS with %s", ep->peer);
        return false;
    }
    return true;
}

/* The peer does not have this key: perhaps the other one, while the secret of
 * the cluster is being changed. */
static WI_COLD void take_turn(struct tcp_ep *ep, const char *why)
{
    if (ep->turn + 1 < wi_tls_turns(tcp_home(ep)->tls)) {
        ep->turn++;
        wi_tcp_ep_again(ep);
    } else {
        lose_tls(ep, why);
    }
}

void wi_tcp_ep_shake(struct tcp_ep *ep)
{
    char why[WI_REASON_BYTES];
    if (ep->accepted && !knows_tls(ep)) {
        refuse_kind(ep, "it does not speak TLS: perhaps it has no secret, was "
                        "told to be plain, or is of an older release");
        return;
    }
    switch (wi_tls_shake(ep->tls, why, sizeof(why))) {
    case WI_TLS_DONE:
        ep->base.names = wi_tls_names(ep->tls);
        ep->base.ips = wi_tls_ips(ep->tls);
        wi_tcp_ep_watch(ep, EPOLL_CTL_MOD, EPOLLIN);
        begin_greeting(ep);
        if (ep->state == TCP_GREETING) {
            wi_tcp_ep_greeted(ep); /* it may have come with the last message */
        }
        break;
    case WI_TLS_IN:
        wi_tcp_ep_watch(ep, EPOLL_CTL_MOD, EPOLLIN);
        break;
    case WI_TLS_OUT:
        wi_tcp_ep_watch(ep, EPOLL_CTL_MOD, EPOLLOUT);
        break;
    case WI_TLS_GONE:
        ep->hung_up = true; /* perhaps it had no room for us, or has a link */
        wi_tcp_ep_lose(ep, "TLS with %s: %s", ep->peer, why);
        break;
    case WI_TLS_UNKNOWN:
        take_turn(ep, why);
        break;
    default:
        lose_tls(ep, why);
    }
}

/* ---- the greeting -------------------------------------------------------- */

static WI_COLD void lose_stranger(struct tcp_ep *ep)
{
    if (ep->tls == NULL && is_tls(ep->rx.look, ep->rx.tail)) {
        refuse_kind(ep, "the peer wants TLS, for which this node has neither a "
                        "certificate nor a secret, or it was told to be plain");
        return;
    }
    char text[TCP_GREETING_BYTES + 1] = {0};
    uint32_t n = wi_min_u32(ep->rx.tail, TCP_GREETING_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        int c = ep->rx.look[i];
        text[i] = wi_neutral_print(c) ? (char)c : '.';
    }
    wi_tcp_ep_lose(ep, "%s is not a Weir node (it answered \"%s\")", ep->peer,
                   text);
}

/* What has come is a greeting as far as it goes. */
static bool check_greeting(struct tcp_ep *ep)
{
    uint32_t have = ep->rx.tail;
    if (memcmp(ep->rx.look, greeting, wi_min_u32(have, MAGIC_BYTES)) != 0) {
        lose_stranger(ep);
        return false;
    }
    if (have > MAGIC_BYTES && ep->rx.look[MAGIC_BYTES] != VERSION) {
        wi_tcp_ep_lose(ep,
                       "%s speaks version %d of the tcp transport, this "
                       "node speaks %d: run the same release on both",
                       ep->peer, ep->rx.look[MAGIC_BYTES], VERSION);
        return false;
    }
    return true;
}

/* Once, until there is room again: the peer tries again and again. */
static WI_COLD void say_full(const struct tcp_ep *ep)
{
    struct tcp_transport *t = tcp_home(ep);
    if (!t->full_reported) {
        wi_log(t->log, WI_LOG_WARN,
               "no room at %s for %s: there are %u connections already "
               "(max_members)",
               t->address, ep->peer, t->links);
    }
    t->full_reported = true;
}

static void end_greeting(struct tcp_ep *ep)
{
    struct tcp_transport *t = tcp_home(ep);
    if (ep->accepted) {
        if (t->links >= t->max_links || !greet(ep)) {
            if (ep->state == TCP_GREETING) {
                say_full(ep);
                wi_tcp_ep_lose(ep, "no room for %s", ep->peer);
            }
            return;
        }
        ep->until_ns = 0;
        t->full_reported = false;
        t->greeting_count--;
        t->links++;
        wi_list_remove(&ep->all);
        wi_list_push_back(&t->eps, &ep->all);
    }
    ep->rx.tail = 0;
    ep->state = TCP_UP;
    wi_tcp_ep_todo(ep, TCP_TODO_UP | TCP_TODO_IN);
}

void wi_tcp_ep_greeted(struct tcp_ep *ep)
{
    struct tcp_rx *rx = &ep->rx;
    const struct iovec iov = {&rx->look[rx->tail],
                              TCP_GREETING_BYTES - rx->tail};
    ssize_t n = ep->tls != NULL
                    ? wi_tls_get(ep->tls, &iov, 1)
                    : recv(ep->fd, iov.iov_base, iov.iov_len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n < 0 && errno == EPROTO && ep->tls != NULL) {
        lose_tls(ep, wi_tls_why(ep->tls)); /* it did not like ours */
        return;
    }
    if (n <= 0) {
        ep->hung_up = rx->tail == 0; /* perhaps it had no room for us */
        wi_tcp_ep_lose(ep, "%s hung up before it greeted%s%s", ep->peer,
                       n < 0 ? ": " : "", n < 0 ? strerror(errno) : "");
        return;
    }
    rx->tail += (uint32_t)n;
    if (check_greeting(ep) && rx->tail == TCP_GREETING_BYTES) {
        end_greeting(ep);
    }
}
