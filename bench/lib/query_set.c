/* SPDX-License-Identifier: Apache-2.0 */
/* The report of several query plans. */
#include "bench/lib/query_set.h"

#include <math.h>
#include <string.h>

#include "bench/lib/report.h"

enum { NAME_BYTES = 64, COLUMN = 12 };

static double ratio(const struct wb_query_series *s, uint32_t which)
{
    return s->opponents[which].seconds.median /
           wb_query_series_base(s)->seconds.median;
}

struct wb_query_ratios wb_query_set_ratios(const struct wb_query_set *set,
                                           uint32_t which)
{
    struct wb_query_ratios r = {.least = INFINITY};
    double logs = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        double one = ratio(&set->series[i], which);
        logs += log(one);
        r.worst = one < r.least ? i : r.worst;
        r.least = one < r.least ? one : r.least;
    }
    r.mean = exp(logs / set->n);
    return r;
}

/* "duckdb/shm" */
static const char *ratio_name(const struct wb_query_set *set, uint32_t which,
                              char name[NAME_BYTES])
{
    const struct wb_query_series *s = &set->series[0];
    (void)snprintf(name, NAME_BYTES, "%s/%s", s->opponents[which].name,
                   wb_query_series_base(s)->name);
    return name;
}

/* Which opponents have ratios. */
static bool is_compared(const struct wb_query_set *set, uint32_t which)
{
    const struct wb_query_opponent *base = wb_query_series_base(set->series);
    return base != NULL && base != &set->series[0].opponents[which];
}

/* ---- for people ---------------------------------------------------------- */

static void print_names(const struct wb_query_set *set, FILE *out)
{
    const struct wb_query_series *s = &set->series[0];
    char name[NAME_BYTES];
    (void)fprintf(out,
                  "%u plans, %u nodes x %u workers, %u repeats, %u cores; "
                  "medians in ms\n\n%-12s %6s",
                  set->n, s->params.nodes, s->params.node.workers, s->repeat,
                  s->cores, "", "rows");
    for (uint32_t o = 0; o < s->n; o++) {
        (void)fprintf(out, " %*s", COLUMN, s->opponents[o].name);
    }
    for (uint32_t o = 0; o < s->n; o++) {
        if (is_compared(set, o)) {
            (void)fprintf(out, " %*s", COLUMN, ratio_name(set, o, name));
        }
    }
    (void)fputc('\n', out);
}

static void print_plan(const struct wb_query_set *set, uint32_t i, FILE *out)
{
    const struct wb_query_series *s = &set->series[i];
    (void)fprintf(out, "%-12s %6u", s->plan_name, s->answer_rows);
    for (uint32_t o = 0; o < s->n; o++) {
        (void)fprintf(out, " %*.1f", COLUMN,
                      s->opponents[o].seconds.median * 1e3);
    }
    for (uint32_t o = 0; o < s->n; o++) {
        if (is_compared(set, o)) {
            (void)fprintf(out, " %*.2f", COLUMN, ratio(s, o));
        }
    }
    for (uint32_t o = 0; o < s->n; o++) {
        if (!s->opponents[o].rows_ok) {
            (void)fprintf(out, "  %s DIFFERS", s->opponents[o].name);
        }
    }
    (void)fputc('\n', out);
}

void wb_query_set_print(const struct wb_query_set *set, FILE *out)
{
    const struct wb_query_series *s = &set->series[0];
    char name[NAME_BYTES];
    print_names(set, out);
    for (uint32_t i = 0; i < set->n; i++) {
        print_plan(set, i, out);
    }
    (void)fputc('\n', out);
    for (uint32_t o = 0; o < s->n; o++) {
        if (is_compared(set, o)) {
            struct wb_query_ratios r = wb_query_set_ratios(set, o);
            (void)fprintf(out, "%s: geometric mean %.2f, least %.2f (%s)\n",
                          ratio_name(set, o, name), r.mean, r.least,
                          set->series[r.worst].plan_name);
        }
    }
    for (uint32_t o = 0; o < s->n; o++) {
        if (s->opponents[o].version != NULL) {
            (void)fprintf(out, "%s is %s, %u threads\n", s->opponents[o].name,
                          s->opponents[o].version, s->opponents[o].threads);
        }
    }
}

/* ---- for programs -------------------------------------------------------- */

static json_t *ratios_json(const struct wb_query_set *set)
{
    json_t *ratios = json_object();
    char name[NAME_BYTES];
    for (uint32_t o = 0; o < set->series[0].n; o++) {
        if (is_compared(set, o)) {
            struct wb_query_ratios r = wb_query_set_ratios(set, o);
            (void)json_object_set_new(
                ratios, ratio_name(set, o, name),
                json_pack("{s:f, s:f, s:s}", "mean", r.mean, "least", r.least,
                          "worst", set->series[r.worst].plan_name));
        }
    }
    return ratios;
}

weir_err wb_query_set_print_json(const struct wb_query_set *set, FILE *out,
                                 struct weir_error *err)
{
    json_t *plans = json_array();
    for (uint32_t i = 0; i < set->n; i++) {
        (void)json_array_append_new(plans,
                                    wb_query_series_json(&set->series[i]));
    }
    return wb_report_write(json_pack("{s:s, s:o, s:o}", "benchmark", "queries",
                                     "plans", plans, "ratios",
                                     ratios_json(set)),
                           out, err);
}
