/* SPDX-License-Identifier: Apache-2.0 */
/* Rows arrive exactly once, each value as it was, where they belong. */
#include "test/conformance/api.h"

#include <stdlib.h>
#include <string.h>

#include "test/support/world.h"

static void move_kind(const struct wt_place *place, weir_partitioning kind)
{
    const struct wt_cluster_params cluster = {.nodes = 3, .workers = 2};
    const struct wt_flow_params flow = {
        .shuffle = {.partitioning = kind, .seed = 3},
        .rows = {.keys = 50},
        .n_rows = 5000};
    wt_flow_once(place, &cluster, &flow);
}

void wt_api_hash_moves_every_row_once(const struct wt_place *place)
{
    move_kind(place, WEIR_HASH);
}

void wt_api_round_robin_moves_every_row_once(const struct wt_place *place)
{
    move_kind(place, WEIR_ROUND_ROBIN);
}

void wt_api_random_moves_every_row_once(const struct wt_place *place)
{
    move_kind(place, WEIR_RANDOM);
}

void wt_api_broadcast_brings_every_row_everywhere(const struct wt_place *place)
{
    move_kind(place, WEIR_BROADCAST);
}

void wt_api_gather_brings_every_row_to_one(const struct wt_place *place)
{
    move_kind(place, WEIR_GATHER);
}

void wt_api_vector_goes_where_the_caller_says(const struct wt_place *place)
{
    move_kind(place, WEIR_VECTOR);
}

static void release_nothing(struct ArrowArray *a)
{
    a->release = NULL;
}

static void move_by_range(const struct wt_place *place, int64_t n_bounds)
{
    const struct wt_cluster_params cluster = {.nodes = 3, .workers = 2};
    const int64_t keys[] = {10, 20, 20, 30, 90};
    const void *buffers[] = {NULL, keys};
    const void *none[] = {NULL};
    struct ArrowArray column = {.length = n_bounds,
                                .n_buffers = 2,
                                .buffers = buffers,
                                .release = release_nothing};
    struct ArrowArray *columns[] = {&column};
    struct ArrowArray bounds = {.length = n_bounds,
                                .n_buffers = 1,
                                .buffers = none,
                                .n_children = 1,
                                .children = columns,
                                .release = release_nothing};
    const struct wt_flow_params flow = {
        .shuffle = {.partitioning = WEIR_RANGE, .bounds = &bounds},
        .rows = {.keys = 100},
        .n_rows = 5000};
    wt_flow_once(place, &cluster, &flow);
}

void wt_api_range_moves_every_row_once(const struct wt_place *place)
{
    move_by_range(place, 5);
}

void wt_api_fewer_bounds_leave_destinations_empty(const struct wt_place *place)
{
    move_by_range(place, 1);
    move_by_range(place, 0);
}

/* ---- types and shapes ---------------------------------------------------- */

/* Each type once as it is and once nullable. */
static const struct weir_field typed[] = {{"id", "l", 0},
                                          {"c", "c", 0},
                                          {"c?", "c", 1},
                                          {"C", "C", 1},
                                          {"s", "s", 0},
                                          {"s?", "s", 1},
                                          {"S", "S", 1},
                                          {"i", "i", 0},
                                          {"i?", "i", 1},
                                          {"I", "I", 1},
                                          {"l?", "l", 1},
                                          {"L", "L", 0},
                                          {"f", "f", 0},
                                          {"f?", "f", 1},
                                          {"g", "g", 0},
                                          {"g?", "g", 1},
                                          {"b", "b", 0},
                                          {"b?", "b", 1},
                                          {"day", "tdD", 1},
                                          {"ts", "tss:", 0},
                                          {"tm?", "tsm:UTC", 1},
                                          {"tu", "tsu:", 0},
                                          {"tn", "tsn:", 1},
                                          {"dec", "d:38,4", 0},
                                          {"dec?", "d:10,2", 1},
                                          {"u", "u", 0},
                                          {"u?", "u", 1},
                                          {"z", "z", 0},
                                          {"z?", "z", 1},
                                          {"w1", "w:1", 0},
                                          {"w7", "w:7", 1},
                                          {"w100", "w:100", 0},
                                          {"half", "e", 1},
                                          {"ms", "tdm", 0},
                                          {"t4", "tts", 1},
                                          {"t8", "ttn", 0},
                                          {"took", "tDu", 1},
                                          {"months", "tiM", 0},
                                          {"days", "tiD", 1},
                                          {"span", "tin", 1},
                                          {"d32", "d:9,2,32", 1},
                                          {"d64", "d:18,2,64", 0},
                                          {"d256", "d:76,0,256", 1}};

static void move_typed(const struct wt_place *place, struct wt_rows rows,
                       uint32_t frame_bytes)
{
    const struct wt_cluster_params cluster = {
        .nodes = 2, .node = {.frame_bytes = frame_bytes}};
    static const char *const keys[] = {"l?", "u?", "b?", "w7", "d256"};
    rows.fields = typed;
    rows.n_fields = sizeof(typed) / sizeof(typed[0]);
    const struct wt_flow_params flow = {
        .shuffle = {.partitioning = WEIR_HASH, .keys = keys, .n_keys = 5},
        .rows = rows,
        .n_rows = 3000,
        .batch_rows = 333};
    wt_flow_once(place, &cluster, &flow);
}

void wt_api_every_type_travels(const struct wt_place *place)
{
    move_typed(place, (struct wt_rows){.var_bytes = 40}, 16384);
    move_typed(place, (struct wt_rows){.var_bytes = 300}, 4096);
}

void wt_api_sliced_input_travels(const struct wt_place *place)
{
    const uint32_t offsets[][2] = {{1, 0}, {0, 3}, {7, 9}, {64, 0}, {13, 65}};
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        move_typed(place,
                   (struct wt_rows){.offset = offsets[i][0],
                                    .outer_offset = offsets[i][1]},
                   16384);
    }
}

void wt_api_all_null_columns_travel(const struct wt_place *place)
{
    move_typed(place, (struct wt_rows){.all_null = true}, 8192);
}

static weir_err finish_step(void *arg)
{
    struct wt_source *s = arg;
    weir_err rc = weir_writer_finish(s->writer);
    return rc == WEIR_OK ? WEIR_DONE : rc;
}

static weir_err push_empty_step(void *arg)
{
    struct wt_source *s = arg;
    if (s->next != 0 && s->next % 2 == 0 && !s->have) {
        struct ArrowArray empty;
        wt_rows_make(&s->flow->rows, 0, 0, &empty);
        weir_err rc = weir_writer_push(s->writer, &empty);
        empty.release(&empty);
        if (rc != WEIR_OK) {
            wt_complain(s->flow->cluster, "empty batch: %s", weir_err_name(rc));
            return rc < 0 ? rc : WEIR_ERR_STATE;
        }
    }
    return wt_source_step(s);
}

/* Run one flow with each source's step replaced. */
static void move_with(const struct wt_place *place, uint64_t n_rows,
                      weir_err (*step)(void *arg), bool none)
{
    const struct wt_cluster_params cluster = {.nodes = 3, .workers = 2};
    const struct wt_flow_params params = {.n_rows = n_rows, .batch_rows = 10};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, &params);
    for (uint32_t i = 0; i < 6; i++) {
        f.source[i / 2][i % 2]->task->step = step;
    }
    f.n_ids = none ? 0 : f.n_ids;
    wt_flow_end(&f);
}

void wt_api_no_rows_still_end(const struct wt_place *place)
{
    move_with(place, 1, finish_step, true);
}

void wt_api_empty_batches_are_taken(const struct wt_place *place)
{
    move_with(place, 100, push_empty_step, false);
}

void wt_api_one_row_arrives(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = 3};
    const struct wt_flow_params flow = {.n_rows = 1};
    wt_flow_once(place, &cluster, &flow);
}

/* ---- rings and topologies ------------------------------------------------ */

void wt_api_tiny_rings_move_everything(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3,
        .workers = 2,
        .node = {.frame_bytes = 1024, .ring_frames = 2}};
    const struct wt_flow_params hash = {.n_rows = 4000, .batch_rows = 500};
    const struct wt_flow_params all = {
        .shuffle = {.partitioning = WEIR_BROADCAST}, .n_rows = 1000};
    wt_flow_once(place, &cluster, &hash);
    wt_flow_once(place, &cluster, &all);
}

void wt_api_one_to_five_nodes_with_one_to_three_workers(
    const struct wt_place *place)
{
    for (uint32_t nodes = 1; nodes <= 5; nodes++) {
        for (uint32_t workers = 1; workers <= 3; workers++) {
            const struct wt_cluster_params cluster = {
                .nodes = nodes,
                .workers = workers,
                .node = {.frame_bytes = 2048, .max_shuffles = 2}};
            const struct wt_flow_params flow = {.n_rows = 1000,
                                                .rows = {.keys = 200}};
            wt_flow_once(place, &cluster, &flow);
        }
    }
}

/* A budget in which only the smallest rings, thread-to-node, fit. */
void wt_api_node_rings_move_everything(const struct wt_place *place)
{
    const weir_partitioning kinds[] = {WEIR_HASH, WEIR_BROADCAST, WEIR_VECTOR};
    struct wt_cluster_params cluster = {
        .nodes = 3,
        .workers = 3,
        .node = {.frame_bytes = 4096, .max_shuffles = 2}};
    cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    for (int i = 0; i < 3; i++) {
        const struct wt_flow_params flow = {
            .shuffle = {.partitioning = kinds[i]}, .n_rows = 2000};
        wt_flow_once(place, &cluster, &flow);
    }
    struct wt_cluster c;
    wt_cluster_open(&c, place, &cluster);
    cr_assert_not_null(strstr(weir_node_plan(c.node[0]), "thread-to-node"),
                       "%s", weir_node_plan(c.node[0]));
    wt_cluster_close(&c);
}

struct late {
    struct wt_cluster c;
    struct wt_query q;
    weir_shuffle *shuffle;
    weir_writer *writer;
    weir_reader *reader;
    struct ArrowArray batch;
};

static bool pushed_to_worker_1(void *arg)
{
    static const uint32_t dest[] = {1};
    struct late *l = arg;
    weir_err rc = weir_writer_push_to(l->writer, &l->batch, dest);
    cr_assert(rc == WEIR_OK || rc == WEIR_AGAIN, "%s", weir_err_name(rc));
    return rc == WEIR_OK;
}

static bool came_to_worker_1(void *arg)
{
    struct late *l = arg;
    (void)weir_worker_wait(l->c.node[0], 1, 0);
    weir_err rc = weir_reader_next(l->reader, &l->batch);
    cr_assert(rc == WEIR_OK || rc == WEIR_AGAIN, "%s", weir_err_name(rc));
    return rc == WEIR_OK;
}

static void open_late(struct late *l, const struct weir_field *field)
{
    struct ArrowSchema schema;
    struct weir_error err;
    wt_query_open(&l->q, &l->c, 1, NULL);
    cr_assert_eq(weir_schema_build(field, 1, &schema, &err), WEIR_OK);
    const struct weir_shuffle_params params = {
        .id = 1, .schema = &schema, .partitioning = WEIR_VECTOR};
    weir_err rc = weir_shuffle_open(l->q.query[0], &params, &l->shuffle, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    rc = weir_writer_open(l->shuffle, 0, &l->writer, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    rc = weir_reader_open(l->shuffle, 0, &l->reader, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    schema.release(&schema);
}

/* A worker takes what came for it before it opens its reader: the ring is
 * known since another one opened. */
void wt_api_node_ring_keeps_rows_for_a_late_reader(const struct wt_place *place)
{
    static const struct weir_field field = {.name = "id", .format = "l"};
    const struct wt_rows rows = {.fields = &field, .n_fields = 1};
    struct wt_cluster_params cluster = {
        .nodes = 1, .workers = 2, .node = {.max_shuffles = 1}};
    struct weir_error err;
    struct late *l = calloc(1, sizeof(*l));
    cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    wt_cluster_open(&l->c, place, &cluster);
    open_late(l, &field);
    wt_rows_make(&rows, 7, 1, &l->batch);
    cr_assert(wt_until(&l->c, pushed_to_worker_1, l));
    l->batch.release(&l->batch);
    cr_assert_eq(weir_writer_flush(l->writer), WEIR_OK);
    (void)weir_worker_wait(l->c.node[0], 1, 0);
    cr_assert_eq(weir_reader_open(l->shuffle, 1, &l->reader, &err), WEIR_OK);
    cr_assert(wt_until(&l->c, came_to_worker_1, l));
    cr_assert_eq(wt_rows_id(&l->batch, 0), 7);
    l->batch.release(&l->batch);
    wt_query_close(&l->q);
    wt_cluster_close(&l->c);
    free(l);
}

/* A worker that holds as many frames as a ring can have in readers' hands gives
 * them back while the other worker is not there to look at the ring. */
void wt_api_node_ring_goes_on_when_held_frames_come_back(
    const struct wt_place *place)
{
    enum { HELD = 64 };
    static const struct weir_field field = {.name = "id", .format = "l"};
    const struct wt_rows rows = {.fields = &field, .n_fields = 1};
    struct wt_cluster_params cluster = {
        .nodes = 1, .workers = 2, .node = {.max_shuffles = 1}};
    struct ArrowArray held[HELD];
    struct weir_error err;
    struct late *l = calloc(1, sizeof(*l));
    cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    wt_cluster_open(&l->c, place, &cluster);
    open_late(l, &field);
    cr_assert_eq(weir_reader_open(l->shuffle, 1, &l->reader, &err), WEIR_OK);
    for (uint64_t i = 0; i < HELD + 1; i++) {
        wt_rows_make(&rows, i, 1, &l->batch);
        cr_assert(wt_until(&l->c, pushed_to_worker_1, l));
        l->batch.release(&l->batch);
        cr_assert_eq(weir_writer_flush(l->writer), WEIR_OK);
    }
    for (uint64_t i = 0; i < HELD; i++) {
        cr_assert(wt_until(&l->c, came_to_worker_1, l));
        held[i] = l->batch;
        cr_assert_eq(wt_rows_id(&held[i], 0), i);
    }
    (void)weir_worker_wait(l->c.node[0], 1, 0);
    cr_assert_eq(weir_reader_next(l->reader, &l->batch), WEIR_AGAIN);
    for (uint64_t i = 0; i < HELD; i++) {
        held[i].release(&held[i]);
    }
    cr_assert(wt_until(&l->c, came_to_worker_1, l));
    cr_assert_eq(wt_rows_id(&l->batch, 0), HELD);
    l->batch.release(&l->batch);
    wt_query_close(&l->q);
    wt_cluster_close(&l->c);
    free(l);
}

/* Two workers of a node are sent rows in turn, a few at a time. */
void wt_api_node_ring_frames_fill_side_by_side(const struct wt_place *place)
{
    static const struct weir_field field = {.name = "id", .format = "l"};
    static const uint32_t dest[] = {0, 1, 0, 1};
    const struct wt_rows rows = {.fields = &field, .n_fields = 1};
    struct wt_cluster_params cluster = {
        .nodes = 1, .workers = 2, .node = {.max_shuffles = 1}};
    struct late *l = calloc(1, sizeof(*l));
    cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    wt_cluster_open(&l->c, place, &cluster);
    open_late(l, &field);
    wt_rows_make(&rows, 0, 1, &l->batch);
    cr_assert(wt_until(&l->c, pushed_to_worker_1, l)); /* the ring is open */
    l->batch.release(&l->batch);
    for (uint32_t i = 1; i < 20; i++) {
        wt_rows_make(&rows, i, 4, &l->batch);
        cr_assert_eq(weir_writer_push_to(l->writer, &l->batch, dest), WEIR_OK);
        l->batch.release(&l->batch);
    }
    cr_assert_eq(weir_writer_flush(l->writer), WEIR_OK);
    for (uint32_t d = 0; d < 2; d++) {
        struct weir_edge_stats s;
        cr_assert_eq(weir_writer_stats(l->writer, d, &s), WEIR_OK);
        cr_assert_eq(s.rows, 38 + d);
        /* The clock of the others may send a frame early. */
        cr_assert(!place->sim || s.frames <= 2, "%zu frames", (size_t)s.frames);
    }
    wt_query_close(&l->q);
    wt_cluster_close(&l->c);
    free(l);
}

static void push_one(struct late *l, const struct wt_rows *rows, uint64_t id,
                     uint32_t dest)
{
    wt_rows_make(rows, id, 1, &l->batch);
    cr_assert_eq(weir_writer_push_to(l->writer, &l->batch, &dest), WEIR_OK);
    l->batch.release(&l->batch);
    while (weir_worker_wait(l->c.node[0], 0, 0) == WEIR_OK) {
    } /* nothing happened: it has published the row */
}

/* One worker of a node holds its batch, and the ring's head with it. What its
 * neighbour is sent goes out all the same when the producer waits. */
void wt_api_node_ring_does_not_hide_rows_behind_held_ones(
    const struct wt_place *place)
{
    static const struct weir_field field = {.name = "id", .format = "l"};
    const struct wt_rows rows = {.fields = &field, .n_fields = 1};
    struct wt_cluster_params cluster = {
        .nodes = 1, .workers = 2, .node = {.max_shuffles = 1}};
    struct ArrowArray held;
    struct weir_error err;
    struct late *l = calloc(1, sizeof(*l));
    cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    wt_cluster_open(&l->c, place, &cluster);
    open_late(l, &field);
    cr_assert_eq(weir_reader_open(l->shuffle, 1, &l->reader, &err), WEIR_OK);
    wt_rows_make(&rows, 0, 1, &l->batch);
    cr_assert(wt_until(&l->c, pushed_to_worker_1, l));
    l->batch.release(&l->batch);
    cr_assert_eq(weir_writer_flush(l->writer), WEIR_OK);
    cr_assert(wt_until(&l->c, came_to_worker_1, l));
    held = l->batch;
    push_one(l, &rows, 1, 0); /* nobody reads it */
    for (uint64_t i = 2; i < 6; i++) {
        push_one(l, &rows, i, 1);
        cr_assert(wt_until(&l->c, came_to_worker_1, l), "row %zu", (size_t)i);
        cr_assert_eq(wt_rows_id(&l->batch, 0), i);
        l->batch.release(&l->batch);
    }
    held.release(&held);
    wt_query_close(&l->q);
    wt_cluster_close(&l->c);
    free(l);
}

/* ---- a reader that keeps batches while it waits for more ----------------- */

enum { KEEP = 64 };

struct keeper {
    struct late l;
    struct ArrowArray held[KEEP];
    uint32_t n_held;
    uint32_t n_pushed;
    uint32_t goal;
};

static void take_all(struct keeper *k)
{
    while (k->n_held < KEEP &&
           weir_reader_next(k->l.reader, &k->held[k->n_held]) == WEIR_OK) {
        k->n_held++;
    }
}

/* Push rows, each in a frame of its own, until the ring is full. */
static void push_rows(struct keeper *k)
{
    static const uint32_t dest[20] = {0};
    while (weir_writer_push_to(k->l.writer, &k->l.batch, dest) == WEIR_OK) {
        cr_assert_eq(weir_writer_flush(k->l.writer), WEIR_OK);
        k->n_pushed++;
    }
}

static bool has_its_goal(void *arg)
{
    struct keeper *k = arg;
    (void)weir_worker_wait(k->l.c.node[0], 0, 0);
    push_rows(k);
    (void)weir_worker_wait(k->l.c.node[1], 0, 0);
    take_all(k);
    return k->n_held >= k->goal;
}

/* The producer moves only when it was woken, as if it slept. */
static bool was_woken(void *arg)
{
    struct keeper *k = arg;
    if (weir_worker_wait(k->l.c.node[0], 0, 0) != WEIR_OK) {
        return false;
    }
    push_rows(k);
    return k->n_pushed >= k->goal;
}

/* wt_until() takes wake-ups of this worker itself where there are threads. */
static bool is_woken(struct keeper *k)
{
    if (k->l.c.sim != NULL) {
        return wt_until(&k->l.c, was_woken, k);
    }
    for (int i = 0; i < 30 && k->n_pushed < k->goal; i++) {
        if (weir_worker_wait(k->l.c.node[0], 0, 1000000000) == WEIR_OK) {
            push_rows(k);
        }
    }
    return k->n_pushed >= k->goal;
}

static void open_keeper(struct keeper *k, const struct weir_field *field)
{
    static const uint32_t from[] = {0};
    static const uint32_t to[] = {1};
    struct ArrowSchema schema;
    struct weir_error err;
    struct late *l = &k->l;
    wt_query_open(&l->q, &l->c, 1, NULL);
    cr_assert_eq(weir_schema_build(field, 1, &schema, &err), WEIR_OK);
    const struct weir_shuffle_params params = {.id = 1,
                                               .schema = &schema,
                                               .partitioning = WEIR_VECTOR,
                                               .producers = from,
                                               .n_producers = 1,
                                               .consumers = to,
                                               .n_consumers = 1};
    for (uint32_t i = 0; i < 2; i++) {
        weir_err rc =
            weir_shuffle_open(l->q.query[i], &params, &l->shuffle, &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
        rc = i == 0 ? weir_writer_open(l->shuffle, 0, &l->writer, &err)
                    : weir_reader_open(l->shuffle, 0, &l->reader, &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    }
    schema.release(&schema);
}

/* Frames of 320 bytes fill three quarters of a ring; the reader finds nothing
 * more, gives back what filled half of the ring, and keeps the rest in use.
 * The producer must hear of that room without any further word. */
void wt_api_producer_hears_of_room_while_batches_are_kept(
    const struct wt_place *place)
{
    static const struct weir_field field = {.name = "id", .format = "l"};
    const struct wt_rows rows = {.fields = &field, .n_fields = 1};
    const struct wt_cluster_params cluster = {
        .nodes = 2, .node = {.frame_bytes = 4096, .ring_frames = 4}};
    struct keeper *k = calloc(1, sizeof(*k));
    wt_cluster_open(&k->l.c, place, &cluster);
    open_keeper(k, &field);
    wt_rows_make(&rows, 7, 20, &k->l.batch);
    k->goal = 38;
    const uint32_t half = 16384 / 2 / 320 + 1;
    cr_assert(wt_until(&k->l.c, has_its_goal, k));
    push_rows(k);
    while (weir_worker_wait(k->l.c.node[0], 0, 0) == WEIR_OK) {
        push_rows(k);
    }
    (void)weir_worker_wait(k->l.c.node[1], 0, 0);
    take_all(k);
    cr_assert(k->n_held < KEEP);
    for (uint32_t i = 0; i < half; i++) {
        k->held[i].release(&k->held[i]);
    }
    k->goal = k->n_pushed + 5;
    cr_assert(is_woken(k), "%u pushed", k->n_pushed);
    for (uint32_t i = half; i < k->n_held; i++) {
        k->held[i].release(&k->held[i]);
    }
    k->l.batch.release(&k->l.batch);
    wt_query_close(&k->l.q);
    wt_cluster_close(&k->l.c);
    free(k);
}

void wt_api_subsets_produce_and_consume(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 4, .workers = 2, .node = {.frame_bytes = 4096}};
    const uint32_t lists[][3] = {{0, 1, 2}, {3, 2, 0}, {2, 3, 1}};
    for (uint32_t np = 1; np <= 3; np++) {
        for (uint32_t nc = 1; nc <= 3; nc++) {
            const struct wt_flow_params flow = {
                .shuffle = {.producers = lists[np - 1],
                            .n_producers = np,
                            .consumers = lists[nc - 1],
                            .n_consumers = nc}};
            wt_flow_once(place, &cluster, &flow);
        }
    }
}

void wt_api_some_workers_produce_and_consume(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .workers = 3, .node = {.frame_bytes = 4096}};
    for (uint32_t producers = 1; producers <= 3; producers++) {
        const struct wt_flow_params flow = {
            .shuffle = {.producer_workers = producers,
                        .consumer_workers = 4 - producers}};
        wt_flow_once(place, &cluster, &flow);
    }
}

void wt_api_equal_keys_go_to_one_destination(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 4, .workers = 2, .node = {.frame_bytes = 2048}};
    const struct wt_flow_params flow = {.rows = {.keys = 1}, .n_rows = 4000};
    wt_flow_once(place, &cluster, &flow);
}

/* ---- plans --------------------------------------------------------------- */

enum { PLAN_NODES = 3, PLAN_WORKERS = 2, PLAN_MOST = 6 };

/* The sinks of one flow feed the sources of one or two others. */
static void chain(struct wt_relay *relays, struct wt_flow *from,
                  struct wt_flow *a, struct wt_flow *b)
{
    for (uint32_t i = 0; i < PLAN_NODES * PLAN_WORKERS; i++) {
        uint32_t n = i / PLAN_WORKERS;
        uint32_t w = i % PLAN_WORKERS;
        wt_relay_open(&relays[i], from->sink[n][w], a->source[n][w],
                      b != NULL ? b->source[n][w] : NULL);
    }
}

static void run_plan(const struct wt_place *place, uint32_t stages,
                     bool diamond)
{
    const struct wt_cluster_params cluster = {
        .nodes = PLAN_NODES,
        .workers = PLAN_WORKERS,
        .node = {.frame_bytes = 1024, .ring_frames = 2}};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f[4];
    struct wt_relay relays[4][PLAN_MOST];
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q, &c, 1, NULL);
    for (uint32_t i = 0; i < stages; i++) {
        const struct wt_flow_params flow = {.shuffle = {.id = i + 1, .seed = i},
                                            .n_rows = 2000,
                                            .relayed = i > 0,
                                            .n_ids = 2000 * PLAN_NODES *
                                                     PLAN_WORKERS};
        wt_flow_open(&f[i], &q, &flow);
    }
    for (uint32_t i = 1; !diamond && i < stages; i++) {
        chain(relays[i], &f[i - 1], &f[i], NULL);
    }
    if (diamond) {
        chain(relays[1], &f[0], &f[1], &f[2]);
    }
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    for (uint32_t i = 0; i < stages; i++) {
        wt_flow_check(&f[i]);
    }
    wt_query_close(&q);
    for (uint32_t i = 0; i < stages; i++) {
        wt_flow_close(&f[i]);
    }
    wt_cluster_close(&c);
}

void wt_api_two_chained_shuffles(const struct wt_place *place)
{
    run_plan(place, 2, false);
    run_plan(place, 4, false);
}

/* One stage feeds two shuffles whose readers are the same workers; they take
 * from both, which is the rule. */
void wt_api_diamond_ends(const struct wt_place *place)
{
    run_plan(place, 3, true);
}

/* ---- side by side -------------------------------------------------------- */

void wt_api_several_queries_and_shuffles_at_once(const struct wt_place *place)
{
    enum { QUERIES = 3, FLOWS = 2 };
    const struct wt_cluster_params cluster = {
        .nodes = 3, .workers = 2, .node = {.frame_bytes = 2048}};
    struct wt_cluster c;
    struct wt_query q[QUERIES];
    struct wt_flow f[QUERIES][FLOWS];
    wt_cluster_open(&c, place, &cluster);
    for (uint32_t i = 0; i < QUERIES; i++) {
        wt_query_open(&q[i], &c, 100 + i, NULL);
        for (uint32_t k = 0; k < FLOWS; k++) {
            const struct wt_flow_params flow = {
                .shuffle = {.id = k + 1,
                            .partitioning =
                                k == 0 ? WEIR_HASH : WEIR_ROUND_ROBIN},
                .n_rows = 2000 + 500 * i};
            wt_flow_open(&f[i][k], &q[i], &flow);
        }
    }
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    for (uint32_t i = 0; i < QUERIES; i++) {
        wt_flow_check(&f[i][0]);
        wt_flow_check(&f[i][1]);
        wt_query_close(&q[i]);
        wt_flow_close(&f[i][0]);
        wt_flow_close(&f[i][1]);
    }
    wt_cluster_close(&c);
}

/* The consumer of the first query takes nothing before the second query, over
 * the same links, is through. */
void wt_api_stalled_consumer_holds_up_nobody_else(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .workers = 2, .node = {.frame_bytes = 2048}};
    const struct wt_flow_params flow = {.n_rows = 4000};
    struct wt_cluster c;
    struct wt_query q[2];
    struct wt_flow f[2];
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q[0], &c, 1, NULL);
    wt_query_open(&q[1], &c, 2, NULL);
    /* Worker 1 of node 2 has only the stalled sink to look after. */
    struct wt_flow_params first = flow;
    first.shuffle.producer_workers = 1;
    struct wt_flow_params second = flow;
    second.shuffle.consumer_workers = 1;
    second.shuffle.producer_workers = 1;
    wt_flow_open(&f[0], &q[0], &first);
    wt_flow_open(&f[1], &q[1], &second);
    f[0].sink[2][1]->gate = 1;
    f[1].sink[1][0]->opens = 1;
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_flow_check(&f[0]);
    wt_flow_check(&f[1]);
    cr_assert_neq(f[0].sink[2][1]->rows, 0);
    for (int i = 0; i < 2; i++) {
        wt_query_close(&q[i]);
        wt_flow_close(&f[i]);
    }
    wt_cluster_close(&c);
}

/* ---- large rows ---------------------------------------------------------- */

static const struct weir_field large_fields[] = {
    {"id", "l", 0}, {"k", "l", 0}, {"u", "u", 1}, {"z", "z", 0}};

/* So many that rows are scattered without lists; some rows need chunks, rings
 * are full all the time, and one reader stops in the midst. */
void wt_api_many_destinations_get_long_and_short_rows(
    const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 8,
        .workers = 4,
        .node = {.frame_bytes = 1024, .ring_frames = 2, .max_shuffles = 2}};
    const struct wt_flow_params flow = {.shuffle = {.producer_workers = 1},
                                        .n_rows = 6000,
                                        .batch_rows = 700,
                                        .rows = {.fields = large_fields,
                                                 .n_fields = 4,
                                                 .big_every = 50,
                                                 .big_bytes = 1500}};
    wt_flow_once(place, &cluster, &flow);
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    w->f.sink[3][1]->stop_after = 20;
    wt_world_run(w);
    cr_assert(w->f.sink[3][1]->stopped);
    wt_world_close(w);
}

static void move_large(const struct wt_place *place, weir_partitioning kind,
                       uint32_t bytes, uint64_t n_rows)
{
    const struct wt_cluster_params cluster = {
        .nodes = 2,
        .workers = 1,
        .node = {.frame_bytes = 16384, .ring_frames = 4}};
    const struct wt_flow_params flow = {.shuffle = {.partitioning = kind},
                                        .rows = {.fields = large_fields,
                                                 .n_fields = 4,
                                                 .big_every = 7,
                                                 .big_bytes = bytes},
                                        .n_rows = n_rows,
                                        .batch_rows = 11};
    wt_flow_once(place, &cluster, &flow);
}

void wt_api_rows_of_16_mib_pass_64_kib_rings(const struct wt_place *place)
{
    move_large(place, WEIR_HASH, 16 << 20, 8);
    move_large(place, WEIR_ROUND_ROBIN, 40000, 400);
}

/* Rows that fit a frame of a ring and are larger than the frames that are
 * filled beside it, and rows that need chunks. */
void wt_api_node_rings_move_large_rows(const struct wt_place *place)
{
    static const uint32_t big_bytes[] = {1500, 9000};
    struct wt_cluster_params cluster = {
        .nodes = 2,
        .workers = 2,
        .node = {.frame_bytes = 4096, .max_shuffles = 1}};
    cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    for (uint32_t i = 0; i < 2; i++) {
        const struct wt_flow_params flow = {
            .n_rows = 200,
            .rows = {.fields = large_fields,
                     .n_fields = 4,
                     .big_every = 3,
                     .big_bytes = big_bytes[i]}};
        wt_flow_once(place, &cluster, &flow);
    }
}

void wt_api_large_rows_are_broadcast(const struct wt_place *place)
{
    move_large(place, WEIR_BROADCAST, 16 << 20, 2);
    move_large(place, WEIR_BROADCAST, 15000, 200);
}

void wt_api_row_over_max_row_bytes_is_refused(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 2, .node = {.max_row_bytes = 100000}};
    const struct wt_flow_params params = {
        .rows = {.big_every = 1, .big_bytes = 200000}, .n_rows = 1};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    struct ArrowArray batch;
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, &params);
    /* Scope of the call: the query goes on without that batch. */
    struct wt_rows rows = f.rows;
    rows.fields = (const struct weir_field[]){
        {"id", "l", 0}, {"k", "l", 0}, {"text", "u", 0}};
    wt_rows_make(&rows, 0, 1, &batch);
    cr_assert_eq(weir_writer_push(f.source[0][0]->writer, &batch),
                 WEIR_ERR_DATA);
    cr_assert_eq(weir_query_status(q.query[0], NULL), WEIR_OK);
    batch.release(&batch);
    f.rows.big_bytes = 50000;
    wt_flow_end(&f);
}
