/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/expr.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/expr/value.h"

void wt_expr_rows_open(struct wt_expr_rows *rows,
                       const char *const (*columns)[2], uint32_t n_columns,
                       uint32_t n_rows)
{
    struct weir_error err;
    memset(rows, 0, sizeof(*rows));
    for (uint32_t i = 0; i < n_columns; i++) {
        struct wi_type type;
        cr_assert(wi_type_parse(columns[i][1], &type), "%s", columns[i][1]);
        cr_assert_eq(wi_columns_add(&rows->columns, columns[i][0], &type),
                     WEIR_OK);
    }
    cr_assert_eq(wi_vecs_open(&rows->columns, &rows->mem, &rows->vecs, &err),
                 WEIR_OK);
    rows->nulls = calloc(n_columns + 1, sizeof(*rows->nulls));
    cr_assert_not_null(rows->nulls);
    for (uint32_t i = 0; i < n_columns; i++) {
        rows->nulls[i] = rows->vecs[i].null;
        memset(rows->nulls[i], 1, n_rows);
        if (rows->vecs[i].rep == WI_STR) {
            memset(rows->vecs[i].values, 0, n_rows * sizeof(struct wi_str));
        } else { /* at a null there may be anything */
            memset(rows->vecs[i].values, 0x7f,
                   n_rows * wi_rep_bytes(rows->vecs[i].rep));
        }
    }
    rows->chunk =
        (struct wi_chunk){.n = n_rows, .n_cols = n_columns, .col = rows->vecs};
}

void wt_expr_rows_close(struct wt_expr_rows *rows)
{
    wi_vecs_close(rows->vecs, rows->columns.n, &rows->mem);
    cr_assert_eq(rows->mem.held_bytes, 0);
    wi_columns_fini(&rows->columns);
    for (uint32_t i = 0; i < rows->n_texts; i++) {
        free(rows->texts[i]);
    }
    free(rows->texts);
    free(rows->nulls);
}

static struct wi_str keep(struct wt_expr_rows *rows, const char *text)
{
    char **texts =
        realloc(rows->texts, (rows->n_texts + 1) * sizeof(*rows->texts));
    cr_assert_not_null(texts);
    rows->texts = texts;
    texts[rows->n_texts] = strdup(text);
    return (struct wi_str){texts[rows->n_texts++], (uint32_t)strlen(text)};
}

void wt_expr_rows_put(struct wt_expr_rows *rows, const char *column,
                      uint32_t row, const char *text)
{
    int col = wi_columns_find(&rows->columns, column);
    cr_assert_geq(col, 0, "%s", column);
    struct wi_vec *vec = &rows->vecs[col];
    rows->nulls[col][row] = text == NULL;
    vec->null = NULL;
    for (uint32_t i = 0; i < rows->chunk.n; i++) {
        vec->null = rows->nulls[col][i] ? rows->nulls[col] : vec->null;
    }
    if (text == NULL) {
        return;
    }
    struct wi_value value;
    cr_assert_eq(
        wi_value_read(keep(rows, text), &rows->columns.at[col].type, &value),
        WI_READ_OK, "%s", text);
    uint32_t bytes = wi_rep_bytes(vec->rep);
    memcpy((char *)vec->values + row * bytes, &value, bytes);
}

weir_err wt_expr_code(const struct wt_expr_rows *rows, const char *text,
                      struct weir_error *err)
{
    struct wi_expr *expr;
    weir_err code = wi_expr_open(text, &rows->columns, &expr, err);
    if (code == WEIR_OK) {
        wi_expr_close(expr);
    }
    return code;
}

static void show(const struct wi_type *type, const struct wi_value *value,
                 char out[WT_VALUE_BYTES])
{
    char name[WI_TYPE_TEXT_BYTES];
    char text[WI_VALUE_TEXT_BYTES];
    (void)snprintf(out, WT_VALUE_BYTES, "%s: %s",
                   wi_value_show(type, value, text),
                   wi_expr_type_text(type, name));
    cr_assert(type->nullable || !value->null, "null of a type without: %s",
              out);
}

const char *wt_expr_show(const struct wt_expr_rows *rows, const char *text,
                         uint32_t pos, char out[WT_VALUE_BYTES])
{
    struct weir_error err = {.code = WEIR_OK};
    struct wi_op_mem mem = {.above = NULL};
    struct wi_expr *expr = NULL;
    struct wi_eval *eval = NULL;
    struct wi_vec vec;
    struct wi_chunk one = rows->chunk;
    one.sel = &pos;
    one.n = 1;
    weir_err code = wi_expr_open(text, &rows->columns, &expr, &err);
    if (code == WEIR_OK) {
        cr_assert_eq(wi_eval_open(expr, &mem, &eval, &err), WEIR_OK);
        code = wi_eval_run(eval, &one, &vec, &err);
    }
    if (code == WEIR_OK) {
        struct wi_value value = wi_value_at(&vec, pos);
        show(wi_expr_type(expr), &value, out);
    } else {
        cr_assert_eq(code, err.code);
        (void)snprintf(out, WT_VALUE_BYTES, "error: %s", err.message);
    }
    wi_eval_close(eval);
    wi_expr_close(expr);
    cr_assert_eq(mem.held_bytes, 0);
    return out;
}
