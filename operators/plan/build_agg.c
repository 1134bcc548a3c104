/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aggregate. An argument that is more than a column is computed by a hidden
 * projection below:
 *
 *   input  ->  [groups, arguments]  ->  aggregate
 *
 * FINAL finds the states by the names that PARTIAL gave them: the first column
 * has the aggregate's name, and the others of its state follow.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/base/neutral.h"
#include "operators/plan/agg_text.h"
#include "operators/plan/draft.h"
#include "operators/plan/kind.h"

const char *const wi_aggregate_words[] = {
    [WEIR_AGGREGATE_COMPLETE] = "complete",
    [WEIR_AGGREGATE_PARTIAL] = "partial",
    [WEIR_AGGREGATE_FINAL] = "final",
    NULL,
};
enum {
    N_MODES = sizeof(wi_aggregate_words) / sizeof(wi_aggregate_words[0]) - 1
};

#define STATE_NAME_BYTES 256

/* An aggregate in the making: what the caller gave, and what it resolved to.
 * The operator owns the arrays. */
struct making {
    struct wi_draft b;
    const struct weir_aggregate_params *params;
    struct wi_agg_text *texts;
    struct wi_agg *aggs;
    uint32_t *groups;       /* columns of the input */
    struct wi_expr **exprs; /* of the arguments; closed at the end */
    bool hidden;            /* a projection was put below */
};

static void at_aggregate(struct making *m, uint32_t i)
{
    wi_draft_at(&m->b, "aggregates[%" PRIu32 "]", i);
}

static weir_err read_texts(struct making *m)
{
    for (uint32_t i = 0; i < m->params->n_aggregates; i++) {
        const char *text = m->params->aggregates[i].expr;
        at_aggregate(m, i);
        if (text == NULL || !wi_agg_read(text, &m->texts[i])) {
            return wi_draft_fail(&m->b, WEIR_ERR_ARG,
                                 "count(*), or count, sum, avg, min or max of "
                                 "one expression was expected, found \"%s\"; "
                                 "what is computed of aggregates goes into a "
                                 "project above",
                                 text == NULL ? "" : text);
        }
        m->aggs[i].fn = m->texts[i].fn;
    }
    return WEIR_OK;
}

/* ---- arguments ----------------------------------------------------------- */

/* Is it as in `count(distinct x)`? A column may be called distinct. */
static bool is_distinct(const struct wi_agg_text *t)
{
    static const char word[] = "distinct";
    const size_t n = sizeof(word) - 1;
    return t->n_bytes > n && wi_neutral_same(t->argument, word, n) &&
           strchr(" \t\n\"(", t->argument[n]) != NULL;
}

static weir_err open_argument(struct making *m, uint32_t i)
{
    const struct wi_agg_text *t = &m->texts[i];
    if (t->fn == WI_AGG_COUNT_ROWS) {
        return WEIR_OK;
    }
    at_aggregate(m, i);
    if (is_distinct(t)) {
        return wi_draft_fail(&m->b, WEIR_ERR_ARG,
                             "there is no distinct here: group by the value in "
                             "an aggregate without aggregates, and aggregate "
                             "its rows");
    }
    char *text = strndup(t->argument, t->n_bytes);
    if (text == NULL) {
        return wi_draft_no_memory(&m->b);
    }
    weir_err rc = wi_expr_open(text, &wi_draft_nth(&m->b, 0)->columns,
                               &m->exprs[i], m->b.err);
    free(text);
    if (rc != WEIR_OK) {
        return wi_draft_fail_in(&m->b, rc);
    }
    const int col = wi_expr_column(m->exprs[i]);
    m->aggs[i].type = *wi_expr_type(m->exprs[i]);
    m->aggs[i].col = (uint32_t)col;
    m->hidden |= col < 0;
    return WEIR_OK;
}

/* A column name as an expression: in quotes, quotes inside doubled. */
static char *quoted(const char *name)
{
    char *text = malloc(2 * strlen(name) + 3);
    char *at = text;
    if (text == NULL) {
        return NULL;
    }
    *at++ = '"';
    for (; *name != '\0'; name++) {
        if (*name == '"') {
            *at++ = '"';
        }
        *at++ = *name;
    }
    memcpy(at, "\"", 2);
    return text;
}

/* The next column of the hidden projection; takes over expr. */
static weir_err add_hidden(struct wi_draft *h, const char *name,
                           struct wi_expr *expr)
{
    const struct wi_plan_op *in = wi_draft_nth(h, 0);
    const int col = wi_expr_column(expr);
    const struct wi_expr **exprs =
        (const struct wi_expr **)(uintptr_t)h->op->p.project.exprs;
    exprs[h->op->columns.n] = expr;
    return wi_draft_give(h, name, wi_expr_type(expr),
                         col >= 0 ? in->notes.value[col] : WI_VALUE_NEW);
}

static weir_err add_group(struct making *m, struct wi_draft *h, uint32_t i)
{
    const struct wi_columns *in = &wi_draft_nth(h, 0)->columns;
    const char *name = in->at[m->groups[i]].name;
    struct wi_expr *expr = NULL;
    char *text = quoted(name);
    weir_err rc = text == NULL ? wi_draft_no_memory(h)
                               : wi_expr_open(text, in, &expr, h->err);
    free(text);
    m->groups[i] = h->op->columns.n;
    return rc == WEIR_OK ? add_hidden(h, name, expr) : rc;
}

static weir_err add_argument(struct making *m, struct wi_draft *h, uint32_t i)
{
    struct wi_expr *expr = m->exprs[i];
    if (expr == NULL) {
        return WEIR_OK;
    }
    m->exprs[i] = NULL;
    m->aggs[i].col = h->op->columns.n;
    return add_hidden(h, m->params->aggregates[i].name, expr);
}

static weir_err fill_hidden(struct making *m, struct wi_draft *h)
{
    const uint32_t n = m->params->n_groups + m->params->n_aggregates;
    const struct wi_expr **exprs = wi_draft_take(h, n + 1u, sizeof(*exprs));
    weir_err rc = exprs == NULL ? wi_draft_no_memory(h) : WEIR_OK;
    h->op->p.project =
        (struct wi_project_params){.columns = &h->op->columns, .exprs = exprs};
    for (uint32_t i = 0; rc == WEIR_OK && i < m->params->n_groups; i++) {
        rc = add_group(m, h, i);
    }
    for (uint32_t i = 0; rc == WEIR_OK && i < m->params->n_aggregates; i++) {
        rc = add_argument(m, h, i);
    }
    if (rc == WEIR_OK) {
        rc = wi_draft_detail(h, "arguments of \"%s\"", m->b.op->name);
    }
    return rc;
}

/* Puts a projection with groups and arguments between input and aggregate. */
static weir_err put_hidden(struct making *m)
{
    struct wi_draft *b = &m->b;
    struct wi_draft h = {.plan = b->plan, .err = b->err};
    weir_err rc = wi_draft_begin_hidden(&h, WI_PLAN_PROJECT, b->op->inputs[0]);
    if (rc == WEIR_OK) {
        memcpy(h.op->name, b->op->name, sizeof(h.op->name));
        rc = fill_hidden(m, &h);
    }
    rc = wi_draft_end(&h, rc);
    if (rc == WEIR_OK) {
        ((uint32_t *)(uintptr_t)b->op->inputs)[0] = b->plan->n_ops - 1;
    } else {
        m->hidden = false;
    }
    return rc;
}

static weir_err find_arguments(struct making *m)
{
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < m->params->n_aggregates; i++) {
        rc = open_argument(m, i);
    }
    if (rc != WEIR_OK) {
        m->hidden = false;
        return rc;
    }
    return m->hidden ? put_hidden(m) : WEIR_OK;
}

/* ---- states -------------------------------------------------------------- */

/* The partial aggregate that the rows of `op` come from, or NULL. */
static const struct wi_plan_op *find_partial(const weir_plan *plan,
                                             const struct wi_plan_op *op)
{
    while (wi_kind_of(op)->keeps_rows) {
        op = plan->ops[op->inputs[0]];
    }
    return op->kind == WI_PLAN_AGG && op->p.agg.mode == WEIR_AGGREGATE_PARTIAL
               ? op
               : NULL;
}

static weir_err find_state(struct making *m, const struct wi_plan_op *partial,
                           uint32_t i)
{
    const struct wi_plan_op *in = wi_draft_nth(&m->b, 0);
    const struct weir_output *a = &m->params->aggregates[i];
    struct wi_agg_text text = {0};
    uint32_t k = 0;
    at_aggregate(m, i);
    weir_err rc = wi_draft_column(&m->b, in, a->name, &m->aggs[i].col);
    if (rc != WEIR_OK) {
        return rc;
    }
    const struct wi_agg_params *p = &partial->p.agg;
    while (k < p->n_aggs && strcmp(partial->notes.names[k], a->name) != 0) {
        k++;
    }
    if (k == p->n_aggs || !wi_agg_read(partial->notes.texts[k], &text) ||
        !wi_agg_text_same(&text, &m->texts[i])) {
        return wi_draft_fail(&m->b, WEIR_ERR_ARG,
                             "\"%s\" is \"%s\" here and \"%s\" in the partial "
                             "aggregate \"%s\"; both must say the same",
                             a->name, a->expr,
                             k == p->n_aggs ? "not there"
                                            : partial->notes.texts[k],
                             partial->name);
    }
    m->aggs[i].type = p->aggs[k].type;
    return WEIR_OK;
}

static weir_err find_states(struct making *m)
{
    const struct wi_plan_op *in = wi_draft_nth(&m->b, 0);
    const struct wi_plan_op *partial = find_partial(m->b.plan, in);
    weir_err rc = WEIR_OK;
    wi_draft_at(&m->b, "input");
    if (partial == NULL) {
        return wi_draft_fail(&m->b, WEIR_ERR_ARG,
                             "final needs the states of a partial aggregate, "
                             "with shuffles, filters, sorts and unions between "
                             "at most; the rows of \"%s\" are none",
                             in->name);
    }
    for (uint32_t i = 0; rc == WEIR_OK && i < m->params->n_aggregates; i++) {
        rc = find_state(m, partial, i);
    }
    return rc;
}

/* ---- what it gives out --------------------------------------------------- */

static weir_err give_state(struct making *m, uint32_t i)
{
    struct wi_agg_state state[WI_AGG_STATES];
    const struct wi_agg *a = &m->aggs[i];
    const char *name = m->params->aggregates[i].name;
    const uint32_t n = wi_agg_state(a->fn, &a->type, state);
    weir_err rc = wi_draft_give(&m->b, name, &state[0].type, WI_VALUE_NEW);
    for (uint32_t k = 1; rc == WEIR_OK && k < n; k++) {
        char text[STATE_NAME_BYTES];
        (void)snprintf(text, sizeof(text), "%s%s", name, state[k].suffix);
        rc = wi_draft_give(&m->b, text, &state[k].type, WI_VALUE_NEW);
    }
    return rc;
}

static weir_err give_aggregate(struct making *m, uint32_t i)
{
    const struct wi_agg *a = &m->aggs[i];
    struct wi_type type;
    at_aggregate(m, i);
    weir_err rc = wi_agg_type(a->fn, &a->type, &type, m->b.err);
    if (rc != WEIR_OK) {
        return wi_draft_fail_in(&m->b, rc);
    }
    return m->params->mode == WEIR_AGGREGATE_PARTIAL
               ? give_state(m, i)
               : wi_draft_give(&m->b, m->params->aggregates[i].name, &type,
                               WI_VALUE_NEW);
}

static weir_err give_columns(struct making *m)
{
    const struct wi_plan_op *in = wi_draft_nth(&m->b, 0);
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < m->params->n_groups; i++) {
        const struct wi_named_type *c = &in->columns.at[m->groups[i]];
        wi_draft_at(&m->b, "groups[%" PRIu32 "]", i);
        rc = wi_draft_give(&m->b, c->name, &c->type,
                           in->notes.value[m->groups[i]]);
    }
    for (uint32_t i = 0; rc == WEIR_OK && i < m->params->n_aggregates; i++) {
        rc = give_aggregate(m, i);
    }
    wi_draft_at(&m->b, NULL);
    return rc;
}

/* ---- put together -------------------------------------------------------- */

static weir_err agg_detail(struct making *m)
{
    const struct weir_aggregate_params *p = m->params;
    const char *texts[WI_PLAN_COLUMNS];
    char groups[WI_DRAFT_LIST_BYTES];
    char list[WI_DRAFT_LIST_BYTES];
    for (uint32_t i = 0; i < p->n_aggregates; i++) {
        texts[i] = p->aggregates[i].expr;
    }
    return wi_draft_detail(
        &m->b, "%s, %s%s%s", wi_aggregate_words[p->mode],
        p->n_aggregates == 0 ? "distinct"
                             : wi_draft_list(texts, p->n_aggregates, list),
        p->n_groups == 0 ? "" : " by ",
        p->n_groups == 0 ? "" : wi_draft_list(p->groups, p->n_groups, groups));
}

static weir_err check_params(struct making *m)
{
    const struct weir_aggregate_params *p = m->params;
    wi_draft_at(&m->b, "mode");
    if ((unsigned)p->mode >= N_MODES) {
        return wi_draft_fail(&m->b, WEIR_ERR_ARG,
                             "complete, partial or final was expected, found "
                             "%d",
                             (int)p->mode);
    }
    wi_draft_at(&m->b, "groups");
    if (p->groups == NULL && p->n_groups > 0) {
        return wi_draft_fail(&m->b, WEIR_ERR_ARG,
                             "groups is NULL, n_groups is %" PRIu32,
                             p->n_groups);
    }
    wi_draft_at(&m->b, "aggregates");
    if (p->aggregates == NULL && p->n_aggregates > 0) {
        return wi_draft_fail(&m->b, WEIR_ERR_ARG,
                             "aggregates is NULL, n_aggregates is %" PRIu32,
                             p->n_aggregates);
    }
    if (p->n_groups + (uint64_t)p->n_aggregates == 0 ||
        p->n_groups + (uint64_t)p->n_aggregates > WI_PLAN_COLUMNS) {
        return wi_draft_fail(&m->b, WEIR_ERR_ARG,
                             "1..%u groups and aggregates were expected, found "
                             "%" PRIu64,
                             WI_PLAN_COLUMNS,
                             p->n_groups + (uint64_t)p->n_aggregates);
    }
    return WEIR_OK;
}

/* A FINAL aggregate above compares these names and texts with its own. */
static weir_err keep_texts(struct making *m)
{
    const uint32_t n = m->params->n_aggregates;
    const char **texts = wi_draft_take(&m->b, n, sizeof(*texts));
    const char **names = wi_draft_take(&m->b, n, sizeof(*names));
    bool ok = texts != NULL && names != NULL;
    for (uint32_t i = 0; ok && i < n; i++) {
        texts[i] = wi_draft_copy(&m->b, m->params->aggregates[i].expr);
        names[i] = wi_draft_copy(&m->b, m->params->aggregates[i].name);
        ok = texts[i] != NULL && names[i] != NULL;
    }
    m->b.op->notes.texts = texts;
    m->b.op->notes.names = names;
    return ok ? WEIR_OK : wi_draft_no_memory(&m->b);
}

static uint64_t state_rows(const struct making *m)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < m->params->n_aggregates; i++) {
        const uint64_t rows =
            wi_agg_state_rows(m->aggs[i].fn, &m->aggs[i].type);
        least = rows < least ? rows : least;
    }
    return least;
}

static weir_err fill(struct making *m)
{
    struct wi_plan_op *op = m->b.op;
    const uint32_t n = m->params->n_aggregates;
    m->texts = wi_draft_take(&m->b, n, sizeof(*m->texts));
    m->aggs = wi_draft_take(&m->b, n, sizeof(*m->aggs));
    m->exprs = wi_draft_take(&m->b, n, sizeof(struct wi_expr *));
    weir_err rc = m->texts == NULL || m->aggs == NULL || m->exprs == NULL
                      ? wi_draft_no_memory(&m->b)
                      : read_texts(m);
    if (rc == WEIR_OK) {
        rc = m->params->mode == WEIR_AGGREGATE_FINAL ? find_states(m)
                                                     : find_arguments(m);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    op->p.agg = (struct wi_agg_params){
        .columns = &op->columns,
        .in = &wi_draft_nth(&m->b, 0)->columns,
        .mode = m->params->mode,
        .n_groups = m->params->n_groups,
        .groups = m->groups,
        .n_aggs = n,
        .aggs = m->aggs,
    };
    rc = give_columns(m);
    op->p.agg.state_rows = state_rows(m);
    if (rc == WEIR_OK) {
        rc = keep_texts(m);
    }
    return rc == WEIR_OK ? agg_detail(m) : rc;
}

static weir_err build_agg(struct making *m)
{
    const struct wi_draft_names groups = {
        .field = "groups", .at = m->params->groups, .n = m->params->n_groups};
    const uint32_t *found;
    struct wi_plan_op *in;
    wi_draft_at(&m->b, "input");
    weir_err rc = wi_draft_input(&m->b, m->params->input, &in);
    if (rc == WEIR_OK) {
        rc = check_params(m);
    }
    if (rc == WEIR_OK) {
        rc = wi_draft_keys(&m->b, in, &groups, &found);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    m->groups = (uint32_t *)(uintptr_t)found;
    rc = fill(m);
    for (uint32_t i = 0; m->exprs != NULL && i < m->params->n_aggregates; i++) {
        wi_expr_close(m->exprs[i]);
    }
    return rc;
}

weir_err weir_plan_aggregate(weir_plan *plan, const char *name,
                             const struct weir_aggregate_params *params,
                             struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(plan),
                                        WI_EXEC_ARG(name), WI_EXEC_ARG(params));
    if (given != WEIR_OK) {
        return given;
    }
    struct making m = {.b = {.plan = plan, .err = err}, .params = params};
    weir_err rc = wi_draft_begin(&m.b, WI_PLAN_AGG, name);
    if (rc == WEIR_OK) {
        rc = build_agg(&m);
    }
    rc = wi_draft_end(&m.b, rc);
    if (rc != WEIR_OK && m.hidden) {
        wi_draft_undo(plan);
    }
    return rc;
}
