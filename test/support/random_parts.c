/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "test/support/random_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = WT_RANDOM_TEXT_BYTES, AVERAGE_SCALE = 6 };

uint32_t wt_draw(struct wt_maker *m, uint32_t below)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->random >> 33) % below;
}

void wt_next_name(struct wt_maker *m, char first,
                  char name[WT_RANDOM_NAME_BYTES])
{
    (void)snprintf(name, WT_RANDOM_NAME_BYTES, "%c%u", first, m->names++);
}

void wt_wrap(char **text, const char *fmt, ...)
{
    char *old = *text;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(text, fmt, args) < 0) {
        abort();
    }
    va_end(args);
    free(old);
}

void wt_add(struct wt_maker *m, struct wt_relation *r, json_t *op)
{
    wt_next_name(m, 'o', r->op);
    if (op == NULL ||
        json_object_set_new(op, "name", json_string(r->op)) != 0 ||
        json_array_append_new(m->operators, op) != 0) {
        abort();
    }
}

static int64_t power_of_ten(int n)
{
    int64_t p = 1;
    for (int i = 0; i < n; i++) {
        p *= 10;
    }
    return p;
}

/* ---- conditions ---------------------------------------------------------- */

/* The same in both. */
static void both(struct wt_random_text *out, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void both(struct wt_random_text *out, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(out->weir, TEXT, fmt, args);
    va_end(args);
    memcpy(out->sql, out->weir, TEXT);
}

static void integer_predicate(const char *n, uint32_t x,
                              struct wt_random_text *out)
{
    switch (x % 4) {
    case 0:
        both(out, "%s > %u", n, x);
        break;
    case 1:
        both(out, "%s %% 5 <> %u", n, x % 7);
        break;
    case 2:
        both(out, "%s not in (1, 2, %u)", n, x);
        break;
    default:
        both(out, "%s between 3 and %u", n, x);
        break;
    }
}

static void string_predicate(const char *n, uint32_t x,
                             struct wt_random_text *out)
{
    switch (x % 3) {
    case 0:
        both(out, "%s like 'a%%'", n);
        break;
    case 1:
        both(out, "%s >= 'b'", n);
        break;
    default:
        both(out, "length(%s) > 2", n);
        break;
    }
}

void wt_random_predicate(struct wt_maker *m, const struct wt_random_column *c,
                         struct wt_random_text *out)
{
    const char *n = c->name;
    const uint32_t x = wt_draw(m, 100);
    switch (c->kind) {
    case WT_INT64:
    case WT_INT32:
        integer_predicate(n, x, out);
        break;
    case WT_STRING:
        string_predicate(n, x, out);
        break;
    case WT_DECIMAL:
        (void)snprintf(out->weir, TEXT, "%s > %u.5", n, x * 10);
        (void)snprintf(out->sql, TEXT, "%s > %" PRId64, n,
                       (x * 100 + 5) * power_of_ten(c->scale - 1));
        break;
    case WT_DAY:
        (void)snprintf(out->weir, TEXT, "%s < date '201%u-06-15'", n,
                       1 + x % 4);
        (void)snprintf(out->sql, TEXT, "%s < '201%u-06-15'", n, 1 + x % 4);
        break;
    case WT_TIME:
        (void)snprintf(out->weir, TEXT,
                       "%s >= timestamp '201%u-06-15 12:00:00'", n, 1 + x % 4);
        (void)snprintf(out->sql, TEXT, "%s >= '201%u-06-15 12:00:00'", n,
                       1 + x % 4);
        break;
    case WT_EXACT:
    case WT_FLOAT:
        both(out, "%s > %u.5e0", n, x);
        break;
    case WT_FLAG:
        both(out, x % 2 == 0 ? "%s" : "%s is not null", n);
        break;
    }
}

/* ---- values -------------------------------------------------------------- */

static void integer_value(const char *n, uint32_t x, struct wt_random_text *out)
{
    switch (x % 4) {
    case 0:
        both(out, "%s * 3 - 7", n);
        break;
    case 1:
        both(out, "%s %% 7", n);
        break;
    case 2:
        both(out, "coalesce(%s, -1)", n);
        break;
    default:
        both(out, "case when %s > 10 then 1 when %s is null then 2 else %s end",
             n, n, n);
        break;
    }
}

static void string_value(const char *n, uint32_t x, struct wt_random_text *out,
                         struct wt_random_column *to)
{
    switch (x % 4) {
    case 0:
        both(out, "%s || 'x'", n);
        break;
    case 1:
        both(out, "coalesce(upper(%s), 'none')", n);
        break;
    case 2:
        both(out, "substring(%s, 1, 2)", n);
        break;
    default:
        both(out, "length(%s)", n);
        to->kind = WT_INT64;
        break;
    }
}

/* The scale grows by one digit at most, while there is room in 64 bits. */
static void decimal_value(const struct wt_random_column *c, uint32_t x,
                          struct wt_random_text *out,
                          struct wt_random_column *to)
{
    to->plain = false;
    if (x % 2 == 0 || c->scale > 3) {
        (void)snprintf(out->weir, TEXT, "%s + 1.5", c->name);
        (void)snprintf(out->sql, TEXT, "%s + %" PRId64, c->name,
                       15 * power_of_ten(c->scale - 1));
    } else {
        (void)snprintf(out->weir, TEXT, "%s * 1.5", c->name);
        (void)snprintf(out->sql, TEXT, "%s * 15", c->name);
        to->scale++;
    }
}

static void date_value(const struct wt_random_column *c, uint32_t x,
                       struct wt_random_text *out, struct wt_random_column *to)
{
    const char *n = c->name;
    if (x % 2 == 0) {
        (void)snprintf(out->weir, TEXT, "extract(month from %s)", n);
        (void)snprintf(out->sql, TEXT, "cast(strftime('%%m', %s) as integer)",
                       n);
        to->kind = WT_INT64;
    } else if (c->kind == WT_DAY) {
        (void)snprintf(out->weir, TEXT, "%s + 31", n);
        (void)snprintf(out->sql, TEXT, "date(%s, '+31 days')", n);
    } else {
        (void)snprintf(out->weir, TEXT, "cast(%s as date)", n);
        (void)snprintf(out->sql, TEXT, "substr(%s, 1, 10)", n);
        to->kind = WT_DAY;
    }
}

void wt_random_value(struct wt_maker *m, const struct wt_random_column *c,
                     struct wt_random_text *text, struct wt_random_column *out)
{
    const uint32_t x = wt_draw(m, 100);
    *out = *c;
    wt_next_name(m, 'c', out->name);
    switch (c->kind) {
    case WT_INT64:
    case WT_INT32:
        integer_value(c->name, x, text);
        out->kind = WT_INT64;
        break;
    case WT_STRING:
        string_value(c->name, x, text, out);
        break;
    case WT_DECIMAL:
        decimal_value(c, x, text, out);
        break;
    case WT_DAY:
    case WT_TIME:
        date_value(c, x, text, out);
        break;
    case WT_EXACT:
    case WT_FLOAT:
        both(text, "%s * 2.0e0 + 0.5e0", c->name);
        break;
    case WT_FLAG:
        both(text, x % 2 == 0 ? "not %s" : "%s is null", c->name);
        break;
    }
}

/* ---- what SQL needs help for --------------------------------------------- */

const char *wt_random_bound(const struct wt_random_column *c, uint32_t i)
{
    static const char *const bounds[][3] = {
        [WT_INT64] = {"3", "40", "1000"},
        [WT_INT32] = {"2", "5", "8"},
        [WT_STRING] = {"ab", "b", "two"},
        [WT_DECIMAL] = {"-100.5", "2000", "9000.5"},
        [WT_DAY] = {"2012-01-01", "2013-06-15", "2014-12-01"},
        [WT_TIME] = {"2012-01-01 12:00:00", "2013-06-15", "2014-12-01"},
        [WT_EXACT] = {"-4.5", "100", "300.25"},
        [WT_FLOAT] = {"-4.5", "100", "300.25"},
        [WT_FLAG] = {"", "", ""},
    };
    return bounds[c->kind][i];
}

void wt_random_average(const struct wt_random_column *c,
                       char sql[WT_RANDOM_TEXT_BYTES])
{
    const char *n = c->name;
    const int64_t more =
        c->scale >= AVERAGE_SCALE ? 1 : power_of_ten(AVERAGE_SCALE - c->scale);
    (void)snprintf(sql, TEXT,
                   "case when sum(%s) >= 0 then (2 * sum(%s) * %" PRId64
                   " + count(%s)) / (2 * count(%s)) else -((-2 * sum(%s) * "
                   "%" PRId64 " + count(%s)) / (2 * count(%s))) end",
                   n, n, more, n, n, n, more, n, n);
}
