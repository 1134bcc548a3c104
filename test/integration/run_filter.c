/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins that filter what their left input's senders send: the answer is the
 * same, and what may be dropped is. In the simulator, without jitter, the
 * filter is certain to come before most rows, and their number is looked at.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "test/support/runs.h"

enum { LEFT = 100000, RIGHT = 2000, KEPT = 100, JSON = 4096 };
enum { MANY = 40 * LEFT };
enum { MEMBERS = 3 };

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
    "  \"by\": \"hash\", \"keys\": [\"j\"]},%s"
    " {\"name\": \"join\", \"op\": \"join\", \"left\": \"%s\","
    "  \"right\": \"right\", \"left_keys\": [\"%s\"], \"right_keys\": [\"j\"],"
    "  \"kind\": \"%s\", \"filter\": \"%s\"}%s],"
    " \"result\": \"%s\"}";

/* Between the left shuffle and the join: column "k" of "under". */
static const char same_rows[] =
    " {\"name\": \"named\", \"op\": \"project\", \"input\": \"left\","
    "  \"outputs\": [{\"name\": \"k\", \"expr\": \"i\"}]},"
    " {\"name\": \"r2\", \"op\": \"scan\", \"table\": \"r\"},"
    " {\"name\": \"all\", \"op\": \"shuffle\", \"input\": \"r2\","
    "  \"by\": \"broadcast\"},"
    " {\"name\": \"j2\", \"op\": \"project\", \"input\": \"all\","
    "  \"outputs\": [{\"name\": \"j2\", \"expr\": \"j\"}]},"
    " {\"name\": \"joined\", \"op\": \"join\", \"kind\": \"left\","
    "  \"left\": \"named\", \"right\": \"j2\", \"left_keys\": [\"k\"],"
    "  \"right_keys\": [\"j2\"]},"
    " {\"name\": \"under\", \"op\": \"filter\", \"input\": \"joined\","
    "  \"where\": \"k >= 0\"},";
static const char two_shuffles[] =
    " {\"name\": \"l2\", \"op\": \"scan\", \"table\": \"l\"},"
    " {\"name\": \"left2\", \"op\": \"shuffle\", \"input\": \"l2\","
    "  \"by\": \"hash\", \"keys\": [\"i\"]},"
    " {\"name\": \"both\", \"op\": \"union\","
    "  \"inputs\": [\"left2\", \"left\"]},"
    " {\"name\": \"keys\", \"op\": \"project\", \"input\": \"both\","
    "  \"outputs\": [{\"name\": \"k\", \"expr\": \"i\"}]},"
    " {\"name\": \"under\", \"op\": \"aggregate\", \"input\": \"keys\","
    "  \"groups\": [\"k\"],"
    "  \"aggregates\": [{\"name\": \"n\", \"expr\": \"count(*)\"}]},";
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
    const char *under; /* NULL: the join is above the shuffle */
};

static const struct trial trials[] = {
    {"inner", "auto", "j < 100", KEPT, true, NULL},
    {"semi", "auto", "j < 100", KEPT, true, NULL},
    {"inner", "never", "j < 100", KEPT, false, NULL},
    {"left", "always", "j < 100", LEFT, false, NULL},
    {"anti", "always", "j < 100", LEFT - KEPT, false, NULL},
    {"inner", "always", "true", RIGHT, true, NULL},
    {"inner", "auto", "j < 0", 0, false, NULL}, /* stopped before */
    {"inner", "auto", "j < 100", KEPT, true, same_rows},
    {"semi", "auto", "j < 100", KEPT, true, two_shuffles},
};
enum { TRIALS = sizeof(trials) / sizeof(trials[0]) };

/* Of MANY left rows, one of the answer is enough. */
static const struct trial stopped = {"inner", "always", "j < 100",
                                     1,       true,     NULL};

static void open_runs(struct wt_runs *s, const struct trial *t)
{
    char json[JSON];
    bool stops = t == &stopped;
    (void)snprintf(json, sizeof(json), text, stops ? MANY : LEFT, RIGHT,
                   t->where, t->under != NULL ? t->under : "",
                   t->under != NULL ? "under" : "left",
                   t->under != NULL ? "k" : "i", t->kind, t->filter,
                   stops ? first_row : "", stops ? "first" : "join");
    wt_runs_open(s, json);
}

/* Rows that filters dropped; those sent and these are all there were. */
static uint64_t filtered(const struct wt_runs *s, bool all)
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

static void run_all(struct wt_runs *s, const struct wt_place *place,
                    const struct trial *t, uint64_t seed)
{
    const struct wt_cluster_params cluster = {
        .nodes = MEMBERS,
        .workers = WT_RUNS_WORKERS,
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

static void run(const struct wt_place *place, const struct trial *t,
                uint64_t seed)
{
    static struct wt_runs s;
    run_all(&s, place, t, seed);
    uint64_t dropped = filtered(&s, t->rows != 0);
    cr_assert(t->drops || dropped == 0);
    cr_assert(!t->drops || !place->sim || seed > 0 || dropped > LEFT / 2,
              "%llu rows dropped", (unsigned long long)dropped);
    wt_runs_close(&s);
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

/* The plan does not say that few rows will match; the first ones do. */
Test(run_filter, rows_that_turn_out_useless_are_filtered, .timeout = 100)
{
    static const struct trial trial = {"inner", "auto", "true",
                                       RIGHT,   true,   NULL};
    static struct wt_runs s;
    for (uint32_t i = 0; i < PLACES; i++) {
        run_all(&s, &places[i], &trial, 0);
        uint64_t dropped = filtered(&s, true);
        cr_assert(!places[i].sim || dropped > LEFT / 10, "%llu rows dropped",
                  (unsigned long long)dropped);
        wt_runs_close(&s);
    }
}

/* Senders that are stopped have dropped rows of a batch that does not count as
 * sent. */
Test(run_filter, no_sender_has_sent_less_than_nothing, .timeout = 100)
{
    static struct wt_runs s;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        run_all(&s, &places[SIM], &stopped, seed);
        for (uint32_t n = 0; n < MEMBERS; n++) {
            struct weir_op_stats stats;
            cr_assert_eq(weir_run_stats(s.run[n], 1, &stats), WEIR_OK);
            cr_assert_leq(stats.rows, MANY, "%llu rows sent",
                          (unsigned long long)stats.rows);
        }
        wt_runs_close(&s);
    }
}
