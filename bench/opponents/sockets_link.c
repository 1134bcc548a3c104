/* SPDX-License-Identifier: Apache-2.0 */
/* One socket of the sockets transport: records out, records in. */
#define _GNU_SOURCE 1
#include "bench/opponents/sockets_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/base/err.h"

/* Receives from one socket before the others get their turn. */
#define READS_PER_TURN 16

weir_err wb_link_open(struct wb_sockets_node *t, int fd, struct wb_link **out,
                      struct weir_error *err)
{
    struct wb_link *l = calloc(1, sizeof(*l));
    if (l == NULL) {
        (void)close(fd);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a link");
    }
    l->base.transport = &t->base;
    l->fd = fd;
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = l};
    if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &ev) != 0) {
        (void)close(fd);
        wi_grants_fini(&l->grants);
        free(l);
        return wi_fail_errno(err, errno, "epoll_ctl");
    }
    *out = l;
    return WEIR_OK;
}

/* A link with many messages that nobody polls is not read any more, so that the
 * sockets fill up, and then the peer's queue. */
static void set_interest(struct wb_sockets_node *t, struct wb_link *l)
{
    bool full = l->waiting_bytes >= WB_LINK_WAITING_BYTES;
    struct epoll_event ev = {.data.ptr = l};
    ev.events = (full ? 0 : EPOLLIN) | (l->wants_room ? EPOLLOUT : 0);
    (void)epoll_ctl(t->epoll, EPOLL_CTL_MOD, l->fd, &ev);
}

/* ---- out ----------------------------------------------------------------- */

static struct wb_record *queue(struct wb_link *l, const void *from,
                               uint32_t bytes, uint32_t kind)
{
    struct wb_record *r = &l->queued[l->n_queued];
    l->from[l->n_queued] = from;
    l->n_queued++;
    *r = (struct wb_record){.bytes = bytes, .kind = kind};
    return r;
}

static weir_err may_queue(struct wb_link *l, bool room)
{
    if (wi_load_rlx(&l->ended)) { /* a CLOSED event says why */
        return WEIR_ERR_PEER_LOST;
    }
    if (!room || l->n_queued == WB_LINK_RECORDS) {
        l->again = true;
        return WEIR_AGAIN;
    }
    return WEIR_OK;
}

weir_err wb_link_send(struct wi_ep *ep, const void *bytes, uint32_t len)
{
    struct wb_link *l = wb_link_of(ep);
    weir_err rc = may_queue(l, l->n_text < WB_LINK_RECORDS / 4);
    if (rc != WEIR_OK) {
        return rc;
    }
    memcpy(l->text[l->n_text], bytes, len);
    (void)queue(l, l->text[l->n_text], len, WB_RECORD_MESSAGE);
    l->n_text++;
    return WEIR_OK;
}

weir_err wb_link_write(struct wi_ep *ep, const struct wi_rma *op)
{
    struct wb_link *l = wb_link_of(ep);
    weir_err rc = may_queue(l, true);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wb_record *r = queue(l, op->local, op->bytes, WB_RECORD_WRITE);
    r->key = op->key;
    r->off = op->remote_off;
    return WEIR_OK;
}

/* The rest of what is queued. */
static size_t gather(struct wb_link *l, struct iovec *iov)
{
    size_t n = 0;
    uint64_t skip = l->sent_bytes;
    for (uint32_t i = l->n_sent; i < l->n_queued; i++) {
        struct iovec part[2] = {
            {&l->queued[i], sizeof(l->queued[i])},
            {(void *)(uintptr_t)l->from[i], l->queued[i].bytes}};
        for (int k = 0; k < 2; k++) {
            size_t gone = skip < part[k].iov_len ? skip : part[k].iov_len;
            skip -= gone;
            part[k].iov_base = (uint8_t *)part[k].iov_base + gone;
            part[k].iov_len -= gone;
            iov[n] = part[k];
            n += part[k].iov_len != 0;
        }
    }
    return n;
}

/* The system has taken this much more. */
static void count_sent(struct wb_link *l, size_t bytes)
{
    uint64_t writes = 0;
    l->sent_bytes += bytes;
    while (l->n_sent < l->n_queued) {
        const struct wb_record *r = &l->queued[l->n_sent];
        if (l->sent_bytes < sizeof(*r) + r->bytes) {
            break;
        }
        l->sent_bytes -= sizeof(*r) + r->bytes;
        writes += r->kind == WB_RECORD_WRITE;
        l->n_sent++;
    }
    /* Relaxed: writer and reader of it hold the post lock. */
    (void)wi_add_rlx(&l->base.completed, writes);
}

/* WEIR_AGAIN: the socket is full. */
static weir_err send_all(struct wb_link *l)
{
    struct iovec iov[2 * WB_LINK_RECORDS];
    while (l->n_sent < l->n_queued) {
        struct msghdr msg = {.msg_iov = iov, .msg_iovlen = gather(l, iov)};
        ssize_t sent = sendmsg(l->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            count_sent(l, (size_t)sent);
        } else if (errno == EAGAIN) {
            return WEIR_AGAIN;
        } else if (errno != EINTR) {
            return WEIR_ERR_PEER_LOST;
        }
    }
    l->n_queued = 0;
    l->n_sent = 0;
    l->n_text = 0;
    return WEIR_OK;
}

weir_err wb_link_kick(struct wi_ep *ep)
{
    struct wb_link *l = wb_link_of(ep);
    struct wb_sockets_node *t = wb_node_of(ep->transport);
    weir_err rc = send_all(l);
    if (rc == WEIR_AGAIN) {
        (void)pthread_mutex_lock(&t->lock);
        l->wants_room = true;
        set_interest(t, l);
        (void)pthread_mutex_unlock(&t->lock);
    } else if (l->again) {
        l->again = false;
        (void)pthread_mutex_lock(&t->lock);
        wb_event_put(t, wb_event_make(WI_EV_SENDABLE, l, 0));
        (void)pthread_mutex_unlock(&t->lock);
    }
    return rc;
}

weir_err wb_link_grant(struct wi_ep *ep, const struct wi_mem *mem,
                       uint32_t access, uint64_t *key_out,
                       struct weir_error *err)
{
    struct wb_link *l = wb_link_of(ep);
    struct wb_sockets_node *t = wb_node_of(ep->transport);
    const struct wi_granted what = {
        .base = mem->base, .bytes = mem->bytes, .access = access};
    (void)pthread_mutex_lock(&t->lock); /* the peer may guess keys */
    weir_err rc = wi_grants_add(&l->grants, &what, 1, key_out, err);
    (void)pthread_mutex_unlock(&t->lock);
    return rc;
}

/* Takes the peer at its word: a write under way would go on. */
weir_err wb_link_ungrant(struct wi_ep *ep, const struct wi_mem *mem,
                         uint64_t key)
{
    struct wb_sockets_node *t = wb_node_of(ep->transport);
    (void)mem;
    (void)pthread_mutex_lock(&t->lock);
    wi_grants_drop(&wb_link_of(ep)->grants, key);
    (void)pthread_mutex_unlock(&t->lock);
    return WEIR_OK;
}

/* ---- in ------------------------------------------------------------------ */

struct wb_event *wb_event_make(enum wi_event_kind kind, struct wb_link *link,
                               uint32_t bytes)
{
    struct wb_event *e = malloc(sizeof(*e) + bytes);
    if (e == NULL) {
        abort();
    }
    e->event = (struct wi_event){
        .kind = kind, .ep = &link->base, .bytes = e->bytes, .len = bytes};
    return e;
}

void wb_event_put(struct wb_sockets_node *t, struct wb_event *e)
{
    uint64_t one = 1;
    bool first = wi_list_empty(&t->events);
    wi_list_push_back(&t->events, &e->at);
    if (first && write(t->news, &one, sizeof(one)) != (ssize_t)sizeof(one)) {
        abort();
    }
}

void wb_link_end(struct wb_sockets_node *t, struct wb_link *l, const char *why)
{
    if (wi_load_rlx(&l->ended)) { /* written under this lock */
        return;
    }
    struct wb_event *e = wb_event_make(WI_EV_CLOSED, l, 0);
    e->event.reason = why;
    wi_store_rlx(&l->ended, true); /* a hint: sending fails soon enough */
    (void)epoll_ctl(t->epoll, EPOLL_CTL_DEL, l->fd, NULL);
    (void)shutdown(l->fd, SHUT_RDWR);
    wb_event_put(t, e);
}

/* The header is complete: where do its bytes go? */
static bool aim(struct wb_link *l)
{
    const struct wb_record *r = &l->head;
    if (r->bytes == 0) {
        return false;
    }
    if (r->kind == WB_RECORD_MESSAGE) {
        if (r->bytes > WB_LINK_MESSAGE_BYTES) {
            return false;
        }
        l->message = wb_event_make(WI_EV_MESSAGE, l, r->bytes);
        l->to = l->message->bytes;
        return true;
    }
    const struct wi_granted *grant =
        r->kind == WB_RECORD_WRITE
            ? wi_grants_find(&l->grants, r->key, WI_ACCESS_WRITE, r->off,
                             r->bytes)
            : NULL;
    if (grant == NULL) {
        return false;
    }
    l->to = grant->base + r->off;
    return true;
}

/* Take n more bytes of the record under way. */
static bool advance(struct wb_sockets_node *t, struct wb_link *l, size_t n)
{
    l->filled += n;
    if (l->to == NULL) {
        if (l->filled < sizeof(l->head)) {
            return true;
        }
        l->filled = 0;
        return aim(l);
    }
    if (l->filled == l->head.bytes) {
        if (l->message != NULL) {
            wb_event_put(t, l->message);
            l->waiting_bytes += l->head.bytes;
            if (l->waiting_bytes >= WB_LINK_WAITING_BYTES) {
                set_interest(t, l);
            }
        }
        l->message = NULL;
        l->to = NULL;
        l->filled = 0;
    }
    return true;
}

static void receive(struct wb_sockets_node *t, struct wb_link *l)
{
    for (int turn = 0; turn < READS_PER_TURN; turn++) {
        bool head = l->to == NULL;
        uint8_t *at = head ? (uint8_t *)&l->head : l->to;
        size_t want = (head ? sizeof(l->head) : l->head.bytes) - l->filled;
        ssize_t n = recv(l->fd, at + l->filled, want, MSG_DONTWAIT);
        if (n <= 0) {
            bool later = n < 0 && (errno == EAGAIN || errno == EINTR);
            if (!later) {
                wb_link_end(t, l, "the peer closed the connection");
            }
            return;
        }
        if (!advance(t, l, (size_t)n)) {
            wb_link_end(t, l, "the peer broke the protocol");
            return;
        }
    }
}

void wb_link_ready(struct wb_sockets_node *t, struct wb_link *l,
                   uint32_t events)
{
    if ((events & EPOLLOUT) != 0 && l->wants_room) {
        l->wants_room = false;
        set_interest(t, l);
        wb_event_put(t, wb_event_make(WI_EV_SENDABLE, l, 0));
    }
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        receive(t, l);
    }
}

void wb_link_took(struct wb_sockets_node *t, struct wb_link *l, uint32_t bytes)
{
    bool full = l->waiting_bytes >= WB_LINK_WAITING_BYTES;
    l->waiting_bytes -= bytes;
    if (full && l->waiting_bytes < WB_LINK_WAITING_BYTES) {
        set_interest(t, l);
    }
}
