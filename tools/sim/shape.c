/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/shape.h"

#include <string.h>

#include "core/base/cc.h"
#include "core/ring/budget.h"
#include "tools/sim/random.h"

enum {
    USE_CLUSTER = 10,
    USE_QUERY = 20, /* and those behind it */
    USE_TO = 40,    /* the same */
    MOST_LATE = 2,
    MOST_SHUFFLES = WS_QUERIES * WS_STAGES,
    MS = 1000000,
};

const char *const ws_plan_names[WS_PLANS + 1] = {"two-stage", "join", "random",
                                                 "executor", NULL};

/* ---- the cluster --------------------------------------------------------- */

/* The least cap that nodes open with, where rings are shared by the workers of
 * a node; 0: there is none. */
static uint64_t least_memory(const struct weir_node_params *n, uint32_t nodes)
{
    struct wi_budget_params p = {.workers = n->workers,
                                 .max_members = nodes,
                                 .max_shuffles = n->max_shuffles,
                                 .frame_bytes = n->frame_bytes,
                                 .ring_frames = n->ring_frames};
    struct wi_budget budget;
    uint64_t low = 0;
    uint64_t high = 512u << 20;
    while (high - low > 4096) {
        p.cap_bytes = low + (high - low) / 2;
        if (wi_budget_make(&p, &budget, NULL) == WEIR_OK) {
            high = p.cap_bytes;
        } else {
            low = p.cap_bytes;
        }
    }
    p.cap_bytes = high;
    return wi_budget_make(&p, &budget, NULL) == WEIR_OK ? high : 0;
}

static void draw_nodes(struct ws_random *r, struct ws_shape *s)
{
    static const uint32_t frames[] = {1024, 1024, 2048, 4096};
    struct weir_node_params *n = &s->sim.node;
    n->workers = s->workers;
    n->max_members = s->nodes;
    n->max_shuffles = MOST_SHUFFLES;
    n->frame_bytes = frames[ws_pick(r, 4)];
    n->ring_frames = 2 + 2 * ws_pick(r, 2);
    n->detect_ns = ws_log(r, 20 * MS, 100 * MS);
    n->connect_ns = n->detect_ns;
    n->idle_close_ns =
        ws_pick(r, 2) == 0 ? ws_log(r, MS, 20 * MS) : 3600000000000u;
    n->stall_ns = WEIR_FOREVER;
    n->no_checksum = 0;
    if (ws_pick(r, 3) == 0) {
        n->memory_bytes = least_memory(n, s->nodes);
    }
}

static void draw_cluster(struct ws_shape *s, const struct ws_options *o)
{
    struct ws_random r = ws_random_of(o->seed, USE_CLUSTER);
    const uint32_t nodes = 2 + ws_pick(&r, 4);
    const bool late = ws_pick(&r, 4) == 0;
    s->nodes = o->nodes != 0 ? o->nodes : nodes;
    s->late = late && s->nodes > 2 ? 1 + ws_pick(&r, MOST_LATE) : 0;
    s->late = wi_min_u32(s->late, s->nodes - 2);
    s->workers = 1 + ws_pick(&r, WS_WORKERS);
    s->n_queries = 1 + ws_pick(&r, WS_QUERIES - 1);
    s->step_ns = ws_log(&r, 100, 10000);
    s->wares = ws_pick(&r, 3) == 0;
    s->sim.nodes = s->nodes;
    s->sim.seed = o->seed + 1;
    s->sim.bandwidth = ws_log(&r, 50000000, 12500000000u);
    s->sim.latency_ns = ws_log(&r, 500, 100000);
    s->sim.jitter_ns = ws_pick(&r, 2) == 0 ? 0 : ws_log(&r, 100, 100000);
    draw_nodes(&r, s);
}

/* ---- queries ------------------------------------------------------------- */

static uint32_t draw_set(struct ws_random *r, uint32_t of)
{
    const uint32_t some = (uint32_t)ws_below(r, 1u << WS_NODES) & of;
    return some == 0 || ws_pick(r, 2) == 0 ? of : some;
}

static weir_partitioning draw_kind(struct ws_random *r)
{
    static const weir_partitioning kinds[] = {
        WEIR_HASH,   WEIR_HASH,      WEIR_ROUND_ROBIN, WEIR_RANDOM,
        WEIR_VECTOR, WEIR_BROADCAST, WEIR_GATHER,      WEIR_VECTOR};
    return kinds[ws_pick(r, 8)];
}

static struct ws_stage *add_stage(struct ws_random *r, struct ws_query *q)
{
    struct ws_stage *t = &q->stage[q->n_stages++];
    *t = (struct ws_stage){.kind = draw_kind(r),
                           .producers = draw_set(r, q->members),
                           .consumers = draw_set(r, q->members),
                           .rows = (uint32_t)ws_log(r, 1, WS_MOST_ROWS / 2),
                           .from = WS_NONE,
                           .probe = WS_NONE,
                           .to = WS_NONE};
    return t;
}

/* Stage `from` goes on into a new one. */
static struct ws_stage *chain(struct ws_random *r, struct ws_query *q,
                              uint32_t from)
{
    struct ws_stage *t = add_stage(r, q);
    t->from = from;
    t->producers = q->stage[from].consumers;
    q->stage[from].to = q->n_stages - 1;
    return t;
}

static void draw_join(struct ws_random *r, struct ws_query *q)
{
    struct ws_stage *build = add_stage(r, q);
    struct ws_stage *probe = add_stage(r, q);
    build->kind = WEIR_HASH;
    build->rows = build->rows / 8 + 1;
    probe->kind = WEIR_HASH;
    probe->consumers = build->consumers;
    struct ws_stage *out = chain(r, q, 0);
    out->probe = 1;
    probe->to = 2;
    q->rows.keys = 16 + ws_pick(r, 200);
}

static void draw_random(struct ws_random *r, struct ws_query *q)
{
    const uint32_t n = 1 + ws_pick(r, WS_STAGES);
    (void)add_stage(r, q);
    while (q->n_stages < n) {
        if (ws_pick(r, 2) == 0) {
            (void)add_stage(r, q);
        } else {
            (void)chain(r, q, q->n_stages - 1);
        }
    }
}

static void draw_stages(struct ws_random *r, struct ws_query *q)
{
    if (q->plan == WS_JOIN) {
        draw_join(r, q);
    } else if (q->plan == WS_RANDOM) {
        draw_random(r, q);
    } else if (q->plan == WS_TWO_STAGE) {
        add_stage(r, q)->kind = WEIR_HASH;
        chain(r, q, 0)->kind = WEIR_HASH;
    }
}

/* One that is sent on after a broadcast would multiply rows without end. */
static void tame(struct ws_query *q, uint32_t most_rows)
{
    for (uint32_t i = 0; i < q->n_stages; i++) {
        struct ws_stage *t = &q->stage[i];
        if (t->kind == WEIR_BROADCAST && t->to != WS_NONE) {
            t->kind = WEIR_RANDOM;
        }
        t->rows = most_rows != 0 ? wi_min_u32(t->rows, most_rows) : t->rows;
    }
}

/* To whom the rows of its stages go; drawn by itself, so that queries of a seed
 * are else what they were before. */
static void draw_to(const struct ws_options *o, uint32_t i, struct ws_query *q)
{
    struct ws_random r = ws_random_of(o->seed, USE_TO + i);
    for (uint32_t k = 0; k < q->n_stages && q->plan != WS_JOIN; k++) {
        q->stage[k].to_node = ws_pick(&r, 3) == 0;
    }
}

static void draw_query(struct ws_shape *s, const struct ws_options *o,
                       uint32_t i)
{
    struct ws_random r = ws_random_of(o->seed, USE_QUERY + i);
    struct ws_query *q = &s->query[i];
    const uint32_t plan = ws_pick(&r, WS_PLANS);
    q->plan = (enum ws_plan)(o->plan < WS_PLANS ? o->plan : plan);
    q->members = draw_set(&r, (1u << s->nodes) - 1);
    q->begin_ns = i == 0 ? 0 : ws_log(&r, 1000, 4 * MS);
    q->rows.keys = 1u << ws_pick(&r, 12);
    if (ws_pick(&r, 4) == 0) {
        q->rows.big_every = 50;
        q->rows.big_bytes = 1000 + ws_pick(&r, 8000);
    }
    draw_stages(&r, q);
    draw_to(o, i, q);
    tame(q, o->rows);
}

void ws_query_last(struct ws_query *q, uint32_t members)
{
    struct ws_random r = ws_random_of(members, USE_QUERY);
    *q = (struct ws_query){
        .plan = WS_TWO_STAGE, .members = members, .rows = {.keys = 64}};
    draw_stages(&r, q);
    for (uint32_t i = 0; i < q->n_stages; i++) {
        q->stage[i].producers = members;
        q->stage[i].consumers = members;
        q->stage[i].rows = 40;
    }
}

static uint32_t clip(uint32_t set, uint32_t members)
{
    return (set & members) != 0 ? set & members : members;
}

bool ws_query_clip(struct ws_query *q, uint32_t present)
{
    q->members &= present;
    for (uint32_t i = 0; i < q->n_stages; i++) {
        struct ws_stage *t = &q->stage[i];
        t->consumers = clip(t->consumers, q->members);
        if (t->kind == WEIR_GATHER) {
            t->consumers &= ~t->consumers + 1; /* the first */
        }
        t->producers = clip(t->producers, q->members);
        if (t->from != WS_NONE) {
            t->producers = q->stage[t->from].consumers;
        }
        if (t->probe != WS_NONE) {
            q->stage[t->probe].consumers = t->producers;
        }
    }
    return q->members != 0;
}

/* ---- all of it ----------------------------------------------------------- */

bool ws_shape_has(const struct ws_shape *shape, enum ws_fault_kind kind)
{
    for (uint32_t i = 0; i < shape->schedule.n; i++) {
        if (shape->schedule.fault[i].kind == kind) {
            return true;
        }
    }
    return false;
}

enum ws_group ws_shape_worst(const struct ws_shape *shape)
{
    enum ws_group worst = WS_BEARABLE;
    for (uint32_t i = 0; i < shape->schedule.n; i++) {
        enum ws_group g = ws_fault_group(shape->schedule.fault[i].kind);
        worst = g > worst ? g : worst;
    }
    return worst;
}

/* What breaks the protocol may stop a query without anybody noticing: then its
 * deadline does. Nothing else may need it. */
static void set_deadlines(struct ws_shape *s)
{
    const uint64_t detect = s->sim.node.detect_ns;
    uint32_t damaging = 0;
    for (uint32_t i = 0; i < s->schedule.n; i++) {
        const struct ws_fault *f = &s->schedule.fault[i];
        const bool damages = ws_fault_group(f->kind) == WS_DAMAGING;
        damaging |= damages ? 1u << f->node : 0;
    }
    for (uint32_t i = 0; i < s->n_queries; i++) {
        const bool damaged = (s->query[i].members & damaging) != 0;
        s->query[i].deadline_ns = damaged ? 8 * detect : 20000000000u;
    }
}

/* The executor's queries have all nodes as members, so these have to be the
 * same all the time. */
static void settle_members(struct ws_shape *s, const struct ws_options *o)
{
    const bool change = s->late != 0 || ws_shape_has(s, WS_FAULT_leave);
    for (uint32_t i = 0; i < s->n_queries; i++) {
        struct ws_query *q = &s->query[i];
        struct ws_random r = ws_random_of(o->seed, USE_QUERY + i);
        if (q->plan == WS_EXECUTOR && change) {
            q->plan = WS_TWO_STAGE;
            draw_stages(&r, q);
            draw_to(o, i, q);
            tame(q, o->rows);
        } else if (q->plan == WS_EXECUTOR) {
            q->members = (1u << s->nodes) - 1;
        }
    }
}

static bool fits(const struct ws_fault *f, const struct ws_shape *s)
{
    return f->node < s->nodes && f->peer < s->nodes;
}

void ws_shape_draw(struct ws_shape *shape, const struct ws_options *o)
{
    memset(shape, 0, sizeof(*shape));
    shape->seed = o->seed;
    shape->log = o->log;
    draw_cluster(shape, o);
    for (uint32_t i = 0; i < shape->n_queries; i++) {
        draw_query(shape, o, i);
    }
    const struct ws_draw d = {.seed = o->seed,
                              .kinds = o->kinds,
                              .nodes = shape->nodes,
                              .late = shape->late,
                              .queries = shape->n_queries,
                              .detect_ns = shape->sim.node.detect_ns};
    if (!o->scheduled) {
        ws_schedule_draw(&shape->schedule, &d);
    }
    for (uint32_t i = 0; o->scheduled && i < o->schedule.n; i++) {
        if (fits(&o->schedule.fault[i], shape)) {
            shape->schedule.fault[shape->schedule.n++] = o->schedule.fault[i];
        }
    }
    settle_members(shape, o);
    set_deadlines(shape);
}
