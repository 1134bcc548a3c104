/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members that leave a query in any way at any time, on the simulator: nobody
 * waits forever. Members that did nothing wrong hear a cause; where one member
 * alone did, all hear the same one.
 */
#include "test/conformance/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 400, SHUFFLES = 3, MOST = 5, SKIP_LOOKS = 10 };

enum way {
    STAYS,        /* until all is done */
    CLOSES,       /* after some steps */
    REFUSED,      /* a shuffle cannot be opened */
    SKIPS_READER, /* of a shuffle, and closes a while later */
    SKIPS_WRITER,
    SKIPS_SHUFFLE,
    CANCELS,
    FINDS_FAULT,
    OTHER_LIST, /* of members */
    RUNS_OUT,   /* has a deadline, and does nothing */
    WAYS,
};

struct actor {
    struct world *world;
    uint32_t node;
    enum way way;
    uint32_t at;   /* steps that it made */
    uint32_t then; /* step or shuffle of what it does */
    uint64_t seed;
    weir_query *query;
    weir_writer *writer[SHUFFLES];
    weir_reader *reader[SHUFFLES];
    struct weir_error err; /* what it heard */
};

struct world {
    struct wt_cluster c;
    struct ArrowSchema schema;
    uint64_t seed;
    uint32_t n;
    uint32_t n_shuffles;
    uint32_t list[SHUFFLES][2][MOST]; /* producers, consumers */
    uint32_t n_list[SHUFFLES][2];
    struct actor actor[MOST];
};

static const struct weir_field fields[] = {{"id", "l", 0}};

/* ---- what a member does -------------------------------------------------- */

static weir_err end(struct actor *a)
{
    if (a->query != NULL) {
        (void)weir_query_status(a->query, &a->err);
        weir_query_close(a->query);
        a->query = NULL;
    }
    return WEIR_DONE;
}

static weir_err open_query(struct actor *a)
{
    struct world *w = a->world;
    uint32_t mine[MOST];
    struct weir_query_params p = {.id = 1};
    for (uint32_t i = 0; i < w->n; i++) { /* all but the next one */
        mine[p.n_members] = i;
        p.n_members += i != (a->node + 1) % w->n;
    }
    p.members = a->way == OTHER_LIST ? mine : NULL;
    p.n_members = a->way == OTHER_LIST ? p.n_members : 0;
    p.deadline_ns = a->way == RUNS_OUT ? 50000000 : 0;
    weir_err rc = weir_query_open(w->c.node[a->node], &p, &a->query, &a->err);
    cr_assert_eq(rc, WEIR_OK, "%s", a->err.message);
    return WEIR_OK;
}

static bool takes_part(const struct world *w, uint32_t shuffle, int side,
                       uint32_t node)
{
    for (uint32_t i = 0; i < w->n_list[shuffle][side]; i++) {
        if (w->list[shuffle][side][i] == node) {
            return true;
        }
    }
    return false;
}

/* False: it closes now. */
static bool open_shuffle(struct actor *a, uint32_t k)
{
    struct world *w = a->world;
    const char *const unknown[] = {"colour"};
    bool refused = a->way == REFUSED && k == a->then;
    struct weir_shuffle_params p = {.id = k + 1,
                                    .schema = &w->schema,
                                    .partitioning =
                                        refused ? WEIR_HASH : WEIR_ROUND_ROBIN,
                                    .keys = refused ? unknown : NULL,
                                    .n_keys = refused ? 1 : 0,
                                    .producers = w->list[k][0],
                                    .n_producers = w->n_list[k][0],
                                    .consumers = w->list[k][1],
                                    .n_consumers = w->n_list[k][1]};
    weir_shuffle *s = NULL;
    bool skips = k == a->then;
    if (a->way == SKIPS_SHUFFLE && skips) {
        return true;
    }
    weir_err rc = weir_shuffle_open(a->query, &p, &s, NULL);
    if (rc == WEIR_OK && takes_part(w, k, 0, a->node) &&
        !(a->way == SKIPS_WRITER && skips)) {
        rc = weir_writer_open(s, 0, &a->writer[k], NULL);
    }
    if (rc == WEIR_OK && takes_part(w, k, 1, a->node) &&
        !(a->way == SKIPS_READER && skips)) {
        rc = weir_reader_open(s, 0, &a->reader[k], NULL);
    }
    return rc == WEIR_OK;
}

/* All writers and readers; WEIR_DONE: they have ended. */
static weir_err serve(struct actor *a)
{
    weir_err all = WEIR_DONE;
    for (uint32_t k = 0; k < a->world->n_shuffles && all >= 0; k++) {
        struct ArrowArray none;
        weir_err rc =
            a->writer[k] == NULL ? WEIR_OK : weir_writer_finish(a->writer[k]);
        weir_err other = a->reader[k] == NULL
                             ? WEIR_DONE
                             : weir_reader_next(a->reader[k], &none);
        rc = rc < 0 ? rc : other < 0 ? other : rc;
        all = rc < 0                                    ? rc
              : rc == WEIR_AGAIN || other == WEIR_AGAIN ? WEIR_AGAIN
                                                        : all;
    }
    return all;
}

static weir_err misbehave(struct actor *a)
{
    const struct weir_error cause = {WEIR_ERR_QUERY_DATA, "no such value"};
    if (a->way == CANCELS) {
        weir_query_cancel(a->query, "enough");
    } else if (a->way == FINDS_FAULT) {
        cr_assert_eq(weir_query_fail(a->query, &cause), WEIR_OK);
        a->way = STAYS; /* until it comes back */
        return WEIR_OK;
    }
    return end(a);
}

static weir_err act(void *arg)
{
    struct actor *a = arg;
    struct world *w = a->world;
    uint64_t x = wt_mix(a->seed, a->at);
    uint32_t step = a->at++;
    bool acts = a->way == CLOSES || a->way == CANCELS || a->way == FINDS_FAULT;
    if (step <= w->n_shuffles) { /* else only when something happened */
        static const uint64_t ns[] = {0, 10000, 200000, 3000000, 40000000};
        weir_sim_busy(w->c.sim, ns[x % 5] + x / 8 % 1000);
    }
    if (step == 0) {
        return open_query(a);
    }
    if (weir_query_status(a->query, NULL) != WEIR_OK) {
        return end(a);
    }
    if (acts && step >= a->then + 1) {
        return misbehave(a);
    }
    if (a->way == RUNS_OUT) {
        return WEIR_AGAIN; /* woken when it fails */
    }
    if (step <= w->n_shuffles) {
        return open_shuffle(a, step - 1) ? WEIR_OK : end(a);
    }
    bool skips = a->way >= SKIPS_READER && a->way <= SKIPS_SHUFFLE;
    weir_err rc = serve(a);
    if (rc == WEIR_AGAIN && skips && step <= w->n_shuffles + SKIP_LOOKS) {
        weir_sim_busy(w->c.sim, 5000000); /* it may wait for itself */
        return WEIR_OK;
    }
    return rc == WEIR_AGAIN && !skips ? rc : end(a);
}

/* ---- a run --------------------------------------------------------------- */

static void make_list(struct world *w, uint32_t k, int side)
{
    uint64_t x = wt_mix(w->seed, 100 + 2 * k + (uint32_t)side);
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        if (x >> i & 1) {
            w->list[k][side][n++] = i;
        }
    }
    if (n == 0) {
        w->list[k][side][n++] = (uint32_t)(x / 32 % w->n);
    }
    w->n_list[k][side] = n;
}

/* How many do something wrong. */
static uint32_t cast(struct world *w)
{
    uint64_t x = wt_mix(w->seed, 1);
    uint32_t wrong = (uint32_t)(x % 8 < 5 ? 1 : x % 8 == 5 ? 0 : 2);
    for (uint32_t i = 0; i < w->n; i++) {
        uint64_t y = wt_mix(w->seed, 10 + i);
        bool bad = (i + w->n - x / 8 % w->n) % w->n < wrong;
        struct actor *a = &w->actor[i];
        *a = (struct actor){.world = w,
                            .node = i,
                            .seed = y,
                            .way = bad ? 1 + (enum way)(y % (WAYS - 1)) : STAYS,
                            .then = (uint32_t)(y / 64 % w->n_shuffles)};
        wt_task(&w->c, i, 0, act, a);
    }
    return wrong;
}

static void open_world(struct world *w, const struct wt_place *place)
{
    struct weir_error err;
    uint64_t x = wt_mix(w->seed, 2);
    w->n = 2 + (uint32_t)(x % (MOST - 1));
    w->n_shuffles = 1 + (uint32_t)(x / 16 % SHUFFLES);
    const struct wt_cluster_params cluster = {
        .nodes = w->n,
        /* what a link that rests brings about, or nothing but messages */
        .node = {.idle_close_ns = w->seed % 2 != 0 ? 20000000 : 1000000000000,
                 .detect_ns = 100000000,
                 .connect_ns = 100000000},
        .sim = {.seed = w->seed, .latency_ns = 20000, .jitter_ns = 50000}};
    wt_cluster_open(&w->c, place, &cluster);
    cr_assert_eq(weir_schema_build(fields, 1, &w->schema, &err), WEIR_OK);
    for (uint32_t k = 0; k < w->n_shuffles; k++) {
        make_list(w, k, 0);
        make_list(w, k, 1);
    }
}

/* What members heard: nothing if nobody did anything wrong, and one thing if
 * one did. A member with another list of members tells those that are not in it
 * something else. */
static void check(const struct world *w, uint32_t wrong)
{
    const struct weir_error *first = NULL;
    bool listed = true;
    for (uint32_t i = 0; i < w->n; i++) {
        listed = listed && w->actor[i].way != OTHER_LIST;
    }
    for (uint32_t i = 0; i < w->n; i++) {
        const struct weir_error *e = &w->actor[i].err;
        bool failed = e->code != WEIR_OK;
        cr_assert(!failed || wrong != 0, "seed %llu, node %u: %s",
                  (unsigned long long)w->seed, i, e->message);
        cr_assert(!failed || e->message[0] != '\0');
        if (failed && first != NULL && wrong == 1 && listed) {
            cr_assert_str_eq(e->message, first->message, "seed %llu",
                             (unsigned long long)w->seed);
        }
        first = failed ? e : first;
    }
}

static void play(const struct wt_place *place, uint64_t seed)
{
    struct world *w = calloc(1, sizeof(*w));
    cr_assert_not_null(w);
    w->seed = seed;
    open_world(w, place);
    uint32_t wrong = cast(w);
    bool ran = wt_cluster_run(&w->c);
    cr_assert(ran, "seed %llu: %s", (unsigned long long)seed, w->c.why);
    check(w, wrong);
    w->schema.release(&w->schema);
    wt_cluster_close(&w->c);
    free(w);
}

void wt_api_members_that_leave_anyhow_leave_nobody_waiting(
    const struct wt_place *place)
{
    const char *one = getenv("WEIR_SEED");
    const char *many = getenv("WEIR_SEEDS");
    uint64_t n = many != NULL ? strtoull(many, NULL, 10) : SEEDS;
    if (one != NULL) {
        play(place, strtoull(one, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= n; seed++) {
        play(place, seed);
    }
}
