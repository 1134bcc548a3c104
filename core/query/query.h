/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A query on this node.
 *
 *   query.c           find, ask, count holds
 *   query_open.c      open, cancel, close
 *   query_fail.c      fail: on every member, and for one cause
 *   judge.c           which cause, where several members find one
 *   lost.c            peers that are lost, deadlines
 *   query_upcalls.c   what links tell and ask
 *   agree.c           what its members tell each other while it goes well
 *   tomb.c            what is kept of queries that are over or not yet open
 *   missing.c         what it waits for
 *
 *   weir_query 1--n weir_shuffle 1--W weir_writer 1--D lanes --> wi_out
 *                                1--W weir_reader 1--P wi_stream (per producer)
 *
 * Everything but `code` and `error` is under the node's lock.
 */
#ifndef WI_QUERY_H
#define WI_QUERY_H

#include <weir/query.h>

#include "core/base/atomic.h"
#include "core/base/cc.h"
#include "core/base/forks.h"
#include "core/base/list.h"
#include "core/base/watch.h"
#include "core/format/wire.h"

struct weir_node;
struct wi_engine;

/** Ends of a shuffle on this node, and all of it. */
enum wi_part { WI_PART_SHUFFLE, WI_PART_READER, WI_PART_WRITER };

/** The first thing that could not be opened here, unless it was opened
 *  later. */
struct wi_refused {
    enum wi_part part;
    uint32_t shuffle;
    uint32_t worker;
    char text[WI_TEXT_BYTES]; /* why; empty: there is none */
};

struct weir_query {
    struct wi_list on_engine;
    struct wi_list on_list; /* of those by number */
    struct wi_engine *engine;
    struct weir_node *node;
    uint64_t id;
    uint32_t forks;       /* the engine's */
    uint64_t deadline_ns; /* absolute, UINT64_MAX: none */
    uint32_t *members;
    bool *lost; /* one for each member */
    uint32_t n_members;
    struct wi_list shuffles;
    uint32_t *opened; /* their numbers; the tomb gets them */
    uint32_t n_opened;
    uint32_t unopened; /* writers and readers of this node, of its shuffles */
    _Atomic int32_t code; /* weir_err; written once, after `error` (E8) */
    struct weir_error error;
    bool failing;              /* error is being or was written */
    struct weir_error report;  /* told to the judge (judge.h), */
    uint64_t answer_ns;        /* which decides until then */
    struct weir_error differs; /* fails it then, if nobody has before: */
    uint64_t differs_ns;
    struct wi_refused refused;
    uint32_t holds; /* itself and every wi_in with its schema */
    bool closed;
    uint64_t opened_ns;
    struct wi_watch moved; /* the sum of all positions and states */
    bool stalled;          /* the log says that it stands still */
};

static inline struct weir_query *wi_query_of(struct wi_list *n)
{
    return wi_container_of(n, struct weir_query, on_engine);
}

/** What failed it; WEIR_ERR_STATE in a child of its process. */
static inline weir_err wi_query_code(const struct weir_query *q)
{
    if (wi_unlikely(q->forks != wi_forks)) {
        return WEIR_ERR_STATE;
    }
    /* E8 acquire: the message; pairs with E8 release in wi_query_fail() */
    return (weir_err)wi_load_acq(&q->code);
}

/** Find a query of this node, NULL: not open here. */
struct weir_query *wi_query_find(struct wi_engine *e, uint64_t id);

bool wi_query_has(const struct weir_query *q, uint32_t member);

/** Free a query that never was among those of the engine. */
void wi_query_free(struct weir_query *q);

/** Release one hold of a query; frees it with the last. */
void wi_query_drop(struct weir_query *q);

/** Opening a part of a query failed. If it is not opened later, closing the
 *  query fails it on all members, for this cause. */
void wi_query_refused(struct weir_query *q, enum wi_part part, uint32_t shuffle,
                      uint32_t worker, const struct weir_error *why);
/** A part was opened. If it is the last that the open shuffles need of this
 *  node, the other nodes are told of all. */
void wi_query_opened(struct weir_query *q, enum wi_part part, uint32_t shuffle,
                     uint32_t worker);

/** Why the last call of a writer or reader failed: what failed its query, else
 *  what it noted itself. */
weir_err wi_error_of(struct weir_query *q, const struct weir_error *noted,
                     struct weir_error *err);

#endif /* WI_QUERY_H */
