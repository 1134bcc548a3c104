/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cc.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "tools/sim/exec.h"
#include "tools/sim/hostile.h"

/* ---- outcomes ------------------------------------------------------------ */

/* Faults that explain a code, as bits. */
struct cause {
    weir_err code;
    uint32_t kinds;
};

#define LOSSES                                                                 \
    (1u << WS_FAULT_slow | 1u << WS_FAULT_cut | 1u << WS_FAULT_drop |          \
     1u << WS_FAULT_stall | 1u << WS_FAULT_crash | 1u << WS_FAULT_restart |    \
     1u << WS_FAULT_jump)
#define OF_MEMORY (1u << WS_FAULT_memory)

static const struct cause causes[] = {
    {WEIR_ERR_CANCELLED,
     1u << WS_FAULT_cancel | 1u << WS_FAULT_crash | 1u << WS_FAULT_restart},
    {WEIR_ERR_QUERY_DATA, 1u << WS_FAULT_fail},
    {WEIR_ERR_ABORTED,
     1u << WS_FAULT_close | 1u << WS_FAULT_restart | OF_MEMORY},
    {WEIR_ERR_PEER_LOST, LOSSES | OF_MEMORY},
    {WEIR_ERR_PEER_REFUSED, OF_MEMORY},
    {WEIR_ERR_NO_MEMORY, OF_MEMORY},
    {WEIR_ERR_QUERY_MEMORY, OF_MEMORY | 1u << WS_FAULT_damage},
    {WEIR_ERR_INTEGRITY, 1u << WS_FAULT_damage},
    {WEIR_ERR_PEER_PROTOCOL, 1u << WS_FAULT_damage},
};

static bool concerns(const struct ws_world *w, const struct ws_query *q,
                     const struct ws_fault *f)
{
    const uint32_t pair = 1u << f->node | 1u << f->peer;
    const uint32_t number = (uint32_t)(q - w->query);
    switch (f->kind) {
    case WS_FAULT_cancel:
    case WS_FAULT_fail:
    case WS_FAULT_close:
    case WS_FAULT_stop:
        return f->value == number;
    case WS_FAULT_cut:
    case WS_FAULT_drop:
        return (q->members & pair) == pair;
    default:
        return (q->members >> f->node & 1) != 0;
    }
}

/* Bits of the faults that concern a query. */
static uint32_t faults_of(const struct ws_world *w, const struct ws_query *q)
{
    const struct ws_schedule *s = &w->shape.schedule;
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < s->n && q != &w->query[WS_QUERIES - 1]; i++) {
        const struct ws_fault *f = &s->fault[i];
        kinds |= concerns(w, q, f) ? 1u << f->kind : 0;
    }
    return kinds;
}

/* A node that was started again does not know of the query that a member which
 * has left still has. */
static bool forgets(uint32_t kinds)
{
    const uint32_t both = 1u << WS_FAULT_leave | 1u << WS_FAULT_restart;
    return (kinds & both) == both;
}

/* What a lost link had of the node's memory is held until its queries are
 * closed: of as little as there may be, the next link's get no rings. */
static bool squeezes(uint32_t kinds, const struct ws_part *p)
{
    return p->outcome.code == WEIR_ERR_QUERY_MEMORY &&
           p->world->shape.sim.node.memory_bytes != 0 && (kinds & LOSSES) != 0;
}

static bool explains(uint32_t kinds, const struct ws_part *p)
{
    if ((p->outcome.code == WEIR_ERR_PEER_REFUSED && forgets(kinds)) ||
        squeezes(kinds, p)) {
        return true;
    }
    /* Deadlines are short where a fault of the run may need them, so that a
     * jump passes them. */
    const bool is_short = ws_shape_worst(&p->world->shape) == WS_DAMAGING;
    const uint32_t late =
        1u << WS_FAULT_damage | (is_short ? 1u << WS_FAULT_jump : 0);
    if ((kinds & 1u << WS_FAULT_hostile) != 0 ||
        ((kinds & late) != 0 && p->outcome.code == WEIR_ERR_DEADLINE)) {
        return true;
    }
    for (uint32_t i = 0; i < WI_ARRAY_LEN(causes); i++) {
        if (causes[i].code == p->outcome.code) {
            return (causes[i].kinds & kinds) != 0;
        }
    }
    return false;
}

static void judge_part(struct ws_world *w, uint32_t kinds,
                       const struct ws_part *p)
{
    if (p->state != WS_FAILED) {
        return;
    }
    if (!explains(kinds, p)) {
        ws_violate(w, "outcome", "query %u fails on node %u, and why?: %s: %s",
                   p->query, p->node, weir_err_name(p->outcome.code),
                   p->outcome.message);
    } else if (p->outcome.message[0] == '\0' && !p->own) {
        ws_violate(w, "outcome", "query %u fails on node %u with %s, no word",
                   p->query, p->node, weir_err_name(p->outcome.code));
    }
}

/* ---- blame --------------------------------------------------------------- */

/* "n1", and not "n12". */
static bool has_name(const char *text, const char *name)
{
    const size_t len = strlen(name);
    const char *at = strstr(text, name);
    while (at != NULL && at[len] >= '0' && at[len] <= '9') {
        at = strstr(at + len, name);
    }
    return at != NULL;
}

static bool names_hostile(const struct ws_world *w, const char *text)
{
    char name[16];
    bool named = false;
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        named = named || (w->node[i].hostile && has_name(text, name));
    }
    return named;
}

/* Where hostile nodes alone break anything, what an honest member reports has
 * the name of one, unless it was a hostile node that told of it: that the query
 * has failed, or that somebody has refused its link. A deadline names who was
 * waited for. */
static void judge_blame(struct ws_world *w, const struct ws_part *p)
{
    if (p->state == WS_FAILED && !p->own && !w->node[p->node].hostile &&
        p->outcome.code != WEIR_ERR_DEADLINE &&
        p->outcome.code != WEIR_ERR_PEER_REFUSED && !w->false_fail &&
        ws_hostile_alone(w) && !names_hostile(w, p->outcome.message)) {
        ws_violate(w, "blame", "query %u fails on node %u: %s: %s", p->query,
                   p->node, weir_err_name(p->outcome.code), p->outcome.message);
    }
}

/* Who has lost a link says so in its log, with the member's name. */
static void judge_logs(struct ws_world *w)
{
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        const weir_node *n = weir_sim_node(w->sim, i);
        if (n != NULL && ws_hostile_alone(w) && n->engine.stats.links_lost &&
            w->node[i].losses == 0) {
            ws_violate(w, "blame", "node %u lost a link, and logs nothing", i);
        }
    }
}

/* ---- agreement ----------------------------------------------------------- */

/* The member that decides between several causes was there all the time, and
 * nobody told the members of a cause without asking it. */
static bool has_judge(const struct ws_world *w, const struct ws_query *q)
{
    const uint32_t tells = 1u << WS_FAULT_cancel | 1u << WS_FAULT_close |
                           1u << WS_FAULT_damage | 1u << WS_FAULT_leave;
    const uint32_t first = (uint32_t)__builtin_ctz(q->members);
    uint32_t told = 0;
    uint32_t others = 0;
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        const struct ws_node *n = &w->node[i];
        const bool gave_up = n->slowed && (n->lost >> first & 1) != 0;
        if ((q->members >> i & 1) != 0 && (n->alone || gave_up)) {
            return false; /* it may have asked another one */
        }
    }
    for (uint32_t i = 0; i < w->shape.schedule.n; i++) {
        const struct ws_fault *f = &w->shape.schedule.fault[i];
        const bool tell = (tells >> f->kind & 1) != 0;
        told += concerns(w, q, f) && tell;
        others += concerns(w, q, f) && !tell &&
                  ws_fault_group(f->kind) != WS_BEARABLE;
    }
    return !w->node[first].touched && !w->node[first].crashed &&
           (told == 0 || told + others <= 1);
}

static void judge_agreement(struct ws_world *w, uint32_t query)
{
    const struct ws_part *first = NULL;
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        const struct ws_part *p = &w->part[query][i];
        if (p->state != WS_FAILED || p->own) {
            continue;
        }
        if (first != NULL &&
            (p->outcome.code != first->outcome.code ||
             strcmp(p->outcome.message, first->outcome.message) != 0)) {
            ws_violate(w, "agree",
                       "query %u fails on node %u with \"%s\", on node %u with "
                       "\"%s\"",
                       query, first->node, first->outcome.message, p->node,
                       p->outcome.message);
        }
        first = p;
    }
}

/* ---- rows ---------------------------------------------------------------- */

static bool all_done(const struct ws_world *w, uint32_t query)
{
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        const struct ws_part *p = &w->part[query][i];
        if ((w->query[query].members >> i & 1) != 0 && p->state != WS_DONE) {
            return false;
        }
    }
    return true;
}

struct model {
    const struct ws_world *w;
    uint32_t query;
    uint64_t keys[64]; /* of the first side of a join, bits */
    struct ws_sums sums[WS_STAGES];
};

static bool joins(const struct model *m, uint64_t id)
{
    const uint64_t k = ws_row_key(&m->w->query[m->query].rows, id);
    return (m->keys[k / 64] >> k % 64 & 1) != 0;
}

/* Rows that a stage makes: into its own sums, and those that join into the
 * sums of the stage that it goes to. */
static void add_made(struct model *m, uint32_t s)
{
    const struct ws_query *q = &m->w->query[m->query];
    const struct ws_stage *t = &q->stage[s];
    const bool build = t->to != WS_NONE && q->stage[t->to].probe != WS_NONE &&
                       q->stage[t->to].from == s;
    for (uint32_t i = 0; i < m->w->shape.nodes * m->w->shape.workers; i++) {
        const uint32_t node = i / m->w->shape.workers;
        for (uint32_t n = 0; (t->producers >> node & 1) && n < t->rows; n++) {
            const uint64_t id =
                ws_row_id(m->query, s, node, i % m->w->shape.workers, n);
            const uint64_t k = ws_row_key(&q->rows, id);
            ws_sums_add(&m->sums[s], id);
            if (build) {
                m->keys[k / 64] |= 1ull << k % 64;
            } else if (t->to != WS_NONE && q->stage[t->to].probe == s &&
                       joins(m, id)) {
                ws_sums_add(&m->sums[t->to], id);
            }
        }
    }
}

static void compute(struct model *m)
{
    const struct ws_query *q = &m->w->query[m->query];
    for (uint32_t s = 0; s < q->n_stages; s++) {
        const struct ws_stage *t = &q->stage[s];
        if (t->from == WS_NONE) {
            add_made(m, s);
        } else if (t->probe == WS_NONE) {
            m->sums[s] = m->sums[t->from];
        }
    }
}

static struct ws_sums received(const struct ws_world *w, uint32_t query,
                               uint32_t s)
{
    struct ws_sums sums = {0};
    for (uint32_t i = 0; i < w->shape.nodes * WS_WORKERS; i++) {
        const struct ws_sums *got =
            &w->part[query][i / WS_WORKERS].actor[i % WS_WORKERS].end[s].got;
        sums.rows += got->rows;
        sums.sum += got->sum;
    }
    return sums;
}

static void judge_rows(struct ws_world *w, uint32_t query)
{
    const struct ws_query *q = &w->query[query];
    struct model m = {.w = w, .query = query};
    compute(&m);
    for (uint32_t s = 0; s < q->n_stages; s++) {
        const struct ws_stage *t = &q->stage[s];
        const uint64_t takers = t->to_node ? 1 : w->shape.workers;
        const uint64_t times =
            t->kind == WEIR_BROADCAST
                ? (uint64_t)__builtin_popcount(t->consumers) * takers
                : 1;
        const struct ws_sums got = received(w, query, s);
        if (got.rows != m.sums[s].rows * times ||
            got.sum != m.sums[s].sum * times) {
            ws_violate(w, "exact",
                       "query %u, stage %u: %" PRIu64 " rows came, %" PRIu64
                       " were to%s",
                       query, s, got.rows, m.sums[s].rows * times,
                       got.rows == m.sums[s].rows * times ? ": others" : "");
        }
    }
}

static void judge_answer(struct ws_world *w, uint32_t query)
{
    if (w->query[query].plan == WS_EXECUTOR && w->query[query].members != 0 &&
        !ws_exec_is_right(w, query)) {
        ws_violate(w, "exact", "query %u: the executor's answer is wrong",
                   query);
    }
}

void ws_judge(struct ws_world *w, struct ws_result *out)
{
    judge_logs(w);
    for (uint32_t q = 0; q < WS_QUERIES && !ws_violated(w); q++) {
        if (!w->begun[q]) {
            continue;
        }
        const uint32_t kinds = faults_of(w, &w->query[q]);
        for (uint32_t i = 0; i < w->shape.nodes; i++) {
            judge_part(w, kinds, &w->part[q][i]);
            judge_blame(w, &w->part[q][i]);
            out->failed += w->part[q][i].state == WS_FAILED;
            out->done += w->part[q][i].state == WS_DONE;
        }
        const bool honest = (kinds & 1u << WS_FAULT_hostile) == 0;
        if (honest && w->query[q].members != 0 && !w->called_off[q] &&
            has_judge(w, &w->query[q])) {
            judge_agreement(w, q);
        }
        if (honest && (kinds & 1u << WS_FAULT_stop) == 0 && all_done(w, q)) {
            judge_rows(w, q);
            judge_answer(w, q);
        }
    }
}
