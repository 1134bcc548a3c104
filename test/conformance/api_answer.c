/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A producer that has sent a burst of rows and waits for the answer of their
 * consumer, again and again. Whatever the burst came to - full frames one after
 * the other, the beginning of a frame, more than the ring takes - all of it
 * arrives, though nobody flushes.
 */
#include "test/conformance/api.h"

#include <string.h>

#include "core/base/cc.h"

/* Pushes of a run, and batches that the consumer may keep. */
enum { PUSHES = 100, STEADY = 20, MOST_KEPT = 3 };
/* Of a push; a frame or two are at their consumer before that. */
enum { STEADY_NS = 30000 };

/* Node 0 sends rows to node 1, which sends a row back for each burst. */
struct talk {
    struct wt_cluster c;
    struct wt_query q;
    struct ArrowSchema schema;
    weir_writer *writer[2];
    weir_reader *reader[2];
    uint64_t seed;
    uint32_t frame_rows;
    /* the producer's */
    struct ArrowArray some;
    uint32_t pushed;
    uint64_t pushed_rows;
    bool waits;
    /* the consumer's */
    struct ArrowArray answer;
    struct ArrowArray kept[MOST_KEPT];
    uint32_t n_kept;
    uint32_t heard;    /* pushes up to the end of the burst that comes */
    uint64_t due_rows; /* and their rows: then the answer is due */
    uint64_t got_rows;
};

static const struct weir_field fields[] = {{"id", "l", 0}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 1};

/* ---- what both know ------------------------------------------------------ */

/* For a while of STEADY pushes rows come as fast as they are taken, in frames
 * that are mostly full; then for a while at any pace. */
static bool is_steady(const struct talk *t, uint32_t push)
{
    return wt_mix(t->seed, 2 * PUSHES + push / STEADY) % 2 == 0;
}

static uint32_t push_rows(const struct talk *t, uint32_t push)
{
    static const uint32_t most[] = {1, 10, 100, 500, 1100, 3000, 8192, 30000};
    uint64_t x = wt_mix(t->seed, push);
    if (is_steady(t, push)) {
        return t->frame_rows + (uint32_t)(x % t->frame_rows);
    }
    uint32_t n = most[x % WI_ARRAY_LEN(most)];
    return x / 8 % 2 == 0 ? n : 1 + (uint32_t)(x / 16 % n);
}

static bool ends_burst(const struct talk *t, uint32_t push)
{
    return wt_mix(t->seed, PUSHES + push) % 6 == 0 || push + 1 == PUSHES;
}

/* On the simulator something takes a while. */
static void dawdle(const struct talk *t, bool steady, uint64_t x)
{
    static const uint32_t ns[] = {0, 1000, 5000, 30000, 60000, 150000, 400000};
    uint32_t some = x % 4 == 0 ? ns[x / 4 % WI_ARRAY_LEN(ns)] : 0;
    if (t->c.sim != NULL) {
        weir_sim_busy(t->c.sim, steady ? STEADY_NS : some);
    }
}

/* ---- the producer -------------------------------------------------------- */

static weir_err end_step(struct talk *t)
{
    weir_err rc = weir_writer_finish(t->writer[0]);
    struct ArrowArray none;
    return rc == WEIR_OK ? weir_reader_next(t->reader[0], &none) : rc;
}

static weir_err wait_step(struct talk *t)
{
    struct ArrowArray answer;
    weir_err rc = weir_reader_next(t->reader[0], &answer);
    if (rc == WEIR_OK) {
        answer.release(&answer);
        t->waits = false;
    }
    return rc;
}

static weir_err talk_step(void *arg)
{
    struct talk *t = arg;
    if (t->waits) {
        return wait_step(t);
    }
    if (t->pushed == PUSHES) {
        return end_step(t);
    }
    uint32_t n = push_rows(t, t->pushed);
    if (t->some.release == NULL) {
        wt_rows_make(&rows, t->pushed_rows, n, &t->some);
    }
    weir_err rc = weir_writer_push(t->writer[0], &t->some);
    if (rc != WEIR_OK) {
        return rc;
    }
    t->some.release(&t->some);
    t->waits = ends_burst(t, t->pushed);
    dawdle(t, is_steady(t, t->pushed), wt_mix(t->seed, t->pushed_rows));
    t->pushed++;
    t->pushed_rows += n;
    return WEIR_OK;
}

/* ---- the consumer -------------------------------------------------------- */

/* To the end of the next burst, if there is one. */
static void hear(struct talk *t)
{
    bool ends = t->heard == PUSHES;
    t->due_rows += ends ? 1 : 0; /* never comes */
    while (!ends) {
        t->due_rows += push_rows(t, t->heard);
        ends = ends_burst(t, t->heard++);
    }
}

static weir_err answer_step(struct talk *t)
{
    weir_err rc = weir_writer_push(t->writer[1], &t->answer);
    if (rc == WEIR_OK) {
        hear(t);
    }
    return rc;
}

static bool release_kept(struct talk *t)
{
    bool any = t->n_kept > 0;
    while (t->n_kept > 0) {
        struct ArrowArray *batch = &t->kept[--t->n_kept];
        batch->release(batch);
    }
    return any;
}

static void take(struct talk *t, struct ArrowArray *batch)
{
    uint64_t x = wt_mix(t->got_rows, t->seed);
    t->got_rows += (uint64_t)batch->length;
    if (t->got_rows > t->due_rows) {
        wt_complain(&t->c, "row %llu came before the answer to row %llu",
                    (unsigned long long)t->got_rows,
                    (unsigned long long)t->due_rows);
    }
    if (t->n_kept < t->seed % (MOST_KEPT + 1) && x % 2 == 0) {
        t->kept[t->n_kept++] = *batch;
    } else {
        batch->release(batch);
    }
    dawdle(t, false, x / 2);
}

static weir_err listen_step(void *arg)
{
    struct talk *t = arg;
    struct ArrowArray batch;
    if (t->got_rows == t->due_rows) {
        return answer_step(t);
    }
    weir_err rc = weir_reader_next(t->reader[1], &batch);
    if (rc == WEIR_OK) {
        take(t, &batch);
    } else if (release_kept(t)) {
        return WEIR_OK;
    } else if (rc == WEIR_DONE && weir_writer_finish(t->writer[1]) != WEIR_OK) {
        return WEIR_AGAIN;
    }
    return rc;
}

/* ---- runs ---------------------------------------------------------------- */

/* From one node to the other, by the shuffle with the number of the first. */
static void open_way(struct talk *t, uint32_t from)
{
    const uint32_t to = 1 - from;
    const struct weir_shuffle_params params =
        wt_way(1 + from, &t->schema, &from, &to);
    struct weir_error err = {0};
    weir_shuffle *s[2];
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(weir_shuffle_open(t->q.query[i], &params, &s[i], &err),
                     WEIR_OK, "%s", err.message);
    }
    cr_assert_eq(weir_writer_open(s[from], 0, &t->writer[from], &err), WEIR_OK,
                 "%s", err.message);
    cr_assert_eq(weir_reader_open(s[to], 0, &t->reader[to], &err), WEIR_OK,
                 "%s", err.message);
}

static void talk(const struct wt_place *place, struct talk *t, uint64_t seed)
{
    uint64_t x = wt_mix(seed, 1);
    const struct wt_cluster_params cluster = {
        .node = {.frame_bytes = 1024u << x % 4,
                 .ring_frames = 2 + 2 * (uint32_t)(x / 4 % 4)},
        .sim = {.seed = seed,
                .latency_ns = 500 + x / 16 % 20000,
                .jitter_ns = x % 3 == 0 ? 20000 : 0}};
    struct weir_error err = {0};
    memset(t, 0, sizeof(*t));
    t->seed = seed;
    t->frame_rows = cluster.node.frame_bytes / 8;
    wt_cluster_open(&t->c, place, &cluster);
    wt_query_open(&t->q, &t->c, 1, NULL);
    cr_assert_eq(weir_schema_build(fields, 1, &t->schema, &err), WEIR_OK);
    wt_rows_make(&rows, 0, 1, &t->answer);
    open_way(t, 0);
    open_way(t, 1);
    hear(t);
    (void)wt_task(&t->c, 0, 0, talk_step, t);
    (void)wt_task(&t->c, 1, 0, listen_step, t);
    bool ran = wt_cluster_run(&t->c);
    cr_assert(ran && t->c.why[0] == '\0',
              "seed %llu, %u pushes, %llu of %llu "
              "rows: %s",
              (unsigned long long)seed, t->pushed,
              (unsigned long long)t->got_rows,
              (unsigned long long)t->pushed_rows, t->c.why);
    cr_assert_eq(t->got_rows, t->pushed_rows);
    cr_assert_eq(t->pushed, PUSHES);
    wt_query_close(&t->q);
    t->answer.release(&t->answer);
    t->schema.release(&t->schema);
    wt_cluster_close(&t->c);
}

void wt_api_every_burst_is_answered(const struct wt_place *place)
{
    static struct talk t;
    uint64_t seeds = place->sim ? 48 : 4;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        talk(place, &t, seed);
    }
}
