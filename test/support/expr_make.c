/* SPDX-License-Identifier: Apache-2.0 */
/* Random expressions, and their text. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/expr_model.h"

/* ---- making -------------------------------------------------------------- */

struct maker {
    struct wt_random *r;
    const struct wi_columns *columns;
};

/* xorshift64* (Vigna, 2016) */
uint64_t wt_random_next(struct wt_random *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * UINT64_C(2685821657736338717);
}

uint32_t wt_random_below(struct wt_random *r, uint32_t n)
{
    return (uint32_t)((wt_random_next(r) >> 32) % n);
}

static struct wt_model *make(const struct maker *k, enum wi_type_kind kind,
                             uint32_t depth);

static struct wt_model *new_model(enum wt_model_op op, enum wi_type_kind kind)
{
    struct wt_model *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        abort();
    }
    m->op = op;
    m->type.kind = kind;
    return m;
}

void wt_model_free(struct wt_model *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        wt_model_free(m->arg[i]);
    }
    free(m);
}

static void make_number(struct wt_random *r, struct wt_model *m)
{
    int32_t value = (int32_t)wt_random_below(r, 20) - 5;
    m->value.w = value;
    if (m->type.kind == WI_TYPE_INT64) {
        (void)snprintf(m->text, sizeof(m->text), "%d", value);
        return;
    }
    uint32_t cents = wt_random_below(r, 100);
    m->value.w = value * 100 + (value < 0 ? -(int32_t)cents : (int32_t)cents);
    m->type.scale = 2;
    m->type.precision = value <= -10 || value >= 10 ? 4 : value == 0 ? 2 : 3;
    (void)snprintf(m->text, sizeof(m->text), "%d.%02u", value, cents);
    if (m->type.kind == WI_TYPE_FLOAT64) {
        m->type.precision = m->type.scale = 0;
        strcat(m->text, "e0");
        m->value.f = strtod(m->text, NULL);
    }
}

static void make_text(struct wt_random *r, struct wt_model *m)
{
    static const char *const texts[] = {"",  "a",   "ab",
                                        "B", "xyz", "Gr\303\274\303\237e"};
    const char *text = texts[wt_random_below(r, 6)];
    m->value.n = (uint32_t)strlen(text);
    memcpy(m->value.s, text, m->value.n);
    (void)snprintf(m->text, sizeof(m->text), "'%s'", text);
}

static struct wt_model *make_literal(const struct maker *k,
                                     enum wi_type_kind kind)
{
    struct wt_model *m = new_model(WT_LITERAL, kind);
    char name[WI_TYPE_TEXT_BYTES];
    if (kind == WI_TYPE_BOOL) {
        m->value.w = wt_random_below(k->r, 2);
        strcpy(m->text, m->value.w ? "true" : "false");
    } else if (kind == WI_TYPE_UTF8) {
        make_text(k->r, m);
    } else {
        make_number(k->r, m);
    }
    if (wt_random_below(k->r, 12) == 0) {
        m->value = (struct wt_model_value){.null = true};
        (void)snprintf(m->text, sizeof(m->text), "cast(null as %s)",
                       wi_type_text(&m->type, name));
    }
    return m;
}

static struct wt_model *make_leaf(const struct maker *k, enum wi_type_kind kind)
{
    uint32_t first = wt_random_below(k->r, k->columns->n);
    for (uint32_t i = 0; i < k->columns->n && wt_random_below(k->r, 4) > 0;
         i++) {
        uint32_t c = (first + i) % k->columns->n;
        const struct wi_type *type = &k->columns->at[c].type;
        if (type->kind == kind ||
            (kind == WI_TYPE_INT64 && type->kind == WI_TYPE_INT32)) {
            struct wt_model *m = new_model(WT_COLUMN, kind);
            m->type = *type;
            m->type.nullable = false;
            m->column = c;
            return m;
        }
    }
    return make_literal(k, kind);
}

static void add(const struct maker *k, struct wt_model *m,
                enum wi_type_kind kind, uint32_t depth)
{
    m->arg[m->n++] = make(k, kind, depth);
}

static enum wi_type_kind any_number(struct wt_random *r)
{
    static const enum wi_type_kind kinds[] = {WI_TYPE_INT64, WI_TYPE_DECIMAL,
                                              WI_TYPE_FLOAT64};
    return kinds[wt_random_below(r, 3)];
}

static enum wi_type_kind any_kind(struct wt_random *r)
{
    static const enum wi_type_kind kinds[] = {WI_TYPE_INT64, WI_TYPE_DECIMAL,
                                              WI_TYPE_FLOAT64, WI_TYPE_UTF8,
                                              WI_TYPE_BOOL};
    return kinds[wt_random_below(r, 5)];
}

static struct wt_model *make_choice(const struct maker *k,
                                    enum wi_type_kind kind, uint32_t depth)
{
    static const enum wt_model_op ops[] = {WT_CASE, WT_COALESCE, WT_NULLIF};
    struct wt_model *m = new_model(ops[wt_random_below(k->r, 3)], kind);
    uint32_t n = m->op == WT_NULLIF ? 2 : 1 + wt_random_below(k->r, 4);
    n = m->op == WT_CASE && n < 2 ? 2 : n;
    while (m->n < n) {
        bool condition = m->op == WT_CASE && m->n % 2 == 0 && m->n + 1 < n;
        add(k, m, condition ? WI_TYPE_BOOL : kind, depth - 1);
    }
    return m;
}

static struct wt_model *make_arithmetic(const struct maker *k,
                                        enum wi_type_kind kind, uint32_t depth)
{
    enum wt_model_op op = (enum wt_model_op)(WT_ADD + wt_random_below(k->r, 6));
    if (kind == WI_TYPE_INT64 && op == WT_DIV) {
        op = WT_MUL;
    }
    struct wt_model *m = new_model(op, kind);
    if (op == WT_NEG) {
        add(k, m, kind, depth - 1);
        return m;
    }
    enum wi_type_kind other = kind;
    if (kind == WI_TYPE_DECIMAL && wt_random_below(k->r, 3) == 0) {
        other = WI_TYPE_INT64;
    } else if (kind == WI_TYPE_FLOAT64) {
        other = any_number(k->r);
    }
    bool turn = wt_random_below(k->r, 2);
    add(k, m, turn ? other : kind, depth - 1);
    add(k, m, turn ? kind : other, depth - 1);
    return m;
}

static struct wt_model *make_number_cast(const struct maker *k,
                                         enum wi_type_kind kind, uint32_t depth)
{
    struct wt_model *m = new_model(WT_CAST, kind);
    bool exact = kind != WI_TYPE_FLOAT64;
    add(k, m,
        exact && wt_random_below(k->r, 2) ? WI_TYPE_DECIMAL : WI_TYPE_INT64,
        depth - 1);
    if (kind == WI_TYPE_DECIMAL) {
        m->type.precision = (uint8_t)(1 + wt_random_below(k->r, 38));
        m->type.scale =
            (uint8_t)wt_random_below(k->r, m->type.precision / 2 + 1u);
    }
    return m;
}

static struct wt_model *make_numeric(const struct maker *k,
                                     enum wi_type_kind kind, uint32_t depth)
{
    uint32_t dice = wt_random_below(k->r, 10);
    if (dice == 0) {
        return make_number_cast(k, kind, depth);
    }
    if (dice == 1 && kind == WI_TYPE_INT64) {
        struct wt_model *m = new_model(WT_LENGTH, kind);
        add(k, m, WI_TYPE_UTF8, depth - 1);
        return m;
    }
    return dice < 4 ? make_choice(k, kind, depth)
                    : make_arithmetic(k, kind, depth);
}

static struct wt_model *make_string(const struct maker *k, uint32_t depth)
{
    static const enum wt_model_op ops[] = {WT_CONCAT, WT_SUBSTRING, WT_UPPER,
                                           WT_CAST, WT_CASE};
    enum wt_model_op op = ops[wt_random_below(k->r, 5)];
    if (op == WT_CASE) {
        return make_choice(k, WI_TYPE_UTF8, depth);
    }
    struct wt_model *m = new_model(op, WI_TYPE_UTF8);
    add(k, m, op == WT_CAST ? WI_TYPE_INT64 : WI_TYPE_UTF8, depth - 1);
    if (op == WT_CONCAT) {
        add(k, m, WI_TYPE_UTF8, depth - 1);
    } else if (op == WT_SUBSTRING) {
        add(k, m, WI_TYPE_INT64, 0);
        add(k, m, WI_TYPE_INT64, 0);
    }
    return m;
}

static struct wt_model *make_like(const struct maker *k, uint32_t depth)
{
    static const char *const patterns[] = {
        "%", "a%", "%b", "%r%", "a_", "_", "%\xc3\xbc_e", "xyz", "", "_%b%_"};
    struct wt_model *m = new_model(WT_LIKE, WI_TYPE_BOOL);
    add(k, m, WI_TYPE_UTF8, depth - 1);
    m->negated = wt_random_below(k->r, 2);
    strcpy(m->text, patterns[wt_random_below(k->r, 10)]);
    return m;
}

static struct wt_model *make_bool(const struct maker *k, uint32_t depth)
{
    static const enum wt_model_op ops[] = {WT_AND,     WT_OR, WT_NOT,
                                           WT_IS_NULL, WT_IN, WT_BETWEEN};
    uint32_t dice = wt_random_below(k->r, 14);
    if (dice == 0) {
        return make_like(k, depth);
    }
    if (dice == 1) {
        return make_choice(k, WI_TYPE_BOOL, depth);
    }
    enum wt_model_op op =
        dice < 8 ? ops[dice - 2]
                 : (enum wt_model_op)(WT_EQ + wt_random_below(k->r, 6));
    struct wt_model *m = new_model(op, WI_TYPE_BOOL);
    bool logic = op == WT_AND || op == WT_OR || op == WT_NOT;
    enum wi_type_kind kind = logic ? WI_TYPE_BOOL : any_kind(k->r);
    uint32_t n = op == WT_NOT || op == WT_IS_NULL ? 1
                 : op == WT_BETWEEN               ? 3
                 : op == WT_IN || logic           ? 2 + wt_random_below(k->r, 3)
                                                  : 2;
    bool mixed =
        !logic && op != WT_IN && kind != WI_TYPE_UTF8 && kind != WI_TYPE_BOOL;
    while (m->n < n) {
        add(k, m, mixed ? any_number(k->r) : kind, depth - 1);
    }
    m->negated = (op == WT_IS_NULL || op == WT_IN || op == WT_BETWEEN) &&
                 wt_random_below(k->r, 2);
    return m;
}

static struct wt_model *make(const struct maker *k, enum wi_type_kind kind,
                             uint32_t depth)
{
    if (depth == 0 || wt_random_below(k->r, 8) == 0) {
        return make_leaf(k, kind);
    }
    struct wt_model *m = kind == WI_TYPE_BOOL   ? make_bool(k, depth)
                         : kind == WI_TYPE_UTF8 ? make_string(k, depth)
                                                : make_numeric(k, kind, depth);
    if (wt_model_check(m)) {
        return m;
    }
    wt_model_free(m);
    return make_leaf(k, kind);
}

struct wt_model *wt_model_make(struct wt_random *r,
                               const struct wi_columns *columns,
                               enum wi_type_kind kind, uint32_t depth)
{
    struct maker k = {r, columns};
    return make(&k, kind, depth);
}

/* ---- text ---------------------------------------------------------------- */

struct text {
    const struct wi_columns *columns;
    char *at;
    size_t room;
};

static void put(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(t->at, t->room, fmt, args);
    va_end(args);
    size_t used = (size_t)n < t->room ? (size_t)n : t->room - 1;
    t->at += used;
    t->room -= used;
}

static void write(struct text *t, const struct wt_model *m);

static void write_list(struct text *t, const struct wt_model *m, uint32_t first,
                       const char *between)
{
    for (uint32_t i = first; i < m->n; i++) {
        put(t, "%s", i == first ? "" : between);
        write(t, m->arg[i]);
    }
}

static void write_call(struct text *t, const struct wt_model *m,
                       const char *name)
{
    put(t, "%s(", name);
    write_list(t, m, 0, ", ");
    put(t, ")");
}

static void write_case(struct text *t, const struct wt_model *m)
{
    put(t, "case");
    for (uint32_t i = 0; i < m->n; i++) {
        put(t, "%s",
            i % 2 == 1      ? " then "
            : i + 1 == m->n ? " else "
                            : " when ");
        write(t, m->arg[i]);
    }
    put(t, " end");
}

static void write_test(struct text *t, const struct wt_model *m)
{
    const char *not = m->negated ? " not" : "";
    put(t, "(");
    write(t, m->arg[0]);
    switch (m->op) {
    case WT_IS_NULL:
        put(t, " is%s null", not );
        break;
    case WT_IN:
        put(t, "%s in (", not );
        write_list(t, m, 1, ", ");
        put(t, ")");
        break;
    case WT_LIKE:
        put(t, "%s like '%s'", not, m->text);
        break;
    default:
        put(t, "%s between ", not );
        write_list(t, m, 1, " and ");
        break;
    }
    put(t, ")");
}

static void write(struct text *t, const struct wt_model *m)
{
    static const char *const signs[] = {
        [WT_ADD] = " + ", [WT_SUB] = " - ",    [WT_MUL] = " * ",
        [WT_DIV] = " / ", [WT_MOD] = " % ",    [WT_EQ] = " = ",
        [WT_NE] = " <> ", [WT_LT] = " < ",     [WT_LE] = " <= ",
        [WT_GT] = " > ",  [WT_GE] = " >= ",    [WT_AND] = " and ",
        [WT_OR] = " or ", [WT_CONCAT] = " || "};
    char name[WI_TYPE_TEXT_BYTES];
    switch (m->op) {
    case WT_COLUMN:
        put(t, "%s", t->columns->at[m->column].name);
        return;
    case WT_LITERAL:
        put(t, "%s", m->text);
        return;
    case WT_NEG:
        write_call(t, m, "-");
        return;
    case WT_NOT:
        put(t, "(");
        write_call(t, m, "not ");
        put(t, ")");
        return;
    case WT_CAST:
        put(t, "cast(");
        write(t, m->arg[0]);
        put(t, " as %s)", wi_type_text(&m->type, name));
        return;
    case WT_CASE:
        write_case(t, m);
        return;
    case WT_COALESCE:
        write_call(t, m, "coalesce");
        return;
    case WT_NULLIF:
        write_call(t, m, "nullif");
        return;
    case WT_SUBSTRING:
        write_call(t, m, "substring");
        return;
    case WT_UPPER:
        write_call(t, m, "upper");
        return;
    case WT_LENGTH:
        write_call(t, m, "length");
        return;
    case WT_IS_NULL:
    case WT_IN:
    case WT_LIKE:
    case WT_BETWEEN:
        write_test(t, m);
        return;
    default:
        put(t, "(");
        write_list(t, m, 0, signs[m->op]);
        put(t, ")");
        return;
    }
}

bool wt_model_text(const struct wt_model *m, const struct wi_columns *columns,
                   char *out, size_t room)
{
    struct text t = {columns, out, room};
    write(&t, m);
    return t.room > 1;
}
