/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One round of the send side: reap completed writes; send control messages;
 * give every ring with data one turn, fair between queries, of at most one
 * write, each followed in the same packet by its notification; add credits that
 * are due; kick. A packet is sent after the writes that it reports, so the
 * transport's order (transport.h) makes the notification true when it arrives.
 */
#include "core/link/post.h"

#include <stdlib.h>
#include <string.h>

#include "core/link/engine.h"
#include "core/link/transfer.h"
#include "core/link/worker.h"
#include "core/transport.h"

#define POST_QUANTUM 65536u

static struct wi_out *out_of(struct wi_item *it)
{
    return wi_container_of(it, struct wi_out, item);
}

static struct wi_in *in_of(struct wi_item *it)
{
    return wi_container_of(it, struct wi_in, item);
}

static void broken(struct wi_link *l)
{
    l->broken = true; /* the transport reports CLOSED to the engine */
}

/* ---- packets ------------------------------------------------------------- */

/* Send the packet that is being filled; false: the transport is full. */
static bool send_packet(struct wi_link *l)
{
    if (l->packet_len == 0) {
        return true;
    }
    weir_err rc = l->ep->transport->ops->send(l->ep, l->packet, l->packet_len);
    if (rc == WEIR_AGAIN) {
        return false;
    }
    if (rc != WEIR_OK) {
        broken(l);
    }
    l->packet_len = 0;
    l->packet_first = false;
    return true;
}

/* Room for a message in the packet; false: the transport is full. */
static bool packet_room(struct wi_link *l, uint32_t len)
{
    return l->packet_len + len <= WI_PACKET_BYTES || send_packet(l);
}

static void packet_add(struct wi_link *l, const void *msg, uint32_t len)
{
    memcpy(l->packet + l->packet_len, msg, len);
    l->packet_len += len;
}

static bool add_pos(struct wi_link *l, const struct wi_msg_pos *m)
{
    if (!packet_room(l, sizeof(*m))) {
        return false;
    }
    packet_add(l, m, sizeof(*m));
    return true;
}

/* Report what was posted since the last time, or that a credit is waited for
 * after all; false: the transport is full. */
static bool notify(struct wi_link *l, struct wi_out *o)
{
    /* rlx: other threads' numbers; whoever changes them queues the item (E6) */
    uint64_t room = wi_load_rlx(&o->credit) + o->size;
    bool more =
        wi_load_rlx(&o->follows) != WI_FOLLOWS_NONE && /* rlx: as above */
        wi_load_rlx(&o->ctl->tail) < room;             /* rlx: as above */
    struct wi_msg_pos m = {.head = {WI_MSG_NOTIFY, sizeof(m)},
                           .edge = o->edge,
                           .epoch = o->epoch,
                           .hint = more ? 1 : 0,
                           .pos = o->posted};
    if (o->notified < o->posted || (o->told_follows && !more)) {
        if (!add_pos(l, &m)) {
            return false;
        }
        o->notified = o->posted;
        o->told_follows = more;
    }
    return true;
}

/* ---- what a round does --------------------------------------------------- */

/* Local memory of completed writes may be used again. */
static void reap(struct wi_link *l)
{
    /* E4 acquire: the transport is done with the memory; pairs with the E4
     * release of its completion count */
    uint64_t done = wi_load_acq(&l->ep->completed);
    while (l->completed_seen < done && l->posted_begin != l->posted_end) {
        struct wi_posted *p = &l->posted[l->posted_begin++ % WI_POSTED_MAX];
        l->completed_seen++;
        if (p->out == NULL) {
            wi_transfer_posted(l, p->transfer, p->pos);
            continue;
        }
        /* E5 sc: ring space is free, then read `producer_waits`; pairs with
         * E5 sc in wi_lane_room() */
        wi_store_sc(&p->out->ctl->head, p->pos);
        if (wi_load_sc(&p->out->ctl->producer_waits) !=
            0) { /* E5 sc: as above */
            wi_store_rlx(&p->out->ctl->producer_waits,
                         0); /* rlx: set again if full */
            wi_worker_notify(p->out->worker, WI_ATTN_SPACE);
        }
    }
}

static bool send_ctl(struct wi_link *l)
{
    for (;;) {
        if (l->ctl_next == NULL) {
            struct wi_lq_node *n = wi_lq_take(&l->ctl);
            if (n == NULL) {
                return true;
            }
            l->ctl_next = wi_container_of(n, struct wi_ctl_msg, node);
        }
        if (!packet_room(l, l->ctl_next->len)) {
            return false;
        }
        packet_add(l, l->ctl_next->bytes, l->ctl_next->len);
        /* rlx: only the holder writes it; the engine compares */
        wi_store_rlx(&l->ctl_taken, wi_load_rlx(&l->ctl_taken) + 1);
        free(l->ctl_next);
        l->ctl_next = NULL;
    }
}

static bool send_pings(struct wi_link *l)
{
    /* rlx: a look first; the exchange below orders */
    if (wi_load_rlx(&l->pings) == 0) {
        return true;
    }
    if (!packet_room(l, 2 * sizeof(struct wi_msg_word))) {
        return false;
    }
    uint32_t pings = wi_xchg_ar(&l->pings, 0); /* E6: pairs with its setter */
    for (uint32_t ask = 0; ask <= 1; ask++) {
        struct wi_msg_word m = {.head = {WI_MSG_PING, sizeof(m)}, .arg = ask};
        if ((pings & (ask != 0 ? WI_PING_ASK : WI_PING_ANSWER)) != 0) {
            packet_add(l, &m, sizeof(m));
        }
    }
    return true;
}

static bool send_bells(struct wi_link *l)
{
    /* rlx: a look first; the exchange below orders */
    if (wi_load_rlx(&l->bells) == 0) {
        return true;
    }
    if (!packet_room(l, 64 * sizeof(struct wi_msg_word))) {
        return false;
    }
    uint64_t bells = wi_xchg_ar(&l->bells, 0); /* E6: pairs with its setter */
    for (; bells != 0; bells &= bells - 1) {
        struct wi_msg_word m = {.head = {WI_MSG_BELL, sizeof(m)},
                                .arg = (uint32_t)__builtin_ctzll(bells)};
        packet_add(l, &m, sizeof(m));
    }
    return true;
}

static void take_items(struct wi_link *l)
{
    struct wi_lq_node *n;
    while ((n = wi_lq_take(&l->items)) != NULL) {
        struct wi_item *it = wi_container_of(n, struct wi_item, node);
        /* E6 sc: cleared before the positions are read, so that a later change
         * queues it again; pairs with E6 sc in wi_link_post() */
        (void)wi_xchg_sc(&it->queued, 0);
        if (!it->active) {
            it->active = true;
            wi_list_push_back(&l->active, &it->posting);
        }
    }
}

/* Post one write; false: the transport is full. */
static bool write_piece(struct wi_link *l, struct wi_out *o, uint64_t limit)
{
    if (l->posted_end - l->posted_begin == WI_POSTED_MAX) {
        return false;
    }
    uint32_t bytes = wi_ring_contiguous(o->size, o->posted, limit);
    uint32_t off = (uint32_t)(o->posted % o->size);
    struct wi_rma op = {.local = o->mem + off,
                        .bytes = bytes,
                        .key = l->peer_key,
                        .remote_off = o->remote_off + off};
    weir_err rc = l->ep->transport->ops->write(l->ep, &op);
    if (rc == WEIR_AGAIN) {
        return false;
    }
    if (rc != WEIR_OK) {
        broken(l);
        return false;
    }
    o->posted += op.bytes;
    l->posted[l->posted_end % WI_POSTED_MAX] =
        (struct wi_posted){.out = o, .pos = o->posted};
    l->posted_end++;
    return true;
}

/* How far the ring may be posted: what is published, and granted. */
static uint64_t post_limit(struct wi_out *o)
{
    /* E1 acquire: frame bytes before tail; pairs with E1 release of
     * wi_lane_put() */
    uint64_t tail = wi_load_acq(&o->ctl->tail);
    /* E6 sc: after the item was taken off the queue; pairs with E6 sc in
     * wi_out_on_credit() */
    uint64_t credit = wi_load_sc(&o->credit);
    return wi_min_u64(tail, credit + o->size);
}

/* Whole frames, if they fit: half a frame is of no use to its reader. */
static uint32_t turn_bytes(const struct wi_link *l, const struct wi_out *o)
{
    uint32_t most = l->ep->transport->ops->write_bytes;
    most = most != 0 ? most : POST_QUANTUM;
    return most - most % wi_min_u32(o->frame_bytes, most);
}

/* One turn of an outgoing ring; false: the transport is full. */
static bool post_out(struct wi_link *l, struct wi_out *o, bool *more)
{
    *more = false;
    if (wi_load_rlx(&o->abandoned) != 0) { /* rlx: see wi_out_abandon() */
        return true;
    }
    uint64_t limit = post_limit(o);
    uint64_t turn = wi_min_u64(limit, o->posted + turn_bytes(l, o));
    while (o->posted < turn) {
        if (!packet_room(l, sizeof(struct wi_msg_pos)) ||
            !write_piece(l, o, turn)) {
            return false;
        }
    }
    if (!notify(l, o)) {
        return false;
    }
    *more = o->posted < limit;
    return true;
}

static bool post_in(struct wi_link *l, struct wi_in *in)
{
    /* E5 sc: not told, then the look at `reader_waits`; pairs with E5 sc in
     * send_credit() */
    wi_store_sc(&in->credit_told, 0);
    uint32_t waits = wi_load_sc(&in->reader_waits); /* E5 sc: as above */
    /* E5 acquire: what the peer may now overwrite was read; the head may be a
     * later one than that which queued the item (E6); pairs with E5 sc in
     * move_head() */
    uint64_t head = wi_load_acq(&in->ctl->head);
    struct wi_msg_pos m = {.head = {WI_MSG_CREDIT, sizeof(m)},
                           .edge = in->edge,
                           .epoch = in->epoch,
                           .hint = waits,
                           .pos = head};
    if (!add_pos(l, &m)) {
        return false;
    }
    wi_store_rlx(&in->credited, head); /* rlx: see send_credit() */
    if (waits != 0) {
        wi_store_rlx(&in->credit_told, 1); /* rlx: too late tells it again */
    }
    return true;
}

/* Send a notification that could not be sent after its write. */
static bool catch_up(struct wi_link *l, struct wi_out *o)
{
    return wi_load_rlx(&o->abandoned) != 0 || notify(l, o); /* rlx: as above */
}

/* Messages go before the first write of a round: a peer that has not yet read
 * of a ring takes a write into it for an offence (wi_in_may_write). */
static bool post_item(struct wi_link *l, struct wi_item *it, bool *more)
{
    if (it->kind != WI_ITEM_IN && l->packet_first && !send_packet(l)) {
        return false;
    }
    if (it->kind == WI_ITEM_TRANSFER) {
        return wi_transfers_post(l, more);
    }
    return it->kind == WI_ITEM_OUT ? post_out(l, out_of(it), more)
                                   : post_in(l, in_of(it));
}

/* Give each active item a turn until none has work or the transport is full. */
static void turns(struct wi_link *l)
{
    struct wi_list *n;
    while (!l->broken && (n = wi_list_take(&l->active)) != NULL) {
        struct wi_item *it = wi_container_of(n, struct wi_item, posting);
        bool more = false;
        bool ok = post_item(l, it, &more);
        if (!ok && it->kind == WI_ITEM_OUT) {
            (void)catch_up(l, out_of(it));
        }
        if (!ok || more) {
            wi_list_push_back(&l->active, n);
            if (!ok) {
                return;
            }
        } else {
            it->active = false;
        }
    }
}

static void pump_once(struct wi_link *l)
{
    const struct wi_transport_ops *ops = l->ep->transport->ops;
    uint32_t before = l->posted_end;
    reap(l);
    take_items(l);
    if (!l->broken && send_ctl(l) && send_pings(l) && send_bells(l)) {
        l->packet_first = l->packet_len != 0;
        turns(l);
        (void)send_packet(l);
    }
    weir_err rc = l->broken ? WEIR_ERR_PEER_LOST : ops->kick(l->ep);
    if (rc < 0) {
        broken(l);
    }
    reap(l);
    if (rc == WEIR_OK && before != l->posted_end &&
        !wi_list_empty(&l->active)) {
        /* E6 sc: the kick made room: one more; as in wi_link_pump() */
        wi_store_sc(&l->again, 1);
    }
}

/* Rounds while they are asked for, unless another thread makes them. */
static void serve(struct wi_link *l)
{
    /* E6 sc: pairs with E6 sc in wi_link_pump() */
    while (wi_load_sc(&l->again) != 0 && wi_load_acq(&l->sending) != 0) {
        if (wi_xchg_sc(&l->lock, 1) != 0) { /* E6 sc: as above */
            return;
        }
        /* E6 sc: sealed between the look and the lock? (wi_link_seal) */
        while (wi_load_sc(&l->sending) != 0 && wi_xchg_sc(&l->again, 0) != 0) {
            pump_once(l);
        }
        wi_store_sc(&l->lock, 0); /* E6 sc: as above */
        /* E6 sc: the lock is free, then the look; pairs with E6 sc in
         * take_lock() */
        if (wi_load_sc(&l->watched) != 0 &&
            wi_xchg_sc(&l->watched, 0) != 0) { /* E6 sc: as above */
            wi_engine_kick(l->engine);
        }
    }
}

void wi_link_pump(struct wi_link *l)
{
    /* E6 sc: the wish, then the lock; pairs with E6 sc in serve(), where the
     * holder lets go of the lock and then looks for wishes */
    wi_store_sc(&l->again, 1);
    serve(l);
}

/* For the engine; false: the holder of the lock kicks it afterwards. */
static bool take_lock(struct wi_link *l)
{
    if (wi_xchg_sc(&l->lock, 1) == 0) { /* E6 sc: as in serve() */
        return true;
    }
    /* E6 sc: the wish to be told, then the lock; pairs with E6 sc in serve() */
    wi_store_sc(&l->watched, 1);
    return wi_xchg_sc(&l->lock, 1) == 0; /* E6 sc: as above */
}

bool wi_link_quiet(struct wi_link *l, struct wi_item *item)
{
    if (!take_lock(l)) {
        return false;
    }
    bool quiet = !item->active && wi_load_acq(&item->queued) == 0; /* E6 */
    if (quiet && item->kind == WI_ITEM_OUT) {
        struct wi_out *o = out_of(item);
        /* rlx: only the post lock holder, that is we, changes it (reap) */
        quiet = o->mapped || wi_load_rlx(&o->own_ctl.head) == o->posted;
    }
    if (wi_load_acq(&item->queued) != 0) { /* E6: perhaps left there */
        wi_store_sc(&l->again, 1);         /* E6 sc: as in wi_link_pump() */
    }
    if (!quiet) {
        /* E6 sc: what we wait for is a later round's; as in take_lock() */
        wi_store_sc(&l->watched, 1);
    }
    wi_store_sc(&l->lock, 0); /* E6 sc: as in serve() */
    serve(l);                 /* wishes that came meanwhile */
    return quiet;
}

weir_err wi_link_ungrant(struct wi_link *l, const struct wi_mem *mem,
                         uint64_t key)
{
    if (!take_lock(l)) {
        return WEIR_AGAIN;
    }
    weir_err rc = l->ep->transport->ops->ungrant(l->ep, mem, key);
    wi_store_sc(&l->lock, 0); /* E6 sc: as in serve() */
    serve(l);                 /* wishes that came meanwhile */
    return rc;
}

bool wi_link_seal(struct wi_link *l)
{
    /* E6 sc: no new round starts; pairs with E6 sc in serve() */
    wi_store_sc(&l->sending, 0);
    return take_lock(l);
}

void wi_link_leave(struct wi_link *l, struct wi_item *item)
{
    /* E6 sc: what changed, then queued; pairs with E6 sc in take_items() */
    if (wi_xchg_sc(&item->queued, 1) == 0) {
        wi_lq_put(&l->items, &item->node);
    }
}

void wi_link_post(struct wi_link *l, struct wi_item *item)
{
    wi_link_leave(l, item);
    wi_link_pump(l);
}
