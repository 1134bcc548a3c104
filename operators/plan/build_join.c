/* SPDX-License-Identifier: Apache-2.0 */
/* Join. */
#include <inttypes.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/plan/join_target.h"

const char *const wi_join_words[] = {
    [WEIR_JOIN_INNER] = "inner",
    [WEIR_JOIN_LEFT] = "left",
    [WEIR_JOIN_SEMI] = "semi",
    [WEIR_JOIN_ANTI] = "anti",
    NULL,
};

const char *const wi_join_filter_words[] = {
    [WEIR_JOIN_FILTER_AUTO] = "auto",
    [WEIR_JOIN_FILTER_NEVER] = "never",
    [WEIR_JOIN_FILTER_ALWAYS] = "always",
    NULL,
};
enum { N_KINDS = sizeof(wi_join_words) / sizeof(wi_join_words[0]) - 1 };

static weir_err check_params(struct wi_draft *b,
                             const struct weir_join_params *params)
{
    wi_draft_at(b, "kind");
    if ((unsigned)params->kind >= N_KINDS) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "inner, left, semi or anti was expected, found %d",
                             (int)params->kind);
    }
    wi_draft_at(b, "filter");
    if ((unsigned)params->filter > WEIR_JOIN_FILTER_ALWAYS) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "auto, never or always was expected, found %d",
                             (int)params->filter);
    }
    wi_draft_at(b, "keys");
    if (params->n_keys == 0 || params->left_keys == NULL) {
        return wi_draft_fail(b, WEIR_ERR_ARG, "one key or more was expected");
    }
    return WEIR_OK;
}

static weir_err check_types(struct wi_draft *b)
{
    const struct wi_join_params *p = &b->op->p.join;
    char left[WI_TYPE_TEXT_BYTES];
    char right[WI_TYPE_TEXT_BYTES];
    for (uint32_t k = 0; k < p->n_keys; k++) {
        const struct wi_named_type *l = &p->left->at[p->left_keys[k]];
        const struct wi_named_type *r = &p->right->at[p->right_keys[k]];
        if (!wi_type_same(&l->type, &r->type)) {
            wi_draft_at(b, "keys[%" PRIu32 "]", k);
            return wi_draft_fail(
                b, WEIR_ERR_ARG,
                "%s is %s and %s is %s; keys that are compared must have the "
                "same type: cast one in a project below",
                l->name, wi_type_text(&l->type, left), r->name,
                wi_type_text(&r->type, right));
        }
    }
    return WEIR_OK;
}

static weir_err join_keys(struct wi_draft *b,
                          const struct weir_join_params *params)
{
    struct wi_join_params *p = &b->op->p.join;
    const bool same = params->right_keys == NULL;
    const struct wi_draft_names left = {
        .field = same ? "keys" : "left_keys",
        .at = params->left_keys,
        .n = params->n_keys,
    };
    const struct wi_draft_names right = {
        .field = same ? "keys" : "right_keys",
        .at = same ? params->left_keys : params->right_keys,
        .n = params->n_keys,
    };
    p->n_keys = params->n_keys;
    weir_err rc = wi_draft_keys(b, wi_draft_nth(b, 0), &left, &p->left_keys);
    if (rc == WEIR_OK) {
        rc = wi_draft_keys(b, wi_draft_nth(b, 1), &right, &p->right_keys);
    }
    return rc == WEIR_OK ? check_types(b) : rc;
}

/* Which key right column `col` is; n_keys: none. */
static uint32_t key_of(const struct wi_join_params *p, uint32_t col)
{
    uint32_t k = 0;
    while (k < p->n_keys && p->right_keys[k] != col) {
        k++;
    }
    return k;
}

/* A right key with the name of its left key is left out: in an inner join it
 * says nothing new, in a left join only whether there was a match. */
static bool is_left_out(const struct wi_join_params *p, uint32_t col)
{
    const uint32_t k = key_of(p, col);
    return k < p->n_keys && strcmp(p->left->at[p->left_keys[k]].name,
                                   p->right->at[col].name) == 0;
}

static weir_err give_right(struct wi_draft *b, uint32_t col)
{
    const struct wi_join_params *p = &b->op->p.join;
    struct wi_type type = p->right->at[col].type;
    uint32_t value = wi_draft_nth(b, 1)->notes.value[col];
    const uint32_t k = key_of(p, col);
    if (p->kind == WEIR_JOIN_LEFT) {
        type.nullable = true;
        value = WI_VALUE_NEW; /* null in rows without a match */
    } else if (k < p->n_keys) {
        value = wi_draft_nth(b, 0)->notes.value[p->left_keys[k]];
    }
    return wi_draft_give(b, p->right->at[col].name, &type, value);
}

static bool gives_right(const struct wi_join_params *p)
{
    return p->kind == WEIR_JOIN_INNER || p->kind == WEIR_JOIN_LEFT;
}

static weir_err give_columns(struct wi_draft *b, bool with_where)
{
    struct wi_join_params *p = &b->op->p.join;
    uint32_t *out = wi_draft_take(b, p->right->n, sizeof(*out));
    weir_err rc = out == NULL ? wi_draft_no_memory(b)
                              : wi_draft_give_all(b, wi_draft_nth(b, 0));
    if (!gives_right(p) && !with_where) {
        return rc;
    }
    for (uint32_t i = 0; rc == WEIR_OK && i < p->right->n; i++) {
        if (!is_left_out(p, i)) {
            out[p->n_right_out++] = i;
            rc = gives_right(p) ? give_right(b, i) : rc;
        }
    }
    p->right_out = out;
    return rc;
}

/* ---- the condition ------------------------------------------------------- */

/* What the condition of a semi or anti join can name, which gives out less. */
static weir_err make_pairs(struct wi_draft *b)
{
    struct wi_join_params *p = &b->op->p.join;
    struct wi_columns *pairs = wi_draft_take(b, 1, sizeof(*pairs));
    struct wi_named_type *at =
        wi_draft_take(b, p->left->n + p->n_right_out, sizeof(*at));
    if (pairs == NULL || at == NULL) {
        return wi_draft_no_memory(b);
    }
    pairs->at = at;
    for (uint32_t i = 0; i < p->left->n; i++) {
        at[pairs->n++] = p->left->at[i];
    }
    for (uint32_t i = 0; i < p->n_right_out; i++) {
        const struct wi_named_type *col = &p->right->at[p->right_out[i]];
        if (wi_columns_find(pairs, col->name) >= 0) {
            return wi_draft_fail(b, WEIR_ERR_DUPLICATE,
                                 "both sides have a column \"%s\"; rename one "
                                 "in a project below",
                                 col->name);
        }
        at[pairs->n++] = *col;
    }
    p->pairs = pairs;
    return WEIR_OK;
}

static weir_err join_where(struct wi_draft *b, const char *where)
{
    struct wi_join_params *p = &b->op->p.join;
    weir_err rc = WEIR_OK;
    if (where == NULL) {
        return WEIR_OK;
    }
    p->pairs = &b->op->columns;
    if (!gives_right(p)) {
        wi_draft_at(b, "where");
        rc = make_pairs(b);
    }
    return rc == WEIR_OK ? wi_draft_where(b, where, p->pairs, &p->where) : rc;
}

/* ---- join ---------------------------------------------------------------- */

static weir_err join_detail(struct wi_draft *b,
                            const struct weir_join_params *params)
{
    char left[WI_DRAFT_LIST_BYTES];
    char right[WI_DRAFT_LIST_BYTES];
    return wi_draft_detail(
        b, "%s, %s = %s%s%s", wi_join_words[params->kind],
        wi_draft_list(params->left_keys, params->n_keys, left),
        wi_draft_list(params->right_keys == NULL ? params->left_keys
                                                 : params->right_keys,
                      params->n_keys, right),
        params->where == NULL ? "" : ", ",
        params->where == NULL ? "" : params->where);
}

static weir_err build_join(struct wi_draft *b,
                           const struct weir_join_params *params)
{
    struct wi_join_params *p = &b->op->p.join;
    struct wi_plan_op *left;
    struct wi_plan_op *right;
    wi_draft_at(b, "left");
    weir_err rc = wi_draft_input(b, params->left, &left);
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_draft_at(b, "right");
    rc = wi_draft_input(b, params->right, &right);
    if (rc == WEIR_OK) {
        rc = check_params(b, params);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    *p = (struct wi_join_params){
        .columns = &b->op->columns,
        .left = &left->columns,
        .right = &right->columns,
        .kind = params->kind,
    };
    rc = join_keys(b, params);
    wi_draft_at(b, NULL);
    if (rc == WEIR_OK) {
        rc = give_columns(b, params->where != NULL);
    }
    if (rc == WEIR_OK) {
        rc = join_where(b, params->where);
        wi_draft_at(b, NULL);
    }
    if (rc == WEIR_OK) {
        rc = wi_join_targets(b, params->filter);
    }
    return rc == WEIR_OK ? join_detail(b, params) : rc;
}

weir_err weir_plan_join(weir_plan *plan, const char *name,
                        const struct weir_join_params *params,
                        struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(plan),
                                        WI_EXEC_ARG(name), WI_EXEC_ARG(params));
    if (given != WEIR_OK) {
        return given;
    }
    struct wi_draft b = {.plan = plan, .err = err};
    weir_err rc = wi_draft_begin(&b, WI_PLAN_JOIN, name);
    return wi_draft_end(&b, rc == WEIR_OK ? build_join(&b, params) : rc);
}
