/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows one at a time into batches.
 *
 * The row writer builds a struct array in its own memory. Values of the open row
 * are written where they will stay, behind the rows that have ended, so ending
 * a row copies nothing; a push with a row open moves that one row to the front.
 * A batch is also pushed when its texts reach BATCH_BYTES, else long texts
 * would pile up as many as short ones.
 */
#include <weir/row.h>

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/err.h"
#include "core/link/worker.h"
#include "core/query/query.h"
#include "core/query/shuffle.h"
#include "core/query/writer.h"

enum {
    DEFAULT_ROWS = 1024,
    MAX_ROWS = 65536,
    BATCH_BYTES = 1 << 20,
    FIRST_BYTES = 4096,
    DECIMAL_WIDTH = 16,
};

/* What a setter may put into a column. */
enum row_type { ROW_INT, ROW_DOUBLE, ROW_FIXED_BYTES, ROW_VAR_BYTES };

struct row_column {
    enum row_type type;
    uint32_t width; /* of a value in `values`; 0 for bits */
    bool is_unsigned;
    bool nullable;
    bool set;          /* in the open row */
    uint32_t open_len; /* ROW_VAR_BYTES: length in the open row */
    uint64_t nulls;    /* in the rows that have ended */
    uint8_t *validity;
    uint8_t *values; /* values, bits, or int32 offsets */
    uint8_t *bytes;
    uint64_t bytes_cap;
    const void *buffers[3];
};

struct weir_row_writer {
    weir_writer *writer; /* the caller's */
    uint32_t n_columns;
    uint32_t max_rows;
    uint32_t rows;      /* that have ended */
    uint64_t var_bytes; /* of these rows, all columns */
    bool pushing; /* a push returned WEIR_AGAIN: the batch must not change */
    struct weir_error error; /* of the last call that failed here */
    struct row_column *columns;
    struct ArrowArray batch;
    struct ArrowArray *arrays;
    struct ArrowArray **children;
    const void *no_buffers[1];
};

/* ---- bits and offsets ----------------------------------------------------- */

static void put_bit(uint8_t *bits, uint64_t at, bool value)
{
    uint8_t mask = (uint8_t)(1u << (at & 7));
    bits[at >> 3] = (uint8_t)(value ? bits[at >> 3] | mask
                                    : bits[at >> 3] & (uint8_t)~mask);
}

static uint32_t offset_at(const struct row_column *c, uint32_t row)
{
    return wi_load_u32(c->values + (size_t)row * sizeof(int32_t));
}

static void put_offset(struct row_column *c, uint32_t row, uint32_t offset)
{
    memcpy(c->values + (size_t)row * sizeof(int32_t), &offset, sizeof(offset));
}

/* ---- opening and closing --------------------------------------------------- */

/* The batch stays the writer's: nothing to free when Weir is done with it. */
static void keep(struct ArrowArray *array)
{
    (void)array;
}

static void describe(const struct wi_column *from, struct row_column *c)
{
    c->nullable = from->nullable;
    c->width = from->width;
    c->is_unsigned = from->order == WI_ORDER_UNSIGNED;
    if (from->kind == WI_KIND_VAR) {
        c->type = ROW_VAR_BYTES;
        c->width = sizeof(int32_t);
    } else if (from->order == WI_ORDER_BYTES || from->width == DECIMAL_WIDTH) {
        c->type = ROW_FIXED_BYTES;
    } else {
        c->type = from->order == WI_ORDER_FLOAT ? ROW_DOUBLE : ROW_INT;
    }
}

static bool open_column(weir_row_writer *rw, uint32_t i)
{
    struct row_column *c = &rw->columns[i];
    size_t bit_bytes = ((size_t)rw->max_rows + 7) / 8;
    size_t value_bytes = (size_t)c->width * ((size_t)rw->max_rows + 1);
    c->validity = calloc(1, bit_bytes);
    c->values = calloc(1, c->width == 0 ? bit_bytes : value_bytes);
    if (c->validity == NULL || c->values == NULL) {
        return false;
    }
    if (c->type == ROW_VAR_BYTES) {
        c->bytes = malloc(FIRST_BYTES);
        c->bytes_cap = FIRST_BYTES;
        if (c->bytes == NULL) {
            return false;
        }
    }
    rw->arrays[i] = (struct ArrowArray){
        .n_buffers = c->type == ROW_VAR_BYTES ? 3 : 2,
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

/* Rows of another schema would be read as if they were of the shuffle's. */
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

/* ---- setting --------------------------------------------------------------- */

static const struct wi_column *schema_column(const weir_row_writer *rw,
                                             uint32_t column)
{
    return &rw->writer->shuffle->schema->columns[column];
}

static WI_COLD weir_err fail_value(weir_row_writer *rw,
                                   const struct row_column *c, weir_err code,
                                   const char *what)
{
    uint32_t column = (uint32_t)(c - rw->columns);
    const struct wi_column *s = schema_column(rw, column);
    return wi_fail(&rw->error, code, "row %u, column %u (%s, format %s): %s",
                   rw->rows, column, s->name, s->format, what);
}

static WI_COLD weir_err fail_int(weir_row_writer *rw,
                                 const struct row_column *c, int64_t value)
{
    char what[64];
    (void)snprintf(what, sizeof(what), "%" PRId64 " is out of its range",
                   value);
    return fail_value(rw, c, WEIR_ERR_DATA, what);
}

static WI_COLD weir_err fail_length(weir_row_writer *rw,
                                    const struct row_column *c, uint64_t len)
{
    char what[96];
    (void)snprintf(
        what, sizeof(what), "%" PRIu64 " bytes; %s %" PRIu64 " were expected",
        len, c->type == ROW_VAR_BYTES ? "at most" : "exactly",
        c->type == ROW_VAR_BYTES ? (uint64_t)INT32_MAX - offset_at(c, rw->rows)
                                 : (uint64_t)c->width);
    return fail_value(rw, c, WEIR_ERR_DATA, what);
}

static WI_COLD weir_err fail_waiting(weir_row_writer *rw)
{
    return wi_fail(&rw->error, WEIR_ERR_STATE,
                   "a batch of %u rows is not taken yet: call "
                   "weir_row_writer_flush until the answer is not WEIR_AGAIN",
                   rw->rows);
}

/* The column to set, or NULL and why not. */
static struct row_column *column_to_set(weir_row_writer *rw, uint32_t column,
                                        weir_err *rc)
{
    if (wi_unlikely(rw == NULL)) {
        *rc = WEIR_ERR_ARG;
        return NULL;
    }
    if (wi_unlikely(column >= rw->n_columns)) {
        *rc = wi_fail(&rw->error, WEIR_ERR_ARG, "column = %u; there are %u",
                      column, rw->n_columns);
        return NULL;
    }
    if (wi_unlikely(rw->pushing)) {
        *rc = fail_waiting(rw);
        return NULL;
    }
    return &rw->columns[column];
}

static bool int_fits(const struct row_column *c, int64_t value)
{
    if (c->width == 0) {
        return value == 0 || value == 1;
    }
    if (c->is_unsigned) {
        return value >= 0 &&
               (c->width == 8 || (uint64_t)value >> (c->width * 8) == 0);
    }
    int64_t max = (int64_t)(UINT64_MAX >> (65 - c->width * 8));
    return value <= max && value >= -max - 1;
}

weir_err weir_row_set_int64(weir_row_writer *rw, uint32_t column, int64_t value)
{
    weir_err rc = WEIR_OK;
    struct row_column *c = column_to_set(rw, column, &rc);
    if (c == NULL) {
        return rc;
    }
    if (c->type != ROW_INT) {
        return fail_value(rw, c, WEIR_ERR_SCHEMA, "it takes no integers");
    }
    if (!int_fits(c, value)) {
        return fail_int(rw, c, value);
    }
    if (c->width == 0) {
        put_bit(c->values, rw->rows, value != 0);
    } else {
        /* Little endian, as Arrow has it: the low bytes come first. */
        memcpy(c->values + (size_t)rw->rows * c->width, &value, c->width);
    }
    c->set = true;
    return WEIR_OK;
}

weir_err weir_row_set_double(weir_row_writer *rw, uint32_t column, double value)
{
    weir_err rc = WEIR_OK;
    struct row_column *c = column_to_set(rw, column, &rc);
    if (c == NULL) {
        return rc;
    }
    if (c->type != ROW_DOUBLE) {
        return fail_value(rw, c, WEIR_ERR_SCHEMA,
                          "it takes no floating point numbers");
    }
    uint8_t *to = c->values + (size_t)rw->rows * c->width;
    if (c->width == sizeof(double)) {
        memcpy(to, &value, sizeof(value));
    } else {
        if (isfinite(value) && fabs(value) > (double)FLT_MAX) {
            return fail_value(rw, c, WEIR_ERR_DATA,
                              "the number is too large for float32");
        }
        float narrow = (float)value;
        memcpy(to, &narrow, sizeof(narrow));
    }
    c->set = true;
    return WEIR_OK;
}

static weir_err grow_bytes(struct row_column *c, uint64_t need)
{
    if (need <= c->bytes_cap) {
        return WEIR_OK;
    }
    uint64_t cap = wi_max_u64(need, c->bytes_cap * 2);
    uint8_t *bytes = realloc(c->bytes, cap);
    if (bytes == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    c->bytes = bytes;
    c->bytes_cap = cap;
    return WEIR_OK;
}

static weir_err set_var(weir_row_writer *rw, struct row_column *c,
                        const void *bytes, uint64_t len)
{
    uint32_t at = offset_at(c, rw->rows);
    if (len > (uint64_t)INT32_MAX - at) {
        return fail_length(rw, c, len);
    }
    weir_err rc = grow_bytes(c, at + len);
    if (rc != WEIR_OK) {
        return fail_value(rw, c, rc, "no memory");
    }
    if (len > 0) {
        memcpy(c->bytes + at, bytes, len);
    }
    c->open_len = (uint32_t)len;
    return WEIR_OK;
}

weir_err weir_row_set_bytes(weir_row_writer *rw, uint32_t column,
                            const void *bytes, uint64_t len)
{
    weir_err rc = WEIR_OK;
    struct row_column *c = column_to_set(rw, column, &rc);
    if (c == NULL) {
        return rc;
    }
    if (wi_unlikely(bytes == NULL && len != 0)) {
        return wi_fail_null(&rw->error, "bytes");
    }
    if (c->type == ROW_VAR_BYTES) {
        rc = set_var(rw, c, bytes, len);
    } else if (c->type != ROW_FIXED_BYTES) {
        rc = fail_value(rw, c, WEIR_ERR_SCHEMA, "it takes no texts or bytes");
    } else if (len != c->width) {
        rc = fail_length(rw, c, len);
    } else {
        memcpy(c->values + (size_t)rw->rows * c->width, bytes, len);
    }
    c->set = c->set || rc == WEIR_OK;
    return rc;
}

/* ---- pushing --------------------------------------------------------------- */

/* Move the open row to the front, after the rows before it have gone. */
static void carry_open_row(weir_row_writer *rw)
{
    for (uint32_t i = 0; i < rw->n_columns; i++) {
        struct row_column *c = &rw->columns[i];
        if (!c->set) {
            continue;
        }
        if (c->type == ROW_VAR_BYTES) {
            memmove(c->bytes, c->bytes + offset_at(c, rw->rows), c->open_len);
        } else if (c->width == 0) {
            put_bit(c->values, 0, wi_bit(c->values, rw->rows) != 0);
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
        rw->columns[i].nulls = 0; /* offset 0 is 0 for ever */
    }
    rw->rows = 0;
    rw->var_bytes = 0;
}

/* Buffers may have moved while rows were set, so they are named here. */
static void describe_batch(weir_row_writer *rw)
{
    rw->batch.length = rw->rows;
    for (uint32_t i = 0; i < rw->n_columns; i++) {
        struct row_column *c = &rw->columns[i];
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
        const struct row_column *c = &rw->columns[i];
        if (wi_unlikely(!c->set && !c->nullable)) {
            (void)fail_value(rw, c, WEIR_ERR_DATA,
                             "it was not set and is not nullable");
            return false;
        }
    }
    return true;
}

static void end_column(weir_row_writer *rw, struct row_column *c)
{
    put_bit(c->validity, rw->rows, c->set);
    c->nulls += !c->set;
    if (c->type == ROW_VAR_BYTES) {
        put_offset(c, rw->rows + 1, offset_at(c, rw->rows) + c->open_len);
        rw->var_bytes += c->open_len;
    } else if (!c->set && c->width != 0) {
        /* A null sends zeros, not what an earlier row left here. */
        memset(c->values + (size_t)rw->rows * c->width, 0, c->width);
    } else if (!c->set) {
        put_bit(c->values, rw->rows, false);
    }
}

weir_err weir_row_end(weir_row_writer *rw)
{
    if (wi_unlikely(rw == NULL)) {
        return WEIR_ERR_ARG;
    }
    if (wi_unlikely(rw->pushing)) {
        return fail_waiting(rw);
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
