/* SPDX-License-Identifier: Apache-2.0 */
/* Interleaved runs, medians, ratios, and their two forms of report. */
#include "bench/lib/series.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "bench/lib/report.h"
#include "core/base/cc.h"
#include "core/base/err.h"

/* What the runs of one opponent took. */
struct samples {
    double seconds[WB_MAX_REPEAT];
    double user_s[WB_MAX_REPEAT];
    double sys_s[WB_MAX_REPEAT];
    double setup_s[WB_MAX_REPEAT];
    double switches[WB_MAX_REPEAT];
};

static weir_err run_one(struct wb_series *s, uint32_t i, uint32_t round,
                        struct samples *to, FILE *note, struct weir_error *err)
{
    struct weir_error why = {.code = WEIR_OK};
    struct wb_opponent *o = &s->opponents[i];
    struct wb_usage usage = {.user_s = 0.0};
    struct wb_plan_params params = s->params;
    params.usage_out = &usage;
    double *seconds = &to->seconds[round];
    weir_err rc = o->run(o->name, &params, seconds, &why);
    to->user_s[round] = usage.user_s;
    to->sys_s[round] = usage.sys_s;
    to->setup_s[round] = usage.setup_s;
    to->switches[round] = usage.switches;
    if (rc != WEIR_OK) {
        return wi_fail(err, rc, "%s: %s", o->name, why.message);
    }
    if (note != NULL) {
        (void)fprintf(note, "run %u of %u: %-8s %10.6f s\n", round + 1,
                      s->repeat, o->name, *seconds);
        (void)fflush(note);
    }
    return WEIR_OK;
}

weir_err wb_series_run(struct wb_series *series, FILE *note,
                       struct weir_error *err)
{
    static struct samples samples[WB_MAX_OPPONENTS];
    if (series->n == 0 || series->n > WB_MAX_OPPONENTS || series->repeat == 0 ||
        series->repeat > WB_MAX_REPEAT) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "%u opponents and %u repeats; must be 1..%u and 1..%u",
                       series->n, series->repeat, WB_MAX_OPPONENTS,
                       WB_MAX_REPEAT);
    }
    for (uint32_t r = 0; r < series->repeat; r++) {
        for (uint32_t i = 0; i < series->n; i++) {
            weir_err rc = run_one(series, i, r, &samples[i], note, err);
            if (rc != WEIR_OK) {
                return rc;
            }
        }
    }
    for (uint32_t i = 0; i < series->n; i++) {
        struct wb_opponent *o = &series->opponents[i];
        o->seconds = wb_spread_of(samples[i].seconds, series->repeat);
        o->user_s = wb_spread_of(samples[i].user_s, series->repeat);
        o->sys_s = wb_spread_of(samples[i].sys_s, series->repeat);
        o->setup_s = wb_spread_of(samples[i].setup_s, series->repeat);
        o->switches = wb_spread_of(samples[i].switches, series->repeat);
    }
    return WEIR_OK;
}

static double million_row_stages(const struct wb_series *series)
{
    const struct wb_plan_params *p = &series->params;
    return (double)p->nodes * (double)p->rows_per_node * WB_STAGES * 1e-6;
}

double wb_series_core_ns(const struct wb_series *series, double seconds)
{
    const struct wb_plan_params *p = &series->params;
    uint32_t used = wi_min_u32(series->cores, p->nodes * p->workers);
    return seconds * 1e3 * used / million_row_stages(series);
}

static const struct wb_opponent *find(const struct wb_series *s,
                                      const char *name)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (strcmp(s->opponents[i].name, name) == 0) {
            return &s->opponents[i];
        }
    }
    return NULL;
}

double wb_series_ratio(const struct wb_series *series, const char *over,
                       const char *under)
{
    const struct wb_opponent *a = find(series, over);
    const struct wb_opponent *b = find(series, under);
    if (a == NULL || b == NULL) {
        return 0.0;
    }
    return a->seconds.median / b->seconds.median;
}

/* ---- for people ---------------------------------------------------------- */

static void print_verdict(const struct wb_series *s,
                          const struct wb_opponent *o, FILE *out)
{
    double ratio = wb_series_ratio(s, o->name, "shm");
    if (strcmp(o->name, "shm") == 0 || ratio <= 0.0) {
        return;
    }
    if (strcmp(o->name, "limit") == 0) {
        (void)fprintf(out, "shm takes %.2f times the limit\n", 1.0 / ratio);
    } else if (ratio >= 1.0) {
        (void)fprintf(out, "shm wins  against %-8s: %.2f times as fast\n",
                      o->name, ratio);
    } else {
        (void)fprintf(out, "shm LOSES against %-8s: %.2f times as fast\n",
                      o->name, ratio);
    }
}

void wb_series_print(const struct wb_series *series, FILE *out)
{
    const struct wb_plan_params *p = &series->params;
    (void)fprintf(
        out,
        "two-stage: %u nodes x %u workers, %" PRIu64
        " %s rows per node, %u interleaved runs of each with %u timed "
        "queries, medians, %u cores\n"
        "rows, sums and per-edge counts checked in every run\n\n",
        p->nodes, p->workers, p->rows_per_node, wb_row_names[p->row],
        series->repeat, wb_plan_times(p), series->cores);
    (void)fprintf(out, "%-8s %10s %10s %10s %12s %22s %10s %7s\n", "",
                  "median s", "min s", "max s", "set-up CPU s",
                  "core-ns/(row x stage)", "switches/M", "/ shm");
    for (uint32_t i = 0; i < series->n; i++) {
        const struct wb_opponent *o = &series->opponents[i];
        double ratio = wb_series_ratio(series, o->name, "shm");
        (void)fprintf(out, "%-8s %10.6f %10.6f %10.6f %12.3f %22.2f %10.0f ",
                      o->name, o->seconds.median, o->seconds.min,
                      o->seconds.max, o->setup_s.median,
                      wb_series_core_ns(series, o->seconds.median),
                      o->switches.median / million_row_stages(series));
        if (ratio > 0.0) {
            (void)fprintf(out, "%7.2f\n", ratio);
        } else {
            (void)fprintf(out, "%7s\n", "-");
        }
    }
    (void)fprintf(out, "\n");
    for (uint32_t i = 0; i < series->n; i++) {
        print_verdict(series, &series->opponents[i], out);
    }
}

/* ---- for programs -------------------------------------------------------- */

static json_t *results_of(const struct wb_series *s)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < s->n; i++) {
        const struct wb_opponent *o = &s->opponents[i];
        /* rows_ok: a run whose rows were wrong is an error, not a result */
        json_t *one = json_pack(
            "{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b}", "name",
            o->name, "median_s", o->seconds.median, "min_s", o->seconds.min,
            "max_s", o->seconds.max, "user_s", o->user_s.median, "sys_s",
            o->sys_s.median, "setup_cpu_s", o->setup_s.median,
            "switches_per_million", o->switches.median / million_row_stages(s),
            "core_ns_per_row_stage", wb_series_core_ns(s, o->seconds.median),
            "rows_ok", 1);
        (void)json_array_append_new(all, one);
    }
    return all;
}

static json_t *ratios_of(const struct wb_series *s)
{
    static const char *const pairs[][2] = {
        {"sockets", "shm"}, {"tcp", "shm"},     {"mpi", "shm"},
        {"shm", "limit"},   {"sockets", "tcp"}, {"mpi-tcp", "tcp"}};
    json_t *all = json_object();
    for (size_t i = 0; i < WI_ARRAY_LEN(pairs); i++) {
        char key[32];
        double ratio = wb_series_ratio(s, pairs[i][0], pairs[i][1]);
        if (ratio > 0.0) {
            (void)snprintf(key, sizeof(key), "%s/%s", pairs[i][0], pairs[i][1]);
            (void)json_object_set_new(all, key, json_real(ratio));
        }
    }
    return all;
}

weir_err wb_series_print_json(const struct wb_series *series, FILE *out,
                              struct weir_error *err)
{
    const struct wb_plan_params *p = &series->params;
    json_t *o =
        json_pack("{s:s, s:i, s:i, s:s, s:I, s:i, s:i, s:i, s:o, s:o}",
                  "benchmark", "two-stage", "nodes", (int)p->nodes, "workers",
                  (int)p->workers, "row", wb_row_names[p->row], "rows_per_node",
                  (json_int_t)p->rows_per_node, "times", (int)wb_plan_times(p),
                  "repeat", (int)series->repeat, "cores", (int)series->cores,
                  "results", results_of(series), "ratios", ratios_of(series));
    return wb_report_write(o, out, err);
}
