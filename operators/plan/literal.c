/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that a plan spells out. */
#include "operators/plan/literal.h"

#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/expr/value.h"

weir_err wi_literals_init(struct wi_literals *lit,
                          const struct wi_columns *columns,
                          struct weir_error *err)
{
    *lit = (struct wi_literals){.columns = columns};
    lit->col = calloc(columns->n + 1u, sizeof(*lit->col));
    if (lit->col == NULL) {
        return wi_exec_no_memory(err, columns->n * sizeof(*lit->col));
    }
    for (uint32_t c = 0; c < columns->n; c++) {
        lit->col[c].rep = wi_type_rep(&columns->at[c].type);
    }
    return WEIR_OK;
}

static void free_texts(const struct wi_literals *lit, const struct wi_vec *v)
{
    const struct wi_str *str = wi_vec_str(v);
    for (uint64_t i = 0; i < lit->n; i++) {
        if (v->null[i] == 0) {
            free((char *)(uintptr_t)str[i].data);
        }
    }
}

void wi_literals_fini(struct wi_literals *lit)
{
    for (uint32_t c = 0; lit->col != NULL && c < lit->columns->n; c++) {
        if (lit->col[c].rep == WI_STR) {
            free_texts(lit, &lit->col[c]);
        }
        free(lit->col[c].values);
        free(lit->col[c].null);
    }
    free(lit->col);
    *lit = (struct wi_literals){0};
}

static weir_err grow(struct wi_literals *lit, struct weir_error *err)
{
    const uint64_t room = lit->room == 0 ? 16 : 2 * lit->room;
    for (uint32_t c = 0; c < lit->columns->n; c++) {
        struct wi_vec *v = &lit->col[c];
        const size_t bytes = room * wi_rep_bytes(v->rep);
        void *values = realloc(v->values, bytes);
        v->values = values == NULL ? v->values : values;
        uint8_t *null = realloc(v->null, room);
        v->null = null == NULL ? v->null : null;
        if (values == NULL || null == NULL) {
            return wi_exec_no_memory(err, bytes);
        }
    }
    lit->room = room;
    return WEIR_OK;
}

weir_err wi_literals_row(struct wi_literals *lit, struct weir_error *err)
{
    if (lit->n == lit->room && grow(lit, err) != WEIR_OK) {
        return WEIR_ERR_NO_MEMORY;
    }
    for (uint32_t c = 0; c < lit->columns->n; c++) {
        const uint32_t bytes = wi_rep_bytes(lit->col[c].rep);
        memset((char *)lit->col[c].values + lit->n * bytes, 0, bytes);
        lit->col[c].null[lit->n] = 1;
    }
    lit->n++;
    return WEIR_OK;
}

static weir_err store(struct wi_vec *v, uint64_t row, struct wi_value *value,
                      struct weir_error *err)
{
    if (v->rep == WI_STR) {
        char *copy = malloc(value->s.n_bytes + 1u);
        if (copy == NULL) {
            return wi_exec_no_memory(err, value->s.n_bytes);
        }
        if (value->s.n_bytes > 0) {
            memcpy(copy, value->s.data, value->s.n_bytes);
        }
        value->s.data = copy;
    }
    wi_vec_set(v, row, value);
    v->null[row] = 0;
    return WEIR_OK;
}

weir_err wi_literals_put(struct wi_literals *lit, uint32_t col,
                         struct wi_str text, struct weir_error *err)
{
    const struct wi_type *type = &lit->columns->at[col].type;
    struct wi_value value;
    char name[WI_TYPE_TEXT_BYTES];
    switch (wi_value_read(text, type, &value)) {
    case WI_READ_OK:
        return store(&lit->col[col], lit->n - 1, &value, err);
    case WI_READ_MISFIT:
        return wi_exec_fail(err, WEIR_ERR_ARG, "%.*s does not fit %s",
                            (int)text.n_bytes, text.data,
                            wi_type_text(type, name));
    default:
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "\"%.*s\" is no %s; %s was "
                            "expected",
                            (int)text.n_bytes, text.data,
                            wi_type_text(type, name), wi_value_form(type));
    }
}

void wi_literals_slice(const struct wi_literals *lit, uint64_t first,
                       uint32_t n, struct wi_vec *col_out, struct wi_chunk *out)
{
    for (uint32_t c = 0; c < lit->columns->n; c++) {
        const struct wi_vec *v = &lit->col[c];
        col_out[c] = (struct wi_vec){
            .rep = v->rep,
            .values = (char *)v->values + first * wi_rep_bytes(v->rep),
            .null = v->null + first,
        };
    }
    *out = (struct wi_chunk){.n = n, .n_cols = lit->columns->n, .col = col_out};
}
