/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/judge.h"

#include <stdio.h>

#include "core/base/clock.h"
#include "core/link/life.h"
#include "core/link/link.h"
#include "core/link/members.h"
#include "core/query/query_fail.h"

static uint32_t judge(const uint32_t *members, const bool *lost)
{
    uint32_t i = 0;
    while (lost[i]) { /* this node never is */
        i++;
    }
    return members[i];
}

static bool asks(const struct weir_query *q, uint32_t member)
{
    return wi_query_asks(q) && judge(q->members, q->lost) == member;
}

static bool tomb_asks(const struct wi_tomb *t, uint32_t member)
{
    return t->report != WEIR_OK && judge(t->members, t->lost) == member;
}

static struct weir_error report_of(const struct wi_tomb *t)
{
    struct weir_error why = {.code = t->report};
    wi_text_put(why.message, WI_TEXT_BYTES, t->text);
    return why;
}

/* The next tomb from *at on that asks; NULL: there is none. */
static struct wi_tomb *next_asking(const struct wi_engine *e, uint32_t *at)
{
    uint32_t n = e->tombs->n_asking != 0 ? wi_tombs(e) : 0;
    for (; *at < n; ++*at) {
        if (wi_tomb_at(e, *at)->report != WEIR_OK) {
            return wi_tomb_at(e, (*at)++);
        }
    }
    return NULL;
}

/* ---- asking -------------------------------------------------------------- */

/* If it lives but does not answer, we wait no longer than we would for its loss
 * to be found. */
static uint64_t answer_until(struct wi_engine *e)
{
    uint64_t until = wi_time_add(wi_time_add(e->now_ns, 2 * e->cfg.detect_ns),
                                 e->cfg.connect_ns);
    wi_engine_due(e, until);
    return until;
}

/* Its FAIL comes back to us, too. False: it is this node, or there is no memory
 * to ask with. */
static bool ask(struct wi_engine *e, uint32_t member, uint64_t id,
                const struct weir_error *why)
{
    if (member == e->self || wi_link_need(e, member) == NULL) {
        return false;
    }
    struct wi_link *l = wi_query_link(e, member);
    if (l != NULL) {
        wi_query_answer(l, id, why); /* else wi_judge_repeat(), later */
    }
    return true;
}

static void ask_for(struct weir_query *q)
{
    q->answer_ns = answer_until(q->engine);
    if (!ask(q->engine, judge(q->members, q->lost), q->id, &q->report)) {
        wi_query_fail(q, q->report.code, q->report.message);
    }
}

void wi_query_report(struct weir_query *q, weir_err code, const char *text)
{
    if (q->failing || q->report.code != WEIR_OK) {
        return;
    }
    q->report.code = code;
    (void)snprintf(q->report.message, sizeof(q->report.message), "%s", text);
    ask_for(q);
}

/* As wi_query_call_off(): the first member tells those who have no link to
 * us. */
static void decide_alone(struct wi_engine *e, struct wi_tomb *t)
{
    wi_tomb_fail(e, t, t->report, t->text);
    if (!t->lost[0] && t->members[0] != e->self) {
        (void)wi_link_need(e, t->members[0]);
    }
}

static void ask_for_closed(struct wi_engine *e, struct wi_tomb *t)
{
    const struct weir_error why = report_of(t);
    t->answer_ns = answer_until(e);
    if (!ask(e, judge(t->members, t->lost), t->id, &why)) {
        decide_alone(e, t);
    }
}

void wi_judge_repeat(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    struct wi_tomb *t;
    uint32_t at = 0;
    wi_list_each(n, &e->queries)
    {
        const struct weir_query *q = wi_query_of(n);
        if (asks(q, l->member)) {
            wi_query_answer(l, q->id, &q->report);
        }
    }
    while ((t = next_asking(e, &at)) != NULL) {
        if (tomb_asks(t, l->member)) {
            const struct weir_error why = report_of(t);
            wi_query_answer(l, t->id, &why);
        }
    }
}

void wi_judge_unlinked(struct wi_engine *e, uint32_t member)
{
    const struct wi_tomb *t;
    uint32_t at = 0;
    bool owes = false;
    wi_list_each(n, &e->queries)
    {
        owes = owes || asks(wi_query_of(n), member);
    }
    while ((t = next_asking(e, &at)) != NULL) {
        owes = owes || tomb_asks(t, member);
    }
    if (owes) {
        (void)wi_link_need(e, member);
    }
}

/* ---- losing it ----------------------------------------------------------- */

static void mark_lost(const uint32_t *members, bool *lost, uint32_t n,
                      uint32_t member)
{
    for (uint32_t i = 0; i < n; i++) {
        lost[i] = lost[i] || members[i] == member;
    }
}

static void lose(struct weir_query *q, uint32_t member, weir_err code,
                 const char *text)
{
    bool asked = asks(q, member);
    if (member != q->engine->self) {
        mark_lost(q->members, q->lost, q->n_members, member);
    }
    if (asked) {
        ask_for(q); /* the next one */
    } else {
        wi_query_report(q, code, text);
    }
}

void wi_judge_lost(struct wi_engine *e, uint32_t member, weir_err code,
                   const char *text)
{
    struct wi_tomb *t;
    uint32_t at = 0;
    wi_list_each(n, &e->queries)
    {
        if (wi_query_has(wi_query_of(n), member)) {
            lose(wi_query_of(n), member, code, text);
        }
    }
    while ((t = next_asking(e, &at)) != NULL) {
        bool asked = tomb_asks(t, member);
        mark_lost(t->members, t->lost, t->n_members, member);
        if (asked) {
            ask_for_closed(e, t);
        }
    }
}

/* ---- waiting no longer --------------------------------------------------- */

uint64_t wi_judge_deadlines(struct wi_engine *e, uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;
    struct wi_tomb *t;
    uint32_t at = 0;
    while ((t = next_asking(e, &at)) != NULL) {
        if (now_ns >= t->answer_ns) {
            decide_alone(e, t);
        } else {
            next = wi_min_u64(next, t->answer_ns);
        }
    }
    return next;
}

void wi_judge_make_room(struct wi_engine *e)
{
    struct wi_tomb *t = wi_tomb_oldest(e);
    if (t != NULL && t->report != WEIR_OK) {
        decide_alone(e, t);
    }
}

void wi_judge_close(struct wi_engine *e)
{
    struct wi_tomb *t;
    uint32_t at = 0;
    while ((t = next_asking(e, &at)) != NULL) {
        decide_alone(e, t);
    }
}
