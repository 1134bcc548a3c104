/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Computing a tree: one call per node and chunk, one loop per call.
 *
 *   slot of each node: own  values and nulls that it computes
 *                      now  its latest result: own, or another node's
 *                      sel  rows for which some of its arguments are computed
 *
 * Rules
 *  - A kernel computes null positions, too, but errors count only at selected
 *    positions that are not null. So it computes all of them first; only if
 *    there was an error does it search for a position where it counts.
 *  - The nulls of a result often are those of an argument, not a copy.
 */
#ifndef WI_OPERATORS_EXPR_EVAL_H
#define WI_OPERATORS_EXPR_EVAL_H

#include "operators/expr/node.h"

/** Positions: sel[0..n), or 0..n-1 if sel is NULL. */
struct wi_sel_rows {
    const uint32_t *sel;
    uint32_t n;
};

/** Do something at every position p of the rows. There are two loops so that
 *  the one without sel can be vectorised. */
#define WI_EACH(rows, ...)                                                     \
    do {                                                                       \
        const uint32_t *each_sel = (rows).sel;                                 \
        const uint32_t each_n = (rows).n;                                      \
        if (each_sel == NULL) {                                                \
            for (uint32_t p = 0; p < each_n; p++) {                            \
                __VA_ARGS__                                                    \
            }                                                                  \
        } else {                                                               \
            for (uint32_t each_i = 0; each_i < each_n; each_i++) {             \
                const uint32_t p = each_sel[each_i];                           \
                __VA_ARGS__                                                    \
            }                                                                  \
        }                                                                      \
    } while (0)

struct wi_slot {
    struct wi_vec own;
    struct wi_vec now;
    uint32_t *sel[2]; /* WI_CHUNK_ROWS each */
};

/** Memory of computed strings, given back all at once. */
struct wi_eval_text_block;
struct wi_eval_text {
    struct wi_eval_text_block *first;
    struct wi_eval_text_block *now;
};

/* written by: the worker */
struct wi_eval {
    const struct wi_expr *expr;
    struct wi_op_mem *mem;
    struct wi_slot *slots;
    const struct wi_chunk *chunk;
    struct wi_eval_text text;
    struct weir_error *err;
};

/** A node that is computed from its arguments' values. */
struct wi_call {
    struct wi_eval *eval;
    const struct wi_node *node;
    struct wi_sel_rows rows;
    struct wi_vec arg[3];
    struct wi_vec *out; /* own values; null where an argument is */
};

/** Errors: as wi_eval_run. */
weir_err wi_eval_node(struct wi_eval *e, const struct wi_node *node,
                      struct wi_sel_rows rows, struct wi_vec *out);

/** The selected positions where a bool node is true. `to` may be rows.sel. */
weir_err wi_eval_true(struct wi_eval *e, const struct wi_node *node,
                      struct wi_sel_rows rows, uint32_t *to, uint32_t *n_out);

/* Kernels, by subject. Errors: WEIR_ERR_QUERY_DATA; strings: as wi_mem_take. */
weir_err wi_kernel_arith(struct wi_call *c);
weir_err wi_kernel_sign(struct wi_call *c);
weir_err wi_kernel_cast(struct wi_call *c);
weir_err wi_kernel_cast_float(struct wi_call *c);
weir_err wi_kernel_cast_text(struct wi_call *c);
weir_err wi_kernel_extract(struct wi_call *c);
weir_err wi_kernel_string(struct wi_call *c);
void wi_kernel_compare(struct wi_call *c);
/** Write the positions where the comparison holds and is not null to `to`;
 *  returns how many. */
uint32_t wi_kernel_compare_select(struct wi_call *c, uint32_t *to);

/** AND and OR; CASE and COALESCE. They choose the rows for which their
 *  arguments are computed. */
weir_err wi_eval_junction(struct wi_eval *e, const struct wi_node *node,
                          struct wi_sel_rows rows, struct wi_vec *out);
weir_err wi_eval_choice(struct wi_eval *e, const struct wi_node *node,
                        struct wi_sel_rows rows, struct wi_vec *out);

/** Copy values and nulls at the rows to the same positions of `to`, whose null
 *  must not be NULL. */
void wi_vec_spread(const struct wi_vec *from, struct wi_sel_rows rows,
                   struct wi_vec *to);

/** Does a cast leave all values as they are stored? */
bool wi_cast_is_free(const struct wi_type *from, const struct wi_type *to);

/** Report an error with the values at its position. Returns
 *  WEIR_ERR_QUERY_DATA. */
weir_err wi_eval_blame(const struct wi_call *c, uint32_t pos)
    __attribute__((cold));

/** n bytes for a string. Errors: as wi_mem_take. */
weir_err wi_eval_text_take(struct wi_eval *e, uint64_t n_bytes, char **out);
void wi_eval_text_reset(struct wi_eval *e);
void wi_eval_text_fini(struct wi_eval *e);

static inline bool wi_is_null(const uint8_t *null, uint32_t p)
{
    return null != NULL && null[p] != 0;
}

#endif /* WI_OPERATORS_EXPR_EVAL_H */
