/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Plans: whole distributed queries, as trees of named operators.
 *
 *   weir_plan_open
 *     weir_plan_table(plan, "lines", table)              where rows come from
 *     weir_plan_scan(plan, "l", "lines", cols, 3)
 *     weir_plan_filter(plan, "recent", "l", "day > date '2013-07-01'")
 *     weir_plan_aggregate(plan, "part", {"recent", partial, ...})
 *     weir_plan_shuffle(plan, "by_no", {"part", WEIR_HASH, {"no"}})
 *     weir_plan_aggregate(plan, "sum", {"by_no", final, ...})
 *     weir_plan_result(plan, "sum")
 *   weir_run_open(node, plan) ...                        (run.h), any times
 *   weir_plan_close
 *
 * or weir_plan_read: the same from JSON (docs/plan.md).
 *
 * Rules
 *  - An operator names its inputs, which must be there already: a plan cannot
 *    have a circle. Each operator is the input of one other at most.
 *  - Everything is checked when it is added: names, types, expressions. A call
 *    that failed changed nothing.
 *  - Rows stay on the worker where they are until a shuffle or merge moves
 *    them. Operators that need rows together (join, final aggregate, limit) get
 *    them together only if a shuffle below brought them together; the plan
 *    refuses what it can tell would give another answer on two nodes than on
 *    one, and says which shuffle to put where.
 *  - A plan does not depend on the number of nodes, workers, or on the
 *    transport.
 *  - Expressions are text, in the language of docs/expressions.md, which is
 *    close to SQL's: "price * (1 - discount) > 10.00 and name like 'A%'".
 */
#ifndef WEIR_PLAN_H
#define WEIR_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>
#include <weir/shuffle.h>
#include <weir/table.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_plan weir_plan;

/** Most operators of a plan. */
#define WEIR_PLAN_OPERATORS 4096

/** Most shuffles of a plan, with those of merges and of its result: a node has
 *  1024 open if max_shuffles says so, of which one ends the run. */
#define WEIR_PLAN_SHUFFLES 1023

/** An empty plan. Errors: WEIR_ERR_NO_MEMORY. Blocks: never. Threads: any; one
 *  at a time uses a plan while it is built. Ownership: weir_plan_close. */
WEIR_API weir_err weir_plan_open(weir_plan **plan_out, struct weir_error *err);

/** Free a plan and its tables; its runs are closed. NULL is allowed.
 *  Errors: none. Blocks: never. Threads: any. Ownership: frees plan. */
WEIR_API void weir_plan_close(weir_plan *plan);

/** A field of a table in JSON: an integer, 0 or more. */
struct weir_table_number {
    const char *name;
    uint64_t value; /* where the field is left out */
};

/** A kind of table of the program's own in JSON, as `{"orders": {"shop":
 *  "orders", "year": 2013}}` with the field "shop" and the number "year". All
 *  of it is borrowed by weir_plan_read. */
struct weir_table_kind {
    const char
        *field;       /* not csv, series, rows or keep; its value is a string */
    const char *what; /* "a table of the shop", for messages */
    const struct weir_table_number *numbers;
    uint32_t n_numbers; /* at most WEIR_TABLE_NUMBERS */
    /** Open the table. @param text  of the field  @param numbers  n_numbers, in
     *  their order. Errors: any, with a message. Blocks: as it likes.
     *  Ownership: *table_out is the plan's. */
    weir_err (*open)(void *arg, const char *text, const uint64_t *numbers,
                     weir_table **table_out, struct weir_error *err);
    void *arg;
};
#define WEIR_TABLE_NUMBERS 8

/** Options of weir_plan_read. Zero means the default in brackets. */
struct weir_plan_read_params {
    const char *data_dir; /* relative paths of files start here ["."] */
    const struct weir_table_kind
        *kinds; /* beside csv, series and rows [none] */
    uint32_t n_kinds;
    uint64_t only_below;  /* 1: files lie in data_dir: absolute paths, .., and
                             links that lead out are WEIR_ERR_DATA [0] */
    uint64_t reserved[3]; /* must be zero */
};

/**
 * Read a plan from JSON, as docs/plan.md specifies it.
 *
 * @param json  n_bytes of UTF-8; need not be NUL-terminated
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_NOT_FOUND, WEIR_ERR_DUPLICATE,
 *             WEIR_ERR_SCHEMA, WEIR_ERR_DATA: each with line, column, JSON
 *             path, the operator, what was found and what was expected
 *             (`line 9, column 40: $.operators[3].where of "recent": ...`); as
 *             weir_table_csv_open; WEIR_ERR_NO_MEMORY
 * Blocks:     on the files that it names
 * Threads:    any
 * Ownership:  weir_plan_close
 */
WEIR_API weir_err weir_plan_read(const char *json, size_t n_bytes,
                                 const struct weir_plan_read_params *params,
                                 weir_plan **plan_out, struct weir_error *err);

/** Give a table a name in the plan, which takes it over (on WEIR_OK).
 *  Errors: WEIR_ERR_DUPLICATE, WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY. Blocks: never.
 *  Threads: as weir_plan_open. Ownership: the plan's. */
WEIR_API weir_err weir_plan_table(weir_plan *plan, const char *name,
                                  weir_table *table, struct weir_error *err);

/*
 * Operators. All of them:
 *
 * @param name  of the new operator, unique, 1..63 bytes; copied, as all that
 *              the params point to
 *
 * Errors:     WEIR_ERR_NOT_FOUND (table, operator or column; lists what there
 *             is), WEIR_ERR_DUPLICATE (name; or the input has a consumer
 *             already), WEIR_ERR_ARG (types, expressions, rows that are not
 *             together), WEIR_ERR_NO_MEMORY. Messages name the field as the
 *             JSON does: `sort "s", by[0].column: ...`
 * Blocks:     never
 * Threads:    as weir_plan_open
 * Ownership:  nothing
 */

/** Rows of a table. @param columns  names [0: all]
 *  Errors: as above. Blocks: never. Threads: as weir_plan_open. Ownership:
 *  nothing. */
WEIR_API weir_err weir_plan_scan(weir_plan *plan, const char *name,
                                 const char *table, const char *const *columns,
                                 uint32_t n_columns, struct weir_error *err);

/** Rows for which an expression is true.
 *  Errors: as above. Blocks: never. Threads: as weir_plan_open. Ownership:
 *  nothing. */
WEIR_API weir_err weir_plan_filter(weir_plan *plan, const char *name,
                                   const char *input, const char *where,
                                   struct weir_error *err);

/** One computed column. */
struct weir_output {
    const char *name; /* [the column's, if expr is only a column] */
    const char *expr;
};

/** Computed columns.
 *  Errors: as above. Blocks: never. Threads: as weir_plan_open. Ownership:
 *  nothing. */
WEIR_API weir_err weir_plan_project(weir_plan *plan, const char *name,
                                    const char *input,
                                    const struct weir_output *outputs,
                                    uint32_t n_outputs, struct weir_error *err);

typedef enum weir_join_kind {
    WEIR_JOIN_INNER,
    WEIR_JOIN_LEFT, /* left rows without a match have nulls on the right */
    WEIR_JOIN_SEMI, /* left rows with a match, once */
    WEIR_JOIN_ANTI, /* left rows without a match */
} weir_join_kind;

/** Filters of an inner or semi join: the senders of the shuffle by hash of keys
 *  of the join that is below its left input drop rows that will have no match.
 *  docs/plan.md says what may be in between. */
typedef enum weir_join_filter {
    WEIR_JOIN_FILTER_AUTO, /* if something below the right input drops rows, or
                              the first left rows show that few match */
    WEIR_JOIN_FILTER_NEVER,
    WEIR_JOIN_FILTER_ALWAYS,
} weir_join_filter;

/** Hash join: the right input is kept in memory, so it should be the smaller.
 *  Two rows match if their keys are equal and `where` is true of them; null
 *  keys never match. Gives the left columns, then (INNER, LEFT) the right ones;
 *  all names must differ, also if SEMI or ANTI have a `where`, except that
 *  right keys named as their left key are left out. */
struct weir_join_params {
    const char *left;
    const char *right;
    weir_join_kind kind;
    const char *const *left_keys;
    const char *const *right_keys; /* [left_keys] */
    uint32_t n_keys;
    const char *where; /* of the columns of both sides [true] */
    weir_join_filter filter;
};
/** Add one with these params.
 *  Errors: as above. Blocks: never. Threads: as weir_plan_open. Ownership:
 *  nothing. */
WEIR_API weir_err weir_plan_join(weir_plan *plan, const char *name,
                                 const struct weir_join_params *params,
                                 struct weir_error *err);

typedef enum weir_aggregate_mode {
    WEIR_AGGREGATE_COMPLETE, /* rows -> values */
    WEIR_AGGREGATE_PARTIAL,  /* rows -> states, to be shuffled by the groups */
    WEIR_AGGREGATE_FINAL,    /* states -> values */
} weir_aggregate_mode;

/** One aggregate: "count(*)", or count, sum, avg, min, max of an expression:
 *  "sum(price * n)". In FINAL mode the same text and name as in PARTIAL. */
struct weir_aggregate_params {
    const char *input;
    weir_aggregate_mode mode;
    const char *const *groups; /* column names */
    uint32_t n_groups;         /* 0: one row for everything */
    const struct weir_output *aggregates;
    uint32_t n_aggregates; /* 0: the distinct groups */
};
/** Add one with these params.
 *  Errors: as above. Blocks: never. Threads: as weir_plan_open. Ownership:
 *  nothing. */
WEIR_API weir_err weir_plan_aggregate(
    weir_plan *plan, const char *name,
    const struct weir_aggregate_params *params, struct weir_error *err);

struct weir_sort_key {
    const char *column;
    int descending;
    int nulls_first; /* [nulls last, either way] */
};

/** Rows in order, or the first of them (top-k). On each worker by itself: put a
 *  merge above it. */
struct weir_sort_params {
    const char *input;
    const struct weir_sort_key *keys;
    uint32_t n_keys;
    uint64_t rows; /* [0: all] */
};
/** Add one with these params.
 *  Errors: as above. Blocks: never. Threads: as weir_plan_open. Ownership:
 *  nothing. */
WEIR_API weir_err weir_plan_sort(weir_plan *plan, const char *name,
                                 const struct weir_sort_params *params,
                                 struct weir_error *err);

/** Rows offset .. offset+rows-1, then stops what produces them.
 *  Errors: as above. Blocks: never. Threads: as weir_plan_open. Ownership:
 *  nothing. */
WEIR_API weir_err weir_plan_limit(weir_plan *plan, const char *name,
                                  const char *input, uint64_t rows,
                                  uint64_t offset, struct weir_error *err);

/** All rows of two inputs or more with the same columns.
 *  Errors: as above. Blocks: never. Threads: as weir_plan_open. Ownership:
 *  nothing. */
WEIR_API weir_err weir_plan_union(weir_plan *plan, const char *name,
                                  const char *const *inputs, uint32_t n_inputs,
                                  struct weir_error *err);

/** Move rows between workers: HASH, RANGE, ROUND_ROBIN, RANDOM, BROADCAST to
 *  every worker of every node; GATHER to the first worker of the first. */
struct weir_plan_shuffle_params {
    const char *input;
    weir_partitioning partitioning; /* any but WEIR_VECTOR */
    const char *const *keys;        /* HASH, RANGE */
    uint32_t n_keys;
    uint64_t seed;
    const char *const *bounds; /* RANGE: n_bounds x n_keys values as text,
                                  "2013-07-01", ascending; more destinations
                                  than bounds+1 get no rows */
    uint32_t n_bounds;
};
/** Add one with these params.
 *  Errors: as above. Blocks: never. Threads: as weir_plan_open. Ownership:
 *  nothing. */
WEIR_API weir_err weir_plan_shuffle(
    weir_plan *plan, const char *name,
    const struct weir_plan_shuffle_params *params, struct weir_error *err);

/** Gather rows that a sort has ordered, in that order. @param input  a sort, or
 *  filters, projections and limits above one that keep its keys
 *  Errors: as above. Blocks: never. Threads: as weir_plan_open. Ownership:
 *  nothing. */
WEIR_API weir_err weir_plan_merge(weir_plan *plan, const char *name,
                                  const char *input, struct weir_error *err);

/** Say which operator's rows are the answer. They are gathered to the first
 *  worker of the first member, in order if a sort has ordered them, unless they
 *  are there already.
 *  Errors: as above. Blocks: never. Threads: as weir_plan_open. Ownership:
 *  nothing. */
WEIR_API weir_err weir_plan_result(weir_plan *plan, const char *input,
                                   struct weir_error *err);

/** Columns that an operator gives out. @param name  [NULL: the result's]
 *  Errors: WEIR_ERR_NOT_FOUND, WEIR_ERR_NO_MEMORY. Blocks: never. Threads: any.
 *  Ownership: the caller releases schema_out. */
WEIR_API weir_err weir_plan_schema(const weir_plan *plan, const char *name,
                                   struct ArrowSchema *schema_out,
                                   struct weir_error *err);

/** An operator as it is in the plan, for programs that show plans. */
struct weir_operator {
    const char *name; /* of operators that the plan made by itself: that of the
                         one they serve */
    const char *kind; /* "scan", "join", ... as in JSON */
    const char *detail;     /* "by hash of a, b"; its parameters */
    const uint32_t *inputs; /* numbers of operators */
    uint32_t n_inputs;
    int single; /* its rows are on one worker only */
};

/** Number of operators, those that the plan made by itself included; inputs
 *  come before what reads them. Errors: none. Blocks: never. Threads: any.
 *  Ownership: nothing. */
WEIR_API uint32_t weir_plan_operators(const weir_plan *plan);

/** Number of the operator whose rows are the answer; UINT32_MAX: none yet.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
WEIR_API uint32_t weir_plan_root(const weir_plan *plan);

/** An operator by number. Errors: WEIR_ERR_NOT_FOUND. Blocks: never. Threads:
 *  any. Ownership: the plan's, until it is closed. */
WEIR_API weir_err weir_plan_operator(const weir_plan *plan, uint32_t idx,
                                     struct weir_operator *op_out);

typedef enum weir_explain_format {
    WEIR_EXPLAIN_TEXT, /* a tree; in brackets where an operator's rows are */
    WEIR_EXPLAIN_DOT,  /* for Graphviz */
} weir_explain_format;

/** Print a plan. @param text_out  [out] NUL-terminated
 *  Errors: WEIR_ERR_STATE (no result yet), WEIR_ERR_NO_MEMORY. Blocks: never.
 *  Threads: any. Ownership: the caller frees *text_out with free(). */
WEIR_API weir_err weir_plan_explain(const weir_plan *plan,
                                    weir_explain_format format, char **text_out,
                                    struct weir_error *err);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_PLAN_H */
