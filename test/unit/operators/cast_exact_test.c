/* SPDX-License-Identifier: Apache-2.0 */
/* Casts and comparisons of every pair of types of numbers give what exact
 * arithmetic gives, rounded once. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/exact_ratio.h"
#include "test/support/exact_text.h"
#include "test/support/expr.h"
#include "test/support/operators.h"

TestSuite(cast_exact, .timeout = 120);

enum { ROWS = 600 };

static const char *const numbers[] = {
    "int8",          "int16",          "int32",          "int64",
    "uint8",         "uint16",         "uint32",         "uint64",
    "float32",       "float64",        "decimal(5,2)",   "decimal(18,0)",
    "decimal(18,9)", "decimal(18,18)", "decimal(19,3)",  "decimal(30,22)",
    "decimal(38,0)", "decimal(38,15)", "decimal(38,31)", "decimal(38,38)"};
enum { N_NUMBERS = sizeof(numbers) / sizeof(numbers[0]), N_INTEGERS = 8 };

static struct wi_type type_of(const char *name)
{
    struct wi_type type;
    cr_assert(wi_type_parse(name, &type), "%s", name);
    return type;
}

static bool is_float(const struct wi_type *type)
{
    return wi_type_rep(type) == WI_F64;
}

/* ---- values -------------------------------------------------------------- */

static wi_u128 random_bits(uint64_t *state)
{
    return (wi_u128)wt_next_random(state) << 64 | wt_next_random(state);
}

/* Half way between two floats of `bits` bits, or beside that: an odd number of
 * one bit more, divided by a power of two that the scale has room for, or
 * multiplied by one. */
static wi_i128 half_way(uint8_t scale, int bits, uint64_t *state)
{
    const uint64_t r = wt_next_random(state);
    const uint32_t k = (uint32_t)(r % (scale + 1u));
    wi_u128 v = (uint64_t)random_bits(state) >> (63 - bits) | 1;
    for (uint32_t i = 0; i < scale; i++) {
        v *= i < k ? 5 : 10;
    }
    v <<= scale < 10 ? (r >> 16) % 40 : 0;
    return (wi_i128)(v & ~((wi_u128)1 << 127)) + (int64_t)(r >> 32) % 3 - 1;
}

static wi_i128 random_whole(const struct wi_type *type, uint64_t *state)
{
    const struct wi_value_range range = wi_type_range(type);
    const uint64_t r = wt_next_random(state);
    wi_i128 v = 0;
    switch (r % 8) {
    case 0:
        return (r & 256) != 0 ? range.least : range.most;
    case 1:
    case 2:
    case 3:
        v = half_way(type->scale, r % 8 == 1 ? 24 : 53, state);
        break;
    default:
        v = (wi_i128)(random_bits(state) >> 1 >> (r >> 8) % 127);
    }
    v %= range.most;
    return (r & 128) != 0 && range.least < 0 ? -v : v;
}

/* Any pattern of bits, a short number, or half way at that scale. */
static double random_float(const struct wi_type *to, uint64_t *state)
{
    const uint64_t r = wt_next_random(state);
    uint64_t bits = wt_next_random(state);
    double v;
    switch (r % 8) {
    case 0:
        memcpy(&v, &bits, sizeof(v));
        return v;
    case 1:
        return (double)(int64_t)(bits >> 40) / 1000;
    case 2:
    case 3: {
        const int64_t odd = (int64_t)(bits >> (11 + (r >> 8) % 50)) | 1;
        return ldexp((r & 128) != 0 ? (double)-odd : (double)odd,
                     -1 - to->scale);
    }
    case 4:
        return 0.0 * (double)((int64_t)r);
    default:
        v = ldexp((double)(int64_t)bits, (int)((r >> 8) % 200) - 190);
        return (r & 128) != 0 ? (double)(float)v : v;
    }
}

static void random_number(const struct wi_type *type, const struct wi_type *to,
                          uint64_t *state, struct wi_value *out)
{
    *out = (struct wi_value){.null = false};
    if (is_float(type)) {
        const double v = random_float(to, state);
        out->f = type->kind == WI_TYPE_FLOAT32 ? (double)(float)v : v;
    } else if (wi_type_rep(type) == WI_I128) {
        out->w = random_whole(type, state);
    } else {
        out->i = (int64_t)random_whole(type, state);
    }
}

/* ---- evaluation ---------------------------------------------------------- */

struct trial {
    struct wt_expr_rows rows;
    struct wi_expr *expr;
    struct wi_op_mem mem;
    struct wi_eval *eval;
    struct weir_error err;
};

static void open_trial(struct trial *t, const char *const (*columns)[2],
                       uint32_t n_columns)
{
    memset(t, 0, sizeof(*t));
    wt_expr_rows_open(&t->rows, columns, n_columns, ROWS);
    for (uint32_t i = 0; i < n_columns; i++) {
        t->rows.vecs[i].null = NULL;
    }
}

static void open_expr(struct trial *t, const char *text)
{
    cr_assert_eq(wi_expr_open(text, &t->rows.columns, &t->expr, &t->err),
                 WEIR_OK, "%s: %s", text, t->err.message);
    cr_assert_eq(wi_eval_open(t->expr, &t->mem, &t->eval, &t->err), WEIR_OK);
}

static void close_expr(struct trial *t)
{
    wi_eval_close(t->eval);
    wi_expr_close(t->expr);
}

/* These rows. */
static weir_err run(struct trial *t, const uint32_t *rows, uint32_t n,
                    struct wi_vec *out)
{
    struct wi_chunk chunk = t->rows.chunk;
    chunk.sel = n == chunk.n ? NULL : rows;
    chunk.n = n;
    return wi_eval_run(t->eval, &chunk, out, &t->err);
}

/* ---- casts --------------------------------------------------------------- */

static bool same(const struct wi_type *type, const struct wi_value *a,
                 const struct wi_value *b)
{
    if (is_float(type)) {
        return isnan(a->f) ? isnan(b->f) != 0
                           : a->f == b->f && !signbit(a->f) == !signbit(b->f);
    }
    return wi_type_rep(type) == WI_I128 ? a->w == b->w : a->i == b->i;
}

struct pair {
    struct wi_type from;
    struct wi_type to;
    const char *name; /* of `to` */
    struct wi_value expected[ROWS];
    uint32_t good[ROWS];
    uint32_t n_good;
    uint32_t bad[ROWS];
    uint32_t n_bad;
};

static void sort_out(struct pair *p, uint32_t row, bool fits)
{
    if (fits) {
        p->good[p->n_good++] = row;
    } else {
        p->bad[p->n_bad++] = row;
    }
}

/* All rows that fit at once, and the others one by one. */
static void check_cast(struct trial *t, const struct pair *p)
{
    struct wi_vec out;
    char text[80];
    (void)snprintf(text, sizeof(text), "cast(x as %s)", p->name);
    open_expr(t, text);
    cr_assert_eq(run(t, p->good, p->n_good, &out), WEIR_OK, "%s",
                 t->err.message);
    for (uint32_t i = 0; i < p->n_good; i++) {
        const uint32_t row = p->good[i];
        const struct wi_value got = wi_value_at(&out, row);
        char in[WT_EXACT_BYTES];
        const struct wi_value x = wi_value_at(&t->rows.vecs[0], row);
        if (!same(&p->to, &got, &p->expected[row])) {
            if (wi_type_rep(&p->from) == WI_STR) {
                (void)snprintf(in, sizeof(in), "'%s'", x.s.data);
            } else {
                wt_exact_text(&p->from, &x, in);
            }
            cr_assert(false, "%.60s: %s, got %.17g, expected %.17g", in, text,
                      is_float(&p->to) ? got.f : (double)got.i,
                      is_float(&p->to) ? p->expected[row].f
                                       : (double)p->expected[row].i);
        }
    }
    for (uint32_t i = 0; i < p->n_bad; i++) {
        cr_assert_neq(run(t, &p->bad[i], 1, &out), WEIR_OK, "row %u: %s",
                      p->bad[i], text);
    }
    close_expr(t);
}

static void cast_pair(const char *from, const char *to, uint64_t seed)
{
    static struct pair p;
    struct trial t;
    char text[WT_EXACT_BYTES];
    uint64_t state = seed;
    const char *const columns[][2] = {{"x", from}};
    memset(&p, 0, sizeof(p));
    p.from = type_of(from);
    p.to = type_of(to);
    p.name = to;
    open_trial(&t, columns, 1);
    for (uint32_t i = 0; i < ROWS; i++) {
        struct wi_value v;
        random_number(&p.from, &p.to, &state, &v);
        wi_vec_set(&t.rows.vecs[0], i, &v);
        wt_exact_text(&p.from, &v, text);
        sort_out(&p, i, wt_exact_nearest(text, &p.to, &p.expected[i]));
    }
    check_cast(&t, &p);
    wt_expr_rows_close(&t.rows);
}

Test(cast_exact, numbers_to_numbers_are_rounded_once)
{
    for (uint32_t i = 0; i < N_NUMBERS; i++) {
        for (uint32_t j = 0; j < N_NUMBERS; j++) {
            cast_pair(numbers[i], numbers[j], 1 + i * N_NUMBERS + j);
        }
    }
}

/* ---- texts --------------------------------------------------------------- */

/* The same number otherwise: a sign, zeros around it, an exponent. */
static void vary(const char *text, bool exponent, uint64_t r, char *out)
{
    const bool minus = *text == '-';
    const char *sign = minus ? "-" : r % 3 == 0 ? "+" : "";
    const char *zeros = r % 5 == 0 ? "00" : "";
    const bool point = strchr(text, '.') != NULL;
    (void)sprintf(out, "%s%s%s%s", sign, zeros, text + minus,
                  exponent && r % 7 == 0 ? "e0"
                  : point && r % 4 == 0  ? "0"
                                         : "");
}

/* Without the zeros that a text of 512 bytes has no room for. */
static void cut_zeros(char *text)
{
    size_t n = strlen(text);
    while (strchr(text, '.') != NULL &&
           (text[n - 1] == '0' || text[n - 1] == '.')) {
        text[--n] = '\0';
    }
}

static void read_texts(const char *of, const char *to, uint64_t seed)
{
    static struct pair p;
    struct trial t;
    static char text[ROWS][WT_EXACT_BYTES];
    uint64_t state = seed;
    const char *const columns[][2] = {{"x", "utf8"}};
    const struct wi_type type = type_of(of);
    memset(&p, 0, sizeof(p));
    p.from = type_of("utf8");
    p.to = type_of(to);
    p.name = to;
    open_trial(&t, columns, 1);
    for (uint32_t i = 0; i < ROWS; i++) {
        char exact[WT_EXACT_BYTES];
        struct wi_value v;
        do {
            random_number(&type, &p.to, &state, &v);
            wt_exact_text(&type, &v, exact);
            cut_zeros(exact);
        } while (strlen(exact) > 500 || strpbrk(exact, "in") != NULL);
        bool fits = wt_exact_nearest(exact, &p.to, &p.expected[i]);
        fits = fits && (is_float(&p.to) || wt_exact_same(exact, &p.to));
        vary(exact, is_float(&p.to), state, text[i]);
        v.s = (struct wi_str){text[i], (uint32_t)strlen(text[i])};
        wi_vec_set(&t.rows.vecs[0], i, &v);
        sort_out(&p, i, fits);
    }
    check_cast(&t, &p);
    wt_expr_rows_close(&t.rows);
}

Test(cast_exact, texts_are_numbers_exactly_or_rounded_once)
{
    for (uint32_t i = 0; i < N_NUMBERS; i++) {
        for (uint32_t j = 0; j < N_NUMBERS; j++) {
            read_texts(numbers[i], numbers[j], 1 + i * N_NUMBERS + j);
        }
    }
}

/* ---- comparisons --------------------------------------------------------- */

/* Floats are compared as the nearest float64 of both sides, other numbers as
 * they are. */
static int order_of(const struct pair *p, const struct wi_value *x,
                    const struct wi_value *y)
{
    char a[WT_EXACT_BYTES];
    char b[WT_EXACT_BYTES];
    wt_exact_text(&p->from, x, a);
    wt_exact_text(&p->to, y, b);
    if (!is_float(&p->from) && !is_float(&p->to)) {
        return wt_exact_order(a, b);
    }
    const double v = strtod(a, NULL);
    const double w = strtod(b, NULL);
    if (isnan(v) || isnan(w)) {
        return (isnan(v) != 0) - (isnan(w) != 0);
    }
    return (v > w) - (v < w);
}

static void fill_sides(struct trial *t, const struct pair *p, uint64_t seed)
{
    char text[WT_EXACT_BYTES];
    uint64_t state = seed;
    for (uint32_t i = 0; i < ROWS; i++) {
        struct wi_value x;
        struct wi_value y;
        random_number(&p->from, &p->to, &state, &x);
        wt_exact_text(&p->from, &x, text);
        if (i % 4 == 0 || !wt_exact_nearest(text, &p->to, &y)) {
            random_number(&p->to, &p->from, &state, &y);
        }
        wi_vec_set(&t->rows.vecs[0], i, &x);
        wi_vec_set(&t->rows.vecs[1], i, &y);
    }
}

/* A common type of more than 38 digits may have no room for a value. */
static void check_order(struct trial *t, const struct pair *p, uint32_t row,
                        const char *sign, bool less, bool equal, bool more)
{
    struct wi_vec out;
    const struct wi_value x = wi_value_at(&t->rows.vecs[0], row);
    const struct wi_value y = wi_value_at(&t->rows.vecs[1], row);
    const int order = order_of(p, &x, &y);
    const bool expected = order < 0 ? less : order > 0 ? more : equal;
    if (run(t, &row, 1, &out) != WEIR_OK) {
        cr_assert(!is_float(&p->from) && !is_float(&p->to), "%s",
                  t->err.message);
        return;
    }
    cr_assert_eq(wi_value_at(&out, row).b, expected, "row %u: %s", row, sign);
}

static void compare_pair(const char *from, const char *to, uint64_t seed)
{
    static const struct {
        const char *text;
        bool less, equal, more;
    } signs[] = {{"x = y", false, true, false},
                 {"x < y", true, false, false},
                 {"x >= y", false, true, true},
                 {"x in (y)", false, true, false}};
    static struct pair p;
    struct trial t;
    const char *const columns[][2] = {{"x", from}, {"y", to}};
    p.from = type_of(from);
    p.to = type_of(to);
    open_trial(&t, columns, 2);
    fill_sides(&t, &p, seed);
    for (uint32_t s = 0; s < sizeof(signs) / sizeof(signs[0]); s++) {
        char name[120];
        (void)snprintf(name, sizeof(name), "%s of %s, %s", signs[s].text, from,
                       to);
        open_expr(&t, signs[s].text);
        for (uint32_t i = 0; i < ROWS; i += s + 1) {
            check_order(&t, &p, i, name, signs[s].less, signs[s].equal,
                        signs[s].more);
        }
        close_expr(&t);
    }
    wt_expr_rows_close(&t.rows);
}

Test(cast_exact, comparisons_round_both_sides_once_or_not_at_all)
{
    for (uint32_t i = 0; i < N_NUMBERS; i++) {
        for (uint32_t j = 0; j < N_NUMBERS; j++) {
            compare_pair(numbers[i], numbers[j], 1 + i * N_NUMBERS + j);
        }
    }
}

/* ---- quotients ----------------------------------------------------------- */

static void divide_pair(const char *from, const char *by, uint64_t seed)
{
    const char *const columns[][2] = {{"x", from}, {"y", by}};
    struct pair p = {.from = type_of(from), .to = type_of(by)};
    struct trial t;
    struct wi_vec out;
    open_trial(&t, columns, 2);
    fill_sides(&t, &p, seed);
    open_expr(&t, "x / y");
    for (uint32_t i = 0; i < ROWS; i++) {
        const struct wi_value x = wi_value_at(&t.rows.vecs[0], i);
        const struct wi_value y = wi_value_at(&t.rows.vecs[1], i);
        const wi_i128 v = wi_type_rep(&p.from) == WI_I128 ? x.w : x.i;
        const wi_i128 w = wi_type_rep(&p.to) == WI_I128 ? y.w : y.i;
        const struct wt_exact_sum sum = {.low = w < 0 ? -v : v};
        const weir_err code = run(&t, &i, 1, &out);
        cr_assert_eq(code == WEIR_OK, w != 0, "%s", t.err.message);
        if (w != 0) {
            const double q = wt_exact_float64(&sum, (uint64_t)(w < 0 ? -w : w));
            cr_assert_eq(wi_value_at(&out, i).f, q, "row %u of %s / %s", i,
                         from, by);
        }
    }
    close_expr(&t);
    wt_expr_rows_close(&t.rows);
}

Test(cast_exact, quotients_of_integers_are_rounded_once)
{
    for (uint32_t i = 0; i < N_INTEGERS; i++) {
        for (uint32_t j = 0; j < N_INTEGERS; j++) {
            divide_pair(numbers[i], numbers[j], 1 + i * N_INTEGERS + j);
        }
    }
}

/* ---- one text, two types ------------------------------------------------- */

Test(cast_exact, a_decimal_equals_the_float_of_the_same_text)
{
    static const char *const columns[][2] = {{"d", "decimal(38,22)"},
                                             {"e", "decimal(18,9)"},
                                             {"f", "float64"},
                                             {"g", "float32"}};
    static const char *const texts[] = {
        "d = f", "e = f", "cast(d as float32) = g", "cast(e as float32) = g"};
    struct trial t;
    struct wi_vec out;
    uint64_t state = 3;
    open_trial(&t, columns, 4);
    for (uint32_t i = 0; i < ROWS; i++) {
        char text[64];
        const uint64_t r = wt_next_random(&state);
        (void)snprintf(text, sizeof(text), "%s%u.%09u", r % 2 != 0 ? "-" : "",
                       (uint32_t)(r >> 8) % 1000000000,
                       (uint32_t)(wt_next_random(&state) % 1000000000));
        for (uint32_t c = 0; c < 4; c++) {
            wt_expr_rows_put(&t.rows, columns[c][0], i, text);
        }
    }
    for (uint32_t k = 0; k < 4; k++) {
        open_expr(&t, texts[k]);
        cr_assert_eq(run(&t, NULL, ROWS, &out), WEIR_OK);
        for (uint32_t i = 0; i < ROWS; i++) {
            cr_assert(wi_value_at(&out, i).b, "row %u: %s", i, texts[k]);
        }
        close_expr(&t);
    }
    wt_expr_rows_close(&t.rows);
}
