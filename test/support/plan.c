/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/plan.h"

#include <string.h>

#include "test/support/rows.h"

static void release_nothing(struct ArrowArray *a)
{
    a->release = NULL;
}

static void lay_out(struct wt_plan *p)
{
    p->column_buffers[1] = p->keys;
    p->children[0] = &p->column;
    p->column = (struct ArrowArray){.n_buffers = 2,
                                    .buffers = p->column_buffers,
                                    .release = release_nothing};
    p->made = (struct ArrowArray){.n_buffers = 1,
                                  .n_children = 1,
                                  .buffers = p->made_buffers,
                                  .children = p->children,
                                  .release = release_nothing};
}

static weir_err open_stage(struct wt_plan *p, uint32_t stage,
                           const struct ArrowSchema *schema,
                           struct weir_error *err)
{
    static const char *const keys[] = {"key"};
    struct weir_shuffle_params params = {.id = stage + 1,
                                         .schema = schema,
                                         .partitioning = WEIR_HASH,
                                         .keys = keys,
                                         .n_keys = 1,
                                         .seed = 77 + stage,
                                         .producer_workers = 1,
                                         .consumer_workers = 1};
    weir_shuffle *s = NULL;
    weir_err rc = weir_shuffle_open(p->query, &params, &s, err);
    if (rc == WEIR_OK) {
        rc = weir_writer_open(s, 0, &p->writer[stage], err);
    }
    return rc == WEIR_OK ? weir_reader_open(s, 0, &p->reader[stage], err) : rc;
}

weir_err wt_plan_open(struct wt_plan *p, weir_node *node, uint64_t id,
                      const uint32_t *members, uint32_t n_members,
                      uint64_t rows, struct weir_error *err)
{
    static const struct weir_field field = {.name = "key", .format = "l"};
    struct weir_query_params q = {
        .id = id, .members = members, .n_members = n_members};
    struct ArrowSchema schema;
    memset(p, 0, sizeof(*p));
    p->node = node;
    p->rows = rows;
    p->limit = UINT64_MAX;
    lay_out(p);
    weir_err rc = weir_query_open(node, &q, &p->query, err);
    if (rc == WEIR_OK) {
        rc = weir_schema_build(&field, 1, &schema, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    for (uint32_t s = 0; s < 2 && rc == WEIR_OK; s++) {
        rc = open_stage(p, s, &schema, err);
    }
    schema.release(&schema);
    return rc;
}

void wt_plan_close(struct wt_plan *p)
{
    if (p->holds_moving) {
        p->moving.release(&p->moving);
        p->holds_moving = false;
    }
    weir_query_close(p->query);
    p->query = NULL;
}

/* ---- steps --------------------------------------------------------------- */

static weir_err count(struct wt_plan *p)
{
    struct ArrowArray b;
    if (p->drained[1]) {
        return WEIR_AGAIN;
    }
    weir_err rc = weir_reader_next(p->reader[1], &b);
    if (rc != WEIR_OK) {
        p->drained[1] = rc == WEIR_DONE;
        return rc == WEIR_DONE ? WEIR_OK : rc;
    }
    const struct ArrowArray *c = b.children[0];
    const int64_t *keys = (const int64_t *)c->buffers[1] + c->offset + b.offset;
    for (int64_t i = 0; i < b.length; i++) {
        p->sums.got_sum += wt_mix((uint64_t)keys[i], 1);
    }
    p->sums.got_rows += (uint64_t)b.length;
    b.release(&b);
    return WEIR_OK;
}

static weir_err forward(struct wt_plan *p)
{
    weir_err rc;
    if (p->finished[1]) {
        return WEIR_AGAIN;
    }
    if (!p->holds_moving && !p->drained[0]) {
        rc = weir_reader_next(p->reader[0], &p->moving);
        p->drained[0] = rc == WEIR_DONE;
        p->holds_moving = rc == WEIR_OK;
        if (rc == WEIR_AGAIN || rc < 0) {
            return rc;
        }
    }
    if (!p->holds_moving) {
        rc = weir_writer_finish(p->writer[1]);
        p->finished[1] = rc == WEIR_OK;
        return rc;
    }
    rc = weir_writer_push(p->writer[1], &p->moving);
    if (rc == WEIR_OK) {
        p->forwarded_rows += (uint64_t)p->moving.length;
        p->moving.release(&p->moving);
        p->holds_moving = false;
    }
    return rc;
}

static void make_batch(struct wt_plan *p, uint64_t left)
{
    uint32_t n = (uint32_t)(left < WT_PLAN_ROWS ? left : WT_PLAN_ROWS);
    uint64_t first = (uint64_t)weir_node_self(p->node) << 40;
    for (uint32_t i = 0; i < n; i++) {
        p->keys[i] = (int64_t)(first + p->sums.made_rows + i);
        p->sums.made_sum += wt_mix((uint64_t)p->keys[i], 1);
    }
    p->sums.made_rows += n;
    p->made.length = n;
    p->column.length = n;
    p->holds_made = true;
}

static weir_err make(struct wt_plan *p)
{
    weir_err rc;
    if (p->finished[0]) {
        return WEIR_AGAIN;
    }
    if (!p->holds_made) {
        if (p->rows != WT_PLAN_ENDLESS && p->sums.made_rows == p->rows) {
            rc = weir_writer_finish(p->writer[0]);
            p->finished[0] = rc == WEIR_OK;
            return rc;
        }
        uint64_t most = p->rows != WT_PLAN_ENDLESS && p->rows < p->limit
                            ? p->rows
                            : p->limit;
        if (p->sums.made_rows >= most) {
            return WEIR_AGAIN;
        }
        make_batch(p, most - p->sums.made_rows);
    }
    rc = weir_writer_push(p->writer[0], &p->made);
    p->holds_made = rc != WEIR_OK;
    return rc;
}

weir_err wt_plan_step(struct wt_plan *p)
{
    if (p->drained[1] && p->finished[0] && p->finished[1]) {
        return WEIR_DONE;
    }
    weir_err rc = count(p);
    if (rc == WEIR_AGAIN) {
        rc = forward(p);
    }
    return rc == WEIR_AGAIN ? make(p) : rc;
}

weir_err wt_plan_run(struct wt_plan *p, struct weir_error *err)
{
    for (;;) {
        weir_err rc = wt_plan_step(p);
        if (rc == WEIR_DONE) {
            return rc;
        }
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(p->node, 0, WEIR_FOREVER);
        } else if (rc != WEIR_OK) {
            (void)weir_query_status(p->query, err);
            return rc;
        }
    }
}
