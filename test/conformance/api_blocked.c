/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A producer that waits for room in one ring holds rows for another consumer,
 * in a frame that is not full. They come to it, though the ring stays full
 * until they have.
 */
#include "test/conformance/api.h"

#include <string.h>

enum { FRAME_BYTES = 4096, FRAME_ROWS = FRAME_BYTES / 8, PUSHES = 40 };
/* A full frame, so that the stream counts as dense, and the beginning of
 * one. */
enum { FREE_ROWS = FRAME_ROWS + 10 };
enum { FULL_LANE, FREE_LANE, LANES };

/* Node 0 sends rows to nodes 1 (the ring that is full) and 2. */
struct jam {
    struct wt_cluster c;
    struct wt_query q;
    struct ArrowSchema schema;
    weir_writer *writer;
    weir_reader *reader[LANES];
    uint64_t got_rows[LANES];
    struct ArrowArray some;
    uint32_t dest[FREE_ROWS];
    uint32_t pushed;
    uint32_t refused; /* pushes that found no room */
};

static const struct weir_field fields[] = {{"id", "l", 0}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 1};

/* First the rows of the free lane, then too many for the other one. */
static weir_err push_step(void *arg)
{
    struct jam *j = arg;
    uint32_t lane = j->pushed == 0 ? FREE_LANE : FULL_LANE;
    if (j->pushed == PUSHES) {
        return weir_writer_finish(j->writer) == WEIR_OK ? WEIR_DONE
                                                        : WEIR_AGAIN;
    }
    if (j->some.release == NULL) {
        wt_rows_make(&rows, 0, FREE_ROWS, &j->some);
        for (uint32_t i = 0; i < FREE_ROWS; i++) {
            j->dest[i] = lane;
        }
    }
    weir_err rc = weir_writer_push_to(j->writer, &j->some, j->dest);
    if (rc == WEIR_OK) {
        j->some.release(&j->some);
        j->pushed++;
    }
    if (rc == WEIR_AGAIN && lane == FULL_LANE) {
        j->refused++;
        wt_gate_open(&j->c, 1);
    }
    return rc;
}

static weir_err take(struct jam *j, uint32_t lane)
{
    struct ArrowArray batch;
    weir_err rc = weir_reader_next(j->reader[lane], &batch);
    if (rc == WEIR_OK) {
        j->got_rows[lane] += (uint64_t)batch.length;
        batch.release(&batch);
    }
    return rc;
}

static weir_err free_step(void *arg)
{
    struct jam *j = arg;
    weir_err rc = wt_gate_pass(&j->c, 1); /* the producer waits */
    rc = rc == WEIR_DONE ? take(j, FREE_LANE) : rc;
    if (j->got_rows[FREE_LANE] == FREE_ROWS) {
        wt_gate_open(&j->c, 2);
    }
    return rc;
}

static weir_err full_step(void *arg)
{
    struct jam *j = arg;
    weir_err rc = wt_gate_pass(&j->c, 2);
    return rc == WEIR_DONE ? take(j, FULL_LANE) : rc;
}

static void open_ends(struct jam *j)
{
    static const uint32_t from = 0;
    static const uint32_t to[LANES] = {1, 2};
    const struct weir_shuffle_params params = {.id = 1,
                                               .schema = &j->schema,
                                               .partitioning = WEIR_VECTOR,
                                               .producers = &from,
                                               .n_producers = 1,
                                               .consumers = to,
                                               .n_consumers = LANES};
    struct weir_error err = {0};
    weir_shuffle *s;
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(weir_shuffle_open(j->q.query[i], &params, &s, &err),
                     WEIR_OK, "%s", err.message);
        weir_err rc = i == 0 ? weir_writer_open(s, 0, &j->writer, &err)
                             : weir_reader_open(s, 0, &j->reader[i - 1], &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    }
}

void wt_api_blocked_producer_sends_what_it_holds(const struct wt_place *place)
{
    static struct jam j;
    const struct wt_cluster_params cluster = {
        .nodes = 3, .node = {.frame_bytes = FRAME_BYTES, .ring_frames = 4}};
    struct weir_error err = {0};
    memset(&j, 0, sizeof(j));
    wt_cluster_open(&j.c, place, &cluster);
    wt_query_open(&j.q, &j.c, 1, NULL);
    cr_assert_eq(weir_schema_build(fields, 1, &j.schema, &err), WEIR_OK);
    open_ends(&j);
    (void)wt_task(&j.c, 0, 0, push_step, &j);
    (void)wt_task(&j.c, 1, 0, full_step, &j);
    (void)wt_task(&j.c, 2, 0, free_step, &j);
    bool ran = wt_cluster_run(&j.c);
    cr_assert(ran && j.c.why[0] == '\0', "%s", j.c.why);
    cr_assert_eq(j.got_rows[FREE_LANE], FREE_ROWS);
    cr_assert_eq(j.got_rows[FULL_LANE], (PUSHES - 1) * FREE_ROWS);
    cr_assert_gt(j.refused, 0); /* else nothing was held */
    wt_query_close(&j.q);
    j.schema.release(&j.schema);
    wt_cluster_close(&j.c);
}
