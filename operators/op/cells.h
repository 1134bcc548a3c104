/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Cells: what an aggregate knows of each group, as arrays by group number.
 *
 *   sum(x)   sum of x                     one cell
 *   avg(x)   sum of x, count of x         two
 *
 *   update    values[group[i]] op= x[i]   one loop per chunk and cell
 *
 * A sum is exact, whatever it passes through on the way: one of 128-bit values
 * is high * 10^38 + value.
 */
#ifndef WI_OPERATORS_CELLS_H
#define WI_OPERATORS_CELLS_H

#include "operators/base/text.h"
#include "operators/base/vec.h"

enum wi_cell_kind {
    WI_CELL_ROWS,  /* int64_t: rows */
    WI_CELL_COUNT, /* int64_t: values that are not null */
    WI_CELL_ADD,   /* int64_t: sum of counts */
    WI_CELL_SUM,   /* wi_i128 of WI_I64 and WI_I128, double of WI_F64 */
    WI_CELL_LEAST, /* as the argument; strings: struct wi_kept_text */
    WI_CELL_MOST,
};

/** A string that is replaced by others: in memory for `room` bytes. */
struct wi_kept_text {
    char *data;
    uint32_t n_bytes;
    uint32_t room;
};

/* written by: the worker */
struct wi_cell {
    enum wi_cell_kind kind;
    enum wi_rep rep; /* of the argument */
    uint32_t col;    /* argument */
    struct wi_op_mem *mem;
    void *values;  /* [room] */
    uint8_t *has;  /* [room] 1: a value came; SUM, LEAST, MOST */
    int64_t *high; /* [room] SUM of WI_I128 */
    bool has_high; /* SUM: the column after `col` is to be added to high */
    uint64_t room; /* groups */
    uint64_t n;    /* groups that are set */
    struct wi_text text;
    uint64_t text_live; /* bytes of text that are in use */
};

/** Room for groups 0..n-1; new ones are zero. Errors: as wi_mem_take. Blocks:
 *  never. Threads: the worker's. Ownership: wi_cell_fini, which may also be
 *  called on a zeroed cell. */
weir_err wi_cell_reserve(struct wi_cell *cell, uint64_t n,
                         struct weir_error *err);
void wi_cell_fini(struct wi_cell *cell);

/** Forget all groups. @param free_memory  false: it is kept for new ones */
void wi_cell_clear(struct wi_cell *cell, bool free_memory);

/** Take a chunk's rows in: row i belongs to group[i], for which there is room.
 *  Errors: as wi_mem_take (strings). */
weir_err wi_cell_update(struct wi_cell *cell, const struct wi_chunk *chunk,
                        const uint32_t *group, struct weir_error *err);

#endif /* WI_OPERATORS_CELLS_H */
