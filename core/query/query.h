/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A query on this node.
 *
 *   query.c       opened, asked, closed
 *   query_fail.c  failed, on every member and for one cause
 *   tomb.h        what is remembered of those that are over
 *
 * Everything but `code` and `error` is under the node's lock.
 */
#ifndef WI_QUERY_H
#define WI_QUERY_H

#include <weir/query.h>

#include "core/link/engine.h"
#include "core/query/missing.h"

/** The first thing that could not be opened here, while nobody has opened it
 *  after all. */
struct wi_refused {
    enum wi_missing_kind kind; /* SHUFFLE, READER or WRITER */
    uint32_t shuffle;
    uint32_t worker;
    char text[WI_TEXT_BYTES]; /* why; empty: there is none */
};

struct weir_query {
    struct wi_list on_engine;
    struct wi_engine *engine;
    struct weir_node *node;
    uint64_t id;
    uint64_t deadline_ns; /* absolute, UINT64_MAX: none */
    uint32_t *members;
    bool *lost; /* one for each member */
    uint32_t n_members;
    struct wi_list shuffles;
    uint32_t *opened; /* their numbers; the tomb's after it */
    uint32_t n_opened;
    _Atomic int32_t code; /* weir_err; written once, after `error` (E8) */
    struct weir_error error;
    bool failing;              /* error is being or was written */
    struct weir_error report;  /* told to the judge, who decides, */
    uint64_t answer_ns;        /* until then */
    struct weir_error differs; /* fails it then, if nobody has before: */
    uint64_t differs_ns;
    struct wi_refused refused;
    uint32_t holds; /* itself and every wi_in with its schema */
    bool closed;
    uint64_t opened_ns;
    struct wi_watch moved; /* the sum of all positions and states */
    bool stalled;          /* that it stands still is in the log */
};

static inline struct weir_query *wi_query_of(struct wi_list *n)
{
    return wi_container_of(n, struct weir_query, on_engine);
}

bool wi_query_has(const struct weir_query *q, uint32_t member);

/** Release one hold of a query; frees it with the last. */
void wi_query_drop(struct weir_query *q);

/** An open of one of its parts failed: if that stays so, closing it fails it on
 *  all members, for this cause. */
void wi_query_refused(struct weir_query *q, enum wi_missing_kind kind,
                      uint32_t shuffle, uint32_t worker,
                      const struct weir_error *why);
void wi_query_opened(struct weir_query *q, enum wi_missing_kind kind,
                     uint32_t shuffle, uint32_t worker);

/* ---- query_fail.c ------------------------------------------------------------ */

/** Tell one peer, and nobody else, that a query fails for it. */
void wi_query_answer(struct wi_link *l, uint64_t id,
                     const struct weir_error *why);

/** The link over which another member can be told something; NULL: there is
 *  none now. What a link that closes does not bring to the peer any more, the
 *  next one does: wi_query_unlinked(), wi_query_linked(). */
struct wi_link *wi_query_link(struct wi_engine *e, uint32_t member);

/** Tell a peer of the queries that failed before its link was open. */
void wi_query_tell_failed(struct wi_link *l);

/** Fail a query that is closed here, for those that it is open for. */
void wi_tomb_fail(struct wi_engine *e, struct wi_tomb *t, weir_err code,
                  const char *text);

/** Fail it for a cause that only this member knows. */
void wi_query_call_off(struct weir_query *q, weir_err code, const char *text);

/** Fail it for a cause that several members may find at once: the judge
 *  decides, and the query goes on here until it has. */
void wi_query_report(struct weir_query *q, weir_err code, const char *text);

/** Producers that still have an edge to a query that is not open here (any
 *  more) are stopped. */
void wi_query_stop_strays(struct wi_engine *e, uint64_t id);

/* ---- agree.c ------------------------------------------------------------------- */

struct weir_shuffle;

/** A shuffle was opened here: tell the other members of its query. */
void wi_shuffle_announce(const struct weir_shuffle *s);

/** This member has done all of its part, and closes the query. */
void wi_query_tell_closed(const struct weir_query *q);

/** The peer opened a shuffle otherwise than this member: the query fails, and
 *  the peer, who knows both sides, says in what they differ. */
void wi_shuffle_differ(struct wi_link *l, const struct weir_shuffle *s);

/** A peer takes this node for a member of a query to which it does not belong
 *  itself, as opened here: it alone is told. */
void wi_query_turn_away(struct wi_link *l, uint64_t id);

/* ---- describe.c ---------------------------------------------------------------- */

/** What all members must agree on, one thing after the other. */
void wi_shuffle_describe(const struct weir_shuffle *s,
                         char text[WI_SIDE_BYTES]);

/** In which of these two descriptions differ. */
void wi_shuffle_difference(const char *name_a, const char *a,
                           const char *name_b, const char *b, char *text,
                           size_t bytes);

#endif /* WI_QUERY_H */
