/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/sketch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct weir_field default_fields[] = {
    {"id", "l", 0}, {"k", "l", 0}, {"text", "u", 1}};
static const char *const by_k[] = {"k"};
static const struct wi_sort_key by_id[] = {{.col = 0}};

/* ---- the table ----------------------------------------------------------- */

struct scan {
    const struct wt_table *table;
    uint32_t part;
    uint64_t next;
    uint64_t end;
    uint64_t done;
};

static bool is_faulty(const struct wt_table *t, uint32_t part, uint64_t rows)
{
    return t->faulty && rows >= t->faulty_after &&
           (t->faulty_part == part || t->faulty_part == WT_ALL_PARTS);
}

static weir_err fault(uint32_t part, struct weir_error *err)
{
    err->code = WEIR_ERR_SYSTEM;
    (void)snprintf(err->message, sizeof(err->message), WT_TABLE_FAULT " %u",
                   part);
    return WEIR_ERR_SYSTEM;
}

static weir_err scan_open(void *table, const struct weir_table_part *part,
                          void **scan_out, struct weir_error *err)
{
    const struct wt_table *t = table;
    if (is_faulty(t, part->part, 0)) {
        return fault(part->part, err);
    }
    struct scan *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    *s = (struct scan){.table = t,
                       .part = part->part,
                       .next = t->n_rows * part->part / part->n_parts,
                       .end = t->n_rows * (part->part + 1) / part->n_parts};
    *scan_out = s;
    return WEIR_OK;
}

static weir_err scan_next(void *scan, struct ArrowArray *batch_out,
                          struct weir_error *err)
{
    struct scan *s = scan;
    const struct wt_table *t = s->table;
    if (is_faulty(t, s->part, s->done)) {
        return fault(s->part, err);
    }
    if (s->next == s->end) {
        return WEIR_DONE;
    }
    uint64_t left = s->end - s->next;
    uint32_t n = left < t->batch_rows ? (uint32_t)left : t->batch_rows;
    wt_rows_make(&t->rows, s->next, n, batch_out);
    s->next += n;
    s->done += n;
    return WEIR_OK;
}

static void nothing(void *table)
{
    (void)table;
}

static const struct weir_table_ops table_ops = {scan_open, scan_next, free,
                                                nothing};

/* ---- plans --------------------------------------------------------------- */

void wt_sketch_init(struct wt_sketch *s, const struct wt_rows *rows)
{
    struct ArrowSchema schema;
    struct weir_error err = {0};
    memset(s, 0, sizeof(*s));
    s->rows = *rows;
    if (s->rows.fields == NULL) {
        s->rows.fields = default_fields;
        s->rows.n_fields = 3;
    }
    cr_assert_eq(
        weir_schema_build(s->rows.fields, s->rows.n_fields, &schema, &err),
        WEIR_OK, "%s", err.message);
    cr_assert_eq(wi_columns_from_arrow(&schema, &s->columns, &err), WEIR_OK,
                 "%s", err.message);
    schema.release(&schema);
    s->plan.ops = s->list;
    s->plan.result = WI_PLAN_NO_RESULT;
}

void wt_sketch_fini(struct wt_sketch *s)
{
    for (uint32_t i = 0; i < s->plan.n_ops; i++) {
        weir_table_close(s->tables[i]);
    }
    wi_columns_fini(&s->columns);
}

static uint32_t add(struct wt_sketch *s, enum wi_plan_kind kind,
                    const char *name)
{
    uint32_t i = s->plan.n_ops++;
    struct wi_plan_op *op = &s->op[i];
    cr_assert_lt(i, WT_SKETCH_OPS);
    s->list[i] = op;
    op->kind = kind;
    op->columns = s->columns;
    op->inputs = s->inputs[i];
    (void)snprintf(op->name, sizeof(op->name), "%s%u", name, i);
    return i;
}

static void add_input(struct wt_sketch *s, uint32_t i, uint32_t input)
{
    s->inputs[i][s->op[i].n_inputs++] = input;
}

uint32_t wt_sketch_scan(struct wt_sketch *s, const struct wt_table *table)
{
    static const uint32_t cols[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct ArrowSchema schema;
    struct weir_error err = {0};
    uint32_t i = add(s, WI_PLAN_SCAN, "scan");
    s->made[i] = *table;
    s->made[i].rows = s->rows;
    if (table->batch_rows == 0) {
        s->made[i].batch_rows = 100;
    }
    cr_assert_eq(
        weir_schema_build(s->rows.fields, s->rows.n_fields, &schema, &err),
        WEIR_OK, "%s", err.message);
    cr_assert_eq(
        weir_table_open(&schema, &table_ops, &s->made[i], &s->tables[i], &err),
        WEIR_OK, "%s", err.message);
    schema.release(&schema);
    s->op[i].p.scan = (struct wi_scan_params){.columns = &s->op[i].columns,
                                              .table = s->tables[i],
                                              .table_cols = cols};
    return i;
}

uint32_t wt_sketch_limit(struct wt_sketch *s, uint32_t input, uint64_t rows,
                         uint64_t offset)
{
    uint32_t i = add(s, WI_PLAN_LIMIT, "limit");
    add_input(s, i, input);
    s->op[i].single = s->op[input].single;
    s->op[i].p.limit =
        (struct wi_limit_params){&s->op[i].columns, rows, offset};
    return i;
}

uint32_t wt_sketch_union(struct wt_sketch *s, uint32_t a, uint32_t b)
{
    uint32_t i = add(s, WI_PLAN_UNION, "union");
    add_input(s, i, a);
    add_input(s, i, b);
    s->op[i].single = s->op[a].single && s->op[b].single;
    s->op[i].p.all = (struct wi_union_params){&s->op[i].columns, 2};
    return i;
}

uint32_t wt_sketch_shuffle(struct wt_sketch *s, uint32_t input,
                           weir_partitioning how, uint64_t seed)
{
    uint32_t i = add(s, WI_PLAN_SHUFFLE, "shuffle");
    bool keys = how == WEIR_HASH || how == WEIR_RANGE;
    add_input(s, i, input);
    s->op[i].single = how == WEIR_GATHER;
    s->op[i].p.shuffle = (struct wi_plan_shuffle){.partitioning = how,
                                                  .keys = keys ? by_k : NULL,
                                                  .n_keys = keys ? 1 : 0,
                                                  .seed = seed};
    return i;
}

uint32_t wt_sketch_merge(struct wt_sketch *s, uint32_t input)
{
    uint32_t i = wt_sketch_shuffle(s, input, WEIR_GATHER, 0);
    s->op[i].kind = WI_PLAN_MERGE;
    s->op[i].p.shuffle.order = by_id;
    s->op[i].p.shuffle.n_order = 1;
    return i;
}

void wt_sketch_result(struct wt_sketch *s, uint32_t input)
{
    s->plan.result = s->op[input].single
                         ? input
                         : wt_sketch_shuffle(s, input, WEIR_GATHER, 0);
}

/* ---- runs ---------------------------------------------------------------- */

static void take_row(struct wt_trial *t, const struct ArrowArray *batch,
                     int64_t row)
{
    char why[WT_WHY_BYTES];
    uint64_t id = wt_rows_id(batch, row);
    if (id >= t->n_ids) {
        wt_complain(t->cluster, "id %llu of %llu", (unsigned long long)id,
                    (unsigned long long)t->n_ids);
    } else if (!wt_rows_check(&t->sketch->rows, batch, row, why)) {
        wt_complain(t->cluster, "%s", why);
    } else if (t->ordered && id != t->next) {
        wt_complain(t->cluster, "id %llu comes after %llu",
                    (unsigned long long)id, (unsigned long long)t->next - 1);
    } else {
        t->seen[id]++;
        t->next = id + 1;
    }
}

static weir_err take_rows(void *arg, const struct ArrowArray *batch,
                          struct weir_error *err)
{
    struct wt_trial *t = arg;
    for (int64_t row = 0; row < batch->length; row++) {
        take_row(t, batch, row);
    }
    t->rows += (uint64_t)batch->length;
    if (t->fail_after != 0 && t->rows >= t->fail_after) {
        (void)snprintf(err->message, sizeof(err->message), "pipe is broken");
        return WEIR_ERR_SYSTEM;
    }
    return t->stop_after != 0 && t->rows >= t->stop_after ? WEIR_DONE : WEIR_OK;
}

struct step {
    weir_run *run;
    uint32_t worker;
};

static weir_err step_run(void *arg)
{
    const struct step *s = arg;
    return weir_run_step(s->run, s->worker);
}

void wt_trial_open(struct wt_trial *t, struct wt_cluster *c,
                   const struct wt_sketch *s,
                   const struct weir_run_params *params)
{
    static struct step steps[WT_TASKS];
    struct weir_run_params p = {0};
    struct weir_error err = {0};
    t->cluster = c;
    t->sketch = s;
    for (uint32_t i = 0; i < s->plan.n_ops; i++) {
        t->n_ids = s->made[i].n_rows > t->n_ids ? s->made[i].n_rows : t->n_ids;
    }
    t->seen = calloc(t->n_ids + 1, 1);
    cr_assert_not_null(t->seen);
    if (params != NULL) {
        p = *params;
    }
    p.query_id = p.query_id == 0 ? 1 : p.query_id;
    p.rows = take_rows;
    p.rows_arg = t;
    for (uint32_t n = 0; n < c->n_nodes; n++) {
        if (t->absent == n + 1) {
            continue;
        }
        cr_assert_eq(weir_run_open(c->node[n], &s->plan, &p, &t->run[n], &err),
                     WEIR_OK, "%s", err.message);
        for (uint32_t w = 0; w < c->n_workers; w++) {
            struct step *step = &steps[c->n_tasks];
            *step = (struct step){t->run[n], w};
            (void)wt_task(c, n, w, step_run, step);
        }
    }
}

void wt_trial_close(struct wt_trial *t)
{
    for (uint32_t n = 0; n < t->cluster->n_nodes; n++) {
        weir_run_close(t->run[n]);
    }
    free(t->seen);
}

void wt_trial_exact(const struct wt_trial *t, uint8_t times)
{
    cr_assert_eq(t->cluster->why[0], '\0', "%s", t->cluster->why);
    for (uint32_t n = 0; n < t->cluster->n_nodes; n++) {
        struct weir_error err = {0};
        cr_assert(t->run[n] == NULL ||
                      weir_run_status(t->run[n], &err) == WEIR_OK,
                  "node %u: %s", n, err.message);
    }
    for (uint64_t id = 0; id < t->n_ids; id++) {
        cr_assert_eq(t->seen[id], times, "id %llu came %u times",
                     (unsigned long long)id, t->seen[id]);
    }
}

void wt_trial_failed(const struct wt_trial *t, weir_err code, const char *text,
                     uint32_t without)
{
    struct weir_error first = {0};
    for (uint32_t n = 0; n < t->cluster->n_nodes; n++) {
        struct weir_error err = {0};
        if (n == without) {
            continue;
        }
        cr_assert_eq(weir_run_status(t->run[n], &err), code, "node %u: %s: %s",
                     n, weir_err_name(err.code), err.message);
        cr_assert_not_null(strstr(err.message, text), "no \"%s\" in: %s", text,
                           err.message);
        if (first.message[0] != '\0') {
            cr_assert_str_eq(err.message, first.message, "node %u", n);
        }
        first = err;
    }
}
