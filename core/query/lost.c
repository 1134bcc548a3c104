/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/lost.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/link/edge.h"
#include "core/link/life.h"
#include "core/link/link.h"
#include "core/link/members.h"
#include "core/query/judge.h"
#include "core/query/missing.h"
#include "core/query/query_fail.h"

/* ---- links --------------------------------------------------------------- */

void wi_query_unlinked(const struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    wi_notes_unanswered(e, l->member);
    if (l->untold && !l->lost && !e->closing) {
        (void)wi_link_need(e, l->member);
    }
    wi_judge_unlinked(e, l->member);
}

/* Add it if there is room. */
static void add_remedy(char text[WI_TEXT_BYTES])
{
    static const char remedy[] =
        "; its process ended or hangs, or the network broke: see its log";
    size_t used = strlen(text);
    if (used + sizeof(remedy) <= WI_TEXT_BYTES) {
        memcpy(text + used, remedy, sizeof(remedy));
    }
}

/* Queries that were closed here while rows for the peer were still under way:
 * these may be lost. If it has them, or the query is open there, so that it has
 * lost us, too, all is well; if it opens the query later it will ask. */
static void leave_unserved(const struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    wi_list_each(n, &l->outs)
    {
        const struct wi_out *o =
            wi_container_of(n, struct wi_out, item.on_link);
        /* rlx: only the engine sets it, under the node's lock */
        if (o->closed || wi_load_rlx(&o->abandoned) != 0) {
            continue;
        }
        struct wi_tomb *t = wi_tomb_find(e, o->query_id);
        if (t != NULL) {
            wi_tomb_unserve(t, l->member);
        }
    }
}

/* Each node sees the loss of a peer in its own way, so the text says who saw
 * it; through the judge, all members get the same text. */
void wi_query_peer_lost(const struct wi_link *l, weir_err code, const char *why)
{
    struct wi_engine *e = l->engine;
    const struct wi_member *m = &e->members[l->member];
    char text[WI_TEXT_BYTES];
    weir_err scoped =
        weir_err_scope(code) == WEIR_SCOPE_PEER ? code : WEIR_ERR_PEER_LOST;
    bool was_open = l->counted;
    int at =
        snprintf(text, sizeof(text), "peer %s (member %u, %.80s): ", m->name,
                 l->member, m->address);
    (void)snprintf(text + at, sizeof(text) - (size_t)at, "%s%s%s%s",
                   was_open ? "lost to " : "", was_open ? e->name : "",
                   was_open ? ": " : "", why);
    if (was_open && scoped == WEIR_ERR_PEER_LOST) {
        add_remedy(text);
    }
    wi_judge_lost(e, l->member, scoped, text);
    leave_unserved(l);
}

/* ---- this node closes ---------------------------------------------------- */

static void decline(struct wi_engine *e, uint64_t id)
{
    char text[WI_TEXT_BYTES];
    (void)snprintf(text, sizeof(text),
                   "%s (member %u) closed before it opened the query", e->name,
                   e->self);
    wi_judge_make_room(e);
    wi_tomb_fail(e, wi_tomb_add(e, id), WEIR_ERR_ABORTED, text);
    wi_query_stop_strays(e, id);
}

/* An edge of a query that was never open here; NULL: there is none. */
static const struct wi_in *find_unknown(const struct wi_link *l)
{
    wi_list_each(n, &l->ins)
    {
        const struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
        /* rlx: only the engine sets it, under the node's lock */
        if (wi_load_rlx(&in->query) == NULL &&
            wi_tomb_find(l->engine, in->query_id) == NULL) {
            return in;
        }
    }
    return NULL;
}

void wi_query_decline(struct wi_link *l)
{
    const struct wi_in *in;
    /* Its edges may be gone after. There is a tomb for this many queries. */
    for (uint32_t i = 0; i < WI_TOMBS && (in = find_unknown(l)) != NULL; i++) {
        decline(l->engine, in->query_id);
    }
}

/* ---- deadlines ----------------------------------------------------------- */

/* How long a member that knows of nothing lets the others speak first. */
static uint64_t grace_of(const struct weir_query *q)
{
    return q->engine->cfg.detect_ns / 4;
}

/* And one that waits for rows: not long beside what the query was given. */
static uint64_t pause_of(const struct weir_query *q)
{
    return wi_min_u64(grace_of(q) / 2, (q->deadline_ns - q->opened_ns) / 8);
}

/* Every member finds this at about the same time, and each knows something else
 * of what is missing. So the judge decides, if it does so soon; those speak
 * first who know most. */
static void overdue(struct weir_query *q, uint64_t now_ns)
{
    static const char passed[] = "deadline passed: ";
    uint64_t until = wi_time_add(q->deadline_ns, grace_of(q));
    uint64_t soon = wi_time_add(q->deadline_ns, pause_of(q));
    char text[WI_TEXT_BYTES];
    memcpy(text, passed, sizeof(passed));
    char *missing = text + sizeof(passed) - 1;
    bool sure = wi_missing_text(q, missing, sizeof(text) - sizeof(passed) + 1);
    if (now_ns < until && missing[0] != '\0' && (sure || now_ns >= soon)) {
        wi_query_report(q, WEIR_ERR_DEADLINE, text);
    } else if (now_ns >= until && q->report.code != WEIR_OK) {
        wi_query_call_off(q, q->report.code, q->report.message);
    } else if (now_ns >= until) {
        (void)snprintf(text, sizeof(text),
                       "deadline passed: %s has done its part, and not closed "
                       "the query",
                       q->engine->name);
        wi_query_call_off(q, WEIR_ERR_DEADLINE, text);
    }
}

static uint64_t next_deadline(const struct weir_query *q)
{
    if (q->failing) {
        return UINT64_MAX;
    }
    uint64_t now_ns = q->engine->now_ns;
    uint64_t next = q->deadline_ns;
    if (next <= now_ns) {
        next = wi_time_add(q->deadline_ns, pause_of(q));
    }
    if (next <= now_ns) {
        next = wi_time_add(q->deadline_ns, grace_of(q));
    }
    if (q->report.code != WEIR_OK) {
        next = wi_min_u64(next, q->answer_ns);
    }
    bool differs = q->differs.code != WEIR_OK;
    return differs ? wi_min_u64(next, q->differs_ns) : next;
}

uint64_t wi_query_deadlines(struct wi_engine *e, uint64_t now_ns)
{
    uint64_t next = wi_judge_deadlines(e, now_ns);
    wi_list_each(n, &e->queries)
    {
        struct weir_query *q = wi_query_of(n);
        if (q->failing) {
            continue;
        }
        if (now_ns >= q->deadline_ns) {
            overdue(q, now_ns);
        }
        if (q->differs.code != WEIR_OK && now_ns >= q->differs_ns) {
            wi_query_call_off(q, q->differs.code, q->differs.message);
        }
        if (q->report.code != WEIR_OK && now_ns >= q->answer_ns) {
            wi_query_call_off(q, q->report.code, q->report.message);
        }
        next = wi_min_u64(next, next_deadline(q));
    }
    return next;
}
