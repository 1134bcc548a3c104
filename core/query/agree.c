/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/agree.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/link.h"
#include "core/link/members.h"
#include "core/link/send.h"
#include "core/link/warn.h"
#include "core/query/describe.h"
#include "core/query/judge.h"
#include "core/query/query_fail.h"
#include "core/query/reader.h"
#include "core/query/tomb.h"

/* ---- telling ------------------------------------------------------------- */

static void fill_shuffle(union wi_msg *m, const struct weir_shuffle *s)
{
    wi_msg_init(m, WI_MSG_SHUFFLE);
    m->shuffle.shuffle = s->id;
    m->shuffle.query = s->query->id;
    m->shuffle.fingerprint = s->fingerprint;
}

/* To all other members. */
static void tell_all(const struct weir_query *q, const union wi_msg *m,
                     void (*send)(struct wi_link *l, const union wi_msg *m))
{
    for (uint32_t i = 0; i < q->n_members; i++) {
        struct wi_link *l = wi_query_link(q->engine, q->members[i]);
        if (l != NULL) {
            send(l, m);
        }
    }
}

void wi_shuffle_announce(const struct weir_shuffle *s)
{
    union wi_msg m;
    fill_shuffle(&m, s);
    tell_all(s->query, &m, wi_link_send_with);
}

void wi_query_announce(struct wi_link *l)
{
    union wi_msg m;
    wi_list_each(n, &l->engine->queries)
    {
        const struct weir_query *q = wi_query_of(n);
        if (q->failing || wi_query_asks(q) || !wi_query_has(q, l->member)) {
            continue;
        }
        wi_list_each(k, &q->shuffles)
        {
            fill_shuffle(&m, wi_container_of(k, struct weir_shuffle, on_query));
            wi_link_send(l, &m);
        }
    }
}

void wi_query_tell_closed(const struct weir_query *q)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_CLOSE);
    m.close.query = q->id;
    tell_all(q, &m, wi_link_send_soon);
}

/* Fail the query ourselves if the peer does not in time. */
static void expect_failure(const struct wi_link *l,
                           const struct weir_shuffle *s, const char *ours)
{
    struct weir_query *q = s->query;
    struct wi_engine *e = q->engine;
    if (q->differs.code != WEIR_OK) {
        return;
    }
    (void)wi_fail(&q->differs, WEIR_ERR_MISMATCH,
                  "%s (member %u) opened shuffle %u with other options or "
                  "columns than %s: %.100s",
                  wi_member_name(e, l->member), l->member, s->id, e->name,
                  ours);
    q->differs_ns = wi_time_add(e->now_ns, e->cfg.detect_ns / 4);
    wi_engine_due(e, q->differs_ns);
    wi_engine_kick(e); /* a new deadline */
}

void wi_shuffle_differ(struct wi_link *l, const struct weir_shuffle *s)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_DIFFER);
    m.differ.shuffle = s->id;
    m.differ.query = s->query->id;
    wi_shuffle_describe(s, m.differ.text);
    wi_link_send(l, &m);
    expect_failure(l, s, m.differ.text);
}

void wi_query_turn_away(struct wi_link *l, uint64_t id)
{
    struct wi_engine *e = l->engine;
    struct weir_error why;
    (void)wi_fail(&why, WEIR_ERR_MISMATCH,
                  "%s does not count %s (member %u) among the members of "
                  "query %" PRIu64 ": open it with the same list everywhere",
                  e->name, wi_member_name(e, l->member), l->member, id);
    wi_warn(e, l->member, WI_CAUSE_OUTSIDE, "%s", why.message);
    wi_query_answer(l, id, &why);
}

bool wi_query_without(struct wi_link *l, uint64_t id)
{
    struct wi_engine *e = l->engine;
    struct weir_error why;
    if (wi_member_here(e, l->member)) {
        return false;
    }
    (void)wi_fail(&why, WEIR_ERR_PEER_REFUSED,
                  "%s (member %u) has not opened query %" PRIu64
                  ", and opens none with members that were removed from its "
                  "list",
                  e->name, e->self, id); /* the same to each of them */
    wi_query_answer(l, id, &why);
    return true;
}

/* ---- hearing ------------------------------------------------------------- */

/* The sender is a member of the closed query, and has opened a shuffle. */
static void over_without(struct wi_link *l, struct wi_tomb *t, uint32_t shuffle)
{
    struct wi_engine *e = l->engine;
    char text[WI_TEXT_BYTES];
    if (wi_tomb_went_well(t) && !wi_tomb_ended(t, shuffle)) {
        (void)snprintf(
            text, sizeof(text),
            "%s (member %u) closed the query without opening shuffle "
            "%u, which %s (member %u) has opened",
            e->name, e->self, shuffle, wi_member_name(e, l->member), l->member);
        wi_log(&e->log, WI_LOG_WARN, "query %" PRIu64 ": %s", t->id, text);
        wi_tomb_fail(e, t, WEIR_ERR_ABORTED, text);
    }
}

bool wi_query_over(struct wi_link *l, uint64_t id, uint32_t shuffle)
{
    struct wi_tomb *t = wi_tomb_find(l->engine, id);
    if (t != NULL && wi_tomb_has(t, l->member)) {
        over_without(l, t, shuffle);
    } else if (t != NULL) {
        wi_query_turn_away(l, id);
    }
    if (t != NULL) {
        return true;
    }
    return wi_note_find(l->engine, l->member, id) != NULL;
}

/* The member opened the query after we had closed it, and our link to it was
 * lost in between: it waits for rows that will not come. */
static void over_unserved(struct wi_link *l, struct wi_tomb *t)
{
    struct wi_engine *e = l->engine;
    char text[WI_TEXT_BYTES];
    (void)snprintf(text, sizeof(text),
                   "%s (member %u) lost its link to %s (member %u) while rows "
                   "for it were under way, and has closed the query",
                   e->name, e->self, wi_member_name(e, l->member), l->member);
    wi_log(&e->log, WI_LOG_WARN, "query %" PRIu64 ": %s", t->id, text);
    wi_tomb_fail(e, t, WEIR_ERR_PEER_LOST, text);
}

/* SHUFFLE for a query that is not open here. */
static void answer_closed(struct wi_link *l, const struct wi_msg_shuffle *m)
{
    struct wi_tomb *t = wi_tomb_find(l->engine, m->query);
    bool failed = t != NULL && t->code != WEIR_OK;
    if (t != NULL && !wi_tomb_has(t, l->member)) {
        wi_query_turn_away(l, t->id);
    } else if (failed) {
        struct weir_error why = {.code = t->code};
        wi_text_put(why.message, WI_TEXT_BYTES, t->text);
        wi_query_answer(l, t->id, &why);
    } else if (t != NULL && wi_tomb_went_well(t) &&
               wi_tomb_unserved(t, l->member)) {
        over_unserved(l, t);
    } else if (t != NULL) {
        over_without(l, t, m->shuffle); /* tells all, the peer too */
    } else {
        (void)wi_query_without(l, m->query);
    }
}

static void on_shuffle(struct wi_link *l, const struct wi_msg_shuffle *m)
{
    struct weir_query *q = wi_query_find(l->engine, m->query);
    if (q == NULL) {
        answer_closed(l, m);
        return;
    }
    if (!wi_query_has(q, l->member)) {
        wi_query_turn_away(l, q->id);
        return;
    }
    if (q->failing) { /* the peer forgot, if it was told before it opened it */
        wi_query_answer(l, q->id, &q->error);
        return;
    }
    const struct weir_shuffle *s = wi_shuffle_find(q, m->shuffle);
    if (s != NULL && s->fingerprint != m->fingerprint) {
        wi_shuffle_differ(l, s);
    }
}

/* Does a worker here read, or may yet, rows of a member that have not come? */
static bool expects(const struct weir_shuffle *s, uint32_t member)
{
    uint32_t n =
        s->self_consumes
            ? wi_shuffle_workers(s, s->query->engine->self, s->consumer_workers)
            : 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct weir_reader *r = s->readers[i];
        bool may = r == NULL && (s->was_read >> i & 1) == 0;
        if (may || (r != NULL && wi_reader_expects(r, member))) {
            return true;
        }
    }
    return false;
}

static void on_close(struct wi_link *l, const struct wi_msg_close *m)
{
    const struct weir_query *q = wi_query_find(l->engine, m->query);
    union wi_msg ask;
    if (q == NULL || q->failing || !wi_query_has(q, l->member)) {
        return;
    }
    wi_list_each(n, &q->shuffles)
    {
        const struct weir_shuffle *s =
            wi_container_of(n, struct weir_shuffle, on_query);
        if (expects(s, l->member)) {
            fill_shuffle(&ask, s);
            wi_link_send(l, &ask);
        }
    }
}

static void on_differ(struct wi_link *l, const struct wi_msg_differ *m)
{
    struct wi_engine *e = l->engine;
    struct weir_query *q = wi_query_find(e, m->query);
    struct wi_tomb *t = wi_tomb_find(e, m->query);
    const struct weir_shuffle *s =
        q != NULL ? wi_shuffle_find(q, m->shuffle) : NULL;
    const char *name = wi_member_name(e, l->member);
    char text[WI_TEXT_BYTES];
    char ours[WI_SIDE_BYTES] = "closed";
    if (s != NULL) {
        wi_shuffle_describe(s, ours);
    }
    int at = snprintf(text, sizeof(text), "shuffle %u differs: ", m->shuffle);
    wi_shuffle_difference(e->name, ours, name, m->text, text + at,
                          sizeof(text) - (size_t)at);
    if (q != NULL && wi_query_has(q, l->member)) {
        wi_query_report(q, WEIR_ERR_MISMATCH, text);
    } else if (q == NULL && t != NULL && wi_tomb_went_well(t) &&
               wi_tomb_has(t, l->member)) {
        wi_tomb_fail(e, t, WEIR_ERR_MISMATCH, text);
    }
}

void wi_query_on_agree(struct wi_link *l, const union wi_msg *m)
{
    switch (m->head.type) {
    case WI_MSG_SHUFFLE:
        on_shuffle(l, &m->shuffle);
        break;
    case WI_MSG_CLOSE:
        on_close(l, &m->close);
        break;
    default:
        on_differ(l, &m->differ);
        break;
    }
}
