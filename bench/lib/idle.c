/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "bench/lib/idle.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <weir/stats.h>

#include "bench/lib/keys.h"
#include "bench/lib/report.h"
#include "bench/lib/two_stage.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "launch/clock.h"
#include "launch/group.h"
#include "launch/nodes.h"

#define MAX_NODES 64u

/* What a process reports. */
struct report {
    char plan[256];
    uint64_t cpu_ns;
    uint64_t switches;
    uint64_t cap_bytes;
    uint64_t peak_bytes;
    uint64_t rss_bytes;
    struct wb_tally tally;
};

/* In shared memory. */
struct shared {
    char address[MAX_NODES][WL_ADDRESS_BYTES];
    struct report reports[MAX_NODES];
};

static struct rusage usage(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return u;
}

/* Resident bytes of this process, 0 if they cannot be read. */
static uint64_t resident(void)
{
    unsigned long long all = 0;
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f == NULL) {
        return 0;
    }
    if (fscanf(f, "%llu %llu", &all, &pages) != 2) {
        pages = 0;
    }
    (void)fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct wl_nodes nodes_of(const struct wb_idle_params *p,
                                struct shared *shared)
{
    return (struct wl_nodes){.kind = "idle",
                             .n = p->nodes,
                             .address = shared->address,
                             .params = {.transport = p->transport,
                                        .workers = 1,
                                        .max_shuffles = 4,
                                        .frame_bytes = p->frame_bytes,
                                        .memory_bytes = p->memory_bytes}};
}

static weir_err shuffle(weir_node *node, const struct wb_idle_params *p,
                        uint32_t self, struct wb_tally *tally,
                        struct weir_error *err)
{
    uint64_t edges[WB_STAGES][MAX_NODES] = {{0}};
    struct wb_worker worker = {.id = self,
                               .first_row = wb_first_row(self),
                               .rows = p->rows,
                               .tally = tally,
                               .edge = {edges[0], edges[1]}};
    struct wb_two_stage *plan = NULL;
    const struct wb_two_stage_params params = {.workers = 1, .query_id = 1};
    weir_err rc = wb_two_stage_open(node, &params, &plan, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wb_task *task = wb_two_stage_task(plan, &worker);
    while ((rc = wb_task_step(task)) != WEIR_DONE) {
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(node, 0, WEIR_FOREVER);
        } else if (rc != WEIR_OK) {
            rc = wb_two_stage_status(plan, rc, err);
            break;
        }
    }
    wb_two_stage_close(plan);
    return rc == WEIR_DONE ? WEIR_OK : rc;
}

static void sleep_and_report(struct wl_group *group, uint64_t sleep_ns,
                             struct report *r)
{
    wl_group_meet(group);
    struct rusage before = usage();
    struct timespec ts = {.tv_sec = (time_t)(sleep_ns / 1000000000u),
                          .tv_nsec = (long)(sleep_ns % 1000000000u)};
    if (sleep_ns != 0) {
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
    }
    struct rusage after = usage();
    r->cpu_ns =
        wl_timeval_ns(&after.ru_utime) + wl_timeval_ns(&after.ru_stime) -
        wl_timeval_ns(&before.ru_utime) - wl_timeval_ns(&before.ru_stime);
    r->switches = (uint64_t)(after.ru_nvcsw + after.ru_nivcsw -
                             before.ru_nvcsw - before.ru_nivcsw);
    wl_group_meet(group);
}

static weir_err member(struct wl_group *group, uint32_t self, void *arg,
                       struct weir_error *err)
{
    const struct wb_idle_params *p = arg;
    struct shared *shared = wl_group_shared(group);
    const struct wl_nodes nodes = nodes_of(p, shared);
    struct report *r = &shared->reports[self];
    uint64_t rss = resident();
    weir_node *node = NULL;
    weir_err rc = wl_nodes_open(&nodes, self, &node, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    (void)snprintf(r->plan, sizeof(r->plan), "%s", weir_node_plan(node));
    wl_group_meet(group);
    rc = wl_nodes_join(&nodes, node, err);
    if (rc == WEIR_OK) {
        rc = shuffle(node, p, self, &r->tally, err);
    }
    if (rc == WEIR_OK) {
        struct weir_node_stats stats;
        weir_node_stats_get(node, &stats);
        r->peak_bytes = stats.memory_peak_bytes;
        r->cap_bytes = stats.memory_cap_bytes;
        r->rss_bytes = resident() - rss;
        sleep_and_report(group, p->sleep_ns, r);
    }
    wl_nodes_close(node);
    return rc;
}

/* "8 members x 1448 KiB = 11.3 MiB of ..." says the sum in MiB with one digit:
 * rounded up to the next tenth here. */
static uint64_t planned(const char *plan)
{
    const char *sum = strstr(plan, " = ");
    double mib = sum != NULL ? strtod(sum + 3, NULL) : 0.0;
    return (uint64_t)((mib + 0.05) * 1048576.0);
}

static weir_err sum_up(const struct report *reports, struct wb_idle *out,
                       struct weir_error *err)
{
    uint64_t n = out->params.nodes;
    struct wb_tally all = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct report *r = &reports[i];
        out->cpu_ns += r->cpu_ns;
        out->switches += r->switches;
        out->peak_bytes = wi_max_u64(out->peak_bytes, r->peak_bytes);
        out->rss_bytes = wi_max_u64(out->rss_bytes, r->rss_bytes);
        out->cap_bytes = r->cap_bytes;
        all.made_sum += r->tally.made_sum;
        all.got_rows += r->tally.got_rows;
        all.got_sum += r->tally.got_sum;
    }
    memcpy(out->plan, reports[0].plan, sizeof(out->plan));
    out->plan_bytes = planned(out->plan);
    if (out->params.sleep_ns != 0) {
        out->cpu_pct =
            (double)out->cpu_ns * 100.0 / (double)out->params.sleep_ns;
    }
    if (all.got_rows != n * out->params.rows || all.got_sum != all.made_sum) {
        return wi_fail(err, WEIR_ERR_INTEGRITY,
                       "%" PRIu64 " rows arrived of %" PRIu64 ", or other ones",
                       all.got_rows, n * out->params.rows);
    }
    return WEIR_OK;
}

weir_err wb_idle_run(const struct wb_idle_params *params, struct wb_idle *out,
                     struct weir_error *err)
{
    struct wb_idle_params p = *params;
    p.transport = p.transport != NULL ? p.transport : "shm";
    p.nodes = p.nodes != 0 ? p.nodes : 8;
    p.rows = p.rows != 0 ? p.rows : 10000;
    if (p.nodes < 2 || p.nodes > MAX_NODES) {
        return wi_fail(err, WEIR_ERR_ARG, "nodes is %u; must be 2..%u", p.nodes,
                       MAX_NODES);
    }
    struct wl_group_params gp = {
        .members = p.nodes,
        .shared_bytes = sizeof(struct shared),
        .timeout_ns = p.sleep_ns + UINT64_C(60000000000),
    };
    struct wl_group *group = NULL;
    weir_err rc = wl_group_open(&gp, &group, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = wl_group_run(group, member, &p, err);
    if (rc == WEIR_OK) {
        *out = (struct wb_idle){.params = p};
        const struct shared *shared = wl_group_shared(group);
        rc = sum_up(shared->reports, out, err);
    }
    wl_group_close(group);
    return rc;
}

/* ---- the report ---------------------------------------------------------- */

void wb_idle_print(const struct wb_idle *r, FILE *out)
{
    const struct wb_idle_params *p = &r->params;
    (void)fprintf(out, "%u connected nodes over %s\nplan of a node: %s\n",
                  p->nodes, p->transport, r->plan);
    if (p->sleep_ns != 0) {
        (void)fprintf(out,
                      "%.1f s idle: %.3f ms of CPU in all nodes together = "
                      "%.4f %% of one core; %" PRIu64 " context switches\n",
                      (double)p->sleep_ns * 1e-9, (double)r->cpu_ns * 1e-6,
                      r->cpu_pct, r->switches);
    }
    (void)fprintf(
        out,
        "memory: at most %.1f MiB held by a node, %.1f MiB planned, "
        "cap %.1f MiB; a process grew by up to %.1f MiB\n",
        (double)r->peak_bytes / 1048576, (double)r->plan_bytes / 1048576,
        (double)r->cap_bytes / 1048576, (double)r->rss_bytes / 1048576);
}

weir_err wb_idle_print_json(const struct wb_idle *r, FILE *out,
                            struct weir_error *err)
{
    const struct wb_idle_params *p = &r->params;
    json_t *o = json_pack(
        "{s:s, s:s, s:i, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:s}",
        "benchmark", p->sleep_ns != 0 ? "idle" : "memory", "transport",
        p->transport, "nodes", (int)p->nodes, "rows", (json_int_t)p->rows,
        "sleep_ns", (json_int_t)p->sleep_ns, "cpu_pct", r->cpu_pct, "cpu_ns",
        (json_int_t)r->cpu_ns, "context_switches", (json_int_t)r->switches,
        "peak_bytes", (json_int_t)r->peak_bytes, "plan_bytes",
        (json_int_t)r->plan_bytes, "cap_bytes", (json_int_t)r->cap_bytes,
        "rss_bytes", (json_int_t)r->rss_bytes, "plan", r->plan);
    return wb_report_write(o, out, err);
}
