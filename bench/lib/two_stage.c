/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of R. C. Goncalves, J. Pereira, R. Jimenez-Peris, "An RDMA
 * Middleware for Asynchronous Multi-stage Shuffling in Analytical Processing"
 * (DAIS 2016), section on the synthetic benchmark: rows shuffled twice by
 * different hashes, then aggregated.
 */
#include "bench/lib/two_stage.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <weir/query.h>
#include <weir/shuffle.h>

#include "bench/lib/keys.h"
#include "bench/lib/row_batch.h"
#include "core/base/atomic.h"
#include "core/base/cc.h"
#include "core/base/err.h"

/* Batches of reader 2 that are counted before stage 1 gets its turn: as many
 * as arrive while one batch is forwarded, and then some. */
#define COUNT_BATCHES_PER_STEP 8

struct wb_task {
    struct wb_two_stage *plan;
    struct wb_worker *worker;
    weir_writer *writer[WB_STAGES];
    weir_reader *reader[WB_STAGES];

    struct ArrowArray moving; /* from reader 1, not yet all in writer 2 */
    bool holds_moving;
    bool holds_made;          /* `batch` is not yet all in writer 1 */
    bool drained[WB_STAGES];  /* the reader is done */
    bool finished[WB_STAGES]; /* the writer is */
    uint64_t made_rows;

    struct wb_row_batch batch; /* what is pushed into writer 1 */
};

struct wb_two_stage {
    weir_node *node;
    weir_query *query;
    uint32_t workers;
    enum wb_row row;
    bool to_node;
    struct wb_task *tasks[];
};

/* ---- open ---------------------------------------------------------------- */

static weir_err open_shuffles(struct wb_two_stage *p,
                              const struct ArrowSchema *schema,
                              weir_shuffle *out[WB_STAGES],
                              struct weir_error *err)
{
    static const uint64_t seed[WB_STAGES] = {WB_SEED_STAGE1, WB_SEED_STAGE2};
    static const char *const keys[] = {"key"};
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        struct weir_shuffle_params params = {
            .id = s + 1,
            .schema = schema,
            .partitioning = WEIR_HASH,
            .keys = keys,
            .n_keys = 1,
            .seed = seed[s],
            .to = p->to_node ? WEIR_TO_NODE : WEIR_TO_WORKER,
        };
        weir_err rc = weir_shuffle_open(p->query, &params, &out[s], err);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    return WEIR_OK;
}

static weir_err open_task(struct wb_two_stage *p, uint32_t worker,
                          weir_shuffle *const shuffles[WB_STAGES],
                          struct weir_error *err)
{
    struct wb_task *t = aligned_alloc(64, sizeof(*t));
    if (t == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a task");
    }
    memset(t, 0, offsetof(struct wb_task, batch)); /* that is large */
    p->tasks[worker] = t;
    t->plan = p;
    wb_row_batch_init(&t->batch, p->row);
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        weir_err rc = weir_writer_open(shuffles[s], worker, &t->writer[s], err);
        if (rc == WEIR_OK) {
            rc = weir_reader_open(shuffles[s], worker, &t->reader[s], err);
        }
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    return WEIR_OK;
}

static weir_err open_all(struct wb_two_stage *p, uint64_t query_id,
                         struct weir_error *err)
{
    weir_shuffle *shuffles[WB_STAGES];
    struct ArrowSchema schema;
    struct weir_query_params params = {.id = query_id};
    weir_err rc = weir_query_open(p->node, &params, &p->query, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = wb_row_schema(p->row, &schema, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = open_shuffles(p, &schema, shuffles, err);
    schema.release(&schema);
    for (uint32_t w = 0; w < p->workers && rc == WEIR_OK; w++) {
        rc = open_task(p, w, shuffles, err);
    }
    return rc;
}

weir_err wb_two_stage_open(weir_node *node,
                           const struct wb_two_stage_params *params,
                           struct wb_two_stage **out, struct weir_error *err)
{
    struct wb_two_stage *p =
        calloc(1, sizeof(*p) + params->workers * sizeof(p->tasks[0]));
    if (p == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a plan");
    }
    p->node = node;
    p->workers = params->workers;
    p->row = params->row;
    p->to_node = params->to_node;
    weir_err rc = open_all(p, params->query_id, err);
    if (rc != WEIR_OK) {
        wb_two_stage_close(p);
        return rc;
    }
    *out = p;
    return WEIR_OK;
}

static void close_task(struct wb_task *t)
{
    if (t->holds_moving) {
        t->moving.release(&t->moving);
    }
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        weir_writer_close(t->writer[s]);
        weir_reader_close(t->reader[s]);
    }
    free(t);
}

void wb_two_stage_close(struct wb_two_stage *plan)
{
    if (plan == NULL) {
        return;
    }
    for (uint32_t w = 0; w < plan->workers; w++) {
        if (plan->tasks[w] != NULL) {
            close_task(plan->tasks[w]);
        }
    }
    weir_query_close(plan->query);
    free(plan);
}

weir_err wb_two_stage_status(struct wb_two_stage *plan, weir_err rc,
                             struct weir_error *err)
{
    weir_err why = weir_query_status(plan->query, err);
    return why != WEIR_OK ? why : wi_fail(err, rc, "%s", weir_err_text(rc));
}

struct wb_task *wb_two_stage_task(struct wb_two_stage *plan,
                                  struct wb_worker *worker)
{
    struct wb_task *t = plan->tasks[worker->worker];
    t->worker = worker;
    return t;
}

/* ---- one round ----------------------------------------------------------- */

/* Note that a batch came over an edge. */
static weir_err note_source(struct wb_task *t, uint32_t stage, uint64_t rows)
{
    uint32_t member = 0;
    uint32_t worker = 0;
    weir_reader_source(t->reader[stage], &member, &worker);
    if (member >= weir_node_members(t->plan->node) ||
        worker >= t->plan->workers) {
        return WEIR_ERR_INTEGRITY;
    }
    t->worker->edge[stage][member * t->plan->workers + worker] += rows;
    return WEIR_OK;
}

static weir_err count_batch(struct wb_task *t, struct ArrowArray *batch)
{
    uint64_t rows = (uint64_t)batch->length;
    t->worker->tally->got_rows += rows;
    t->worker->tally->got_sum += wb_row_batch_sum(t->plan->row, batch);
    weir_err rc = note_source(t, 1, rows);
    if (t->worker->checks_values &&
        !wb_row_batch_is_right(t->plan->row, batch)) {
        rc = WEIR_ERR_INTEGRITY;
    }
    batch->release(batch);
    if (t->worker->counter != NULL) {
        /* Relaxed: it is shown, and nothing else follows from it. */
        wi_store_rlx(&t->worker->counter->rows, t->worker->tally->got_rows);
    }
    return rc;
}

/* Reader 2 to the sum. */
static weir_err step_count(struct wb_task *t)
{
    weir_err moved = WEIR_AGAIN;
    for (int i = 0; i < COUNT_BATCHES_PER_STEP && !t->drained[1]; i++) {
        struct ArrowArray batch;
        weir_err rc = weir_reader_next(t->reader[1], &batch);
        if (rc == WEIR_AGAIN) {
            return moved;
        }
        t->drained[1] = rc == WEIR_DONE;
        if (rc == WEIR_OK) {
            rc = count_batch(t, &batch);
        }
        if (rc < 0) {
            return rc;
        }
        moved = WEIR_OK;
    }
    return moved;
}

static weir_err take_moving(struct wb_task *t)
{
    weir_err rc = weir_reader_next(t->reader[0], &t->moving);
    if (rc == WEIR_DONE) {
        t->drained[0] = true;
        return WEIR_OK;
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    t->holds_moving = true;
    return note_source(t, 0, (uint64_t)t->moving.length);
}

static weir_err push_moving(struct wb_task *t)
{
    weir_err rc = weir_writer_push(t->writer[1], &t->moving);
    if (rc != WEIR_OK) {
        /* No reader of this plan stops early. */
        return rc == WEIR_DONE ? WEIR_ERR_STATE : rc;
    }
    t->moving.release(&t->moving);
    t->holds_moving = false;
    return WEIR_OK;
}

static weir_err finish(struct wb_task *t, uint32_t stage)
{
    weir_err rc = weir_writer_finish(t->writer[stage]);
    t->finished[stage] = rc == WEIR_OK;
    return rc;
}

/* Reader 1 to writer 2. */
static weir_err step_forward(struct wb_task *t)
{
    if (t->finished[1]) {
        return WEIR_AGAIN;
    }
    if (!t->holds_moving && !t->drained[0]) {
        weir_err rc = take_moving(t);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    return t->holds_moving ? push_moving(t) : finish(t, 1);
}

static void make_batch(struct wb_task *t)
{
    struct wb_worker *w = t->worker;
    uint32_t most = wb_row_batch_rows(t->plan->row);
    struct wb_row_range range = {
        .first = w->first_row + t->made_rows,
        .n = (uint32_t)wi_min_u64(w->rows - t->made_rows, most),
        .distinct = w->distinct};
    w->tally->made_sum += wb_row_batch_make(&t->batch, &range);
    w->tally->made_rows += range.n;
    t->made_rows += range.n;
    t->holds_made = true;
}

/* New rows to writer 1. */
static weir_err step_make(struct wb_task *t)
{
    if (t->finished[0]) {
        return WEIR_AGAIN;
    }
    if (!t->holds_made) {
        if (t->made_rows == t->worker->rows) {
            return finish(t, 0);
        }
        make_batch(t);
    }
    weir_err rc = weir_writer_push(t->writer[0], &t->batch.array);
    if (rc != WEIR_OK) {
        return rc == WEIR_DONE ? WEIR_ERR_STATE : rc;
    }
    t->holds_made = false;
    return WEIR_OK;
}

weir_err wb_task_step(struct wb_task *task)
{
    if (task->drained[1] && task->finished[0] && task->finished[1]) {
        return WEIR_DONE;
    }
    weir_err counted = step_count(task);
    if (counted < 0) {
        return counted;
    }
    weir_err forwarded = step_forward(task);
    if (forwarded != WEIR_AGAIN) {
        return forwarded;
    }
    weir_err made = step_make(task);
    return made == WEIR_AGAIN ? counted : made;
}
