/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lib/fan_series.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/report.h"
#include "bench/opponents/radix.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/base/isa.h"
#include "launch/clock.h"

/* What all runs of one point share. */
struct point_run {
    struct wb_fan *fan;
    struct wb_radix *radix;
    struct wb_fan_part *parts;
    double weir[WB_FAN_REPEAT];
    double radix_ns[WB_FAN_REPEAT];
    double ratio[WB_FAN_REPEAT];
};

/* The radix partition's parts are the fan's, and all rows are there. */
static weir_err check_parts(const struct wb_fan_series *s,
                            const struct point_run *run, uint32_t n_dest,
                            uint64_t want_sum, struct weir_error *err)
{
    uint64_t rows = 0;
    uint64_t sum = 0;
    for (uint32_t d = 0; d < n_dest; d++) {
        struct wb_columns c;
        uint64_t n = wb_radix_part(run->radix, d, &c);
        struct wb_fan_part part = {n, wb_rows_sum(&c, n)};
        if (part.rows != run->parts[d].rows || part.sum != run->parts[d].sum) {
            return wi_fail(
                err, WEIR_ERR_DATA,
                "destination %u got %" PRIu64 " rows, sum %" PRIx64
                "; the partition in memory has %" PRIu64 ", sum %" PRIx64,
                d, run->parts[d].rows, run->parts[d].sum, part.rows, part.sum);
        }
        rows += n;
        sum += part.sum;
    }
    if (rows != s->rows || sum != want_sum) {
        return wi_fail(err, WEIR_ERR_DATA,
                       "%" PRIu64 " rows of %" PRIu64 " came out", rows,
                       s->rows);
    }
    return WEIR_OK;
}

/* Both once, the fan first. */
static weir_err run_pair(const struct wb_fan_series *s, struct point_run *run,
                         const struct wb_rows *rows, uint32_t k,
                         struct weir_error *err)
{
    uint64_t ns;
    weir_err rc = wb_fan_run(run->fan, rows, run->parts, &ns, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    run->weir[k] = (double)ns / (double)s->rows;
    uint64_t begin_ns = wl_now_ns();
    wb_radix_run(run->radix);
    run->radix_ns[k] = (double)(wl_now_ns() - begin_ns) / (double)s->rows;
    run->ratio[k] = run->weir[k] / run->radix_ns[k];
    return WEIR_OK;
}

static weir_err run_point(const struct wb_fan_series *s,
                          struct wb_fan_point *point, struct point_run *run,
                          const struct wb_rows *rows, struct weir_error *err)
{
    uint64_t sum = wb_rows_sum(&rows->columns, rows->n);
    weir_err rc = WEIR_OK;
    for (uint32_t k = 0; k <= s->repeat && rc == WEIR_OK; k++) {
        uint32_t slot = k == 0 ? 0 : k - 1; /* the first one only warms up */
        rc = run_pair(s, run, rows, slot, err);
        if (rc == WEIR_OK) {
            rc = check_parts(s, run, point->destinations, sum, err);
        }
    }
    if (rc == WEIR_OK) {
        point->weir = wb_spread_of(run->weir, s->repeat);
        point->radix = wb_spread_of(run->radix_ns, s->repeat);
        point->ratio = wb_spread_of(run->ratio, s->repeat).median;
        point->rows_per_frame =
            (double)s->rows / (double)wb_fan_frames(run->fan);
        (void)snprintf(point->plan, sizeof(point->plan), "%s",
                       wb_fan_plan(run->fan));
    }
    return rc;
}

static weir_err open_and_run(struct wb_fan_series *s,
                             struct wb_fan_point *point,
                             const struct wb_rows *rows, struct weir_error *err)
{
    static struct point_run run; /* one thread; see the header */
    struct wb_fan_params p = s->params;
    p.destinations = point->destinations;
    if (p.destinations % p.workers != 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "%u destinations are no multiple of %u workers",
                       p.destinations, p.workers);
    }
    memset(&run, 0, sizeof(run));
    run.parts = calloc(p.destinations, sizeof(*run.parts));
    weir_err rc = run.parts != NULL
                      ? wb_fan_open(&p, &run.fan, err)
                      : wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory");
    if (rc == WEIR_OK) {
        rc = wb_radix_open(rows, p.destinations, &run.radix, err);
    }
    if (rc == WEIR_OK) {
        rc = run_point(s, point, &run, rows, err);
    }
    wb_radix_close(run.radix);
    wb_fan_close(run.fan);
    free(run.parts);
    return rc;
}

weir_err wb_fan_series_run(struct wb_fan_series *s, struct weir_error *err)
{
    struct wb_rows rows;
    weir_err rc = wb_rows_open(&rows, s->rows, s->params.mixed, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    for (uint32_t i = 0; i < s->n && rc == WEIR_OK; i++) {
        rc = open_and_run(s, &s->points[i], &rows, err);
    }
    wb_rows_close(&rows);
    return rc;
}

/* ---- the report ---------------------------------------------------------- */

/* "model name" of the first processor, "" elsewhere. */
static const char *processor(void)
{
    static char name[128];
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f != NULL && name[0] == '\0' && fgets(line, sizeof(line), f)) {
        (void)sscanf(line, "model name : %127[^\n]", name);
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return name;
}

void wb_fan_series_print(const struct wb_fan_series *s, FILE *out)
{
    const struct wb_fan_params *p = &s->params;
    (void)fprintf(out,
                  "partition: %" PRIu64 " %s rows, pushes of %u, %u workers a "
                  "node; median of %u interleaved runs\n"
                  "%s, %s; rows and sums of each destination checked in every "
                  "run\n\n",
                  s->rows, p->mixed ? "mixed" : "narrow", p->batch_rows,
                  p->workers, s->repeat, processor(),
                  wi_isa_name(wi_isa_best()));
    (void)fprintf(out, "%12s %8s %13s %8s %13s %13s %11s\n", "destinations",
                  "ns/row", "min..max", "radix", "min..max", "weir / radix",
                  "rows/frame");
    for (uint32_t i = 0; i < s->n; i++) {
        const struct wb_fan_point *pt = &s->points[i];
        (void)fprintf(out,
                      "%12u %8.2f %6.2f %6.2f %8.2f %6.2f %6.2f %13.2f "
                      "%11.1f\n",
                      pt->destinations, pt->weir.median, pt->weir.min,
                      pt->weir.max, pt->radix.median, pt->radix.min,
                      pt->radix.max, pt->ratio, pt->rows_per_frame);
    }
    (void)fprintf(out, "\n");
    for (uint32_t i = 0; i < s->n; i++) {
        (void)fprintf(out, "%12u  %s\n", s->points[i].destinations,
                      s->points[i].plan);
    }
}

static json_t *spread_json(const struct wb_spread *s)
{
    return json_pack("{s:f, s:f, s:f}", "median", s->median, "min", s->min,
                     "max", s->max);
}

weir_err wb_fan_series_json(const struct wb_fan_series *s, FILE *out,
                            struct weir_error *err)
{
    const struct wb_fan_params *p = &s->params;
    json_t *points = json_array();
    for (uint32_t i = 0; i < s->n; i++) {
        const struct wb_fan_point *pt = &s->points[i];
        (void)json_array_append_new(
            points,
            json_pack("{s:i, s:o, s:o, s:f, s:f, s:s}", "destinations",
                      (int)pt->destinations, "weir_ns_per_row",
                      spread_json(&pt->weir), "radix_ns_per_row",
                      spread_json(&pt->radix), "ratio", pt->ratio,
                      "rows_per_frame", pt->rows_per_frame, "plan", pt->plan));
    }
    json_t *o = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:i, s:i, s:i, s:i, s:i, s:I, s:b, s:o}",
        "benchmark", "partition", "processor", processor(), "isa",
        wi_isa_name(wi_isa_best()), "row", p->mixed ? "mixed" : "narrow",
        "rows", (json_int_t)s->rows, "repeat", (int)s->repeat, "workers",
        (int)p->workers, "batch_rows", (int)p->batch_rows, "frame_bytes",
        (int)p->frame_bytes, "ring_frames", (int)p->ring_frames, "memory_bytes",
        (json_int_t)p->memory_bytes, "no_checksum", (int)p->no_checksum,
        "points", points);
    return wb_report_write(o, out, err);
}
