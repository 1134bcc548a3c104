/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches in memory. The workers of a node read equal ranges of their rows;
 * what a scan hands out points into them, shifted by Arrow's offsets.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "operators/base/fail.h"
#include "operators/table/build.h"
#include "operators/table/table.h"

struct memory {
    struct ArrowArray *batches;
    uint32_t n_batches;
    uint64_t rows;
};

struct scan {
    const struct memory *m;
    uint32_t batch;
    int64_t at;    /* next row of the batch */
    uint64_t left; /* rows of the part */
    uint32_t n_columns;
    uint32_t *columns;
    struct ArrowArray *child;
    struct ArrowArray **children;
    const void *buffers[1];
};

/* ---- checks ---------------------------------------------------------------- */

/* A column under test, for messages. */
struct place {
    uint32_t batch;
    const struct wi_named_type *column;
};

static weir_err say(const struct place *at, const char *what,
                    struct weir_error *err)
{
    char text[WI_TYPE_TEXT_BYTES];
    return wi_exec_fail(err, WEIR_ERR_SCHEMA,
                        "batch %" PRIu32 ", column \"%s\" (%s): %s", at->batch,
                        at->column->name, wi_type_text(&at->column->type, text),
                        what);
}

static bool has_nulls(const struct ArrowArray *a, int64_t first, int64_t n)
{
    const uint8_t *valid = a->buffers[0];
    for (int64_t i = first; valid != NULL && i < first + n; i++) {
        if (((valid[i / 8] >> (i % 8)) & 1) == 0) {
            return true;
        }
    }
    return false;
}

static bool offsets_ascend(const int32_t *offsets, int64_t first, int64_t n)
{
    bool ok = offsets[first] >= 0;
    for (int64_t i = first; i < first + n; i++) {
        ok &= offsets[i] <= offsets[i + 1];
    }
    return ok;
}

static weir_err check_column(const struct place *at, const struct ArrowArray *a,
                             const struct ArrowArray *batch,
                             struct weir_error *err)
{
    const bool text = wi_type_is_var(&at->column->type);
    const int64_t first = batch->offset + a->offset;
    if (a->n_buffers != (text ? 3 : 2)) {
        return say(at, "another number of buffers was expected", err);
    }
    if (a->offset < 0 || a->length < batch->offset + batch->length) {
        return say(at, "it is shorter than the batch", err);
    }
    if (batch->length == 0) {
        return WEIR_OK;
    }
    if (a->buffers[1] == NULL) {
        return say(at, "it has no values", err);
    }
    if (!at->column->type.nullable && a->null_count != 0 &&
        has_nulls(a, first, batch->length)) {
        return say(at, "it holds nulls, the schema says it has none", err);
    }
    if (text && !offsets_ascend(a->buffers[1], first, batch->length)) {
        return say(at, "its offsets descend", err);
    }
    return WEIR_OK;
}

static weir_err check_batch(const struct wi_columns *columns, uint32_t number,
                            const struct ArrowArray *batch,
                            struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    if (batch->release == NULL || batch->length < 0 || batch->offset < 0) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "batch %" PRIu32 " is released, or its length or "
                            "offset is negative",
                            number);
    }
    if (batch->n_children != columns->n) {
        return wi_exec_fail(err, WEIR_ERR_SCHEMA,
                            "batch %" PRIu32 " has %" PRId64 " columns, the "
                            "schema has %" PRIu32,
                            number, batch->n_children, columns->n);
    }
    for (uint32_t c = 0; rc == WEIR_OK && c < columns->n; c++) {
        const struct place at = {number, &columns->at[c]};
        rc = check_column(&at, batch->children[c], batch, err);
    }
    return rc;
}

/* ---- scans ----------------------------------------------------------------- */

static void scan_close(void *arg)
{
    struct scan *s = arg;
    free(s->columns);
    free(s->child);
    free(s->children);
    free(s);
}

/* Find the part's first row. */
static void seek(struct scan *s, uint64_t row)
{
    while (row > 0 && row >= (uint64_t)s->m->batches[s->batch].length) {
        row -= (uint64_t)s->m->batches[s->batch].length;
        s->batch++;
    }
    s->at = (int64_t)row;
}

static weir_err scan_open(void *table, const struct weir_table_part *part,
                          void **scan_out, struct weir_error *err)
{
    const struct memory *m = table;
    const uint32_t n = part->n_columns;
    const struct wi_row_range rows =
        wi_table_cut(m->rows, part->worker, part->n_workers);
    struct scan *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return wi_exec_no_memory(err, sizeof(*s));
    }
    *s = (struct scan){.m = m,
                       .left = rows.end - rows.first,
                       .n_columns = n,
                       .columns = calloc(n + 1, sizeof(*s->columns)),
                       .child = calloc(n + 1, sizeof(*s->child)),
                       .children = calloc(n + 1, sizeof(struct ArrowArray *))};
    if (s->columns == NULL || s->child == NULL || s->children == NULL) {
        scan_close(s);
        return wi_exec_no_memory(err, n * sizeof(*s->child));
    }
    for (uint32_t i = 0; i < n; i++) {
        s->columns[i] = part->columns[i];
        s->children[i] = &s->child[i];
    }
    if (s->left > 0) {
        seek(s, rows.first);
    }
    *scan_out = s;
    return WEIR_OK;
}

static void point(struct scan *s, const struct ArrowArray *batch, int64_t n)
{
    for (uint32_t i = 0; i < s->n_columns; i++) {
        struct ArrowArray *child = &s->child[i];
        *child = *batch->children[s->columns[i]];
        child->offset += batch->offset + s->at;
        child->length = n;
        child->null_count = child->null_count == 0 ? 0 : -1;
        child->release = wi_build_release;
    }
}

static weir_err scan_next(void *scan, struct ArrowArray *batch_out,
                          struct weir_error *err)
{
    struct scan *s = scan;
    (void)err;
    if (s->left == 0) {
        return WEIR_DONE;
    }
    while (s->at == s->m->batches[s->batch].length) {
        s->batch++;
        s->at = 0;
    }
    const struct ArrowArray *batch = &s->m->batches[s->batch];
    int64_t n = batch->length - s->at;
    n = (uint64_t)n < s->left ? n : (int64_t)s->left;
    point(s, batch, n);
    *batch_out = (struct ArrowArray){.length = n,
                                     .n_buffers = 1,
                                     .n_children = s->n_columns,
                                     .buffers = s->buffers,
                                     .children = s->children,
                                     .release = wi_build_release};
    s->at += n;
    s->left -= (uint64_t)n;
    return WEIR_OK;
}

/* ---- the table ------------------------------------------------------------- */

static void memory_free(void *arg)
{
    struct memory *m = arg;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        m->batches[i].release(&m->batches[i]);
    }
    free(m->batches);
    free(m);
}

static const struct weir_table_ops ops = {
    .open = scan_open,
    .next = scan_next,
    .close = scan_close,
    .free = memory_free,
};

/* Nothing fails any more: the batches change hands. */
static void take_over(struct memory *m, struct ArrowArray *batches, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        m->batches[i] = batches[i];
        m->rows += (uint64_t)batches[i].length;
        batches[i].release = NULL;
    }
    m->n_batches = n;
}

static weir_err open_table(struct wi_columns *columns, uint32_t n_batches,
                           weir_table **table_out, struct weir_error *err)
{
    struct memory *m = calloc(1, sizeof(*m));
    struct ArrowArray *copy = calloc(n_batches + 1, sizeof(*copy));
    weir_err rc = WEIR_OK;
    if (m == NULL || copy == NULL) {
        rc = wi_exec_no_memory(err, n_batches * sizeof(*copy));
    } else {
        m->batches = copy;
        rc = wi_table_open(columns, &ops, m, table_out, err);
    }
    if (rc != WEIR_OK) {
        free(copy);
        free(m);
    }
    return rc;
}

weir_err weir_table_memory_open(const struct ArrowSchema *schema,
                                struct ArrowArray *batches, uint32_t n_batches,
                                weir_table **table_out, struct weir_error *err)
{
    struct wi_columns columns = {0};
    if (schema == NULL || table_out == NULL ||
        (batches == NULL && n_batches > 0)) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "a table in memory needs a schema and its batches");
    }
    weir_err rc = wi_columns_from_arrow(schema, &columns, err);
    for (uint32_t i = 0; rc == WEIR_OK && i < n_batches; i++) {
        rc = check_batch(&columns, i, &batches[i], err);
    }
    if (rc == WEIR_OK) {
        rc = open_table(&columns, n_batches, table_out, err);
    }
    if (rc == WEIR_OK) {
        take_over((*table_out)->arg, batches, n_batches);
    }
    wi_columns_fini(&columns);
    return rc;
}
