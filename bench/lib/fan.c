/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lib/fan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/node.h>
#include <weir/query.h>
#include <weir/shuffle.h>

#include "core/base/cc.h"
#include "core/base/err.h"
#include "launch/clock.h"

#define PATIENCE_NS UINT64_C(600000000000) /* nobody judges a peer here */

/* Steps of all nodes without anything to do, after which a phase is over. */
#define QUIET_ROUNDS 3u

struct fan_node {
    weir_node *node;
    weir_query *query;
    weir_shuffle *shuffle;
};

struct wb_fan {
    struct wb_fan_params p;
    uint32_t n_nodes;
    struct fan_node *nodes;
    weir_reader **readers; /* [destination] */
    weir_writer *writer;
    uint64_t query;
    uint64_t frames;
    struct wb_batch batch;
    struct wb_fan_part *parts; /* of the run */
};

/* ---- moving -------------------------------------------------------------- */

static bool step_all(struct wb_fan *f)
{
    bool moved = false;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        uint64_t next_ns;
        moved |=
            weir_node_step(f->nodes[i].node, wl_now_ns(), &next_ns) == WEIR_OK;
    }
    return moved;
}

static void settle(struct wb_fan *f)
{
    for (uint32_t quiet = 0; quiet < QUIET_ROUNDS;) {
        quiet = step_all(f) ? 0 : quiet + 1;
    }
}

/* Take all that one reader has; true: it has ended. */
static weir_err drain(struct wb_fan *f, uint32_t d, bool *ended)
{
    struct ArrowArray batch;
    weir_err rc;
    while ((rc = weir_reader_next(f->readers[d], &batch)) == WEIR_OK) {
        struct wb_columns c = wb_batch_columns(&batch);
        f->parts[d].rows += (uint64_t)batch.length;
        f->parts[d].sum += wb_rows_sum(&c, (uint64_t)batch.length);
        batch.release(&batch);
    }
    *ended = rc == WEIR_DONE;
    return rc == WEIR_AGAIN || rc == WEIR_DONE ? WEIR_OK : rc;
}

/* One round over all readers and nodes. */
static weir_err drain_all(struct wb_fan *f, uint32_t *ended_out)
{
    *ended_out = 0;
    for (uint32_t d = 0; d < f->p.destinations; d++) {
        bool ended;
        weir_err rc = drain(f, d, &ended);
        if (rc != WEIR_OK) {
            return rc;
        }
        *ended_out += ended;
    }
    (void)step_all(f);
    return WEIR_OK;
}

/* One call of the writer, timed, and again while rings are full. */
static weir_err keep_calling(struct wb_fan *f, bool finish, uint64_t *ns)
{
    for (;;) {
        uint32_t ended;
        uint64_t begin_ns = wl_now_ns();
        weir_err rc = finish ? weir_writer_finish(f->writer)
                             : weir_writer_push(f->writer, &f->batch.array);
        *ns += wl_now_ns() - begin_ns;
        if (rc != WEIR_AGAIN) {
            return rc;
        }
        rc = drain_all(f, &ended);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
}

static weir_err move(struct wb_fan *f, const struct wb_rows *rows, uint64_t *ns)
{
    weir_err rc = WEIR_OK;
    uint32_t ended = 0;
    for (uint64_t i = 0; i < rows->n && rc == WEIR_OK; i += f->p.batch_rows) {
        uint64_t left = wi_min_u64(rows->n - i, f->p.batch_rows);
        wb_batch_set(&f->batch, rows, i, (uint32_t)left);
        rc = keep_calling(f, false, ns);
    }
    rc = rc == WEIR_OK ? keep_calling(f, true, ns) : rc;
    while (rc == WEIR_OK && ended < f->p.destinations) {
        rc = drain_all(f, &ended);
    }
    return rc;
}

/* ---- one run ------------------------------------------------------------- */

static weir_err open_shuffle(struct wb_fan *f, uint32_t i,
                             const struct ArrowSchema *schema,
                             struct weir_error *err)
{
    static const char *const keys[] = {"key"};
    static const uint32_t producer = 0;
    struct fan_node *n = &f->nodes[i];
    struct weir_query_params query = {.id = f->query};
    struct weir_shuffle_params shuffle = {.id = 1,
                                          .schema = schema,
                                          .partitioning = WEIR_HASH,
                                          .keys = keys,
                                          .n_keys = 1,
                                          .producers = &producer,
                                          .n_producers = 1,
                                          .producer_workers = 1};
    weir_err rc = weir_query_open(n->node, &query, &n->query, err);
    if (rc == WEIR_OK) {
        rc = weir_shuffle_open(n->query, &shuffle, &n->shuffle, err);
    }
    for (uint32_t w = 0; w < f->p.workers && rc == WEIR_OK; w++) {
        rc = weir_reader_open(n->shuffle, w, &f->readers[i * f->p.workers + w],
                              err);
    }
    return rc;
}

/* Of so few words that a batch of keys sets every bit. */
static weir_err send_filters(struct wb_fan *f, const struct wb_rows *rows)
{
    weir_err rc = WEIR_OK;
    wb_batch_set(&f->batch, rows, 0,
                 (uint32_t)wi_min_u64(rows->n, f->p.batch_rows));
    struct ArrowArray keys = f->batch.array;
    keys.n_children = 1;
    for (uint32_t d = 0; d < f->p.destinations && rc == WEIR_OK; d++) {
        rc = weir_reader_filter_open(f->readers[d], 1);
        rc = rc == WEIR_OK ? weir_reader_filter_add(f->readers[d], &keys) : rc;
        rc = rc == WEIR_OK ? weir_reader_filter_send(f->readers[d]) : rc;
    }
    settle(f);
    return rc;
}

static weir_err open_run(struct wb_fan *f, struct weir_error *err)
{
    const struct weir_field *fields;
    struct ArrowSchema schema;
    uint32_t n = wb_rows_fields(f->p.mixed, &fields);
    weir_err rc = weir_schema_build(fields, n, &schema, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    f->query++;
    for (uint32_t i = 0; i < f->n_nodes && rc == WEIR_OK; i++) {
        rc = open_shuffle(f, i, &schema, err);
        (void)step_all(f);
    }
    schema.release(&schema);
    if (rc == WEIR_OK) {
        rc = weir_writer_open(f->nodes[0].shuffle, 0, &f->writer, err);
    }
    settle(f);
    return rc;
}

static uint64_t frames_of(const struct wb_fan *f)
{
    uint64_t frames = 0;
    for (uint32_t d = 0; f->writer != NULL && d < f->p.destinations; d++) {
        struct weir_edge_stats s;
        if (weir_writer_stats(f->writer, d, &s) == WEIR_OK) {
            frames += s.frames;
        }
    }
    return frames;
}

static void close_run(struct wb_fan *f)
{
    weir_writer_close(f->writer);
    f->writer = NULL;
    for (uint32_t d = 0; d < f->p.destinations; d++) {
        weir_reader_close(f->readers[d]);
        f->readers[d] = NULL;
    }
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        weir_query_close(f->nodes[i].query);
        f->nodes[i].query = NULL;
    }
    settle(f);
}

weir_err wb_fan_run(struct wb_fan *fan, const struct wb_rows *rows,
                    struct wb_fan_part *parts, uint64_t *ns_out,
                    struct weir_error *err)
{
    memset(parts, 0, fan->p.destinations * sizeof(*parts));
    fan->parts = parts;
    *ns_out = 0;
    weir_err rc = open_run(fan, err);
    if (rc == WEIR_OK) {
        rc = fan->p.filters ? send_filters(fan, rows) : WEIR_OK;
        rc = rc == WEIR_OK ? move(fan, rows, ns_out) : rc;
        if (rc != WEIR_OK && weir_writer_error(fan->writer, err) == WEIR_OK) {
            (void)wi_fail(err, rc, "%s", weir_err_text(rc));
        }
    }
    fan->frames = frames_of(fan);
    close_run(fan);
    return rc;
}

uint64_t wb_fan_frames(const struct wb_fan *fan)
{
    return fan->frames;
}

const char *wb_fan_plan(const struct wb_fan *fan)
{
    return weir_node_plan(fan->nodes[0].node);
}

/* ---- opening ------------------------------------------------------------- */

static weir_err open_nodes(struct wb_fan *f, struct weir_error *err)
{
    struct weir_node_params p = {.transport = "shm",
                                 .workers = f->p.workers,
                                 .max_members = f->n_nodes,
                                 .max_shuffles = 1,
                                 .frame_bytes = f->p.frame_bytes,
                                 .ring_frames = f->p.ring_frames,
                                 .memory_bytes = f->p.memory_bytes,
                                 .detect_ns = PATIENCE_NS,
                                 .connect_ns = PATIENCE_NS,
                                 .idle_close_ns = PATIENCE_NS,
                                 .stall_ns = WEIR_FOREVER,
                                 .no_checksum = f->p.no_checksum,
                                 .manual = 1};
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; i < f->n_nodes && rc == WEIR_OK; i++) {
        rc = weir_node_open(&p, &f->nodes[i].node, err);
    }
    return rc;
}

static weir_err join(struct wb_fan *f, struct weir_error *err)
{
    struct weir_member *m = calloc(f->n_nodes, sizeof(*m));
    weir_err rc = m != NULL
                      ? WEIR_OK
                      : wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory to join");
    for (uint32_t i = 0; i < f->n_nodes && rc == WEIR_OK; i++) {
        const weir_node *node = f->nodes[i].node;
        m[i] = (struct weir_member){weir_node_name(node),
                                    weir_node_address(node), f->p.workers};
    }
    for (uint32_t i = 0; i < f->n_nodes && rc == WEIR_OK; i++) {
        rc = weir_node_join(f->nodes[i].node, m, f->n_nodes, err);
    }
    free(m);
    return rc;
}

weir_err wb_fan_open(const struct wb_fan_params *params, struct wb_fan **out,
                     struct weir_error *err)
{
    struct wb_fan *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a fan");
    }
    f->p = *params;
    f->n_nodes = params->destinations / params->workers;
    f->nodes = calloc(f->n_nodes, sizeof(*f->nodes));
    f->readers = calloc(params->destinations, sizeof(*f->readers));
    weir_err rc = f->nodes != NULL && f->readers != NULL
                      ? open_nodes(f, err)
                      : wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a fan");
    rc = rc == WEIR_OK ? join(f, err) : rc;
    if (rc != WEIR_OK) {
        wb_fan_close(f);
        return rc;
    }
    *out = f;
    return WEIR_OK;
}

void wb_fan_close(struct wb_fan *fan)
{
    if (fan == NULL) {
        return;
    }
    for (uint32_t i = 0; fan->nodes != NULL && i < fan->n_nodes; i++) {
        weir_node_close(fan->nodes[i].node);
    }
    free(fan->nodes);
    free(fan->readers);
    free(fan);
}
