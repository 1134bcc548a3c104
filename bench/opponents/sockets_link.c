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
        free(l);
        return wi_fail_errno(err, errno, "epoll_ctl");
    }
    *out = l;
    return WEIR_OK;
}

/* ---- out --------------------------------------------------------------------- */

static struct wb_record *queue(struct wb_link *l, const void *from,
                               uint64_t bytes)
{
    struct wb_record *r = &l->queued[l->n_queued];
    l->from[l->n_queued] = from;
    l->n_queued++;
    *r = (struct wb_record){.bytes = bytes};
    return r;
}

static weir_err may_queue(struct wb_link *l, bool room)
{
    if (wi_load_rlx(&l->ended)) { /* a CLOSED event says the rest */
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
    (void)queue(l, l->text[l->n_text], len);
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
    struct wb_record *r = queue(l, op->local, op->bytes);
    r->key = op->key;
    r->off = op->remote_off;
    l->n_writes++;
    return WEIR_OK;
}

/* Send all of it; a partial send shifts the vector. */
static bool send_all(int fd, struct iovec *iov, size_t n)
{
    while (n > 0) {
        struct msghdr msg = {.msg_iov = iov, .msg_iovlen = n};
        ssize_t sent = sendmsg(fd, &msg, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return false;
        }
        size_t left = sent < 0 ? 0 : (size_t)sent;
        while (n > 0 && left >= iov->iov_len) {
            left -= iov->iov_len;
            iov++;
            n--;
        }
        if (n > 0) {
            iov->iov_base = (uint8_t *)iov->iov_base + left;
            iov->iov_len -= left;
        }
    }
    return true;
}

weir_err wb_link_kick(struct wi_ep *ep)
{
    struct wb_link *l = wb_link_of(ep);
    struct iovec iov[2 * WB_LINK_RECORDS];
    for (uint32_t i = 0; i < l->n_queued; i++) {
        iov[2 * i] = (struct iovec){&l->queued[i], sizeof(l->queued[i])};
        iov[2 * i + 1] =
            (struct iovec){(void *)(uintptr_t)l->from[i], l->queued[i].bytes};
    }
    bool ok = send_all(l->fd, iov, 2 * (size_t)l->n_queued);
    /* Relaxed: who kicks holds the post lock, and so does who reads it. */
    (void)wi_add_rlx(&ep->completed, l->n_writes);
    l->n_queued = 0;
    l->n_writes = 0;
    l->n_text = 0;
    if (l->again) {
        struct wb_sockets_node *t = wb_node_of(ep->transport);
        l->again = false;
        (void)pthread_mutex_lock(&t->lock);
        wb_event_put(t, wb_event_make(WI_EV_SENDABLE, l, 0));
        (void)pthread_mutex_unlock(&t->lock);
    }
    return ok ? WEIR_OK : WEIR_ERR_PEER_LOST;
}

weir_err wb_link_grant(struct wi_ep *ep, const struct wi_mem *mem,
                       uint64_t *key_out, struct weir_error *err)
{
    struct wb_link *l = wb_link_of(ep);
    if (l->n_grants == WB_LINK_GRANTS) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "more than %u grants",
                       WB_LINK_GRANTS);
    }
    l->grants[l->n_grants] = *mem;
    l->n_grants++;
    *key_out = l->n_grants;
    return WEIR_OK;
}

/* ---- in ------------------------------------------------------------------------ */

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
    if (r->key == 0) {
        if (r->bytes == 0 || r->bytes > WB_LINK_MESSAGE_BYTES) {
            return false;
        }
        l->message = wb_event_make(WI_EV_MESSAGE, l, (uint32_t)r->bytes);
        l->to = l->message->bytes;
        return true;
    }
    if (r->key > l->n_grants) {
        return false;
    }
    const struct wi_mem *mem = &l->grants[r->key - 1];
    if (r->bytes > mem->bytes || r->off > mem->bytes - r->bytes) {
        return false;
    }
    l->to = (uint8_t *)mem->base + r->off;
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
        }
        l->message = NULL;
        l->to = NULL;
        l->filled = 0;
    }
    return true;
}

void wb_link_read(struct wb_sockets_node *t, struct wb_link *l)
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
