/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Writers: the producing half of a row's path.
 *
 *   batch --import--> views --split--> a list of rows per lane
 *         --append--> open frame of the lane's ring --publish--> consumer
 *
 * A push is resumable: the split, and how far each lane got with it, stay in
 * the writer while the caller is away after WEIR_AGAIN.
 */
#ifndef WI_WRITER_H
#define WI_WRITER_H

#include <weir/shuffle.h>

#include "core/base/list.h"
#include "core/base/watch.h"
#include "core/format/frame.h"
#include "core/link/edge.h"
#include "core/partition/partition.h"
#include "core/ring/ring.h"

struct wi_intake;
struct wi_sieve;

/** One destination of a writer. */
struct wi_lane {
    struct wi_out *out;
    uint16_t worker; /* consuming worker */
    bool owner;      /* the first lane of its ring: releases it */
    bool shared;     /* with other lanes: its open frame is in a stage */
    uint16_t takers; /* workers 0 .. takers-1 take from it; 0: `worker` alone */
    struct wi_builder *builder;
    bool open;  /* a frame is being filled, at span */
    bool done;  /* END written, or the consumer wants no more */
    bool ended; /* END written */
    bool whole; /* the next frame must have full size */
    struct wi_span span;
    uint8_t *stage;    /* of the open frame; NULL: it is filled in the ring */
    uint32_t staged;   /* bytes of a finished frame there; 0: none */
    uint64_t sent_pos; /* of the ring, after the last frame published */
    uint32_t taken;    /* rows of the current split already appended */
    uint64_t sent_ns;  /* when a frame was last published */
    uint64_t rows;
    uint64_t bytes;
    uint64_t checksum;
    uint64_t frames;
    uint64_t sifted;   /* rows that its consumer's filter was asked about */
    uint64_t filtered; /* of these: dropped */
};

struct weir_writer {
    struct weir_shuffle *shuffle;
    struct wi_worker *worker;
    struct wi_list on_worker;
    struct wi_partition *partition;
    struct wi_view *views;
    struct wi_intake *intake; /* NULL: batches are as the schema says */
    struct wi_fan *fan;       /* NULL: rows go to lanes by lists alone */
    struct wi_lane *lanes;
    uint8_t *stages; /* of the lanes that share rings */
    uint32_t stage_bytes;
    bool locked; /* its worker holds the node's lock */
    uint32_t n_lanes;
    uint32_t n_done;
    uint32_t row_bytes; /* constant: frame of one row, without VAR bytes */
    bool trust;         /* constant: weir_node_params.trust_batches */
    bool finishing;     /* weir_writer_finish was called: no more rows */
    _Atomic bool finished;
    struct wi_watch put;     /* written by: engine; sum over its rings */
    struct weir_error error; /* of the last call that failed here */
    /* a push that was not finished */
    bool pushing;
    bool split_valid;
    const uint32_t *dest; /* WEIR_VECTOR: checked for this push */
    uint64_t row;         /* first row of the current split */
    uint64_t batch_rows;
    struct wi_split split;
    struct wi_sieve *sieve; /* for filters; NULL: not needed so far */
    /* a row in chunks, of the lane that is being served */
    uint8_t *image;
    uint32_t image_bytes;
    uint32_t image_used;
    uint32_t image_lane;
    uint32_t stops_seen; /* of worker->stops */
    uint64_t polled_ns;  /* when a poll last looked at consumers */
    uint32_t flush_next; /* lane where wi_writer_flush_waiting() goes on */
    uint32_t first_lane; /* where loops over lanes begin, see below */
    uint32_t turns_seen; /* of worker->turns, by wi_writer_flow() */
    uint64_t flow_ns;    /* when a frame last went out before it was full ... */
    uint64_t flow_bytes; /* ... and what the writer was given since then */
};

/* A stream is dense if it published within this time: its open frame will soon
 * be full. */
#define WI_DENSE_NS 100000u

/* A frame that is not full waits no longer for more rows if its consumer has
 * read everything else: it may starve and yet not sleep, because its worker
 * has other things to do. Longer than a full frame takes where there are many
 * destinations. */
#define WI_LATE_NS 20000000u

/** The i-th lane in this writer's own order. Every producer begins after its
 *  own place: if all began with the first consumer, all would send to it first,
 *  then to the second, and most ports would be idle most of the time. */
static inline uint32_t wi_writer_lane_at(const struct weir_writer *w,
                                         uint32_t i)
{
    uint32_t d = w->first_lane + i;
    return d < w->n_lanes ? d : d - w->n_lanes;
}

#endif /* WI_WRITER_H */
