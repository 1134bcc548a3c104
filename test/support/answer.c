/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 int128;

enum { DAY_SECONDS = 86400, CELL_BYTES = 64 };

/* ---- rows ---------------------------------------------------------------- */

void wt_answer_fini(struct wt_answer *a)
{
    for (size_t i = 0; i < a->n; i++) {
        free(a->row[i]);
    }
    free(a->row);
    *a = (struct wt_answer){0};
}

static void add_row(struct wt_answer *a, char *row)
{
    if (a->n == a->room) {
        a->room = a->room == 0 ? 64 : 2 * a->room;
        a->row = realloc(a->row, a->room * sizeof(*a->row));
    }
    if (a->row == NULL || row == NULL) {
        abort();
    }
    a->row[a->n] = row;
    a->n++;
}

/* ---- cells --------------------------------------------------------------- */

static bool bit(const void *bits, int64_t at)
{
    return (((const uint8_t *)bits)[at / 8] >> (at % 8)) & 1;
}

static void print_float(FILE *out, double v)
{
    (void)fprintf(out, "%.17g", v == 0 ? 0.0 : v); /* no -0 */
}

static void print_int128(FILE *out, int128 v)
{
    char text[CELL_BYTES];
    char *at = text + sizeof(text) - 1;
    bool minus = v < 0;
    *at = '\0';
    do {
        int digit = (int)(v % 10);
        *--at = (char)('0' + (digit < 0 ? -digit : digit));
        v /= 10;
    } while (v != 0);
    (void)fprintf(out, "%s%s", minus ? "-" : "", at);
}

/* Days since 1970-01-01 as a date (H. Hinnant, "chrono-Compatible Low-Level
 * Date Algorithms", civil_from_days). */
static void print_date(FILE *out, int64_t days)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    int64_t month = mp < 10 ? mp + 3 : mp - 9;
    (void)fprintf(out, "%04" PRId64 "-%02" PRId64 "-%02" PRId64,
                  yoe + era * 400 + (month <= 2), month,
                  doy - (153 * mp + 2) / 5 + 1);
}

static void print_timestamp(FILE *out, int64_t v, char unit)
{
    int64_t per_second = unit == 's'   ? 1
                         : unit == 'm' ? 1000
                         : unit == 'u' ? 1000000
                                       : 1000000000;
    int digits = unit == 's' ? 0 : unit == 'm' ? 3 : unit == 'u' ? 6 : 9;
    int64_t fraction = v % per_second;
    int64_t seconds = v / per_second - (fraction < 0);
    fraction += fraction < 0 ? per_second : 0;
    int64_t rest = seconds % DAY_SECONDS;
    rest += rest < 0 ? DAY_SECONDS : 0;
    print_date(out, (seconds - rest) / DAY_SECONDS);
    (void)fprintf(out, " %02" PRId64 ":%02" PRId64 ":%02" PRId64, rest / 3600,
                  rest / 60 % 60, rest % 60);
    if (fraction != 0) {
        (void)fprintf(out, ".%0*" PRId64, digits, fraction);
    }
}

static void print_bytes(FILE *out, const char *bytes, size_t n, bool hex)
{
    for (size_t i = 0; i < n; i++) {
        if (hex) {
            (void)fprintf(out, "%02X", (uint8_t)bytes[i]);
        } else {
            (void)fputc(bytes[i], out);
        }
    }
}

static bool print_integer(FILE *out, char format, const void *values,
                          int64_t at)
{
    switch (format) {
    case 'c':
        return fprintf(out, "%d", ((const int8_t *)values)[at]) > 0;
    case 'C':
        return fprintf(out, "%u", ((const uint8_t *)values)[at]) > 0;
    case 's':
        return fprintf(out, "%d", ((const int16_t *)values)[at]) > 0;
    case 'S':
        return fprintf(out, "%u", ((const uint16_t *)values)[at]) > 0;
    case 'i':
        return fprintf(out, "%" PRId32, ((const int32_t *)values)[at]) > 0;
    case 'I':
        return fprintf(out, "%" PRIu32, ((const uint32_t *)values)[at]) > 0;
    case 'l':
        return fprintf(out, "%" PRId64, ((const int64_t *)values)[at]) > 0;
    case 'L':
        return fprintf(out, "%" PRIu64, ((const uint64_t *)values)[at]) > 0;
    case 'b':
        return fprintf(out, "%d", bit(values, at)) > 0;
    default:
        return false;
    }
}

/* A value of a type with a format of more than one letter, or a string. */
static bool print_other(FILE *out, const char *format,
                        const struct ArrowArray *c, int64_t at)
{
    const void *values = c->buffers[1];
    uint32_t width = 0;
    if (format[0] == 'f' || format[0] == 'g') {
        print_float(out, format[0] == 'f' ? ((const float *)values)[at]
                                          : ((const double *)values)[at]);
    } else if (format[0] == 'u' || format[0] == 'z') {
        const int32_t *offsets = values;
        print_bytes(out, (const char *)c->buffers[2] + offsets[at],
                    (size_t)(offsets[at + 1] - offsets[at]), format[0] == 'z');
    } else if (strcmp(format, "tdD") == 0) {
        print_date(out, ((const int32_t *)values)[at]);
    } else if (strncmp(format, "ts", 2) == 0) {
        print_timestamp(out, ((const int64_t *)values)[at], format[2]);
    } else if (strncmp(format, "d:", 2) == 0) {
        print_int128(out, ((const int128 *)values)[at]);
    } else if (sscanf(format, "w:%" SCNu32, &width) == 1) {
        print_bytes(out, (const char *)values + at * width, width, true);
    } else {
        return false;
    }
    return true;
}

static bool print_cell(FILE *out, const char *format,
                       const struct ArrowArray *c, int64_t row)
{
    int64_t at = c->offset + row;
    if (c->buffers[0] != NULL && c->null_count != 0 &&
        !bit(c->buffers[0], at)) {
        return fputs("NULL", out) >= 0;
    }
    return (format[1] == '\0' &&
            print_integer(out, format[0], c->buffers[1], at)) ||
           print_other(out, format, c, at);
}

const char *wt_answer_batch(struct wt_answer *a,
                            const struct ArrowSchema *schema,
                            const struct ArrowArray *batch)
{
    for (int64_t row = 0; row < batch->length; row++) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *out = open_memstream(&text, &bytes);
        for (int64_t c = 0; out != NULL && c < batch->n_children; c++) {
            (void)fputs(c > 0 ? "|" : "", out);
            if (!print_cell(out, schema->children[c]->format,
                            batch->children[c], batch->offset + row)) {
                (void)fclose(out);
                free(text);
                return schema->children[c]->format;
            }
        }
        if (out != NULL) {
            (void)fclose(out);
        }
        add_row(a, text);
    }
    return NULL;
}

/* ---- SQLite -------------------------------------------------------------- */

static void print_sqlite(FILE *out, sqlite3_stmt *s, int c)
{
    switch (sqlite3_column_type(s, c)) {
    case SQLITE_NULL:
        (void)fputs("NULL", out);
        break;
    case SQLITE_FLOAT:
        print_float(out, sqlite3_column_double(s, c));
        break;
    default:
        (void)fputs((const char *)sqlite3_column_text(s, c), out);
        break;
    }
}

const char *wt_answer_sqlite(struct wt_answer *a, sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) {
        return sqlite3_errmsg(db);
    }
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *out = open_memstream(&text, &bytes);
        for (int c = 0; out != NULL && c < sqlite3_column_count(s); c++) {
            (void)fputs(c > 0 ? "|" : "", out);
            print_sqlite(out, s, c);
        }
        if (out != NULL) {
            (void)fclose(out);
        }
        add_row(a, text);
    }
    (void)sqlite3_finalize(s);
    return rc == SQLITE_DONE ? NULL : sqlite3_errmsg(db);
}

/* ---- comparing ----------------------------------------------------------- */

/* Are two rows equal in the columns of `order`? */
static bool same_keys(const char *a, const char *b, wt_order order)
{
    for (uint32_t c = 0;; c++) {
        const size_t n = strcspn(a, "|");
        const size_t m = strcspn(b, "|");
        const bool key = c >= 32 ? order == WT_ORDER_ALL : order >> c & 1;
        if ((key && (n != m || memcmp(a, b, n) != 0)) || a[n] != b[m]) {
            return false;
        }
        if (a[n] == '\0') {
            return true;
        }
        a += n + 1;
        b += m + 1;
    }
}

size_t wt_answer_steps(const struct wt_answer *a, wt_order order)
{
    size_t steps = 0;
    for (size_t i = 1; i < a->n; i++) {
        steps += !same_keys(a->row[i - 1], a->row[i], order);
    }
    return steps;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **sorted(const struct wt_answer *a)
{
    char **row = calloc(a->n + 1, sizeof(*row));
    if (row == NULL) {
        abort();
    }
    for (size_t i = 0; i < a->n; i++) {
        row[i] = a->row[i];
    }
    qsort(row, a->n, sizeof(*row), by_text);
    return row;
}

static bool same_rows(const struct wt_answer *weir,
                      const struct wt_answer *sqlite,
                      char why[WT_ANSWER_WHY_BYTES])
{
    char **w = sorted(weir);
    char **s = sorted(sqlite);
    size_t i = 0;
    while (i < weir->n && i < sqlite->n && strcmp(w[i], s[i]) == 0) {
        i++;
    }
    const bool same = i == weir->n && i == sqlite->n;
    (void)snprintf(why, WT_ANSWER_WHY_BYTES,
                   "%zu rows, SQLite: %zu; sorted, row %zu: \"%s\", SQLite: "
                   "\"%s\"",
                   weir->n, sqlite->n, i, i < weir->n ? w[i] : "none",
                   i < sqlite->n ? s[i] : "none");
    free(w);
    free(s);
    return same;
}

bool wt_answer_same(const struct wt_answer *weir,
                    const struct wt_answer *sqlite, wt_order order,
                    char why[WT_ANSWER_WHY_BYTES])
{
    if (!same_rows(weir, sqlite, why)) {
        return false;
    }
    for (size_t i = 0; order != 0 && i < weir->n; i++) {
        if (!same_keys(weir->row[i], sqlite->row[i], order)) {
            (void)snprintf(why, WT_ANSWER_WHY_BYTES,
                           "row %zu is not in order: \"%s\", SQLite: \"%s\"", i,
                           weir->row[i], sqlite->row[i]);
            return false;
        }
    }
    return true;
}
