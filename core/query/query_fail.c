/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/query_fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/link/edge.h"
#include "core/link/life.h"
#include "core/link/link.h"
#include "core/link/members.h"
#include "core/link/send.h"
#include "core/link/stream.h"
#include "core/link/worker.h"
#include "core/query/missing.h"

/* ---- failing ------------------------------------------------------------- */

static void fill_fail(union wi_msg *m, uint64_t id, weir_err code,
                      const char *text)
{
    wi_msg_init(m, WI_MSG_FAIL);
    m->fail.code = (int32_t)code;
    m->fail.query = id;
    wi_text_put(m->fail.text, WI_TEXT_BYTES, text);
}

void wi_query_answer(struct wi_link *l, uint64_t id,
                     const struct weir_error *why)
{
    union wi_msg m;
    fill_fail(&m, id, why->code, why->message);
    wi_link_send(l, &m);
}

/* The judge, which decides between faults that several members find at once, is
 * the first member that is not lost. */
static uint32_t judge(const struct weir_query *q)
{
    uint32_t i = 0;
    while (q->lost[i]) { /* this node never is */
        i++;
    }
    return q->members[i];
}

void wi_query_tell_failed(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    union wi_msg m;
    wi_list_each(n, &e->queries)
    {
        const struct weir_query *q = wi_query_of(n);
        if (q->failing && wi_query_has(q, l->member)) {
            fill_fail(&m, q->id, q->error.code, q->error.message);
            wi_link_send(l, &m);
        } else if (q->report.code != WEIR_OK && judge(q) == l->member) {
            fill_fail(&m, q->id, q->report.code, q->report.message);
            wi_link_send(l, &m);
        }
    }
    for (uint32_t i = 0; i < wi_tombs(e); i++) {
        const struct wi_tomb *t = wi_tomb_at(e, i);
        if (t->code != WEIR_OK && wi_tomb_has(t, l->member)) {
            fill_fail(&m, t->id, t->code, t->text);
            wi_link_send(l, &m);
        }
    }
}

struct wi_link *wi_query_link(struct wi_engine *e, uint32_t member)
{
    struct wi_link *l = e->members[member].link;
    bool open = member != e->self && l != NULL &&
                (l->state == WI_LINK_OPEN || l->state == WI_LINK_CLOSING);
    return open ? l : NULL;
}

static void tell(struct wi_engine *e, uint32_t member, const union wi_msg *m)
{
    struct wi_link *l = wi_query_link(e, member);
    if (l != NULL) {
        l->untold = l->untold || l->state == WI_LINK_CLOSING;
        wi_link_send(l, m);
    }
}

/* Links to a query's first member open with the query. One may have gone to
 * rest since, because the first member had not opened the query yet or has
 * closed it: the first member opens it again to tell the other. */
static void reach_rested(struct wi_engine *e, const uint32_t *members,
                         uint32_t n)
{
    for (uint32_t i = 0; i < n && members[0] == e->self; i++) {
        if (e->members[members[i]].rested) {
            (void)wi_link_need(e, members[i]);
        }
    }
}

/* A member that has closed the query passes on what it hears, too. */
void wi_tomb_fail(struct wi_engine *e, struct wi_tomb *t, weir_err code,
                  const char *text)
{
    union wi_msg m;
    t->code = code;
    wi_text_put(t->text, WI_TEXT_BYTES, text);
    fill_fail(&m, t->id, code, t->text);
    for (uint32_t i = 0; i < e->n_members; i++) {
        if (wi_tomb_has(t, i)) {
            tell(e, i, &m);
        }
    }
    reach_rested(e, t->members, t->n_members);
}

static void tell_members(struct weir_query *q, weir_err code, const char *text)
{
    struct wi_engine *e = q->engine;
    union wi_msg m;
    fill_fail(&m, q->id, code, text);
    for (uint32_t i = 0; i < q->n_members; i++) {
        tell(e, q->members[i], &m);
    }
    reach_rested(e, q->members, q->n_members);
}

/* Everyone passes on the first cause that it hears, so it reaches members that
 * share no shuffle with the finder; and if the finder dies while it tells them,
 * either all of them hear of it or none. */
void wi_query_fail(struct weir_query *q, weir_err code, const char *text)
{
    if (q->failing || q->closed) {
        return;
    }
    q->failing = true;
    q->error.code = code;
    (void)snprintf(q->error.message, sizeof(q->error.message), "%s", text);
    wi_log(&q->engine->log, WI_LOG_WARN, "query %" PRIu64 ": %s: %s", q->id,
           weir_err_name(code), text);
    q->engine->stats.queries_failed++;
    /* E8 release: the message before the code; pairs with E8 acquire wherever
     * the code is read */
    wi_store_rel(&q->code, (int32_t)code);
    wi_workers_rouse(q->engine);
    tell_members(q, code, text);
}

/* Fail it for a cause that only this node knows. Members that share no shuffle
 * with us hear of it through the first member; our link to that one may have
 * gone idle before it opened the query. */
void wi_query_call_off(struct weir_query *q, weir_err code, const char *text)
{
    bool first = !q->failing; /* else whoever failed it has told that member */
    wi_query_fail(q, code, text);
    if (first && !q->lost[0] && q->members[0] != q->engine->self) {
        (void)wi_link_need(q->engine, q->members[0]);
    }
}

void wi_query_abort(struct weir_query *q, const char *what, const char *why)
{
    char text[WI_TEXT_BYTES];
    if (q->report.code != WEIR_OK) { /* its answer has not come yet */
        wi_query_call_off(q, q->report.code, q->report.message);
        return;
    }
    (void)snprintf(text, sizeof(text),
                   "%s (member %u) closed %s before its "
                   "end: %s",
                   q->engine->name, q->engine->self, what, why);
    wi_query_call_off(q, WEIR_ERR_ABORTED, text);
}

/* Ask the judge; its FAIL comes back to us, too. If it lives but does not
 * answer, we wait no longer than we would for its loss to be found. */
static void ask(struct weir_query *q)
{
    uint32_t to = judge(q);
    const struct weir_node_params *cfg = &q->engine->cfg;
    q->answer_ns = wi_time_add(
        wi_time_add(q->engine->now_ns, 2 * cfg->detect_ns), cfg->connect_ns);
    wi_engine_due(q->engine, q->answer_ns);
    if (to == q->engine->self) {
        wi_query_fail(q, q->report.code, q->report.message);
        return;
    }
    if (wi_link_need(q->engine, to) == NULL) { /* no memory to ask with */
        wi_query_fail(q, q->report.code, q->report.message);
        return;
    }
    union wi_msg m;
    fill_fail(&m, q->id, q->report.code, q->report.message);
    tell(q->engine, to, &m); /* or wi_query_tell_failed(), later */
}

void wi_query_report(struct weir_query *q, weir_err code, const char *text)
{
    if (q->failing || q->closed || q->report.code != WEIR_OK) {
        return;
    }
    q->report.code = code;
    (void)snprintf(q->report.message, sizeof(q->report.message), "%s", text);
    ask(q);
}

static void lose(struct weir_query *q, uint32_t member, weir_err code,
                 const char *text)
{
    bool asked = q->report.code != WEIR_OK && judge(q) == member;
    for (uint32_t i = 0; i < q->n_members; i++) {
        q->lost[i] = q->lost[i] ||
                     (q->members[i] == member && member != q->engine->self);
    }
    if (asked && !q->failing) {
        ask(q); /* the next one */
    } else {
        wi_query_report(q, code, text);
    }
}

void wi_query_unlinked(const struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    wi_notes_unanswered(e, l->member);
    if (l->untold && !l->lost && !e->closing) {
        (void)wi_link_need(e, l->member);
    }
    wi_list_each(n, &e->queries)
    {
        const struct weir_query *q = wi_query_of(n);
        if (!q->failing && q->report.code != WEIR_OK && judge(q) == l->member) {
            (void)wi_link_need(e, l->member);
        }
    }
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
    bool was_open = l->counted && scoped == WEIR_ERR_PEER_LOST;
    int at =
        snprintf(text, sizeof(text), "peer %s (member %u, %.80s): ", m->name,
                 l->member, m->address);
    (void)snprintf(text + at, sizeof(text) - (size_t)at, "%s%s%s%s",
                   was_open ? "lost to " : "", was_open ? e->name : "",
                   was_open ? ": " : "", why);
    if (was_open) {
        add_remedy(text);
    }
    wi_list_each(n, &e->queries)
    {
        if (wi_query_has(wi_query_of(n), l->member)) {
            lose(wi_query_of(n), l->member, scoped, text);
        }
    }
    leave_unserved(l);
}

static void stop_on_link(struct wi_link *l, uint64_t id)
{
    wi_list_each(n, &l->ins)
    {
        struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
        if (in->query_id == id) {
            wi_in_refuse(in);
        }
    }
}

/* The query is not open here, any more or yet: stop producers that have an edge
 * to it. An edge may have found its shuffle without ever having a reader. */
void wi_query_stop_strays(struct wi_engine *e, uint64_t id)
{
    for (uint32_t i = 0; i < e->n_members; i++) {
        if (e->members[i].link != NULL) {
            stop_on_link(e->members[i].link, id);
        }
    }
    wi_list_each(n, &e->dead) /* they go when nothing is left of their edges */
    {
        stop_on_link(wi_container_of(n, struct wi_link, on_engine), id);
    }
}

static void decline(struct wi_engine *e, uint64_t id)
{
    char text[WI_TEXT_BYTES];
    (void)snprintf(text, sizeof(text),
                   "%s (member %u) closed before it opened the query", e->name,
                   e->self);
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

/* FAIL for a query that is not open here yet, and perhaps never will be: the
 * sender's rings wait no longer. The first cause stands. We may be the judge,
 * and the sender waits for our answer: one is enough over one link, however
 * often it asks. */
static void note_early(struct wi_link *l, weir_err code,
                       const struct wi_msg_fail *m)
{
    struct wi_engine *e = l->engine;
    stop_on_link(l, m->query);
    struct wi_note *n = wi_note_find(e, l->member, m->query);
    if (n == NULL) {
        n = wi_note_add(e, l->member, m->query, code, m->text);
    }
    if (n == NULL || n->answered) {
        return;
    }
    const struct wi_note *first = wi_note_first(e, m->query);
    struct weir_error why = {.code = first->code};
    wi_text_put(why.message, WI_TEXT_BYTES, first->text);
    wi_query_answer(l, m->query, &why);
    n->answered = true;
}

/* A code that queries can fail with, whatever came. */
static weir_err sane_code(int32_t came)
{
    weir_err code = (weir_err)came;
    weir_scope scope = weir_err_scope(code);
    bool known = strcmp(weir_err_name(code), "WEIR_ERR_UNKNOWN") != 0;
    bool ours = scope == WEIR_SCOPE_QUERY || scope == WEIR_SCOPE_PEER;
    return known && ours ? code : WEIR_ERR_ABORTED;
}

void wi_query_on_fail(struct wi_link *l, const struct wi_msg_fail *m)
{
    struct wi_engine *e = l->engine;
    weir_err code = sane_code(m->code);
    struct weir_query *q = wi_query_find(e, m->query);
    struct wi_tomb *t = wi_tomb_find(e, m->query);
    if (q != NULL && wi_query_has(q, l->member)) {
        wi_query_fail(q, code, m->text);
    } else if (q == NULL && t == NULL) {
        note_early(l, code, m);
    } else if (q == NULL && t->code == WEIR_OK && wi_tomb_has(t, l->member)) {
        wi_tomb_fail(e, t, code, m->text);
    }
}

/* Every member finds this at about the same time, and each knows something else
 * of what is missing. So the judge decides, if it does so soon; a member that
 * knows of nothing lets the others speak first. */
static void overdue(struct weir_query *q, uint64_t now_ns)
{
    static const char passed[] = "deadline passed: ";
    uint64_t until = wi_time_add(q->deadline_ns, q->engine->cfg.detect_ns / 4);
    char text[WI_TEXT_BYTES];
    memcpy(text, passed, sizeof(passed));
    char *missing = text + sizeof(passed) - 1;
    wi_missing_text(q, missing, sizeof(text) - sizeof(passed) + 1);
    if (now_ns < until && missing[0] != '\0') {
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
    uint64_t grace_ns = q->engine->cfg.detect_ns / 4;
    uint64_t next = q->deadline_ns > now_ns
                        ? q->deadline_ns
                        : wi_time_add(q->deadline_ns, grace_ns);
    if (q->report.code != WEIR_OK) {
        next = wi_min_u64(next, q->answer_ns);
    }
    bool differs = q->differs.code != WEIR_OK;
    return differs ? wi_min_u64(next, q->differs_ns) : next;
}

uint64_t wi_query_deadlines(struct wi_engine *e, uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;
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
