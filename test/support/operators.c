/* SPDX-License-Identifier: Apache-2.0 */
/* Operators in tests. */
#include "test/support/operators.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t wt_next_random(uint64_t *state)
{
    /* xorshift64*: Marsaglia 2003, Vigna 2016 */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1d;
}

/* ---- rows ---------------------------------------------------------------- */

void wt_op_rows_init(struct wt_op_rows *rows, const char *columns)
{
    memset(rows, 0, sizeof(*rows));
    char *text = strdup(columns);
    char *rest = text;
    for (char *word = strsep(&rest, " "); word != NULL;
         word = strsep(&rest, " ")) {
        char *type_text = strchr(word, ':');
        struct wi_type type;
        cr_assert_not_null(type_text, "%s: no type", word);
        *type_text++ = '\0';
        cr_assert(wi_type_parse(type_text, &type), "%s: no such type",
                  type_text);
        cr_assert_eq(wi_columns_add(&rows->columns, word, &type), WEIR_OK);
    }
    free(text);
}

void wt_op_rows_clear(struct wt_op_rows *rows)
{
    for (size_t i = 0; i < (size_t)rows->n * rows->columns.n; i++) {
        free(rows->at[i].s);
    }
    rows->n = 0;
}

void wt_op_rows_fini(struct wt_op_rows *rows)
{
    wt_op_rows_clear(rows);
    free(rows->at);
    wi_columns_fini(&rows->columns);
    memset(rows, 0, sizeof(*rows));
}

struct wt_value *wt_op_rows_at(const struct wt_op_rows *rows, uint32_t i)
{
    return &rows->at[(size_t)i * rows->columns.n];
}

struct wt_value *wt_op_rows_new(struct wt_op_rows *rows)
{
    size_t row_bytes = rows->columns.n * sizeof(*rows->at);
    if (rows->n == rows->room) {
        rows->room = rows->room == 0 ? 64 : 2 * rows->room;
        rows->at = realloc(rows->at, rows->room * row_bytes + 1);
        cr_assert_not_null(rows->at);
    }
    struct wt_value *row = wt_op_rows_at(rows, rows->n++);
    memset(row, 0, row_bytes);
    return row;
}

static wi_i128 parse_i128(const char *text)
{
    bool minus = *text == '-';
    wi_i128 v = 0;
    for (text += minus; *text != '\0'; text++) {
        cr_assert(*text >= '0' && *text <= '9', "not a number: %s", text);
        v = 10 * v + (*text - '0');
    }
    return minus ? -v : v;
}

void wt_op_rows_add(struct wt_op_rows *rows, const char *line)
{
    struct wt_value *row = wt_op_rows_new(rows);
    char *text = strdup(line);
    char *rest = text;
    for (uint32_t c = 0; c < rows->columns.n; c++) {
        const char *word = strsep(&rest, " ");
        cr_assert_not_null(word, "too few fields: %s", line);
        if (strcmp(word, "-") == 0) {
            row[c].null = true;
            continue;
        }
        switch (wi_type_rep(&rows->columns.at[c].type)) {
        case WI_F64:
            row[c].f = strtod(word, NULL);
            break;
        case WI_STR:
            row[c].s = strdup(strcmp(word, "\"\"") == 0 ? "" : word);
            break;
        default:
            row[c].i = parse_i128(word);
        }
    }
    cr_assert_null(rest, "too many fields: %s", line);
    free(text);
}

void wt_op_rows_add_all(struct wt_op_rows *rows, const char *lines)
{
    char *copy = strdup(lines);
    char *rest = copy;
    while (rest != NULL) {
        wt_op_rows_add(rows, strsep(&rest, "\n"));
    }
    free(copy);
}

static void random_value(struct wt_value *v, const struct wi_type *type,
                         uint64_t *state, uint64_t spread)
{
    uint64_t r = wt_next_random(state);
    int64_t n = (int64_t)(r % spread) - (int64_t)(spread / 2);
    if (type->nullable && (r >> 32) % 10 == 0) {
        v->null = true;
        return;
    }
    switch (wi_type_rep(type)) {
    case WI_BOOL:
        v->i = n & 1;
        break;
    case WI_I64:
        v->i = (r >> 40) % 2 != 0 && spread > 100 ? n * INT64_C(1000000007) : n;
        break;
    case WI_I128:
        v->i = (wi_i128)n * INT64_MAX;
        break;
    case WI_F64:
        v->f = (double)n / 4;
        break;
    case WI_STR:
        cr_assert_geq(asprintf(&v->s, "%.*s%lld", (int)(r % 20),
                               "abcdefghijklmnopqrstu", (long long)n),
                      0);
        break;
    }
}

void wt_op_rows_random(struct wt_op_rows *rows, uint32_t n, uint64_t *state,
                       uint64_t spread)
{
    for (uint32_t i = 0; i < n; i++) {
        struct wt_value *row = wt_op_rows_new(rows);
        for (uint32_t c = 0; c < rows->columns.n; c++) {
            random_value(&row[c], &rows->columns.at[c].type, state, spread);
        }
    }
}

/* ---- text ---------------------------------------------------------------- */

static void print_i128(FILE *file, wi_i128 v)
{
    char digits[48];
    size_t at = sizeof(digits) - 1;
    wi_u128 rest = v < 0 ? -(wi_u128)v : (wi_u128)v;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest > 0);
    fprintf(file, "%s%s", v < 0 ? "-" : "", &digits[at]);
}

static void print_value(FILE *file, const struct wi_type *type,
                        const struct wt_value *v)
{
    if (v->null) {
        fputc('-', file);
        return;
    }
    switch (wi_type_rep(type)) {
    case WI_F64:
        fprintf(file, "%.17g", v->f);
        break;
    case WI_STR:
        fputs(*v->s == '\0' ? "\"\"" : v->s, file);
        break;
    default:
        print_i128(file, v->i);
    }
}

static char *row_text(const struct wt_op_rows *rows, uint32_t i)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *file = open_memstream(&text, &n_bytes);
    for (uint32_t c = 0; c < rows->columns.n; c++) {
        if (c > 0) {
            fputc(' ', file);
        }
        print_value(file, &rows->columns.at[c].type,
                    &wt_op_rows_at(rows, i)[c]);
    }
    fclose(file);
    return text;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **lines_of(const struct wt_op_rows *rows, bool ordered)
{
    char **lines = calloc(rows->n + 1, sizeof(*lines));
    for (uint32_t i = 0; i < rows->n; i++) {
        lines[i] = row_text(rows, i);
    }
    if (!ordered) {
        qsort(lines, rows->n, sizeof(*lines), compare_lines);
    }
    return lines;
}

static void free_lines(char **lines)
{
    for (char **line = lines; *line != NULL; line++) {
        free(*line);
    }
    free(lines);
}

char *wt_op_rows_text(const struct wt_op_rows *rows, bool ordered)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *file = open_memstream(&text, &n_bytes);
    char **lines = lines_of(rows, ordered);
    for (char **line = lines; *line != NULL; line++) {
        fprintf(file, "%s\n", *line);
    }
    free_lines(lines);
    fclose(file);
    return text;
}

void wt_op_rows_expect(const struct wt_op_rows *got,
                       const struct wt_op_rows *expected, bool ordered)
{
    char **a = lines_of(got, ordered);
    char **b = lines_of(expected, ordered);
    for (uint32_t i = 0; a[i] != NULL && b[i] != NULL; i++) {
        cr_assert_str_eq(a[i], b[i], "row %" PRIu32 ": got '%s', expected '%s'",
                         i, a[i], b[i]);
    }
    cr_assert_eq(got->n, expected->n, "%" PRIu32 " rows, expected %" PRIu32,
                 got->n, expected->n);
    free_lines(a);
    free_lines(b);
}

/* ---- source -------------------------------------------------------------- */

static void put_value(struct wi_vec *vec, uint32_t pos,
                      const struct wt_value *v)
{
    vec->null[pos] = v->null;
    switch (vec->rep) {
    case WI_BOOL:
        ((uint8_t *)vec->values)[pos] = v->i != 0;
        break;
    case WI_I64:
        ((int64_t *)vec->values)[pos] = (int64_t)v->i;
        break;
    case WI_I128:
        ((wi_i128 *)vec->values)[pos] = v->i;
        break;
    case WI_F64:
        ((double *)vec->values)[pos] = v->f;
        break;
    case WI_STR: {
        uint32_t n = v->null ? 0 : (uint32_t)strlen(v->s);
        ((struct wi_str *)vec->values)[pos] = (struct wi_str){v->s, n};
        break;
    }
    }
}

/* Positions of the next rows; those that are left out hold rubbish. */
static uint32_t choose(struct wt_op_source *s)
{
    uint32_t left = s->rows->n - s->next;
    uint32_t n = 0;
    uint32_t step = 1;
    uint32_t most = WI_CHUNK_ROWS;
    if (s->state != 0) {
        step = 1 + (uint32_t)(wt_next_random(&s->state) % 3);
        most = (uint32_t)(wt_next_random(&s->state) % (WI_CHUNK_ROWS + 1));
    }
    for (uint32_t pos = 0; pos < most && n < left; pos++) {
        if (step == 1 || wt_next_random(&s->state) % step == 0) {
            s->sel[n++] = pos;
        }
    }
    return n;
}

static enum wi_state step_source(struct wi_op *op, struct wi_chunk *out)
{
    struct wt_op_source *s = (struct wt_op_source *)op;
    uint32_t n_cols = s->rows->columns.n;
    out->n = 0;
    if (s->stopped || s->next == s->rows->n) {
        return WI_DONE;
    }
    if (s->state != 0 && wt_next_random(&s->state) % 4 == 0) {
        return WI_WAIT_INPUT;
    }
    uint32_t n = choose(s);
    bool dense = n == 0 || s->sel[n - 1] == n - 1;
    for (uint32_t c = 0; c < n_cols; c++) {
        struct wi_vec *vec = &s->vecs[c];
        bool nulls = false;
        memset(vec->values, dense ? 0 : 0x5a,
               (size_t)wi_rep_bytes(vec->rep) * WI_CHUNK_ROWS);
        memset(vec->null, dense ? 0 : 1, WI_CHUNK_ROWS);
        for (uint32_t i = 0; i < n; i++) {
            const struct wt_value *v = &wt_op_rows_at(s->rows, s->next + i)[c];
            put_value(vec, s->sel[i], v);
            nulls |= v->null;
        }
        s->cols[c] = *vec;
        s->cols[c].null = nulls ? vec->null : NULL;
    }
    s->next += n;
    *out = (struct wi_chunk){n, n_cols, dense ? NULL : s->sel, s->cols};
    return WI_MOVED;
}

static void stop_source(struct wi_op *op)
{
    ((struct wt_op_source *)op)->stopped = true;
}

static void close_source(struct wi_op *op)
{
    struct wt_op_source *s = (struct wt_op_source *)op;
    wi_vecs_close(s->vecs, s->rows->columns.n, NULL);
    free(s->cols);
    free(s);
}

static const struct wi_op_ops source_ops = {
    .name = "test source",
    .step = step_source,
    .stop = stop_source,
    .close = close_source,
};

struct wi_op *wt_source(struct wi_ctx *ctx, const struct wt_op_rows *rows,
                        uint64_t seed)
{
    struct wt_op_source *s = calloc(1, sizeof(*s));
    cr_assert_not_null(s);
    wi_op_init(&s->op, &source_ops, ctx, NULL, NULL);
    s->rows = rows;
    s->state = seed;
    s->cols = calloc(rows->columns.n + 1, sizeof(*s->cols));
    /* Outside of ctx->mem: what tests count is the operator's alone. */
    cr_assert_eq(wi_vecs_open(&rows->columns, NULL, &s->vecs, NULL), WEIR_OK);
    return &s->op;
}

/* ---- collect ------------------------------------------------------------- */

void wt_ctx_init(struct wi_ctx *ctx, uint64_t limit_bytes)
{
    memset(ctx, 0, sizeof(*ctx));
    ctx->workers = 1;
    ctx->n_parts = 1;
    ctx->mem.limit_bytes = limit_bytes;
}

/* Not strndup: no string ends where a vector's does. */
static char *copy_text(const struct wi_str *str)
{
    char *text = calloc(1, (size_t)str->n_bytes + 1);
    cr_assert_not_null(text);
    if (str->n_bytes > 0) {
        memcpy(text, str->data, str->n_bytes);
    }
    return text;
}

static void take_value(struct wt_value *v, const struct wi_vec *vec,
                       uint32_t pos)
{
    v->null = vec->null != NULL && vec->null[pos];
    if (v->null) {
        cr_assert(vec->rep != WI_STR || wi_vec_str(vec)[pos].n_bytes == 0,
                  "a null string must be empty");
        return;
    }
    switch (vec->rep) {
    case WI_BOOL:
        v->i = wi_vec_bool(vec)[pos];
        break;
    case WI_I64:
        v->i = wi_vec_i64(vec)[pos];
        break;
    case WI_I128:
        v->i = wi_vec_i128(vec)[pos];
        break;
    case WI_F64:
        v->f = wi_vec_f64(vec)[pos];
        break;
    case WI_STR:
        v->s = copy_text(&wi_vec_str(vec)[pos]);
        break;
    }
}

void wt_op_rows_add_chunk(struct wt_op_rows *rows, const struct wi_chunk *chunk)
{
    cr_assert_leq(chunk->n, WI_CHUNK_ROWS);
    if (chunk->n > 0) {
        cr_assert_eq(chunk->n_cols, rows->columns.n);
    }
    for (uint32_t i = 0; i < chunk->n; i++) {
        struct wt_value *row = wt_op_rows_new(rows);
        uint32_t pos = wi_chunk_pos(chunk, i);
        cr_assert_lt(pos, WI_CHUNK_ROWS);
        cr_assert(i == 0 || wi_chunk_pos(chunk, i - 1) < pos);
        for (uint32_t c = 0; c < chunk->n_cols; c++) {
            cr_assert_eq(chunk->col[c].rep,
                         wi_type_rep(&rows->columns.at[c].type));
            take_value(&row[c], &chunk->col[c], pos);
        }
    }
}

enum wi_state wt_collect(struct wi_op *op, struct wt_op_rows *out)
{
    for (;;) {
        struct wi_chunk chunk = {0};
        enum wi_state state = wi_op_step(op, &chunk);
        if (state == WI_DONE || state == WI_FAILED) {
            struct wi_chunk again = {0};
            cr_assert_eq(wi_op_step(op, &again), state,
                         "the end does not last");
            return state;
        }
        if (state == WI_MOVED) {
            wt_op_rows_add_chunk(out, &chunk);
        }
    }
}

void wt_op_close(struct wi_ctx *ctx, struct wi_op *op)
{
    wi_op_close(op);
    cr_assert_eq(ctx->mem.held_bytes, 0);
}

void wt_run_op(struct wi_ctx *ctx, struct wi_op *op, weir_err code,
               struct wt_op_rows *out)
{
    const enum wi_state state = wt_collect(op, out);
    cr_assert_eq(state, code == WEIR_OK ? WI_DONE : WI_FAILED, "%s",
                 ctx->err.message);
    if (code != WEIR_OK) {
        cr_assert_eq(ctx->err.code, code, "%s", ctx->err.message);
    }
    wt_op_close(ctx, op);
}

void wt_stop_op(struct wi_ctx *ctx, struct wi_op *op, uint32_t steps)
{
    struct wi_chunk chunk = {0};
    for (uint32_t i = 0; i < steps; i++) {
        (void)wi_op_step(op, &chunk);
    }
    wi_op_stop(op);
    wi_op_stop(op); /* once more: nothing */
    for (uint32_t i = 0; i < WI_OP_INPUTS && op->input[i] != NULL; i++) {
        cr_assert(((const struct wt_op_source *)op->input[i])->stopped);
    }
    cr_assert_eq(wi_op_step(op, &chunk), WI_DONE);
    wt_op_close(ctx, op);
}
