/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send side of a tcp endpoint: a queue of pieces in the form that sendmsg(2)
 * takes, and a ring of staged bytes for headers and messages. Payload is
 * gathered by the kernel from where it lies.
 *
 * Edges with the poll thread:
 *   E4  completed: what has been sent -> reuse of its memory by the core
 *   E41  blocked: EPOLLOUT disarmed by poll -> armed again by a kick
 *   E42  reads: a queued read -> its answer in poll
 *   E43  answers: a READ taken by poll -> its answer queued by a kick
 *   E44  sent, reads_head: both sides look at the other's before they raise
 *        `completed`, so that the later one sees both
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "core/base/atomic.h"
#include "core/base/tsan.h"
#include "transport/tcp/tcp.h"

/* ---- completion ---------------------------------------------------------- */

void wi_tcp_complete(struct tcp_ep *ep)
{
    /* E44 sc: a release and an acquire would let both sides miss the other's
     * store, and the last completion would be lost. `sent` comes first: a read
     * below it is in the queue that is looked at next. */
    uint64_t limit = wi_load_sc(&ep->sent);
    uint32_t head = wi_load_sc(&ep->reads_head);
    /* E42 acquire: entries before the tail; pairs with E42 release in
     * wi_tcp_read() */
    if (head != wi_load_acq(&ep->reads_tail)) {
        uint64_t oldest = ep->reads[head % TCP_READS].op;
        limit = wi_min_u64(limit, oldest);
    }
    /* Relaxed: only a first guess for the exchange. */
    uint64_t seen = wi_load_rlx(&ep->base.completed);
    /* E4 release: reads of the memory are over before it counts as complete;
     * pairs with E4 acquire in reap() of core/link/post.c */
    while (seen < limit && !wi_cas_ar(&ep->base.completed, &seen, limit)) {
    }
}

/* ---- sendmsg ------------------------------------------------------------- */

/* Take n sent bytes off the queue. True if all of the first `count` pieces
 * went. */
static bool advance(struct tcp_ep *ep, uint32_t count, size_t n)
{
    struct tcp_tx *tx = &ep->tx;
    /* Relaxed: only the holder of the post lock writes `sent`. */
    uint64_t sent = wi_load_rlx(&ep->sent);
    while (count > 0) {
        uint32_t i = tx->head % TCP_PIECES;
        struct iovec *iov = &tx->iov[i];
        if (n < iov->iov_len) {
            iov->iov_base = (uint8_t *)iov->iov_base + n;
            iov->iov_len -= n;
            break;
        }
        n -= iov->iov_len;
        sent += tx->piece[i].ops;
        tx->stage_head = tx->piece[i].stage_pos;
        tx->head++;
        count--;
    }
    /* E44 sc: see wi_tcp_complete(); pairs with reads_head in tcp_recv.c */
    wi_store_sc(&ep->sent, sent);
    return count == 0;
}

static weir_err block(struct tcp_ep *ep)
{
    /* Relaxed: only the post lock's holder acts on `true`. It comes before the
     * arming, whose system call orders the two, so that poll's `false`, which
     * answers the arming, is the later store. */
    wi_store_rlx(&ep->blocked, true);
    wi_tcp_ep_watch(ep, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
    return WEIR_AGAIN;
}

static WI_COLD weir_err fail(struct tcp_ep *ep, int why)
{
    /* Relaxed: a number for a text. Poll learns of the loss from the socket,
     * which is shut so that it certainly does. */
    wi_store_rlx(&ep->send_errno, why);
    (void)shutdown(ep->fd, SHUT_RDWR);
    return WEIR_ERR_PEER_LOST;
}

/* Of the pieces from the first on, as many bytes as the socket takes. */
static ssize_t send_pieces(struct tcp_ep *ep, uint32_t first, uint32_t count)
{
    struct iovec *iov = &ep->tx.iov[first];
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = count};
    for (uint32_t i = 0; i < count; i++) {
        wi_tsan_read(iov[i].iov_base, iov[i].iov_len);
    }
    wi_tsan_reads_off();
    ssize_t n = ep->tls != NULL
                    ? wi_tls_put(ep->tls, iov, count)
                    : sendmsg(ep->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    wi_tsan_reads_on();
    return n;
}

static weir_err flush(struct tcp_ep *ep)
{
    struct tcp_tx *tx = &ep->tx;
    /* E41 acquire: poll's disarming is over, so arming comes after it; pairs
     * with E41 release in wi_tcp_unblock() */
    if (wi_load_acq(&ep->blocked)) {
        return WEIR_AGAIN;
    }
    while (tx->head != tx->tail) {
        uint32_t first = tx->head % TCP_PIECES;
        uint32_t count =
            wi_min_u32(tx->tail - tx->head, (uint32_t)TCP_PIECES - first);
        ssize_t n = send_pieces(ep, first, count);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
            return fail(ep, errno);
        }
        if (n < 0 || !advance(ep, count, (size_t)n)) {
            return block(ep);
        }
    }
    tx->head = tx->tail = 0; /* keeps the next batch in one system call */
    tx->stage_head = tx->stage_tail = 0;
    return WEIR_OK;
}

void wi_tcp_unblock(struct tcp_ep *ep)
{
    wi_tcp_ep_watch(ep, EPOLL_CTL_MOD, EPOLLIN);
    /* E41 release: the disarming above before anyone may arm again; pairs with
     * E41 acquire in flush(). The other order could undo an arming and leave
     * the endpoint blocked forever. */
    wi_store_rel(&ep->blocked, false);
}

/* ---- queue --------------------------------------------------------------- */

static uint32_t stage_padding(const struct tcp_tx *tx, uint32_t bytes)
{
    uint32_t off = tx->stage_tail % TCP_STAGE_BYTES;
    return off + bytes > TCP_STAGE_BYTES ? TCP_STAGE_BYTES - off : 0;
}

static bool has_room(const struct tcp_tx *tx, uint32_t pieces, uint32_t bytes)
{
    uint32_t used = tx->stage_tail - tx->stage_head;
    return tx->tail - tx->head + pieces <= TCP_PIECES &&
           used + stage_padding(tx, bytes) + bytes <= TCP_STAGE_BYTES;
}

/* WEIR_AGAIN only while the socket is blocked, so that SENDABLE follows. */
static weir_err make_room(struct tcp_ep *ep, uint32_t pieces, uint32_t bytes)
{
    /* Relaxed: set for good, and the socket refuses as well. */
    if (wi_unlikely(wi_load_rlx(&ep->send_errno) != 0)) {
        return WEIR_ERR_PEER_LOST;
    }
    if (wi_likely(has_room(&ep->tx, pieces, bytes))) {
        return WEIR_OK;
    }
    weir_err rc = flush(ep); /* completions are counted by the next kick */
    return rc == WEIR_AGAIN && has_room(&ep->tx, pieces, bytes) ? WEIR_OK : rc;
}

static void add_piece(struct tcp_tx *tx, const void *base, size_t bytes,
                      uint32_t ops)
{
    uint32_t i = tx->tail++ % TCP_PIECES;
    tx->iov[i] = (struct iovec){(void *)(uintptr_t)base, bytes};
    tx->piece[i] = (struct tcp_piece){tx->stage_tail, ops, 0};
}

/* Bytes in staging, as a new piece or at the end of the last one. */
static uint8_t *stage(struct tcp_tx *tx, uint32_t bytes, uint32_t ops)
{
    tx->stage_tail += stage_padding(tx, bytes);
    uint8_t *at = &tx->stage[tx->stage_tail % TCP_STAGE_BYTES];
    tx->stage_tail += bytes;
    uint32_t last = (tx->tail - 1) % TCP_PIECES;
    struct iovec *iov = &tx->iov[last];
    if (tx->head != tx->tail && (uint8_t *)iov->iov_base + iov->iov_len == at) {
        iov->iov_len += bytes;
        tx->piece[last].stage_pos = tx->stage_tail;
        tx->piece[last].ops += ops;
    } else {
        add_piece(tx, at, bytes, ops);
    }
    return at;
}

static void encode_header(uint8_t *at, enum tcp_record type, uint32_t bytes,
                          uint64_t key, uint64_t off)
{
    uint32_t bytes_le = htole32(bytes);
    uint64_t key_le = htole64(key);
    uint64_t off_le = htole64(off);
    memset(at, 0, 4);
    at[0] = (uint8_t)type;
    memcpy(at + 4, &bytes_le, 4);
    memcpy(at + 8, &key_le, 8);
    memcpy(at + 16, &off_le, 8);
}

/* Queue at most so many pieces of answers to the peer's reads, while there is
 * room. True if some are left. */
static bool queue_answers(struct tcp_ep *ep, uint32_t turns)
{
    struct tcp_tx *tx = &ep->tx;
    uint32_t head = wi_load_rlx(&ep->answers_head); /* own counter */
    /* E43 acquire: entries before the tail; pairs with E43 release in
     * tcp_recv.c */
    uint32_t tail = wi_load_acq(&ep->answers_tail);
    while (head != tail && turns-- > 0 && has_room(tx, 2, TCP_HEADER_BYTES)) {
        struct tcp_answer answer = ep->answers[head % TCP_READS];
        uint32_t left = answer.bytes - ep->answered;
        uint32_t bytes = wi_min_u32(left, TCP_TURN_BYTES);
        uint8_t *at = stage(tx, TCP_HEADER_BYTES, 0);
        /* E16 acquire: after the READ has come; pairs with E16 release in
         * tell() of tally.c */
        encode_header(at, TCP_READ_DATA, bytes,
                      wi_load_acq(&ep->base.tally_told), 0);
        add_piece(tx, (const uint8_t *)answer.base + ep->answered, bytes, 0);
        tx->piece[(tx->tail - 1) % TCP_PIECES].grant = answer.grant;
        ep->answered = bytes < left ? ep->answered + bytes : 0;
        head += bytes == left;
    }
    /* E43 release: done with the slots; pairs with E43 acquire in tcp_recv.c */
    wi_store_rel(&ep->answers_head, head);
    return head != tail;
}

weir_err wi_tcp_send(struct wi_ep *base, const void *bytes, uint32_t len)
{
    struct tcp_ep *ep = tcp_ep_of(base);
    assert(len > 0 && len <= TCP_MESSAGE_BYTES);
    weir_err rc = make_room(ep, 1, TCP_HEADER_BYTES + len);
    if (rc != WEIR_OK) {
        return rc;
    }
    uint8_t *at = stage(&ep->tx, TCP_HEADER_BYTES + len, 0);
    encode_header(at, TCP_MESSAGE, len, 0, 0);
    memcpy(at + TCP_HEADER_BYTES, bytes, len);
    return WEIR_OK;
}

static void assert_rma(const struct wi_rma *op)
{
    assert(op->bytes > 0 && op->bytes <= WI_RMA_BYTES);
    (void)op;
}

weir_err wi_tcp_write(struct wi_ep *base, const struct wi_rma *op)
{
    struct tcp_ep *ep = tcp_ep_of(base);
    assert_rma(op);
    (void)queue_answers(ep, 1); /* rings and answers take turns */
    weir_err rc = make_room(ep, 2, TCP_HEADER_BYTES);
    if (rc != WEIR_OK) {
        return rc;
    }
    uint8_t *at = stage(&ep->tx, TCP_HEADER_BYTES, 0);
    encode_header(at, TCP_WRITE, op->bytes, op->key, op->remote_off);
    add_piece(&ep->tx, op->local, op->bytes, 1);
    ep->posted++;
    return WEIR_OK;
}

weir_err wi_tcp_read(struct wi_ep *base, const struct wi_rma *op)
{
    struct tcp_ep *ep = tcp_ep_of(base);
    assert_rma(op);
    weir_err rc = make_room(ep, 1, TCP_HEADER_BYTES);
    if (rc != WEIR_OK) {
        return rc;
    }
    uint32_t tail = wi_load_rlx(&ep->reads_tail); /* own counter */
    /* E44 sc, an acquire is needed: poll is done with the slot; pairs with the
     * store of reads_head in tcp_recv.c */
    if (tail - wi_load_sc(&ep->reads_head) == TCP_READS) {
        rc = flush(ep); /* SENDABLE follows the next answer */
        return rc < 0 ? rc : WEIR_AGAIN;
    }
    ep->reads[tail % TCP_READS] =
        (struct tcp_read){op->local, op->bytes, ep->posted};
    ep->posted++;
    /* E42 release: the entry before the tail; pairs with E42 acquire in
     * tcp_recv.c and wi_tcp_complete() */
    wi_store_rel(&ep->reads_tail, tail + 1);
    uint8_t *at = stage(&ep->tx, TCP_HEADER_BYTES, 1);
    encode_header(at, TCP_READ, op->bytes, op->key, op->remote_off);
    return WEIR_OK;
}

bool wi_tcp_answers(const struct tcp_ep *ep, uint32_t grant)
{
    const struct tcp_tx *tx = &ep->tx;
    bool found = false;
    for (uint32_t i = tx->head; i != tx->tail; i++) {
        found |= tx->piece[i % TCP_PIECES].grant == grant;
    }
    /* rlx: the engine's own counter, and one of the post lock, which it has */
    uint32_t tail = wi_load_rlx(&ep->answers_tail);
    for (uint32_t i = wi_load_rlx(&ep->answers_head); i != tail;
         i++) { /* rlx */
        found |= ep->answers[i % TCP_READS].grant == grant;
    }
    return found;
}

weir_err wi_tcp_kick(struct wi_ep *base)
{
    struct tcp_ep *ep = tcp_ep_of(base);
    weir_err rc;
    bool more;
    uint32_t calls = 0;
    /* Relaxed: as in make_room(). */
    if (wi_unlikely(wi_load_rlx(&ep->send_errno) != 0)) {
        return WEIR_ERR_PEER_LOST;
    }
    do {
        more = queue_answers(ep, TCP_TURNS);
        rc = flush(ep);
    } while (more && rc == WEIR_OK && ++calls < TCP_KICK_CALLS);
    if (more && rc == WEIR_OK) {
        rc = block(ep); /* goes on when poll has looked at the others */
    }
    wi_tcp_complete(ep);
    return rc;
}
