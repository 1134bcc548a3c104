/* SPDX-License-Identifier: Apache-2.0 */
/* Faults on the simulator, at many times of a run: every run ends, and each
 * member has all its rows exactly once or is told who was lost. */
#include "test/conformance/api.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 4, WORKERS = 2, DETECT_NS = 100000000 };

struct run {
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
};

static struct run *open_run(const struct wt_place *place, uint64_t seed)
{
    const struct wt_cluster_params cluster = {
        .nodes = NODES,
        .workers = WORKERS,
        .node = {.frame_bytes = 1024,
                 .ring_frames = 2,
                 .detect_ns = DETECT_NS,
                 .connect_ns = DETECT_NS},
        .sim = {.seed = seed, .jitter_ns = 3000}};
    const struct wt_flow_params flow = {
        .shuffle = {.partitioning = WEIR_VECTOR}, .n_rows = 600};
    struct run *r = calloc(1, sizeof(*r));
    cr_assert_not_null(r);
    wt_cluster_open(&r->c, place, &cluster);
    wt_query_open(&r->q, &r->c, 1, NULL);
    wt_flow_open(&r->f, &r->q, &flow);
    return r;
}

static void close_run(struct run *r)
{
    wt_query_close(&r->q);
    wt_flow_close(&r->f);
    wt_cluster_close(&r->c);
    free(r);
}

/* Virtual time of a run without faults. */
static uint64_t span(const struct wt_place *place, uint64_t seed)
{
    struct run *r = open_run(place, seed);
    bool ran = wt_cluster_run(&r->c);
    uint64_t end = weir_sim_now(r->c.sim);
    cr_assert(ran && wt_flow_ok(&r->f), "seed %llu: %s",
              (unsigned long long)seed, r->c.why);
    close_run(r);
    return end;
}

/* Every row for a sink that has reached its end, and none twice. */
static bool sink_complete(const struct run *r, const struct wt_sink *s)
{
    for (uint64_t id = 0; id < r->f.n_ids; id++) {
        uint32_t want = wt_flow_dest(&r->f, id) == s->dest;
        if (r->f.seen[s->dest * r->f.n_ids + id] != want) {
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
    if (code != WEIR_OK && (code != WEIR_ERR_PEER_LOST ||
                            (strstr(err.message, a) == NULL &&
                             strstr(err.message, b) == NULL))) {
        wt_complain(&r->c, "node %u: %s: %s", node, weir_err_name(code),
                    err.message);
        return false;
    }
    for (uint32_t w = 0; w < WORKERS; w++) {
        const struct wt_sink *s = r->f.sink[node][w];
        const struct wt_source *o = r->f.source[node][w];
        bool ends = (s->task->end == WEIR_DONE || s->task->end == code) &&
                    (o->task->end == WEIR_DONE || o->task->end == code);
        if (!ends || (s->task->end == WEIR_DONE && !sink_complete(r, s))) {
            wt_complain(&r->c, "node %u worker %u: sink %s, source %s", node,
                        w, weir_err_name(s->task->end),
                        weir_err_name(o->task->end));
            return false;
        }
    }
    return true;
}

/* Those who live can go on, on the same links where there are any. */
static bool next_query_works(struct run *r, uint32_t lost)
{
    uint32_t members[NODES];
    struct weir_query_params params = {.members = members};
    struct wt_query q;
    struct wt_flow f;
    for (uint32_t i = 0; i < NODES; i++) {
        if (i != lost) {
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

enum fault { CRASH, CUT, DROP_SHORT, DROP_LONG };

static void strike(struct run *r, enum fault fault, uint64_t at)
{
    switch (fault) {
    case CRASH:
        weir_sim_crash(r->c.sim, 1, at);
        break;
    case CUT:
        weir_sim_cut(r->c.sim, 1, 2, at);
        break;
    default:
        weir_sim_drop(r->c.sim, 1, 2, at,
                      at + (fault == DROP_SHORT ? DETECT_NS / 4
                                                : DETECT_NS * 4ull));
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
                      uint64_t seed, uint64_t at)
{
    struct run *r = open_run(place, seed);
    strike(r, fault, at);
    bool ok = wt_cluster_run(&r->c);
    bool felt = false;
    for (uint32_t i = 0; i < NODES && ok; i++) {
        if (fault != CRASH || i != 1) {
            ok = member_right(r, i, r->c.name[1],
                              fault == CRASH ? r->c.name[1] : r->c.name[2]);
            felt = felt || weir_query_status(r->q.query[i], NULL) != WEIR_OK;
        }
    }
    if (ok && fault != DROP_LONG) {
        struct moment over = {r->c.sim, at + DETECT_NS}; /* and found */
        ok = wt_until(&r->c, is_past, &over) && next_query_works(r, fault == CRASH ? 1 : UINT32_MAX);
    }
    cr_assert(ok, "fault %d, seed %llu, at %llu ns: %s", (int)fault,
              (unsigned long long)seed, (unsigned long long)at, r->c.why);
    close_run(r);
    return felt;
}

static void many_faults(const struct wt_place *place, enum fault fault,
                        uint64_t times)
{
    const uint64_t seed = 11;
    uint64_t end = span(place, seed);
    uint32_t felt = 0;
    for (uint64_t i = 0; i <= times; i++) {
        felt += one_fault(place, fault, seed + i % 3, end * i / times);
    }
    cr_assert_gt(felt, times / 2, "only %u of %llu faults were felt", felt,
                 (unsigned long long)times);
}

void wt_api_crash_at_any_time(const struct wt_place *place)
{
    many_faults(place, CRASH, 60);
}

void wt_api_cut_at_any_time(const struct wt_place *place)
{
    many_faults(place, CUT, 60);
}

void wt_api_drop_at_any_time(const struct wt_place *place)
{
    many_faults(place, DROP_SHORT, 30);
    many_faults(place, DROP_LONG, 30);
}

static void stall(const struct wt_place *place, uint64_t ns, bool survives)
{
    const uint64_t seed = 5;
    uint64_t end = span(place, seed);
    for (uint64_t i = 0; i < 20; i++) {
        struct run *r = open_run(place, seed);
        uint64_t at = end * i / 20;
        weir_sim_stall(r->c.sim, 1, at, at + ns);
        bool ok = wt_cluster_run(&r->c);
        for (uint32_t k = 0; k < NODES && ok; k++) {
            ok = member_right(r, k, r->c.name[1], k == 1 ? "n" : r->c.name[1]);
            ok = ok && (!survives ||
                        weir_query_status(r->q.query[k], NULL) == WEIR_OK);
        }
        cr_assert(ok, "stall at %llu ns: %s", (unsigned long long)at,
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

void wt_api_seeds_with_jitter_and_small_rings(const struct wt_place *place)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t x = wt_mix(seed, 0);
        const struct wt_cluster_params cluster = {
            .nodes = 2 + (uint32_t)(x % 3),
            .workers = 1 + (uint32_t)(x / 3 % 2),
            .node = {.frame_bytes = 1024 << (x / 6 % 3),
                     .ring_frames = 2 + 2 * (uint32_t)(x / 18 % 2)},
            .sim = {.seed = seed,
                    .latency_ns = 500 + x / 36 % 50000,
                    .jitter_ns = x / 64 % 100000,
                    .bandwidth = 50000000ull << (x / 128 % 8)}};
        const weir_partitioning kinds[] = {WEIR_HASH,      WEIR_ROUND_ROBIN,
                                           WEIR_BROADCAST, WEIR_RANDOM,
                                           WEIR_GATHER,    WEIR_VECTOR};
        const struct wt_flow_params flow = {
            .shuffle = {.partitioning = kinds[x / 1024 % 6], .seed = seed},
            .rows = {.keys = 100, .big_every = 150, .big_bytes = 9000},
            .n_rows = 300,
            .batch_rows = 1 + (uint32_t)(x / 4096 % 200)};
        struct run *r = calloc(1, sizeof(*r));
        cr_assert_not_null(r);
        wt_cluster_open(&r->c, place, &cluster);
        wt_query_open(&r->q, &r->c, 1, NULL);
        wt_flow_open(&r->f, &r->q, &flow);
        bool ok = wt_cluster_run(&r->c) && wt_flow_ok(&r->f);
        cr_assert(ok, "seed %llu: %s", (unsigned long long)seed, r->c.why);
        close_run(r);
    }
}
