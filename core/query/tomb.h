/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What is remembered of queries that are not open here. Under the node's lock.
 *
 *   tomb  the query was open here and is over (the last WI_TOMBS are kept); or
 *         it never was, and this node closes
 *   note  a member said that the query failed before it was opened here. The
 *         last WI_NOTES of each member are kept, so nobody pushes out those of
 *         others. Counts at the open if the member belongs to the query.
 */
#ifndef WI_TOMB_H
#define WI_TOMB_H

#include <stdbool.h>
#include <stdint.h>

#include "core/format/wire.h"

struct wi_engine;
struct wi_link;
struct weir_query;

struct wi_tomb {
    uint64_t id;
    uint32_t *members; /* NULL: it was never open here */
    bool *lost;        /* one for each member, as it was closed or, while the
                          judge is asked, since */
    uint32_t n_members;
    uint32_t *shuffles; /* that ended here */
    uint32_t n_shuffles;
    uint32_t *unserved; /* members to whom rows were under way when the link to
                           them was lost, after the query was closed */
    uint32_t n_unserved;
    weir_err code;      /* what failed it, or WEIR_OK */
    weir_err report;    /* it was closed while the judge is asked (judge.h), */
    uint64_t answer_ns; /* which decides until then; code is WEIR_OK */
    char text[WI_TEXT_BYTES]; /* of code, or of report */
};
#define WI_TOMBS 512u

struct wi_note {
    uint64_t id;  /* 0: none */
    uint64_t age; /* the lower, the earlier */
    weir_err code;
    bool answered; /* over the link that is open */
    char text[WI_TEXT_BYTES];
};
#define WI_NOTES 64u

/** The notes of one member. */
struct wi_notes {
    struct wi_note *ring; /* WI_NOTES of them, NULL until the first one */
    uint32_t n;           /* ever made */
};

/** Of one engine. */
struct wi_tombs {
    uint32_t n;             /* tombs ever made */
    uint32_t n_asking;      /* of those that are kept: with a report */
    uint64_t n_notes;       /* notes, the same */
    struct wi_notes *notes; /* one for each member, max_members */
    struct wi_tomb ring[WI_TOMBS];
};

/** No memory: WEIR_ERR_NO_MEMORY. wi_tombs_fini() in any case. */
weir_err wi_tombs_init(struct wi_engine *e);

/** How many tombs there are, and each of them. */
uint32_t wi_tombs(const struct wi_engine *e);
struct wi_tomb *wi_tomb_at(const struct wi_engine *e, uint32_t i);

/** The one that the next takes the place of; NULL: there is room. */
struct wi_tomb *wi_tomb_oldest(const struct wi_engine *e);

struct wi_tomb *wi_tomb_find(const struct wi_engine *e, uint64_t id);

/** A query that this node has never opened and never will. First
 *  wi_judge_make_room(). */
struct wi_tomb *wi_tomb_add(struct wi_engine *e, uint64_t id);

/** A query that is closed: takes its lists of members and shuffles, and what
 *  the judge was asked. First wi_judge_make_room(). */
void wi_tomb_close(struct weir_query *q);

/** Has it not failed, as far as is known here? */
static inline bool wi_tomb_went_well(const struct wi_tomb *t)
{
    return t->code == WEIR_OK && t->report == WEIR_OK;
}

bool wi_tomb_has(const struct wi_tomb *t, uint32_t member);

/** Did the shuffle come to its end here? */
bool wi_tomb_ended(const struct wi_tomb *t, uint32_t shuffle);

/** A member may not have got what this node sent to it before it closed the
 *  query. */
void wi_tomb_unserve(struct wi_tomb *t, uint32_t member);
bool wi_tomb_unserved(const struct wi_tomb *t, uint32_t member);

/** Free what tombs and notes hold. */
void wi_tombs_fini(struct wi_engine *e);

/** Note that a member said a query failed; NULL: no memory. */
struct wi_note *wi_note_add(struct wi_engine *e, uint32_t member, uint64_t id,
                            weir_err code, const char *text);

struct wi_note *wi_note_find(const struct wi_engine *e, uint32_t member,
                             uint64_t id);

/** The first note of any member about a query, or NULL. */
const struct wi_note *wi_note_first(const struct wi_engine *e, uint64_t id);

/** The same, of the query's members. */
const struct wi_note *wi_note_of(const struct weir_query *q);

/** Answers to this member may not have arrived: give them again. */
void wi_notes_unanswered(struct wi_engine *e, uint32_t member);

#endif /* WI_TOMB_H */
