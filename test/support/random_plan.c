/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A relation is the plan so far, as its last operator, beside the SQL that says
 * the same; every step wraps both. Columns have names of their own, so that
 * joins never meet twice the same. A decimal is an integer in SQL.
 */
#define _GNU_SOURCE 1
#include "test/support/random_plan.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/oracle_data.h"

enum { COLUMNS = 12, NAME = 16, TEXT = 256 };

enum kind { INT64, INT32, STRING, DECIMAL2, DECIMAL3, DAY, FLAG };

struct column {
    char name[NAME];
    enum kind kind;
};

struct relation {
    char op[NAME];
    char *sql;
    struct column column[COLUMNS];
    uint32_t n;
    bool single; /* its rows are gathered */
};

struct maker {
    uint64_t random;
    uint32_t names;
    json_t *operators;
};

static uint32_t draw(struct maker *m, uint32_t below)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->random >> 33) % below;
}

static void next_name(struct maker *m, char first, char name[NAME])
{
    (void)snprintf(name, NAME, "%c%u", first, m->names++);
}

/* Replace *text by a formatted one, which may contain it. */
static void wrap(char **text, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void wrap(char **text, const char *fmt, ...)
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

/* Add an operator; its name becomes the relation's. */
static void add(struct maker *m, struct relation *r, json_t *op)
{
    next_name(m, 'o', r->op);
    if (op == NULL ||
        json_object_set_new(op, "name", json_string(r->op)) != 0 ||
        json_array_append_new(m->operators, op) != 0) {
        abort();
    }
}

/* ---- tables ------------------------------------------------------------------ */

static const struct {
    const char *table;
    const char *column;
    enum kind kind;
} sources[] = {
    {"facts", "id", INT64},  {"facts", "g", INT32},    {"facts", "h", INT64},
    {"facts", "s", STRING},  {"facts", "d", DECIMAL2}, {"facts", "day", DAY},
    {"facts", "flag", FLAG}, {"dims", "h", INT64},     {"dims", "name", STRING},
    {"dims", "w", DECIMAL3}, {"same", "k", INT64},     {"same", "v", INT64},
};
enum { N_SOURCES = sizeof(sources) / sizeof(sources[0]) };

static struct relation scan(struct maker *m, const char *table)
{
    struct relation r = {.sql = strdup("")};
    json_t *outputs = json_array();
    add(m, &r, json_pack("{ssss}", "op", "scan", "table", table));
    char input[NAME];
    memcpy(input, r.op, NAME);
    for (uint32_t i = 0; i < N_SOURCES; i++) {
        if (strcmp(sources[i].table, table) != 0) {
            continue;
        }
        struct column *c = &r.column[r.n];
        next_name(m, 'c', c->name);
        c->kind = sources[i].kind;
        (void)json_array_append_new(
            outputs,
            json_pack("{ssss}", "name", c->name, "expr", sources[i].column));
        wrap(&r.sql, "%s%s%s as %s", r.sql, r.n == 0 ? "" : ", ",
             sources[i].column, c->name);
        r.n++;
    }
    add(m, &r,
        json_pack("{sssssO}", "op", "project", "input", input, "outputs",
                  outputs));
    json_decref(outputs);
    wrap(&r.sql, "select %s from %s", r.sql, table);
    return r;
}

/* ---- filters ------------------------------------------------------------------- */

static void simple_predicate(struct maker *m, const struct column *c,
                             char weir[TEXT], char sql[TEXT])
{
    const char *n = c->name;
    uint32_t x = draw(m, 100);
    switch (c->kind) {
    case INT64:
    case INT32:
        (void)snprintf(weir, TEXT,
                       x % 4 == 0   ? "%s > %u"
                       : x % 4 == 1 ? "%s %% 5 <> %u"
                       : x % 4 == 2 ? "%s not in (1, 2, %u)"
                                    : "%s between 3 and %u",
                       n, x);
        break;
    case STRING:
        (void)snprintf(weir, TEXT,
                       x % 3 == 0   ? "%s like 'a%%'"
                       : x % 3 == 1 ? "%s >= 'b'"
                                    : "length(%s) > 2",
                       n);
        break;
    case DECIMAL2:
    case DECIMAL3:
        (void)snprintf(weir, TEXT, "%s > %u.5", n, x * 10);
        (void)snprintf(sql, TEXT, "%s > %u", n,
                       c->kind == DECIMAL2 ? x * 1000 + 50 : x * 10000 + 500);
        return;
    case DAY:
        (void)snprintf(weir, TEXT, "%s < date '201%u-06-15'", n, 1 + x % 4);
        (void)snprintf(sql, TEXT, "%s < '201%u-06-15'", n, 1 + x % 4);
        return;
    case FLAG:
        (void)snprintf(weir, TEXT, x % 2 == 0 ? "%s" : "%s is not null", n);
        break;
    }
    memcpy(sql, weir, TEXT);
}

static void filter(struct maker *m, struct relation *r)
{
    char w[2][TEXT];
    char s[2][TEXT];
    static const char *const forms[] = {"%s", "(%s) and (%s)", "(%s) or (%s)",
                                        "not (%s)", "(%s) is null or (%s)"};
    const char *form = forms[draw(m, 5)];
    char weir[3 * TEXT];
    char sql[3 * TEXT];
    for (int i = 0; i < 2; i++) {
        simple_predicate(m, &r->column[draw(m, r->n)], w[i], s[i]);
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(weir, sizeof(weir), form, w[0], w[1]);
    (void)snprintf(sql, sizeof(sql), form, s[0], s[1]);
#pragma GCC diagnostic pop
    add(m, r,
        json_pack("{ssssss}", "op", "filter", "input", r->op, "where", weir));
    wrap(&r->sql, "select * from (%s) where %s", r->sql, sql);
}

/* ---- shuffles --------------------------------------------------------------------- */

static void shuffle_by(struct maker *m, struct relation *r, json_t *keys,
                       uint32_t seed)
{
    add(m, r,
        json_pack("{sssssssOsi}", "op", "shuffle", "input", r->op, "by", "hash",
                  "keys", keys, "seed", (int)seed));
    r->single = false;
}

static void shuffle_to(struct maker *m, struct relation *r, const char *by)
{
    add(m, r, json_pack("{ssssss}", "op", "shuffle", "input", r->op, "by", by));
    r->single = strcmp(by, "gather") == 0;
}

/* Anywhere, or by any columns. */
static void shuffle(struct maker *m, struct relation *r)
{
    uint32_t x = draw(m, 3);
    if (x < 2) {
        shuffle_to(m, r, x == 0 ? "random" : "round_robin");
        return;
    }
    json_t *keys = json_array();
    (void)json_array_append_new(keys,
                                json_string(r->column[draw(m, r->n)].name));
    shuffle_by(m, r, keys, draw(m, 1000));
    json_decref(keys);
}

/* ---- joins ---------------------------------------------------------------------------- */

static const struct column *find_kind(struct maker *m, const struct relation *r,
                                      enum kind kind)
{
    uint32_t first = draw(m, r->n);
    for (uint32_t i = 0; i < r->n; i++) {
        const struct column *c = &r->column[(first + i) % r->n];
        if (c->kind == kind) {
            return c;
        }
    }
    return NULL;
}

static void join_sql(struct relation *l, const struct relation *r,
                     const char *kind, const char *lk, const char *rk)
{
    if (strcmp(kind, "inner") == 0 || strcmp(kind, "left") == 0) {
        wrap(&l->sql, "select * from (%s) %s join (%s) on %s = %s", l->sql,
             kind, r->sql, lk, rk);
    } else {
        wrap(&l->sql,
             "select * from (%s) where %sexists (select 1 from (%s) "
             "where %s = %s)",
             l->sql, strcmp(kind, "anti") == 0 ? "not " : "", r->sql, lk, rk);
    }
}

static void join(struct maker *m, struct relation *l, struct relation *r)
{
    static const char *const kinds[] = {"inner", "left", "semi", "anti"};
    const char *kind = kinds[draw(m, 4)];
    const struct column *lc = find_kind(m, l, INT64);
    const struct column *rc = find_kind(m, r, INT64);
    if (lc == NULL || rc == NULL || l->n + r->n > COLUMNS) {
        return;
    }
    char left[NAME];
    char right[NAME];
    memcpy(left, lc->name, NAME);
    memcpy(right, rc->name, NAME);
    json_t *lk = json_pack("[s]", left);
    json_t *rk = json_pack("[s]", right);
    if (draw(m, 4) == 0 && !l->single) {
        shuffle_to(m, r, "broadcast");
    } else {
        uint32_t seed = draw(m, 1000);
        shuffle_by(m, l, lk, seed);
        shuffle_by(m, r, rk, seed);
    }
    char input[NAME];
    memcpy(input, l->op, NAME);
    add(m, l,
        json_pack("{sssssssssOsO}", "op", "join", "kind", kind, "left", input,
                  "right", r->op, "left_keys", lk, "right_keys", rk));
    json_decref(lk);
    json_decref(rk);
    join_sql(l, r, kind, left, right);
    if (strcmp(kind, "inner") == 0 || strcmp(kind, "left") == 0) {
        memcpy(&l->column[l->n], r->column, r->n * sizeof(r->column[0]));
        l->n += r->n;
    }
}

/* ---- aggregates ------------------------------------------------------------------------- */

/* One aggregate of a column; its name and kind in *out. */
static void aggregate_of(struct maker *m, const struct column *c,
                         json_t *aggregates, char **sql, struct column *out)
{
    bool number = c->kind == INT64 || c->kind == INT32 || c->kind == DECIMAL2 ||
                  c->kind == DECIMAL3;
    uint32_t x = draw(m, number ? 5 : 4);
    static const char *const functions[] = {"count(*)", "count", "min", "max",
                                            "sum"};
    char expr[TEXT];
    (void)snprintf(expr, sizeof(expr), x == 0 ? "%s" : "%s(%s)", functions[x],
                   c->name);
    next_name(m, 'c', out->name);
    out->kind = x < 2 || (x == 4 && c->kind == INT32) ? INT64 : c->kind;
    (void)json_array_append_new(
        aggregates, json_pack("{ssss}", "name", out->name, "expr", expr));
    wrap(sql, "%s, %s as %s", *sql, expr, out->name);
}

static void aggregate(struct maker *m, struct relation *r)
{
    struct relation out = {.n = 0};
    json_t *groups = json_array();
    json_t *aggregates = json_array();
    char *by = strdup("");
    char *list = strdup("");
    uint32_t n_groups = draw(m, 3);
    for (uint32_t i = 0; i < n_groups && i < r->n; i++) {
        const struct column *c = &r->column[(i * 5 + 1) % r->n];
        if (i > 0 && strcmp(c->name, out.column[0].name) == 0) {
            continue;
        }
        out.column[out.n++] = *c;
        (void)json_array_append_new(groups, json_string(c->name));
        wrap(&by, "%s%s%s", by, out.n > 1 ? ", " : "", c->name);
    }
    n_groups = out.n;
    for (uint32_t i = 0; i < 1 + draw(m, 4); i++) {
        aggregate_of(m, &r->column[draw(m, r->n)], aggregates, &list,
                     &out.column[out.n]);
        out.n++;
    }
    bool parts = draw(m, 2) == 0;
    const char *modes[] = {parts ? "partial" : NULL,
                           parts ? "final" : "complete"};
    for (int i = 0; i < 2; i++) {
        if (modes[i] != NULL) {
            add(m, r,
                json_pack("{sssssssOsO}", "op", "aggregate", "input", r->op,
                          "mode", modes[i], "groups", groups, "aggregates",
                          aggregates));
        }
        if (i == 0 && n_groups > 0) {
            shuffle_by(m, r, groups, draw(m, 1000));
        } else if (i == 0) {
            shuffle_to(m, r, "gather");
        }
    }
    const char *select = n_groups == 0 ? list + 2 : list; /* ", " in front */
    wrap(&r->sql, "select %s%s from (%s)%s%s", by, select, r->sql,
         n_groups > 0 ? " group by " : "", by);
    memcpy(r->column, out.column, sizeof(out.column));
    r->n = out.n;
    json_decref(groups);
    json_decref(aggregates);
    free(by);
    free(list);
}

/* ---- the whole ---------------------------------------------------------------------------- */

/* By all columns: rows that tie are the same. */
static void sort(struct maker *m, struct relation *r)
{
    json_t *by = json_array();
    char *order = strdup("");
    for (uint32_t i = 0; i < r->n; i++) {
        bool down = draw(m, 2) == 0;
        bool first = draw(m, 2) == 0;
        (void)json_array_append_new(
            by, json_pack("{ssssss}", "column", r->column[i].name, "order",
                          down ? "desc" : "asc", "nulls",
                          first ? "first" : "last"));
        wrap(&order, "%s%s%s %s nulls %s", order, i > 0 ? ", " : "",
             r->column[i].name, down ? "desc" : "asc",
             first ? "first" : "last");
    }
    int rows = draw(m, 3) == 0 ? 1 + (int)draw(m, 50) : 0;
    json_t *op = json_pack("{sssssO}", "op", "sort", "input", r->op, "by", by);
    if (rows > 0) {
        (void)json_object_set_new(op, "rows", json_integer(rows));
    }
    add(m, r, op);
    add(m, r, json_pack("{ssss}", "op", "merge", "input", r->op));
    wrap(&r->sql, "select * from (%s) order by %s", r->sql, order);
    if (rows > 0) {
        add(m, r,
            json_pack("{sssssi}", "op", "limit", "input", r->op, "rows", rows));
        wrap(&r->sql, "%s limit %d", r->sql, rows);
    }
    json_decref(by);
    free(order);
}

static void step(struct maker *m, struct relation *r, uint32_t *joins)
{
    static const char *const others[] = {"dims", "same", "dims"};
    switch (draw(m, 5)) {
    case 0:
    case 1:
        filter(m, r);
        break;
    case 2:
        shuffle(m, r);
        break;
    case 3:
        if (*joins > 0) {
            (*joins)--;
            struct relation other = scan(m, others[draw(m, 3)]);
            filter(m, &other);
            join(m, r, &other);
            free(other.sql);
        }
        break;
    default:
        if (draw(m, 3) == 0) {
            aggregate(m, r);
        }
        break;
    }
}

void wt_random_plan_init(struct wt_random_plan *plan, uint64_t seed)
{
    struct maker m = {.random = seed * 977 + 1, .operators = json_array()};
    struct relation r = scan(&m, draw(&m, 4) == 0 ? "same" : "facts");
    uint32_t joins = 2;
    uint32_t steps = 1 + draw(&m, 8);
    for (uint32_t i = 0; i < steps; i++) {
        step(&m, &r, &joins);
    }
    if (draw(&m, 2) == 0) {
        aggregate(&m, &r);
    }
    *plan = (struct wt_random_plan){.ordered = draw(&m, 2) == 0};
    if (plan->ordered) {
        sort(&m, &r);
    }
    json_error_t where;
    json_t *tables = json_loads(wt_oracle_tables(), 0, &where);
    json_t *json = json_pack("{sisososs}", "weir", 1, "tables", tables,
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
