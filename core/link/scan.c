/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/scan.h"

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/format/frame_check.h"
#include "core/link/common.h"
#include "core/link/engine.h"
#include "core/link/in_ring.h"
#include "core/link/link.h"
#include "core/link/worker.h"

/* Room in the FIFO of held frames; if none, a release marks the ring again. */
static struct wi_held *held_slot(struct wi_in *in)
{
    /* rlx: only the scanner writes it */
    uint32_t end = wi_load_rlx(&in->held_end);
    /* E10 acquire: the slot was released; pairs with E10 release in
     * advance_once() */
    if (end - wi_load_acq(&in->held_begin) == WI_HELD_MAX) {
        wi_store_sc(&in->fifo_full, 1); /* E10 sc: the wish, then the look */
        /* E10 sc: as above */
        if (end - wi_load_sc(&in->held_begin) == WI_HELD_MAX) {
            return NULL;
        }
    }
    return &in->held[end % WI_HELD_MAX];
}

void wi_in_reader_waits(struct wi_in *in)
{
    if (wi_load_rlx(&in->reader_waits) ==
        0) { /* rlx: only the scanner writes it */
        /* E5 sc: before the look at `producer_waits`; pairs with E5 sc in
         * tell_producer() */
        wi_store_sc(&in->reader_waits, 1);
        if (!in->mapped) {
            wi_in_advance(in); /* sends a credit that was held back */
        }
    }
}

/* The rest of a frame has not come; the producer may need credit for it. Look
 * again if it has come by now. */
static weir_err more_to_come(struct wi_in *in)
{
    uint64_t seen = in->tail_seen;
    in->tail_seen = wi_load_acq(&in->ctl->tail); /* E1 acquire: as below */
    if (in->tail_seen != seen) {
        return WEIR_DONE;
    }
    wi_in_reader_waits(in);
    return WEIR_AGAIN;
}

/* Everything is read. The reader may hold batches and need this producer's rows
 * next: once it waits for more, the producer is told of all room at once. A
 * message costs, so the reader of a posted ring says when it waits (owe() in
 * reader.c, wi_common_pay()); of a mapped ring or a node ring, it does now. */
static weir_err nothing_there(struct wi_in *in)
{
    if (in->mapped || (in->consumer_worker == WI_ANY_WORKER &&
                       wi_load_rlx(&in->common) == NULL)) { /* rlx: ours */
        wi_in_reader_waits(in);
    }
    /* E5 sc: as in tell_producer() */
    if (in->mapped && wi_load_sc(&in->ctl->producer_waits) != 0 &&
        wi_load_acq(&in->dead) == 0) { /* E7: nobody is there any more */
        wi_in_wake_producer(in);
    }
    return WEIR_AGAIN;
}

/* The reader has a frame: it waits no longer. */
static void fed(struct wi_in *in)
{
    /* rlx: too late only tells the producer more than it needs */
    if (wi_load_rlx(&in->reader_waits) != 0) {
        wi_store_rlx(&in->reader_waits, 0); /* rlx: as above */
    }
}

weir_err wi_in_scan(struct wi_in *in, struct wi_held **slot_out,
                    struct weir_error *err)
{
    uint64_t scan = wi_load_rlx(&in->scan); /* rlx: only who scans writes it */
    if (scan == in->tail_seen) {
        /* E1 acquire: frame bytes before tail; pairs with E1 release in
         * wi_lane_put() (mapped) and wi_in_on_notify() (posted) */
        in->tail_seen = wi_load_acq(&in->ctl->tail);
        if (scan == in->tail_seen) {
            return nothing_there(in);
        }
        wi_in_prefetch(in);
    }
    struct wi_held *slot = held_slot(in);
    if (slot == NULL) {
        return WEIR_AGAIN;
    }
    uint64_t avail = in->tail_seen - scan;
    if (avail > in->size || in->tail_seen % WI_RING_ALIGN != 0) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "the ring's position is wrong");
    }
    uint32_t to_end = in->size - in->scan_off;
    slot->frame = in->mem + in->scan_off;
    memcpy(&slot->header, slot->frame, sizeof(slot->header));
    weir_err rc =
        wi_frame_check_header(&slot->header, scan, in->epoch, to_end, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (slot->header.bytes > avail) {
        return more_to_come(in); /* posted rings travel in pieces of any size */
    }
    fed(in);
    slot->end = scan + slot->header.bytes;
    wi_store_rlx(&in->scan, slot->end); /* rlx: as above; reports look at it */
    in->scan_off =
        slot->header.bytes == to_end ? 0 : in->scan_off + slot->header.bytes;
    slot->in = in;
    wi_store_rlx(&slot->released, 0); /* rlx: E10 below orders */
    /* E10 release: the slot; pairs with E10 acquire in advance_once() */
    wi_store_rel(&in->held_end, wi_load_rlx(&in->held_end) + 1);
    *slot_out = slot;
    return WEIR_OK;
}

/* ---- node rings ---------------------------------------------------------- */

/* A dispatcher may hold the node's lock already: the engine fails the query in
 * its next step. */
static WI_COLD void fail_later(struct wi_in *in, weir_err code, const char *why)
{
    struct wi_engine *e = in->link->engine;
    uint32_t never = 0;
    if (wi_cas_ar(&in->fail_queued, &never, 1)) { /* E10: only the first */
        in->fail_code = code;
        (void)snprintf(in->fail_why, sizeof(in->fail_why), "%s", why);
        wi_lq_put(&e->failures, &in->failed);
        wi_engine_kick(e);
    }
}

static void drop(struct wi_held *slot)
{
    wi_store_rel(&slot->released, 1); /* E10: as in release_held() */
    wi_in_advance(slot->in);
}

static void deliver(struct wi_in *in, struct wi_held *slot)
{
    struct wi_engine *e = in->link->engine;
    uint32_t w = slot->header.worker;
    if (slot->header.kind == WI_FRAME_PAD) {
        drop(slot);
        return;
    }
    if (w >= in->n_streams) {
        fail_later(in, WEIR_ERR_PEER_PROTOCOL,
                   "a frame for a worker that does not take part");
        drop(slot);
        return;
    }
    struct wi_stream *st = &in->streams[w];
    if (wi_load_sc(&st->gone) != 0) { /* E10 sc: see wi_stream_stop() */
        drop(slot);
        return;
    }
    wi_lq_put(&st->frames, &slot->local);
    /* E12 sc: the frame, then queued; pairs with E12 sc in collect_local() */
    if (wi_xchg_sc(&st->queued, 1) == 0) {
        wi_lq_put(&e->workers[w].local, &st->local);
        wi_worker_notify(&e->workers[w], WI_ATTN_EVENT);
    }
}

/* Release frames that were delivered to streams that nobody reads any more. */
static void sweep(struct wi_in *in)
{
    for (uint32_t i = 0; i < in->n_streams; i++) {
        struct wi_stream *st = &in->streams[i];
        struct wi_lq_node *n;
        /* E10 sc: see wi_stream_stop(); its reader takes no more */
        while (wi_load_sc(&st->gone) != 0 &&
               (n = wi_lq_take(&st->frames)) != NULL) {
            drop(wi_container_of(n, struct wi_held, local));
        }
    }
}

static void dispatch_once(struct wi_in *in)
{
    struct weir_error err;
    weir_err rc = WEIR_OK;
    sweep(in);
    /* E10 acquire: nobody reads it any more, and it may be reused; pairs with
     * E10 in wi_stream_stop() and wi_stream_ended() */
    while (rc >= 0 && rc != WEIR_AGAIN && wi_load_acq(&in->live) != 0) {
        struct wi_held *slot = NULL;
        rc = wi_in_scan(in, &slot, &err);
        if (rc == WEIR_OK) {
            deliver(in, slot);
        } else if (rc < 0) {
            fail_later(in, rc, err.message);
        }
    }
}

void wi_in_dispatch(struct wi_in *in)
{
    /* E9 acquire: the query; pairs with E9 release in bind() */
    if (wi_load_acq(&in->query) == NULL) {
        return; /* attach marks it again */
    }
    wi_rcu_lock();
    /* E10 sc: the wish, then the lock; as in wi_link_pump() */
    wi_store_sc(&in->dispatch_again, 1);
    while (wi_load_sc(&in->dispatch_again) != 0) {  /* E10 sc: as above */
        if (wi_xchg_sc(&in->dispatching, 1) != 0) { /* E10 sc: as above */
            break;
        }
        while (wi_xchg_sc(&in->dispatch_again, 0) != 0) { /* E10 sc */
            dispatch_once(in);
        }
        wi_store_sc(&in->dispatching, 0); /* E10 sc: as above */
    }
    wi_rcu_unlock();
}

void wi_in_came(struct wi_in *in)
{
    /* E9 acquire: `common`, which is set before; pairs with E9 release in
     * bind() */
    if (wi_load_acq(&in->query) == NULL) {
        return; /* attach marks it again */
    }
    wi_rcu_lock();
    /* E9 acquire: the ring's number; pairs with E9 release in
     * wi_common_add() */
    struct wi_common *c = wi_load_acq(&in->common);
    if (c != NULL) {
        wi_common_mark(c, in);
        (void)wi_common_share(c, WI_ANY_WORKER);
    } else {
        wi_in_dispatch(in);
    }
    wi_rcu_unlock();
}
