/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches in memory. The workers of a node read equal ranges of their rows;
 * what a scan hands out points into them, shifted by Arrow's offsets.
 */
#include <stdlib.h>

#include "operators/base/arrow.h"
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

/* ---- scans --------------------------------------------------------------- */

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

/* ---- the table ----------------------------------------------------------- */

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

/* The batches change hands last, when nothing can fail any more. */
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
    weir_err rc =
        wi_exec_check_args(err, WI_EXEC_ARG(schema), WI_EXEC_ARG(table_out));
    if (rc == WEIR_OK && n_batches > 0) { /* an empty list may have one */
        rc = wi_exec_check_args(err, WI_EXEC_ARG(batches));
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = wi_columns_from_arrow(schema, &columns, err);
    for (uint32_t i = 0; rc == WEIR_OK && i < n_batches; i++) {
        rc = wi_arrow_check(&columns, i, &batches[i], err);
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
