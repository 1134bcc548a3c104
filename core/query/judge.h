/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The judge of a query, which decides between causes that several members find
 * at about the same time: its first member that is not lost. It takes the first
 * that it hears of, and tells all.
 *
 *   wi_query_report --> judge is asked --> its FAIL          all fail for it
 *                            |   `-------- it is lost        the next is asked
 *                            `------------ its time is up    all are told here
 *
 * A query goes on here until then. One that is closed meanwhile leaves the
 * question to its tomb: who is done with a query is not to decide alone.
 * Engine only, under the node's lock.
 */
#ifndef WI_JUDGE_H
#define WI_JUDGE_H

#include "core/link/engine.h"
#include "core/query/query.h"
#include "core/query/tomb.h"

/** Fail it for a cause that several members may find at once: the judge
 *  decides. */
void wi_query_report(struct weir_query *q, weir_err code, const char *text);

/** Does a query wait for the judge's answer? */
static inline bool wi_query_asks(const struct weir_query *q)
{
    return !q->failing && q->report.code != WEIR_OK;
}

/** A peer's link is open: ask it what it is to decide. */
void wi_judge_repeat(struct wi_link *l);

/** A link is gone: ask again if its peer owes an answer. */
void wi_judge_unlinked(struct wi_engine *e, uint32_t member);

/** A member is lost, for this cause, to every query that it belongs to. */
void wi_judge_lost(struct wi_engine *e, uint32_t member, weir_err code,
                   const char *text);

/** Answers to closed queries whose time is up; returns when the next one's
 *  is. */
uint64_t wi_judge_deadlines(struct wi_engine *e, uint64_t now_ns);

/** There is to be one more tomb, in the place of the oldest. */
void wi_judge_make_room(struct wi_engine *e);

/** This node waits for no more answers: all are told what was found here. */
void wi_judge_close(struct wi_engine *e);

#endif /* WI_JUDGE_H */
