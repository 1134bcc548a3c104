/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs and the send side. write, read and send fill requests of a ring
 * that are chained for good; kick adds what is missing and hands the chain to
 * the device in one call. Room is checked when a request is queued, so kick
 * never finds the device full.
 *
 * Edges with the poll thread:
 *   E4   completed: see advance() in cq.c
 *   E50  room: wr_done and msg_freed grow, hungry asks to be told
 *   E51  marks: what awaits completion, and the reuse of its place
 *   E52  ack_now: poll wants an acknowledgement to go
 *   E53  rx_got, rx_freed: what poll received and posted again
 *   E54  told_freed, msg_sent: what the peer can know, before it knows it
 *
 * Between the two ends order comes from the device: requests of a queue pair
 * are carried out in the order of posting, and a receive completes after the
 * bytes of earlier writes are in place (docs/concurrency.md, E4).
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/base/err.h"
#include "transport/verbs/cq.h"
#include "transport/verbs/mr.h"
#include "transport/verbs/receive.h"
#include "transport/verbs/verbs.h"

/* ---- queue pairs --------------------------------------------------------- */

static void init_requests(struct vb_ep *ep, uint32_t depth)
{
    struct vb_tx *tx = &ep->tx;
    for (uint32_t i = 0; i < depth; i++) {
        tx->wr[i].sg_list = &tx->sge[i];
        tx->wr[i].num_sge = 1;
        tx->wr[i].next = &tx->wr[(i + 1) % depth];
    }
}

weir_err wi_vb_qp_open(struct vb_ep *ep, struct weir_error *err)
{
    struct vb_transport *t = vb_home(ep);
    struct ibv_qp_init_attr attr = {
        .send_cq = t->cq,
        .recv_cq = t->cq,
        .srq = t->srq,
        .cap = {.max_send_wr = t->sq_depth,
                .max_recv_wr = t->srq != NULL ? 0 : VB_WINDOW,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = t->dev.inline_bytes},
        .qp_type = IBV_QPT_RC,
    };
    ep->slab = wi_vb_slab_take(t, err);
    if (ep->slab == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    init_requests(ep, t->sq_depth);
    ep->qp = ibv_create_qp(t->pd, &attr);
    if (ep->qp == NULL) {
        return wi_fail_errno(err, errno, "queue pair of %s", t->dev.name);
    }
    wi_vb_ep_index(t);
    if (!wi_vb_qp_move(ep, IBV_QPS_INIT, 0)) {
        return wi_fail_errno(err, errno, "queue pair of %s", t->dev.name);
    }
    if (t->srq == NULL) {
        wi_vb_feed(t, ep, ep->slab);
    }
    return WEIR_OK;
}

bool wi_vb_qp_move(struct vb_ep *ep, enum ibv_qp_state state, uint8_t reads)
{
    /* Bits that this interface has; rdma_cm may set others. */
    const int known = (IBV_QP_DEST_QPN << 1) - 1;
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask = 0;
    if (vb_home(ep)->dev.iwarp && state != IBV_QPS_INIT) {
        return true;
    }
    if (rdma_init_qp_attr(ep->id, &attr, &mask) != 0) {
        return false;
    }
    mask &= known;
    if ((mask & IBV_QP_ACCESS_FLAGS) != 0) {
        attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE |
                               IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    }
    if (state == IBV_QPS_RTR) {
        attr.max_dest_rd_atomic = reads;
        attr.min_rnr_timer = 1;
    }
    if (state == IBV_QPS_RTS) {
        attr.max_rd_atomic = reads;
        attr.retry_cnt = 7;
        attr.rnr_retry = 7;
        attr.timeout = 16; /* 0.27 s: a host that is gone shows within 10 s */
    }
    int rc = ibv_modify_qp(ep->qp, &attr, mask);
    errno = rc;
    return rc == 0;
}

void wi_vb_qp_close(struct vb_ep *ep)
{
    if (ep->qp != NULL) {
        uint32_t qp_num = ep->qp->qp_num;
        (void)ibv_destroy_qp(ep->qp);
        wi_vb_cq_forget(ep, qp_num);
        ep->qp = NULL;
        wi_vb_ep_index(vb_home(ep));
    }
    if (ep->slab != NULL) {
        wi_vb_slab_put(vb_home(ep), ep->slab);
        ep->slab = NULL;
    }
}

/* ---- room ---------------------------------------------------------------- */

static bool has_room(struct vb_ep *ep, uint32_t msgs)
{
    const struct vb_tx *tx = &ep->tx;
    uint32_t depth = vb_home(ep)->sq_depth;
    /* E50 sc: after the store of `hungry`, see starve(); pairs with the
     * stores of send_done() and take_counts() in cq.c */
    uint32_t done = wi_load_sc(&ep->wr_done);
    uint32_t freed = wi_load_sc(&ep->msg_freed); /* E50 sc: as above */
    /* E51 acquire: poll is done with the mark; pairs with E51 release in
     * advance() of cq.c */
    uint32_t marks = wi_load_rlx(&ep->marks_end) - /* rlx: own counter */
                     wi_load_acq(&ep->marks_begin);
    uint32_t next = (tx->msg_end) % VB_SLOTS;
    return tx->wr_end - done + 2 + VB_SQ_SPARE <= depth && /* a read: two */
           marks + 2 <= VB_MARKS &&
           (msgs == 0 || (vb_window_room(ep->peer_window, tx->msg_end, freed,
                                         VB_RESERVE) > 0 &&
                          vb_reached(done, tx->slot_wr[next])));
}

/* No room: ask for SENDABLE. True: there is room after all. */
static WI_COLD bool starve(struct vb_ep *ep, uint32_t msgs)
{
    /* E50 sc: the wish, then a last look; pairs with E50 sc in freed_room() of
     * cq.c, which frees and then looks for wishes */
    wi_store_sc(&ep->hungry, 1);
    return has_room(ep, msgs);
}

static WI_COLD weir_err fault(struct vb_ep *ep)
{
    const uint64_t one = 1;
    /* Relaxed: the system call below orders. Poll cuts the link. */
    wi_store_rlx(&ep->lost, true);
    wi_store_rlx(&ep->fault, true); /* rlx: as above */
    (void)!write(vb_home(ep)->wake_fd, &one, sizeof(one));
    return WEIR_ERR_PEER_LOST;
}

/* ---- queueing ------------------------------------------------------------ */

static void add_mark(struct vb_ep *ep, uint32_t at, enum vb_mark_by by)
{
    uint32_t end = wi_load_rlx(&ep->marks_end); /* rlx: own counter */
    ep->marks[end % VB_MARKS] =
        (struct vb_mark){.ops = ep->tx.ops, .at = at, .by = by};
    ep->tx.covered = ep->tx.ops;
    /* E51 release: the mark before its number; pairs with E51 acquire in
     * advance() of cq.c */
    wi_store_rel(&ep->marks_end, end + 1);
}

static struct ibv_send_wr *take_request(struct vb_ep *ep)
{
    struct vb_tx *tx = &ep->tx;
    struct ibv_send_wr *wr = &tx->wr[tx->wr_end % vb_home(ep)->sq_depth];
    wr->wr_id = vb_send_id(ep, tx->wr_end);
    tx->wr_end++;
    return wr;
}

static struct vb_head *head_of(struct vb_ep *ep, uint32_t msg)
{
    return (struct vb_head *)(void *)(ep->slab->base +
                                      (size_t)(msg % VB_SLOTS) * VB_BUF_BYTES);
}

static void add_message(struct vb_ep *ep, enum vb_kind kind, uint8_t flags,
                        const void *bytes, uint32_t len)
{
    struct vb_tx *tx = &ep->tx;
    struct vb_head *head = head_of(ep, tx->msg_end);
    uint32_t total = (uint32_t)sizeof(*head) + len;
    struct ibv_send_wr *wr = take_request(ep);
    *head = (struct vb_head){.kind = (uint8_t)kind, .flags = flags};
    if (len > 0) {
        memcpy(head + 1, bytes, len);
    }
    *wr->sg_list = (struct ibv_sge){
        .addr = (uintptr_t)head, .length = total, .lkey = ep->slab->mr->lkey};
    wr->opcode = IBV_WR_SEND;
    wr->send_flags =
        total <= vb_home(ep)->dev.inline_bytes ? (unsigned)IBV_SEND_INLINE : 0;
    tx->slot_wr[tx->msg_end % VB_SLOTS] = tx->wr_end;
    tx->msg_end++;
    if (vb_home(ep)->dev.acks_complete && tx->ops != tx->covered) {
        add_mark(ep, tx->msg_end, VB_BY_GOT);
    }
}

weir_err wi_vb_send(struct wi_ep *base, const void *bytes, uint32_t len)
{
    struct vb_ep *ep = vb_ep_of(base);
    assert(len > 0 && len <= VB_MESSAGE_BYTES);
    if (wi_unlikely(wi_load_rlx(&ep->lost))) { /* rlx: set for good */
        return WEIR_ERR_PEER_LOST;
    }
    if (wi_unlikely(!has_room(ep, 1)) && !starve(ep, 1)) {
        return WEIR_AGAIN;
    }
    add_message(ep, VB_DATA, 0, bytes, len);
    return WEIR_OK;
}

static struct ibv_send_wr *add_request(struct vb_ep *ep,
                                       const struct wi_rma *op,
                                       enum ibv_wr_opcode opcode, uint32_t lkey)
{
    struct vb_key key = vb_key_decode(op->key);
    struct ibv_send_wr *wr = take_request(ep);
    *wr->sg_list = (struct ibv_sge){
        .addr = (uintptr_t)op->local, .length = op->bytes, .lkey = lkey};
    wr->opcode = opcode;
    wr->send_flags = 0;
    wr->wr.rdma.remote_addr = key.base + op->remote_off;
    wr->wr.rdma.rkey = key.rkey;
    return wr;
}

/* A short read that the device would take wrong bytes for: what is behind the
 * page's end is read by a request of its own. It goes first: if that is not
 * granted, nothing is read at all. */
static void add_end(struct vb_ep *ep, struct wi_rma *op, uint32_t lkey)
{
    struct wi_rma end = *op;
    uint32_t here = VB_PAGE - (uint32_t)(op->remote_off % VB_PAGE);
    if (op->bytes > vb_home(ep)->dev.torn_bytes || here >= op->bytes ||
        op->remote_off > UINT64_MAX - op->bytes) { /* refused as it is */
        return;
    }
    end.local = (uint8_t *)op->local + here;
    end.remote_off += here;
    end.bytes -= here;
    op->bytes = here;
    (void)add_request(ep, &end, IBV_WR_RDMA_READ, lkey);
}

static weir_err add_rma(struct vb_ep *ep, const struct wi_rma *op,
                        enum ibv_wr_opcode opcode)
{
    struct vb_key key = vb_key_decode(op->key);
    uint32_t lkey = 0;
    assert(op->bytes > 0 && op->bytes <= WI_RMA_BYTES);
    if (wi_unlikely(wi_load_rlx(&ep->lost))) { /* rlx: set for good */
        return WEIR_ERR_PEER_LOST;
    }
    if (wi_unlikely(key.tag != ep->peer_tag) ||
        !wi_vb_lkey(ep, op->local, op->bytes, &lkey)) {
        return fault(ep); /* a key of another link, or memory not registered */
    }
    if (wi_unlikely(!has_room(ep, 0)) && !starve(ep, 0)) {
        return WEIR_AGAIN;
    }
    struct wi_rma start = *op;
    if (opcode == IBV_WR_RDMA_READ) {
        add_end(ep, &start, lkey);
    }
    struct ibv_send_wr *wr = add_request(ep, &start, opcode, lkey);
    ep->tx.ops++;
    if (opcode == IBV_WR_RDMA_READ) {
        wr->send_flags = IBV_SEND_SIGNALED;
        wr->wr_id |= VB_ID_READ;
        ep->tx.signaled = ep->tx.wr_end;
        /* The peer answers a read after it has taken the writes before it. */
        add_mark(ep, ++ep->tx.reads, VB_BY_READ);
    }
    return WEIR_OK;
}

weir_err wi_vb_write(struct wi_ep *base, const struct wi_rma *op)
{
    return add_rma(vb_ep_of(base), op, IBV_WR_RDMA_WRITE);
}

weir_err wi_vb_read(struct wi_ep *base, const struct wi_rma *op)
{
    return add_rma(vb_ep_of(base), op, IBV_WR_RDMA_READ);
}

/* ---- kick ---------------------------------------------------------------- */

/* Room for a message of our own; `keep` places of the window are left. */
static bool own_room(struct vb_ep *ep, uint32_t keep)
{
    const struct vb_tx *tx = &ep->tx;
    /* E50 sc: as in has_room() */
    uint32_t done = wi_load_sc(&ep->wr_done);
    uint32_t freed = wi_load_sc(&ep->msg_freed); /* E50 sc: as above */
    return tx->wr_end - done < vb_home(ep)->sq_depth &&
           vb_window_room(ep->peer_window, tx->msg_end, freed, keep) > 0 &&
           vb_reached(done, tx->slot_wr[tx->msg_end % VB_SLOTS]);
}

static bool add_own(struct vb_ep *ep, uint8_t flags, uint32_t keep)
{
    if (!own_room(ep, keep)) {
        /* E50 sc: as in starve(); SENDABLE brings another kick */
        wi_store_sc(&ep->hungry, 1);
        if (!own_room(ep, keep)) {
            return false;
        }
    }
    add_message(ep, VB_ACK, flags, NULL, 0);
    return true;
}

/* What the chain lacks: a message after writes whose completion the peer has
 * to report, or an acknowledgement that is due. */
static void add_missing(struct vb_ep *ep)
{
    struct vb_tx *tx = &ep->tx;
    uint32_t asked = wi_load_rlx(&ep->ack_now); /* rlx: a look first */
    if (wi_unlikely(asked != VB_ACK_NONE)) {
        /* E52 acquire: what is to be acknowledged; pairs with E52 release in
         * wi_vb_want() of cq.c */
        asked = wi_xchg_ar(&ep->ack_now, VB_ACK_NONE);
    }
    if (vb_home(ep)->dev.acks_complete && tx->ops != tx->covered) {
        (void)add_own(ep, VB_PROMPT, VB_ACK_RESERVE);
    }
    if (asked == VB_ACK_NONE || tx->msg_end != tx->msg_posted) {
        return; /* a message goes, and carries the counters */
    }
    /* Relaxed: numbers that stamp() reads again; told_ ones are our own. */
    bool freed =
        wi_load_rlx(&ep->rx_freed) != wi_load_rlx(&ep->told_freed);    /* rlx */
    bool got = wi_load_rlx(&ep->rx_got) != wi_load_rlx(&ep->told_got); /* rlx */
    bool nudge = asked == VB_ACK_NUDGE;
    if ((freed || got || nudge) &&
        !add_own(ep, nudge ? VB_PROMPT : 0, freed ? 0 : VB_ACK_RESERVE - 1)) {
        wi_store_rel(&ep->ack_now, asked); /* E52: to be tried again */
    }
}

/* Counters into the messages of the chain, as late as possible. */
static void stamp(struct vb_ep *ep)
{
    struct vb_tx *tx = &ep->tx;
    /* E53 acquire: receives are posted before the peer may use them; pairs
     * with E53 release in wi_vb_refill() and receive() of cq.c */
    uint32_t freed = wi_load_acq(&ep->rx_freed);
    uint32_t got = wi_load_acq(&ep->rx_got); /* E53 acquire: as above */
    for (uint32_t m = tx->msg_posted; m != tx->msg_end; m++) {
        struct vb_head *head = head_of(ep, m);
        head->got = htole16((uint16_t)got);
        head->freed = htole16((uint16_t)freed);
    }
    if (tx->msg_posted != tx->msg_end) {
        /* E54 release: told before the peer can know; pairs with E54 acquire
         * in cq.c, when the peer's messages show that it does */
        wi_store_rel(&ep->told_freed, freed);
        wi_store_rel(&ep->msg_sent, tx->msg_end); /* E54: as above */
        wi_store_rlx(&ep->told_got, got); /* rlx: only a hint for poll */
        tx->msg_posted = tx->msg_end;
    }
}

/* Which requests tell of their completion. On a device where the peer's
 * counters complete writes, these are messages only: see verbs.h. */
static void choose_signal(struct vb_ep *ep, struct ibv_send_wr *last)
{
    struct vb_tx *tx = &ep->tx;
    bool acks = vb_home(ep)->dev.acks_complete;
    bool due = tx->wr_end - tx->signaled >= VB_SIGNAL_EVERY;
    bool ours = !acks && tx->ops != tx->covered;
    if (ours) {
        add_mark(ep, tx->wr_end, VB_BY_REQUEST);
    }
    if (ours || (due && (!acks || last->opcode == IBV_WR_SEND))) {
        last->send_flags |= IBV_SEND_SIGNALED;
        tx->signaled = tx->wr_end;
    }
}

static weir_err post(struct vb_ep *ep)
{
    struct vb_tx *tx = &ep->tx;
    uint32_t depth = vb_home(ep)->sq_depth;
    struct ibv_send_wr *first = &tx->wr[tx->wr_posted % depth];
    struct ibv_send_wr *last = &tx->wr[(tx->wr_end - 1) % depth];
    struct ibv_send_wr *bad = NULL;
    stamp(ep);
    choose_signal(ep, last);
    tx->wr_posted = tx->wr_end;
    last->next = NULL;
    int rc = ibv_post_send(ep->qp, first, &bad);
    last->next = &tx->wr[tx->wr_end % depth];
    return rc == 0 ? WEIR_OK : fault(ep);
}

weir_err wi_vb_kick(struct wi_ep *base)
{
    struct vb_ep *ep = vb_ep_of(base);
    if (wi_unlikely(wi_load_rlx(&ep->lost))) { /* rlx: set for good */
        return WEIR_ERR_PEER_LOST;
    }
    add_missing(ep);
    return ep->tx.wr_end != ep->tx.wr_posted ? post(ep) : WEIR_OK;
}

bool wi_vb_say(struct vb_ep *ep, enum vb_kind kind)
{
    if (!own_room(ep, 0)) {
        return false;
    }
    add_message(ep, kind, 0, NULL, 0);
    struct vb_tx *tx = &ep->tx;
    tx->wr[(tx->wr_end - 1) % vb_home(ep)->sq_depth].send_flags |=
        IBV_SEND_SIGNALED;
    tx->signaled = tx->wr_end;
    return post(ep) == WEIR_OK;
}
