/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as text: each operator stands above its inputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/plan/draft.h"
#include "operators/plan/kind.h"
#include "operators/plan/spread.h"

/* ---- operators for programs ---------------------------------------------- */

uint32_t weir_plan_operators(const weir_plan *plan)
{
    return plan != NULL ? plan->n_ops : 0;
}

uint32_t weir_plan_root(const weir_plan *plan)
{
    return plan != NULL ? plan->result : UINT32_MAX;
}

weir_err weir_plan_operator(const weir_plan *plan, uint32_t idx,
                            struct weir_operator *op_out)
{
    if (plan == NULL || op_out == NULL) {
        return WEIR_ERR_ARG;
    }
    if (idx >= plan->n_ops) {
        return WEIR_ERR_NOT_FOUND;
    }
    const struct wi_plan_op *op = plan->ops[idx];
    *op_out = (struct weir_operator){
        .name = op->name,
        .kind = wi_kind_of(op)->name,
        .detail = op->notes.detail,
        .inputs = op->inputs,
        .n_inputs = op->n_inputs,
        .single = op->single,
    };
    return WEIR_OK;
}

/* ---- tree ---------------------------------------------------------------- */

/* A name may have any characters, but each operator has one line. */
static void print_name(FILE *to, const char *name)
{
    for (; *name != '\0'; name++) {
        (void)fputc((unsigned char)*name < ' ' ? ' ' : *name, to);
    }
}

static void print_columns(FILE *to, const struct wi_columns *columns)
{
    char type[WI_TYPE_TEXT_BYTES];
    for (uint32_t i = 0; i < columns->n; i++) {
        const struct wi_named_type *c = &columns->at[i];
        (void)fputs(i == 0 ? "" : ", ", to);
        print_name(to, c->name);
        (void)fprintf(to, " %s", wi_type_text(&c->type, type));
    }
}

/* An operator to print: how deep it is, and whether another input of the same
 * consumer follows. */
struct turn {
    uint32_t op;
    uint32_t depth;
    bool last;
};

static void print_branch(FILE *to, const bool *open, const struct turn *t)
{
    for (uint32_t d = 1; d < t->depth; d++) {
        (void)fputs(open[d] ? "│  " : "   ", to);
    }
    if (t->depth > 0) {
        (void)fputs(t->last ? "└─ " : "├─ ", to);
    }
}

static void print_op(FILE *to, const struct wi_plan_op *op)
{
    char spread[WI_SPREAD_TEXT_BYTES];
    (void)fprintf(to, "%s \"", wi_kind_of(op)->name);
    print_name(to, op->name);
    (void)fprintf(to, "\": %s [", op->notes.detail);
    print_name(to, wi_spread_text(op, spread));
    (void)fputs("]\n", to);
}

/* No recursion, as plans may be deep: a stack holds what is left to print. */
static void print_tree(FILE *to, const weir_plan *plan, struct turn *stack,
                       bool *open)
{
    uint32_t n = 0;
    stack[n++] = (struct turn){.op = plan->result, .last = true};
    while (n > 0) {
        const struct turn t = stack[--n];
        const struct wi_plan_op *op = plan->ops[t.op];
        print_branch(to, open, &t);
        print_op(to, op);
        open[t.depth] = !t.last;
        for (uint32_t i = op->n_inputs; i-- > 0;) {
            stack[n++] = (struct turn){.op = op->inputs[i],
                                       .depth = t.depth + 1,
                                       .last = i + 1 == op->n_inputs};
        }
    }
}

static bool print_text(FILE *to, const weir_plan *plan)
{
    struct turn *stack = calloc(plan->n_ops, sizeof(*stack));
    bool *open = calloc(plan->n_ops + 1u, sizeof(*open));
    const bool ok = stack != NULL && open != NULL;
    if (ok) {
        print_tree(to, plan, stack, open);
        (void)fputs("columns: ", to);
        print_columns(to, &plan->ops[plan->result]->columns);
        (void)fputc('\n', to);
    }
    free(open);
    free(stack);
    return ok;
}

/* ---- Graphviz ------------------------------------------------------------ */

static void print_quoted(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            (void)fputc('\\', to);
        }
        (void)fputc((unsigned char)*text < ' ' ? ' ' : *text, to);
    }
}

static void print_node(FILE *to, const struct wi_plan_op *op, uint32_t idx)
{
    (void)fprintf(to, "  n%u [label=\"%s ", idx, wi_kind_of(op)->name);
    print_quoted(to, op->name);
    (void)fputs("\\n", to);
    print_quoted(to, op->notes.detail);
    (void)fprintf(to, "\"%s];\n",
                  wi_kind_of(op)->cuts ? ", style=rounded" : "");
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        (void)fprintf(to, "  n%u -> n%u%s;\n", op->inputs[i], idx,
                      wi_kind_of(op)->cuts ? " [style=dashed]" : "");
    }
}

/* Marks what is below the result, from the top: inputs have lower indexes. */
static bool print_dot(FILE *to, const weir_plan *plan)
{
    bool *live = calloc(plan->n_ops, sizeof(*live));
    if (live == NULL) {
        return false;
    }
    (void)fputs("digraph plan {\n  rankdir=BT;\n  node [shape=box];\n", to);
    live[plan->result] = true;
    for (uint32_t i = plan->result + 1; i-- > 0;) {
        for (uint32_t k = 0; live[i] && k < plan->ops[i]->n_inputs; k++) {
            live[plan->ops[i]->inputs[k]] = true;
        }
    }
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        if (live[i]) {
            print_node(to, plan->ops[i], i);
        }
    }
    (void)fputs("}\n", to);
    free(live);
    return true;
}

weir_err weir_plan_explain(const weir_plan *plan, weir_explain_format format,
                           char **text_out, struct weir_error *err)
{
    weir_err given =
        wi_exec_check_args(err, WI_EXEC_ARG(plan), WI_EXEC_ARG(text_out));
    if (given != WEIR_OK) {
        return given;
    }
    if ((unsigned)format > WEIR_EXPLAIN_DOT) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "format = %d, allowed is 0 to %d", (int)format,
                            (int)WEIR_EXPLAIN_DOT);
    }
    char *text = NULL;
    size_t bytes = 0;
    if (plan->result == WI_PLAN_NO_RESULT) {
        return wi_exec_fail(err, WEIR_ERR_STATE, "the plan has no result yet");
    }
    FILE *to = open_memstream(&text, &bytes);
    if (to == NULL) {
        return wi_exec_no_memory(err, sizeof(*to));
    }
    const bool ok =
        format == WEIR_EXPLAIN_DOT ? print_dot(to, plan) : print_text(to, plan);
    if (fclose(to) != 0 || !ok) {
        free(text);
        return wi_exec_no_memory(err, bytes);
    }
    *text_out = text;
    return WEIR_OK;
}
