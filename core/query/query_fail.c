/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/query_fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/link/edge.h"
#include "core/link/life.h"
#include "core/link/link.h"
#include "core/link/members.h"
#include "core/link/send.h"
#include "core/link/stream.h"
#include "core/link/worker.h"
#include "core/query/judge.h"

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

static void log_failure(struct wi_engine *e, uint64_t id, weir_err code,
                        const char *text)
{
    wi_log(&e->log, WI_LOG_WARN, "query %" PRIu64 ": %s: %s", id,
           weir_err_name(code), text);
    e->stats.queries_failed++;
}

/* A member that has closed the query passes on what it hears, too. */
void wi_tomb_fail(struct wi_engine *e, struct wi_tomb *t, weir_err code,
                  const char *text)
{
    union wi_msg m;
    fill_fail(&m, t->id, code, text);
    t->code = code;
    wi_text_put(t->text, WI_TEXT_BYTES, m.fail.text);
    if (t->report != WEIR_OK) { /* nobody has been told of a failure yet */
        t->report = WEIR_OK;
        e->tombs->n_asking--;
        log_failure(e, t->id, code, t->text);
    }
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
    log_failure(q->engine, q->id, code, text);
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
    if (wi_query_asks(q)) { /* it fails, and the judge says for what */
        return;
    }
    (void)snprintf(text, sizeof(text),
                   "%s (member %u) closed %s before its "
                   "end: %s",
                   q->engine->name, q->engine->self, what, why);
    wi_query_call_off(q, WEIR_ERR_ABORTED, text);
}

static void stop_on_link(struct wi_link *l, uint64_t id)
{
    wi_list_each(n, &l->engine->ins_of[wi_query_list(id)])
    {
        struct wi_in *in = wi_container_of(n, struct wi_in, on_query);
        if (in->query_id == id && in->link == l) {
            wi_in_refuse(in);
        }
    }
}

/* The query is not open here, any more or yet: stop producers that have an edge
 * to it. An edge may have found its shuffle without ever having a reader. */
void wi_query_stop_strays(struct wi_engine *e, uint64_t id)
{
    wi_list_each(n, &e->ins_of[wi_query_list(id)])
    {
        struct wi_in *in = wi_container_of(n, struct wi_in, on_query);
        if (in->query_id == id) {
            wi_in_refuse(in);
        }
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

/* FAIL of a peer that does not say why. */
static void take_wordless(struct wi_link *l, const struct wi_msg_fail *m)
{
    struct wi_msg_fail named = *m;
    (void)snprintf(named.text, sizeof(named.text),
                   "%s (member %u) tells of a failure, and not why",
                   wi_member_name(l->engine, l->member), l->member);
    wi_query_on_fail(l, &named);
}

void wi_query_on_fail(struct wi_link *l, const struct wi_msg_fail *m)
{
    if (m->text[0] == '\0') {
        take_wordless(l, m);
        return;
    }
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
