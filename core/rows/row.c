/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows one at a time into batches.
 *
 * The row writer builds a struct array in its own memory. Values of the open
 * row are written where they will stay, after the rows that have ended, so
 * ending a row copies nothing. A push while a row is open moves that row to the
 * front. A batch is also pushed when its texts reach BATCH_BYTES, so that long
 * texts do not pile up.
 */
#include <weir/row.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/link/worker.h"
#include "core/query/query.h"
#include "core/query/shuffle.h"
#include "core/query/writer.h"
#include "core/rows/row_set.h"

enum {
    DEFAULT_ROWS = 1024,
    MAX_ROWS = 65536,
    BATCH_BYTES = 1 << 20,
    FIRST_BYTES = 4096,
};

/* ---- opening and closing ------------------------------------------------- */

/* Release of the batch: its memory is the writer's. */
static void keep(struct ArrowArray *array)
{
    (void)array;
}

static void describe(const struct wi_column *from, struct wi_row_column *c)
{
    c->nullable = from->nullable;
    c->width = from->width;
    c->is_unsigned = from->order == WI_ORDER_UNSIGNED;
    if (from->kind == WI_KIND_VAR) {
        c->type = WI_ROW_VAR_BYTES;
        c->width = sizeof(int32_t);
    } else if (from->order >= WI_ORDER_BYTES || from->width > 8) {
        c->type = WI_ROW_FIXED_BYTES;
    } else {
        c->type = from->order == WI_ORDER_FLOAT ? WI_ROW_DOUBLE : WI_ROW_INT;
    }
}

static bool open_column(weir_row_writer *rw, uint32_t i)
{
    struct wi_row_column *c = &rw->columns[i];
    size_t bit_bytes = ((size_t)rw->max_rows + 7) / 8;
    size_t value_bytes = (size_t)c->width * ((size_t)rw->max_rows + 1);
    c->validity = calloc(1, bit_bytes);
    c->values = calloc(1, c->width == 0 ? bit_bytes : value_bytes);
    if (c->validity == NULL || c->values == NULL) {
        return false;
    }
    if (c->type == WI_ROW_VAR_BYTES) {
        c->bytes = malloc(FIRST_BYTES);
        c->bytes_cap = FIRST_BYTES;
        if (c->bytes == NULL) {
            return false;
        }
    }
    rw->arrays[i] = (struct ArrowArray){
        .n_buffers = c->type == WI_ROW_VAR_BYTES ? 3 : 2,
        .buffers = c->buffers,
        .release = keep,
    };
    rw->children[i] = &rw->arrays[i];
    return true;
}

static bool open_columns(weir_row_writer *rw, const struct wi_schema *s)
{
    rw->columns = calloc(s->n_columns, sizeof(*rw->columns));
    rw->arrays = calloc(s->n_columns, sizeof(*rw->arrays));
    rw->children = calloc(s->n_columns, sizeof(*rw->children));
    if (rw->columns == NULL || rw->arrays == NULL || rw->children == NULL) {
        return false;
    }
    rw->n_columns = s->n_columns;
    for (uint32_t i = 0; i < s->n_columns; i++) {
        describe(&s->columns[i], &rw->columns[i]);
        if (!open_column(rw, i)) {
            return false;
        }
    }
    rw->batch = (struct ArrowArray){
        .n_buffers = 1,
        .n_children = s->n_columns,
        .buffers = rw->no_buffers,
        .children = rw->children,
        .release = keep,
    };
    return true;
}

/* The schema is not the shuffle's: its rows would be read wrongly. */
static weir_err fail_schema(const weir_writer *writer,
                            const struct wi_schema *s, struct weir_error *err)
{
    char found[200];
    char expected[200];
    wi_schema_text(s, found, sizeof(found));
    wi_schema_text(writer->shuffle->schema, expected, sizeof(expected));
    return wi_fail(err, WEIR_ERR_SCHEMA,
                   "row writer: columns %s; the shuffle has %s", found,
                   expected);
}

weir_err weir_row_writer_open(weir_writer *writer,
                              const struct ArrowSchema *schema, uint32_t rows,
                              weir_row_writer **row_writer_out,
                              struct weir_error *err)
{
    struct wi_schema *s;
    weir_err rc = wi_check_args(err, WI_ARG(writer), WI_ARG(schema),
                                WI_ARG(row_writer_out));
    if (rc == WEIR_OK && rows > MAX_ROWS) {
        rc = wi_fail(err, WEIR_ERR_ARG, "rows = %u, allowed is 0 to %d", rows,
                     (int)MAX_ROWS);
    }
    if (rc == WEIR_OK) {
        rc = wi_schema_open(schema, &s, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    if (s->fingerprint != writer->shuffle->schema->fingerprint) {
        rc = fail_schema(writer, s, err);
        wi_schema_close(s);
        return rc;
    }
    if (s->n_top != s->n_columns || s->n_lists > 0) {
        wi_schema_close(s);
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "row writer: the shuffle has columns that are structs "
                       "or lists; push batches");
    }
    weir_row_writer *rw = calloc(1, sizeof(*rw));
    if (rw != NULL) {
        rw->writer = writer;
        rw->max_rows = rows == 0 ? DEFAULT_ROWS : rows;
    }
    if (rw == NULL || !open_columns(rw, s)) {
        weir_row_writer_close(rw);
        wi_schema_close(s);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "row writer: no memory");
    }
    wi_schema_close(s);
    *row_writer_out = rw;
    return WEIR_OK;
}

void weir_row_writer_close(weir_row_writer *rw)
{
    if (rw == NULL) {
        return;
    }
    for (uint32_t i = 0; i < rw->n_columns; i++) {
        free(rw->columns[i].validity);
        free(rw->columns[i].values);
        free(rw->columns[i].bytes);
    }
    free(rw->columns);
    free(rw->arrays);
    free(rw->children);
    free(rw);
}

/* ---- pushing ------------------------------------------------------------- */

/* Move the open row to the front; the rows before it were pushed. */
static void carry_open_row(weir_row_writer *rw)
{
    for (uint32_t i = 0; i < rw->n_columns; i++) {
        struct wi_row_column *c = &rw->columns[i];
        if (!c->set) {
            continue;
        }
        if (c->type == WI_ROW_VAR_BYTES) {
            memmove(c->bytes, c->bytes + wi_row_offset(c, rw->rows),
                    c->open_len);
        } else if (c->width == 0) {
            wi_row_put_bit(c->values, 0, wi_bit(c->values, rw->rows) != 0);
        } else {
            memmove(c->values, c->values + (size_t)rw->rows * c->width,
                    c->width);
        }
    }
}

static void start_batch(weir_row_writer *rw)
{
    carry_open_row(rw);
    for (uint32_t i = 0; i < rw->n_columns; i++) {
        rw->columns[i].nulls = 0; /* offset 0 is always 0 */
    }
    rw->rows = 0;
    rw->var_bytes = 0;
}

/* Buffers may have moved while rows were set: point at them now. */
static void describe_batch(weir_row_writer *rw)
{
    rw->batch.length = rw->rows;
    for (uint32_t i = 0; i < rw->n_columns; i++) {
        struct wi_row_column *c = &rw->columns[i];
        c->buffers[0] = c->nulls == 0 ? NULL : c->validity;
        c->buffers[1] = c->values;
        c->buffers[2] = c->bytes;
        rw->arrays[i].length = rw->rows;
        rw->arrays[i].null_count = (int64_t)c->nulls;
    }
}

static weir_err push(weir_row_writer *rw)
{
    if (rw->rows == 0) {
        return WEIR_OK;
    }
    if (!rw->pushing) {
        describe_batch(rw);
    }
    weir_err rc = weir_writer_push(rw->writer, &rw->batch);
    rw->pushing = rc == WEIR_AGAIN;
    if (wi_unlikely(rc < 0)) {
        (void)weir_writer_error(rw->writer, &rw->error);
    }
    if (rc == WEIR_OK || rc == WEIR_DONE) {
        start_batch(rw);
    }
    return rc;
}

static void clear_open_row(weir_row_writer *rw)
{
    for (uint32_t i = 0; i < rw->n_columns; i++) {
        rw->columns[i].set = false;
        rw->columns[i].open_len = 0;
    }
}

static bool may_end(weir_row_writer *rw)
{
    for (uint32_t i = 0; i < rw->n_columns; i++) {
        const struct wi_row_column *c = &rw->columns[i];
        if (wi_unlikely(!c->set && !c->nullable)) {
            (void)wi_row_fail(rw, c, WEIR_ERR_DATA,
                              "it was not set and is not nullable");
            return false;
        }
    }
    return true;
}

static void end_column(weir_row_writer *rw, struct wi_row_column *c)
{
    wi_row_put_bit(c->validity, rw->rows, c->set);
    c->nulls += !c->set;
    if (c->type == WI_ROW_VAR_BYTES) {
        wi_row_put_offset(c, rw->rows + 1,
                          wi_row_offset(c, rw->rows) + c->open_len);
        rw->var_bytes += c->open_len;
    } else if (!c->set && c->width != 0) {
        /* A null sends zeros, not what an earlier row left here. */
        memset(c->values + (size_t)rw->rows * c->width, 0, c->width);
    } else if (!c->set) {
        wi_row_put_bit(c->values, rw->rows, false);
    }
}

weir_err weir_row_end(weir_row_writer *rw)
{
    if (wi_unlikely(rw == NULL)) {
        return WEIR_ERR_ARG;
    }
    if (wi_unlikely(rw->pushing)) {
        return wi_row_fail_waiting(rw);
    }
    if (!may_end(rw)) {
        clear_open_row(rw);
        return WEIR_ERR_DATA;
    }
    for (uint32_t i = 0; i < rw->n_columns; i++) {
        end_column(rw, &rw->columns[i]);
    }
    clear_open_row(rw);
    rw->rows++;
    if (rw->rows < rw->max_rows && rw->var_bytes < BATCH_BYTES) {
        return WEIR_OK;
    }
    return push(rw);
}

weir_err weir_row_writer_flush(weir_row_writer *rw)
{
    if (rw == NULL) {
        return WEIR_ERR_ARG;
    }
    weir_err rc = push(rw);
    return rc == WEIR_OK ? weir_writer_flush(rw->writer) : rc;
}

weir_err weir_row_writer_flush_wait(weir_row_writer *rw)
{
    if (rw == NULL) {
        return WEIR_ERR_ARG;
    }
    weir_node *node = rw->writer->shuffle->query->node;
    weir_err rc;
    while ((rc = weir_row_writer_flush(rw)) == WEIR_AGAIN) {
        (void)weir_worker_wait(node, rw->writer->worker->idx, WEIR_FOREVER);
    }
    return rc;
}

weir_err weir_row_end_wait(weir_row_writer *rw)
{
    weir_err rc = weir_row_end(rw);
    return rc == WEIR_AGAIN ? weir_row_writer_flush_wait(rw) : rc;
}

weir_err weir_row_writer_error(const weir_row_writer *rw,
                               struct weir_error *err)
{
    if (rw == NULL) {
        return wi_fail_null(err, "rw");
    }
    return wi_error_of(rw->writer->shuffle->query, &rw->error, err);
}
