/* SPDX-License-Identifier: Apache-2.0 */
/* Checks Arrow batches of the program before anything reads their buffers. */
#include <inttypes.h>

#include "operators/base/arrow.h"
#include "operators/base/fail.h"
#include "operators/base/utf8.h"

/* A column under test, for messages. */
struct place {
    uint64_t batch;
    const struct wi_named_type *column;
};

static weir_err say(const struct place *at, const char *what,
                    struct weir_error *err)
{
    char text[WI_TYPE_TEXT_BYTES];
    return wi_exec_fail(err, WEIR_ERR_SCHEMA,
                        "batch %" PRIu64 ", column \"%s\" (%s): %s", at->batch,
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

/* The first of n rows whose text ends before it begins, or begins before the
 * buffer; n if there is none. */
static int64_t find_descent(const int32_t *offsets, int64_t n)
{
    bool ok = offsets[0] >= 0;
    for (int64_t i = 0; i < n; i++) {
        ok &= offsets[i] <= offsets[i + 1];
    }
    if (ok) {
        return n;
    }
    int64_t row = 0;
    while (offsets[row] >= 0 && offsets[row] <= offsets[row + 1]) {
        row++;
    }
    return row;
}

/* The first of n rows whose text is not UTF-8; n if there is none. The bytes of
 * a null may be anything. */
static int64_t find_no_utf8(const struct ArrowArray *a, int64_t first,
                            int64_t n)
{
    const uint8_t *valid = a->buffers[0];
    const int32_t *offsets = (const int32_t *)a->buffers[1] + first;
    const char *data = a->buffers[2];
    if (data == NULL || wi_utf8_is_ascii(data + offsets[0],
                                         (size_t)(offsets[n] - offsets[0]))) {
        return n;
    }
    int64_t row = 0;
    for (; row < n; row++) {
        const int64_t at = first + row;
        const bool null =
            valid != NULL && ((valid[at / 8] >> (at % 8)) & 1) == 0;
        if (!null &&
            !wi_utf8_check(data + offsets[row],
                           (size_t)(offsets[row + 1] - offsets[row]))) {
            break;
        }
    }
    return row;
}

static weir_err check_utf8(const struct place *at, const struct ArrowArray *a,
                           int64_t first, int64_t n, struct weir_error *err)
{
    const int64_t row = find_no_utf8(a, first, n);
    if (row == n) {
        return WEIR_OK;
    }
    return wi_exec_fail(err, WEIR_ERR_DATA,
                        "batch %" PRIu64 ", column \"%s\", row %" PRId64
                        ": the text is not UTF-8; binary (format \"z\") takes "
                        "any bytes",
                        at->batch, at->column->name, row);
}

static weir_err check_text(const struct place *at, const struct ArrowArray *a,
                           int64_t first, int64_t n, struct weir_error *err)
{
    const int32_t *offsets = (const int32_t *)a->buffers[1] + first;
    int64_t row = find_descent(offsets, n);
    if (row < n) {
        return wi_exec_fail(err, WEIR_ERR_DATA,
                            "batch %" PRIu64 ", column \"%s\", row %" PRId64
                            ": offsets %d, %d: offsets descend or are negative",
                            at->batch, at->column->name, row, offsets[row],
                            offsets[row + 1]);
    }
    if (a->buffers[2] == NULL && offsets[n] != offsets[0]) {
        return say(at, "it has texts, and no buffer for them", err);
    }
    return at->column->type.kind == WI_TYPE_UTF8
               ? check_utf8(at, a, first, n, err)
               : WEIR_OK;
}

static weir_err check_shape(const struct place *at, const struct ArrowArray *a,
                            const struct ArrowArray *batch,
                            struct weir_error *err)
{
    const bool text = wi_type_is_var(&at->column->type);
    if (a == NULL || a->buffers == NULL || a->n_buffers != (text ? 3 : 2)) {
        return say(at, "another number of buffers was expected", err);
    }
    if (a->offset < 0 || a->offset > INT64_MAX / 4 ||
        a->length < batch->offset + batch->length) {
        return say(at, "it is shorter than the batch", err);
    }
    if (batch->length > 0 && a->buffers[1] == NULL) {
        return say(at, "it has no values", err);
    }
    return WEIR_OK;
}

static weir_err check_column(const struct place *at, const struct ArrowArray *a,
                             const struct ArrowArray *batch,
                             struct weir_error *err)
{
    weir_err rc = check_shape(at, a, batch, err);
    if (rc != WEIR_OK || batch->length == 0) {
        return rc;
    }
    const int64_t first = batch->offset + a->offset;
    if (!at->column->type.nullable && a->null_count != 0 &&
        has_nulls(a, first, batch->length)) {
        return say(at, "it holds nulls, the schema says it has none", err);
    }
    return wi_type_is_var(&at->column->type)
               ? check_text(at, a, first, batch->length, err)
               : WEIR_OK;
}

weir_err wi_arrow_check(const struct wi_columns *columns, uint64_t number,
                        const struct ArrowArray *batch, struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    if (batch->release == NULL || batch->length < 0 || batch->offset < 0 ||
        batch->length > INT64_MAX / 4 || batch->offset > INT64_MAX / 4) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "batch %" PRIu64 " is released, or its length or "
                            "offset is negative or too large",
                            number);
    }
    if (batch->n_children != columns->n ||
        (columns->n > 0 && batch->children == NULL)) {
        return wi_exec_fail(err, WEIR_ERR_SCHEMA,
                            "batch %" PRIu64 " has %" PRId64 " columns, the "
                            "schema has %" PRIu32,
                            number, batch->n_children, columns->n);
    }
    for (uint32_t c = 0; rc == WEIR_OK && c < columns->n; c++) {
        const struct place at = {number, &columns->at[c]};
        rc = check_column(&at, batch->children[c], batch, err);
    }
    return rc;
}
