/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>

#include "bench/lib/report.h"
#include "bench/scan/scan.h"

static const char *source_of(const struct wb_scan_params *p)
{
    return p->memory ? "memory" : "duckdb";
}

/* ---- ratios -------------------------------------------------------------- */

typedef void (*ratio_fn)(void *arg, const struct wb_scan_result *over,
                         const struct wb_scan_result *under);

/* Every rival over every transport of Weir. */
static void each_ratio(const struct wb_scan *scan, ratio_fn fn, void *arg)
{
    const uint32_t n = scan->params.n_rivals;
    for (uint32_t u = 0; u < n; u++) {
        for (uint32_t o = 0; o < n; o++) {
            if (wb_scan_is_weir(scan->results[u].name) &&
                !wb_scan_is_weir(scan->results[o].name)) {
                fn(arg, &scan->results[o], &scan->results[u]);
            }
        }
    }
}

static double ratio(const struct wb_spread *over, const struct wb_spread *under)
{
    return under->median > 0.0 ? over->median / under->median : 0.0;
}

/* ---- for people ---------------------------------------------------------- */

struct page {
    const struct wb_scan *scan;
    FILE *out;
};

static void print_set(const struct wb_scan *scan, uint32_t set, FILE *out)
{
    const struct wb_scan_params *p = &scan->params;
    (void)fprintf(out, "%u columns, %.1f MB\n", p->columns[set],
                  (double)scan->bytes[set] * 1e-6);
    for (uint32_t i = 0; i < p->n_rivals; i++) {
        const struct wb_scan_result *r = &scan->results[i];
        const struct wb_spread *take = &r->seconds[set][WB_SCAN_TAKE];
        const struct wb_spread *read = &r->seconds[set][WB_SCAN_READ];
        (void)fprintf(out,
                      "  %-15s %9.4f s (%.4f to %.4f) %7.2f GB/s    "
                      "%9.4f s (%.4f to %.4f)\n",
                      r->name, take->median, take->min, take->max,
                      (double)scan->bytes[set] * 1e-9 / take->median,
                      read->median, read->min, read->max);
    }
}

static void print_ones(const struct wb_scan *scan, FILE *out)
{
    (void)fprintf(out, "one row of %u columns, the connection is open\n",
                  WB_SCAN_COLUMNS);
    for (uint32_t i = 0; i < scan->params.n_rivals; i++) {
        const struct wb_spread *us = &scan->results[i].one_us;
        if (us->median > 0.0) {
            (void)fprintf(out, "  %-15s %9.1f us (%.1f to %.1f)\n",
                          scan->results[i].name, us->median, us->min, us->max);
        }
    }
}

static void print_ratio(void *arg, const struct wb_scan_result *over,
                        const struct wb_scan_result *under)
{
    const struct page *page = arg;
    const uint32_t set = page->scan->params.n_sets - 1;
    double take = ratio(&over->seconds[set][WB_SCAN_TAKE],
                        &under->seconds[set][WB_SCAN_TAKE]);
    double read = ratio(&over->seconds[set][WB_SCAN_READ],
                        &under->seconds[set][WB_SCAN_READ]);
    double one = ratio(&over->one_us, &under->one_us);
    (void)fprintf(page->out, "%s/%s %.2f%s, read %.2f%s", over->name,
                  under->name, take, take < 1.0 ? " LOSES" : "", read,
                  read < 1.0 ? " LOSES" : "");
    if (one > 0.0) {
        (void)fprintf(page->out, ", one row %.2f%s", one,
                      one < 1.0 ? " LOSES" : "");
    }
    (void)fprintf(page->out, "\n");
}

void wb_scan_print(const struct wb_scan *scan, FILE *out)
{
    const struct wb_scan_params *p = &scan->params;
    struct page page = {.scan = scan, .out = out};
    (void)fprintf(out,
                  "scans of %" PRIu64 " rows, %s; medians of %u interleaved "
                  "runs, rows and sums compared in each\n"
                  "first taken and dropped, then with every value read\n\n",
                  p->rows,
                  p->memory ? "loaded before (the transport alone)"
                            : "DuckDB runs the query",
                  p->repeat);
    for (uint32_t set = 0; set < p->n_sets; set++) {
        print_set(scan, set, out);
    }
    print_ones(scan, out);
    (void)fprintf(out, "\nof %u columns, time / Weir's time:\n",
                  p->columns[p->n_sets - 1]);
    each_ratio(scan, print_ratio, &page);
}

/* ---- for programs -------------------------------------------------------- */

static json_t *spread_of(const struct wb_spread *s)
{
    return json_pack("{s:f, s:f, s:f}", "median", s->median, "min", s->min,
                     "max", s->max);
}

static json_t *sets_of(const struct wb_scan *scan,
                       const struct wb_scan_result *r)
{
    json_t *all = json_array();
    for (uint32_t set = 0; set < scan->params.n_sets; set++) {
        (void)json_array_append_new(
            all, json_pack("{s:i, s:I, s:o, s:o}", "columns",
                           (int)scan->params.columns[set], "bytes",
                           (json_int_t)scan->bytes[set], "take_s",
                           spread_of(&r->seconds[set][WB_SCAN_TAKE]), "read_s",
                           spread_of(&r->seconds[set][WB_SCAN_READ])));
    }
    return all;
}

struct object {
    const struct wb_scan *scan;
    json_t *ratios;
};

static void add_ratio(void *arg, const struct wb_scan_result *over,
                      const struct wb_scan_result *under)
{
    char name[64];
    const struct object *object = arg;
    const uint32_t set = object->scan->params.n_sets - 1;
    (void)snprintf(name, sizeof(name), "%s/%s", over->name, under->name);
    (void)json_object_set_new(
        object->ratios, name,
        json_pack("{s:f, s:f, s:f}", "take",
                  ratio(&over->seconds[set][WB_SCAN_TAKE],
                        &under->seconds[set][WB_SCAN_TAKE]),
                  "read",
                  ratio(&over->seconds[set][WB_SCAN_READ],
                        &under->seconds[set][WB_SCAN_READ]),
                  "one", ratio(&over->one_us, &under->one_us)));
}

weir_err wb_scan_print_json(const struct wb_scan *scan, FILE *out,
                            struct weir_error *err)
{
    const struct wb_scan_params *p = &scan->params;
    json_t *results = json_array();
    struct object object = {.scan = scan, .ratios = json_object()};
    for (uint32_t i = 0; i < p->n_rivals; i++) {
        const struct wb_scan_result *r = &scan->results[i];
        (void)json_array_append_new(
            results, json_pack("{s:s, s:s, s:o, s:o}", "name", r->name,
                               "version", r->version, "sets", sets_of(scan, r),
                               "one_us", spread_of(&r->one_us)));
    }
    each_ratio(scan, add_ratio, &object);
    json_t *o =
        json_pack("{s:s, s:s, s:I, s:i, s:o, s:o}", "benchmark", "scan",
                  "source", source_of(p), "rows", (json_int_t)p->rows, "repeat",
                  (int)p->repeat, "results", results, "ratios", object.ratios);
    return wb_report_write(o, out, err);
}
