/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The inside of weir_plan: checked operators, ready to be made per worker.
 *
 *   plan.h, JSON ----> struct weir_plan ----> weir_run: trees of wi_op
 *                      ops[0] scan "l"            per worker
 *                      ops[1] filter "recent"     inputs {0}
 *                      ops[2] shuffle "by_no"     inputs {1}
 *                      ...                        result = n_ops - 1
 *
 * Rules
 *  - ops are in the order of definition: inputs before their consumers. Each is
 *    the input of at most one other; those not below the result do not run.
 *  - The plan owns everything here, also the arrays that the params structs
 *    point to. A run only reads it.
 *  - Everything is resolved: columns by index, expressions compiled, types
 *    checked.
 *  - single: the rows are on worker 0 of member 0 only, because a gather or
 *    merge is below it, or is this operator. It runs only there. The left input
 *    of a join and the join are both single, or none is; the right one is
 *    single with them, or a broadcast. The inputs of a union may be mixed, and
 *    it is single if all of them are. A shuffle by anything but GATHER is not
 *    single.
 *  - The result is single: weir_plan_result appends a gather where needed.
 */
#ifndef WI_OPERATORS_NODE_H
#define WI_OPERATORS_NODE_H

#include <weir/plan.h>

#include "operators/base/arrow.h"
#include "operators/op/ops.h"

enum wi_plan_kind {
    WI_PLAN_SCAN,
    WI_PLAN_FILTER,
    WI_PLAN_PROJECT,
    WI_PLAN_JOIN, /* inputs: left, right */
    WI_PLAN_AGG,
    WI_PLAN_SORT,
    WI_PLAN_LIMIT,
    WI_PLAN_UNION,
    WI_PLAN_SHUFFLE,
    WI_PLAN_MERGE, /* a shuffle: GATHER that keeps an order */
    WI_PLAN_WRITE, /* the first that JSON does not have */
    WI_PLAN_KINDS, /* how many: kind.h has a row for each */
};

/** A shuffle; n_order > 0: a merge. */
struct wi_plan_shuffle {
    weir_partitioning partitioning;
    const char *const *keys; /* names of columns: HASH, RANGE */
    uint32_t n_keys;
    uint64_t seed;
    struct ArrowArray bounds; /* RANGE: any number of rows; else released */
    const struct wi_sort_key *order;
    uint32_t n_order;
};

/** Where the rows of an operator are: see spread.h. */
enum wi_spread_kind {
    WI_SPREAD_ANY,    /* each on some worker */
    WI_SPREAD_HASH,   /* equal keys on one worker, decided by hash and seed */
    WI_SPREAD_RANGE,  /* the same, decided by bounds */
    WI_SPREAD_SINGLE, /* all on worker 0 of member 0 */
    WI_SPREAD_EVERY,  /* all on every worker */
};

struct wi_spread {
    enum wi_spread_kind kind;
    uint32_t n_keys; /* HASH, RANGE */
    const uint32_t *keys;
    uint64_t seed;
    uint32_t n_bounds;
    const char *const *bounds; /* RANGE: as they were given */
};

/** What only the plan itself needs of an operator, to check the next one. */
struct wi_plan_notes {
    bool hidden;     /* made by the plan: not found by name */
    bool used;       /* the input of another, or the result */
    uint32_t *value; /* per column: equal numbers are equal values, in all
                        operators of the plan */
    struct wi_spread spread;
    const struct wi_sort_key *order; /* of the rows of each worker */
    uint32_t n_order;
    uint64_t cut;       /* each worker has its first `cut` rows only; 0: all */
    const char *detail; /* for explain */
    const char *const *texts; /* AGG: texts of the aggregates */
    const char *const *names; /* AGG: names of the aggregates */
    struct wi_arrow_out *bounds;
    struct wi_op_mem mem;
    struct wi_plan_block *blocks; /* owned memory */
};

#define WI_PLAN_NAME_BYTES 64

struct wi_plan_op {
    enum wi_plan_kind kind;
    char name[WI_PLAN_NAME_BYTES];
    bool single;
    uint32_t n_inputs;
    const uint32_t *inputs;    /* indexes into the plan's ops */
    struct wi_columns columns; /* given out; the params point here */
    union {
        struct wi_scan_params scan;
        struct wi_filter_params filter;
        struct wi_project_params project;
        struct wi_join_params join;
        struct wi_agg_params agg;
        struct wi_sort_params sort;
        struct wi_limit_params limit;
        struct wi_union_params all; /* union */
        struct wi_write_params write;
        struct wi_plan_shuffle shuffle;
    } p;
    struct wi_plan_notes notes;
};

#define WI_PLAN_NO_RESULT UINT32_MAX

struct wi_plan_table {
    char *name;
    weir_table *table;
};

struct weir_plan {
    uint32_t n_ops;
    struct wi_plan_op **ops; /* the operators stay when the list grows */
    uint32_t result;         /* index into ops, or WI_PLAN_NO_RESULT */
    uint32_t n_tables;
    struct wi_plan_table *tables; /* their names, and what they are */
    uint32_t n_values;            /* numbers given out for notes.value */
    const char *place;            /* JSON path of the operator being added */
};

#endif /* WI_OPERATORS_NODE_H */
