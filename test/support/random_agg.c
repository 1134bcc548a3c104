/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates of random plans. */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/random_parts.h"

struct aggregates {
    const struct wt_random_column *group[2];
    uint32_t n_groups;
    json_t *groups;
    json_t *plan;
    char *sql;
    struct wt_relation out;
};

static const char *const functions[] = {"count(*)", "count", "min",
                                        "max",      "sum",   "avg"};
enum { COUNT_ROWS, COUNT, MIN, MAX, SUM, AVG };

/* What the functions may be of a column. */
static uint32_t functions_of(const struct wt_random_column *c)
{
    switch (c->kind) {
    case WT_INT64:
    case WT_INT32:
    case WT_EXACT:
        return AVG + 1;
    case WT_DECIMAL: /* longer averages would pass 64 bits in SQL */
        return c->scale <= 3 ? AVG + 1 : SUM + 1;
    default:
        return MAX + 1;
    }
}

static void result_of(uint32_t function, struct wt_random_column *out)
{
    const bool whole = out->kind == WT_INT64 || out->kind == WT_INT32;
    if (function <= COUNT || (function == SUM && whole)) {
        out->kind = WT_INT64;
    } else if (function == AVG && out->kind == WT_DECIMAL) {
        out->scale = 6;
    } else if (function == AVG) {
        out->kind = WT_FLOAT;
    }
    out->plain &= function == MIN || function == MAX;
}

static void add_aggregate(struct wt_maker *m, const struct wt_random_column *c,
                          struct aggregates *a)
{
    const uint32_t x = wt_draw(m, functions_of(c));
    struct wt_random_column *out = &a->out.column[a->out.n];
    struct wt_random_text text;
    (void)snprintf(text.weir, sizeof(text.weir), x == 0 ? "%s" : "%s(%s)",
                   functions[x], c->name);
    memcpy(text.sql, text.weir, sizeof(text.sql));
    if (x == AVG && c->kind == WT_DECIMAL) {
        wt_random_average(c, text.sql);
    }
    *out = *c;
    wt_next_name(m, 'c', out->name);
    result_of(x, out);
    (void)json_array_append_new(
        a->plan, json_pack("{ssss}", "name", out->name, "expr", text.weir));
    wt_wrap(&a->sql, "%s%s%s as %s", a->sql, a->out.n > 0 ? ", " : "", text.sql,
            out->name);
    a->out.n++;
}

/* In two steps or in one, above a shuffle by some of the groups. */
static void add_steps(struct wt_maker *m, struct wt_relation *r,
                      const struct aggregates *a)
{
    const bool two = wt_draw(m, 2) == 0;
    const char *modes[] = {two ? "partial" : NULL, two ? "final" : "complete"};
    for (int i = 0; i < 2; i++) {
        if (modes[i] != NULL) {
            wt_add(m, r,
                   json_pack("{sssssssOsO}", "op", "aggregate", "input", r->op,
                             "mode", modes[i], "groups", a->groups,
                             "aggregates", a->plan));
        }
        if (i == 0 && a->n_groups > 0) {
            const struct wt_rule rule =
                wt_random_rule(m, a->group, 1 + wt_draw(m, a->n_groups));
            wt_shuffle_by(m, r, &rule, a->group);
        } else if (i == 0) {
            wt_shuffle_to(m, r, "gather");
        }
    }
}

void wt_random_aggregate(struct wt_maker *m, struct wt_relation *r)
{
    struct aggregates a = {
        .groups = json_array(), .plan = json_array(), .sql = strdup("")};
    const uint32_t n_groups = wt_draw(m, 3);
    const uint32_t first = wt_draw(m, r->n);
    for (uint32_t i = 0; i < n_groups && i < r->n; i++) {
        const struct wt_random_column *c = &r->column[(first + i) % r->n];
        (void)json_array_append_new(a.groups, json_string(c->name));
        a.group[a.n_groups++] = c;
        wt_wrap(&a.sql, "%s%s%s", a.sql, i > 0 ? ", " : "", c->name);
        a.out.column[a.out.n++] = *c;
    }
    char *by = strdup(a.sql);
    const uint32_t n = 1 + wt_draw(m, 4);
    for (uint32_t i = 0; i < n; i++) {
        add_aggregate(m, &r->column[wt_draw(m, r->n)], &a);
    }
    add_steps(m, r, &a);
    wt_wrap(&r->sql, "select %s from (%s)%s%s", a.sql, r->sql,
            by[0] != '\0' ? " group by " : "", by);
    memcpy(r->column, a.out.column, sizeof(r->column));
    r->n = a.out.n;
    json_decref(a.groups);
    json_decref(a.plan);
    free(a.sql);
    free(by);
}
