/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Operators in tests: rows written down, an operator that gives them out, and
 * what an operator under test makes of them.
 *
 *   wt_op_rows_init(&in, "k:int64? s:utf8")   columns, ? for nullable
 *   wt_op_rows_add(&in, "5 abc")              '-' is null, "" an empty string
 *   wt_source(&ctx, &in, seed)                an operator
 *   wt_collect(op, &got)                      step it to its end
 *   wt_op_rows_expect(&got, &expected, ordered)
 *
 * Everything that goes wrong here fails the test.
 */
#ifndef WT_OPERATORS_H
#define WT_OPERATORS_H

#include "operators/op/op.h"

/** i for whole numbers, decimals (unscaled), dates; s is owned. */
struct wt_value {
    bool null;
    wi_i128 i;
    double f;
    char *s;
};

struct wt_op_rows {
    struct wi_columns columns;
    uint32_t n;
    uint32_t room;
    struct wt_value *at; /* n * columns.n, row by row */
};

void wt_op_rows_init(struct wt_op_rows *rows, const char *columns);
void wt_op_rows_fini(struct wt_op_rows *rows);

/** A row from text, fields with one space in between. */
void wt_op_rows_add(struct wt_op_rows *rows, const char *line);

/** Several: one from each line. */
void wt_op_rows_add_all(struct wt_op_rows *rows, const char *lines);

/** A row of zeroed values, to fill: columns.n of them. */
struct wt_value *wt_op_rows_new(struct wt_op_rows *rows);

/** Free the rows; the columns stay. */
void wt_op_rows_clear(struct wt_op_rows *rows);

/** n rows of small random values, some of them null: about `spread` different
 *  ones per column, except of bool. */
void wt_op_rows_random(struct wt_op_rows *rows, uint32_t n, uint64_t *state,
                       uint64_t spread);

/** Values of row i. */
struct wt_value *wt_op_rows_at(const struct wt_op_rows *rows, uint32_t i);

/** The rows as lines. @param ordered  false: sorted. Ownership: free. */
char *wt_op_rows_text(const struct wt_op_rows *rows, bool ordered);

/** The same rows, in the same order if `ordered`? Shows the first line that
 *  differs. */
void wt_op_rows_expect(const struct wt_op_rows *got,
                       const struct wt_op_rows *expected, bool ordered);

/** A worker without a node. @param limit_bytes  0: none */
void wt_ctx_init(struct wi_ctx *ctx, uint64_t limit_bytes);

/** Gives out rows, which must outlive it. */
struct wt_op_source {
    struct wi_op op; /* first */
    const struct wt_op_rows *rows;
    uint64_t state; /* of the random numbers; 0: whole chunks at once */
    uint32_t next;
    bool stopped;
    struct wi_vec *vecs;
    struct wi_vec *cols;
    uint32_t sel[WI_CHUNK_ROWS];
};

/** An operator that gives out rows. @param seed  0: in whole chunks without a
 *  selection; else in chunks of random size with random selections, empty ones
 *  and WI_WAIT_INPUT in between */
struct wi_op *wt_source(struct wi_ctx *ctx, const struct wt_op_rows *rows,
                        uint64_t seed);

/** Append a chunk's rows; checks the rules of vec.h. */
void wt_op_rows_add_chunk(struct wt_op_rows *rows,
                          const struct wi_chunk *chunk);

/** Step to the end. @param out  initialised with the columns that op gives
 *  Returns WI_DONE or WI_FAILED. */
enum wi_state wt_collect(struct wi_op *op, struct wt_op_rows *out);

/** Close an operator, which then holds no memory of the worker's. */
void wt_op_close(struct wi_ctx *ctx, struct wi_op *op);

/** wt_collect, then wt_op_close. A failure is what `code` says, WEIR_OK that
 *  there is none. */
void wt_run_op(struct wi_ctx *ctx, struct wi_op *op, weir_err code,
               struct wt_op_rows *out);

/** After some steps, stop an operator that is above wt_source alone: they are
 *  stopped, too, and it is done. Closes it. */
void wt_stop_op(struct wi_ctx *ctx, struct wi_op *op, uint32_t steps);

/** The next number of a sequence; state is not 0. */
uint64_t wt_next_random(uint64_t *state);

#endif /* WT_OPERATORS_H */
