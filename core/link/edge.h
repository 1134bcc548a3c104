/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Edges: one producing worker's ring to one consuming worker, or to all workers
 * of one node, seen from its two ends.
 *
 *   wi_out: at the producer                 wi_in: at the consumer
 *
 *   WAITING  no link, or no room yet
 *      | EDGE_OPEN ------------------------>  OPEN
 *   OPEN     frames -------------------->     frames to the reader
 *      | END frame, or ABANDON ---------->    ended
 *   QUIET    nobody writes any more             | all batches released
 *      | <---------------------- CLOSED ------- +
 *   freed: the units may be used again
 *
 * The *producer* hands out ring space at the consumer (the area was granted to
 * it alone), so starting a query costs no exchange of memory; the consumer
 * checks that a ring does not overlap one in use.
 *
 * A ring is used again only after CLOSED, and CLOSED is sent only after the
 * producer said that it will not write again: END or ABANDON. Stop-sending and
 * failure both come down to ABANDON.
 *
 * What one consuming worker gets over a ring is a *stream*. A thread-to-thread
 * ring has one, and its worker reads the ring itself. A thread-to-node ring has
 * one per worker, and each frame says whose it is: whichever worker (or the
 * network thread) finds the ring marked puts the new frames on their workers'
 * *local queues*. If one of several consumers stops, its frames are dropped on
 * both sides while the ring goes on. Of a shuffle to nodes (WEIR_TO_NODE) such
 * a ring has one stream for all workers, who take turns (common.h).
 *
 * Who waits, and who is told (edge E5):
 *
 *   producer_waits   its ring has no room (or it keeps part of a frame back
 *                    until the ring is empty): moving the head wakes it
 *   reader_waits     it has read everything: from now on room is told at once,
 *                    not only when half of the ring, or all but an eighth of
 *                    it, is free
 *   more_follows     posted rings: the producer goes on sending, so nothing is
 *                    told at once; it says when that is over (`hint` of NOTIFY)
 *   credit_told      posted rings: the last credit said that the reader waits;
 *                    it is not said twice
 *   fifo_full        the reader holds WI_HELD_MAX batches: releasing one marks
 *                    the ring again
 */
#ifndef WI_EDGE_H
#define WI_EDGE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/batch.h>

#include "core/base/atomic.h"
#include "core/base/list.h"
#include "core/base/lq.h"
#include "core/base/rcu.h"
#include "core/base/watch.h"
#include "core/format/frame.h"
#include "core/link/item.h"
#include "core/ring/ring.h"

struct wi_common;
struct wi_engine;
struct wi_link;
struct wi_worker;
struct weir_reader;
struct weir_query;

enum wi_out_state {
    WI_OUT_WAITING, /* not in a ring yet */
    WI_OUT_OPEN,
    WI_OUT_QUIET, /* END written or abandoned */
};

/* What the producer expects to send after a frame. */
enum wi_follows {
    WI_FOLLOWS_NONE,
    WI_FOLLOWS_LIKELY, /* full frames have followed one another */
    WI_FOLLOWS_SOON,   /* and this push has rows for the next one */
    WI_FOLLOWS_END,    /* the end of the stream */
};

struct wi_out {
    /* constant after open */
    struct wi_item item;
    struct wi_link *link;
    uint64_t query_id;
    uint64_t fingerprint;
    uint32_t shuffle_id;
    uint32_t edge; /* first unit */
    uint32_t units;
    uint32_t epoch;
    uint16_t producer_worker;
    uint16_t consumer_worker; /* WI_ANY_WORKER: of the whole node */
    uint32_t frame_bytes;
    uint32_t size;     /* of the ring */
    uint8_t *mem;      /* mapped: the peer's ring; posted: ours */
    uint8_t *mem_base; /* posted: what the arena gave */
    uint64_t remote_off;
    bool mapped;
    bool checksum;            /* agreed with the peer */
    struct wi_ring_ctl *ctl;  /* mapped: the peer's; posted: own_ctl */
    struct wi_worker *worker; /* that produces, to be woken */

    /* written by: engine */
    _Atomic uint32_t state;     /* wi_out_state */
    _Atomic uint32_t stop_all;  /* nobody reads the ring any more */
    _Atomic uint64_t stopped;   /* bits: workers that want no more */
    bool given_up;              /* it waited for a ring, and its query failed */
    bool released;              /* the writer has let go of it */
    _Atomic uint32_t abandoned; /* ABANDON was sent */
    bool closed;                /* CLOSED came */
    struct wi_watch put;        /* tail */
    struct wi_watch taken;      /* what the consumer has released */

    /* written by: the worker */
    alignas(WI_CACHE_LINE) uint64_t tail;
    uint32_t tail_off;    /* its place in the ring */
    uint32_t pages_bytes; /* of the ring, from its start, that have pages */
    uint32_t start_bytes; /* next frame, while the ring gets its pages; then
                             frame_bytes */
    uint64_t head_seen;
    uint32_t run;             /* full frames since it last waited */
    bool held;                /* the last frame is posted with the next one */
    _Atomic uint32_t follows; /* wi_follows: what follows the last frame */

    /* written by: post lock holder (posted rings) */
    alignas(WI_CACHE_LINE) uint64_t posted;
    uint64_t notified;
    bool told_follows; /* the last notification */

    /* written by: engine (posted rings) */
    _Atomic uint64_t credit;        /* consumed by the peer */
    _Atomic uint64_t reader_waited; /* `credit` when its reader last waited */

    struct wi_ring_ctl own_ctl;
};

/** One frame taken from a ring and not yet released. */
struct wi_held {
    uint64_t end; /* ring position after it */
    _Atomic uint32_t released;
    struct wi_in *in;
    struct wi_export *export_;
    struct wi_frame_header header; /* the checked copy */
    const uint8_t *frame;
    struct wi_lq_node local; /* on its stream's queue (node rings) */
};

#define WI_HELD_MAX 64u /* frames of one ring in readers' hands at a time */

/** What one consuming worker gets over one ring. */
struct wi_stream {
    struct wi_in *in; /* constant */
    uint16_t worker;  /* constant */
    /* written by: engine */
    _Atomic(struct weir_reader *) reader; /* NULL: nobody reads (yet) */
    _Atomic uint32_t gone; /* stopped or detached: its frames are dropped */
    /* node rings */
    struct wi_lq frames;     /* struct wi_held; put by: the dispatcher */
    struct wi_lq_node local; /* on the worker's local queue */
    _Atomic uint32_t queued; /* 1 while there */
    /* written by: the reading worker */
    struct wi_list ready; /* reader's list */
    struct wi_list owing; /* reader's list: credit is held back */
    uint64_t owing_ns;    /* since then */
    struct wi_list full;  /* reader's list: the caller's batches fill it */
    uint64_t rows;
    uint64_t bytes;
    uint64_t checksum;
    uint64_t n_frames;
    _Atomic bool ended; /* END taken and reconciled */
    uint8_t *image;     /* of a row in chunks */
    uint32_t image_bytes;
    uint32_t image_used;
};

struct wi_in {
    /* constant after open */
    struct wi_item item;
    struct wi_list on_query; /* while on its link: the engine's ins_of */
    struct wi_rcu_head rcu;
    struct wi_link *link;
    uint64_t query_id;
    uint64_t fingerprint;
    uint32_t shuffle_id;
    uint32_t edge;
    uint32_t units;
    uint32_t epoch;
    uint16_t producer_worker;
    uint16_t consumer_worker; /* WI_ANY_WORKER: a node ring */
    uint32_t size;
    uint8_t *mem;
    bool mapped;
    struct wi_ring_ctl *ctl; /* mapped: in the ring area; posted: own_ctl */
    const struct wi_schema *schema; /* from attach on */
    uint8_t *offsets; /* from attach on: see wi_link; NULL: read in place */
    _Atomic(struct weir_query *) query; /* from attach on: holds a count */
    _Atomic(struct wi_common *) common; /* any worker takes from it, common.h;
                                         * set before `query`; NULL: not so */
    uint32_t number;                    /* there */
    uint32_t n_streams;
    struct wi_stream *streams; /* n_streams: 1, or one per worker */
    uint64_t opened_ns;

    /* written by: engine */
    _Atomic uint32_t more_follows; /* posted: the producer said so, and sends
                                    * word before it waits */
    bool stop_sent;                /* STOP of the whole ring */
    bool abandoned;                /* the producer writes no more, END or not */
    bool empty;                    /* nobody reads any more, nothing is held */
    bool closed;                   /* CLOSED was sent */
    bool stray;               /* over; a queue or a dispatcher still has it */
    struct wi_lq_node inbox;  /* on the engine's inbox */
    _Atomic uint32_t dead;    /* link lost: batches are only released */
    _Atomic uint32_t live;    /* streams that expect frames */
    _Atomic uint32_t n_ended; /* streams that had their END */
    struct wi_watch came;     /* tail */
    struct wi_watch read;     /* scan */
    struct wi_watch freed;    /* head */

    /* written by: the scanner (the reader; node rings: the dispatcher) */
    alignas(WI_CACHE_LINE) _Atomic uint64_t scan; /* next frame to look at */
    uint32_t scan_off;                            /* its place in the ring */
    uint64_t tail_seen;
    _Atomic uint32_t reader_waits; /* for more */
    struct wi_held *held;          /* WI_HELD_MAX, a FIFO: */
    _Atomic uint32_t held_end;     /* written by: the scanner */
    _Atomic uint32_t dispatching;  /* node rings: the dispatcher's lock */
    _Atomic uint32_t dispatch_again;
    _Atomic uint32_t turn; /* wi_turn; of rings that any worker takes from */
    /* written by: the dispatcher, once; read by the engine from its queue */
    struct wi_lq_node failed;
    _Atomic uint32_t fail_queued; /* 1: on the engine's queue; 2: was taken */
    weir_err fail_code;
    char fail_why[128];

    /* written by: whoever holds `advancing` */
    alignas(WI_CACHE_LINE) _Atomic uint32_t advancing;
    _Atomic uint32_t again;
    _Atomic uint32_t held_begin;
    _Atomic uint32_t fifo_full; /* of held frames: scanning stopped */
    _Atomic uint32_t finish;    /* 1: tell the engine when empty; 2: told */

    /* posted, written by: the holder of the post lock */
    _Atomic uint64_t credited;    /* last head that was sent */
    _Atomic uint32_t credit_told; /* it said that the reader waits */

    struct wi_ring_ctl own_ctl;
};

/** Prefetch the first lines of the next frame, all at once. By whoever scans
 *  the ring. */
static inline void wi_in_prefetch(const struct wi_in *in)
{
    const uint8_t *mem = in->mem + in->scan_off;
    __builtin_prefetch(mem);
    __builtin_prefetch(mem + WI_CACHE_LINE);
    __builtin_prefetch(mem + 2 * (size_t)WI_CACHE_LINE);
}

/* ---- edges that are over; under the node's lock -------------------------- */

/** Free what a dead link, sealed, still holds; true if nothing is left. */
bool wi_edges_bury(struct wi_link *l);
/** Free the edges in limbo that the send side has let go of. */
void wi_edges_limbo(struct wi_engine *e);

#endif /* WI_EDGE_H */
