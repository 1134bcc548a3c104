/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Random expressions, and what they give, one row at a time.
 *
 * This is docs/expressions.md written a second time, as simply as possible:
 * values are text or 128 bits, nothing is shared with operators/expr.
 */
#ifndef WT_EXPR_MODEL_H
#define WT_EXPR_MODEL_H

#include <stddef.h>

#include "operators/base/type.h"

enum wt_model_op {
    WT_COLUMN,
    WT_LITERAL,
    WT_ADD,
    WT_SUB,
    WT_MUL,
    WT_DIV,
    WT_MOD,
    WT_NEG,
    WT_CAST,
    WT_EQ,
    WT_NE,
    WT_LT,
    WT_LE,
    WT_GT,
    WT_GE,
    WT_AND,
    WT_OR,
    WT_NOT,
    WT_IS_NULL,
    WT_IN,
    WT_BETWEEN,
    WT_LIKE,
    WT_CASE,
    WT_COALESCE,
    WT_NULLIF,
    WT_CONCAT,
    WT_SUBSTRING,
    WT_UPPER,
    WT_LENGTH,
};

enum { WT_MODEL_TEXT = 512, WT_MODEL_ARGS = 5 };

/** A value: `w` of integers, decimals, dates and bools. */
struct wt_model_value {
    bool null;
    bool error;
    wi_i128 w;
    double f;
    uint32_t n;
    char s[WT_MODEL_TEXT];
};

struct wt_model {
    enum wt_model_op op;
    struct wi_type type;
    uint32_t n;
    struct wt_model *arg[WT_MODEL_ARGS];
    bool negated;
    uint32_t column;
    char text[48];               /* LITERAL: as written; LIKE: the pattern */
    struct wt_model_value value; /* LITERAL */
};

/** Numbers for tests, the same for one seed. */
struct wt_random {
    uint64_t state;
};
uint64_t wt_random_next(struct wt_random *r);
/** 0 .. n-1 */
uint32_t wt_random_below(struct wt_random *r, uint32_t n);

/** An expression of that kind (int64, decimal, float64, bool, utf8) over the
 *  columns. Ownership: wt_model_free. */
struct wt_model *wt_model_make(struct wt_random *r,
                               const struct wi_columns *columns,
                               enum wi_type_kind kind, uint32_t depth);
void wt_model_free(struct wt_model *m);

/** Its text, cut at room - 1: true if it did fit. */
bool wt_model_text(const struct wt_model *m, const struct wi_columns *columns,
                   char *out, size_t room);

/** What it gives for one row, whose values are by column. */
struct wt_model_value wt_model_run(const struct wt_model *m,
                                   const struct wt_model_value *row);

/** Is it true? A condition stops at what is null, too. error: *error_out. */
bool wt_model_true(const struct wt_model *m, const struct wt_model_value *row,
                   bool *error_out);

/** Set the type by the rules; false: there is no such expression. */
bool wt_model_check(struct wt_model *m);

/** A type for both: false if there is none. */
bool wt_model_common(const struct wt_model *x, const struct wt_model *y,
                     struct wi_type *out);
/** Digits of a number before and after the point. */
void wt_model_digits(const struct wt_model *m, int *before, int *scale);
/** Without columns, and no error. */
bool wt_model_constant(const struct wt_model *m);

#endif /* WT_EXPR_MODEL_H */
