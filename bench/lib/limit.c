/* SPDX-License-Identifier: Apache-2.0 */
/* Partition and consume without exchange; see limit.h. */
#include "bench/lib/limit.h"

#include <stdlib.h>
#include <string.h>

#include "bench/lib/keys.h"
#include "bench/lib/row_batch.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/format/frame.h"
#include "core/format/frame_build.h"
#include "core/format/frame_check.h"
#include "core/format/import.h"
#include "core/partition/partition.h"

#define FRAME_BYTES 61440u /* the library's default (weir/node.h) */

/* The open frame of one destination. */
struct lane {
    struct wi_builder *builder;
    uint8_t *mem;
    bool started;
};

struct stage {
    struct wi_partition *partition;
    struct lane *lanes; /* [destination] */
    struct wi_export *exported;
};

struct limit {
    struct wi_schema *schema;
    uint32_t n_dest;
    uint32_t frame_bytes;
    struct stage stages[WB_STAGES];
    struct wb_worker *worker;
    struct wb_row_batch batch;
};

/* ---- the loops ----------------------------------------------------------- */

static weir_err push(struct limit *l, uint32_t stage,
                     const struct wi_view *view, uint32_t rows);

/* A batch without a release would count as released already. */
static void keep_frame(struct ArrowArray *batch)
{
    batch->release = NULL;
}

static weir_err consume(struct limit *l, uint32_t stage, const uint8_t *mem)
{
    struct wi_frame_header header;
    struct ArrowArray batch;
    struct wb_worker *w = l->worker;
    memcpy(&header, mem, sizeof(header));
    weir_err rc = wi_frame_export(
        l->stages[stage].exported,
        &(struct wi_frame_at){.h = &header, .mem = mem}, &batch, NULL);
    if (rc != WEIR_OK) {
        return rc;
    }
    batch.release = keep_frame;
    w->edge[stage][w->id] += header.rows;
    if (stage + 1 < WB_STAGES) {
        struct wi_view views[WB_COLUMNS + 1];
        rc = wi_schema_import(l->schema, &batch, views, NULL);
        return rc == WEIR_OK ? push(l, stage + 1, views, header.rows) : rc;
    }
    w->tally->got_rows += header.rows;
    w->tally->got_sum += wb_row_batch_sum(l->batch.row, &batch);
    return w->checks_values && !wb_row_batch_is_right(l->batch.row, &batch)
               ? WEIR_ERR_INTEGRITY
               : WEIR_OK;
}

static weir_err flush(struct limit *l, uint32_t stage, struct lane *lane)
{
    if (!lane->started) {
        return WEIR_OK;
    }
    lane->started = false;
    uint32_t bytes = wi_builder_finish(lane->builder, false);
    return bytes > 0 ? consume(l, stage, lane->mem) : WEIR_OK;
}

static weir_err append(struct limit *l, uint32_t stage, struct lane *lane,
                       const struct wi_view *view, const struct wi_split *split,
                       uint32_t dest)
{
    const uint32_t *idx =
        split->idx != NULL ? split->idx + split->begin[dest] : NULL;
    uint32_t done = 0;
    while (done < split->count[dest]) {
        if (!lane->started) {
            wi_builder_start(lane->builder, lane->mem, l->frame_bytes, 0);
            lane->started = true;
        }
        uint32_t n = split->count[dest] - done;
        uint32_t took = wi_builder_append(lane->builder, view,
                                          idx != NULL ? idx + done : NULL,
                                          split->first + done, n);
        done += took;
        if (took < n) {
            weir_err rc = flush(l, stage, lane);
            if (rc != WEIR_OK) {
                return rc;
            }
        }
    }
    return WEIR_OK;
}

static weir_err push(struct limit *l, uint32_t stage,
                     const struct wi_view *view, uint32_t rows)
{
    struct stage *s = &l->stages[stage];
    for (uint32_t i = 0; i < rows; i += WI_SPLIT_ROWS) {
        struct wi_split split;
        uint32_t n = wi_min_u32(rows - i, WI_SPLIT_ROWS);
        wi_partition_split(s->partition, view, i, n, NULL, &split);
        for (uint32_t d = 0; d < l->n_dest; d++) {
            weir_err rc = append(l, stage, &s->lanes[d], view, &split, d);
            if (rc != WEIR_OK) {
                return rc;
            }
        }
    }
    return WEIR_OK;
}

static weir_err make_all(struct limit *l)
{
    struct wb_worker *w = l->worker;
    const uint32_t most = wb_row_batch_rows(l->batch.row);
    weir_err rc = WEIR_OK;
    for (uint64_t i = 0; i < w->rows && rc == WEIR_OK; i += most) {
        struct wi_view views[WB_COLUMNS + 1];
        struct wb_row_range range = {
            .first = w->first_row + i,
            .n = (uint32_t)wi_min_u64(w->rows - i, most),
            .distinct = w->distinct};
        w->tally->made_sum += wb_row_batch_make(&l->batch, &range);
        w->tally->made_rows += range.n;
        rc = wi_schema_import(l->schema, &l->batch.array, views, NULL);
        if (rc == WEIR_OK) {
            rc = push(l, 0, views, range.n);
        }
    }
    return rc;
}

/* ---- open and close ------------------------------------------------------ */

static weir_err open_stage(struct limit *l, struct stage *s, uint64_t seed,
                           struct weir_error *err)
{
    static const char *const keys[] = {"key"};
    struct wi_partition_params params = {.kind = WEIR_HASH,
                                         .n_dest = l->n_dest,
                                         .keys = keys,
                                         .n_keys = 1,
                                         .seed = seed};
    weir_err rc = wi_partition_open(l->schema, &params, &s->partition, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    s->exported = wi_export_open(l->schema);
    s->lanes = calloc(l->n_dest, sizeof(*s->lanes));
    if (s->exported == NULL || s->lanes == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u lanes",
                       l->n_dest);
    }
    for (uint32_t d = 0; d < l->n_dest; d++) {
        rc = wi_builder_open(l->schema, &s->lanes[d].builder, err);
        if (rc != WEIR_OK) {
            return rc;
        }
        s->lanes[d].mem = aligned_alloc(64, l->frame_bytes);
        if (s->lanes[d].mem == NULL) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a frame");
        }
        memset(s->lanes[d].mem, 0, l->frame_bytes);
    }
    return WEIR_OK;
}

static weir_err open_limit(struct limit *l, struct weir_error *err)
{
    static const uint64_t seeds[WB_STAGES] = {WB_SEED_STAGE1, WB_SEED_STAGE2};
    struct ArrowSchema schema;
    weir_err rc = wb_row_schema(l->batch.row, &schema, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = wi_schema_open(&schema, &l->schema, err);
    schema.release(&schema);
    for (uint32_t s = 0; s < WB_STAGES && rc == WEIR_OK; s++) {
        rc = open_stage(l, &l->stages[s], seeds[s], err);
    }
    return rc;
}

static void close_stage(struct limit *l, struct stage *s)
{
    for (uint32_t d = 0; s->lanes != NULL && d < l->n_dest; d++) {
        if (s->lanes[d].builder != NULL) {
            wi_builder_close(s->lanes[d].builder);
        }
        free(s->lanes[d].mem);
    }
    free(s->lanes);
    if (s->exported != NULL) {
        wi_export_close(s->exported);
    }
    if (s->partition != NULL) {
        wi_partition_close(s->partition);
    }
}

static void close_limit(struct limit *l)
{
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        close_stage(l, &l->stages[s]);
    }
    if (l->schema != NULL) {
        wi_schema_close(l->schema);
    }
}

/* ---- the engine: one struct limit per worker ----------------------------- */

struct engine {
    uint32_t workers;
    struct limit limits[];
};

static void engine_close(void *engine)
{
    struct engine *e = engine;
    for (uint32_t w = 0; w < e->workers; w++) {
        close_limit(&e->limits[w]);
    }
    free(e);
}

static weir_err engine_open(const struct wb_node *node, void **out,
                            struct weir_error *err)
{
    uint32_t workers = node->params.workers;
    size_t bytes = sizeof(struct engine) + workers * sizeof(struct limit);
    struct engine *e = aligned_alloc(WI_CACHE_LINE, bytes);
    if (e == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for the limit");
    }
    memset(e, 0, bytes);
    e->workers = workers;
    for (uint32_t w = 0; w < workers; w++) {
        e->limits[w].n_dest = workers * node->params.nodes;
        wb_row_batch_init(&e->limits[w].batch, node->params.row);
        e->limits[w].frame_bytes = node->params.frame_bytes != 0
                                       ? node->params.frame_bytes / 64 * 64
                                       : FRAME_BYTES;
        weir_err rc = open_limit(&e->limits[w], err);
        if (rc != WEIR_OK) {
            engine_close(e);
            return rc;
        }
    }
    *out = e;
    return WEIR_OK;
}

static weir_err engine_work(void *engine, struct wb_worker *worker,
                            struct weir_error *err)
{
    struct limit *l = &((struct engine *)engine)->limits[worker->worker];
    l->worker = worker;
    weir_err rc = make_all(l);
    /* Stage by stage: the tails of the first fill frames of the second. */
    for (uint32_t s = 0; s < WB_STAGES && rc == WEIR_OK; s++) {
        for (uint32_t d = 0; d < l->n_dest && rc == WEIR_OK; d++) {
            rc = flush(l, s, &l->stages[s].lanes[d]);
        }
    }
    return rc == WEIR_OK ? rc : wi_fail(err, rc, "%s", weir_err_text(rc));
}

const struct wb_engine_ops wb_limit_engine = {
    .name = "limit",
    .open = engine_open,
    .connect = wb_no_step,
    .prepare = wb_no_step,
    .work = engine_work,
    .settle = wb_no_step,
    .close = engine_close,
};
