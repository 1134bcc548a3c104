/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/oracle_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof((a)[0])))

static const struct wt_oracle_column facts_columns[] = {
    {"id", "int64"},  {"g", "int32?"},          {"h", "int64"},
    {"s", "utf8?"},   {"d", "decimal(12,2)?"},  {"f", "float64?"},
    {"day", "date?"}, {"ts", "timestamp(us)?"}, {"flag", "bool?"},
};
static const struct wt_oracle_column dims_columns[] = {
    {"h", "int64"}, {"name", "utf8?"}, {"w", "decimal(9,3)?"}};
static const struct wt_oracle_column same_columns[] = {{"k", "int64"},
                                                       {"v", "int64"}};
static const struct wt_oracle_column small_columns[] = {
    {"a", "int8"},    {"b", "int16?"}, {"c", "int32"},    {"u", "uint8"},
    {"v", "uint32?"}, {"w", "uint16"}, {"x", "float32?"},
};

static const struct {
    struct wt_oracle_table table;
    uint64_t rows;
} tables[] = {
    {{"facts", facts_columns, COUNT(facts_columns)}, WT_FACTS_ROWS},
    {{"dims", dims_columns, COUNT(dims_columns)}, 110},
    {{"same", same_columns, COUNT(same_columns)}, 500},
    {{"small", small_columns, COUNT(small_columns)}, 700},
    {{"none", facts_columns, COUNT(facts_columns)}, 0},
};

static const char *const texts[] = {
    "\"\"",
    "a",
    "ab",
    "abc",
    "b",
    "bb",
    "xb_%",
    "\"a,b\"",
    "\"q\"\"uote\"",
    "\"two\nlines\"",
    "A",
    "zeta",
    "a long text of more than twelve bytes",
};

/* A number of its own for each cell (SplitMix64). */
static uint64_t draw(uint64_t seed, uint64_t row, uint32_t column)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + row * 64 + column;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void print_day(FILE *out, uint64_t x)
{
    (void)fprintf(out, "%u-%02u-%02u", (unsigned)(2011 + x % 4),
                  (unsigned)(1 + x / 4 % 12), (unsigned)(1 + x / 48 % 28));
}

static void print_decimal(FILE *out, int64_t v, unsigned scale)
{
    int64_t unit = scale == 2 ? 100 : 1000;
    int64_t abs = v < 0 ? -v : v;
    (void)fprintf(out, "%s%" PRId64 ".%0*" PRId64, v < 0 ? "-" : "", abs / unit,
                  (int)scale, abs % unit);
}

static void print_timestamp(FILE *out, uint64_t x)
{
    print_day(out, x);
    (void)fprintf(out, " %02u:%02u:%02u", (unsigned)(x / 2000 % 24),
                  (unsigned)(x / 50000 % 60), (unsigned)(x / 3000000 % 60));
    if (x % 3 == 0) {
        (void)fprintf(out, ".%06u", (unsigned)(1 + x % 999999));
    }
}

static void facts_cell(FILE *out, uint64_t row, uint32_t column, uint64_t x)
{
    if (column != 0 && column != 2 && x % 11 == 0) {
        return; /* null */
    }
    x /= 11;
    switch (column) {
    case 0:
        (void)fprintf(out, "%" PRIu64, row);
        break;
    case 1:
        (void)fprintf(out, "%u", (unsigned)(x % 10));
        break;
    case 2:
        (void)fprintf(out, "%u", (unsigned)(x % 100));
        break;
    case 3:
        (void)fputs(texts[x % COUNT(texts)], out);
        break;
    case 4:
        print_decimal(out, (int64_t)(x % 2000000) - 500000, 2);
        break;
    case 5:
        (void)fprintf(out, "%.17g", (double)(x % 4096) / 8 - 128);
        break;
    case 6:
        print_day(out, x);
        break;
    case 7:
        print_timestamp(out, x);
        break;
    default:
        (void)fputs(x % 2 == 0 ? "true" : "false", out);
        break;
    }
}

static void dims_cell(FILE *out, uint64_t row, uint32_t column, uint64_t x)
{
    if (column == 0) {
        (void)fprintf(out, "%d", (int)(row % 100) - 5);
    } else if (x % 9 == 0) {
        return;
    } else if (column == 1) {
        (void)fprintf(out, "name-%u", (unsigned)(x % 40));
    } else {
        print_decimal(out, (int64_t)(x % 20000) - 5000, 3);
    }
}

static void small_cell(FILE *out, uint64_t row, uint32_t column, uint64_t x)
{
    static const int64_t least[] = {INT8_MIN, -3, INT32_MIN, 0, 0, 0, -64};
    static const int64_t most[] = {INT8_MAX,   3, INT32_MAX, UINT8_MAX,
                                   UINT32_MAX, 2, 64};
    if ((column == 1 || column == 4 || column == 6) && x % 7 == 0) {
        return;
    }
    int64_t range = most[column] - least[column] + 1;
    int64_t v = row == 0   ? least[column]
                : row == 1 ? most[column]
                           : least[column] + (int64_t)(x / 7 % (uint64_t)range);
    (void)fprintf(out, "%" PRId64 "%s", v, column == 6 ? ".5" : "");
}

struct cells {
    uint64_t seed;
    const char *table;
};

static void cell(FILE *out, uint64_t row, uint32_t column, void *arg)
{
    const struct cells *c = arg;
    uint64_t x = draw(c->seed, row, column);
    if (strcmp(c->table, "dims") == 0) {
        dims_cell(out, row, column, x);
    } else if (strcmp(c->table, "same") == 0) {
        (void)fprintf(out, "%u", column == 0 ? 7 : (unsigned)row);
    } else if (strcmp(c->table, "small") == 0) {
        small_cell(out, row, column, x);
    } else {
        facts_cell(out, row, column, x);
    }
}

void wt_oracle_data(struct wt_oracle *o, uint64_t seed, uint64_t facts_rows)
{
    for (uint32_t i = 0; i < COUNT(tables); i++) {
        struct cells c = {.seed = seed + i, .table = tables[i].table.name};
        const bool facts = tables[i].rows == WT_FACTS_ROWS;
        wt_oracle_write(o, &tables[i].table,
                        facts ? facts_rows : tables[i].rows, cell, &c);
    }
}

const char *wt_oracle_tables(void)
{
    static char text[4096];
    size_t at = 0;
    for (uint32_t i = 0; i < COUNT(tables); i++) {
        const struct wt_oracle_table *t = &tables[i].table;
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "%s\"%s\": {\"csv\": \"%s.csv\", \"columns\": [",
                               i == 0 ? "{" : ", ", t->name, t->name);
        for (uint32_t c = 0; c < t->n_columns; c++) {
            at += (size_t)snprintf(text + at, sizeof(text) - at,
                                   "%s{\"name\": \"%s\", \"type\": \"%s\"}",
                                   c == 0 ? "" : ", ", t->columns[c].name,
                                   t->columns[c].type);
        }
        at += (size_t)snprintf(text + at, sizeof(text) - at, "]}");
    }
    (void)snprintf(text + at, sizeof(text) - at, "}");
    return text;
}
