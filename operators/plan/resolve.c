/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and columns of an operator that is being added. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/base/utf8.h"
#include "operators/plan/draft.h"

/* Names of the operators, for a message. Ownership: free the array. */
static const char **names_of_ops(const weir_plan *plan, uint32_t *n_out)
{
    const char **names = calloc(plan->n_ops + 1u, sizeof(*names));
    uint32_t n = 0;
    for (uint32_t i = 0; names != NULL && i < plan->n_ops; i++) {
        if (!plan->ops[i]->notes.hidden) {
            names[n++] = plan->ops[i]->name;
        }
    }
    *n_out = n;
    return names;
}

weir_err wi_draft_fail_unknown(const weir_plan *plan, const char *name,
                               struct weir_error *err)
{
    char list[WI_DRAFT_LIST_BYTES];
    uint32_t n;
    const char **names = names_of_ops(plan, &n);
    weir_err rc =
        wi_exec_fail(err, WEIR_ERR_NOT_FOUND, "no operator \"%s\"; there is %s",
                     name == NULL ? "" : name,
                     wi_draft_list(names, names == NULL ? 0 : n, list));
    free(names);
    return rc;
}

/* Appends to op->inputs, whose room is a power of two. */
static weir_err add_input(struct wi_draft *b, uint32_t idx)
{
    const uint32_t n = b->op->n_inputs;
    if ((n & (n - 1)) == 0) {
        uint32_t *inputs =
            wi_draft_take(b, n == 0 ? 1 : 2 * (size_t)n, sizeof(*inputs));
        if (inputs == NULL) {
            return wi_draft_no_memory(b);
        }
        if (n > 0) {
            memcpy(inputs, b->op->inputs, n * sizeof(*inputs));
        }
        b->op->inputs = inputs;
    }
    ((uint32_t *)(uintptr_t)b->op->inputs)[n] = idx;
    b->op->n_inputs++;
    return WEIR_OK;
}

weir_err wi_draft_input(struct wi_draft *b, const char *name,
                        struct wi_plan_op **out)
{
    if (name == NULL) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "the name of an operator was expected");
    }
    const uint32_t idx = wi_plan_find(b->plan, name);
    if (idx == UINT32_MAX) {
        return wi_draft_fail_in(b,
                                wi_draft_fail_unknown(b->plan, name, b->err));
    }
    bool used = b->plan->ops[idx]->notes.used;
    for (uint32_t i = 0; i < b->op->n_inputs; i++) {
        used |= b->op->inputs[i] == idx;
    }
    if (used) {
        return wi_draft_fail(b, WEIR_ERR_DUPLICATE,
                             "\"%s\" is an input already; an operator can be "
                             "the input of one other only",
                             name);
    }
    *out = b->plan->ops[idx];
    return add_input(b, idx);
}

struct wi_plan_op *wi_draft_nth(const struct wi_draft *b, uint32_t i)
{
    return b->plan->ops[b->op->inputs[i]];
}

weir_err wi_draft_column(struct wi_draft *b, const struct wi_plan_op *of,
                         const char *name, uint32_t *out)
{
    if (name == NULL) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "the name of a column was expected");
    }
    const int idx = wi_columns_find(&of->columns, name);
    if (idx >= 0) {
        *out = (uint32_t)idx;
        return WEIR_OK;
    }
    const char *names[WI_PLAN_COLUMNS];
    char list[WI_DRAFT_LIST_BYTES];
    for (uint32_t i = 0; i < of->columns.n; i++) {
        names[i] = of->columns.at[i].name;
    }
    return wi_draft_fail(b, WEIR_ERR_NOT_FOUND,
                         "no column \"%s\" in \"%s\"; there is %s", name,
                         of->name, wi_draft_list(names, of->columns.n, list));
}

weir_err wi_draft_keys(struct wi_draft *b, const struct wi_plan_op *of,
                       const struct wi_draft_names *names, const uint32_t **out)
{
    uint32_t *cols = wi_draft_take(b, names->n, sizeof(*cols));
    if (cols == NULL) {
        return wi_draft_no_memory(b);
    }
    for (uint32_t i = 0; i < names->n; i++) {
        wi_draft_at(b, "%s[%u]", names->field, i);
        weir_err rc = wi_draft_column(b, of, names->at[i], &cols[i]);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    wi_draft_at(b, NULL);
    *out = cols;
    return WEIR_OK;
}

static weir_err check_new_column(struct wi_draft *b, const char *name)
{
    if (name == NULL || name[0] == '\0') {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "a name was expected: what is "
                             "computed needs one");
    }
    if (!wi_utf8_check(name, strlen(name))) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "a name in UTF-8 was expected, found \"%s\"",
                             name);
    }
    if (b->op->columns.n == WI_PLAN_COLUMNS) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "an operator gives out %u columns at most",
                             WI_PLAN_COLUMNS);
    }
    if (!b->op->notes.hidden && wi_columns_find(&b->op->columns, name) >= 0) {
        return wi_draft_fail(b, WEIR_ERR_DUPLICATE,
                             "two columns would be called \"%s\"", name);
    }
    return WEIR_OK;
}

weir_err wi_draft_give(struct wi_draft *b, const char *name,
                       const struct wi_type *type, uint32_t value)
{
    struct wi_plan_op *op = b->op;
    weir_err rc = check_new_column(b, name);
    if (rc != WEIR_OK) {
        return rc;
    }
    uint32_t *values = realloc(op->notes.value,
                               (op->columns.n + 1) * sizeof(*op->notes.value));
    if (values == NULL) {
        return wi_draft_no_memory(b);
    }
    op->notes.value = values;
    values[op->columns.n] = value == WI_VALUE_NEW ? b->plan->n_values++ : value;
    rc = wi_columns_add(&op->columns, name, type);
    return rc == WEIR_OK ? rc : wi_draft_no_memory(b);
}

weir_err wi_draft_where(struct wi_draft *b, const char *text,
                        const struct wi_columns *columns,
                        const struct wi_expr **out)
{
    struct wi_expr *expr = NULL;
    wi_draft_at(b, "where");
    if (text == NULL) {
        return wi_draft_fail(b, WEIR_ERR_ARG, "an expression was expected");
    }
    weir_err rc = wi_expr_open(text, columns, &expr, b->err);
    if (rc != WEIR_OK) {
        return wi_draft_fail_in(b, rc);
    }
    if (wi_expr_type(expr)->kind != WI_TYPE_BOOL) {
        char type[WI_TYPE_TEXT_BYTES];
        (void)wi_type_text(wi_expr_type(expr), type);
        wi_expr_close(expr);
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "a bool expression was expected, this one is %s",
                             type);
    }
    *out = expr;
    return WEIR_OK;
}

weir_err wi_draft_give_all(struct wi_draft *b, const struct wi_plan_op *of)
{
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < of->columns.n; i++) {
        const struct wi_named_type *c = &of->columns.at[i];
        rc = wi_draft_give(b, c->name, &c->type, of->notes.value[i]);
    }
    return rc;
}
