/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every type gives what SQLite gives, extremes and nulls included: from a CSV
 * file through a shuffle by hash and by range of it, a join, groups, min and
 * max, and a sort.
 */
#define _GNU_SOURCE 1
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/support/oracle_wide.h"

struct types {
    struct wt_oracle oracle;
    struct wt_cluster cluster;
    const struct wt_wide_column *column;
    uint32_t n;
};

static char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *format(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    cr_assert_geq(vasprintf(&text, fmt, args), 0);
    va_end(args);
    return text;
}

/* Takes over both texts. */
static void check(struct types *t, const char *name, char *operators, char *sql,
                  wt_order order)
{
    char *table = wt_wide_table();
    char *json = format("{\"weir\": 1, \"tables\": {%s}, \"operators\": [%s], "
                        "\"result\": \"result\"}",
                        table, operators);
    wt_oracle_check(
        &t->oracle, &t->cluster,
        &(struct wt_oracle_case){
            .name = name, .json = json, .sql = sql, .order = order});
    free(table);
    free(json);
    free(operators);
    free(sql);
}

/* "min(u8), max(u8), ..." of every type, in SQL or as a plan has them. */
static char *extremes(const struct types *t, bool plan)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_not_null(out);
    for (uint32_t i = 0; i < t->n; i++) {
        const char *c = t->column[i].column.name;
        (void)fprintf(out,
                      plan ? ", {\"name\": \"min %s\", \"expr\": \"min(%s)\"}"
                             ", {\"name\": \"max %s\", \"expr\": \"max(%s)\"}"
                           : ", min(%s), max(%s)",
                      c, c, c, c);
    }
    (void)fclose(out);
    return text;
}

/* ---- plans --------------------------------------------------------------- */

static void scan(struct types *t)
{
    check(t, "scan",
          format("{\"name\": \"result\", \"op\": \"scan\", "
                 "\"table\": \"wide\"}"),
          format("select * from wide"), 0);
}

/* Both sides shuffled by the column itself; the right one under other names. */
static void join(struct types *t, const char *by, const char *c)
{
    char *name = format("left join on %s by %s", c, by);
    check(
        t, name,
        format("{\"name\": \"l\", \"op\": \"scan\", \"table\": \"wide\"},"
               "{\"name\": \"ls\", \"op\": \"shuffle\", \"input\": \"l\", "
               "\"keys\": [\"%s\"], %s},"
               "{\"name\": \"r\", \"op\": \"scan\", \"table\": \"wide\"},"
               "{\"name\": \"rf\", \"op\": \"filter\", \"input\": \"r\", "
               "\"where\": \"id < 30\"},"
               "{\"name\": \"rp\", \"op\": \"project\", \"input\": \"rf\", "
               "\"outputs\": [{\"name\": \"i\", \"expr\": \"id\"}, "
               "{\"name\": \"k\", \"expr\": \"%s\"}]},"
               "{\"name\": \"rs\", \"op\": \"shuffle\", \"input\": \"rp\", "
               "\"keys\": [\"k\"], %s},"
               "{\"name\": \"j\", \"op\": \"join\", \"kind\": \"left\", "
               "\"left\": \"ls\", \"right\": \"rs\", \"left_keys\": [\"%s\"], "
               "\"right_keys\": [\"k\"]},"
               "{\"name\": \"result\", \"op\": \"project\", \"input\": \"j\", "
               "\"outputs\": [\"id\", \"%s\", \"i\", \"k\"]}",
               c, by, c, by, c, c),
        format("select l.id, l.%s, r.id, r.%s from wide l left join "
               "(select * from wide where id < 30) r on l.%s = r.%s",
               c, c, c, c),
        0);
    free(name);
}

static void join_by_range(struct types *t, const struct wt_wide_column *c)
{
    char *by = format("\"by\": \"range\", \"bounds\": [[\"%s\"]]", c->bound);
    join(t, by, c->column.name);
    free(by);
}

static void group(struct types *t, const char *c)
{
    char *name = format("groups of %s", c);
    char *list = extremes(t, true);
    char *select = extremes(t, false);
    char *parts = format("\"groups\": [\"%s\"], \"aggregates\": "
                         "[{\"name\": \"n\", \"expr\": \"count(*)\"}%s]",
                         c, list);
    check(t, name,
          format("{\"name\": \"t\", \"op\": \"scan\", \"table\": \"wide\"},"
                 "{\"name\": \"p\", \"op\": \"aggregate\", \"input\": \"t\", "
                 "\"mode\": \"partial\", %s},"
                 "{\"name\": \"s\", \"op\": \"shuffle\", \"input\": \"p\", "
                 "\"by\": \"hash\", \"keys\": [\"%s\"]},"
                 "{\"name\": \"result\", \"op\": \"aggregate\", \"input\": "
                 "\"s\", \"mode\": \"final\", %s}",
                 parts, c, parts),
          format("select %s, count(*)%s from wide group by %s", c, select, c),
          0);
    free(parts);
    free(select);
    free(list);
    free(name);
}

/* Down with nulls first, by the id where they are equal. */
static void sort(struct types *t, const char *c)
{
    char *name = format("order of %s", c);
    check(t, name,
          format("{\"name\": \"t\", \"op\": \"scan\", \"table\": \"wide\", "
                 "\"columns\": [\"%s\", \"id\"]},"
                 "{\"name\": \"o\", \"op\": \"sort\", \"input\": \"t\", "
                 "\"by\": [{\"column\": \"%s\", \"order\": \"desc\", "
                 "\"nulls\": \"first\"}, \"id\"]},"
                 "{\"name\": \"result\", \"op\": \"merge\", "
                 "\"input\": \"o\"}",
                 c, c),
          format("select %s, id from wide order by %s desc nulls first, id", c,
                 c),
          WT_ORDER_ALL);
    free(name);
}

static void sums(struct types *t)
{
    static const char aggregates[] =
        "\"aggregates\": [{\"name\": \"m\", \"expr\": \"sum(mid)\"}, "
        "{\"name\": \"w\", \"expr\": \"sum(whole)\"}, "
        "{\"name\": \"n\", \"expr\": \"count(whole)\"}]";
    check(t, "sums beyond 64 bits",
          format("{\"name\": \"t\", \"op\": \"scan\", \"table\": \"wide\"},"
                 "{\"name\": \"p\", \"op\": \"aggregate\", \"input\": \"t\", "
                 "\"mode\": \"partial\", \"groups\": [\"flag\"], %s},"
                 "{\"name\": \"s\", \"op\": \"shuffle\", \"input\": \"p\", "
                 "\"by\": \"hash\", \"keys\": [\"flag\"]},"
                 "{\"name\": \"result\", \"op\": \"aggregate\", \"input\": "
                 "\"s\", \"mode\": \"final\", \"groups\": [\"flag\"], %s}",
                 aggregates, aggregates),
          format("select flag, exact_sum(mid), exact_sum(whole), count(whole) "
                 "from wide group by flag"),
          0);
}

static void run_types(const struct wt_place *place,
                      const struct wt_cluster_params *params)
{
    static struct types t;
    wt_oracle_open(&t.oracle);
    wt_wide_data(&t.oracle);
    t.column = wt_wide_columns(&t.n);
    wt_cluster_open(&t.cluster, place, params);
    scan(&t);
    sums(&t);
    for (uint32_t i = 0; i < t.n; i++) {
        const char *c = t.column[i].column.name;
        join(&t, "\"by\": \"hash\"", c);
        join_by_range(&t, &t.column[i]);
        group(&t, c);
        sort(&t, c);
    }
    wt_cluster_close(&t.cluster);
    wt_oracle_close(&t.oracle);
}

Test(oracle_types, every_type_over_shm)
{
    run_types(&(struct wt_place){.transport = "shm"},
              &(struct wt_cluster_params){.nodes = 2, .workers = 2});
}

Test(oracle_types, every_type_over_tcp)
{
    run_types(&(struct wt_place){.transport = "tcp"},
              &(struct wt_cluster_params){.nodes = 3});
}

Test(oracle_types, every_type_in_the_simulator_with_tiny_rings)
{
    run_types(&(struct wt_place){.transport = "sim", .sim = true},
              &(struct wt_cluster_params){
                  .nodes = 5,
                  .workers = 2,
                  .node = {.frame_bytes = 1024, .ring_frames = 2}});
}
