/* SPDX-License-Identifier: Apache-2.0 */
/* Random expressions over random rows: the vectors give, row by row, what
 * the model gives (test/support/expr_model.h). A failure prints its seed
 * and the expression's text. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/expr/node.h"
#include "test/support/expr.h"
#include "test/support/expr_model.h"

enum { N_COLUMNS = 8, ROWS = 70, TEXT_BYTES = 8192 };

static const char *const columns[N_COLUMNS][2] = {
    {"i", "int64?"},         {"j", "int32"},    {"d", "decimal(10,2)?"},
    {"e", "decimal(30,4)?"}, {"f", "float64?"}, {"s", "utf8?"},
    {"b", "bool?"},          {"t", "utf8"},
};

struct sample {
    struct wt_random random;
    struct wt_expr_rows rows;
    struct wt_model_value value[ROWS][N_COLUMNS];
    char why[TEXT_BYTES + 200];
};

/* Large numbers now and then: to find overflows, but not only those. */
static void make_value(struct sample *s, bool spicy, uint32_t row, uint32_t col)
{
    static const char *const texts[] = {"",  "a",   "ab",
                                        "b", "xyz", "Gr\303\274\303\237e"};
    struct wt_random *r = &s->random;
    const struct wi_type *type = &s->rows.columns.at[col].type;
    struct wt_model_value *v = &s->value[row][col];
    char text[64] = "";
    int small = (int)wt_random_below(r, 12) - 4;
    bool large = spicy && wt_random_below(r, 8) == 0;
    *v = (struct wt_model_value){.null = type->nullable &&
                                         wt_random_below(r, 5) == 0};
    switch (type->kind) {
    case WI_TYPE_UTF8:
        strcpy(text, texts[wt_random_below(r, 6)]);
        v->n = (uint32_t)strlen(text);
        memcpy(v->s, text, v->n);
        break;
    case WI_TYPE_BOOL:
        v->w = wt_random_below(r, 2);
        strcpy(text, v->w ? "true" : "false");
        break;
    case WI_TYPE_FLOAT64:
        v->f = large ? 1e308 : small / 4.0;
        (void)snprintf(text, sizeof(text), "%.17g", v->f);
        break;
    case WI_TYPE_DECIMAL:
        v->w = large ? 99999999 : small;
        (void)snprintf(text, sizeof(text), "%d", (int)v->w);
        for (uint32_t i = 0; i < type->scale; i++) {
            v->w *= 10;
        }
        break;
    default:
        v->w = !large                        ? small
               : type->kind == WI_TYPE_INT32 ? INT32_MAX
                                             : INT64_MIN;
        (void)snprintf(text, sizeof(text), "%lld", (long long)v->w);
        break;
    }
    wt_expr_rows_put(&s->rows, columns[col][0], row, v->null ? NULL : text);
}

static void open_sample(struct sample *s, uint64_t seed)
{
    memset(s, 0, sizeof(*s));
    s->random.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    wt_expr_rows_open(&s->rows, columns, N_COLUMNS, ROWS);
    bool spicy = wt_random_below(&s->random, 3) == 0;
    for (uint32_t row = 0; row < ROWS; row++) {
        for (uint32_t col = 0; col < N_COLUMNS; col++) {
            make_value(s, spicy, row, col);
        }
    }
    if (wt_random_below(&s->random, 2)) { /* some rows only */
        uint32_t n = 0;
        for (uint32_t row = 0; row < ROWS; row++) {
            s->rows.sel[n] = row;
            n += wt_random_below(&s->random, 3) == 0;
        }
        s->rows.chunk.sel = s->rows.sel;
        s->rows.chunk.n = n;
    }
}

static bool same_value(const struct wt_model_value *want,
                       const struct wi_value *found, enum wi_rep rep)
{
    if (want->null || found->null) {
        return want->null && found->null;
    }
    switch (rep) {
    case WI_BOOL:
        return want->w == found->b;
    case WI_I64:
        return want->w == found->i;
    case WI_I128:
        return want->w == found->w;
    case WI_F64:
        return want->f == found->f;
    case WI_STR:
        return want->n == found->s.n_bytes &&
               (want->n == 0 || memcmp(want->s, found->s.data, want->n) == 0);
    }
    return false;
}

static void compare_values(struct sample *s, const struct wt_model *m,
                           struct wi_eval *eval, const struct wi_type *type)
{
    struct weir_error err;
    struct wi_vec vec;
    const struct wi_chunk *chunk = &s->rows.chunk;
    bool error = false;
    for (uint32_t i = 0; i < chunk->n; i++) {
        uint32_t p = wi_chunk_pos(chunk, i);
        error = error || wt_model_run(m, s->value[p]).error;
    }
    weir_err code = wi_eval_run(eval, chunk, &vec, &err);
    cr_assert_eq(code, error ? WEIR_ERR_QUERY_DATA : WEIR_OK, "%s\n%s", s->why,
                 code == WEIR_OK ? "no error" : err.message);
    if (error) {
        return;
    }
    for (uint32_t i = 0; i < chunk->n; i++) {
        uint32_t p = wi_chunk_pos(chunk, i);
        struct wt_model_value want = wt_model_run(m, s->value[p]);
        struct wi_value found = wi_value_at(&vec, p);
        cr_assert(same_value(&want, &found, wi_type_rep(type)),
                  "%s\nrow %u: want %s %lld %g '%s', found %s %lld", s->why, p,
                  want.null ? "null" : "", (long long)want.w, want.f, want.s,
                  found.null ? "null" : "", (long long)found.i);
    }
}

static void compare_selection(struct sample *s, const struct wt_model *m,
                              struct wi_eval *eval)
{
    struct weir_error err;
    const struct wi_chunk *chunk = &s->rows.chunk;
    uint32_t want[ROWS];
    uint32_t found[WI_CHUNK_ROWS];
    uint32_t n = 0;
    uint32_t n_found = 0;
    bool error = false;
    for (uint32_t i = 0; i < chunk->n; i++) {
        want[n] = wi_chunk_pos(chunk, i);
        n += wt_model_true(m, s->value[want[n]], &error);
    }
    weir_err code = wi_eval_select(eval, chunk, found, &n_found, &err);
    cr_assert_eq(code, error ? WEIR_ERR_QUERY_DATA : WEIR_OK, "select %s\n%s",
                 s->why, code == WEIR_OK ? "no error" : err.message);
    if (!error) {
        cr_assert_eq(n_found, n, "select %s", s->why);
        cr_assert_eq(memcmp(found, want, n * sizeof(*want)), 0, "select %s",
                     s->why);
    }
}

/* Returns whether there was no error. */
static bool try_seed(struct sample *s, uint64_t seed)
{
    static const enum wi_type_kind kinds[] = {WI_TYPE_BOOL,    WI_TYPE_INT64,
                                              WI_TYPE_DECIMAL, WI_TYPE_FLOAT64,
                                              WI_TYPE_UTF8,    WI_TYPE_BOOL};
    static char text[TEXT_BYTES];
    struct weir_error err;
    struct wi_op_mem mem = {.above = NULL};
    struct wi_expr *expr;
    struct wi_eval *eval;
    struct wi_vec vec;
    open_sample(s, seed);
    enum wi_type_kind kind = kinds[wt_random_below(&s->random, 6)];
    struct wt_model *m = wt_model_make(&s->random, &s->rows.columns, kind,
                                       1 + wt_random_below(&s->random, 4));
    cr_assert(wt_model_text(m, &s->rows.columns, text, sizeof(text)));
    (void)snprintf(s->why, sizeof(s->why), "seed %llu: %s",
                   (unsigned long long)seed, text);
    cr_assert_eq(wi_expr_open(text, &s->rows.columns, &expr, &err), WEIR_OK,
                 "%s\n%s", s->why, err.message);
    const struct wi_type *type = wi_expr_type(expr);
    char want_type[WI_TYPE_TEXT_BYTES];
    char found_type[WI_TYPE_TEXT_BYTES];
    cr_assert(wi_type_same(type, &m->type), "%s\nis %s, not %s", s->why,
              wi_type_text(type, found_type),
              wi_type_text(&m->type, want_type));
    cr_assert_eq(wi_eval_open(expr, &mem, &eval, &err), WEIR_OK);
    compare_values(s, m, eval, type);
    if (type->kind == WI_TYPE_BOOL) {
        compare_selection(s, m, eval);
    }
    bool ok = wi_eval_run(eval, &s->rows.chunk, &vec, NULL) == WEIR_OK;
    wi_eval_close(eval);
    wi_expr_close(expr);
    cr_assert_eq(mem.held_bytes, 0);
    wt_model_free(m);
    wt_expr_rows_close(&s->rows);
    return ok;
}

Test(expr_random, vectors_give_what_the_model_gives)
{
    enum { SEEDS = 3000 };
    static struct sample s;
    uint32_t n_ok = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        n_ok += try_seed(&s, seed);
    }
    cr_assert_gt(n_ok, SEEDS / 2, "most expressions are errors");
    cr_assert_lt(n_ok, SEEDS, "no expression was an error");
}
