/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The operators: what each takes. wi_<name>_open makes one worker's.
 *
 * All of them:
 *
 * @param ctx    the worker's; outlives the operator
 * @param p      the same for all workers; outlives the operator
 * @param input  taken over on WEIR_OK, closed on error
 *
 * Errors:     as wi_mem_take, WEIR_ERR_NO_MEMORY, in ctx->err
 * Blocks:     never
 * Threads:    the worker's
 * Ownership:  wi_op_close
 *
 * Columns are named by index: the plan has resolved and checked them. `columns`
 * is what the operator gives out.
 */
#ifndef WI_OPERATORS_OPS_H
#define WI_OPERATORS_OPS_H

#include <weir/plan.h>

#include "operators/expr/expr.h"
#include "operators/op/op.h"

/* ---- scan: rows of a table ----------------------------------------------- */

struct wi_scan_params {
    const struct wi_columns *columns;
    weir_table *table;
    const uint32_t *table_cols; /* of the table, in the order of columns */
};
weir_err wi_scan_open(struct wi_ctx *ctx, const struct wi_scan_params *p,
                      struct wi_op **out);

/* ---- filter: rows for which `where` is true ------------------------------ */

struct wi_filter_params {
    const struct wi_columns *columns;
    const struct wi_expr *where;
};
weir_err wi_filter_open(struct wi_ctx *ctx, const struct wi_filter_params *p,
                        struct wi_op *input, struct wi_op **out);

/* ---- project: computed columns ------------------------------------------- */

struct wi_project_params {
    const struct wi_columns *columns;
    const struct wi_expr *const *exprs; /* one per column */
};
weir_err wi_project_open(struct wi_ctx *ctx, const struct wi_project_params *p,
                         struct wi_op *input, struct wi_op **out);

/* ---- hash join: the right input is kept, the left one runs past ---------- */

#define WI_JOIN_TARGETS 4u /* more shuffles are not filtered */

/** A shuffle that a join may filter. */
struct wi_join_target {
    uint32_t shuffle;     /* operator of the plan */
    uint32_t n_keys;      /* of the shuffle */
    const uint32_t *keys; /* which key of the join each is */
};

/** columns: those of left, then (INNER, LEFT) right_out of right.
 *  where: what a pair of rows with equal keys has to fulfil, too, in terms of
 *  `pairs`, which are the columns of left and right_out of right. */
struct wi_join_params {
    const struct wi_columns *columns;
    const struct wi_columns *left;
    const struct wi_columns *right;
    weir_join_kind kind;
    uint32_t n_keys; /* 1 or more, of the same type on both sides */
    const uint32_t *left_keys;
    const uint32_t *right_keys;
    uint32_t n_right_out;
    const uint32_t *right_out;
    const struct wi_expr *where;    /* NULL: nothing */
    const struct wi_columns *pairs; /* if there is a where */
    /** Shuffles below the left input whose senders may drop rows that match
     *  nothing; see plan/join_target.h. */
    uint32_t n_targets;
    struct wi_join_target target[WI_JOIN_TARGETS];
    bool tries_first; /* are told once most left rows turned out useless */
};
weir_err wi_join_open(struct wi_ctx *ctx, const struct wi_join_params *p,
                      struct wi_op *left, struct wi_op *right,
                      struct wi_op **out);

/** Whom target i is told through. Before the first step; without, it is not.
 *  @param receive  of that shuffle, from wi_receive_open; outlives the join */
void wi_join_aim(struct wi_op *op, uint32_t i, const struct wi_op *receive);

/** Is its right side not complete yet, so that it takes no left rows? */
bool wi_join_is_building(const struct wi_op *op);

/* ---- hash aggregate ------------------------------------------------------ */

enum wi_agg_fn {
    WI_AGG_COUNT_ROWS, /* count(*) */
    WI_AGG_COUNT,
    WI_AGG_SUM, /* integers: int64; decimals: decimal(38,S); floats: float64 */
    WI_AGG_AVG, /* integers, floats: float64; decimals: decimal(38,max(S,6)) */
    WI_AGG_MIN,
    WI_AGG_MAX,
};

struct wi_agg {
    enum wi_agg_fn fn;
    struct wi_type type; /* of the argument, in FINAL mode, too */
    uint32_t col;        /* argument; FINAL: the (first) column of the state */
};

/** columns: the groups, then per aggregate its value or the columns of its
 *  state. Without groups COMPLETE and FINAL give exactly one row, PARTIAL one
 *  or, of more than state_rows rows, several. */
struct wi_agg_params {
    const struct wi_columns *columns;
    const struct wi_columns *in;
    weir_aggregate_mode mode;
    uint32_t n_groups;
    const uint32_t *groups;
    uint32_t n_aggs;
    const struct wi_agg *aggs;
    uint64_t state_rows; /* least of wi_agg_state_rows [0: any number] */
};
weir_err wi_agg_open(struct wi_ctx *ctx, const struct wi_agg_params *p,
                     struct wi_op *input, struct wi_op **out);

/** Type of an aggregate's value.
 *  Errors: WEIR_ERR_ARG: `sum of utf8: a number was expected`. */
weir_err wi_agg_type(enum wi_agg_fn fn, const struct wi_type *argument,
                     struct wi_type *out, struct weir_error *err);

/** A column of a state, which has the aggregate's name and a suffix. */
struct wi_agg_state {
    const char *suffix;
    struct wi_type type;
};
enum { WI_AGG_STATES = 3 };

/**
 * Columns of the state of an aggregate that has a type.
 *
 *   count, min, max       ""  as the value
 *   sum                   ""  int64 of integers up to 32 bits; decimal(38,0) of
 *                             int64 and uint64; decimal(38,S); float64
 *                   ".high"   int32, of decimals of more than 32 digits: the
 *                             sum is 10^38 * high more, in its last digits
 *   avg                       those of the sum, then ".count", int64
 *
 * Returns:    how many, 1..WI_AGG_STATES
 * Errors:     none
 * Threads:    any
 */
uint32_t wi_agg_state(enum wi_agg_fn fn, const struct wi_type *argument,
                      struct wi_agg_state out[static WI_AGG_STATES]);

/** Rows whose state surely fits these columns, and a chunk more. */
uint64_t wi_agg_state_rows(enum wi_agg_fn fn, const struct wi_type *argument);

/* ---- sort, top-k --------------------------------------------------------- */

struct wi_sort_key {
    uint32_t col;
    bool descending;
    bool nulls_first;
};

struct wi_sort_params {
    const struct wi_columns *columns;
    uint32_t n_keys;
    const struct wi_sort_key *keys;
    uint64_t rows; /* top-k: gives out only this many [0: all] */
};
weir_err wi_sort_open(struct wi_ctx *ctx, const struct wi_sort_params *p,
                      struct wi_op *input, struct wi_op **out);

/* ---- limit: rows offset .. offset+rows-1, then stops its input ----------- */

struct wi_limit_params {
    const struct wi_columns *columns;
    uint64_t rows;
    uint64_t offset;
};
weir_err wi_limit_open(struct wi_ctx *ctx, const struct wi_limit_params *p,
                       struct wi_op *input, struct wi_op **out);

/* ---- union all: whichever input has rows --------------------------------- */

/** Inputs may be NULL: they have no rows on this worker. */
struct wi_union_params {
    const struct wi_columns *columns;
    uint32_t n_inputs;
};
weir_err wi_union_open(struct wi_ctx *ctx, const struct wi_union_params *p,
                       struct wi_op *const *inputs, struct wi_op **out);

/* ---- write: a CSV file of each worker ------------------------------------ */

#define WI_WRITE_NAME_BYTES 32

struct wi_write_file {
    int fd;                         /* open to write, empty */
    char name[WI_WRITE_NAME_BYTES]; /* for messages */
};

/** Opens the file of the worker with that number (wi_ctx.part).
 *  Errors: any. Blocks: shortly. Threads: each worker. */
typedef weir_err (*wi_write_fn)(void *arg, uint32_t part,
                                struct wi_write_file *out,
                                struct weir_error *err);

/** Gives out a row of each worker when its file is on the disk: its number, the
 *  rows and the bytes that it wrote. Texts and bytes are written as they
 *  are. */
struct wi_write_params {
    const struct wi_columns *columns; /* given out: WI_WRITE_COLUMNS, int64 */
    const struct wi_columns *in;
    const struct wi_str *header; /* a name for each column; data NULL: none */
    wi_write_fn file;
    void *arg;
};

enum { WI_WRITE_PART, WI_WRITE_ROWS, WI_WRITE_BYTES, WI_WRITE_COLUMNS };

weir_err wi_write_open(struct wi_ctx *ctx, const struct wi_write_params *p,
                       struct wi_op *input, struct wi_op **out);

/* ---- shuffle ends -------------------------------------------------------- */

struct wi_send_params {
    const struct wi_columns *columns;
};
/** Root of a fragment: pushes its input's rows, then finishes. Gives out no
 *  rows; its statistics count those that it pushed. Takes the writer over on
 *  WEIR_OK; else it stays open, so that the fault can be reported first. */
weir_err wi_send_open(struct wi_ctx *ctx, const struct wi_send_params *p,
                      weir_writer *writer, struct wi_op *input,
                      struct wi_op **out);

/** What a send operator has sent to a destination. As weir_writer_stats. */
weir_err wi_send_stats(const struct wi_op *op, uint32_t dest,
                       struct weir_edge_stats *stats_out);

struct wi_receive_params {
    const struct wi_columns *columns;
};
/** Rows as they arrive. Takes the reader over. */
weir_err wi_receive_open(struct wi_ctx *ctx, const struct wi_receive_params *p,
                         weir_reader *reader, struct wi_op **out);

/** Its reader. @param op  from wi_receive_open */
weir_reader *wi_receive_reader(const struct wi_op *op);

/** Merges the rows of senders that each send in order: gives rows out while
 *  every sender has a row waiting or has ended. What arrives meanwhile stays in
 *  the rings, which bound it. */
struct wi_merge_params {
    const struct wi_columns *columns;
    uint32_t n_keys;
    const struct wi_sort_key *keys;
    uint32_t n_members; /* senders: member 0 .. n-1, each worker 0 .. w-1 */
    const uint32_t *n_workers; /* [n_members] */
};
weir_err wi_merge_open(struct wi_ctx *ctx, const struct wi_merge_params *p,
                       weir_reader *reader, struct wi_op **out);

/* ---- result: hands rows to the program ----------------------------------- */

typedef weir_err (*wi_result_fn)(void *arg, const struct ArrowArray *batch,
                                 struct weir_error *err);
struct wi_result_params {
    const struct wi_columns *columns;
    wi_result_fn fn; /* WEIR_OK | WEIR_DONE (enough) | an error */
    void *arg;
};
/** Root of the last fragment. Gives out no rows; its statistics count those
 *  that it handed over. */
weir_err wi_result_open(struct wi_ctx *ctx, const struct wi_result_params *p,
                        struct wi_op *input, struct wi_op **out);

#endif /* WI_OPERATORS_OPS_H */
