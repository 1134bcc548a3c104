/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive side of a tcp endpoint. One readv(2) takes the rest of a payload,
 * into its place, and a little beyond it; `parse` goes through what is beyond.
 * Messages are handed out where they lie in `look`, which is moved to its
 * front only at the beginning of the next poll.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "core/base/atomic.h"
#include "transport/tcp/tcp.h"

/* System calls per endpoint and poll, so that one busy link cannot keep the
 * others waiting. */
enum { MAX_CALLS = 16 };

struct header {
    uint32_t type; /* with the zero bytes after it */
    uint32_t bytes;
    uint64_t key;
    uint64_t off;
};

static struct header decode_header(const uint8_t *at)
{
    struct header h;
    memcpy(&h.type, at, 4);
    memcpy(&h.bytes, at + 4, 4);
    memcpy(&h.key, at + 8, 8);
    memcpy(&h.off, at + 16, 8);
    h.type = le32toh(h.type);
    h.bytes = le32toh(h.bytes);
    h.key = le64toh(h.key);
    h.off = le64toh(h.off);
    return h;
}

/* ---- records ------------------------------------------------------------- */

/* Length of a write or read is legal, and the place is granted for it: where;
 * else the endpoint is lost. */
static const struct wi_granted *
check_place(struct tcp_ep *ep, const struct header *h, uint32_t access)
{
    const struct wi_granted *grant = NULL;
    if (h->bytes > 0 && h->bytes <= WI_RMA_BYTES) {
        grant = wi_grants_find(&ep->grants, h->key, access, h->off, h->bytes);
    }
    if (grant == NULL) {
        wi_tcp_ep_lose(ep,
                       "%s asked for a %s of %u bytes at offset %llu outside "
                       "of what it was granted",
                       ep->peer, access == WI_ACCESS_WRITE ? "write" : "read",
                       h->bytes, (unsigned long long)h->off);
    }
    return grant;
}

static bool may_write(const struct wi_granted *grant, uint64_t off,
                      uint64_t bytes)
{
    const struct wi_guard *g = &grant->guard;
    return g->may_write == NULL || g->may_write(g->arg, off, bytes);
}

static WI_COLD void lose_write(struct tcp_ep *ep, uint64_t off, uint64_t bytes)
{
    wi_tcp_ep_lose(ep,
                   "%s wrote %llu bytes at offset %llu, where it may not write "
                   "now: no ring is open there, or its rows are being read",
                   ep->peer, (unsigned long long)bytes,
                   (unsigned long long)off);
}

/* False: not yet. Messages of this poll, which the engine has still to handle,
 * may be what allows it. */
static bool begin_write(struct tcp_ep *ep, const struct header *h,
                        bool messages)
{
    const struct wi_granted *grant = check_place(ep, h, WI_ACCESS_WRITE);
    if (grant != NULL && !may_write(grant, h->off, h->bytes)) {
        if (messages) {
            return false;
        }
        lose_write(ep, h->off, h->bytes);
        grant = NULL;
    }
    ep->rx.left = grant != NULL ? h->bytes : 0;
    if (grant != NULL) {
        ep->rx.into = grant->base + h->off;
        ep->rx.grant = wi_grant_index(h->key);
        ep->rx.answer = false;
    }
    return true;
}

/* A write that goes on in another poll: messages before it were handled
 * meanwhile, and may have published the place to which it goes. */
static void check_rest(struct tcp_ep *ep)
{
    const struct tcp_rx *rx = &ep->rx;
    if (rx->left == 0 || rx->answer) {
        return;
    }
    const struct wi_granted *grant = &ep->grants.slots[rx->grant];
    uint64_t off = (uint64_t)(rx->into - grant->base);
    if (!may_write(grant, off, rx->left)) {
        lose_write(ep, off, rx->left);
    }
}

static void take_read(struct tcp_ep *ep, const struct header *h)
{
    const struct wi_granted *grant = check_place(ep, h, WI_ACCESS_READ);
    if (grant == NULL) {
        return;
    }
    uint32_t tail = wi_load_rlx(&ep->answers_tail); /* own counter */
    /* E43 acquire: the kick is done with the slot; pairs with E43 release of
     * answers_head in queue_answers() */
    if (tail - wi_load_acq(&ep->answers_head) == TCP_READS) {
        wi_tcp_ep_lose(ep, "%s has more than %d reads on their way", ep->peer,
                       TCP_READS);
        return;
    }
    ep->answers[tail % TCP_READS] = (struct tcp_answer){
        grant->base + h->off, h->bytes, wi_grant_index(h->key) + 1};
    /* E43 release: the entry before the tail; pairs with E43 acquire in
     * queue_answers() */
    wi_store_rel(&ep->answers_tail, tail + 1);
    wi_tcp_ep_todo(ep, TCP_TODO_SENDABLE);
}

static void begin_answer(struct tcp_ep *ep, const struct header *h)
{
    uint32_t head = wi_load_rlx(&ep->reads_head); /* own counter */
    /* E42 acquire: the entry before the tail; pairs with E42 release in
     * wi_tcp_read() */
    bool asked = head != wi_load_acq(&ep->reads_tail);
    const struct tcp_read *read = &ep->reads[head % TCP_READS];
    struct tcp_rx *rx = &ep->rx;
    if (!asked || h->bytes == 0 || h->bytes > read->bytes - rx->read) {
        wi_tcp_ep_lose(ep, "%s answered %u bytes to a read that was not asked",
                       ep->peer, h->bytes);
        return;
    }
    rx->into = (uint8_t *)read->local + rx->read;
    rx->left = h->bytes;
    rx->answer = true;
    rx->read += h->bytes;
    if (h->key > wi_load_rlx(&ep->base.tally_heard)) { /* rlx: own counter */
        /* rlx: the completion of the read orders it (E4) */
        wi_store_rlx(&ep->base.tally_heard, h->key);
    }
}

static void end_payload(struct tcp_ep *ep)
{
    if (!ep->rx.answer) {
        return;
    }
    uint32_t head = wi_load_rlx(&ep->reads_head); /* own counter */
    if (ep->rx.read < ep->reads[head % TCP_READS].bytes) {
        return; /* more of it comes */
    }
    ep->rx.read = 0;
    /* E44 sc: see wi_tcp_complete(); pairs with `sent` in advance(), and frees
     * the slot for wi_tcp_read() */
    wi_store_sc(&ep->reads_head, head + 1);
    wi_tcp_complete(ep);
    ep->reads_done++;
    wi_tcp_ep_todo(ep, TCP_TODO_READ_DONE | TCP_TODO_SENDABLE);
}

static bool check_message(struct tcp_ep *ep, const struct header *h)
{
    if (h->bytes == 0 || h->bytes > TCP_MESSAGE_BYTES) {
        wi_tcp_ep_lose(ep, "%s sent a message of %u bytes, most is %d",
                       ep->peer, h->bytes, TCP_MESSAGE_BYTES);
        return false;
    }
    return true;
}

/* False: not yet, as begin_write() says. */
static bool begin_record(struct tcp_ep *ep, const struct header *h,
                         bool messages)
{
    switch (h->type) {
    case TCP_WRITE:
        return begin_write(ep, h, messages);
    case TCP_READ:
        take_read(ep, h);
        break;
    case TCP_READ_DATA:
        begin_answer(ep, h);
        break;
    default:
        wi_tcp_ep_lose(ep, "%s sent a record of unknown type %u", ep->peer,
                       h->type);
    }
    return true;
}

/* ---- look ---------------------------------------------------------------- */

static void take_payload(struct tcp_rx *rx)
{
    uint32_t n = wi_min_u32(rx->left, rx->tail - rx->head);
    memcpy(rx->into, &rx->look[rx->head], n);
    rx->head += n;
    rx->into += n;
    rx->left -= n;
}

/* Go through `look` from the n-th event of this poll on: until it ends within a
 * record, or what comes next has to wait for the next poll (PARSE is left to
 * do). Returns the number of events by then. */
static uint32_t parse(struct tcp_ep *ep, struct wi_event *events, uint32_t n,
                      uint32_t max)
{
    struct tcp_rx *rx = &ep->rx;
    while (ep->state == TCP_UP && rx->tail != rx->head) {
        if (rx->left > 0) {
            take_payload(rx);
            if (rx->left == 0) {
                end_payload(ep);
            }
            continue;
        }
        uint32_t have = rx->tail - rx->head;
        if (have < TCP_HEADER_BYTES) {
            break;
        }
        const uint8_t *at = &rx->look[rx->head];
        struct header h = decode_header(at);
        if (h.type != TCP_MESSAGE) {
            if (!begin_record(ep, &h, n != 0)) {
                wi_tcp_ep_todo(ep, TCP_TODO_PARSE);
                break;
            }
            rx->head += TCP_HEADER_BYTES;
            continue;
        }
        if (!check_message(ep, &h) || have < TCP_HEADER_BYTES + h.bytes) {
            break;
        }
        if (n == max) {
            wi_tcp_ep_todo(ep, TCP_TODO_PARSE);
            break;
        }
        rx->head += TCP_HEADER_BYTES + h.bytes;
        events[n++] = (struct wi_event){
            .kind = WI_EV_MESSAGE,
            .ep = &ep->base,
            .bytes = at + TCP_HEADER_BYTES,
            .len = h.bytes,
        };
    }
    return n;
}

static void compact(struct tcp_rx *rx)
{
    uint32_t n = rx->tail - rx->head;
    if (n > 0 && rx->head > 0) {
        memmove(rx->look, &rx->look[rx->head], n);
    }
    rx->head = 0;
    rx->tail = n;
}

/* How much to read into `look`: the rest of the message that has begun, and a
 * little. */
static uint32_t look_wanted(const struct tcp_rx *rx)
{
    uint32_t have = rx->tail - rx->head;
    uint32_t want = TCP_LOOK_AHEAD;
    if (rx->left == 0 && have >= TCP_HEADER_BYTES) {
        struct header h = decode_header(&rx->look[rx->head]);
        want += TCP_HEADER_BYTES + h.bytes - have; /* a checked message */
    }
    return want <= TCP_LOOK_BYTES - rx->tail ? want : 0;
}

/* `look` is full of what was handed out, and has room again in the next poll.
 * There may be more to read until then, which epoll does not see of TLS. */
static bool is_full(const struct tcp_rx *rx)
{
    return rx->left == 0 && look_wanted(rx) == 0;
}

static WI_COLD void lose_stream(struct tcp_ep *ep, ssize_t n, int why)
{
    /* Relaxed: a number for a text. */
    int send_why = wi_load_rlx(&ep->send_errno);
    if (n < 0 && why == EPROTO && ep->tls != NULL) {
        wi_tcp_ep_lose(ep, "TLS with %s: %s", ep->peer, wi_tls_why(ep->tls));
    } else if (n < 0 || send_why != 0) {
        wi_tcp_ep_lose(ep, "connection to %s: %s", ep->peer,
                       strerror(n < 0 ? why : send_why));
    } else if (ep->rx.left > 0 || ep->rx.head != ep->rx.tail) {
        wi_tcp_ep_lose(ep, "%s closed the connection within a record",
                       ep->peer);
    } else {
        wi_tcp_ep_lose(ep, "%s closed the connection", ep->peer);
    }
}

static ssize_t get(struct tcp_ep *ep, const struct iovec *iov, uint32_t n)
{
    return ep->tls != NULL ? wi_tls_get(ep->tls, iov, n)
                           : readv(ep->fd, iov, (int)n);
}

/* One readv. True if there may be more to read: of TLS, in memory, where epoll
 * does not see it. */
static bool fill(struct tcp_ep *ep)
{
    struct tcp_rx *rx = &ep->rx;
    uint32_t want = look_wanted(rx);
    uint32_t left = rx->left;
    struct iovec iov[2] = {
        {.iov_base = rx->into, .iov_len = left},
        {.iov_base = &rx->look[rx->tail], .iov_len = want},
    };
    assert(left == 0 ? want > 0 : rx->head == rx->tail);
    ssize_t n;
    do {
        n = left > 0 ? get(ep, iov, 2) : get(ep, iov + 1, 1);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
            lose_stream(ep, n, errno);
        }
        return false;
    }
    uint32_t placed = wi_min_u32(left, (uint32_t)n);
    rx->into += placed;
    rx->left -= placed;
    rx->tail += (uint32_t)n - placed;
    if (left > 0 && rx->left == 0) {
        end_payload(ep);
    }
    return ep->tls != NULL || (uint32_t)n == left + want;
}

uint32_t wi_tcp_receive(struct tcp_ep *ep, struct wi_event *events,
                        uint32_t max)
{
    bool readable = (ep->todo & TCP_TODO_IN) != 0;
    ep->todo &= ~(uint32_t)(TCP_TODO_IN | TCP_TODO_PARSE);
    compact(&ep->rx);
    check_rest(ep);
    uint32_t n = parse(ep, events, 0, max);
    for (uint32_t i = 0; readable && i < MAX_CALLS; i++) {
        if (ep->state != TCP_UP || (ep->todo & TCP_TODO_PARSE) ||
            is_full(&ep->rx)) {
            break;
        }
        readable = fill(ep);
        n = parse(ep, events, n, max);
    }
    if (ep->tls != NULL && readable && ep->state == TCP_UP) {
        wi_tcp_ep_todo(ep, TCP_TODO_IN);
    }
    return n;
}
