/* SPDX-License-Identifier: Apache-2.0 */
/* Queries: opening, failing on every member, deadlines, closing. */
#include <weir/query.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/shuffle.h"

/* ---- finding ---------------------------------------------------------------------- */

static struct weir_query *query_of(struct wi_list *n)
{
    return wi_container_of(n, struct weir_query, on_engine);
}

struct weir_query *wi_query_find(struct wi_engine *e, uint64_t id)
{
    wi_list_each(n, &e->queries)
    {
        if (query_of(n)->id == id) {
            return query_of(n);
        }
    }
    return NULL;
}

struct wi_tomb *wi_tomb_find(struct wi_engine *e, uint64_t id)
{
    for (uint32_t i = 0; i < wi_min_u32(e->n_tombs, WI_TOMBS); i++) {
        if (e->tombs[i].id == id) {
            return &e->tombs[i];
        }
    }
    return NULL;
}

struct wi_tomb *wi_tomb_add(struct wi_engine *e, uint64_t id)
{
    struct wi_tomb *t = wi_tomb_find(e, id);
    if (t == NULL) {
        t = &e->tombs[e->n_tombs++ % WI_TOMBS];
        memset(t, 0, sizeof(*t));
        t->id = id;
    }
    return t;
}

static bool is_member(const struct weir_query *q, uint32_t member)
{
    for (uint32_t i = 0; i < q->n_members; i++) {
        if (q->members[i] == member) {
            return true;
        }
    }
    return false;
}

bool wi_query_includes(const struct wi_engine *e, uint32_t member)
{
    wi_list_each(n, &e->queries)
    {
        /* E8 acquire: as in weir_query_status() */
        if (wi_load_acq(&query_of(n)->code) == WEIR_OK &&
            is_member(query_of(n), member)) {
            return true;
        }
    }
    return false;
}

static bool expects(const struct weir_query *q, uint32_t member)
{
    wi_list_each(n, &q->shuffles)
    {
        const struct weir_shuffle *s =
            wi_container_of(n, struct weir_shuffle, on_query);
        for (uint32_t i = 0; i < q->engine->cfg.workers; i++) {
            const struct weir_reader *r = s->readers[i];
            if (r != NULL && wi_reader_expects(r, member)) {
                return true;
            }
        }
    }
    return false;
}

bool wi_query_expects(const struct wi_engine *e, uint32_t member)
{
    wi_list_each(n, &e->queries)
    {
        /* E8 acquire: as in weir_query_status() */
        if (wi_load_acq(&query_of(n)->code) == WEIR_OK &&
            expects(query_of(n), member)) {
            return true;
        }
    }
    return false;
}

/* ---- failing ----------------------------------------------------------------------- */

static void fill_fail(union wi_msg *m, uint64_t id, weir_err code,
                      const char *text)
{
    wi_msg_init(m, WI_MSG_FAIL);
    m->fail.code = (int32_t)code;
    m->fail.query = id;
    wi_text_put(m->fail.text, WI_TEXT_BYTES, text);
}

/* The first member that is not lost decides between faults that several members
 * find at once. */
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
        const struct weir_query *q = query_of(n);
        if (q->failing && is_member(q, l->member)) {
            fill_fail(&m, q->id, q->error.code, q->error.message);
            wi_link_send(l, &m);
        } else if (q->report.code != WEIR_OK && judge(q) == l->member) {
            fill_fail(&m, q->id, q->report.code, q->report.message);
            wi_link_send(l, &m);
        }
    }
    for (uint32_t i = 0; i < wi_min_u32(e->n_tombs, WI_TOMBS); i++) {
        const struct wi_tomb *t = &e->tombs[i];
        if (t->closed && t->code != WEIR_OK) {
            fill_fail(&m, t->id, t->code, t->text);
            wi_link_send(l, &m);
        }
    }
}

/* What a link that closes does not bring to the peer any more, the next one
 * does: wi_query_unlinked(), wi_query_tell_failed(). */
static void tell(struct wi_engine *e, uint32_t member, const union wi_msg *m)
{
    struct wi_link *l = e->members[member].link;
    if (member != e->self && l != NULL &&
        (l->state == WI_LINK_OPEN || l->state == WI_LINK_CLOSING)) {
        wi_link_send(l, m);
    }
}

/* Who has closed the query already passes on what it hears, too. */
static void tell_linked(struct wi_engine *e, const union wi_msg *m)
{
    for (uint32_t i = 0; i < e->n_members; i++) {
        tell(e, i, m);
    }
}

static void tell_members(struct weir_query *q, weir_err code, const char *text)
{
    struct wi_engine *e = q->engine;
    union wi_msg m;
    fill_fail(&m, q->id, code, text);
    for (uint32_t i = 0; i < q->n_members; i++) {
        tell(e, q->members[i], &m);
    }
}

/* Everyone passes on the first cause that it hears: it reaches members that
 * share no shuffle with whoever found it, and if that member dies while it
 * tells the others, either all of them hear of it or none. */
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
    wi_engine_rouse(q->engine);
    tell_members(q, code, text);
}

/* Fail it for a cause that is only known here. The link to the first member,
 * through which members hear that share no shuffle with us, may have gone idle
 * before that member opened the query. */
static void call_off(struct weir_query *q, weir_err code, const char *text)
{
    bool first = !q->failing; /* else whoever failed it has told that member */
    wi_query_fail(q, code, text);
    if (first && !q->lost[0] && q->members[0] != q->engine->self) {
        (void)wi_link_need(q->engine, q->members[0]);
    }
}

void wi_query_abort(struct weir_query *q, const char *what)
{
    char text[WI_TEXT_BYTES];
    if (q->report.code != WEIR_OK) { /* its answer has not come yet */
        call_off(q, q->report.code, q->report.message);
        return;
    }
    (void)snprintf(text, sizeof(text), "%s closed %s before its end",
                   q->engine->name, what);
    call_off(q, WEIR_ERR_ABORTED, text);
}

/* Ask the judge; its FAIL comes back to us, too. */
static void ask(struct weir_query *q)
{
    uint32_t to = judge(q);
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
    tell(q->engine, to, &m); /* or wi_query_tell_failed(), when it opens */
}

static void report(struct weir_query *q, weir_err code, const char *text)
{
    if (q->failing || q->report.code != WEIR_OK) {
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
        report(q, code, text);
    }
}

void wi_query_unlinked(const struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    for (uint32_t i = 0; i < wi_min_u32(e->n_tombs, WI_TOMBS); i++) {
        if (e->tombs[i].from == l->member) {
            e->tombs[i].from = UINT32_MAX; /* may not have had its answer */
        }
    }
    wi_list_each(n, &e->queries)
    {
        const struct weir_query *q = query_of(n);
        if (!q->failing && q->report.code != WEIR_OK && judge(q) == l->member) {
            (void)wi_link_need(e, l->member);
        }
    }
}

/* How a peer was lost looks different from every node: that is for the log. A
 * query says the same on all of them. What kept a link from opening at all is
 * for whoever set it up. */
void wi_query_peer_lost(const struct wi_link *l, weir_err code, const char *why)
{
    struct wi_engine *e = l->engine;
    const struct wi_member *m = &e->members[l->member];
    char text[WI_TEXT_BYTES];
    weir_err scoped =
        weir_err_scope(code) == WEIR_SCOPE_PEER ? code : WEIR_ERR_PEER_LOST;
    if (l->counted && scoped == WEIR_ERR_PEER_LOST) {
        why = "its process ended or hangs, or the network to it broke: see "
              "its log and the other nodes'";
    }
    (void)snprintf(text, sizeof(text), "peer %s (%s): %s", m->name, m->address,
                   why);
    wi_list_each(n, &e->queries)
    {
        if (is_member(query_of(n), l->member)) {
            lose(query_of(n), l->member, scoped, text);
        }
    }
}

/* The query is not open here (any more): producers that still have an edge to it
 * are stopped. An edge may know its shuffle and yet never have had a reader. */
static void stop_strays(struct wi_engine *e, uint64_t id)
{
    for (uint32_t i = 0; i < e->n_members; i++) {
        struct wi_link *l = e->members[i].link;
        if (l == NULL) {
            continue;
        }
        wi_list_each(n, &l->ins)
        {
            struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
            if (in->query_id == id) {
                wi_in_refuse(in);
            }
        }
    }
}

static void decline(struct wi_engine *e, uint64_t id)
{
    union wi_msg m;
    struct wi_tomb *t = wi_tomb_add(e, id);
    t->closed = true;
    t->code = WEIR_ERR_ABORTED;
    (void)snprintf(t->text, sizeof(t->text),
                   "%s closed before it opened the query", e->name);
    fill_fail(&m, id, t->code, t->text);
    tell_linked(e, &m);
    stop_strays(e, id);
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

/* FAIL for a query that is not open here yet. The first cause stands; a member
 * that may have reported it to us, its query's judge, waits for the answer: one
 * is enough for who told us first, or two that know no more would go on. */
static void note_early(struct wi_link *l, weir_err code,
                       const struct wi_msg_fail *m)
{
    struct wi_tomb *t = wi_tomb_find(l->engine, m->query);
    bool first = t == NULL;
    if (first) {
        t = wi_tomb_add(l->engine, m->query);
        t->code = code;
        t->from = l->member;
        wi_text_put(t->text, WI_TEXT_BYTES, m->text);
        stop_strays(l->engine, m->query);
    }
    if (first || t->from != l->member || strcmp(t->text, m->text) != 0) {
        union wi_msg answer;
        fill_fail(&answer, t->id, t->code, t->text);
        wi_link_send(l, &answer);
    }
}

void wi_query_message(struct wi_link *l, const struct wi_msg_fail *m)
{
    struct wi_engine *e = l->engine;
    weir_err code = (weir_err)m->code;
    if (weir_err_scope(code) != WEIR_SCOPE_QUERY &&
        weir_err_scope(code) != WEIR_SCOPE_PEER) {
        code = WEIR_ERR_ABORTED;
    }
    struct weir_query *q = wi_query_find(e, m->query);
    struct wi_tomb *t = wi_tomb_find(e, m->query);
    if (q != NULL && is_member(q, l->member)) {
        wi_query_fail(q, code, m->text);
    } else if (q == NULL && t != NULL && t->closed && t->code == WEIR_OK) {
        t->code = code;
        wi_text_put(t->text, WI_TEXT_BYTES, m->text);
        tell_linked(e, &(union wi_msg){.fail = *m});
    } else if (q == NULL && (t == NULL || !t->closed)) {
        note_early(l, code, m);
    }
}

uint64_t wi_query_deadlines(struct wi_engine *e, uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;
    wi_list_each(n, &e->queries)
    {
        struct weir_query *q = query_of(n);
        if (q->failing) {
            continue;
        }
        if (now_ns >= q->deadline_ns) {
            call_off(q, WEIR_ERR_DEADLINE, "deadline passed");
        } else {
            next = wi_min_u64(next, q->deadline_ns);
        }
    }
    return next;
}

/* ---- opening -------------------------------------------------------------------------- */

static weir_err check_members(const struct wi_engine *e,
                              const struct weir_query_params *p,
                              struct weir_error *err)
{
    bool self = p->n_members == 0;
    for (uint32_t i = 0; i < p->n_members; i++) {
        self = self || p->members[i] == e->self;
        if (p->members[i] >= e->n_members) {
            return wi_fail(err, WEIR_ERR_NOT_FOUND,
                           "member %u of query %" PRIu64 ": there are only %u",
                           p->members[i], p->id, e->n_members);
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
    const struct wi_tomb *t = wi_tomb_find(e, p->id);
    if (wi_query_find(e, p->id) != NULL || (t != NULL && t->closed)) {
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
    return check_members(e, p, err);
}

static void free_query(struct weir_query *q)
{
    free(q->members);
    free(q->lost);
    free(q);
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
    q->n_members = n;
    for (uint32_t i = 0; i < n; i++) {
        q->members[i] = p->n_members != 0 ? p->members[i] : i;
    }
    return WEIR_OK;
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
    q->id = p->id;
    q->holds = 1;
    wi_list_init(&q->shuffles);
    q->deadline_ns = p->deadline_ns == 0
                         ? UINT64_MAX
                         : wi_time_add(e->now_ns, p->deadline_ns);
    if (set_members(q, p) != WEIR_OK) {
        free_query(q);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a query");
    }
    wi_list_push_back(&e->queries, &q->on_engine);
    e->stats.queries_open++;
    wi_engine_due(e, q->deadline_ns);
    wi_engine_due(e, wi_time_add(e->now_ns, e->cfg.detect_ns / 4));
    const struct wi_tomb *t = wi_tomb_find(e, p->id);
    if (t != NULL) { /* failed before we came */
        wi_query_fail(q, t->code, t->text);
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
    wi_node_lock(node);
    weir_err rc = open_locked(node, params, query_out, err);
    if (rc == WEIR_OK) {
        wi_engine_kick(&node->engine); /* a new deadline */
    }
    wi_node_unlock(node);
    return rc;
}

void weir_query_cancel(weir_query *query, const char *reason)
{
    char text[WI_TEXT_BYTES];
    (void)snprintf(text, sizeof(text), "cancelled by %s%s%s",
                   query->engine->name, reason != NULL ? ": " : "",
                   reason != NULL ? reason : "");
    wi_node_lock(query->node);
    call_off(query, WEIR_ERR_CANCELLED, text);
    wi_node_unlock(query->node);
}

weir_err weir_query_fail(weir_query *query, const struct weir_error *cause)
{
    if (weir_err_scope(cause->code) != WEIR_SCOPE_QUERY) {
        return WEIR_ERR_ARG;
    }
    char text[WI_TEXT_BYTES];
    struct weir_node *node = query->node;
    const char *name = query->engine->name;
    int room =
        (int)(sizeof(text) - strlen(name) - sizeof(": ")); /* it is cut */
    (void)snprintf(text, sizeof(text), "%s: %.*s", name, room, cause->message);
    wi_node_lock(node);
    report(query, cause->code, text);
    wi_node_unlock(node);
    return WEIR_OK;
}

weir_err weir_query_status(weir_query *query, struct weir_error *err)
{
    /* E8 acquire: the message; pairs with E8 release in wi_query_fail() */
    weir_err code = (weir_err)wi_load_acq(&query->code);
    if (code != WEIR_OK && err != NULL) {
        *err = query->error;
    }
    return code;
}

/* ---- closing ---------------------------------------------------------------------------- */

static bool complete(const struct weir_query *q)
{
    wi_list_each(n, &q->shuffles)
    {
        const struct weir_shuffle *s =
            wi_container_of(n, struct weir_shuffle, on_query);
        for (uint32_t i = 0; i < q->engine->cfg.workers; i++) {
            const struct weir_writer *w = s->writers[i];
            const struct weir_reader *r = s->readers[i];
            bool owes = s->self_produces && w == NULL &&
                        i < wi_shuffle_workers(s, q->engine->self,
                                               s->producer_workers) &&
                        (s->wrote >> i & 1) == 0;
            if (owes || (w != NULL && !w->finished) ||
                (r != NULL && !r->stopped && !wi_reader_complete(r))) {
                return false;
            }
        }
    }
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
        if (s->counted) {
            s->counted = false;
            q->engine->open_shuffles--;
        }
    }
}

void wi_query_drop(struct weir_query *q)
{
    if (--q->holds != 0) {
        return;
    }
    wi_list_each(n, &q->shuffles)
    {
        wi_shuffle_free(wi_container_of(n, struct weir_shuffle, on_query));
    }
    free_query(q);
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
    if (query == NULL) {
        return;
    }
    struct weir_node *node = query->node;
    struct wi_engine *e = query->engine;
    wi_node_lock(node);
    if (query->report.code != WEIR_OK || !complete(query)) {
        wi_query_abort(query, "it");
    }
    close_ends(query);
    stop_strays(e, query->id);
    query->closed = true;
    wi_list_remove(&query->on_engine);
    rest_links(query);
    e->stats.queries_open--;
    struct wi_tomb *t = wi_tomb_add(e, query->id);
    t->closed = true;
    if (query->failing) {
        t->code = query->error.code;
        wi_text_put(t->text, WI_TEXT_BYTES, query->error.message);
    }
    wi_query_drop(query);
    wi_engine_kick(e);
    wi_node_unlock(node);
}
