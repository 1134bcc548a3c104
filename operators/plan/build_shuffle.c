/* SPDX-License-Identifier: Apache-2.0 */
/* Sort, shuffle, merge, and what gathers the result. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/base/hash.h"
#include "operators/plan/literal.h"
#include "operators/plan/partitioning.h"
#include "operators/plan/spread.h"

/* ---- sort ---------------------------------------------------------------- */

/* "by revenue desc, day"; nulls are named only where they come first. */
static weir_err order_detail(struct wi_draft *b, const struct wi_sort_key *keys,
                             uint32_t n)
{
    const char **texts = wi_draft_take(b, n, sizeof(*texts));
    char list[WI_DRAFT_LIST_BYTES];
    for (uint32_t k = 0; texts != NULL && k < n; k++) {
        const char *name = b->op->columns.at[keys[k].col].name;
        char *text = wi_draft_take(b, strlen(name) + 32, 1);
        if (text == NULL) {
            return wi_draft_no_memory(b);
        }
        (void)sprintf(text, "%s%s%s", name, keys[k].descending ? " desc" : "",
                      keys[k].nulls_first ? " nulls first" : "");
        texts[k] = text;
    }
    return texts == NULL
               ? wi_draft_no_memory(b)
               : wi_draft_detail(b, "by %s", wi_draft_list(texts, n, list));
}

static weir_err sort_detail(struct wi_draft *b)
{
    const struct wi_sort_params *p = &b->op->p.sort;
    weir_err rc = order_detail(b, p->keys, p->n_keys);
    return rc == WEIR_OK && p->rows != 0
               ? wi_draft_detail(b, "first %" PRIu64 " %s", p->rows,
                                 b->op->notes.detail)
               : rc;
}

static weir_err sort_keys(struct wi_draft *b,
                          const struct weir_sort_params *params)
{
    const uint32_t n = params->n_keys;
    if (n == 0 || params->keys == NULL || n > WI_PLAN_COLUMNS) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "1..%u keys were expected, found %" PRIu32,
                             WI_PLAN_COLUMNS, n);
    }
    struct wi_sort_key *keys = wi_draft_take(b, n, sizeof(*keys));
    weir_err rc = keys == NULL ? wi_draft_no_memory(b) : WEIR_OK;
    for (uint32_t k = 0; rc == WEIR_OK && k < n; k++) {
        wi_draft_at(b, "by[%" PRIu32 "].column", k);
        rc = wi_draft_column(b, wi_draft_nth(b, 0), params->keys[k].column,
                             &keys[k].col);
        keys[k].descending = params->keys[k].descending != 0;
        keys[k].nulls_first = params->keys[k].nulls_first != 0;
    }
    b->op->p.sort = (struct wi_sort_params){
        .columns = &b->op->columns,
        .n_keys = n,
        .keys = keys,
        .rows = params->rows,
    };
    return rc;
}

static weir_err build_sort(struct wi_draft *b,
                           const struct weir_sort_params *params)
{
    struct wi_plan_op *in;
    wi_draft_at(b, "input");
    weir_err rc = wi_draft_input(b, params->input, &in);
    wi_draft_at(b, "by");
    if (rc == WEIR_OK) {
        rc = sort_keys(b, params);
    }
    wi_draft_at(b, NULL);
    if (rc == WEIR_OK) {
        rc = wi_draft_give_all(b, in);
    }
    return rc == WEIR_OK ? sort_detail(b) : rc;
}

weir_err weir_plan_sort(weir_plan *plan, const char *name,
                        const struct weir_sort_params *params,
                        struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(plan),
                                        WI_EXEC_ARG(name), WI_EXEC_ARG(params));
    if (given != WEIR_OK) {
        return given;
    }
    struct wi_draft b = {.plan = plan, .err = err};
    weir_err rc = wi_draft_begin(&b, WI_PLAN_SORT, name);
    return wi_draft_end(&b, rc == WEIR_OK ? build_sort(&b, params) : rc);
}

/* ---- bounds -------------------------------------------------------------- */

/* params->bounds holds row after row, n_keys texts each. */
static weir_err read_bounds(struct wi_draft *b, struct wi_literals *lit,
                            const struct weir_plan_shuffle_params *params)
{
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < params->n_bounds; i++) {
        rc = wi_literals_row(lit, b->err);
        for (uint32_t k = 0; rc == WEIR_OK && k < params->n_keys; k++) {
            const char *text = params->bounds[i * params->n_keys + k];
            wi_draft_at(b, "bounds[%" PRIu32 "][%" PRIu32 "]", i, k);
            if (text == NULL) {
                return wi_draft_fail(b, WEIR_ERR_ARG, "a value was expected");
            }
            const struct wi_str str = {.data = text,
                                       .n_bytes = (uint32_t)strlen(text)};
            rc = wi_literals_put(lit, k, str, b->err);
            rc = rc == WEIR_OK ? rc : wi_draft_fail_in(b, rc);
        }
    }
    return rc;
}

static weir_err check_ascending(struct wi_draft *b,
                                const struct wi_literals *lit)
{
    for (uint32_t i = 1; i < lit->n; i++) {
        int order = 0;
        for (uint32_t k = 0; order == 0 && k < lit->columns->n; k++) {
            order = wi_value_compare(&lit->col[k], i - 1, &lit->col[k], i);
        }
        if (order > 0) {
            wi_draft_at(b, "bounds[%" PRIu32 "]", i);
            return wi_draft_fail(b, WEIR_ERR_ARG,
                                 "bounds must ascend; this one is less than "
                                 "the one before it");
        }
    }
    return WEIR_OK;
}

/* The bounds as an Arrow batch; its buffers live as long as the operator. */
static weir_err convert_bounds(struct wi_draft *b, struct wi_literals *lit)
{
    struct wi_plan_op *op = b->op;
    const struct ArrowArray *batch;
    struct wi_chunk chunk;
    struct wi_columns *columns = wi_draft_take(b, 1, sizeof(*columns));
    struct wi_named_type *at = wi_draft_take(b, lit->columns->n, sizeof(*at));
    struct wi_vec *col = wi_draft_take(b, lit->columns->n, sizeof(*col));
    if (columns == NULL || at == NULL || col == NULL) {
        return wi_draft_no_memory(b);
    }
    memcpy(at, lit->columns->at, lit->columns->n * sizeof(*at));
    for (uint32_t k = 0; k < lit->columns->n; k++) {
        at[k].name = (char *)(uintptr_t)op->p.shuffle.keys[k];
    }
    *columns = (struct wi_columns){.at = at, .n = lit->columns->n};
    weir_err rc =
        wi_arrow_out_open(columns, &op->notes.mem, &op->notes.bounds, b->err);
    if (rc == WEIR_OK) {
        wi_literals_slice(lit, 0, (uint32_t)lit->n, col, &chunk);
        rc = wi_arrow_out_put(op->notes.bounds, &chunk, &batch, b->err);
    }
    if (rc == WEIR_OK) {
        op->p.shuffle.bounds = *batch;
    }
    return rc;
}

/* The bounds as given: for explain, and to compare shuffles. */
static weir_err keep_bounds(struct wi_draft *b,
                            const struct weir_plan_shuffle_params *params)
{
    const uint32_t n = params->n_bounds * params->n_keys;
    const char **texts = wi_draft_take(b, n, sizeof(*texts));
    for (uint32_t i = 0; texts != NULL && i < n; i++) {
        texts[i] = wi_draft_copy(b, params->bounds[i]);
        if (texts[i] == NULL) {
            return wi_draft_no_memory(b);
        }
    }
    b->op->notes.spread.bounds = texts;
    b->op->notes.spread.n_bounds = params->n_bounds;
    return texts == NULL ? wi_draft_no_memory(b) : WEIR_OK;
}

/* The key columns alone. Ownership: as wi_columns_add. */
static weir_err key_columns(struct wi_draft *b, struct wi_columns *out)
{
    const struct wi_plan_shuffle *p = &b->op->p.shuffle;
    for (uint32_t k = 0; k < p->n_keys; k++) {
        const int col = wi_columns_find(&b->op->columns, p->keys[k]);
        if (wi_columns_add(out, p->keys[k], &b->op->columns.at[col].type) !=
            WEIR_OK) {
            return wi_draft_no_memory(b);
        }
    }
    return WEIR_OK;
}

static weir_err range_bounds(struct wi_draft *b,
                             const struct weir_plan_shuffle_params *params)
{
    struct wi_columns columns = {0};
    struct wi_literals lit = {0};
    wi_draft_at(b, "bounds");
    if (params->n_bounds == 0 || params->bounds == NULL ||
        params->n_bounds > WI_CHUNK_ROWS) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "1..%u bounds were expected, found %" PRIu32,
                             WI_CHUNK_ROWS, params->n_bounds);
    }
    weir_err rc = key_columns(b, &columns);
    if (rc == WEIR_OK) {
        rc = wi_literals_init(&lit, &columns, b->err);
    }
    if (rc == WEIR_OK) {
        rc = read_bounds(b, &lit, params);
    }
    if (rc == WEIR_OK) {
        rc = check_ascending(b, &lit);
    }
    if (rc == WEIR_OK) {
        rc = convert_bounds(b, &lit);
    }
    wi_literals_fini(&lit);
    wi_columns_fini(&columns);
    return rc == WEIR_OK ? keep_bounds(b, params) : rc;
}

/* ---- shuffle ------------------------------------------------------------- */

static weir_err fail_unknown(struct wi_draft *b, weir_partitioning found)
{
    char list[WI_DRAFT_LIST_BYTES];
    uint32_t n = 0;
    while (wi_partitioning_words[n] != NULL) {
        n++;
    }
    return wi_draft_fail(b, WEIR_ERR_ARG, "one of %s was expected, found %d",
                         wi_draft_list(wi_partitioning_words, n, list),
                         (int)found);
}

static weir_err check_shuffle(struct wi_draft *b,
                              const struct weir_plan_shuffle_params *params)
{
    const struct wi_partitioning *by = wi_partitioning_of(params->partitioning);
    wi_draft_at(b, "by");
    if (by == NULL) {
        return fail_unknown(b, params->partitioning);
    }
    wi_draft_at(b, "keys");
    if (by->keys != (params->n_keys > 0)) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             by->keys ? "one key or more was expected"
                                      : "only hash and range have keys");
    }
    if (params->n_keys > 0 && params->keys == NULL) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "keys is NULL, n_keys is %" PRIu32,
                             params->n_keys);
    }
    wi_draft_at(b, "bounds");
    if (params->bounds == NULL && params->n_bounds > 0) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "bounds is NULL, n_bounds is %" PRIu32,
                             params->n_bounds);
    }
    if (!by->bounds && params->n_bounds > 0) {
        return wi_draft_fail(b, WEIR_ERR_ARG, "only range has bounds");
    }
    wi_draft_at(b, "seed");
    if (!by->seed && params->seed != 0) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "only hash and random have a seed");
    }
    return WEIR_OK;
}

static weir_err copy_keys(struct wi_draft *b,
                          const struct weir_plan_shuffle_params *params)
{
    struct wi_plan_shuffle *p = &b->op->p.shuffle;
    const char **keys = wi_draft_take(b, params->n_keys, sizeof(*keys));
    if (keys == NULL) {
        return wi_draft_no_memory(b);
    }
    for (uint32_t k = 0; k < params->n_keys; k++) {
        uint32_t col;
        wi_draft_at(b, "keys[%" PRIu32 "]", k);
        weir_err rc =
            wi_draft_column(b, wi_draft_nth(b, 0), params->keys[k], &col);
        if (rc != WEIR_OK) {
            return rc;
        }
        keys[k] = wi_draft_copy(b, params->keys[k]);
        if (keys[k] == NULL) {
            return wi_draft_no_memory(b);
        }
    }
    p->keys = keys;
    p->n_keys = params->n_keys;
    return WEIR_OK;
}

static weir_err shuffle_detail(struct wi_draft *b)
{
    const struct wi_plan_shuffle *p = &b->op->p.shuffle;
    char list[WI_DRAFT_LIST_BYTES];
    return wi_draft_detail(
        b, "by %s%s%s", wi_partitioning_of(p->partitioning)->word,
        p->n_keys == 0 ? "" : " of ",
        p->n_keys == 0 ? "" : wi_draft_list(p->keys, p->n_keys, list));
}

static weir_err build_shuffle(struct wi_draft *b,
                              const struct weir_plan_shuffle_params *params)
{
    struct wi_plan_shuffle *p = &b->op->p.shuffle;
    struct wi_plan_op *in;
    wi_draft_at(b, "input");
    weir_err rc = wi_draft_input(b, params->input, &in);
    if (rc == WEIR_OK) {
        rc = check_shuffle(b, params);
    }
    if (rc == WEIR_OK) {
        p->partitioning = params->partitioning;
        p->seed = params->seed;
        rc = copy_keys(b, params);
    }
    wi_draft_at(b, NULL);
    if (rc == WEIR_OK) {
        rc = wi_draft_give_all(b, in);
    }
    if (rc == WEIR_OK && p->partitioning == WEIR_RANGE) {
        rc = range_bounds(b, params);
    }
    wi_draft_at(b, NULL);
    return rc == WEIR_OK ? shuffle_detail(b) : rc;
}

weir_err weir_plan_shuffle(weir_plan *plan, const char *name,
                           const struct weir_plan_shuffle_params *params,
                           struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(plan),
                                        WI_EXEC_ARG(name), WI_EXEC_ARG(params));
    if (given != WEIR_OK) {
        return given;
    }
    struct wi_draft b = {.plan = plan, .err = err};
    weir_err rc = wi_draft_begin(&b, WI_PLAN_SHUFFLE, name);
    return wi_draft_end(&b, rc == WEIR_OK ? build_shuffle(&b, params) : rc);
}

/* ---- merge, result ------------------------------------------------------- */

/* A gather that keeps the order of its input, if there is one. */
static weir_err build_gather(struct wi_draft *b)
{
    const struct wi_plan_op *in = wi_draft_nth(b, 0);
    struct wi_sort_key *keys =
        wi_draft_take(b, in->notes.n_order, sizeof(*keys));
    if (keys == NULL) {
        return wi_draft_no_memory(b);
    }
    if (in->notes.n_order > 0) {
        memcpy(keys, in->notes.order, in->notes.n_order * sizeof(*keys));
    }
    b->op->p.shuffle = (struct wi_plan_shuffle){
        .partitioning = WEIR_GATHER,
        .order = keys,
        .n_order = in->notes.n_order,
    };
    weir_err rc = wi_draft_give_all(b, in);
    if (rc != WEIR_OK) {
        return rc;
    }
    return in->notes.n_order > 0 ? order_detail(b, keys, in->notes.n_order)
                                 : wi_draft_detail(b, "%s", "by gather");
}

static weir_err build_merge(struct wi_draft *b, const char *input)
{
    struct wi_plan_op *in;
    wi_draft_at(b, "input");
    weir_err rc = wi_draft_input(b, input, &in);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (in->notes.n_order == 0) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "the rows of \"%s\" are in no order: a sort was "
                             "expected, or filters, projections and limits "
                             "above one that keep its keys",
                             in->name);
    }
    wi_draft_at(b, NULL);
    return build_gather(b);
}

weir_err weir_plan_merge(weir_plan *plan, const char *name, const char *input,
                         struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(plan),
                                        WI_EXEC_ARG(name), WI_EXEC_ARG(input));
    if (given != WEIR_OK) {
        return given;
    }
    struct wi_draft b = {.plan = plan, .err = err};
    weir_err rc = wi_draft_begin(&b, WI_PLAN_MERGE, name);
    return wi_draft_end(&b, rc == WEIR_OK ? build_merge(&b, input) : rc);
}

weir_err wi_draft_result(weir_plan *plan, uint32_t input,
                         struct weir_error *err)
{
    struct wi_draft b = {.plan = plan, .err = err};
    const bool ordered = plan->ops[input]->notes.n_order > 0;
    weir_err rc = wi_draft_begin_hidden(
        &b, ordered ? WI_PLAN_MERGE : WI_PLAN_SHUFFLE, input);
    if (rc == WEIR_OK) {
        rc = wi_spread_result(&b, plan->ops[input]);
    }
    if (rc == WEIR_OK) {
        rc = build_gather(&b);
    }
    return wi_draft_end(&b, rc);
}
