/* SPDX-License-Identifier: Apache-2.0 */
/* Query plans against opponents: runs, answers, report. */
#define _GNU_SOURCE 1
#include "bench/lib/query_series.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/report.h"
#include "core/base/err.h"

/* Every ratio is one's time over this one's. */
static const char base[] = "shm";

#define RATIO_BYTES 64

static weir_err run_one(const struct wb_query_series *s,
                        const struct wb_query_opponent *o, double *seconds_out,
                        char *answer, struct weir_error *err)
{
    struct weir_error why = {.code = WEIR_OK};
    struct wb_query_params params = s->params;
    params.node.transport = o->name;
    weir_err rc = o->run != NULL
                      ? o->run(o->arg, seconds_out, answer, &why)
                      : wb_query_run(&params, seconds_out, answer, &why);
    return rc == WEIR_OK ? rc
                         : wi_fail(err, rc, "%s: %s", o->name, why.message);
}

static uint32_t count_rows(const char *answer)
{
    uint32_t n = 0;
    for (const char *p = answer; *p != '\0'; p++) {
        n += *p == '\n';
    }
    return n - 1; /* without the names */
}

/* The first answer stays; the others must be the same. */
static weir_err judge(struct wb_query_series *s, struct wb_query_opponent *o,
                      char **first, const char *answer, struct weir_error *err)
{
    struct weir_error why = {.code = WEIR_OK};
    if (*first == NULL) {
        *first = strdup(answer);
        s->answer_rows = count_rows(answer);
        return *first != NULL ? WEIR_OK
                              : wi_fail(err, WEIR_ERR_NO_MEMORY,
                                        "no memory for an answer");
    }
    weir_err rc = wb_answer_compare(*first, answer, &why);
    if (rc != WEIR_ERR_INTEGRITY) {
        return rc == WEIR_OK ? rc : wi_fail(err, rc, "%s", why.message);
    }
    o->rows_ok = false;
    if (s->wrong.code == WEIR_OK) {
        (void)wi_fail(&s->wrong, rc, "%s and %s: %s", s->opponents[0].name,
                      o->name, why.message);
    }
    return WEIR_OK;
}

static weir_err run_round(struct wb_query_series *s, double *seconds,
                          uint32_t round, char **first, char *answer,
                          FILE *note, struct weir_error *err)
{
    for (uint32_t i = 0; i < s->n; i++) {
        struct wb_query_opponent *o = &s->opponents[i];
        double *out = &seconds[i * s->repeat + round];
        weir_err rc = run_one(s, o, out, answer, err);
        if (rc == WEIR_OK) {
            rc = judge(s, o, first, answer, err);
        }
        if (rc != WEIR_OK) {
            return rc;
        }
        if (note != NULL) {
            (void)fprintf(note, "run %" PRIu32 ": %-8s %.4f s\n", round + 1,
                          o->name, *out);
        }
    }
    return WEIR_OK;
}

weir_err wb_query_series_run(struct wb_query_series *s, FILE *note,
                             struct weir_error *err)
{
    double *seconds = calloc((size_t)s->n * s->repeat, sizeof(*seconds));
    char *answer = malloc(WB_ANSWER_BYTES);
    char *first = NULL;
    weir_err rc = WEIR_OK;
    if (seconds == NULL || answer == NULL) {
        rc = wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u runs",
                     s->n * s->repeat);
    }
    s->wrong.code = WEIR_OK;
    for (uint32_t i = 0; i < s->n; i++) {
        s->opponents[i].rows_ok = true; /* until an answer of it differs */
    }
    for (uint32_t round = 0; round < s->repeat && rc == WEIR_OK; round++) {
        rc = run_round(s, seconds, round, &first, answer, note, err);
    }
    for (uint32_t i = 0; i < s->n && rc == WEIR_OK; i++) {
        s->opponents[i].seconds =
            wb_spread_of(&seconds[i * s->repeat], s->repeat);
    }
    free(first);
    free(answer);
    free(seconds);
    return rc;
}

/* ---- report -------------------------------------------------------------- */

const struct wb_query_opponent *
wb_query_series_base(const struct wb_query_series *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (strcmp(s->opponents[i].name, base) == 0) {
            return &s->opponents[i];
        }
    }
    return NULL;
}

static double ratio(const struct wb_query_opponent *over,
                    const struct wb_query_opponent *under)
{
    return over->seconds.median / under->seconds.median;
}

static void print_head(const struct wb_query_series *s, FILE *out)
{
    (void)fprintf(out, "%s query, %u nodes x %u workers, ", s->plan_name,
                  s->params.nodes, s->params.node.workers);
    if (s->params.data_dir != NULL) {
        (void)fprintf(out, "tables of %s, ", s->params.data_dir);
    } else {
        (void)fprintf(out, "%u warehouses, ", s->params.warehouses);
    }
    (void)fprintf(out,
                  "%u repeats, %u cores, %u rows in the answer\n\n"
                  "%-10s %10s %10s %10s  %s\n",
                  s->repeat, s->cores, s->answer_rows, "", "median s", "min s",
                  "max s", "answer");
}

void wb_query_series_print(const struct wb_query_series *s, FILE *out)
{
    const struct wb_query_opponent *under = wb_query_series_base(s);
    print_head(s, out);
    for (uint32_t i = 0; i < s->n; i++) {
        const struct wb_query_opponent *o = &s->opponents[i];
        (void)fprintf(out, "%-10s %10.4f %10.4f %10.4f  %s\n", o->name,
                      o->seconds.median, o->seconds.min, o->seconds.max,
                      o->rows_ok ? "the same" : "DIFFERS");
    }
    (void)fputc('\n', out);
    for (uint32_t i = 0; i < s->n && under != NULL; i++) {
        if (&s->opponents[i] != under) {
            (void)fprintf(out, "%s/%s %.2f\n", s->opponents[i].name, base,
                          ratio(&s->opponents[i], under));
        }
    }
    for (uint32_t i = 0; i < s->n; i++) {
        const struct wb_query_opponent *o = &s->opponents[i];
        if (o->version != NULL) {
            (void)fprintf(out, "%s is %s, %u threads\n", o->name, o->version,
                          o->threads);
        }
    }
}

static json_t *result_json(const struct wb_query_opponent *o)
{
    json_t *result =
        json_pack("{s:s, s:f, s:f, s:f, s:b}", "name", o->name, "median_s",
                  o->seconds.median, "min_s", o->seconds.min, "max_s",
                  o->seconds.max, "rows_ok", (int)o->rows_ok);
    if (result != NULL && o->version != NULL) {
        (void)json_object_set_new(result, "version", json_string(o->version));
        (void)json_object_set_new(result, "threads", json_integer(o->threads));
    }
    return result;
}

static json_t *results_json(const struct wb_query_series *s)
{
    json_t *results = json_array();
    for (uint32_t i = 0; i < s->n; i++) {
        (void)json_array_append_new(results, result_json(&s->opponents[i]));
    }
    return results;
}

static json_t *ratios_json(const struct wb_query_series *s)
{
    json_t *ratios = json_object();
    const struct wb_query_opponent *under = wb_query_series_base(s);
    for (uint32_t i = 0; i < s->n && under != NULL; i++) {
        char name[RATIO_BYTES];
        if (&s->opponents[i] != under) {
            (void)snprintf(name, sizeof(name), "%s/%s", s->opponents[i].name,
                           base);
            (void)json_object_set_new(
                ratios, name, json_real(ratio(&s->opponents[i], under)));
        }
    }
    return ratios;
}

json_t *wb_query_series_json(const struct wb_query_series *s)
{
    json_t *report = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:o}", "benchmark",
        "query", "plan", s->plan_name, "nodes", (int)s->params.nodes, "workers",
        (int)s->params.node.workers, "warehouses", (int)s->params.warehouses,
        "repeat", (int)s->repeat, "cores", (int)s->cores, "answer_rows",
        (int)s->answer_rows, "results", results_json(s), "ratios",
        ratios_json(s));
    if (report != NULL && s->params.data_dir != NULL) {
        (void)json_object_del(report, "warehouses");
        (void)json_object_set_new(report, "data",
                                  json_string(s->params.data_dir));
    }
    return report;
}

weir_err wb_query_series_print_json(const struct wb_query_series *s, FILE *out,
                                    struct weir_error *err)
{
    return wb_report_write(wb_query_series_json(s), out, err);
}
