/* SPDX-License-Identifier: Apache-2.0 */
/* Stop-sending, and batches that are held. */
#include "test/conformance/api.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/world.h"

/* ---- stopping ------------------------------------------------------------ */

void wt_api_one_reader_stops_others_go_on(const struct wt_place *place)
{
    const weir_partitioning kinds[] = {WEIR_HASH, WEIR_BROADCAST};
    const struct wt_cluster_params cluster = {
        .nodes = 3, .workers = 2, .node = {.frame_bytes = 2048}};
    for (int i = 0; i < 2; i++) {
        const struct wt_flow_params flow = {
            .shuffle = {.partitioning = kinds[i]}, .n_rows = 5000};
        struct wt_world *w = wt_world_open(place, &cluster, &flow);
        w->f.sink[1][0]->stop_after = 100;
        wt_world_run(w);
        cr_assert(w->f.sink[1][0]->stopped);
        for (uint32_t n = 0; n < 3; n++) {
            cr_assert(!w->f.source[n][0]->saw_done);
        }
        wt_world_close(w);
    }
}

/* Sources that would push forever end: rows for a worker that stopped cost
 * them next to nothing, so no number of rows is large enough to be sure that
 * all have stopped before. */
static void stop_all(const struct wt_place *place,
                     const struct wt_flow_params *flow, uint64_t after)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .workers = 2, .node = {.frame_bytes = 2048}};
    struct wt_world *w = wt_world_open(place, &cluster, flow);
    for (uint32_t i = 0; i < 6; i++) {
        struct wt_sink *s = w->f.sink[i / 2][i % 2];
        if (s != NULL) {
            s->stop_after = after;
        }
        w->f.source[i / 2][i % 2]->endless = true;
    }
    wt_world_run(w);
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert(w->f.source[i / 2][i % 2]->saw_done);
    }
    wt_world_close(w);
}

void wt_api_all_readers_stop_and_producers_hear(const struct wt_place *place)
{
    const struct wt_flow_params flow = {.n_rows = 30000};
    stop_all(place, &flow, 50);
}

void wt_api_only_reader_of_a_gather_stops(const struct wt_place *place)
{
    const struct wt_flow_params flow = {
        .shuffle = {.partitioning = WEIR_GATHER}, .n_rows = 30000};
    stop_all(place, &flow, 50);
}

void wt_api_readers_of_skewed_rows_stop(const struct wt_place *place)
{
    const struct wt_flow_params flow = {.rows = {.keys = 1}, .n_rows = 30000};
    stop_all(place, &flow, 0);
}

void wt_api_stop_before_an_edge_is_open(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = 3, .workers = 2};
    const struct wt_flow_params flow = {.n_rows = 30000};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    for (uint32_t i = 0; i < 6; i++) {
        struct wt_sink *s = w->f.sink[i / 2][i % 2];
        weir_reader_stop(s->reader);
        s->stopped = true;
        s->opens = 1;
        w->f.source[i / 2][i % 2]->gate = 1;
        w->f.source[i / 2][i % 2]->endless = true;
    }
    wt_world_run(w);
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert(w->f.source[i / 2][i % 2]->saw_done);
        cr_assert_eq(w->f.sink[i / 2][i % 2]->rows, 0);
    }
    wt_world_close(w);
}

/* Makes no rows after its first batch, so that only a poll can tell it. */
static weir_err silent_source_step(void *arg)
{
    struct wt_source *s = arg;
    if (s->next == 0 || s->have || s->saw_done) {
        weir_err rc = wt_source_step(s);
        s->next = s->have ? s->next : s->end - 1; /* never at its end */
        return rc;
    }
    weir_err rc = weir_writer_poll(s->writer);
    s->saw_done = rc == WEIR_DONE;
    if (s->flow->cluster->sim != NULL) {
        weir_sim_busy(s->flow->cluster->sim, 1000);
    }
    return rc < 0 ? rc : WEIR_OK;
}

static void stop_silent(const struct wt_place *place,
                        weir_partitioning partitioning, uint64_t after)
{
    const struct wt_cluster_params cluster = {.nodes = 3, .workers = 2};
    const struct wt_flow_params flow = {
        .shuffle = {.partitioning = partitioning}, .n_rows = 30000};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    for (uint32_t i = 0; i < 6; i++) {
        struct wt_sink *s = w->f.sink[i / 2][i % 2];
        if (s != NULL) {
            s->stop_after = after;
        }
        w->f.source[i / 2][i % 2]->task->step = silent_source_step;
    }
    wt_world_run(w);
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert(w->f.source[i / 2][i % 2]->saw_done);
    }
    wt_world_close(w);
}

void wt_api_producers_without_rows_hear_of_the_stop(
    const struct wt_place *place)
{
    stop_silent(place, WEIR_GATHER, 1);
    stop_silent(place, WEIR_HASH, 0);
}

/* The reader stops while a row that is many times its ring is on its way; after
 * it the same writer has rows for others. */
void wt_api_stop_in_the_midst_of_a_large_row(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .node = {.frame_bytes = 4096, .ring_frames = 2}};
    const struct wt_flow_params flow = {
        .shuffle = {.partitioning = WEIR_VECTOR},
        .rows = {.big_every = 5, .big_bytes = 300000},
        .n_rows = 200,
        .batch_rows = 20};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    w->f.sink[1][0]->stop_after = 1;
    w->f.sink[2][0]->stop_after = 0;
    wt_world_run(w);
    cr_assert(w->f.sink[1][0]->stopped && w->f.sink[2][0]->stopped);
    wt_world_close(w);
}

/* Take one batch with the worker of a sink; false after a long time. */
static bool take_one(struct wt_world *w, struct wt_sink *s, uint32_t node,
                     uint32_t worker)
{
    struct ArrowArray batch;
    for (int i = 0; i < 1000000; i++) {
        weir_err rc = weir_reader_next(s->reader, &batch);
        if (rc == WEIR_OK) {
            batch.release(&batch);
            return true;
        }
        if (rc != WEIR_AGAIN ||
            weir_worker_wait(w->c.node[node], worker, 1000000000) < 0) {
            return false;
        }
    }
    return false;
}

/* Rings thread-to-node: the worker that looks hands others their rows. Here
 * the other one never comes for them before the query is gone; then it does. */
void wt_api_rows_of_a_sleeping_worker_go_with_the_query(
    const struct wt_place *place)
{
    const uint32_t from[] = {0};
    struct wt_cluster_params cluster = {
        .nodes = 2, .workers = 2, .node = {.max_shuffles = 2}};
    const struct wt_flow_params params = {
        .shuffle = {.partitioning = WEIR_BROADCAST,
                    .producers = from,
                    .n_producers = 1,
                    .producer_workers = 1},
        .n_rows = 50};
    cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    struct wt_world *w = wt_world_open(place, &cluster, &params);
    struct ArrowArray batch;
    wt_rows_make(&w->f.rows, 0, 5, &batch);
    cr_assert_eq(weir_writer_push_wait(w->f.source[0][0]->writer, &batch),
                 WEIR_OK);
    cr_assert_eq(weir_writer_flush(w->f.source[0][0]->writer), WEIR_OK);
    batch.release(&batch);
    cr_assert(take_one(w, w->f.sink[1][0], 1, 0));
    wt_query_close(&w->q);
    wt_flow_close(&w->f);
    struct wt_flow_params next = {.n_rows = 200};
    wt_query_open(&w->q, &w->c, 2, NULL);
    wt_flow_open(&w->f, &w->q, &next);
    wt_world_run(w);
    wt_world_close(w);
}

/* ---- holding ------------------------------------------------------------- */

static bool still_right(const struct wt_sink *s)
{
    char why[WT_WHY_BYTES];
    for (uint32_t i = s->held_begin; i != s->held_end; i++) {
        const struct ArrowArray *a = &s->held[i % WT_HOLD];
        for (int64_t row = 0; row < a->length; row++) {
            if (!wt_rows_check(&s->flow->rows, a, row, why)) {
                return false;
            }
        }
    }
    return true;
}

/* A few batches of each reader are kept to the end and still read the same. */
void wt_api_held_batches_stay_readable(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .workers = 2, .node = {.frame_bytes = 2048}};
    const struct wt_flow_params flow = {.n_rows = 3000};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    for (uint32_t i = 0; i < 6; i++) {
        w->f.sink[i / 2][i % 2]->hold = 3;
    }
    wt_world_run(w);
    wt_world_close(w);
}

/* Rings with room for far more frames than may be held. */
void wt_api_more_batches_are_held_than_fit(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 2, .node = {.frame_bytes = 65536, .ring_frames = 4}};
    const struct wt_flow_params flow = {.n_rows = 1000, .batch_rows = 4};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    for (uint32_t i = 0; i < 2; i++) {
        w->f.source[i][0]->task->step = wt_source_step_flushed;
        w->f.sink[i][0]->hold = WT_HOLD - 1;
    }
    wt_world_run(w);
    cr_assert_gt(w->f.sink[0][0]->batches, 100);
    wt_world_close(w);
}

/* All batches are kept, and the rings are a fraction of them: only possible if
 * detaching gives the space back. */
void wt_api_detached_batches_give_their_space_back(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 2, .node = {.frame_bytes = 1024, .ring_frames = 2}};
    const struct wt_flow_params flow = {.n_rows = 400};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    for (uint32_t i = 0; i < 2; i++) {
        struct wt_sink *s = w->f.sink[i][0];
        s->detach = true;
        s->keep = true;
        s->hold = WT_HOLD;
    }
    wt_world_run(w);
    for (uint32_t i = 0; i < 2; i++) {
        const struct wt_sink *s = w->f.sink[i][0];
        cr_assert_gt(s->held_end - s->held_begin, 10);
        cr_assert(still_right(s));
    }
    wt_world_close(w);
}

static struct wt_world *keep_all(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .workers = 2, .node = {.frame_bytes = 16384}};
    const struct wt_flow_params flow = {.n_rows = 300};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    for (uint32_t i = 0; i < 6; i++) {
        struct wt_sink *s = w->f.sink[i / 2][i % 2];
        s->hold = WT_HOLD;
        s->keep = true;
    }
    wt_world_run(w);
    return w;
}

void wt_api_batches_outlive_their_query(const struct wt_place *place)
{
    struct wt_world *w = keep_all(place);
    weir_reader_close(w->f.sink[0][0]->reader);
    wt_query_close(&w->q);
    for (uint32_t i = 0; i < 6; i++) {
        const struct wt_sink *s = w->f.sink[i / 2][i % 2];
        cr_assert_neq(s->held_begin, s->held_end);
        cr_assert(still_right(s));
    }
    wt_flow_close(&w->f); /* releases them */
    wt_cluster_close(&w->c);
    free(w);
}

static void *release_all(void *arg)
{
    struct wt_sink *s = arg;
    while (s->held_begin != s->held_end) { /* the last first */
        struct ArrowArray *a = &s->held[--s->held_end % WT_HOLD];
        a->release(a);
    }
    return NULL;
}

void wt_api_batches_are_released_by_another_thread(const struct wt_place *place)
{
    pthread_t threads[6];
    struct wt_world *w = keep_all(place);
    wt_query_close(&w->q);
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert(still_right(w->f.sink[i / 2][i % 2]));
        cr_assert_eq(pthread_create(&threads[i], NULL, release_all,
                                    w->f.sink[i / 2][i % 2]),
                     0);
    }
    for (uint32_t i = 0; i < 6; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    wt_flow_close(&w->f);
    wt_cluster_close(&w->c);
    free(w);
}
