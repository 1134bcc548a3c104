/* SPDX-License-Identifier: Apache-2.0 */
/* Where rows are: the rules of spread.h. */
#include "operators/plan/spread.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "operators/plan/partitioning.h"

/* ---- text ---------------------------------------------------------------- */

static const char *value_name(const struct wi_plan_op *op, uint32_t value)
{
    for (uint32_t i = 0; i < op->columns.n; i++) {
        if (op->notes.value[i] == value) {
            return op->columns.at[i].name;
        }
    }
    return "a dropped column";
}

const char *wi_spread_text(const struct wi_plan_op *op,
                           char text[WI_SPREAD_TEXT_BYTES])
{
    static const char *const fixed[] = {
        [WI_SPREAD_ANY] = "anywhere",
        [WI_SPREAD_HASH] = "by hash of ",
        [WI_SPREAD_RANGE] = "by range of ",
        [WI_SPREAD_SINGLE] = "on one worker",
        [WI_SPREAD_EVERY] = "on every worker",
    };
    const struct wi_spread *s = &op->notes.spread;
    size_t used =
        (size_t)snprintf(text, WI_SPREAD_TEXT_BYTES, "%s", fixed[s->kind]);
    for (uint32_t i = 0; i < s->n_keys && used < WI_SPREAD_TEXT_BYTES; i++) {
        used +=
            (size_t)snprintf(text + used, WI_SPREAD_TEXT_BYTES - used, "%s%s",
                             i == 0 ? "" : ", ", value_name(op, s->keys[i]));
    }
    if (s->seed != 0 && used < WI_SPREAD_TEXT_BYTES) {
        (void)snprintf(text + used, WI_SPREAD_TEXT_BYTES - used,
                       " (seed %" PRIu64 ")", s->seed);
    }
    return text;
}

/* ---- what several operators need ----------------------------------------- */

/* Fails if `in` has only the first rows of each worker. */
static weir_err check_whole(struct wi_draft *b, const struct wi_plan_op *in)
{
    if (in->notes.cut == 0) {
        return WEIR_OK;
    }
    return wi_draft_fail(
        b, WEIR_ERR_ARG,
        "\"%s\" has the first %" PRIu64 " rows of every worker, which are not "
        "the first of all: put a merge and above it a limit of %" PRIu64
        " rows or less above \"%s\"",
        in->name, in->notes.cut, in->notes.cut, in->name);
}

static weir_err check_once(struct wi_draft *b, const struct wi_plan_op *in)
{
    if (in->notes.spread.kind != WI_SPREAD_EVERY) {
        return WEIR_OK;
    }
    return wi_draft_fail(b, WEIR_ERR_ARG,
                         "the rows of \"%s\" are on every worker and would "
                         "come once from each: a broadcast can only lead to "
                         "the right input of a join",
                         in->name);
}

static bool is_keyed(const struct wi_spread *s)
{
    return s->kind == WI_SPREAD_HASH || s->kind == WI_SPREAD_RANGE;
}

/* Is the worker decided by the same rule? The columns may differ. */
static bool same_rule(const struct wi_spread *a, const struct wi_spread *b)
{
    if (!is_keyed(a) || a->kind != b->kind || a->seed != b->seed ||
        a->n_keys != b->n_keys || a->n_bounds != b->n_bounds) {
        return false;
    }
    for (uint32_t i = 0; i < a->n_bounds * a->n_keys; i++) {
        if (strcmp(a->bounds[i], b->bounds[i]) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- operators that leave rows where they are ---------------------------- */

weir_err wi_spread_scan(struct wi_draft *b)
{
    b->op->notes.spread.kind = WI_SPREAD_ANY;
    return WEIR_OK;
}

weir_err wi_spread_filter(struct wi_draft *b)
{
    const struct wi_plan_op *in = wi_draft_nth(b, 0);
    b->op->notes.spread = in->notes.spread;
    b->op->notes.order = in->notes.order;
    b->op->notes.n_order = in->notes.n_order;
    return check_whole(b, in);
}

weir_err wi_spread_write(struct wi_draft *b)
{
    const struct wi_plan_op *in = wi_draft_nth(b, 0);
    if (in->notes.spread.kind == WI_SPREAD_SINGLE) {
        b->op->notes.spread.kind = WI_SPREAD_SINGLE;
    }
    weir_err rc = check_whole(b, in);
    return rc == WEIR_OK ? check_once(b, in) : rc;
}

/* The order of the input, in the new columns; none if a sort key is gone. */
static void keep_order(struct wi_draft *b, const struct wi_plan_op *in)
{
    struct wi_plan_op *op = b->op;
    const uint32_t n = in->notes.n_order;
    struct wi_sort_key *keys = wi_draft_take(b, n, sizeof(*keys));
    for (uint32_t k = 0; keys != NULL && k < n; k++) {
        const uint32_t value = in->notes.value[in->notes.order[k].col];
        uint32_t col = 0;
        while (col < op->columns.n && op->notes.value[col] != value) {
            col++;
        }
        if (col == op->columns.n) {
            return;
        }
        keys[k] = in->notes.order[k];
        keys[k].col = col;
    }
    op->notes.order = keys;
    op->notes.n_order = keys == NULL ? 0 : n;
}

weir_err wi_spread_project(struct wi_draft *b)
{
    const struct wi_plan_op *in = wi_draft_nth(b, 0);
    b->op->notes.spread = in->notes.spread;
    b->op->notes.cut = in->notes.cut;
    keep_order(b, in);
    return WEIR_OK;
}

/* Of the first rows of every worker a limit takes those that are the first of
 * all. */
static weir_err check_limit(struct wi_draft *b, const struct wi_plan_op *in)
{
    const struct wi_limit_params *p = &b->op->p.limit;
    const uint64_t cut = in->notes.cut;
    if (cut == 0 || in->notes.n_order == 0) {
        return check_whole(b, in);
    }
    if (p->offset <= cut && p->rows <= cut - p->offset) {
        return WEIR_OK;
    }
    return wi_draft_fail(
        b, WEIR_ERR_ARG,
        "rows %" PRIu64 " and offset %" PRIu64 " need more than the first "
        "%" PRIu64 " rows, and the sort below \"%s\" gives no more: raise its "
        "rows, or leave them out",
        p->rows, p->offset, cut, in->name);
}

weir_err wi_spread_limit(struct wi_draft *b)
{
    const struct wi_plan_op *in = wi_draft_nth(b, 0);
    if (in->notes.spread.kind != WI_SPREAD_SINGLE) {
        return wi_draft_fail(
            b, WEIR_ERR_ARG,
            "the rows of \"%s\" are on several workers, and "
            "each worker would give that many: put a "
            "shuffle with \"by\": \"gather\", or a merge, above \"%s\"",
            in->name, in->name);
    }
    b->op->notes.spread = in->notes.spread;
    b->op->notes.order = in->notes.order;
    b->op->notes.n_order = in->notes.n_order;
    return check_limit(b, in);
}

/* Is it a second top-k, over the rows of all workers? */
static bool ends_cut(const struct wi_sort_params *p,
                     const struct wi_plan_op *in)
{
    return p->rows != 0 && p->rows <= in->notes.cut &&
           in->notes.spread.kind == WI_SPREAD_SINGLE;
}

weir_err wi_spread_sort(struct wi_draft *b)
{
    const struct wi_sort_params *p = &b->op->p.sort;
    const struct wi_plan_op *in = wi_draft_nth(b, 0);
    weir_err rc = ends_cut(p, in) ? WEIR_OK : check_whole(b, in);
    if (rc == WEIR_OK && p->rows != 0) {
        rc = check_once(b, in);
    }
    b->op->notes.spread = in->notes.spread;
    b->op->notes.order = p->keys;
    b->op->notes.n_order = p->n_keys;
    b->op->notes.cut = in->notes.spread.kind == WI_SPREAD_SINGLE ? 0 : p->rows;
    return rc;
}

/* ---- aggregate ----------------------------------------------------------- */

static bool is_group(const struct wi_plan_op *op, uint32_t value)
{
    for (uint32_t i = 0; i < op->p.agg.n_groups; i++) {
        if (op->notes.value[i] == value) {
            return true;
        }
    }
    return false;
}

/* Are all rows of a group on one worker? */
static bool groups_together(const struct wi_plan_op *op,
                            const struct wi_spread *s)
{
    for (uint32_t i = 0; i < s->n_keys; i++) {
        if (!is_group(op, s->keys[i])) {
            return false;
        }
    }
    return is_keyed(s);
}

static weir_err fail_apart(struct wi_draft *b, const struct wi_plan_op *in)
{
    const struct wi_plan_op *op = b->op;
    const char *names[WI_PLAN_COLUMNS];
    char list[WI_DRAFT_LIST_BYTES];
    char where[WI_SPREAD_TEXT_BYTES];
    for (uint32_t i = 0; i < op->p.agg.n_groups; i++) {
        names[i] = op->columns.at[i].name;
    }
    if (op->p.agg.n_groups == 0) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "the rows of \"%s\" are %s, and each worker would "
                             "give a row: put a shuffle with \"by\": "
                             "\"gather\" above \"%s\"",
                             in->name, wi_spread_text(in, where), in->name);
    }
    return wi_draft_fail(b, WEIR_ERR_ARG,
                         "the rows of \"%s\" are %s, so those of one group may "
                         "be on several workers: put a shuffle with \"by\": "
                         "\"hash\" and \"keys\": [%s] above \"%s\"",
                         in->name, wi_spread_text(in, where),
                         wi_draft_list(names, op->p.agg.n_groups, list),
                         in->name);
}

weir_err wi_spread_agg(struct wi_draft *b)
{
    struct wi_plan_op *op = b->op;
    const struct wi_plan_op *in = wi_draft_nth(b, 0);
    const struct wi_spread *s = &in->notes.spread;
    weir_err rc = check_whole(b, in);
    if (rc != WEIR_OK) {
        return rc;
    }
    op->notes.spread = *s;
    if (s->kind == WI_SPREAD_SINGLE || s->kind == WI_SPREAD_EVERY ||
        groups_together(op, s)) {
        return WEIR_OK;
    }
    if (op->p.agg.mode != WEIR_AGGREGATE_PARTIAL) {
        return fail_apart(b, in);
    }
    op->notes.spread = (struct wi_spread){.kind = WI_SPREAD_ANY};
    return WEIR_OK;
}

/* ---- union --------------------------------------------------------------- */

/* Column of the input that holds key k of its spread, or UINT32_MAX. */
static uint32_t key_column(const struct wi_plan_op *in, uint32_t k)
{
    for (uint32_t i = 0; i < in->columns.n; i++) {
        if (in->notes.value[i] == in->notes.spread.keys[k]) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* Do both keep equal values of the same columns on the same worker? */
static bool same_spread(const struct wi_plan_op *a, const struct wi_plan_op *c)
{
    if (!is_keyed(&a->notes.spread)) {
        return a->notes.spread.kind == c->notes.spread.kind;
    }
    if (!same_rule(&a->notes.spread, &c->notes.spread)) {
        return false;
    }
    for (uint32_t k = 0; k < a->notes.spread.n_keys; k++) {
        const uint32_t col = key_column(a, k);
        if (col == UINT32_MAX || col != key_column(c, k)) {
            return false;
        }
    }
    return true;
}

/* Takes over the spread of `in`, with keys of the union's own columns. */
static weir_err adopt(struct wi_draft *b, const struct wi_plan_op *in)
{
    struct wi_spread s = in->notes.spread;
    uint32_t *keys = wi_draft_take(b, s.n_keys, sizeof(*keys));
    if (keys == NULL) {
        return wi_draft_no_memory(b);
    }
    for (uint32_t k = 0; k < s.n_keys; k++) {
        keys[k] = b->op->notes.value[key_column(in, k)];
    }
    s.keys = keys;
    b->op->notes.spread = s;
    return WEIR_OK;
}

weir_err wi_spread_union(struct wi_draft *b)
{
    const struct wi_plan_op *first = wi_draft_nth(b, 0);
    bool same = true;
    bool every = false;
    for (uint32_t i = 0; i < b->op->n_inputs; i++) {
        const struct wi_plan_op *in = wi_draft_nth(b, i);
        wi_draft_at(b, "inputs[%u]", i);
        weir_err rc = check_whole(b, in);
        if (rc != WEIR_OK) {
            return rc;
        }
        same &= same_spread(first, in);
        every |= in->notes.spread.kind == WI_SPREAD_EVERY;
    }
    wi_draft_at(b, "inputs");
    if (every && !same) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "some of the inputs are on every worker (a "
                             "broadcast) and some are not: put the broadcast "
                             "above the union");
    }
    wi_draft_at(b, NULL);
    return same ? adopt(b, first) : WEIR_OK;
}

/* ---- join ---------------------------------------------------------------- */

/* Are these the values of a pair of join keys? */
static bool is_pair(struct wi_draft *b, uint32_t left, uint32_t right)
{
    const struct wi_join_params *p = &b->op->p.join;
    const struct wi_plan_op *l = wi_draft_nth(b, 0);
    const struct wi_plan_op *r = wi_draft_nth(b, 1);
    for (uint32_t k = 0; k < p->n_keys; k++) {
        if (l->notes.value[p->left_keys[k]] == left &&
            r->notes.value[p->right_keys[k]] == right) {
            return true;
        }
    }
    return false;
}

/* Are matching rows on the same worker? */
static bool together(struct wi_draft *b, const struct wi_spread *l,
                     const struct wi_spread *r)
{
    if (!same_rule(l, r)) {
        return false;
    }
    for (uint32_t k = 0; k < l->n_keys; k++) {
        if (!is_pair(b, l->keys[k], r->keys[k])) {
            return false;
        }
    }
    return true;
}

/* What to change in the plan, for the message. */
static void remedy(const struct wi_plan_op *l, const struct wi_plan_op *r,
                   char *text, size_t room)
{
    const char *name = r->name;
    if (l->notes.spread.kind == WI_SPREAD_SINGLE) {
        (void)snprintf(text, room,
                       "put above \"%s\" a shuffle with \"by\": \"gather\", "
                       "too, or one with \"by\": \"broadcast\"",
                       name);
    } else if (l->notes.spread.kind == WI_SPREAD_EVERY) {
        (void)snprintf(text, room,
                       "put above \"%s\" a shuffle with \"by\": "
                       "\"broadcast\", too, or shuffle both by hash of the "
                       "join's keys in place of the broadcast of \"%s\"",
                       name, l->name);
    } else {
        const bool range = l->notes.spread.kind == WI_SPREAD_RANGE ||
                           r->notes.spread.kind == WI_SPREAD_RANGE;
        (void)snprintf(text, room,
                       "put above both a shuffle with \"by\": \"%s\", the "
                       "join's keys in the same order and %s, or above "
                       "\"%s\" a shuffle with \"by\": \"broadcast\"",
                       range ? "range" : "hash",
                       range ? "the same bounds" : "one seed", name);
    }
}

static weir_err fail_join(struct wi_draft *b)
{
    char left[WI_SPREAD_TEXT_BYTES];
    char right[WI_SPREAD_TEXT_BYTES];
    char what[WEIR_ERROR_MESSAGE_BYTES];
    const struct wi_plan_op *l = wi_draft_nth(b, 0);
    const struct wi_plan_op *r = wi_draft_nth(b, 1);
    remedy(l, r, what, sizeof(what));
    return wi_draft_fail(
        b, WEIR_ERR_ARG,
        "rows that match may be on different workers: those of \"%s\" are %s, "
        "those of \"%s\" %s: %s",
        l->name, wi_spread_text(l, left), r->name, wi_spread_text(r, right),
        what);
}

weir_err wi_spread_join(struct wi_draft *b)
{
    const struct wi_plan_op *left = wi_draft_nth(b, 0);
    const struct wi_plan_op *right = wi_draft_nth(b, 1);
    const struct wi_spread *l = &left->notes.spread;
    const struct wi_spread *r = &right->notes.spread;
    weir_err rc = check_whole(b, left);
    if (rc == WEIR_OK) {
        rc = check_whole(b, right);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    const bool both =
        l->kind == WI_SPREAD_SINGLE && r->kind == WI_SPREAD_SINGLE;
    b->op->notes.spread = *l;
    return r->kind == WI_SPREAD_EVERY || both || together(b, l, r)
               ? WEIR_OK
               : fail_join(b);
}

/* ---- shuffle, result ----------------------------------------------------- */

weir_err wi_spread_shuffle(struct wi_draft *b)
{
    struct wi_plan_op *op = b->op;
    const struct wi_plan_op *in = wi_draft_nth(b, 0);
    const struct wi_plan_shuffle *p = &op->p.shuffle;
    struct wi_spread *s = &op->notes.spread;
    weir_err rc = check_once(b, in);
    if (rc == WEIR_OK && p->partitioning != WEIR_GATHER) {
        rc = check_whole(b, in);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    s->kind = wi_partitioning_of(p->partitioning)->spread;
    op->notes.cut = in->notes.cut;
    op->notes.order = p->order;
    op->notes.n_order = p->n_order;
    if (!is_keyed(s)) {
        return WEIR_OK;
    }
    uint32_t *keys = wi_draft_take(b, p->n_keys, sizeof(*keys));
    if (keys == NULL) {
        return wi_draft_no_memory(b);
    }
    for (uint32_t k = 0; k < p->n_keys; k++) {
        keys[k] = op->notes.value[wi_columns_find(&op->columns, p->keys[k])];
    }
    s->keys = keys;
    s->n_keys = p->n_keys;
    s->seed = p->seed;
    return WEIR_OK;
}

weir_err wi_spread_result(struct wi_draft *b, const struct wi_plan_op *op)
{
    weir_err rc = check_whole(b, op);
    return rc == WEIR_OK ? check_once(b, op) : rc;
}
