/* SPDX-License-Identifier: Apache-2.0 */
/* Each step wraps a relation's plan and its SQL (random_parts.h). */
#define _GNU_SOURCE 1
#include "test/support/random_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/oracle_data.h"
#include "test/support/random_parts.h"

enum { NAME = WT_RANDOM_NAME_BYTES };

/* ---- tables -------------------------------------------------------------- */

static const struct {
    const char *table;
    const char *column;
    enum wt_kind kind;
    int scale;
} sources[] = {
    {"facts", "id", WT_INT64, 0},   {"facts", "g", WT_INT32, 0},
    {"facts", "h", WT_INT64, 0},    {"facts", "s", WT_STRING, 0},
    {"facts", "d", WT_DECIMAL, 2},  {"facts", "f", WT_EXACT, 0},
    {"facts", "day", WT_DAY, 0},    {"facts", "ts", WT_TIME, 0},
    {"facts", "flag", WT_FLAG, 0},  {"dims", "h", WT_INT64, 0},
    {"dims", "name", WT_STRING, 0}, {"dims", "w", WT_DECIMAL, 3},
    {"same", "k", WT_INT64, 0},     {"same", "v", WT_INT64, 0},
};
enum { N_SOURCES = sizeof(sources) / sizeof(sources[0]) };

/* All columns of a table, under names of their own or, if given, those of a
 * relation of the same table. */
static struct wt_relation scan(struct wt_maker *m, const char *table,
                               const struct wt_relation *names)
{
    const char *columns = strcmp(table, "none") == 0 ? "facts" : table;
    struct wt_relation r = {.sql = strdup("")};
    char input[NAME];
    json_t *outputs = json_array();
    wt_add(m, &r, json_pack("{ssss}", "op", "scan", "table", table));
    memcpy(input, r.op, NAME);
    for (uint32_t i = 0; i < N_SOURCES; i++) {
        if (strcmp(sources[i].table, columns) != 0) {
            continue;
        }
        struct wt_random_column *c = &r.column[r.n];
        *c = (struct wt_random_column){
            .kind = sources[i].kind, .scale = sources[i].scale, .plain = true};
        if (names != NULL) {
            memcpy(c->name, names->column[r.n].name, NAME);
        } else {
            wt_next_name(m, 'c', c->name);
        }
        (void)json_array_append_new(
            outputs,
            json_pack("{ssss}", "name", c->name, "expr", sources[i].column));
        wt_wrap(&r.sql, "%s%s%s as %s", r.sql, r.n == 0 ? "" : ", ",
                sources[i].column, c->name);
        r.n++;
    }
    wt_add(m, &r,
           json_pack("{ssssso}", "op", "project", "input", input, "outputs",
                     outputs));
    wt_wrap(&r.sql, "select %s from %s", r.sql, table);
    return r;
}

/* ---- filters, computed columns ------------------------------------------- */

static void add_filter(struct wt_maker *m, struct wt_relation *r,
                       const char *weir, const char *sql)
{
    wt_add(
        m, r,
        json_pack("{ssssss}", "op", "filter", "input", r->op, "where", weir));
    wt_wrap(&r->sql, "select * from (%s) where %s", r->sql, sql);
}

static void filter(struct wt_maker *m, struct wt_relation *r)
{
    static const char *const forms[] = {"%s", "(%s) and (%s)", "(%s) or (%s)",
                                        "not (%s)", "(%s) is null or (%s)"};
    const char *form = forms[wt_draw(m, 5)];
    struct wt_random_text part[2];
    char weir[3 * WT_RANDOM_TEXT_BYTES];
    char sql[3 * WT_RANDOM_TEXT_BYTES];
    for (int i = 0; i < 2; i++) {
        wt_random_predicate(m, &r->column[wt_draw(m, r->n)], &part[i]);
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(weir, sizeof(weir), form, part[0].weir, part[1].weir);
    (void)snprintf(sql, sizeof(sql), form, part[0].sql, part[1].sql);
#pragma GCC diagnostic pop
    add_filter(m, r, weir, sql);
}

/* Most columns, and up to three computed ones. */
static void project(struct wt_maker *m, struct wt_relation *r)
{
    struct wt_relation out = {.single = r->single, .sql = strdup("")};
    json_t *outputs = json_array();
    const uint32_t more = 1 + wt_draw(m, 3);
    for (uint32_t i = 0; i < r->n + more && out.n < WT_RANDOM_COLUMNS; i++) {
        struct wt_random_column *to = &out.column[out.n];
        struct wt_random_text text;
        if (i >= r->n) {
            wt_random_value(m, &r->column[wt_draw(m, r->n)], &text, to);
        } else if (wt_draw(m, 4) > 0) {
            *to = r->column[i];
            memcpy(text.weir, to->name, NAME);
            memcpy(text.sql, to->name, NAME);
        } else {
            continue;
        }
        (void)json_array_append_new(
            outputs, json_pack("{ssss}", "name", to->name, "expr", text.weir));
        wt_wrap(&out.sql, "%s%s%s as %s", out.sql, out.n == 0 ? "" : ", ",
                text.sql, to->name);
        out.n++;
    }
    memcpy(out.op, r->op, NAME);
    wt_add(m, &out,
           json_pack("{ssssso}", "op", "project", "input", r->op, "outputs",
                     outputs));
    wt_wrap(&out.sql, "select %s from (%s)", out.sql, r->sql);
    free(r->sql);
    *r = out;
}

/* ---- unions -------------------------------------------------------------- */

/* The rows of one table in two or three parts, which may overlap. */
static struct wt_relation parts(struct wt_maker *m)
{
    static const char *const others[] = {"facts", "none", "facts"};
    struct wt_relation r = scan(m, "facts", NULL);
    const struct wt_relation names = r;
    json_t *inputs = json_array();
    const uint32_t n = 2 + wt_draw(m, 2);
    filter(m, &r);
    (void)json_array_append_new(inputs, json_string(r.op));
    for (uint32_t i = 1; i < n; i++) {
        struct wt_relation other = scan(m, others[wt_draw(m, 3)], &names);
        filter(m, &other);
        if (wt_draw(m, 3) == 0) {
            wt_random_shuffle(m, &other);
        }
        (void)json_array_append_new(inputs, json_string(other.op));
        wt_wrap(&r.sql, "%s union all %s", r.sql, other.sql);
        free(other.sql);
    }
    wt_add(m, &r, json_pack("{ssso}", "op", "union", "inputs", inputs));
    return r;
}

/* ---- order and limits ---------------------------------------------------- */

static void add_limit(struct wt_maker *m, struct wt_relation *r, int rows,
                      int offset)
{
    wt_add(m, r,
           json_pack("{sssssisi}", "op", "limit", "input", r->op, "rows", rows,
                     "offset", offset));
    wt_wrap(&r->sql, "%s limit %d offset %d", r->sql, rows, offset);
}

/* By all columns: rows that tie are the same. */
static void sort(struct wt_maker *m, struct wt_relation *r, bool limited)
{
    json_t *by = json_array();
    char *order = strdup("");
    for (uint32_t i = 0; i < r->n; i++) {
        const char *down = wt_draw(m, 2) == 0 ? "desc" : "asc";
        const char *nulls = wt_draw(m, 2) == 0 ? "first" : "last";
        (void)json_array_append_new(by, json_pack("{ssssss}", "column",
                                                  r->column[i].name, "order",
                                                  down, "nulls", nulls));
        wt_wrap(&order, "%s%s%s %s nulls %s", order, i > 0 ? ", " : "",
                r->column[i].name, down, nulls);
    }
    const int rows = 1 + (int)wt_draw(m, 50);
    const int offset = wt_draw(m, 2) == 0 ? (int)wt_draw(m, 40) : 0;
    json_t *op = json_pack("{ssssso}", "op", "sort", "input", r->op, "by", by);
    if (limited && wt_draw(m, 2) == 0) {
        (void)json_object_set_new(op, "rows", json_integer(rows + offset));
    }
    wt_add(m, r, op);
    wt_add(m, r, json_pack("{ssss}", "op", "merge", "input", r->op));
    wt_wrap(&r->sql, "select * from (%s) order by %s", r->sql, order);
    if (limited) {
        add_limit(m, r, rows, offset);
    }
    r->single = true;
    free(order);
}

/* Any rows, up to a limit: only their number can be compared. */
static void count_limited(struct wt_maker *m, struct wt_relation *r)
{
    char *sql = NULL;
    wt_shuffle_to(m, r, "gather");
    add_limit(m, r, 1 + (int)wt_draw(m, 400), (int)wt_draw(m, 100));
    wt_wrap(&sql, "select count(*) from (%s)", r->sql);
    wt_add(m, r,
           json_pack("{sssss[]s[{ssss}]}", "op", "aggregate", "input", r->op,
                     "groups", "aggregates", "name", "n", "expr", "count(*)"));
    free(r->sql);
    r->sql = sql;
}

/* ---- the whole ----------------------------------------------------------- */

/* Another table, small enough that joins stay so. */
static void join_other(struct wt_maker *m, struct wt_relation *r,
                       uint32_t *joins)
{
    static const char *const others[] = {"dims", "same", "facts"};
    const char *table = others[wt_draw(m, 3)];
    struct wt_relation other = scan(m, table, NULL);
    if (strcmp(table, "facts") == 0) {
        struct wt_random_text few;
        (void)snprintf(few.weir, sizeof(few.weir), "%s %% 50 = 1",
                       other.column[0].name);
        add_filter(m, &other, few.weir, few.weir);
    }
    filter(m, &other);
    if (wt_random_join(m, r, &other)) {
        (*joins)--;
    } /* else it stays unused: what is not below the result does not run */
    free(other.sql);
}

static void step(struct wt_maker *m, struct wt_relation *r, uint32_t *joins)
{
    switch (wt_draw(m, 8)) {
    case 0:
    case 1:
        filter(m, r);
        break;
    case 2:
        project(m, r);
        break;
    case 3:
        wt_random_shuffle(m, r);
        break;
    case 4:
    case 5:
        if (*joins > 0) {
            join_other(m, r, joins);
        }
        break;
    case 6:
        if (wt_draw(m, 3) == 0) {
            sort(m, r, true);
            wt_wrap(&r->sql, "select * from (%s)", r->sql);
        }
        break;
    default:
        if (wt_draw(m, 3) == 0) {
            wt_random_aggregate(m, r);
        }
        break;
    }
}

static struct wt_relation begin(struct wt_maker *m)
{
    switch (wt_draw(m, 5)) {
    case 0:
        return scan(m, "same", NULL);
    case 1:
        return parts(m);
    default:
        return scan(m, "facts", NULL);
    }
}

static json_t *tables_of(bool keep)
{
    json_error_t where;
    const char *name;
    json_t *table;
    json_t *tables = json_loads(wt_oracle_tables(), 0, &where);
    json_object_foreach(tables, name, table)
    {
        (void)json_object_set_new(table, "keep", json_boolean(keep));
    }
    return tables;
}

void wt_random_plan_init(struct wt_random_plan *plan, uint64_t seed)
{
    struct wt_maker m = {.random = seed * 977 + 1, .operators = json_array()};
    struct wt_relation r = begin(&m);
    uint32_t joins = 2;
    const uint32_t steps = 1 + wt_draw(&m, 8);
    for (uint32_t i = 0; i < steps; i++) {
        step(&m, &r, &joins);
    }
    if (wt_draw(&m, 2) == 0) {
        wt_random_aggregate(&m, &r);
    }
    const uint32_t end = wt_draw(&m, 8);
    *plan = (struct wt_random_plan){.ordered = end < 4,
                                    .keep = wt_draw(&m, 8) == 0};
    if (plan->ordered) {
        sort(&m, &r, end < 2);
    } else if (end == 4) {
        count_limited(&m, &r);
    }
    json_t *json =
        json_pack("{sisososs}", "weir", 1, "tables", tables_of(plan->keep),
                  "operators", m.operators, "result", r.op);
    plan->json = json_dumps(json, JSON_COMPACT);
    plan->sql = r.sql;
    json_decref(json);
}

void wt_random_plan_fini(struct wt_random_plan *plan)
{
    free(plan->json);
    free(plan->sql);
}
