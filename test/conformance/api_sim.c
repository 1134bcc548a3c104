/* SPDX-License-Identifier: Apache-2.0 */
/* Faults on the simulator, at many times of a run: every run ends, and each
 * member has all its rows exactly once or is told who was lost. */
#include "test/conformance/api.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/cc.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/query/writer.h"

enum { NODES = 4, WORKERS = 2, DETECT_NS = 100000000 };

/* What a run is made of, drawn from its seed. */
struct shape {
    uint64_t seed;
    bool tight;   /* the least memory: rings thread-to-node of two frames */
    bool chained; /* two shuffles, one after the other */
    uint32_t big_bytes; /* now and then a row that needs chunks */
    uint32_t hold;      /* batches that readers keep */
};

struct run {
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f[2];
    struct wt_relay relays[NODES * WORKERS];
    uint32_t n_flows;
    char told[WEIR_ERROR_MESSAGE_BYTES]; /* by the first that failed */
};

/* The simulator's writes cost once up to 16320 bytes: frames of 16 KiB are
 * shortened to that; those of 20 KiB stay: a fifth of each would be lost. */
void wt_api_frames_fit_the_writes(const struct wt_place *place)
{
    static const uint32_t asked[] = {16384, 20480, 32768, 8192};
    static const uint32_t fits[] = {16320, 20480, 32640, 8192};
    for (uint32_t i = 0; i < WI_ARRAY_LEN(asked); i++) {
        const struct wt_cluster_params cluster = {
            .nodes = 2, .node = {.frame_bytes = asked[i]}};
        const struct wt_flow_params params = {
            .shuffle = {.partitioning = WEIR_VECTOR}, .n_rows = 5000};
        struct wt_cluster c;
        struct wt_query q;
        struct wt_flow f;
        wt_cluster_open(&c, place, &cluster);
        wt_query_open(&q, &c, 1, NULL);
        wt_flow_open(&f, &q, &params);
        cr_assert(wt_cluster_run(&c), "%s", c.why);
        wt_flow_check(&f);
        const struct weir_writer *w = f.source[1][0]->writer;
        cr_assert_eq(w->lanes[0].out->frame_bytes, fits[i]);
        cr_assert_eq(w->lanes[1].out->frame_bytes, asked[i], "mapped");
        wt_query_close(&q);
        wt_flow_close(&f);
        wt_cluster_close(&c);
    }
}

static struct shape shape_of(uint64_t seed)
{
    uint64_t x = wt_mix(seed, 99);
    return (struct shape){.seed = seed,
                          .tight = x % 3 == 0,
                          .chained = x / 3 % 2 == 0,
                          .big_bytes = x / 6 % 3 == 0 ? 6000 : 0,
                          .hold = (uint32_t)(x / 18 % 3)};
}

static void open_flows(struct run *r, const struct shape *shape)
{
    r->n_flows = shape->chained ? 2 : 1;
    for (uint32_t i = 0; i < r->n_flows; i++) {
        const struct wt_flow_params flow = {
            .shuffle = {.id = i + 1, .partitioning = WEIR_VECTOR},
            .rows = {.big_every = shape->big_bytes != 0 ? 101 : 0,
                     .big_bytes = shape->big_bytes},
            .n_rows = 600,
            .relayed = i > 0,
            .n_ids = 600 * NODES * WORKERS};
        wt_flow_open(&r->f[i], &r->q, &flow);
    }
    for (uint32_t i = 0; i < NODES * WORKERS; i++) {
        struct wt_sink *first = r->f[0].sink[i / WORKERS][i % WORKERS];
        struct wt_sink *last =
            r->f[r->n_flows - 1].sink[i / WORKERS][i % WORKERS];
        last->hold = shape->hold;
        if (shape->chained) {
            wt_relay_open(&r->relays[i], first,
                          r->f[1].source[i / WORKERS][i % WORKERS], NULL);
        }
    }
}

static struct run *open_run(const struct wt_place *place,
                            const struct shape *shape)
{
    struct wt_cluster_params cluster = {
        .nodes = NODES,
        .workers = WORKERS,
        .node = {.frame_bytes = 1024,
                 .ring_frames = 2,
                 .max_shuffles = 3,
                 .detect_ns = DETECT_NS,
                 .connect_ns = DETECT_NS},
        .sim = {.seed = shape->seed, .jitter_ns = 3000}};
    struct run *r = calloc(1, sizeof(*r));
    cr_assert_not_null(r);
    if (shape->tight) {
        cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    }
    wt_cluster_open(&r->c, place, &cluster);
    wt_query_open(&r->q, &r->c, 1, NULL);
    open_flows(r, shape);
    return r;
}

static void close_run(struct run *r)
{
    wt_query_close(&r->q);
    for (uint32_t i = 0; i < r->n_flows; i++) {
        wt_flow_close(&r->f[i]);
    }
    wt_cluster_close(&r->c);
    free(r);
}

static bool run_ok(const struct run *r)
{
    return wt_flow_ok(&r->f[0]) && (r->n_flows == 1 || wt_flow_ok(&r->f[1]));
}

/* Virtual time of a run without faults. */
static uint64_t span(const struct wt_place *place, const struct shape *shape)
{
    struct run *r = open_run(place, shape);
    bool ran = wt_cluster_run(&r->c);
    uint64_t end = weir_sim_now(r->c.sim);
    cr_assert(ran && run_ok(r), "seed %llu: %s",
              (unsigned long long)shape->seed, r->c.why);
    close_run(r);
    return end;
}

/* Every row for a sink that has reached its end, and none twice. */
static bool sink_complete(const struct wt_flow *f, const struct wt_sink *s)
{
    for (uint64_t id = 0; id < f->n_ids; id++) {
        uint32_t want = wt_flow_dest(f, id) == s->dest;
        if (f->seen[s->dest * f->n_ids + id] != want) {
            return false;
        }
    }
    return true;
}

static bool ends_right(struct run *r, const struct wt_flow *f, uint32_t node,
                       weir_err code)
{
    for (uint32_t w = 0; w < WORKERS; w++) {
        const struct wt_sink *s = f->sink[node][w];
        const struct wt_source *o = f->source[node][w];
        bool ends = (s->task->end == WEIR_DONE || s->task->end == code) &&
                    (o->task->end == WEIR_DONE || o->task->end == code);
        if (!ends || (s->task->end == WEIR_DONE && !sink_complete(f, s))) {
            wt_complain(&r->c, "node %u worker %u: sink %s, source %s", node, w,
                        weir_err_name(s->task->end),
                        weir_err_name(o->task->end));
            return false;
        }
    }
    return true;
}

/* What a member that lives has to show. */
static bool member_right(struct run *r, uint32_t node, const char *a,
                         const char *b)
{
    struct weir_error err = {0};
    weir_err code = weir_query_status(r->q.query[node], &err);
    if (code != WEIR_OK &&
        (code != WEIR_ERR_PEER_LOST ||
         (strstr(err.message, a) == NULL && strstr(err.message, b) == NULL))) {
        wt_complain(&r->c, "node %u: %s: %s", node, weir_err_name(code),
                    err.message);
        return false;
    }
    return ends_right(r, &r->f[0], node, code) &&
           (r->n_flows == 1 || ends_right(r, &r->f[1], node, code));
}

/* Members that fail all tell the same. */
static bool tells_the_same(struct run *r, uint32_t node)
{
    struct weir_error err = {0};
    if (weir_query_status(r->q.query[node], &err) == WEIR_OK) {
        return true;
    }
    if (r->told[0] == '\0') {
        memcpy(r->told, err.message, sizeof(r->told));
    }
    bool same = strcmp(r->told, err.message) == 0;
    if (!same) {
        wt_complain(&r->c, "node %u: %s, and another: %s", node, err.message,
                    r->told);
    }
    return same;
}

enum fault { CRASH, CRASH_TWO, CUT, DROP_SHORT, DROP_LONG };

static bool dies(enum fault fault, uint32_t node)
{
    return (fault == CRASH && node == 1) || (fault == CRASH_TWO && node <= 1);
}

/* Members that live can go on, on the same links where there are any. */
static bool next_query_works(struct run *r, enum fault fault)
{
    uint32_t members[NODES];
    struct weir_query_params params = {.members = members};
    struct wt_query q;
    struct wt_flow f;
    for (uint32_t i = 0; i < NODES; i++) {
        if (!dies(fault, i)) {
            members[params.n_members++] = i;
        }
    }
    r->c.n_tasks = 0;
    wt_query_open(&q, &r->c, 2, &params);
    wt_flow_open(&f, &q, NULL);
    bool ok = wt_cluster_run(&r->c) && wt_flow_ok(&f);
    wt_query_close(&q);
    wt_flow_close(&f);
    return ok;
}

static void strike(struct run *r, enum fault fault, uint64_t at)
{
    switch (fault) {
    case CRASH:
        weir_sim_crash(r->c.sim, 1, at);
        break;
    case CRASH_TWO: /* with 0 whoever others ask which fault it is to be */
        weir_sim_crash(r->c.sim, 1, at);
        weir_sim_crash(r->c.sim, 0, at);
        break;
    case CUT:
        weir_sim_cut(r->c.sim, 1, 2, at);
        break;
    default:
        weir_sim_drop(
            r->c.sim, 1, 2, at,
            at + (fault == DROP_SHORT ? DETECT_NS / 4 : DETECT_NS * 4ull));
        break;
    }
}

struct moment {
    const weir_sim *sim;
    uint64_t at_ns;
};

static bool is_past(void *arg)
{
    const struct moment *m = arg;
    return weir_sim_now(m->sim) >= m->at_ns;
}

/* Returns true if the fault came early enough to be felt. */
static bool one_fault(const struct wt_place *place, enum fault fault,
                      const struct shape *shape, uint64_t at)
{
    struct run *r = open_run(place, shape);
    strike(r, fault, at);
    bool ok = wt_cluster_run(&r->c);
    bool felt = false;
    uint32_t other = fault == CRASH_TWO ? 0 : fault == CRASH ? 1 : 2;
    for (uint32_t i = 0; i < NODES && ok; i++) {
        if (!dies(fault, i)) {
            ok = member_right(r, i, r->c.name[1], r->c.name[other]) &&
                 tells_the_same(r, i);
            felt = felt || weir_query_status(r->q.query[i], NULL) != WEIR_OK;
        }
    }
    if (ok && fault != DROP_LONG) {
        /* When it is over and found, and what the first query held is free:
         * the least memory is not enough for a lost link and its successor. */
        struct moment over = {r->c.sim, at + DETECT_NS};
        if (weir_sim_now(r->c.sim) + DETECT_NS > over.at_ns) {
            over.at_ns = weir_sim_now(r->c.sim) + DETECT_NS;
        }
        wt_query_close(&r->q);
        ok = wt_until(&r->c, is_past, &over) && next_query_works(r, fault);
    }
    cr_assert(ok, "fault %d, seed %llu, at %llu ns: %s", (int)fault,
              (unsigned long long)shape->seed, (unsigned long long)at,
              r->c.why);
    close_run(r);
    return felt;
}

/* Times spread over the run; each seed is a shape of its own. */
static void many_faults(const struct wt_place *place, enum fault fault,
                        uint64_t seeds, uint64_t times)
{
    uint32_t felt = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct shape shape = shape_of(seed);
        uint64_t end = span(place, &shape);
        for (uint64_t i = 0; i < times; i++) {
            uint64_t at = end * i / times + wt_mix(seed, i) % (end / times);
            felt += one_fault(place, fault, &shape, at);
        }
    }
    cr_assert_gt(felt, seeds * times / 2, "only %u of %llu faults were felt",
                 felt, (unsigned long long)(seeds * times));
}

void wt_api_crash_at_any_time(const struct wt_place *place)
{
    many_faults(place, CRASH, 12, 8);
    many_faults(place, CRASH_TWO, 12, 8);
}

void wt_api_cut_at_any_time(const struct wt_place *place)
{
    many_faults(place, CUT, 12, 8);
}

void wt_api_drop_at_any_time(const struct wt_place *place)
{
    many_faults(place, DROP_SHORT, 6, 8);
    many_faults(place, DROP_LONG, 6, 8);
}

static void stall(const struct wt_place *place, uint64_t ns, bool survives)
{
    for (uint64_t i = 0; i < 24; i++) {
        struct shape shape = shape_of(i + 1);
        uint64_t end = span(place, &shape);
        struct run *r = open_run(place, &shape);
        uint64_t at = end * (i % 6) / 6;
        weir_sim_stall(r->c.sim, 1, at, at + ns);
        bool ok = wt_cluster_run(&r->c);
        for (uint32_t k = 0; k < NODES && ok; k++) {
            ok = member_right(r, k, r->c.name[1], k == 1 ? "n" : r->c.name[1]);
            ok = ok && (k == 1 || tells_the_same(r, k));
            ok = ok && (!survives ||
                        weir_query_status(r->q.query[k], NULL) == WEIR_OK);
        }
        cr_assert(ok, "seed %llu, stall at %llu ns: %s",
                  (unsigned long long)shape.seed, (unsigned long long)at,
                  r->c.why);
        close_run(r);
    }
}

void wt_api_stall_shorter_than_detection(const struct wt_place *place)
{
    stall(place, DETECT_NS / 2, true);
}

void wt_api_stall_longer_than_detection(const struct wt_place *place)
{
    stall(place, DETECT_NS * 3ull, false);
}

/* ---- seeds --------------------------------------------------------------- */

/* Everything about a run from its seed: who, over which rings, what is held,
 * who stops. */
static void one_seed(const struct wt_place *place, uint64_t seed)
{
    uint64_t x = wt_mix(seed, 0);
    const weir_partitioning kinds[] = {WEIR_HASH,      WEIR_ROUND_ROBIN,
                                       WEIR_BROADCAST, WEIR_RANDOM,
                                       WEIR_GATHER,    WEIR_VECTOR};
    struct wt_cluster_params cluster = {
        .nodes = 2 + (uint32_t)(x % 3),
        .workers = 1 + (uint32_t)(x / 3 % 3),
        .node = {.frame_bytes = 1024u << (x / 9 % 3),
                 .ring_frames = 2 + 2 * (uint32_t)(x / 27 % 3)},
        .sim = {.seed = seed,
                .latency_ns = 500 + x / 81 % 50000,
                .jitter_ns = x / 91 % 100000,
                .bandwidth = 50000000ull << (x / 243 % 8)}};
    if (x / 729 % 2 == 0) {
        cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    }
    x = wt_mix(seed, 1);
    const struct wt_flow_params flow = {
        .shuffle = {.partitioning = kinds[x % 6], .seed = seed},
        .rows = {.keys = 1 + x / 6 % 100, .big_every = 150, .big_bytes = 9000},
        .n_rows = 300,
        .batch_rows = 1 + (uint32_t)(x / 600 % 200)};
    struct run *r = calloc(1, sizeof(*r));
    cr_assert_not_null(r);
    wt_cluster_open(&r->c, place, &cluster);
    wt_query_open(&r->q, &r->c, 1, NULL);
    wt_flow_open(&r->f[0], &r->q, &flow);
    r->n_flows = 1;
    for (uint32_t i = 0; i < cluster.nodes * cluster.workers; i++) {
        struct wt_sink *s =
            r->f[0].sink[i / cluster.workers][i % cluster.workers];
        uint64_t y = wt_mix(seed, 100 + i);
        if (s != NULL) {
            s->hold = (uint32_t)(y % 3) * 2;
            s->detach = y / 3 % 4 == 0;
            s->stop_after = y / 12 % 8 == 0 ? y / 96 % 200 : UINT64_MAX;
        }
    }
    bool ok = wt_cluster_run(&r->c) && wt_flow_ok(&r->f[0]);
    cr_assert(ok, "seed %llu: %s", (unsigned long long)seed, r->c.why);
    close_run(r);
}

void wt_api_seeds_with_jitter_and_small_rings(const struct wt_place *place)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        one_seed(place, seed);
    }
}

/* ---- a peer that writes where it should not ------------------------------ */

/* A sink of node 0. Before each step its peers write to the memory that they
 * were granted: to the control blocks, which only mapped links use. */
static weir_err scribbled_step(void *arg)
{
    const struct wt_sink *s = arg;
    struct wi_engine *e = &s->flow->cluster->node[0]->engine;
    for (uint32_t i = 1; i < NODES; i++) {
        struct wi_link *l = e->members[i].link;
        if (l != NULL && l->area.base != NULL && !l->mapped) {
            memset(l->area.base, 0x5a,
                   e->budget.n_units * sizeof(struct wi_ring_ctl));
        }
    }
    return wt_sink_step(arg);
}

void wt_api_control_blocks_of_posted_rings_are_not_read(
    const struct wt_place *place)
{
    const struct shape shape = {.seed = 1};
    struct run *r = open_run(place, &shape);
    r->f[0].sink[0][0]->task->step = scribbled_step;
    bool ran = wt_cluster_run(&r->c);
    cr_assert(ran && run_ok(r), "%s", r->c.why);
    const struct wi_link *l = r->c.node[0]->engine.members[1].link;
    cr_assert(!l->mapped);
    cr_assert_eq(*(const uint8_t *)l->area.base, 0x5a, "nothing was written");
    close_run(r);
}
