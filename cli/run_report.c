/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree is weir_plan_explain's: a line per operator, each before its
 * inputs. Walking the plan in that order finds the operator of each line.
 */
#define _GNU_SOURCE 1
#include "cli/run_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"

enum { TREE_COLUMNS = 64, FIGURE_BYTES = 32 };

/* ---- figures ------------------------------------------------------------- */

static const char *ms(uint64_t ns, char text[FIGURE_BYTES])
{
    (void)snprintf(text, FIGURE_BYTES, "%.1f ms", (double)ns * 1e-6);
    return text;
}

static const char *bytes(uint64_t n, char text[FIGURE_BYTES])
{
    char figure[PROGRESS_TEXT_BYTES];
    (void)snprintf(text, FIGURE_BYTES, "%sB",
                   progress_figure((double)n, figure));
    return text;
}

/* The first characters of a line, filled up with spaces. */
static void print_cut(FILE *to, const char *line, size_t n)
{
    size_t at = 0;
    int columns = 0;
    while (at < n && columns < TREE_COLUMNS) {
        do {
            at++;
        } while (at < n && ((unsigned char)line[at] & 0xc0) == 0x80);
        columns++;
    }
    for (size_t i = 0; i < at; i++) {
        (void)fputc((unsigned char)line[i] < ' ' ? ' ' : line[i], to);
    }
    (void)fprintf(to, "%*s", TREE_COLUMNS - columns, "");
}

static void print_op(FILE *to, const struct run_op *op)
{
    char busy[FIGURE_BYTES];
    char in[FIGURE_BYTES];
    char out[FIGURE_BYTES];
    char memory[FIGURE_BYTES];
    const struct weir_op_stats *s = &op->stats;
    (void)fprintf(to, " %12" PRIu64 " %9" PRIu64 " %12s %12s %12s %10s\n",
                  s->rows, s->batches, ms(s->busy_ns, busy),
                  ms(s->wait_input_ns, in), ms(s->wait_output_ns, out),
                  bytes(s->memory_bytes, memory));
}

/* ---- tree ---------------------------------------------------------------- */

/* numbers[i]: place of operator i among those that run, in the plan's order. */
static bool number(const weir_plan *plan, uint32_t *order, uint32_t n_live,
                   uint32_t *numbers)
{
    const uint32_t n = weir_plan_operators(plan);
    bool *live = calloc(n + 1u, sizeof(*live));
    uint32_t next = 0;
    for (uint32_t i = 0; live != NULL && i < n_live; i++) {
        live[order[i]] = true;
    }
    for (uint32_t i = 0; live != NULL && i < n; i++) {
        numbers[i] = live[i] ? next++ : UINT32_MAX;
    }
    free(live);
    return live != NULL;
}

/* Operators in the order of the lines; returns how many. */
static uint32_t walk(const weir_plan *plan, uint32_t *order, uint32_t *stack)
{
    uint32_t n = 0;
    uint32_t n_stack = 0;
    stack[n_stack++] = weir_plan_root(plan);
    while (n_stack > 0) {
        struct weir_operator op;
        const uint32_t i = stack[--n_stack];
        order[n++] = i;
        (void)weir_plan_operator(plan, i, &op);
        for (uint32_t k = op.n_inputs; k-- > 0;) {
            stack[n_stack++] = op.inputs[k];
        }
    }
    return n;
}

struct walked {
    uint32_t n;
    uint32_t *order;
    uint32_t *numbers;
};

static bool walked_open(struct walked *w, const weir_plan *plan)
{
    const uint32_t n = weir_plan_operators(plan) + 1;
    uint32_t *stack = calloc(n, sizeof(*stack));
    w->order = calloc(n, sizeof(*w->order));
    w->numbers = calloc(n, sizeof(*w->numbers));
    bool ok = stack != NULL && w->order != NULL && w->numbers != NULL;
    if (ok) {
        w->n = walk(plan, w->order, stack);
        ok = number(plan, w->order, w->n, w->numbers);
    }
    free(stack);
    return ok;
}

static void walked_close(struct walked *w)
{
    free(w->order);
    free(w->numbers);
}

static void print_tree(FILE *to, const struct walked *w, const char *text,
                       const struct run_op *ops)
{
    static const char result[] = "result";
    (void)fprintf(to, "%-*s %12s %9s %12s %12s %12s %10s\n", TREE_COLUMNS,
                  "operator", "rows", "batches", "busy", "blocked in",
                  "blocked out", "memory");
    print_cut(to, result, sizeof(result) - 1);
    print_op(to, &ops[w->n]);
    for (uint32_t i = 0; i < w->n; i++) {
        const char *end = strchrnul(text, '\n');
        print_cut(to, text, (size_t)(end - text));
        print_op(to, &ops[w->numbers[w->order[i]]]);
        text = *end == '\0' ? end : end + 1;
    }
}

/* ---- shuffles ------------------------------------------------------------ */

/* Most rows of a worker over their mean: 1 is even. */
static void print_skew(FILE *to, const struct run_job *job,
                       const struct weir_op_stats *s, bool single)
{
    const double parts = job->nodes * job->workers;
    if (single || s->rows == 0) {
        (void)fprintf(to, " %6s", "-");
    } else {
        (void)fprintf(to, " %6.2f",
                      (double)s->rows_most * parts / (double)s->rows);
    }
}

static void print_shuffle(FILE *to, const struct run_job *job,
                          const struct weir_operator *op,
                          const struct run_op *stats)
{
    char all[FIGURE_BYTES];
    char least[FIGURE_BYTES];
    char most[FIGURE_BYTES];
    char stalled[FIGURE_BYTES];
    char name[TREE_COLUMNS + 1];
    (void)snprintf(name, sizeof(name), "%s \"%s\"", op->kind, op->name);
    print_cut(to, name, strlen(name));
    const uint64_t least_bytes =
        stats->edges == 0 ? 0 : stats->edge_least_bytes;
    (void)fprintf(to, " %12s %9" PRIu64 " %12s %12s",
                  bytes(stats->stats.bytes, all), stats->edges,
                  bytes(least_bytes, least),
                  bytes(stats->edge_most_bytes, most));
    print_skew(to, job, &stats->stats, op->single != 0);
    (void)fprintf(to, " %12s %12" PRIu64 "\n",
                  ms(stats->stats.wait_output_ns, stalled),
                  stats->stats.filtered);
}

static void print_shuffles(FILE *to, const struct run_job *job,
                           const struct walked *w, const struct run_op *ops)
{
    (void)fprintf(to, "\n%-*s %12s %9s %12s %12s %6s %12s %12s\n", TREE_COLUMNS,
                  "shuffle", "bytes", "edges", "least", "most", "skew",
                  "stalled", "filtered");
    for (uint32_t i = 0; i < w->n; i++) {
        struct weir_operator op;
        (void)weir_plan_operator(job->plan, w->order[i], &op);
        if (strcmp(op.kind, "shuffle") == 0 || strcmp(op.kind, "merge") == 0) {
            print_shuffle(to, job, &op, &ops[w->numbers[w->order[i]]]);
        }
    }
}

weir_err run_report(FILE *to, const struct run_job *job,
                    const struct run_op *ops, struct weir_error *err)
{
    struct walked w = {0};
    char *text = NULL;
    weir_err rc = weir_plan_explain(job->plan, WEIR_EXPLAIN_TEXT, &text, err);
    if (rc == WEIR_OK && !walked_open(&w, job->plan)) {
        rc = tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for the report");
    }
    if (rc == WEIR_OK) {
        print_tree(to, &w, text, ops);
        print_shuffles(to, job, &w, ops);
    }
    walked_close(&w);
    free(text);
    return rc;
}
