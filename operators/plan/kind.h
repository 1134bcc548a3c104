/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The table of operator kinds: all that plans and runs do by kind.
 *
 *   JSON --read--> weir_plan_<kind>() --spread--> struct wi_plan_op --make-->
 *   struct wi_op
 *
 * A new kind has a number in enum wi_plan_kind, its params in struct wi_plan_op
 * (node.h), a call of weir/plan.h that builds it, and a row here. kind_test.c
 * expects every row to be whole.
 */
#ifndef WI_OPERATORS_KIND_H
#define WI_OPERATORS_KIND_H

#include "operators/plan/node.h"

#define WI_KIND_FIELDS 12

struct wi_draft;
struct wi_json_item;

struct wi_kind {
    const char *name; /* in JSON, explain, messages and statistics */
    const char *what; /* "a filter": in messages about JSON */
    const char *needed[WI_KIND_FIELDS]; /* in JSON, NULL at the end */
    const char *fields[WI_KIND_FIELDS]; /* all that it may have in JSON */

    /** Add the operator of this JSON object to the plan, by a call of plan.h;
     *  NULL: JSON has none (WI_KINDS_JSON).
     *  Errors: that call's, WEIR_ERR_DATA. */
    weir_err (*read)(const struct wi_json_item *it);

    /** Set notes.spread: where the rows are. Params, columns and inputs are set
     *  before. Errors: WEIR_ERR_ARG (spread.h). */
    weir_err (*spread)(struct wi_draft *b);

    /** It is a shuffle: a fragment ends below it and another one begins here.
     *  Then `make` is NULL: tree.c opens both ends. */
    bool cuts;

    /** Make it for one worker. @param inputs  n_inputs of them, taken over;
     *  NULL: not on this worker. Errors: as wi_<name>_open in ops.h. */
    weir_err (*make)(struct wi_ctx *ctx, const struct wi_plan_op *op,
                     struct wi_op *const *inputs, struct wi_op **out);

    /** It gives out rows of its inputs as they are, so above a partial
     *  aggregate it gives out states. */
    bool keeps_rows;

    /** Free what the params own; NULL: nothing. */
    void (*close)(struct wi_plan_op *op);
};

extern const struct wi_kind wi_kinds[WI_PLAN_KINDS];

/** JSON has the first kinds, this many. */
#define WI_KINDS_JSON WI_PLAN_WRITE

/** The row of an operator. */
static inline const struct wi_kind *wi_kind_of(const struct wi_plan_op *op)
{
    return &wi_kinds[op->kind];
}

#endif /* WI_OPERATORS_KIND_H */
