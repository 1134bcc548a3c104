/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Batches that a table fills: one set of column buffers, used for all of them.
 *
 *   wi_build_init(columns wanted)
 *     wi_build_begin                      nothing is null, texts are empty
 *       col[i].values[row] = ...          any order of rows
 *       wi_build_text(col, row, ...)      ascending rows, each once
 *       wi_build_null(col, row)
 *     wi_build_end(rows) -> ArrowArray    valid until the next begin
 *   wi_build_fini
 *
 * Buffers are plain memory: a scan has one set, of WI_BUILD_ROWS rows.
 */
#ifndef WI_OPERATORS_BUILD_H
#define WI_OPERATORS_BUILD_H

#include <stddef.h>
#include <string.h>

#include "operators/base/type.h"

#define WI_BUILD_ROWS 4096u

/** A batch may end early once a column has this many bytes of texts. */
#define WI_BUILD_TEXT_BYTES ((size_t)16 << 20)

struct wi_build_col {
    struct wi_type type;
    uint32_t value_bytes; /* 0: bool, utf8, binary */
    void *values;         /* fixed-size values, or the bits of bools */
    int32_t *offsets;     /* utf8, binary: WI_BUILD_ROWS + 1 */
    char *text;
    size_t text_bytes;
    size_t text_room;
    uint8_t *valid; /* bits; NULL: the column holds no nulls */
    int64_t nulls;
    const void *buffers[3];
    struct ArrowArray array;
};

struct wi_build {
    uint32_t n_cols;
    uint32_t *which; /* for each: its index in the table */
    struct wi_build_col *col;
    struct ArrowArray **children;
    const void *buffers[1];
};

/**
 * Take buffers for some columns.
 *
 * @param which  indexes of `columns`, n of them, in the order wanted; copied
 *
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    one at a time per build
 * Ownership:  wi_build_fini, also for a zeroed one
 */
weir_err wi_build_init(struct wi_build *build, const struct wi_columns *columns,
                       const uint32_t *which, uint32_t n,
                       struct weir_error *err);
void wi_build_fini(struct wi_build *build);

void wi_build_begin(struct wi_build *build);

/** @param out  [out] points into build; its release does nothing */
void wi_build_end(struct wi_build *build, uint32_t rows,
                  struct ArrowArray *out);

/** Room for n_bytes more; for wi_build_text. Returns false if there is no
 *  memory. */
bool wi_build_grow(struct wi_build_col *col, size_t n_bytes);

/** A release that frees nothing: the buffers are someone else's. */
void wi_build_release(struct ArrowArray *array);

static inline void wi_build_null(struct wi_build_col *col, uint32_t row)
{
    col->valid[row / 8] &= (uint8_t) ~(1u << (row % 8));
    col->nulls++;
}

/** Add a text. Rows ascend; a null has n_bytes 0. Returns false if there is no
 *  memory. */
static inline bool wi_build_text(struct wi_build_col *col, uint32_t row,
                                 const char *data, size_t n_bytes)
{
    if (col->text_room - col->text_bytes < n_bytes &&
        !wi_build_grow(col, n_bytes)) {
        return false;
    }
    memcpy(col->text + col->text_bytes, data, n_bytes);
    col->text_bytes += n_bytes;
    col->offsets[row + 1] = (int32_t)col->text_bytes;
    return true;
}

static inline void wi_build_bool(struct wi_build_col *col, uint32_t row,
                                 bool value)
{
    uint8_t *at = (uint8_t *)col->values + row / 8;
    *at =
        (uint8_t)((*at & ~(1u << (row % 8))) | ((unsigned)value << (row % 8)));
}

#endif /* WI_OPERATORS_BUILD_H */
