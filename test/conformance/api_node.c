/* SPDX-License-Identifier: Apache-2.0 */
/* Shuffles to nodes: whichever worker asks takes the next batch. */
#include "test/conformance/api.h"

#include <pthread.h>
#include <string.h>

#include "core/base/atomic.h"
#include "test/support/world.h"

/* Rings of few frames, so that all kinds of waiting happen. */
static const struct wt_cluster_params small = {
    .nodes = 3, .workers = 3, .node = {.frame_bytes = 2048, .ring_frames = 2}};

void wt_api_to_node_moves_every_row_once(const struct wt_place *place)
{
    static const weir_partitioning kinds[] = {WEIR_HASH,   WEIR_ROUND_ROBIN,
                                              WEIR_RANDOM, WEIR_BROADCAST,
                                              WEIR_GATHER, WEIR_VECTOR};
    struct wt_cluster_params cluster = small;
    for (int least = 0; least < 2; least++) {
        if (least != 0) {
            cluster.node.memory_bytes = wt_least_memory(place, &cluster);
        }
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            const struct wt_flow_params flow = {
                .shuffle = {.partitioning = kinds[i], .to = WEIR_TO_NODE},
                .rows = {.keys = kinds[i] == WEIR_HASH ? 50 : 0},
                .n_rows = 3000};
            wt_flow_once(place, &cluster, &flow);
        }
    }
}

/* Rows in chunks: those of one row come to one taker after another. */
void wt_api_to_node_moves_large_rows(const struct wt_place *place)
{
    const struct wt_flow_params flow = {
        .shuffle = {.to = WEIR_TO_NODE},
        .n_rows = 300,
        .rows = {.big_every = 3, .big_bytes = 9000}};
    wt_flow_once(place, &small, &flow);
}

/* A worker that takes nothing before another one of its node has had all. */
struct lazy {
    struct wt_sink *sink;
    struct wt_sink *other;
    _Atomic bool over; /* the other one's */
};

static weir_err lazy_step(void *arg)
{
    struct lazy *l = arg;
    /* rlx: a look; the wake-up orders it */
    return wi_load_rlx(&l->over) ? wt_sink_step(l->sink) : WEIR_AGAIN;
}

static weir_err other_step(void *arg)
{
    struct lazy *l = arg;
    weir_err rc = wt_sink_step(l->other);
    if (rc == WEIR_DONE) {
        const struct wt_task *t = l->sink->task;
        wi_store_rlx(&l->over, true); /* rlx: as above */
        (void)weir_worker_wake(l->sink->flow->cluster->node[t->node],
                               t->worker);
    }
    return rc;
}

static void set_step(const struct wt_sink *s, struct lazy *l,
                     weir_err (*step)(void *arg))
{
    s->task->step = step;
    s->task->arg = l;
}

void wt_api_to_node_needs_no_certain_worker(const struct wt_place *place)
{
    enum { ROWS = 5000 };
    for (uint32_t idle = 0; idle < 3; idle++) {
        const struct wt_flow_params flow = {.shuffle = {.to = WEIR_TO_NODE},
                                            .n_rows = ROWS};
        struct wt_world *w = wt_world_open(place, &small, &flow);
        struct lazy lazy[3];
        for (uint32_t i = 0; i < 3; i++) {
            lazy[i] = (struct lazy){.sink = w->f.sink[i][idle],
                                    .other = w->f.sink[i][(idle + 1) % 3]};
            set_step(lazy[i].sink, &lazy[i], lazy_step);
            set_step(lazy[i].other, &lazy[i], other_step);
        }
        wt_world_run(w);
        uint64_t sum = 0;
        for (uint32_t i = 0; i < 9; i++) {
            const struct wt_sink *s = w->f.sink[i / 3][i % 3];
            sum += s->rows;
            cr_assert(i % 3 != idle || s->rows == 0);
        }
        cr_assert_eq(sum, 9 * ROWS);
        wt_world_close(w);
    }
}

void wt_api_to_node_has_a_destination_per_member(const struct wt_place *place)
{
    const struct wt_flow_params flow = {.shuffle = {.to = WEIR_TO_NODE}};
    struct wt_world *w = wt_world_open(place, &small, &flow);
    cr_assert_eq(weir_shuffle_destinations(w->f.shuffle[0]), 3);
    for (uint32_t i = 0; i < 9; i++) {
        cr_assert_eq(weir_reader_destination(w->f.sink[i / 3][i % 3]->reader),
                     i / 3);
    }
    wt_world_run(w);
    uint64_t rows = 0;
    for (uint32_t i = 0; i < 27; i++) {
        struct weir_edge_stats stats;
        const weir_writer *writer = w->f.source[i / 9][i / 3 % 3]->writer;
        cr_assert_eq(weir_writer_stats(writer, i % 3, &stats), WEIR_OK);
        rows += stats.rows;
        cr_assert_eq(weir_writer_stats(writer, 3, &stats), WEIR_ERR_ARG);
    }
    cr_assert_eq(rows, 9000);
    for (uint32_t i = 0; i < 9; i++) {
        cr_assert_eq(
            weir_reader_source_ended(w->f.sink[0][0]->reader, i / 3, i % 3), 1);
    }
    wt_world_close(w);
}

/* Two of three stop: the third gets what they do not take. */
void wt_api_to_node_goes_on_when_some_stop(const struct wt_place *place)
{
    const struct wt_flow_params flow = {.shuffle = {.to = WEIR_TO_NODE},
                                        .n_rows = 5000};
    struct wt_world *w = wt_world_open(place, &small, &flow);
    for (uint32_t i = 0; i < 3; i++) {
        w->f.sink[i][i]->stop_after = 0;
        w->f.sink[i][(i + 1) % 3]->stop_after = 500;
    }
    wt_world_run(w);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 9; i++) {
        sum += w->f.sink[i / 3][i % 3]->rows;
        cr_assert(!w->f.source[i / 3][i % 3]->saw_done);
    }
    cr_assert_eq(sum, 45000);
    wt_world_close(w);
}

void wt_api_to_node_stops_when_all_stop(const struct wt_place *place)
{
    const struct wt_flow_params flow = {.shuffle = {.to = WEIR_TO_NODE},
                                        .n_rows = 5000};
    struct wt_world *w = wt_world_open(place, &small, &flow);
    for (uint32_t i = 0; i < 9; i++) {
        w->f.sink[i / 3][i % 3]->stop_after = 50 * (i % 3);
        w->f.source[i / 3][i % 3]->endless = true;
    }
    wt_world_run(w);
    for (uint32_t i = 0; i < 9; i++) {
        cr_assert(w->f.source[i / 3][i % 3]->saw_done);
    }
    wt_world_close(w);
}

/* ---- readers that go early ----------------------------------------------- */

static weir_err nothing(void *arg)
{
    (void)arg;
    return WEIR_DONE;
}

void wt_api_to_node_goes_on_beside_closed_readers(const struct wt_place *place)
{
    const struct wt_flow_params flow = {.shuffle = {.to = WEIR_TO_NODE},
                                        .n_rows = 4000};
    struct wt_world *w = wt_world_open(place, &small, &flow);
    /* Those of worker 1 are closed before a row comes, as if it had stopped. */
    for (uint32_t i = 0; i < 3; i++) {
        struct weir_error err = {0};
        weir_reader *again = NULL;
        weir_reader_close(w->f.sink[i][1]->reader);
        w->f.sink[i][1]->reader = NULL;
        w->f.sink[i][1]->task->step = nothing;
        cr_assert_eq(weir_reader_open(w->f.shuffle[i], 1, &again, &err),
                     WEIR_ERR_STATE);
    }
    wt_world_run(w);
    wt_world_close(w);
}

/* ---- what is refused ----------------------------------------------------- */

void wt_api_to_node_has_no_filters(const struct wt_place *place)
{
    const struct wt_flow_params flow = {.shuffle = {.to = WEIR_TO_NODE}};
    struct wt_world *w = wt_world_open(place, &small, &flow);
    struct weir_error err = {0};
    weir_reader *r = w->f.sink[0][0]->reader;
    cr_assert_eq(weir_reader_filter_open(r, 10), WEIR_ERR_ARG);
    cr_assert_eq(weir_reader_error(r, &err), WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "to nodes"), "%s", err.message);
    struct weir_shuffle_params p = w->f.params;
    weir_shuffle *s = NULL;
    p.id = 2;
    p.to = (weir_shuffle_to)7;
    cr_assert_eq(weir_shuffle_open(w->q.query[0], &p, &s, &err), WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "to = 7"), "%s", err.message);
    p.to = WEIR_TO_NODE;
    p.reserved_to = 1;
    cr_assert_eq(weir_shuffle_open(w->q.query[0], &p, &s, &err), WEIR_ERR_ARG);
    wt_world_run(w);
    wt_world_close(w);
}

void wt_api_to_node_and_to_worker_differ(const struct wt_place *place)
{
    struct wt_cluster c;
    struct wt_query q;
    struct ArrowSchema schema;
    struct weir_error err = {0};
    const struct weir_field field = {"k", "l", 0};
    const char *key = "k";
    const struct wt_cluster_params two = {.nodes = 2, .workers = 2};
    wt_cluster_open(&c, place, &two);
    wt_query_open(&q, &c, 1, NULL);
    cr_assert_eq(weir_schema_build(&field, 1, &schema, &err), WEIR_OK);
    for (uint32_t i = 0; i < 2; i++) {
        weir_shuffle *s = NULL;
        const struct weir_shuffle_params p = {.id = 1,
                                              .schema = &schema,
                                              .keys = &key,
                                              .n_keys = 1,
                                              .to = i == 0 ? WEIR_TO_WORKER
                                                           : WEIR_TO_NODE};
        (void)weir_shuffle_open(q.query[i], &p, &s, &err);
    }
    cr_assert(wt_until(&c, wt_query_has_failed, &q));
    wt_query_failed(&q, WEIR_ERR_MISMATCH, "to nodes");
    wt_query_close(&q);
    schema.release(&schema);
    wt_cluster_close(&c);
}

/* ---- who is busy --------------------------------------------------------- */

/* Worker 1 of node 1 sleeps; worker 0, whose bell rings for the rows that
 * worker 0 of node 0 sends, computes and calls nothing. */
struct busy {
    struct wt_world *w;
    uint64_t rows;
    weir_err end;
};

static void *take_all(void *arg)
{
    struct busy *b = arg;
    weir_reader *r = b->w->f.sink[1][1]->reader;
    struct ArrowArray batch;
    while ((b->end = weir_reader_next_wait(r, &batch)) == WEIR_OK) {
        b->rows += (uint64_t)batch.length;
        batch.release(&batch);
    }
    return NULL;
}

void wt_api_to_node_feeds_who_sleeps_beside_who_is_busy(
    const struct wt_place *place)
{
    static const uint32_t from = 0;
    static const uint32_t to = 1;
    const struct wt_cluster_params two = {.nodes = 2, .workers = 2};
    const struct wt_flow_params flow = {.shuffle = {.to = WEIR_TO_NODE,
                                                    .producers = &from,
                                                    .n_producers = 1,
                                                    .consumers = &to,
                                                    .n_consumers = 1}};
    for (int round = 0; round < 20; round++) {
        struct busy b = {.w = wt_world_open(place, &two, &flow)};
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, take_all, &b), 0);
        for (uint32_t i = 0; i < 2; i++) {
            struct wt_source *s = b.w->f.source[0][i];
            weir_err rc;
            while ((rc = wt_source_step(s)) == WEIR_OK || rc == WEIR_AGAIN) {
                if (rc == WEIR_AGAIN) {
                    (void)weir_worker_wait(b.w->c.node[0], i, 1000000);
                }
            }
            cr_assert_eq(rc, WEIR_DONE);
        }
        (void)pthread_join(thread, NULL);
        cr_assert_eq(b.end, WEIR_DONE);
        cr_assert_eq(b.rows, 2000);
        b.w->c.n_tasks = 0;
        wt_world_close(b.w);
    }
}

/* ---- more members and workers than the default memory has room for ------- */

void wt_api_default_memory_is_enough_for_any_cluster(
    const struct wt_place *place)
{
    static const weir_shuffle_to to[] = {WEIR_TO_WORKER, WEIR_TO_NODE};
    const struct wt_cluster_params cluster = {
        .nodes = 3, .workers = 4, .node = {.max_members = 1000}};
    for (int i = 0; i < 2; i++) {
        const struct wt_flow_params flow = {
            .shuffle = {.to = to[i]},
            .n_rows = 5000,
            .rows = {.big_every = 50, .big_bytes = 3000}};
        wt_flow_once(place, &cluster, &flow);
    }
}
