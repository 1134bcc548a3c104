/* SPDX-License-Identifier: Apache-2.0 */
/** A fetch: operations of one worker, and what it knows by itself. */
#ifndef WI_FETCH_H
#define WI_FETCH_H

#include "core/region/op.h"

enum { WI_OPS_MAX = 1024, WI_CACHED = 256 };

/* In returned_bytes: who brings back the last of what was lent frees it. */
#define WI_FETCH_LEFT ((uint64_t)1 << 63)

struct weir_fetch {
    /* constant after open */
    struct weir_node *node;
    struct wi_worker *worker;
    struct wi_list on_regions;
    uint64_t max_bytes;
    uint64_t timeout_ns;
    /* written by: the worker */
    uint64_t taken_bytes;
    uint64_t lent_bytes;  /* of taken_bytes, so far */
    uint32_t under_way;   /* operations taken and not handed out */
    struct wi_list free;  /* struct wi_op */
    struct wi_list ended; /* in their order */
    struct wi_op *last;   /* handed out, its answer or error is in use */
    uint32_t revokes;     /* as it was when the cache was last purged */
    struct wi_piece *cached[WI_CACHED]; /* mapped ones; each is a user */
    struct wi_op *ops;
    /* put by: any */
    struct wi_lq moved;    /* operations that the worker goes on with */
    struct wi_lq returned; /* operations whose bytes came back */
    _Atomic uint64_t returned_bytes; /* E15: of lent_bytes; WI_FETCH_LEFT */
    /* under the node's lock */
    bool closed;
    bool left; /* nothing of it is in flight: what is lent has it */
};

/** The worker goes on with this operation. Any thread. */
void wi_fetch_put(struct wi_op *op);

/** Forget cached pieces that were revoked; the rest too if asked. */
void wi_fetch_purge(struct weir_fetch *f, bool all);

#endif /* WI_FETCH_H */
