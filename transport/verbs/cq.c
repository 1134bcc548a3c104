/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completions: one queue for everything, polled by the engine alone.
 *
 * A receive names its queue pair by number only, and numbers are used again.
 * So when a queue pair ends, the whole queue is polled into `stash` and what
 * belongs to it is dropped (wi_vb_cq_forget).
 *
 * Notifications: arm asks for one unless one is still to come; the event that
 * a notification leaves in the channel is read at the next arm, so a sleep
 * costs two system calls besides the sleep itself. The edges are in qp.c.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/err.h"
#include "transport/verbs/cq.h"
#include "transport/verbs/receive.h"
#include "transport/verbs/verbs.h"

/* ---- open ---------------------------------------------------------------- */

/* Every request and receive of every link fits, also when all are flushed. */
static weir_err choose_depths(struct vb_transport *t, struct weir_error *err)
{
    uint32_t depth = VB_SQ;
    t->max_bufs = t->max_eps * VB_WINDOW + VB_SLACK;
    while (depth > VB_SQ_LEAST &&
           (depth > t->dev.max_qp_wr ||
            t->max_eps * depth + t->max_bufs > t->dev.max_cqe)) {
        depth /= 2;
    }
    t->sq_depth = depth;
    if (t->max_eps * depth + t->max_bufs > t->dev.max_cqe ||
        (t->dev.srq && t->max_bufs > t->dev.max_srq_wr) ||
        depth > t->dev.max_qp_wr) {
        return wi_fail(err, WEIR_ERR_SYSTEM,
                       "verbs: %s has no room for %u links at a time "
                       "(completion queue of %u, shared receives %u): lower "
                       "max_members or max_peers",
                       t->dev.name, t->max_eps, t->dev.max_cqe,
                       t->dev.max_srq_wr);
    }
    return WEIR_OK;
}

static bool open_tables(struct vb_transport *t)
{
    t->bufs = calloc(t->max_bufs, sizeof(*t->bufs));
    t->buf_lkey = calloc(t->max_bufs, sizeof(*t->buf_lkey));
    t->held = calloc(t->max_bufs, sizeof(*t->held));
    t->held_by = calloc(t->max_bufs, sizeof(*t->held_by));
    return t->bufs != NULL && t->buf_lkey != NULL && t->held != NULL &&
           t->held_by != NULL;
}

weir_err wi_vb_cq_open(struct vb_transport *t, struct weir_error *err)
{
    weir_err rc = choose_depths(t, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (!open_tables(t)) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u links",
                       t->max_eps);
    }
    int cqe = (int)(t->max_eps * t->sq_depth + t->max_bufs);
    t->channel = ibv_create_comp_channel(t->ctx);
    t->cq = t->channel != NULL ? ibv_create_cq(t->ctx, cqe, NULL, t->channel, 0)
                               : NULL;
    if (t->cq == NULL) {
        return wi_fail_errno(err, errno, "verbs: completion queue of %d on %s",
                             cqe, t->dev.name);
    }
    if (t->dev.srq) {
        struct ibv_srq_init_attr attr = {
            .attr = {.max_wr = t->max_bufs, .max_sge = 1}};
        t->srq = ibv_create_srq(t->pd, &attr);
    }
    if (t->dev.srq && t->srq == NULL) {
        return wi_fail_errno(err, errno,
                             "verbs: shared receive queue of %u on %s",
                             t->max_bufs, t->dev.name);
    }
    return WEIR_OK;
}

/* ---- what completions mean ----------------------------------------------- */

void wi_vb_want(struct vb_ep *ep, enum vb_ack what)
{
    /* E52 release: the counters, then the wish; pairs with E52 acquire in
     * add_missing() of qp.c */
    wi_store_rel(&ep->ack_now, (uint32_t)what);
    wi_vb_ep_todo(ep, VB_TODO_SENDABLE);
}

static void freed_room(struct vb_ep *ep)
{
    /* E50 sc: room, then wishes; pairs with E50 sc in starve() of qp.c */
    if (wi_load_sc(&ep->hungry) != 0) {
        wi_store_sc(&ep->hungry, 0); /* E50 sc: as above */
        wi_vb_ep_todo(ep, VB_TODO_SENDABLE);
    }
}

static bool is_reached(const struct vb_ep *ep, const struct vb_mark *m)
{
    switch (m->by) {
    case VB_BY_GOT:
        return vb_reached(ep->peer_got, m->at);
    case VB_BY_READ:
        return vb_reached(ep->reads_complete, m->at);
    case VB_BY_REQUEST:
        break;
    }
    return vb_reached(wi_load_rlx(&ep->wr_done), m->at); /* rlx: own */
}

/* Count operations whose marks are reached, in order. */
static void advance(struct vb_ep *ep)
{
    uint32_t begin = wi_load_rlx(&ep->marks_begin); /* rlx: own counter */
    uint64_t ops = 0;
    /* E51 acquire: marks before their number; pairs with E51 release in
     * add_mark() of qp.c */
    uint32_t end = wi_load_acq(&ep->marks_end);
    for (; begin != end; begin++) {
        const struct vb_mark *m = &ep->marks[begin % VB_MARKS];
        if (!is_reached(ep, m)) {
            break;
        }
        ops = m->ops;
    }
    if (ops != 0) {
        /* E4 release: the device is done with the memory; pairs with E4
         * acquire in reap() of core/link/post.c */
        wi_store_rel(&ep->base.completed, ops);
        /* E51 release: done with the marks; pairs with E51 acquire in
         * has_room() of qp.c */
        wi_store_rel(&ep->marks_begin, begin);
        wi_vb_ep_todo(ep, VB_TODO_SENDABLE);
    }
}

static void send_failed(struct vb_ep *ep, const struct ibv_wc *wc)
{
    ep->until_ns = 0; /* a linger is over */
    wi_vb_ep_lose(ep, "%s: %s", ep->peer, wi_vb_status_text(wc->status));
}

static void send_done(struct vb_transport *t, const struct ibv_wc *wc)
{
    struct vb_ep *ep = t->by_idx[wc->wr_id >> 32 & 0x3fffffff];
    if (wc->status != IBV_WC_SUCCESS) {
        send_failed(ep, wc);
        return;
    }
    uint32_t done = (uint32_t)wc->wr_id + 1;
    if ((wc->wr_id & VB_ID_READ) != 0) {
        ep->reads_complete++;
        ep->reads_to_report++;
        wi_vb_ep_todo(ep, VB_TODO_READ_DONE);
    }
    if (vb_reached(done, wi_load_rlx(&ep->wr_done))) { /* rlx: our own */
        /* E50 sc: room before the look for wishes; pairs with has_room() and
         * starve() of qp.c */
        wi_store_sc(&ep->wr_done, done);
    }
    advance(ep);
    freed_room(ep);
    if (ep->state == VB_LINGER && done == ep->bye_wr) {
        ep->until_ns = 0;
    }
}

/* Counters of the peer; false: they say what cannot be. */
static bool take_counts(struct vb_ep *ep, const struct vb_head *head)
{
    uint32_t old_freed = wi_load_rlx(&ep->msg_freed); /* rlx: own counter */
    uint32_t got = vb_count_after(ep->peer_got, le16toh(head->got));
    uint32_t freed = vb_count_after(old_freed, le16toh(head->freed));
    /* E54 acquire: what was sent before the peer could see it; pairs with E54
     * release in stamp() of qp.c */
    uint32_t sent = wi_load_acq(&ep->msg_sent);
    if (!vb_reached(sent, got) || !vb_reached(got, freed)) {
        return false;
    }
    bool more = got != ep->peer_got;
    ep->peer_got = got;
    if (more) {
        advance(ep);
    }
    if (freed != old_freed) {
        /* E50 sc: as in send_done() */
        wi_store_sc(&ep->msg_freed, freed);
        freed_room(ep);
    }
    return true;
}

/* A message is within the window, and its head is sound. */
static bool check_message(struct vb_ep *ep, const struct ibv_wc *wc,
                          const struct vb_head *head)
{
    /* E54 acquire: told before the peer could use it; pairs with E54 release
     * in stamp() of qp.c */
    uint32_t told = wi_load_acq(&ep->told_freed);
    uint32_t got = wi_load_rlx(&ep->rx_got); /* rlx: own counter */
    if (got - told > VB_WINDOW) {
        wi_vb_ep_lose(ep,
                      "%s sent more than the %d messages that it was given "
                      "room for",
                      ep->peer, VB_WINDOW);
    } else if (wc->byte_len < sizeof(*head) ||
               wc->byte_len > sizeof(*head) + VB_MESSAGE_BYTES ||
               head->kind < VB_DATA || head->kind > VB_BYE ||
               (head->kind == VB_DATA) != (wc->byte_len > sizeof(*head))) {
        wi_vb_ep_lose(ep, "%s sent a message of kind %u with %u bytes",
                      ep->peer, wc->byte_len > 0 ? head->kind : 0u,
                      wc->byte_len);
    } else if (!take_counts(ep, head)) {
        wi_vb_ep_lose(ep, "%s acknowledged more than was sent", ep->peer);
    } else if ((head->kind == VB_FIRST) != (got == 1 && ep->accepted)) {
        wi_vb_ep_lose(ep, "%s did not begin as a connecting node does",
                      ep->peer);
    } else {
        return true;
    }
    ep->deaf = true;
    return false;
}

static void owe(struct vb_transport *t, struct vb_ep *ep)
{
    if (t->dev.acks_complete && wi_list_empty(&ep->owing)) {
        if (wi_list_empty(&t->owing)) {
            t->owing_ns = t->now_ns + VB_ACK_DELAY_NS;
        }
        wi_list_push_back(&t->owing, &ep->owing);
    }
}

/* A sound message; true: it is an event. */
static bool take_message(struct vb_ep *ep, const struct ibv_wc *wc,
                         const struct vb_head *head, struct wi_event *event)
{
    if ((head->flags & VB_PROMPT) != 0 && ep->state == VB_UP) {
        wi_vb_want(ep, VB_ACK_DUE);
    }
    switch (head->kind) {
    case VB_DATA:
        owe(vb_home(ep), ep);
        *event =
            (struct wi_event){.kind = WI_EV_MESSAGE,
                              .ep = &ep->base,
                              .bytes = (const uint8_t *)(head + 1),
                              .len = wc->byte_len - (uint32_t)sizeof(*head)};
        return true;
    case VB_FIRST:
        wi_vb_ep_up(ep);
        *event = (struct wi_event){.kind = WI_EV_ACCEPTED, .ep = &ep->base};
        return true;
    case VB_BYE:
        ep->deaf = true;
        wi_vb_ep_lose(ep, "%s closed the connection", ep->peer);
        return false;
    default:
        return false;
    }
}

static bool receive(struct vb_transport *t, const struct ibv_wc *wc,
                    struct wi_event *event)
{
    uint32_t buf = (uint32_t)wc->wr_id;
    struct vb_ep *ep = wi_vb_ep_find(t, wc->qp_num);
    bool ok = wc->status == IBV_WC_SUCCESS;
    if (ep == NULL || !ok) {
        wi_vb_hold(t, buf, NULL);
        if (ep != NULL) {
            wi_vb_ep_lose(ep, "%s: %s", ep->peer,
                          wi_vb_status_text(wc->status));
        }
        return false;
    }
    const struct vb_head *head = (const struct vb_head *)(void *)t->bufs[buf];
    wi_vb_hold(t, buf, ep);
    /* E53 release: pairs with E53 acquire in stamp() of qp.c; rlx: our own */
    wi_store_rel(&ep->rx_got, wi_load_rlx(&ep->rx_got) + 1);
    if (ep->deaf || ep->state == VB_LINGER || !check_message(ep, wc, head)) {
        return false;
    }
    return take_message(ep, wc, head, event);
}

bool wi_vb_ep_owes(struct vb_ep *ep)
{
    /* Relaxed: rx_got is our own, and told_got only a hint. */
    return ep->state == VB_UP &&
           wi_load_rlx(&ep->rx_got) != wi_load_rlx(&ep->told_got); /* rlx */
}

void wi_vb_ep_owed(struct vb_ep *ep)
{
    if (wi_vb_ep_owes(ep)) {
        wi_vb_want(ep, VB_ACK_DUE);
    }
}

/* ---- polling ------------------------------------------------------------- */

static uint32_t poll_cq(struct vb_transport *t, struct ibv_wc *wc, int room)
{
    int n = ibv_poll_cq(t->cq, room, wc);
    t->cq_empty = n < room;
    if (n > 0 && t->notify) {
        t->notify = false; /* it was used up by the first of these */
        t->event_due = true;
    }
    return n > 0 ? (uint32_t)n : 0;
}

static const struct ibv_wc *next_wc(struct vb_transport *t)
{
    if (t->stash_begin != t->stash_end) {
        return &t->stash[t->stash_begin++];
    }
    if (t->wc_begin == t->wc_end) {
        t->wc_begin = 0;
        t->wc_end = t->cq_empty ? 0 : poll_cq(t, t->wc, VB_WC);
    }
    return t->wc_begin != t->wc_end ? &t->wc[t->wc_begin++] : NULL;
}

uint32_t wi_vb_cq_poll(struct vb_transport *t, struct wi_event *events,
                       uint32_t max)
{
    uint32_t n = 0;
    t->cq_empty = false;
    while (n < max) {
        const struct ibv_wc *wc = next_wc(t);
        if (wc == NULL) {
            break;
        }
        if ((wc->wr_id & VB_ID_SEND) != 0) {
            send_done(t, wc);
        } else {
            n += receive(t, wc, &events[n]) ? 1 : 0;
        }
    }
    return n;
}

bool wi_vb_cq_idle(const struct vb_transport *t)
{
    return t->cq_empty && t->wc_begin == t->wc_end &&
           t->stash_begin == t->stash_end;
}

/* ---- forgetting ---------------------------------------------------------- */

/* Does a completion belong to an endpoint that ends? A receive goes back. */
static bool is_of(struct vb_transport *t, const struct vb_ep *ep,
                  uint32_t qp_num, const struct ibv_wc *wc)
{
    if ((wc->wr_id & VB_ID_SEND) != 0) {
        return (wc->wr_id >> 32 & 0x3fffffff) == ep->idx;
    }
    if (wc->qp_num != qp_num) {
        return false;
    }
    wi_vb_hold(t, (uint32_t)wc->wr_id, NULL);
    return true;
}

static void keep(struct vb_transport *t, const struct ibv_wc *wc)
{
    if (t->stash_end == t->stash_room) {
        uint32_t room = t->stash_room == 0 ? 256 : 2 * t->stash_room;
        struct ibv_wc *more = realloc(t->stash, room * sizeof(*more));
        if (more == NULL) {
            wi_vb_all_lost(t, "no memory for completions of %s", t->dev.name);
            return;
        }
        t->stash = more;
        t->stash_room = room;
    }
    t->stash[t->stash_end++] = *wc;
}

void wi_vb_cq_forget(struct vb_ep *ep, uint32_t qp_num)
{
    struct vb_transport *t = vb_home(ep);
    uint32_t begin = t->stash_begin;
    uint32_t end = t->stash_end;
    t->stash_begin = t->stash_end = 0;
    for (uint32_t i = 0; i < t->n_held; i++) {
        if (t->held_by[i] == ep) {
            t->held_by[i] = NULL;
        }
    }
    for (uint32_t i = begin; i < end; i++) { /* moved down in its place */
        if (!is_of(t, ep, qp_num, &t->stash[i])) {
            t->stash[t->stash_end++] = t->stash[i];
        }
    }
    do {
        for (; t->wc_begin != t->wc_end; t->wc_begin++) {
            if (!is_of(t, ep, qp_num, &t->wc[t->wc_begin])) {
                keep(t, &t->wc[t->wc_begin]);
            }
        }
        t->wc_begin = 0;
        t->wc_end = poll_cq(t, t->wc, VB_WC);
    } while (t->wc_end != 0);
}

/* ---- sleeping ------------------------------------------------------------ */

void wi_vb_cq_drain(struct vb_transport *t)
{
    struct ibv_cq *cq = NULL;
    void *arg = NULL;
    while (ibv_get_cq_event(t->channel, &cq, &arg) == 0) {
        t->notify = false;
        t->unacked++; /* acknowledged at the end: that takes a lock */
    }
    t->event_due = false;
}

static void drain_one(struct vb_transport *t)
{
    struct ibv_cq *cq = NULL;
    void *arg = NULL;
    if (ibv_get_cq_event(t->channel, &cq, &arg) == 0) {
        t->unacked++;
    } /* else there was none: the completion came before the request */
    t->event_due = false;
}

weir_err wi_vb_cq_arm(struct vb_transport *t)
{
    if (t->notify) {
        return WEIR_OK;
    }
    if (t->event_due) {
        drain_one(t);
    }
    if (ibv_req_notify_cq(t->cq, 0) != 0) {
        wi_vb_all_lost(t, "%s notifies of nothing: %s", t->dev.name,
                       strerror(errno));
        return WEIR_AGAIN;
    }
    t->notify = true;
    t->wc_begin = 0;
    t->wc_end = poll_cq(t, t->wc, VB_WC);
    return t->wc_end != 0 ? WEIR_AGAIN : WEIR_OK;
}
