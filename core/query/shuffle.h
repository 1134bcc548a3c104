/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A shuffle of a query as this node knows it: who produces, who consumes, what,
 * and by which key. Constant after open, but for its ends. Under the node's
 * lock.
 */
#ifndef WI_SHUFFLE_H
#define WI_SHUFFLE_H

#include <weir/shuffle.h>

#include "core/base/atomic.h"
#include "core/base/list.h"
#include "core/format/schema.h"

struct weir_query;
struct wi_common;
struct wi_partition;
struct wi_filter_slot;

struct weir_shuffle {
    struct wi_list on_query;
    struct weir_query *query;
    uint32_t id;
    struct wi_schema *schema;
    uint64_t fingerprint;
    weir_partitioning kind;
    char name[68]; /* " \"NAME\"" or empty, for messages */
    char keys[40]; /* " by a,b", for messages */
    uint64_t seed;
    uint32_t *key_columns; /* HASH */
    uint32_t n_keys;
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
    bool to_node;             /* a destination is a member, not a worker */
    uint32_t first_dest;      /* of this node's workers */
    struct wi_common *common; /* to_node: rings that came; NULL: does not
                                 consume, or all readers were closed */
    bool counted;
    struct wi_filter_slot *filters; /* by destination; NULL: none */
    uint32_t n_whole;               /* of them */
    _Atomic uint32_t n_filters;     /* E13: the same, for writers */
};

/** Find a shuffle of a query, NULL: not open here (yet). */
struct weir_shuffle *wi_shuffle_find(const struct weir_query *q, uint32_t id);

void wi_shuffle_free(struct weir_shuffle *s);

/** Nobody here reads it, any more or ever: let go of the rings that its readers
 *  have in common. Those hold the query. */
void wi_shuffle_let_go(struct weir_shuffle *s);

/** Workers of a member that take part. */
uint32_t wi_shuffle_workers(const struct weir_shuffle *s, uint32_t member,
                            uint32_t limit);

/** Destinations at a member that consumes: its workers, or one for all. */
uint32_t wi_shuffle_dests(const struct weir_shuffle *s, uint32_t member);

/** Number of a producing worker among all of the shuffle, below n_sources;
 *  UINT32_MAX: it produces none. */
uint32_t wi_shuffle_source(const struct weir_shuffle *s, uint32_t member,
                           uint32_t worker);

/** Number of a consuming worker, its destination, below n_dest; UINT32_MAX: it
 *  consumes none, or rows go to its node. */
uint32_t wi_shuffle_dest(const struct weir_shuffle *s, uint32_t member,
                         uint32_t worker);

#endif /* WI_SHUFFLE_H */
