/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside of the row writer: its columns, and setting values in the open row,
 * which lies after the rows that have ended.
 */
#ifndef WI_ROW_SET_H
#define WI_ROW_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <weir/row.h>

#include "core/base/bytes.h"
#include "core/base/cc.h"

/* What a setter may put into a column. */
enum wi_row_type {
    WI_ROW_INT,
    WI_ROW_DOUBLE,
    WI_ROW_FIXED_BYTES,
    WI_ROW_VAR_BYTES
};

struct wi_row_column {
    enum wi_row_type type;
    uint32_t width; /* of a value in `values`; 0 for bits */
    bool is_unsigned;
    bool nullable;
    bool set;          /* in the open row */
    uint32_t open_len; /* WI_ROW_VAR_BYTES: length in the open row */
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
    struct wi_row_column *columns;
    struct ArrowArray batch;
    struct ArrowArray *arrays;
    struct ArrowArray **children;
    const void *no_buffers[1];
};

static inline void wi_row_put_bit(uint8_t *bits, uint64_t at, bool value)
{
    uint8_t mask = (uint8_t)(1u << (at & 7));
    bits[at >> 3] = (uint8_t)(value ? bits[at >> 3] | mask
                                    : bits[at >> 3] & (uint8_t)~mask);
}

static inline uint32_t wi_row_offset(const struct wi_row_column *c,
                                     uint32_t row)
{
    return wi_load_u32(c->values + (size_t)row * sizeof(int32_t));
}

static inline void wi_row_put_offset(struct wi_row_column *c, uint32_t row,
                                     uint32_t offset)
{
    memcpy(c->values + (size_t)row * sizeof(int32_t), &offset, sizeof(offset));
}

/** Note what is wrong with a value of the open row. Returns code. */
WI_COLD weir_err wi_row_fail(weir_row_writer *rw, const struct wi_row_column *c,
                             weir_err code, const char *what);

/** Note that a batch waits to be pushed. Returns WEIR_ERR_STATE. */
WI_COLD weir_err wi_row_fail_waiting(weir_row_writer *rw);

#endif /* WI_ROW_SET_H */
