/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins that filter what their left input's senders send: the answer is the
 * same, and what may be dropped is. In the simulator, without jitter, the
 * filter is certain to come before most rows, and their number is looked at.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <weir/run.h>

#include "test/support/cluster.h"

enum { LEFT = 100000, RIGHT = 2000, KEPT = 100, BUSY_NS = 5000, JSON = 2048 };
enum { MANY = 40 * LEFT };
enum { MEMBERS = 3, WORKERS = 2 };

static const struct wt_place places[] = {{.transport = "shm"},
                                         {.transport = "tcp"},
                                         {.transport = "sim", .sim = true}};
enum { SIM = 2, PLACES };

/* LEFT rows of keys 0, 1, ... and of RIGHT rows of the same keys those for
 * which `where` holds. */
static const char text[] =
    "{\"weir\": 1, \"tables\": {"
    " \"l\": {\"series\": {\"rows\": %d, \"columns\": ["
    "  {\"name\": \"i\", \"type\": \"int32\"}]}},"
    " \"r\": {\"series\": {\"rows\": %d, \"columns\": ["
    "  {\"name\": \"j\", \"type\": \"int32\"}]}}},"
    " \"operators\": ["
    " {\"name\": \"l\", \"op\": \"scan\", \"table\": \"l\"},"
    " {\"name\": \"left\", \"op\": \"shuffle\", \"input\": \"l\","
    "  \"by\": \"hash\", \"keys\": [\"i\"]},"
    " {\"name\": \"r\", \"op\": \"scan\", \"table\": \"r\"},"
    " {\"name\": \"few\", \"op\": \"filter\", \"input\": \"r\","
    "  \"where\": \"%s\"},"
    " {\"name\": \"right\", \"op\": \"shuffle\", \"input\": \"few\","
    "  \"by\": \"hash\", \"keys\": [\"j\"]},"
    " {\"name\": \"join\", \"op\": \"join\", \"left\": \"left\","
    "  \"right\": \"right\", \"left_keys\": [\"i\"], \"right_keys\": [\"j\"],"
    "  \"kind\": \"%s\", \"filter\": \"%s\"}%s],"
    " \"result\": \"%s\"}";

/* Above the join. */
static const char first_row[] =
    ", {\"name\": \"all\", \"op\": \"shuffle\", \"input\": \"join\","
    "  \"by\": \"gather\"},"
    " {\"name\": \"first\", \"op\": \"limit\", \"input\": \"all\","
    "  \"rows\": 1}";

struct trial {
    const char *kind;
    const char *filter;
    const char *where;
    uint64_t rows;
    bool drops;
};

static const struct trial trials[] = {
    {"inner", "auto", "j < 100", KEPT, true},
    {"semi", "auto", "j < 100", KEPT, true},
    {"inner", "never", "j < 100", KEPT, false},
    {"left", "always", "j < 100", LEFT, false},
    {"anti", "always", "j < 100", LEFT - KEPT, false},
    {"inner", "always", "true", RIGHT, true},
    {"inner", "auto", "j < 0", 0, false}, /* stopped before */
};
enum { TRIALS = sizeof(trials) / sizeof(trials[0]) };

/* Of MANY left rows, one of the answer is enough. */
static const struct trial stopped = {"inner", "always", "j < 100", 1, true};

struct part {
    struct wt_cluster *cluster;
    weir_run *run;
    uint32_t worker;
};

struct scene {
    struct wt_cluster c;
    weir_plan *plan;
    weir_run *run[MEMBERS];
    struct part part[MEMBERS * WORKERS];
    uint64_t rows;
};

static weir_err take_rows(void *arg, const struct ArrowArray *batch,
                          struct weir_error *err)
{
    (void)err;
    ((struct scene *)arg)->rows += (uint64_t)batch->length;
    return WEIR_OK;
}

static weir_err step_part(void *arg)
{
    const struct part *p = arg;
    if (p->cluster->sim != NULL) { /* else all is done at one instant */
        weir_sim_busy(p->cluster->sim, BUSY_NS);
    }
    return weir_run_step(p->run, p->worker);
}

static void open_runs(struct scene *s, const struct trial *t)
{
    const struct weir_run_params params = {
        .query_id = 1, .rows = take_rows, .rows_arg = s};
    struct weir_error err = {0};
    char json[JSON];
    bool stops = t == &stopped;
    (void)snprintf(json, sizeof(json), text, stops ? MANY : LEFT, RIGHT,
                   t->where, t->kind, t->filter, stops ? first_row : "",
                   stops ? "first" : "join");
    cr_assert_eq(weir_plan_read(json, strlen(json), NULL, &s->plan, &err),
                 WEIR_OK, "%s", err.message);
    for (uint32_t n = 0; n < MEMBERS; n++) {
        cr_assert_eq(
            weir_run_open(s->c.node[n], s->plan, &params, &s->run[n], &err),
            WEIR_OK, "%s", err.message);
        for (uint32_t w = 0; w < WORKERS; w++) {
            struct part *p = &s->part[s->c.n_tasks];
            *p = (struct part){&s->c, s->run[n], w};
            (void)wt_task(&s->c, n, w, step_part, p);
        }
    }
}

/* Rows that filters dropped; those sent and these are all there were. */
static uint64_t filtered(const struct scene *s, bool all)
{
    uint64_t dropped = 0;
    uint64_t sent = 0;
    for (uint32_t n = 0; n < MEMBERS; n++) {
        struct weir_op_stats stats;
        struct weir_error err = {0};
        cr_assert_eq(weir_run_status(s->run[n], &err), WEIR_OK, "%s",
                     err.message);
        cr_assert_eq(weir_run_stats(s->run[n], 1, &stats), WEIR_OK);
        cr_assert_str_eq(stats.name, "left");
        dropped += stats.filtered;
        sent += stats.rows;
    }
    cr_assert(!all || dropped + sent == LEFT);
    return dropped;
}

static void run_all(struct scene *s, const struct wt_place *place,
                    const struct trial *t, uint64_t seed)
{
    const struct wt_cluster_params cluster = {
        .nodes = MEMBERS,
        .workers = WORKERS,
        .node = {.frame_bytes = 4096},
        .sim = {.seed = seed, .jitter_ns = seed * 10000}};
    memset(s, 0, sizeof(*s));
    wt_cluster_open(&s->c, place, &cluster);
    open_runs(s, t);
    bool ran = wt_cluster_run(&s->c);
    cr_assert(ran, "%s, %s: %s", place->transport, t->kind, s->c.why);
    cr_assert_eq(s->rows, t->rows, "%s, %s, %s: %llu rows", place->transport,
                 t->kind, t->filter, (unsigned long long)s->rows);
}

static void close_all(struct scene *s)
{
    for (uint32_t n = 0; n < MEMBERS; n++) {
        weir_run_close(s->run[n]);
    }
    weir_plan_close(s->plan);
    wt_cluster_close(&s->c);
}

static void run(const struct wt_place *place, const struct trial *t,
                uint64_t seed)
{
    static struct scene s;
    run_all(&s, place, t, seed);
    uint64_t dropped = filtered(&s, t->rows != 0);
    cr_assert(t->drops || dropped == 0);
    cr_assert(!t->drops || !place->sim || seed > 0 || dropped > LEFT / 2,
              "%llu rows dropped", (unsigned long long)dropped);
    close_all(&s);
}

Test(run_filter, answers_are_the_same, .timeout = 100)
{
    for (uint32_t i = 0; i < TRIALS * PLACES; i++) {
        run(&places[i % PLACES], &trials[i / PLACES], 0);
    }
}

Test(run_filter, filters_come_at_any_time, .timeout = 100)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        run(&places[SIM], &trials[seed % 2], seed);
    }
}

/* Senders that are stopped have dropped rows of a batch that does not count as
 * sent. */
Test(run_filter, no_sender_has_sent_less_than_nothing, .timeout = 100)
{
    static struct scene s;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        run_all(&s, &places[SIM], &stopped, seed);
        for (uint32_t n = 0; n < MEMBERS; n++) {
            struct weir_op_stats stats;
            cr_assert_eq(weir_run_stats(s.run[n], 1, &stats), WEIR_OK);
            cr_assert_leq(stats.rows, MANY, "%llu rows sent",
                          (unsigned long long)stats.rows);
        }
        close_all(&s);
    }
}
