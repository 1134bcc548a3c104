/* SPDX-License-Identifier: Apache-2.0 */
/* Queries: opened, cancelled, failed by the program, closed. */
#include <weir/query.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/engine.h"
#include "core/link/life.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/link/messages.h"
#include "core/query/agree.h"
#include "core/query/judge.h"
#include "core/query/missing.h"
#include "core/query/query.h"
#include "core/query/query_fail.h"
#include "core/query/reader_open.h"
#include "core/query/shuffle.h"
#include "core/query/tomb.h"
#include "core/query/writer_open.h"

static weir_err no_member(const struct wi_engine *e, uint32_t member,
                          uint64_t query, struct weir_error *err)
{
    return member < e->n_members
               ? wi_fail(err, WEIR_ERR_NOT_FOUND,
                         "member %u of query %" PRIu64 ": %s", member, query,
                         e->members[member].removed
                             ? "it was removed"
                             : "nobody here has that number")
               : wi_fail(err, WEIR_ERR_NOT_FOUND,
                         "member %u of query %" PRIu64 ": there are only %u",
                         member, query, e->n_members);
}

static weir_err check_members(const struct wi_engine *e,
                              const struct weir_query_params *p,
                              struct weir_error *err)
{
    bool self = p->n_members == 0;
    for (uint32_t i = 0; i < p->n_members; i++) {
        self = self || p->members[i] == e->self;
        if (!wi_member_here(e, p->members[i])) {
            return no_member(e, p->members[i], p->id, err);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (p->members[k] == p->members[i]) {
                return wi_fail(err, WEIR_ERR_ARG,
                               "query %" PRIu64 " lists member %u twice", p->id,
                               p->members[i]);
            }
        }
    }
    if (!self) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "query %" PRIu64 " does not include this member (%u)",
                       p->id, e->self);
    }
    return WEIR_OK;
}

static weir_err check_params(struct wi_engine *e,
                             const struct weir_query_params *p,
                             struct weir_error *err)
{
    if (e->n_members == 0) {
        return wi_fail(err, WEIR_ERR_STATE, "%s has not joined a cluster yet",
                       e->name);
    }
    if (p->id == 0) {
        return wi_fail(err, WEIR_ERR_ARG, "query id must not be 0");
    }
    if (wi_query_find(e, p->id) != NULL || wi_tomb_find(e, p->id) != NULL) {
        return wi_fail(err, WEIR_ERR_DUPLICATE,
                       "query id %" PRIu64 " is or was in use on %s: take a "
                       "new id for every query",
                       p->id, e->name);
    }
    for (size_t i = 0; i < WI_ARRAY_LEN(p->reserved); i++) {
        if (p->reserved[i] != 0) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "query %" PRIu64 ": reserved[%zu] is not zero",
                           p->id, i);
        }
    }
    weir_err rc = wi_check_list(err, p->members, p->n_members, "members");
    return rc == WEIR_OK ? check_members(e, p, err) : rc;
}

static weir_err set_members(struct weir_query *q,
                            const struct weir_query_params *p)
{
    uint32_t n = p->n_members != 0 ? p->n_members : q->engine->n_members;
    q->members = calloc(n, sizeof(*q->members));
    q->lost = calloc(n, sizeof(*q->lost));
    if (q->members == NULL || q->lost == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (p->n_members != 0) {
            q->members[q->n_members++] = p->members[i];
        } else if (wi_member_here(q->engine, i)) {
            q->members[q->n_members++] = i;
        }
    }
    return WEIR_OK;
}

/* Begin to watch whether queries stand still. */
static void watch_from_now(struct wi_engine *e)
{
    if (e->watch_ns == UINT64_MAX) {
        e->watch_ns = wi_time_add(e->now_ns, wi_watch_period(e->cfg.stall_ns));
    }
    wi_engine_due(e, e->watch_ns);
}

static weir_err open_locked(struct weir_node *node,
                            const struct weir_query_params *p,
                            struct weir_query **out, struct weir_error *err)
{
    struct wi_engine *e = &node->engine;
    weir_err rc = check_params(e, p, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_query *q = calloc(1, sizeof(*q));
    if (q == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a query");
    }
    q->engine = e;
    q->node = node;
    q->forks = e->forks;
    q->id = p->id;
    q->opened_ns = e->now_ns;
    q->holds = 1;
    wi_list_init(&q->shuffles);
    q->deadline_ns = p->deadline_ns == 0
                         ? UINT64_MAX
                         : wi_time_add(e->now_ns, p->deadline_ns);
    if (set_members(q, p) != WEIR_OK) {
        wi_query_free(q);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a query");
    }
    wi_list_push_back(&e->queries, &q->on_engine);
    wi_list_push_back(&e->queries_of[wi_query_list(q->id)], &q->on_list);
    e->stats.queries_open++;
    watch_from_now(e);
    wi_engine_due(e, q->deadline_ns);
    wi_engine_due(e, wi_time_add(e->now_ns, e->cfg.detect_ns / 4));
    const struct wi_note *n = wi_note_of(q);
    if (n != NULL) { /* it failed before we opened it */
        wi_query_fail(q, n->code, n->text);
    } else if (q->members[0] != e->self) {
        (void)wi_link_need(e, q->members[0]);
    }
    *out = q;
    return WEIR_OK;
}

weir_err weir_query_open(weir_node *node,
                         const struct weir_query_params *params,
                         weir_query **query_out, struct weir_error *err)
{
    weir_err rc =
        wi_check_args(err, WI_ARG(node), WI_ARG(params), WI_ARG(query_out));
    rc = rc == WEIR_OK ? wi_engine_check_own(&node->engine, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_node_lock(node);
    /* A link whose end is known to the system, and not yet to the engine, would
     * fail the query: a member that died may be back already. */
    uint32_t n = wi_link_events(&node->engine, 1);
    uint64_t tick_ns = node->engine.tick_ns;
    rc = open_locked(node, params, query_out, err);
    if (node->engine.tick_ns < tick_ns || n != 0) { /* what the events left */
        wi_engine_kick(&node->engine);
    }
    wi_node_unlock(node);
    return rc;
}

void weir_query_cancel(weir_query *query, const char *reason)
{
    char text[WI_TEXT_BYTES];
    if (query == NULL || wi_engine_inherited(query->engine)) {
        return;
    }
    (void)snprintf(text, sizeof(text), "cancelled by %s%s%s",
                   query->engine->name, reason != NULL ? ": " : "",
                   reason != NULL ? reason : "");
    wi_node_lock(query->node);
    wi_query_call_off(query, WEIR_ERR_CANCELLED, text);
    wi_node_unlock(query->node);
}

weir_err weir_query_fail(weir_query *query, const struct weir_error *cause)
{
    if (query == NULL || cause == NULL ||
        weir_err_scope(cause->code) != WEIR_SCOPE_QUERY) {
        return WEIR_ERR_ARG;
    }
    if (wi_engine_inherited(query->engine)) {
        return WEIR_ERR_STATE;
    }
    char text[WI_TEXT_BYTES];
    struct weir_node *node = query->node;
    const char *name = query->engine->name;
    int room =
        (int)(sizeof(text) - strlen(name) - sizeof(": ")); /* it is cut */
    (void)snprintf(text, sizeof(text), "%s: %.*s", name, room, cause->message);
    wi_node_lock(node);
    wi_query_report(query, cause->code, text);
    wi_node_unlock(node);
    return WEIR_OK;
}

/* ---- closing ------------------------------------------------------------- */

/* Is something left to be done here? Says what, or why it cannot be done. */
static bool unfinished(const struct weir_query *q, char *text, size_t bytes)
{
    (void)wi_missing_text(q, text, bytes);
    bool missing = text[0] != '\0';
    if (q->refused.text[0] == '\0' ||
        (!missing && q->refused.part != WI_PART_SHUFFLE)) {
        return missing;
    }
    wi_text_put(text, (uint32_t)bytes, q->refused.text);
    return true;
}

static void close_ends(struct weir_query *q)
{
    wi_list_each(n, &q->shuffles)
    {
        struct weir_shuffle *s =
            wi_container_of(n, struct weir_shuffle, on_query);
        for (uint32_t i = 0; i < q->engine->cfg.workers; i++) {
            if (s->writers[i] != NULL) {
                wi_writer_free(s->writers[i]);
            }
            if (s->readers[i] != NULL) {
                wi_reader_free(s->readers[i]);
            }
        }
        wi_shuffle_let_go(s);
        if (s->counted) {
            s->counted = false;
            q->engine->open_shuffles--;
        }
    }
}

static void rest_links(const struct weir_query *q)
{
    for (uint32_t i = 0; i < q->n_members; i++) {
        struct wi_link *l = q->engine->members[q->members[i]].link;
        if (l != NULL) {
            wi_link_rest(l);
        }
    }
}

void weir_query_close(weir_query *query)
{
    if (query == NULL || wi_engine_inherited(query->engine)) {
        return;
    }
    struct weir_node *node = query->node;
    struct wi_engine *e = query->engine;
    wi_node_lock(node);
    char why[WI_TEXT_BYTES];
    if (unfinished(query, why, sizeof(why))) {
        wi_query_abort(query, "the query", why);
    }
    close_ends(query);
    wi_query_stop_strays(e, query->id);
    if (!query->failing && !wi_query_asks(query)) {
        wi_query_tell_closed(query);
    }
    query->closed = true;
    wi_list_remove(&query->on_engine);
    wi_list_remove(&query->on_list);
    rest_links(query);
    e->stats.queries_open--;
    wi_judge_make_room(e);
    wi_tomb_close(query);
    wi_query_drop(query);
    wi_engine_kick(e);
    wi_node_unlock(node);
}
