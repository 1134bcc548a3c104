/* SPDX-License-Identifier: Apache-2.0 */
/* Readers that hold so many batches that nothing more can come learn it. */
#include "test/conformance/api.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/link/edge.h"
#include "core/link/in_ring.h"
#include "test/support/world.h"

static const uint32_t first[] = {0};
static const uint32_t second[] = {1};

static void run_stubborn(struct wt_world *w)
{
    for (uint32_t i = 0; i < w->c.n_nodes; i++) {
        if (w->f.sink[i][0] != NULL) {
            w->f.sink[i][0]->hold = WT_HOLD - 1;
            w->f.sink[i][0]->stubborn = true;
        }
    }
    wt_world_run(w);
    for (uint32_t i = 0; i < w->c.n_nodes; i++) {
        const struct wt_sink *s = w->f.sink[i][0];
        cr_assert(s == NULL || s->told != 0, "node %u was never told", i);
    }
}

/* Rings full of frames: one batch back, and it goes on. */
void wt_api_reader_that_holds_full_rings_is_told(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = 3,
                                              .node = {.frame_bytes = 2048}};
    const struct wt_flow_params flow = {.n_rows = 5000};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    run_stubborn(w);
    wt_world_close(w);
}

/* As many frames as a ring's FIFO takes, in a ring with room for more. */
void wt_api_reader_that_holds_many_batches_is_told(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.node = {.frame_bytes = 65536}};
    const struct wt_flow_params flow = {.shuffle = {.partitioning = WEIR_GATHER,
                                                    .producers = first,
                                                    .n_producers = 1,
                                                    .consumers = second,
                                                    .n_consumers = 1},
                                        .n_rows = 1000,
                                        .batch_rows = 4};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    w->f.source[0][0]->task->step = wt_source_step_flushed;
    run_stubborn(w);
    wt_world_close(w);
}

static void *read_stubbornly(void *arg)
{
    struct wt_sink *s = arg;
    struct ArrowArray batch;
    weir_err rc;
    while ((rc = weir_reader_next_wait(s->reader, &batch)) == WEIR_OK ||
           rc == WEIR_HELD) {
        if (rc == WEIR_HELD) {
            struct ArrowArray *oldest = &s->held[s->held_begin++ % WT_HOLD];
            oldest->release(oldest);
            s->told++;
        } else {
            s->rows += (uint64_t)batch.length;
            s->held[s->held_end++ % WT_HOLD] = batch;
        }
    }
    s->task->end = rc;
    return NULL;
}

/* weir_reader_next_wait does not sleep for what cannot come. */
void wt_api_waiting_reader_that_holds_all_is_told(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.node = {.frame_bytes = 2048}};
    const struct wt_flow_params flow = {.shuffle = {.partitioning = WEIR_GATHER,
                                                    .producers = first,
                                                    .n_producers = 1,
                                                    .consumers = second,
                                                    .n_consumers = 1},
                                        .n_rows = 2000};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    struct wt_sink *s = w->f.sink[1][0];
    weir_writer *writer = w->f.source[0][0]->writer;
    struct ArrowArray batch;
    pthread_t thread;
    wt_rows_make(&w->f.rows, 0, 2000, &batch);
    cr_assert_eq(pthread_create(&thread, NULL, read_stubbornly, s), 0);
    cr_assert_eq(weir_writer_push_wait(writer, &batch), WEIR_OK);
    cr_assert_eq(weir_writer_finish_wait(writer), WEIR_OK);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(s->task->end, WEIR_DONE);
    cr_assert_eq(s->rows, 2000);
    cr_assert_gt(s->told, 0);
    batch.release(&batch);
    wt_world_close(w);
}

/* Holds all, then releases all while another thread gives space back, and has
 * not come to what is released here. */
static weir_err overtaken_step(void *arg)
{
    struct wt_sink *s = arg;
    struct ArrowArray batch;
    weir_err rc = weir_reader_next(s->reader, &batch);
    if (rc == WEIR_OK) {
        s->held[s->held_end++ % WT_HOLD] = batch;
        return rc;
    }
    if (rc != WEIR_HELD) {
        return rc;
    }
    const struct wi_held *oldest_held = s->held[s->held_begin].private_data;
    struct wi_in *in = oldest_held->in;
    wi_store_sc(&in->advancing, 1);
    while (s->held_begin != s->held_end) {
        struct ArrowArray *oldest = &s->held[s->held_begin++ % WT_HOLD];
        oldest->release(oldest);
    }
    rc = weir_reader_next(s->reader, &batch);
    if (rc != WEIR_AGAIN) {
        wt_complain(s->flow->cluster, "%s, and nothing is held",
                    weir_err_name(rc));
    }
    s->told++;
    wi_store_sc(&in->advancing, 0);
    wi_in_advance(in);
    return WEIR_OK;
}

void wt_api_space_on_its_way_back_is_not_held(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.node = {.frame_bytes = 2048}};
    const struct wt_flow_params flow = {.shuffle = {.partitioning = WEIR_GATHER,
                                                    .producers = first,
                                                    .n_producers = 1,
                                                    .consumers = second,
                                                    .n_consumers = 1},
                                        .n_rows = 2000};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    w->f.sink[1][0]->task->step = overtaken_step;
    bool ran = wt_cluster_run(&w->c);
    cr_assert(ran, "%s", w->c.why);
    cr_assert_eq(w->c.why[0], '\0', "%s", w->c.why);
    cr_assert_eq(w->f.sink[1][0]->task->end, WEIR_DONE);
    cr_assert_gt(w->f.sink[1][0]->told, 0);
    wt_world_close(w);
}
