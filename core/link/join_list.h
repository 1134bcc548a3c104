/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A join in progress, at the seed and at a joiner: the list of members as far
 * as it is known. Engine only, under the node's lock.
 */
#ifndef WI_JOIN_LIST_H
#define WI_JOIN_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

#include "core/format/wire.h"
#include "core/transport.h"

struct wi_engine;

struct wi_join_entry {
    struct wi_msg_member m;
    bool known;
    struct wi_ep *ep; /* seed: its endpoint; NULL: the seed, or gone */
    uint32_t told;    /* seed: entries already sent to it */
};

struct wi_join {
    bool seed;
    bool any;   /* joiner: of a cluster that runs; n is 0 until the seed says */
    bool ended; /* the caller has its answer */
    uint32_t n;
    uint32_t n_known;
    struct wi_join_entry *entries;
    char address[WI_ADDRESS_BYTES];
    char server_name[WI_ADDRESS_BYTES]; /* joiner; "": the address says whom */
    struct wi_ep *ep;                   /* joiner: to the seed */
    bool up;                            /* joiner: ep is connected */
    uint64_t retry_ns;                  /* joiner: connect (again) at */
    uint64_t patience_ns; /* joiner: try the next way to the seed at */
    weir_err code;        /* WEIR_AGAIN while it goes on */
    struct weir_error error;
};

/** This node's own entry, in the form of the JOIN that it sends. */
void wi_join_fill_self(const struct wi_engine *e, struct wi_msg_member *m);

/** MEMBER about entry idx of this node's list; all zero if nobody has it. */
void wi_join_fill_entry(const struct wi_engine *e, uint32_t idx,
                        union wi_msg *m);

/** The join has failed; of several causes the first stands. */
void wi_join_finish(struct wi_join *j, weir_err code, const char *text);

/** Is this an entry of a number that nobody has? */
bool wi_join_is_hole(const struct wi_msg_member *m);

/** All entries are known: this node joins. */
void wi_join_complete(struct wi_engine *e, struct wi_join *j);

/** Index of a name in the list; j->n: it is not there. */
uint32_t wi_join_find_name(const struct wi_join *j, const char *name);

/** Check one entry of a list. */
weir_err wi_join_check_entry(const struct wi_engine *e,
                             const struct wi_msg_member *m,
                             struct weir_error *err);

#endif /* WI_JOIN_LIST_H */
