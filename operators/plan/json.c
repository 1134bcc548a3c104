/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan from JSON. It may have its operators in any order. They are sorted so
 * that inputs come first, and then added as a C program would add them.
 */
#include "operators/plan/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/plan/json_text.h"

/* ---- order of operators -------------------------------------------------- */

enum visit { NEW, OPEN, SEEN };

/* Depth first, without recursion: stack is the path to the current operator,
 * next[i] the input of operator i to visit next. */
struct order {
    const json_t *operators;
    json_t *index; /* name -> place in operators */
    uint32_t n;
    unsigned char *visit;
    uint32_t *next;
    uint32_t *stack;
    uint32_t n_stack;
    uint32_t *sorted;
    uint32_t n_sorted;
};

static const char *name_of(const json_t *op)
{
    return json_string_value(json_object_get(op, "name"));
}

/* Name of input k of an operator; NULL: no more; "": skip it, as it is not
 * there or no text. The operator's own checks report what is wrong. */
static const char *input_of(const json_t *op, uint32_t k)
{
    static const char *const fields[] = {"input", "left", "right"};
    const size_t n_fields = sizeof(fields) / sizeof(fields[0]);
    if (k < n_fields) {
        const char *name = json_string_value(json_object_get(op, fields[k]));
        return name == NULL ? "" : name;
    }
    const json_t *inputs = json_object_get(op, "inputs");
    if (k - n_fields >= json_array_size(inputs)) {
        return NULL;
    }
    const char *name = json_string_value(json_array_get(inputs, k - n_fields));
    return name == NULL ? "" : name;
}

/* The message names the cycle, from operator `again` back to it. */
static weir_err fail_cycle(struct wi_json *j, const struct order *o,
                           uint32_t again)
{
    char text[256];
    size_t used = 0;
    uint32_t i = o->n_stack;
    while (o->stack[--i] != again) {
    }
    const size_t length = wi_json_enter(j, ".operators[%" PRIu32 "]", again);
    for (; i < o->n_stack && used < sizeof(text); i++) {
        used += (size_t)snprintf(
            text + used, sizeof(text) - used, "\"%.40s\" reads ",
            name_of(json_array_get(o->operators, o->stack[i])));
    }
    weir_err rc = wi_json_fail(j, WEIR_ERR_DATA, "a cycle: %s\"%.40s\"", text,
                               name_of(json_array_get(o->operators, again)));
    wi_json_leave(j, length);
    return rc;
}

static void open_op(struct order *o, uint32_t i)
{
    o->visit[i] = OPEN;
    o->stack[o->n_stack++] = i;
}

/* One step for the operator on top of the stack. */
static weir_err step(struct wi_json *j, struct order *o)
{
    const uint32_t top = o->stack[o->n_stack - 1];
    const char *input =
        input_of(json_array_get(o->operators, top), o->next[top]++);
    if (input == NULL) {
        o->visit[top] = SEEN;
        o->n_stack--;
        o->sorted[o->n_sorted++] = top;
        return WEIR_OK;
    }
    const json_t *at =
        input[0] == '\0' ? NULL : json_object_get(o->index, input);
    if (at == NULL) {
        return WEIR_OK; /* adding the operator fails if it needs this one */
    }
    const uint32_t below = (uint32_t)json_integer_value(at);
    if (o->visit[below] == OPEN) {
        return fail_cycle(j, o, below);
    }
    if (o->visit[below] == NEW) {
        open_op(o, below);
    }
    return WEIR_OK;
}

static weir_err sort(struct wi_json *j, struct order *o)
{
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < o->n; i++) {
        if (o->visit[i] == NEW) {
            open_op(o, i);
        }
        while (rc == WEIR_OK && o->n_stack > 0) {
            rc = step(j, o);
        }
    }
    return rc;
}

/* ---- operators ----------------------------------------------------------- */

/* Names come first: sorting needs them. */
static weir_err index_op(struct wi_json *j, struct order *o, uint32_t i)
{
    const json_t *op = json_array_get(o->operators, i);
    const char *name = NULL;
    if (!json_is_object(op)) {
        return wi_json_fail_type(j, "an object", op);
    }
    weir_err rc = wi_json_text(j, op, "name", &name);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (name == NULL) {
        return wi_json_missing(j, "an operator", "name");
    }
    const json_t *other = json_object_get(o->index, name);
    if (other != NULL) {
        (void)wi_json_enter(j, ".name");
        return wi_json_fail(j, WEIR_ERR_DUPLICATE,
                            "$.operators[%" JSON_INTEGER_FORMAT
                            "] is called \"%.64s\", too",
                            json_integer_value(other), name);
    }
    return json_object_set_new(o->index, name, json_integer(i)) == 0
               ? WEIR_OK
               : wi_exec_no_memory(j->err, sizeof(json_t *));
}

static weir_err index_all(struct wi_json *j, struct order *o)
{
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < o->n; i++) {
        const size_t length = wi_json_enter(j, ".operators[%" PRIu32 "]", i);
        rc = index_op(j, o, i);
        wi_json_leave(j, length);
    }
    return rc;
}

static weir_err add_all(struct wi_json *j, struct order *o)
{
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < o->n; i++) {
        const size_t length =
            wi_json_enter(j, ".operators[%" PRIu32 "]", o->sorted[i]);
        j->plan->place = j->path;
        rc = wi_json_operator(j, json_array_get(o->operators, o->sorted[i]));
        j->plan->place = NULL;
        wi_json_leave(j, length);
    }
    return rc;
}

static weir_err order_open(struct wi_json *j, struct order *o)
{
    const size_t n = o->n + 1u;
    o->index = json_object();
    o->visit = calloc(n, sizeof(*o->visit));
    o->next = calloc(n, sizeof(*o->next));
    o->stack = calloc(n, sizeof(*o->stack));
    o->sorted = calloc(n, sizeof(*o->sorted));
    return o->index == NULL || o->visit == NULL || o->next == NULL ||
                   o->stack == NULL || o->sorted == NULL
               ? wi_exec_no_memory(j->err, n * sizeof(uint32_t))
               : WEIR_OK;
}

static void order_close(struct order *o)
{
    json_decref(o->index);
    free(o->visit);
    free(o->next);
    free(o->stack);
    free(o->sorted);
}

weir_err wi_json_operators(struct wi_json *j, const json_t *operators)
{
    const size_t n = json_array_size(operators);
    if (n > WEIR_PLAN_OPERATORS) {
        (void)wi_json_enter(j, ".operators");
        return wi_json_fail(j, WEIR_ERR_DATA,
                            "%zu operators are over the %d that a plan can "
                            "have",
                            n, WEIR_PLAN_OPERATORS);
    }
    struct order o = {.operators = operators, .n = (uint32_t)n};
    weir_err rc = order_open(j, &o);
    if (rc == WEIR_OK) {
        rc = index_all(j, &o);
    }
    if (rc == WEIR_OK) {
        rc = sort(j, &o);
    }
    if (rc == WEIR_OK) {
        rc = add_all(j, &o);
    }
    order_close(&o);
    return rc;
}

/* ---- document ------------------------------------------------------------ */

#define PLAN_FORMAT 1

static weir_err check_format(struct wi_json *j, const json_t *root)
{
    int64_t format = 0;
    if (json_object_get(root, "weir") == NULL) {
        return wi_json_missing(j, "a plan", "weir");
    }
    weir_err rc = wi_json_i64(j, root, "weir", &format);
    if (rc == WEIR_OK && format != PLAN_FORMAT) {
        (void)wi_json_enter(j, ".weir");
        rc = wi_json_fail_type(j, "1, the version of this format,",
                               json_object_get(root, "weir"));
    }
    return rc;
}

static weir_err read_result(struct wi_json *j, const json_t *root)
{
    const char *result = NULL;
    weir_err rc = wi_json_text(j, root, "result", &result);
    if (rc == WEIR_OK && result == NULL) {
        rc = wi_json_missing(j, "a plan", "result");
    }
    if (rc == WEIR_OK) {
        const size_t length = wi_json_enter(j, ".result");
        j->plan->place = j->path;
        rc = weir_plan_result(j->plan, result, j->err);
        j->plan->place = NULL;
        wi_json_leave(j, length);
    }
    return rc;
}

static weir_err read_root(struct wi_json *j, const json_t *root)
{
    static const char *const fields[] = {"weir", "tables", "operators",
                                         "result", NULL};
    const json_t *operators = NULL;
    weir_err rc = wi_json_check(j, root, "a plan", fields);
    if (rc == WEIR_OK) {
        rc = check_format(j, root);
    }
    if (rc == WEIR_OK) {
        rc = wi_json_array(j, root, "operators", &operators);
    }
    if (rc == WEIR_OK && operators == NULL) {
        rc = wi_json_missing(j, "a plan", "operators");
    }
    if (rc == WEIR_OK && json_object_get(root, "tables") != NULL) {
        rc = wi_json_tables(j, json_object_get(root, "tables"));
    }
    if (rc == WEIR_OK) {
        rc = wi_json_operators(j, operators);
    }
    return rc == WEIR_OK ? read_result(j, root) : rc;
}

static weir_err check_params(const struct weir_plan_read_params *params,
                             struct weir_error *err)
{
    static const struct weir_plan_read_params none = {0};
    if (memcmp(params->reserved, none.reserved, sizeof(none.reserved)) != 0) {
        return wi_exec_fail(err, WEIR_ERR_ARG, "reserved must be zero");
    }
    weir_err rc =
        wi_exec_check_list(err, params->kinds, params->n_kinds, "kinds");
    for (uint32_t i = 0; rc == WEIR_OK && i < params->n_kinds; i++) {
        const struct weir_table_kind *kind = &params->kinds[i];
        if (kind->field == NULL || kind->what == NULL || kind->open == NULL ||
            kind->n_numbers > WEIR_TABLE_NUMBERS ||
            (kind->numbers == NULL) != (kind->n_numbers == 0)) {
            return wi_exec_fail(err, WEIR_ERR_ARG,
                                "kinds[%" PRIu32 "] needs field, what, open, "
                                "and numbers up to %d",
                                i, WEIR_TABLE_NUMBERS);
        }
    }
    return rc;
}

weir_err weir_plan_read(const char *json, size_t n_bytes,
                        const struct weir_plan_read_params *params,
                        weir_plan **plan_out, struct weir_error *err)
{
    weir_err given =
        wi_exec_check_args(err, WI_EXEC_ARG(json), WI_EXEC_ARG(plan_out));
    if (given != WEIR_OK) {
        return given;
    }
    static const struct weir_plan_read_params defaults = {0};
    struct weir_error ignored = {.code = WEIR_OK};
    params = params == NULL ? &defaults : params;
    struct wi_json j = {
        .err = err == NULL ? &ignored : err,
        .data_dir = params->data_dir == NULL ? "." : params->data_dir,
        .only_below = params->only_below != 0,
        .kinds = params->kinds,
        .n_kinds = params->n_kinds,
        .path = "$",
    };
    weir_err rc = check_params(params, j.err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wi_json_text text = {json, n_bytes};
    json_t *root;
    rc = wi_json_parse(&text, &root, j.err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = weir_plan_open(&j.plan, j.err);
    if (rc == WEIR_OK) {
        rc = read_root(&j, root);
    }
    if (rc != WEIR_OK) {
        wi_json_add_place(&text, root, j.err);
        weir_plan_close(j.plan);
    }
    json_decref(root);
    if (rc != WEIR_OK) {
        return rc;
    }
    *plan_out = j.plan;
    return WEIR_OK;
}
