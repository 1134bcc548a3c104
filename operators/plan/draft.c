/* SPDX-License-Identifier: Apache-2.0 */
/* What all operators need when they are added to a plan. */
#include "operators/plan/draft.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/base/neutral.h"
#include "operators/base/utf8.h"
#include "operators/plan/kind.h"

/* Memory of an operator. */
struct wi_plan_block {
    struct wi_plan_block *next;
    max_align_t data[];
};

/* ---- messages ------------------------------------------------------------ */

void wi_draft_at(struct wi_draft *b, const char *fmt, ...)
{
    va_list args;
    b->field[0] = '\0';
    if (fmt != NULL) {
        va_start(args, fmt);
        (void)wi_neutral_vformat(b->field, sizeof(b->field), fmt, args);
        va_end(args);
    }
}

/* "$.operators[3].where: " or "filter \"f\", where: " */
static void place(const struct wi_draft *b, char *text, size_t bytes)
{
    const bool field = b->field[0] != '\0';
    const char *name = b->op == NULL ? "" : b->op->name;
    if (b->plan->place != NULL) {
        (void)snprintf(text, bytes, "%s%s%s: ", b->plan->place,
                       field ? "." : "", b->field);
    } else if (b->op == NULL || b->op->notes.hidden) {
        (void)snprintf(text, bytes, "result: ");
    } else {
        (void)snprintf(text, bytes, "%s%s%s%s%s%s: ", wi_kind_of(b->op)->name,
                       name[0] == '\0' ? "" : " \"", name,
                       name[0] == '\0' ? "" : "\"", field ? ", " : "",
                       b->field);
    }
}

weir_err wi_draft_fail(struct wi_draft *b, weir_err code, const char *fmt, ...)
{
    char text[WEIR_ERROR_MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    (void)wi_neutral_vformat(text, sizeof(text), fmt, args);
    va_end(args);
    (void)wi_exec_fail(b->err, code, "%s", text);
    return wi_draft_fail_in(b, code);
}

weir_err wi_draft_fail_in(struct wi_draft *b, weir_err code)
{
    if (b->err != NULL && code != WEIR_ERR_NO_MEMORY) {
        char where[2 * WI_DRAFT_FIELD_BYTES + WI_PLAN_NAME_BYTES];
        char text[WEIR_ERROR_MESSAGE_BYTES];
        place(b, where, sizeof(where));
        (void)snprintf(text, sizeof(text), "%s", b->err->message);
        (void)wi_exec_fail(b->err, code, "%s%s", where, text);
    }
    return code;
}

weir_err wi_draft_no_memory(struct wi_draft *b)
{
    return wi_exec_no_memory(b->err, sizeof(struct wi_plan_op));
}

const char *wi_draft_list(const char *const *names, uint32_t n,
                          char text[WI_DRAFT_LIST_BYTES])
{
    static const char more[] = ", ...";
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        const size_t need = strlen(names[i]) + 2;
        if (used + need + sizeof(more) > WI_DRAFT_LIST_BYTES) {
            (void)snprintf(text + used, WI_DRAFT_LIST_BYTES - used, "%s", more);
            break;
        }
        used += (size_t)snprintf(text + used, WI_DRAFT_LIST_BYTES - used,
                                 "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    return n == 0 ? "none" : text;
}

/* ---- memory -------------------------------------------------------------- */

void *wi_draft_take(struct wi_draft *b, size_t n, size_t bytes)
{
    if (bytes != 0 && n > (SIZE_MAX / 2) / bytes) {
        return NULL;
    }
    struct wi_plan_block *block = calloc(1, sizeof(*block) + n * bytes);
    if (block == NULL) {
        return NULL;
    }
    block->next = b->op->notes.blocks;
    b->op->notes.blocks = block;
    return block->data;
}

const char *wi_draft_copy(struct wi_draft *b, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = wi_draft_take(b, bytes, 1);
    return copy == NULL ? NULL : memcpy(copy, text, bytes);
}

weir_err wi_draft_detail(struct wi_draft *b, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    const int n = vasprintf(&text, fmt, args);
    va_end(args);
    for (int i = 0; i < n; i++) { /* explain has one line for it */
        text[i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
    }
    if (n >= 0) {
        b->op->notes.detail = wi_draft_copy(b, text);
        free(text);
    }
    return b->op->notes.detail == NULL ? wi_draft_no_memory(b) : WEIR_OK;
}

void wi_plan_op_close(struct wi_plan_op *op)
{
    if (op == NULL) {
        return;
    }
    if (wi_kind_of(op)->close != NULL) {
        wi_kind_of(op)->close(op);
    }
    wi_arrow_out_close(op->notes.bounds);
    wi_columns_fini(&op->columns);
    free(op->notes.value);
    while (op->notes.blocks != NULL) {
        struct wi_plan_block *next = op->notes.blocks->next;
        free(op->notes.blocks);
        op->notes.blocks = next;
    }
    free(op);
}

/* ---- begin, end ---------------------------------------------------------- */

uint32_t wi_plan_find(const weir_plan *plan, const char *name)
{
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        if (!plan->ops[i]->notes.hidden &&
            strcmp(plan->ops[i]->name, name) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

static weir_err begin(struct wi_draft *b, enum wi_plan_kind kind)
{
    b->field[0] = '\0';
    b->op = calloc(1, sizeof(*b->op));
    if (b->op == NULL) {
        return wi_draft_no_memory(b);
    }
    b->op->kind = kind;
    return WEIR_OK;
}

static weir_err check_name(struct wi_draft *b, const char *name)
{
    wi_draft_at(b, "name");
    const size_t n = name == NULL ? 0 : strlen(name);
    if (n == 0 || n >= WI_PLAN_NAME_BYTES) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "a name of 1..%u bytes was expected, found %zu",
                             WI_PLAN_NAME_BYTES - 1, n);
    }
    if (!wi_utf8_check(name, n)) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "a name in UTF-8 was expected, found \"%s\"",
                             name);
    }
    if (wi_plan_find(b->plan, name) != UINT32_MAX) {
        return wi_draft_fail(b, WEIR_ERR_DUPLICATE,
                             "another operator is called \"%s\"", name);
    }
    wi_draft_at(b, NULL);
    memcpy(b->op->name, name, n + 1);
    return WEIR_OK;
}

/* Room for one more. */
static weir_err grow(struct wi_draft *b)
{
    weir_plan *plan = b->plan;
    if (plan->n_ops == WEIR_PLAN_OPERATORS) {
        return wi_draft_fail(b, WEIR_ERR_ARG, "a plan has %u operators at most",
                             WEIR_PLAN_OPERATORS);
    }
    if ((plan->n_ops & (plan->n_ops - 1)) == 0) {
        const size_t room = plan->n_ops == 0 ? 1 : 2 * (size_t)plan->n_ops;
        void *ops = realloc(plan->ops, room * sizeof(struct wi_plan_op *));
        if (ops == NULL) {
            return wi_draft_no_memory(b);
        }
        plan->ops = ops;
    }
    return WEIR_OK;
}

/* What run would refuse is refused here: explain says so, too. */
static weir_err count_shuffles(struct wi_draft *b)
{
    uint32_t n = wi_kind_of(b->op)->cuts;
    for (uint32_t i = 0; n != 0 && i < b->plan->n_ops; i++) {
        n += wi_kind_of(b->plan->ops[i])->cuts;
    }
    return n <= WEIR_PLAN_SHUFFLES
               ? WEIR_OK
               : wi_draft_fail(b, WEIR_ERR_ARG,
                               "%u shuffles are over the %d that a plan can "
                               "have, with that of its result",
                               n, WEIR_PLAN_SHUFFLES);
}

weir_err wi_draft_begin(struct wi_draft *b, enum wi_plan_kind kind,
                        const char *name)
{
    weir_err rc = begin(b, kind);
    if (rc == WEIR_OK) {
        rc = check_name(b, name);
    }
    return rc;
}

weir_err wi_draft_begin_hidden(struct wi_draft *b, enum wi_plan_kind kind,
                               uint32_t input)
{
    weir_err rc = begin(b, kind);
    uint32_t *inputs =
        rc == WEIR_OK ? wi_draft_take(b, 1, sizeof(*inputs)) : NULL;
    if (rc == WEIR_OK && inputs == NULL) {
        return wi_draft_no_memory(b);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    inputs[0] = input;
    b->op->inputs = inputs;
    b->op->n_inputs = 1;
    b->op->notes.hidden = true;
    memcpy(b->op->name, b->plan->ops[input]->name, sizeof(b->op->name));
    return WEIR_OK;
}

weir_err wi_draft_end(struct wi_draft *b, weir_err rc)
{
    if (rc == WEIR_OK) {
        rc = wi_kind_of(b->op)->spread(b);
    }
    if (rc == WEIR_OK) {
        rc = count_shuffles(b);
    }
    if (rc == WEIR_OK) {
        rc = grow(b);
    }
    if (rc != WEIR_OK) {
        wi_plan_op_close(b->op);
        b->op = NULL;
        return rc;
    }
    struct wi_plan_op *op = b->op;
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        b->plan->ops[op->inputs[i]]->notes.used = true;
    }
    op->single = op->notes.spread.kind == WI_SPREAD_SINGLE;
    b->plan->ops[b->plan->n_ops++] = op;
    return WEIR_OK;
}

void wi_draft_undo(weir_plan *plan)
{
    struct wi_plan_op *op = plan->ops[--plan->n_ops];
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        plan->ops[op->inputs[i]]->notes.used = false;
    }
    wi_plan_op_close(op);
}
