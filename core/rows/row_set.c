/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rows/row_set.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/query/shuffle.h"
#include "core/query/writer.h"

static const struct wi_column *schema_column(const weir_row_writer *rw,
                                             uint32_t column)
{
    return &rw->writer->shuffle->schema->columns[column];
}

WI_COLD weir_err wi_row_fail(weir_row_writer *rw, const struct wi_row_column *c,
                             weir_err code, const char *what)
{
    uint32_t column = (uint32_t)(c - rw->columns);
    const struct wi_column *s = schema_column(rw, column);
    return wi_fail(&rw->error, code, "row %u, column %u (%s, format %s): %s",
                   rw->rows, column, s->name, s->format, what);
}

static WI_COLD weir_err fail_int(weir_row_writer *rw,
                                 const struct wi_row_column *c, int64_t value)
{
    char what[64];
    (void)snprintf(what, sizeof(what), "%" PRId64 " is out of its range",
                   value);
    return wi_row_fail(rw, c, WEIR_ERR_DATA, what);
}

static WI_COLD weir_err fail_length(weir_row_writer *rw,
                                    const struct wi_row_column *c, uint64_t len)
{
    char what[96];
    (void)snprintf(what, sizeof(what),
                   "%" PRIu64 " bytes; %s %" PRIu64 " were expected", len,
                   c->type == WI_ROW_VAR_BYTES ? "at most" : "exactly",
                   c->type == WI_ROW_VAR_BYTES
                       ? (uint64_t)INT32_MAX - wi_row_offset(c, rw->rows)
                       : (uint64_t)c->width);
    return wi_row_fail(rw, c, WEIR_ERR_DATA, what);
}

WI_COLD weir_err wi_row_fail_waiting(weir_row_writer *rw)
{
    return wi_fail(&rw->error, WEIR_ERR_STATE,
                   "a batch of %u rows is not taken yet: call "
                   "weir_row_writer_flush until the answer is not WEIR_AGAIN",
                   rw->rows);
}

/* The column to set, or NULL with an error. */
static struct wi_row_column *column_to_set(weir_row_writer *rw, uint32_t column,
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
        *rc = wi_row_fail_waiting(rw);
        return NULL;
    }
    return &rw->columns[column];
}

static bool int_fits(const struct wi_row_column *c, int64_t value)
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
    struct wi_row_column *c = column_to_set(rw, column, &rc);
    if (c == NULL) {
        return rc;
    }
    if (c->type != WI_ROW_INT) {
        return wi_row_fail(rw, c, WEIR_ERR_SCHEMA, "it takes no integers");
    }
    if (!int_fits(c, value)) {
        return fail_int(rw, c, value);
    }
    if (c->width == 0) {
        wi_row_put_bit(c->values, rw->rows, value != 0);
    } else {
        /* Arrow is little endian: the low bytes come first. */
        memcpy(c->values + (size_t)rw->rows * c->width, &value, c->width);
    }
    c->set = true;
    return WEIR_OK;
}

weir_err weir_row_set_double(weir_row_writer *rw, uint32_t column, double value)
{
    weir_err rc = WEIR_OK;
    struct wi_row_column *c = column_to_set(rw, column, &rc);
    if (c == NULL) {
        return rc;
    }
    if (c->type != WI_ROW_DOUBLE) {
        return wi_row_fail(rw, c, WEIR_ERR_SCHEMA,
                           "it takes no floating point numbers");
    }
    uint8_t *to = c->values + (size_t)rw->rows * c->width;
    if (c->width == sizeof(double)) {
        memcpy(to, &value, sizeof(value));
    } else {
        if (isfinite(value) && fabs(value) > (double)FLT_MAX) {
            return wi_row_fail(rw, c, WEIR_ERR_DATA,
                               "the number is too large for float32");
        }
        float narrow = (float)value;
        memcpy(to, &narrow, sizeof(narrow));
    }
    c->set = true;
    return WEIR_OK;
}

static weir_err grow_bytes(struct wi_row_column *c, uint64_t need)
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

static weir_err set_var(weir_row_writer *rw, struct wi_row_column *c,
                        const void *bytes, uint64_t len)
{
    uint32_t at = wi_row_offset(c, rw->rows);
    if (len > (uint64_t)INT32_MAX - at) {
        return fail_length(rw, c, len);
    }
    weir_err rc = grow_bytes(c, at + len);
    if (rc != WEIR_OK) {
        return wi_row_fail(rw, c, rc, "no memory");
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
    struct wi_row_column *c = column_to_set(rw, column, &rc);
    if (c == NULL) {
        return rc;
    }
    if (wi_unlikely(bytes == NULL && len != 0)) {
        return wi_fail_null(&rw->error, "bytes");
    }
    if (c->type == WI_ROW_VAR_BYTES) {
        rc = set_var(rw, c, bytes, len);
    } else if (c->type != WI_ROW_FIXED_BYTES) {
        rc = wi_row_fail(rw, c, WEIR_ERR_SCHEMA, "it takes no texts or bytes");
    } else if (len != c->width) {
        rc = fail_length(rw, c, len);
    } else {
        memcpy(c->values + (size_t)rw->rows * c->width, bytes, len);
    }
    c->set = c->set || rc == WEIR_OK;
    return rc;
}
