/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Queries, shuffles, writers and readers as the core sees them.
 *
 *   weir_query 1--n weir_shuffle 1--W weir_writer 1--D lanes --> wi_out
 *                                1--W weir_reader 1--P wi_stream (per producer)
 */
#ifndef WI_SHUFFLE_H
#define WI_SHUFFLE_H

#include <weir/shuffle.h>

#include "core/format/frame.h"
#include "core/link/engine.h"
#include "core/partition/partition.h"
#include "core/query/query.h"

struct weir_shuffle {
    struct wi_list on_query;
    struct weir_query *query;
    uint32_t id;
    struct wi_schema *schema;
    uint64_t fingerprint;
    weir_partitioning kind;
    char keys[40]; /* " by a,b", for messages */
    uint64_t seed;
    struct wi_partition **partitions; /* by worker; the writer's */
    uint32_t *producers;
    uint32_t n_producers;
    uint32_t *consumers;
    uint32_t n_consumers;
    uint32_t producer_workers; /* 0: all */
    uint32_t consumer_workers;
    uint32_t n_dest;
    uint32_t n_sources;           /* producing workers in all */
    struct weir_writer **writers; /* by worker, NULL: not open */
    uint64_t wrote;               /* bits: workers whose writer has finished */
    struct weir_reader **readers; /* the same */
    uint64_t was_read;            /* bits: workers whose reader was closed */
    uint64_t opened_ns;
    bool self_produces;
    bool self_consumes;
    uint32_t first_dest; /* of this node's workers */
    bool counted;
};

/** One destination of a writer. */
struct wi_lane {
    struct wi_out *out;
    uint16_t worker; /* consuming worker */
    bool owner;      /* the first lane of its ring: releases it */
    struct wi_builder *builder;
    bool open;  /* a frame is being filled, at span */
    bool done;  /* END written, or the consumer wants no more */
    bool ended; /* END written */
    bool whole; /* the next frame must have full size */
    struct wi_span span;
    uint32_t taken;   /* rows of the current split already appended */
    uint64_t sent_ns; /* when a frame was last published */
    uint64_t rows;
    uint64_t bytes;
    uint64_t checksum;
    uint64_t frames;
};

struct weir_writer {
    struct weir_shuffle *shuffle;
    struct wi_worker *worker;
    struct wi_list on_worker;
    struct wi_partition *partition;
    struct wi_view *views;
    struct wi_lane *lanes;
    uint32_t n_lanes;
    uint32_t n_done;
    uint32_t row_bytes; /* constant: frame of one row, without VAR bytes */
    bool trust;         /* constant: weir_node_params.trust_batches */
    bool finishing;     /* weir_writer_finish was called: no more rows */
    _Atomic bool finished;
    struct wi_watch put;     /* written by: engine; what its rings got in all */
    struct weir_error error; /* of the last call that failed here */
    /* a push that was not finished */
    bool pushing;
    bool split_valid;
    const uint32_t *dest; /* WEIR_VECTOR: checked for this push */
    uint64_t row;         /* first row of the current split */
    uint64_t batch_rows;
    struct wi_split split;
    /* a row in chunks, of the lane that is being served */
    uint8_t *image;
    uint32_t image_bytes;
    uint32_t image_used;
    uint32_t image_lane;
    uint32_t flush_next; /* lane at which the next look for idle ones begins */
    uint32_t first_lane; /* where loops over lanes begin, see lane_at() */
};

struct weir_reader {
    struct wi_rcu_head rcu;
    struct weir_shuffle *shuffle;
    struct wi_worker *worker;
    struct wi_list on_worker;
    struct wi_list ready; /* wi_stream with frames; written by: the worker */
    struct wi_list owing; /* wi_stream that were read to their end; the same */
    struct wi_list full;  /* wi_stream without room for more; the same */
    uint32_t progress;    /* the worker's when this reader last had nothing */
    uint32_t polls;       /* since credits were paid */
    _Atomic uint32_t n_streams; /* E9: streams[0..n_streams) are set */
    struct wi_stream **streams; /* n_sources of them */
    uint64_t *came; /* bits, engine's: sources whose stream is among them */
    uint32_t n_expected;
    uint32_t n_ended;
    uint64_t opened_ns;
    bool stopped; /* written under the node's lock */
    uint32_t last_member;
    uint32_t last_worker;
    struct weir_error error; /* of the last call that failed here */
};

struct weir_node {
    struct wi_engine engine;
    struct wi_node_os *os; /* lock, thread, descriptors: node.c */
};

/** Lock the engine of a query's node, and let go; kicks the engine if there is
 *  something for the next step. */
struct wi_node_os; /* node_os.h */

void wi_node_lock(struct weir_node *n);
void wi_node_unlock(struct weir_node *n);

/** Sum of a shuffle's options that must agree on all members. */
uint64_t wi_shuffle_fingerprint(const struct weir_shuffle *s);

/** Find a shuffle of a query, NULL: not open here (yet). */
struct weir_shuffle *wi_shuffle_find(const struct weir_query *q, uint32_t id);

void wi_shuffle_free(struct weir_shuffle *s);

/** Workers of a member that take part. */
uint32_t wi_shuffle_workers(const struct weir_shuffle *s, uint32_t member,
                            uint32_t limit);

/** Number of a producing worker among all of the shuffle, below n_sources.
 *  UINT32_MAX: it is none. */
uint32_t wi_shuffle_source(const struct weir_shuffle *s, uint32_t member,
                           uint32_t worker);

/* Closing under the lock. */
void wi_writer_free(struct weir_writer *w);
void wi_reader_free(struct weir_reader *r);

/** Send the credits that are held back while the worker has other work. */
void wi_reader_pay(struct weir_reader *r);

/** The stream has come to its end: the last one finishes its ring. */
void wi_stream_ended(struct wi_stream *st);

/* A stream is dense if it published within this time: what is in its open frame
 * will soon be a full one. */
#define WI_DENSE_NS 100000u

/** Publish partly filled frames of a worker before it sleeps, to consumers that
 *  have nothing else from us; under the node's lock. Returns true if some were
 *  left, those of streams that published within `keep_ns`. */
bool wi_writer_flush_idle(struct weir_writer *w, uint64_t keep_ns);

/** Was the end reached, and everything reconciled? */
bool wi_reader_complete(const struct weir_reader *r);

/** Does it wait for producers of a member that have not come yet? */
bool wi_reader_expects(const struct weir_reader *r, uint32_t member);

/** The ring has a dispatcher (node ring): put its new frames on the local queues
 *  of their workers. Any thread. */
void wi_in_dispatch(struct wi_in *in);

/**
 * Take the next frame of a ring into a slot; whoever scans it (see wi_in).
 *
 * Returns: WEIR_OK | WEIR_AGAIN (none now) | WEIR_DONE (look again), or what
 * failed the query
 */
weir_err wi_in_scan(struct wi_in *in, struct wi_held **slot_out);

/** The query of a ring fails because of what came over it. By its reader, who
 *  does not hold the node's lock. Returns what failed the query. */
weir_err wi_in_fail(struct wi_in *in, weir_err code, const char *why);

/** Move marked rings to their readers' ready lists. True if any was found that
 *  `reader` does not own. */
void wi_worker_collect(struct wi_worker *w, const struct weir_reader *reader);

/** What a writer or reader says of its last call that failed: what failed its
 *  query, else what it noted itself. */
weir_err wi_error_of(struct weir_query *q, const struct weir_error *noted,
                     struct weir_error *err);

#endif /* WI_SHUFFLE_H */
