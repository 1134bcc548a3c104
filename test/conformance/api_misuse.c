/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that a program should not make: refused with a message, and nothing
 * has changed. */
#include "test/conformance/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/world.h"

/* The writer has a message with this text for the call that failed. */
static void says(const weir_writer *w, weir_err code, const char *text)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_writer_error(w, &err), code, "%s",
                 weir_err_name(err.code));
    cr_assert_eq(err.code, code);
    cr_assert_not_null(strstr(err.message, text), "no \"%s\" in: %s", text,
                       err.message);
}

/* ---- another batch after WEIR_AGAIN -------------------------------------- */

static void refuse_other(const struct wt_source *s,
                         const struct ArrowArray *other, const uint32_t *dest)
{
    weir_err rc = dest != NULL ? weir_writer_push_to(s->writer, other, dest)
                               : weir_writer_push(s->writer, other);
    cr_assert_eq(rc, WEIR_ERR_STATE, "%s", weir_err_name(rc));
    says(s->writer, WEIR_ERR_STATE, "another batch");
}

/* The same struct except for one buffer of the last column. */
static void refuse_buffer(const struct wt_source *s, uint32_t buffer)
{
    static const uint8_t elsewhere[8];
    struct ArrowArray other = s->batch;
    struct ArrowArray *columns[] = {s->batch.children[0], s->batch.children[1],
                                    s->batch.children[2]};
    struct ArrowArray text = *columns[2];
    const void *buffers[] = {text.buffers[0], text.buffers[1], text.buffers[2]};
    buffers[buffer] = elsewhere;
    text.buffers = buffers;
    columns[2] = &text;
    other.children = columns;
    refuse_other(s, &other, s->dest);
}

/* A batch that overfills every ring is begun; others are tried; it goes on. */
void wt_api_another_batch_after_again_is_refused(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.node = {.frame_bytes = 2048}};
    const struct wt_flow_params flow = {
        .shuffle = {.partitioning = WEIR_VECTOR},
        .n_rows = 30000,
        .batch_rows = 30000};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    struct wt_source *s = w->f.source[0][0];
    cr_assert_eq(s->task->step(s), WEIR_AGAIN);
    cr_assert(s->have);
    struct ArrowArray other = s->batch;
    cr_assert_eq(weir_writer_push_to(s->writer, &other, s->dest), WEIR_AGAIN,
                 "a copy of the struct is the same batch");
    other.length--;
    refuse_other(s, &other, s->dest);
    other = s->batch;
    other.offset++;
    refuse_other(s, &other, s->dest);
    for (uint32_t i = 0; i < 3; i++) {
        refuse_buffer(s, i);
    }
    refuse_other(s, &s->batch, s->dest + 1);
    refuse_other(s, &s->batch, NULL);
    refuse_other(s, NULL, s->dest);
    cr_assert_eq(weir_writer_finish(s->writer), WEIR_ERR_STATE);
    says(s->writer, WEIR_ERR_STATE, "not taken");
    wt_world_run(w);
    wt_world_close(w);
}

/* ---- ends of streams ----------------------------------------------------- */

static weir_err finish_only(void *arg)
{
    struct wt_source *s = arg;
    weir_err rc = weir_writer_finish(s->writer);
    return rc == WEIR_OK ? WEIR_DONE : rc;
}

/* Also when the end is not yet in all rings: rows for those that have it would
 * be lost without a trace. */
void wt_api_rows_after_finish_are_refused(const struct wt_place *place)
{
    const struct wt_flow_params flow = {.n_rows = 1};
    struct ArrowArray batch;
    struct wt_world *w = wt_world_open(place, NULL, &flow);
    w->f.n_ids = 0; /* none is sent */
    wt_rows_make(&w->f.rows, 0, 1, &batch);
    for (uint32_t i = 0; i < 2; i++) {
        struct wt_source *s = w->f.source[i][0];
        s->task->step = finish_only;
        cr_assert_geq(weir_writer_finish(s->writer), 0);
        cr_assert_eq(weir_writer_push(s->writer, &batch), WEIR_ERR_STATE);
        says(s->writer, WEIR_ERR_STATE, "finish");
    }
    wt_world_run(w);
    cr_assert_eq(weir_writer_push(w->f.source[0][0]->writer, &batch),
                 WEIR_ERR_STATE);
    batch.release(&batch);
    wt_world_close(w);
}

static void refuse_opening(weir_shuffle *shuffle)
{
    struct weir_error err = {0};
    weir_writer *writer = NULL;
    weir_reader *reader = NULL;
    cr_assert_eq(weir_writer_open(shuffle, 0, &writer, &err), WEIR_ERR_STATE);
    cr_assert_not_null(strstr(err.message, "one writer"), "%s", err.message);
    cr_assert_eq(weir_reader_open(shuffle, 0, &reader, &err), WEIR_ERR_STATE);
    cr_assert_not_null(strstr(err.message, "one reader"), "%s", err.message);
    cr_assert(writer == NULL && reader == NULL);
}

/* Node 0 drains its reader, node 1 stops it, node 2 just closes it. */
void wt_api_ends_are_opened_once(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = 3};
    struct wt_world *w = wt_world_open(place, &cluster, NULL);
    w->f.sink[1][0]->stop_after = 1;
    weir_reader_close(w->f.sink[2][0]->reader);
    w->f.sink[2][0]->task->end = WEIR_DONE;
    w->f.sink[2][0]->stopped = true;
    wt_world_run(w);
    for (uint32_t i = 0; i < 3; i++) {
        weir_writer_close(w->f.source[i][0]->writer);
        if (i < 2) {
            weir_reader_close(w->f.sink[i][0]->reader);
        }
        refuse_opening(w->f.shuffle[i]);
        cr_assert_eq(weir_query_status(w->q.query[i], NULL), WEIR_OK);
    }
    wt_world_close(w);
}

/* ---- readers that are closed before their producers come ----------------- */

static void close_sink(struct wt_sink *s)
{
    weir_reader_close(s->reader);
    s->task->end = WEIR_DONE;
    s->stopped = true;
}

void wt_api_producers_of_closed_readers_are_stopped(
    const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = 3, .workers = 2};
    const struct wt_flow_params flow = {.n_rows = 30000};
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    for (uint32_t i = 0; i < 6; i++) {
        close_sink(w->f.sink[i / 2][i % 2]);
        w->f.source[i / 2][i % 2]->endless = true;
    }
    wt_world_run(w);
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert(w->f.source[i / 2][i % 2]->saw_done);
    }
    wt_world_close(w);
}

/* The other worker of the ring reads on. */
void wt_api_node_ring_goes_on_beside_a_closed_reader(
    const struct wt_place *place)
{
    struct wt_cluster_params cluster = {.nodes = 2, .workers = 2};
    const struct wt_flow_params flow = {.n_rows = 5000};
    cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    close_sink(w->f.sink[1][0]);
    wt_world_run(w);
    wt_world_close(w);
}

/* ---- malformed texts ----------------------------------------------------- */

static void borrowed(struct ArrowArray *array)
{
    array->release = NULL;
}

/* One row's end is before its begin: the batch is refused, the next is
 * taken. */
void wt_api_offsets_that_descend_are_refused(const struct wt_place *place)
{
    const struct wt_flow_params flow = {.n_rows = 500, .batch_rows = 500};
    struct ArrowArray batch;
    struct wt_world *w = wt_world_open(place, NULL, &flow);
    weir_writer *writer = w->f.source[0][0]->writer;
    wt_rows_make(&w->f.rows, 0, 500, &batch);
    int32_t *offsets = (int32_t *)(uintptr_t)batch.children[2]->buffers[1];
    for (uint32_t row = 0; row < 500; row += 99) {
        int32_t kept = offsets[row];
        char text[48];
        (void)snprintf(text, sizeof(text), "column text, row %u:", row);
        offsets[row] = row == 0 ? -4 : offsets[500] + 1000;
        cr_assert_eq(weir_writer_push(writer, &batch), WEIR_ERR_DATA);
        says(writer, WEIR_ERR_DATA, text);
        offsets[row] = kept;
    }
    const void *bytes = batch.children[2]->buffers[2];
    batch.children[2]->buffers[2] = NULL;
    cr_assert_eq(weir_writer_push(writer, &batch), WEIR_ERR_DATA);
    says(writer, WEIR_ERR_DATA, "no buffer");
    batch.children[2]->buffers[2] = bytes;
    batch.release(&batch);
    wt_world_run(w);
    wt_world_close(w);
}

/* Bounds of a range by text. */
void wt_api_bounds_that_descend_are_refused(const struct wt_place *place)
{
    static const int32_t offsets[] = {4, 8, 2};
    static const char *const keys[] = {"text"};
    const void *buffers[] = {NULL, offsets, "bound bytes"};
    const void *none[] = {NULL};
    struct wt_cluster_params cluster = {.nodes = 2, .workers = 2};
    struct weir_error err = {0};
    weir_shuffle *shuffle = NULL;
    struct wt_world *w = wt_world_open(place, &cluster, NULL);
    struct ArrowArray text = {
        .length = 2, .n_buffers = 3, .buffers = buffers, .release = borrowed};
    struct ArrowArray *children[] = {&text};
    const struct ArrowArray bounds = {.length = 2,
                                      .n_buffers = 1,
                                      .n_children = 1,
                                      .buffers = none,
                                      .children = children,
                                      .release = borrowed};
    struct weir_shuffle_params p = w->f.params;
    p.id = 9;
    p.partitioning = WEIR_RANGE;
    p.keys = keys;
    p.bounds = &bounds;
    cr_assert_eq(weir_shuffle_open(w->q.query[0], &p, &shuffle, &err),
                 WEIR_ERR_DATA);
    cr_assert_not_null(strstr(err.message, "column text, row 1"), "%s",
                       err.message);
    cr_assert_null(shuffle);
    wt_world_run(w);
    wt_world_close(w);
}
