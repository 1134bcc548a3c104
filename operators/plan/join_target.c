/* SPDX-License-Identifier: Apache-2.0 */
#include "operators/plan/join_target.h"

#include <string.h>

#define NOWHERE UINT32_MAX

/* May there be fewer keys than in the tables below? */
static bool drops_rows(const weir_plan *plan, const struct wi_plan_op *op)
{
    bool drops =
        op->kind == WI_PLAN_FILTER || op->kind == WI_PLAN_LIMIT ||
        (op->kind == WI_PLAN_JOIN && op->p.join.kind != WEIR_JOIN_LEFT);
    for (uint32_t i = 0; !drops && i < op->n_inputs; i++) {
        drops = drops_rows(plan, plan->ops[op->inputs[i]]);
    }
    return drops;
}

/* Which of the columns col[0..n) this is; n: none. */
static uint32_t find(const uint32_t *col, uint32_t n, uint32_t wanted)
{
    uint32_t k = 0;
    while (k < n && col[k] != wanted) {
        k++;
    }
    return k;
}

/* The shuffle's keys must be among the join's: rows of the same keys then have
 * the same hash on both sides. */
static weir_err add_target(struct wi_draft *b, uint32_t at, const uint32_t *col)
{
    struct wi_join_params *p = &b->op->p.join;
    const struct wi_plan_op *op = b->plan->ops[at];
    const struct wi_plan_shuffle *s = &op->p.shuffle;
    uint32_t *keys = wi_draft_take(b, s->n_keys, sizeof(*keys));
    if (keys == NULL) {
        return wi_draft_no_memory(b);
    }
    for (uint32_t i = 0; i < s->n_keys; i++) {
        const int key = wi_columns_find(&op->columns, s->keys[i]);
        keys[i] = find(col, p->n_keys, (uint32_t)key);
        if (keys[i] == p->n_keys) {
            return WEIR_OK;
        }
    }
    if (p->n_targets < WI_JOIN_TARGETS) {
        p->target[p->n_targets++] = (struct wi_join_target){
            .shuffle = at, .n_keys = s->n_keys, .keys = keys};
    }
    return WEIR_OK;
}

/* Does each row of its (left) input make rows of its own, or, of an aggregate,
 * all rows with the same groups? */
static bool goes_on(const struct wi_plan_op *op)
{
    return op->kind == WI_PLAN_FILTER || op->kind == WI_PLAN_PROJECT ||
           op->kind == WI_PLAN_JOIN || op->kind == WI_PLAN_AGG ||
           (op->kind == WI_PLAN_SORT && op->p.sort.rows == 0);
}

/* Where the columns are in the operator below. */
static void follow(const struct wi_plan_op *op, const struct wi_plan_op *below,
                   uint32_t *col, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (col[k] != NOWHERE) {
            const uint32_t i = find(below->notes.value, below->columns.n,
                                    op->notes.value[col[k]]);
            col[k] = i == below->columns.n ? NOWHERE : i;
        }
    }
}

/* Go down from operator `at`, where the join's left keys are in columns col[],
 * which is the caller's no more. */
static weir_err descend(struct wi_draft *b, uint32_t at, uint32_t *col)
{
    const uint32_t n = b->op->p.join.n_keys;
    const struct wi_plan_op *op = b->plan->ops[at];
    while (goes_on(op)) {
        at = op->inputs[0];
        follow(op, b->plan->ops[at], col, n);
        op = b->plan->ops[at];
    }
    if (op->kind == WI_PLAN_SHUFFLE) {
        return op->p.shuffle.partitioning == WEIR_HASH ? add_target(b, at, col)
                                                       : WEIR_OK;
    }
    weir_err rc = WEIR_OK;
    const uint32_t n_inputs = op->kind == WI_PLAN_UNION ? op->n_inputs : 0;
    for (uint32_t i = 0; rc == WEIR_OK && i < n_inputs; i++) {
        uint32_t *mine = wi_draft_take(b, n, sizeof(*mine));
        if (mine == NULL) {
            return wi_draft_no_memory(b);
        }
        memcpy(mine, col, n * sizeof(*mine));
        rc = descend(b, op->inputs[i], mine);
    }
    return rc;
}

weir_err wi_join_targets(struct wi_draft *b, weir_join_filter filter)
{
    struct wi_join_params *p = &b->op->p.join;
    if ((p->kind != WEIR_JOIN_INNER && p->kind != WEIR_JOIN_SEMI) ||
        filter == WEIR_JOIN_FILTER_NEVER) {
        return WEIR_OK;
    }
    p->tries_first = filter == WEIR_JOIN_FILTER_AUTO &&
                     !drops_rows(b->plan, wi_draft_nth(b, 1));
    uint32_t *col = wi_draft_take(b, p->n_keys, sizeof(*col));
    if (col == NULL) {
        return wi_draft_no_memory(b);
    }
    memcpy(col, p->left_keys, p->n_keys * sizeof(*col));
    return descend(b, b->op->inputs[0], col);
}
