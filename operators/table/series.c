/* SPDX-License-Identifier: Apache-2.0 */
/* Computed columns: each value is a function of its row number and the seed. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "operators/base/fail.h"
#include "operators/table/build.h"
#include "operators/table/random.h"
#include "operators/table/table.h"

enum { TEXT_BYTES = 24 };

struct column {
    weir_series_kind kind;
    int64_t first;
    int64_t step;
    uint64_t span; /* UNIFORM: values; 0: 2^64 of them */
    uint64_t key;
    uint32_t null_pct;
    uint64_t null_key;
};

struct series {
    struct wi_columns columns; /* a view of the table's */
    struct column *column;
    uint64_t rows;
};

struct scan {
    const struct series *series;
    struct wi_build build;
    uint64_t at;
    uint64_t end;
};

static int64_t value_at(const struct column *c, uint64_t row)
{
    switch (c->kind) {
    case WEIR_SERIES_SEQUENCE:
        return (int64_t)((uint64_t)c->first + (uint64_t)c->step * row);
    case WEIR_SERIES_UNIFORM: {
        uint64_t number = wi_random_at(c->key, row);
        uint64_t off = c->span == 0 ? number : wi_random_below(number, c->span);
        return (int64_t)((uint64_t)c->first + off);
    }
    case WEIR_SERIES_CONSTANT:
        break;
    }
    return c->first;
}

static bool is_kind(weir_series_kind kind)
{
    switch (kind) { /* no default: the compiler reports a missing one */
    case WEIR_SERIES_SEQUENCE:
    case WEIR_SERIES_UNIFORM:
    case WEIR_SERIES_CONSTANT:
        return true;
    }
    return false;
}

static bool null_at(const struct column *c, uint64_t row)
{
    return wi_random_below(wi_random_at(c->null_key, row), 100) < c->null_pct;
}

/* ---- scans --------------------------------------------------------------- */

#define FILL(TYPE)                                                             \
    do {                                                                       \
        TYPE *to = col->values;                                                \
        for (uint32_t i = 0; i < n; i++) {                                     \
            to[i] = (TYPE)value_at(c, row + i);                                \
        }                                                                      \
    } while (0)

static bool fill_text(struct wi_build_col *col, const struct column *c,
                      uint64_t row, uint32_t n)
{
    char text[TEXT_BYTES];
    for (uint32_t i = 0; i < n; i++) {
        bool null = c->null_pct > 0 && null_at(c, row + i);
        int len =
            snprintf(text, sizeof(text), "%" PRId64, value_at(c, row + i));
        if (!wi_build_text(col, i, text, null ? 0 : (size_t)len)) {
            return false;
        }
    }
    return true;
}

static void fill_bool(struct wi_build_col *col, const struct column *c,
                      uint64_t row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        wi_build_bool(col, i, value_at(c, row + i) != 0);
    }
}

static bool fill(struct wi_build_col *col, const struct column *c, uint64_t row,
                 uint32_t n)
{
    switch (col->type.kind) {
    case WI_TYPE_BOOL:
        fill_bool(col, c, row, n);
        break;
    case WI_TYPE_INT8:
    case WI_TYPE_UINT8:
        FILL(int8_t);
        break;
    case WI_TYPE_INT16:
    case WI_TYPE_UINT16:
        FILL(int16_t);
        break;
    case WI_TYPE_INT32:
    case WI_TYPE_UINT32:
    case WI_TYPE_DATE32:
        FILL(int32_t);
        break;
    case WI_TYPE_INT64:
    case WI_TYPE_UINT64:
    case WI_TYPE_TIMESTAMP:
        FILL(int64_t);
        break;
    case WI_TYPE_FLOAT32:
        FILL(float);
        break;
    case WI_TYPE_FLOAT64:
        FILL(double);
        break;
    case WI_TYPE_DECIMAL:
        FILL(wi_i128);
        break;
    default:
        return fill_text(col, c, row, n);
    }
    return true;
}

static void fill_nulls(struct wi_build_col *col, const struct column *c,
                       uint64_t row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (null_at(c, row + i)) {
            wi_build_null(col, i);
        }
    }
}

static weir_err scan_next(void *scan, struct ArrowArray *batch_out,
                          struct weir_error *err)
{
    struct scan *s = scan;
    uint64_t left = s->end - s->at;
    uint32_t n = left < WI_BUILD_ROWS ? (uint32_t)left : WI_BUILD_ROWS;
    if (n == 0) {
        return WEIR_DONE;
    }
    wi_build_begin(&s->build);
    for (uint32_t i = 0; i < s->build.n_cols; i++) {
        const struct column *c = &s->series->column[s->build.which[i]];
        if (!fill(&s->build.col[i], c, s->at, n)) {
            return wi_exec_no_memory(err, s->build.col[i].text_room);
        }
        if (c->null_pct > 0) {
            fill_nulls(&s->build.col[i], c, s->at, n);
        }
    }
    wi_build_end(&s->build, n, batch_out);
    s->at += n;
    return WEIR_OK;
}

static void scan_close(void *arg)
{
    struct scan *s = arg;
    wi_build_fini(&s->build);
    free(s);
}

static weir_err scan_open(void *table, const struct weir_table_part *part,
                          void **scan_out, struct weir_error *err)
{
    const struct series *series = table;
    const struct wi_row_range rows =
        wi_table_cut(series->rows, part->part, part->n_parts);
    struct scan *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return wi_exec_no_memory(err, sizeof(*s));
    }
    *s = (struct scan){.series = series, .at = rows.first, .end = rows.end};
    weir_err rc = wi_build_init(&s->build, &series->columns, part->columns,
                                part->n_columns, err);
    if (rc != WEIR_OK) {
        scan_close(s);
        return rc;
    }
    *scan_out = s;
    return WEIR_OK;
}

static void series_free(void *arg)
{
    struct series *series = arg;
    free(series->column);
    free(series);
}

static const struct weir_table_ops ops = {
    .open = scan_open,
    .next = scan_next,
    .close = scan_close,
    .free = series_free,
};

/* ---- opening ------------------------------------------------------------- */

/* Smallest and largest number that a type holds; false: it holds none. */
static bool limits(const struct wi_type *type, wi_i128 *least, wi_i128 *most)
{
    static const uint8_t bits[] = {
        [WI_TYPE_INT8] = 7,    [WI_TYPE_INT16] = 15,     [WI_TYPE_INT32] = 31,
        [WI_TYPE_INT64] = 63,  [WI_TYPE_UINT8] = 8,      [WI_TYPE_UINT16] = 16,
        [WI_TYPE_UINT32] = 32, [WI_TYPE_UINT64] = 64,    [WI_TYPE_DATE32] = 31,
        [WI_TYPE_BOOL] = 1,    [WI_TYPE_TIMESTAMP] = 63,
    };
    *least = INT64_MIN;
    *most = INT64_MAX;
    if (type->kind == WI_TYPE_DECIMAL) {
        wi_i128 power = 1;
        for (int i = 0; i < type->precision && i < WI_DECIMAL_SMALL + 1; i++) {
            power *= 10;
        }
        /* value_at computes 64 bits. */
        *most = power - 1 < INT64_MAX ? power - 1 : INT64_MAX;
        *least = -*most;
    } else if (type->kind < sizeof(bits) && bits[type->kind] > 0) {
        *most = ((wi_i128)1 << bits[type->kind]) - 1;
        *least = bits[type->kind] % 8 == 7 ? -*most - 1 : 0;
    }
    return type->kind != WI_TYPE_BINARY && type->kind != WI_TYPE_FIXED;
}

/* The last value of a column; it may be below the first. */
static wi_i128 last_value(const struct weir_series_column *from, uint64_t rows)
{
    switch (from->kind) {
    case WEIR_SERIES_SEQUENCE: {
        /* Fits: 2^64 - 1 steps of -2^63 from -2^63 end at -2^127. */
        const wi_i128 steps = rows == 0 ? 0 : (wi_i128)(rows - 1);
        return from->first + steps * from->step;
    }
    case WEIR_SERIES_UNIFORM:
        return from->last;
    case WEIR_SERIES_CONSTANT:
        break;
    }
    return from->first;
}

static weir_err check_column(const struct weir_series_column *from,
                             const struct wi_type *type, uint64_t rows,
                             struct weir_error *err)
{
    char text[WI_TYPE_TEXT_BYTES];
    wi_i128 least;
    wi_i128 most;
    wi_i128 last = last_value(from, rows);
    (void)wi_type_text(type, text);
    if (!limits(type, &least, &most)) {
        return wi_exec_fail(err, WEIR_ERR_SCHEMA,
                            "series column \"%s\": %s cannot be computed; "
                            "numbers, dates, bool and utf8 can",
                            from->name, text);
    }
    if (from->null_pct > 100 || !is_kind(from->kind) ||
        (from->kind == WEIR_SERIES_UNIFORM && from->last < from->first)) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "series column \"%s\": null_pct is 0..100, kind is "
                            "one of weir_series_kind, first is not above last",
                            from->name);
    }
    if (from->first < least || from->first > most || last < least ||
        last > most) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "series column \"%s\": its values do not fit %s",
                            from->name, text);
    }
    return WEIR_OK;
}

static struct column make_column(const struct weir_series_column *from,
                                 uint64_t seed, uint32_t number)
{
    return (struct column){
        .kind = from->kind,
        .first = from->first,
        .step = from->step,
        .span = (uint64_t)from->last - (uint64_t)from->first + 1,
        .key = wi_random_key(seed, 2 * (uint64_t)number),
        .null_pct = from->null_pct,
        .null_key = wi_random_key(seed, 2 * (uint64_t)number + 1),
    };
}

static weir_err make_columns(const struct weir_series_column *columns,
                             uint32_t n, struct wi_columns *out,
                             struct weir_error *err)
{
    struct ArrowSchema schema;
    struct weir_field *fields = calloc(n, sizeof(*fields));
    if (fields == NULL) {
        return wi_exec_no_memory(err, n * sizeof(*fields));
    }
    for (uint32_t i = 0; i < n; i++) {
        fields[i] = (struct weir_field){.name = columns[i].name,
                                        .format = columns[i].format,
                                        .nullable = columns[i].null_pct > 0};
    }
    weir_err rc = weir_schema_build(fields, n, &schema, err);
    free(fields);
    if (rc == WEIR_OK) {
        rc = wi_columns_from_arrow(&schema, out, err);
        schema.release(&schema);
    }
    return rc;
}

static weir_err fill_series(struct series *s,
                            const struct weir_series_column *columns,
                            uint64_t seed, struct weir_error *err)
{
    const uint32_t n = s->columns.n;
    weir_err rc = WEIR_OK;
    s->column = calloc(n, sizeof(*s->column));
    if (s->column == NULL) {
        return wi_exec_no_memory(err, n * sizeof(*s->column));
    }
    for (uint32_t i = 0; rc == WEIR_OK && i < n; i++) {
        rc = check_column(&columns[i], &s->columns.at[i].type, s->rows, err);
        s->column[i] = make_column(&columns[i], seed, i);
    }
    return rc;
}

weir_err weir_table_series_open(const struct weir_series_column *columns,
                                uint32_t n_columns, uint64_t rows,
                                uint64_t seed, weir_table **table_out,
                                struct weir_error *err)
{
    struct wi_columns list = {0};
    weir_err given =
        wi_exec_check_args(err, WI_EXEC_ARG(columns), WI_EXEC_ARG(table_out));
    if (given != WEIR_OK) {
        return given;
    }
    if (n_columns == 0) {
        return wi_exec_fail(err, WEIR_ERR_ARG, "a series needs columns");
    }
    weir_err rc = make_columns(columns, n_columns, &list, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct series *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        rc = wi_exec_no_memory(err, sizeof(*s));
    } else {
        s->columns = list;
        s->rows = rows;
        rc = fill_series(s, columns, seed, err);
    }
    if (rc == WEIR_OK) {
        rc = wi_table_open(&list, &ops, s, table_out, err);
    }
    if (rc != WEIR_OK) {
        if (s != NULL) {
            series_free(s);
        }
        wi_columns_fini(&list);
    }
    return rc;
}
