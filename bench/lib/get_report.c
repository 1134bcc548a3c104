/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lib/get.h"

#include <inttypes.h>
#include <jansson.h>

#include "bench/lib/report.h"

static const char *const ways[WB_GET_WAYS] = {"lent", "copied"};

void wb_get_print(const struct wb_get *get, FILE *out)
{
    const struct wb_get_params *p = &get->params;
    (void)fprintf(out,
                  "gets over %s from %" PRIu64 " bytes of a region of %" PRIu64
                  ", %u runs; the owner's %s\n\n"
                  "%9s %-7s %12s %12s %12s %12s\n",
                  p->transport, p->span, p->region_bytes, p->repeat,
                  p->attend ? "worker waits" : "program does nothing", "bytes",
                  "", "mean ns", "median ns", "p99 ns", "MB/s");
    for (uint32_t i = 0; i < p->n_sizes; i++) {
        for (uint32_t way = 0; way < WB_GET_WAYS; way++) {
            const struct wb_get_figures *f = &get->figures[i][way];
            (void)fprintf(out,
                          "%9" PRIu64 " %-7s %12.1f %12.0f %12.0f %12.1f\n",
                          p->sizes[i], ways[way], f->mean_ns, f->median_ns,
                          f->p99_ns, f->mb_per_s);
        }
    }
    (void)fprintf(out,
                  "\none at a time: mean of a run, median and p99 of single "
                  "gets; MB/s: %u in flight\n",
                  p->in_flight);
}

static json_t *figures_of(const struct wb_get_figures *f)
{
    return json_pack("{s:f, s:f, s:f, s:f}", "mean_ns", f->mean_ns, "median_ns",
                     f->median_ns, "p99_ns", f->p99_ns, "mb_per_s",
                     f->mb_per_s);
}

weir_err wb_get_print_json(const struct wb_get *get, FILE *out,
                           struct weir_error *err)
{
    const struct wb_get_params *p = &get->params;
    json_t *sizes = json_array();
    for (uint32_t i = 0; i < p->n_sizes; i++) {
        (void)json_array_append_new(
            sizes,
            json_pack("{s:I, s:o, s:o}", "bytes", (json_int_t)p->sizes[i],
                      ways[0], figures_of(&get->figures[i][0]), ways[1],
                      figures_of(&get->figures[i][1])));
    }
    json_t *o = json_pack(
        "{s:s, s:s, s:I, s:I, s:i, s:i, s:b, s:o}", "benchmark", "get",
        "transport", p->transport, "region_bytes", (json_int_t)p->region_bytes,
        "span", (json_int_t)p->span, "in_flight", (int)p->in_flight, "repeat",
        (int)p->repeat, "attend", (int)p->attend, "sizes", sizes);
    return wb_report_write(o, out, err);
}
