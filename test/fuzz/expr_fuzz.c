/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions: any text is refused with a place, or computed. What it gives for
 * all rows at once is what it gives for each of them alone, and an error for
 * one of them is an error for all.
 */
#include "operators/expr/expr.h"
#include "operators/expr/value.h"
#include "test/fuzz/fuzz.h"

enum { MAX_TEXT = 2000, N_COLUMNS = 9, N_ROWS = 4 };

static const char *const columns[N_COLUMNS][2 + N_ROWS] = {
    {"id", "int32", "7", "-1", "2147483647", "-2147483648"},
    {"qty", "int64?", "12", NULL, "9223372036854775807", "0"},
    {"price", "decimal(12,2)", "80000.50", "-0.01", "9999999999.99", "0"},
    {"rate", "float64", "0.5", "-inf", "nan", "1e308"},
    {"name", "utf8?", "Gr\xc3\xbc\xc3\x9f", NULL, "", "%_a"},
    {"raw", "binary", "abc", "", "\xff", "z"},
    {"flag", "bool?", "true", "false", NULL, "true"},
    {"day", "date", "2013-07-01", "0001-01-01", "9999-12-31", "2000-02-29"},
    {"wide", "decimal(38,10)?", "1.5", NULL,
     "9999999999999999999999999999.9999999999", "-1"},
};

struct rows {
    struct wi_columns columns;
    struct wi_op_mem mem;
    struct wi_vec *vecs;
    struct wi_chunk chunk;
};

static void put(struct wi_vec *vec, const struct wi_type *type, uint32_t row,
                const char *text)
{
    uint32_t bytes = wi_rep_bytes(vec->rep);
    struct wi_value value;
    memset(&value, 0, sizeof(value));
    vec->null[row] = text == NULL;
    if (text == NULL && vec->rep == WI_STR) {
        ((struct wi_str *)vec->values)[row] = (struct wi_str){"", 0};
        return;
    }
    if (text != NULL) {
        struct wi_str s = {text, (uint32_t)strlen(text)};
        FZ_CHECK(wi_value_read(s, type, &value) == WI_READ_OK, "%s", text);
    }
    memcpy((char *)vec->values + row * bytes, &value, bytes);
}

static void open_rows(struct rows *r)
{
    struct weir_error err;
    memset(r, 0, sizeof(*r));
    for (uint32_t c = 0; c < N_COLUMNS; c++) {
        struct wi_type type;
        FZ_CHECK(wi_type_parse(columns[c][1], &type) &&
                     wi_columns_add(&r->columns, columns[c][0], &type) ==
                         WEIR_OK,
                 "%s", columns[c][1]);
    }
    FZ_CHECK(wi_vecs_open(&r->columns, &r->mem, &r->vecs, &err) == WEIR_OK,
             "no memory");
    for (uint32_t c = 0; c < N_COLUMNS; c++) {
        for (uint32_t row = 0; row < N_ROWS; row++) {
            put(&r->vecs[c], &r->columns.at[c].type, row, columns[c][2 + row]);
        }
        if (!r->columns.at[c].type.nullable) {
            r->vecs[c].null = NULL;
        }
    }
    r->chunk =
        (struct wi_chunk){.n = N_ROWS, .n_cols = N_COLUMNS, .col = r->vecs};
}

/* ---- what it gives ------------------------------------------------------- */

/* A value as bytes that do not move: of a string its characters. */
struct value {
    bool null;
    uint32_t n;
    uint8_t bytes[64];
};

static struct value value_at(const struct wi_vec *v, uint32_t pos)
{
    struct value out = {.null = v->null != NULL && v->null[pos] != 0};
    uint32_t n = wi_rep_bytes(v->rep);
    const uint8_t *at = (const uint8_t *)v->values + pos * n;
    if (out.null) {
        return out;
    }
    if (v->rep == WI_STR) {
        const struct wi_str *s = &wi_vec_str(v)[pos];
        n = s->n_bytes;
        at = (const uint8_t *)s->data;
    }
    for (uint32_t i = 0; i < n; i++) { /* reads all, keeps some */
        out.bytes[i % sizeof(out.bytes)] ^= at[i];
    }
    out.n = n;
    return out;
}

static bool same(const struct value *a, const struct value *b)
{
    return a->null == b->null && a->n == b->n &&
           memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static void compute(const struct wi_expr *expr, const struct rows *r)
{
    struct wi_op_mem mem = {.limit_bytes = 16u << 20};
    struct weir_error err;
    struct wi_eval *eval = NULL;
    struct wi_vec vec;
    struct value all[N_ROWS];
    if (wi_eval_open(expr, &mem, &eval, &err) != WEIR_OK) {
        return;
    }
    weir_err rc = wi_eval_run(eval, &r->chunk, &vec, &err);
    for (uint32_t i = 0; rc == WEIR_OK && i < N_ROWS; i++) {
        all[i] = value_at(&vec, i);
        FZ_CHECK(!all[i].null || wi_expr_type(expr)->nullable,
                 "null of a type without");
    }
    uint32_t failed = 0;
    for (uint32_t i = 0; i < N_ROWS; i++) {
        struct wi_chunk one = r->chunk;
        one.sel = &i;
        one.n = 1;
        weir_err alone = wi_eval_run(eval, &one, &vec, &err);
        failed += alone != WEIR_OK ? 1 : 0;
        if (alone == WEIR_OK && rc == WEIR_OK) {
            struct value v = value_at(&vec, i);
            FZ_CHECK(same(&v, &all[i]), "row %u alone differs", i);
        }
    }
    FZ_CHECK((rc == WEIR_OK) == (failed == 0),
             "%u rows fail alone, and all together: %s", failed,
             weir_err_name(rc));
    wi_eval_close(eval);
    FZ_CHECK(mem.held_bytes == 0, "%llu bytes left",
             (unsigned long long)mem.held_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static struct rows rows;
    struct weir_error err = {.message = ""};
    struct wi_expr *expr = NULL;
    if (n > MAX_TEXT || memchr(bytes, 0, n) != NULL) {
        return -1;
    }
    if (rows.vecs == NULL) {
        open_rows(&rows);
    }
    char *text = malloc(n + 1);
    FZ_CHECK(text != NULL, "no memory");
    memcpy(text, bytes, n);
    text[n] = '\0';
    weir_err rc = wi_expr_open(text, &rows.columns, &expr, &err);
    if (rc == WEIR_OK) {
        compute(expr, &rows);
        wi_expr_close(expr);
    } else {
        FZ_CHECK(err.code == rc && err.message[0] != '\0' &&
                     strchr(err.message, '\n') == NULL,
                 "%s: %s", weir_err_name(rc), err.message);
    }
    free(text);
    return 0;
}
