/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: their tables, their result, and what they give out. */
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/plan/draft.h"

weir_err weir_plan_open(weir_plan **plan_out, struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(plan_out));
    if (given != WEIR_OK) {
        return given;
    }
    weir_plan *plan = calloc(1, sizeof(*plan));
    if (plan == NULL) {
        return wi_exec_no_memory(err, sizeof(*plan));
    }
    plan->result = WI_PLAN_NO_RESULT;
    *plan_out = plan;
    return WEIR_OK;
}

void weir_plan_close(weir_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (uint32_t i = plan->n_ops; i-- > 0;) {
        wi_plan_op_close(plan->ops[i]);
    }
    for (uint32_t i = 0; i < plan->n_tables; i++) {
        free(plan->tables[i].name);
        weir_table_close(plan->tables[i].table);
    }
    free(plan->ops);
    free(plan->tables);
    free(plan);
}

/* ---- tables -------------------------------------------------------------- */

weir_table *wi_plan_find_table(const weir_plan *plan, const char *name)
{
    for (uint32_t i = 0; i < plan->n_tables; i++) {
        if (strcmp(plan->tables[i].name, name) == 0) {
            return plan->tables[i].table;
        }
    }
    return NULL;
}

static weir_err check_table(const weir_plan *plan, const char *name,
                            const weir_table *table, struct weir_error *err)
{
    if (name == NULL || name[0] == '\0' || table == NULL) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "a table and a name for it were expected");
    }
    if (plan->n_tables == WEIR_PLAN_OPERATORS) {
        return wi_exec_fail(err, WEIR_ERR_ARG, "a plan has %u tables at most",
                            WEIR_PLAN_OPERATORS);
    }
    if (wi_plan_find_table(plan, name) != NULL) {
        return wi_exec_fail(err, WEIR_ERR_DUPLICATE,
                            "another table is called \"%s\"", name);
    }
    return WEIR_OK;
}

weir_err weir_plan_table(weir_plan *plan, const char *name, weir_table *table,
                         struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(plan),
                                        WI_EXEC_ARG(name), WI_EXEC_ARG(table));
    if (given != WEIR_OK) {
        return given;
    }
    weir_err rc = check_table(plan, name, table, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wi_plan_table *tables =
        realloc(plan->tables, (plan->n_tables + 1) * sizeof(*tables));
    plan->tables = tables == NULL ? plan->tables : tables;
    char *copy = tables == NULL ? NULL : strdup(name);
    if (copy == NULL) {
        return wi_exec_no_memory(err, sizeof(*tables));
    }
    tables[plan->n_tables++] =
        (struct wi_plan_table){.name = copy, .table = table};
    return WEIR_OK;
}

/* ---- result -------------------------------------------------------------- */

static weir_err find_result(struct wi_draft *b, const char *input,
                            uint32_t *idx_out)
{
    const weir_plan *plan = b->plan;
    const uint32_t idx = input == NULL ? UINT32_MAX : wi_plan_find(plan, input);
    if (plan->result != WI_PLAN_NO_RESULT) {
        return wi_draft_fail(b, WEIR_ERR_DUPLICATE, "it is \"%s\" already",
                             plan->ops[plan->result]->name);
    }
    if (idx == UINT32_MAX) {
        return wi_draft_fail_in(b, wi_draft_fail_unknown(plan, input, b->err));
    }
    if (plan->ops[idx]->notes.used) {
        return wi_draft_fail(b, WEIR_ERR_DUPLICATE,
                             "\"%s\" is the input of another operator, so its "
                             "rows cannot be the answer",
                             input);
    }
    *idx_out = idx;
    return WEIR_OK;
}

weir_err weir_plan_result(weir_plan *plan, const char *input,
                          struct weir_error *err)
{
    weir_err given =
        wi_exec_check_args(err, WI_EXEC_ARG(plan), WI_EXEC_ARG(input));
    if (given != WEIR_OK) {
        return given;
    }
    uint32_t idx = 0;
    struct wi_draft b = {.plan = plan, .err = err};
    weir_err rc = find_result(&b, input, &idx);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (!plan->ops[idx]->single || plan->ops[idx]->notes.cut != 0) {
        rc = wi_draft_result(plan, idx, err);
        idx = plan->n_ops - 1;
    }
    if (rc == WEIR_OK) {
        plan->ops[idx]->notes.used = true;
        plan->result = idx;
    }
    return rc;
}

weir_err weir_plan_schema(const weir_plan *plan, const char *name,
                          struct ArrowSchema *schema_out,
                          struct weir_error *err)
{
    weir_err given =
        wi_exec_check_args(err, WI_EXEC_ARG(plan), WI_EXEC_ARG(schema_out));
    if (given != WEIR_OK) {
        return given;
    }
    const uint32_t idx = name == NULL ? plan->result : wi_plan_find(plan, name);
    if (idx == UINT32_MAX) {
        return name == NULL ? wi_exec_fail(err, WEIR_ERR_NOT_FOUND,
                                           "the plan has no result yet")
                            : wi_draft_fail_unknown(plan, name, err);
    }
    return wi_columns_to_arrow(&plan->ops[idx]->columns, schema_out, err);
}
