/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "bench/lib/setup.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <weir/plan.h>
#include <weir/run.h>

#include "bench/lib/report.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "launch/batch.h"
#include "launch/clock.h"
#include "launch/group.h"
#include "launch/nodes.h"

#define MAX_NODES 64u
#define MAX_WORKERS 64u
#define MAX_SHUFFLES 1000u
#define QUERIES (1u + WB_SETUP_WARM)
#define VALUE INT64_C(4711)

/* In shared memory. */
struct board {
    char address[MAX_NODES][WL_ADDRESS_BYTES];
    uint64_t begin_ns[QUERIES][MAX_NODES];
    uint64_t row_ns[QUERIES];
};

/* One member at work. */
struct member {
    struct wl_group *group;
    const struct wb_setup_params *params;
    struct board *board;
    weir_node *node;
    weir_plan *plan;
    uint32_t self;
    uint32_t query; /* the one that runs */
    uint32_t rows;  /* that came to it */
};

/* ---- the plan ------------------------------------------------------------ */

static char *plan_text(uint32_t shuffles)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (f == NULL) {
        return NULL;
    }
    (void)fprintf(f,
                  "{\"weir\": 1, \"tables\": {\"t\": {\"columns\": "
                  "[{\"name\": \"n\", \"type\": \"int64\"}], "
                  "\"rows\": [[%" PRId64 "]]}}, \"operators\": "
                  "[{\"name\": \"s0\", \"op\": \"scan\", \"table\": \"t\"}",
                  VALUE);
    for (uint32_t i = 1; i < shuffles; i++) {
        (void)fprintf(f,
                      ", {\"name\": \"s%u\", \"op\": \"shuffle\", \"input\": "
                      "\"s%u\", \"by\": \"hash\", \"keys\": [\"n\"], "
                      "\"seed\": %u}",
                      i, i - 1, i);
    }
    (void)fprintf(f,
                  ", {\"name\": \"g\", \"op\": \"shuffle\", \"input\": \"s%u\","
                  " \"by\": \"gather\"}], \"result\": \"g\"}",
                  shuffles - 1);
    return fclose(f) == 0 ? text : NULL;
}

static weir_err read_plan(uint32_t shuffles, weir_plan **out,
                          struct weir_error *err)
{
    const struct weir_plan_read_params how = {.data_dir = "."};
    char *text = plan_text(shuffles);
    if (text == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a plan");
    }
    weir_err rc = weir_plan_read(text, strlen(text), &how, out, err);
    free(text);
    return rc;
}

/* ---- a member ------------------------------------------------------------ */

static weir_err take_rows(void *arg, const struct ArrowArray *batch,
                          struct weir_error *err)
{
    struct member *m = arg;
    if (batch->length == 0) {
        return WEIR_OK;
    }
    const int64_t *values = batch->children[0]->buffers[1];
    int64_t value = values[batch->offset + batch->children[0]->offset];
    m->rows += (uint32_t)batch->length;
    if (m->rows != 1 || value != VALUE) {
        return wi_fail(err, WEIR_ERR_INTEGRITY,
                       "row %u is %" PRId64 ", must be one of %" PRId64,
                       m->rows, value, VALUE);
    }
    m->board->row_ns[m->query] = wl_now_ns();
    return WEIR_OK;
}

static weir_err run_query(struct member *m, struct weir_error *err)
{
    const struct weir_run_params params = {
        .query_id = m->query + 1, .rows = take_rows, .rows_arg = m};
    weir_run *run = NULL;
    m->rows = 0;
    wl_group_meet(m->group);
    m->board->begin_ns[m->query][m->self] = wl_now_ns();
    weir_err rc = weir_run_open(m->node, m->plan, &params, &run, err);
    if (rc == WEIR_OK) {
        rc = weir_run_wait(run, err);
        weir_run_close(run);
    }
    if (rc == WEIR_OK && m->self == 0 && m->rows != 1) {
        rc = wi_fail(err, WEIR_ERR_INTEGRITY, "%u rows, must be 1", m->rows);
    }
    return rc;
}

static weir_err run_queries(struct member *m, const struct wl_nodes *nodes,
                            struct weir_error *err)
{
    wl_group_meet(m->group); /* all addresses are there */
    weir_err rc = wl_nodes_join(nodes, m->node, err);
    for (; rc == WEIR_OK && m->query < QUERIES; m->query++) {
        rc = run_query(m, err);
    }
    if (rc == WEIR_OK) {
        wl_group_meet(m->group);
    }
    return rc;
}

static weir_err member(struct wl_group *group, uint32_t self, void *arg,
                       struct weir_error *err)
{
    struct member m = *(const struct member *)arg;
    m.group = group;
    m.self = self;
    const struct wl_nodes nodes = {
        .kind = "setup",
        .n = m.params->nodes,
        .address = m.board->address,
        .params = {.transport = m.params->transport,
                   .workers = m.params->workers,
                   .max_shuffles = weir_run_shuffles(m.plan)},
    };
    weir_err rc = wl_nodes_open(&nodes, self, &m.node, err);
    if (rc == WEIR_OK) {
        rc = run_queries(&m, &nodes, err);
        wl_nodes_close(m.node);
    }
    return rc;
}

/* ---- the parent ---------------------------------------------------------- */

struct samples {
    double cold[WB_SETUP_MAX_REPEAT];
    double warm[WB_SETUP_MAX_REPEAT * WB_SETUP_WARM];
    double cpu[WB_SETUP_MAX_REPEAT];
};

static double children_s(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_CHILDREN, &u);
    return (double)(wl_timeval_ns(&u.ru_utime) + wl_timeval_ns(&u.ru_stime)) *
           1e-9;
}

static double seconds_of(const struct board *b, uint32_t query, uint32_t nodes)
{
    uint64_t begin = b->begin_ns[query][0];
    for (uint32_t i = 1; i < nodes; i++) {
        begin = wi_min_u64(begin, b->begin_ns[query][i]);
    }
    return (double)(b->row_ns[query] - begin) * 1e-9;
}

static weir_err run_once(struct member *m, uint32_t k, struct samples *to,
                         struct weir_error *err)
{
    const struct wl_group_params gp = {
        .members = m->params->nodes,
        .shared_bytes = sizeof(struct board),
    };
    struct wl_group *group = NULL;
    double cpu = children_s();
    uint64_t begin_ns = wl_now_ns();
    weir_err rc = wl_group_open(&gp, &group, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    m->board = wl_group_shared(group);
    rc = wl_group_run(group, member, m, err);
    if (rc == WEIR_OK) {
        to->cpu[k] = children_s() - cpu;
        to->cold[k] = (double)(m->board->row_ns[0] - begin_ns) * 1e-9;
        for (uint32_t q = 1; q < QUERIES; q++) {
            to->warm[k * WB_SETUP_WARM + q - 1] =
                seconds_of(m->board, q, m->params->nodes);
        }
    }
    wl_group_close(group);
    return rc;
}

static weir_err check_params(const struct wb_setup_params *p,
                             struct weir_error *err)
{
    if (p->nodes > MAX_NODES || p->workers > MAX_WORKERS ||
        p->shuffles > MAX_SHUFFLES || p->repeat > WB_SETUP_MAX_REPEAT) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "%u nodes, %u workers, %u shuffles, %u runs: at most "
                       "%u, %u, %u, %u",
                       p->nodes, p->workers, p->shuffles, p->repeat, MAX_NODES,
                       MAX_WORKERS, MAX_SHUFFLES, WB_SETUP_MAX_REPEAT);
    }
    return WEIR_OK;
}

static uint32_t or_else(uint32_t given, uint32_t usual)
{
    return given != 0 ? given : usual;
}

weir_err wb_setup_run(const struct wb_setup_params *params,
                      struct wb_setup *out, struct weir_error *err)
{
    static struct samples samples;
    const struct wb_setup_params p = {
        .transport = params->transport != NULL ? params->transport : "shm",
        .nodes = or_else(params->nodes, 7),
        .workers = or_else(params->workers, 2),
        .shuffles = or_else(params->shuffles, 60),
        .repeat = or_else(params->repeat, 5),
    };
    struct member m = {.params = &p};
    weir_err rc = check_params(&p, err);
    if (rc == WEIR_OK) {
        rc = read_plan(p.shuffles, &m.plan, err);
    }
    for (uint32_t k = 0; rc == WEIR_OK && k < p.repeat; k++) {
        rc = run_once(&m, k, &samples, err);
    }
    weir_plan_close(m.plan);
    if (rc == WEIR_OK) {
        *out = (struct wb_setup){
            .params = p,
            .cold = wb_spread_of(samples.cold, p.repeat),
            .warm = wb_spread_of(samples.warm, p.repeat * WB_SETUP_WARM),
            .cpu = wb_spread_of(samples.cpu, p.repeat),
        };
    }
    return rc;
}

/* ---- the report ---------------------------------------------------------- */

static void print_line(const char *what, const struct wb_spread *s, FILE *out)
{
    (void)fprintf(out, "%-40s %9.4f %9.4f %9.4f\n", what, s->median, s->min,
                  s->max);
}

void wb_setup_print(const struct wb_setup *r, FILE *out)
{
    const struct wb_setup_params *p = &r->params;
    (void)fprintf(out,
                  "%u shuffles, %u nodes x %u workers over %s, one row; "
                  "%u runs of %u queries\n\n%-40s %9s %9s %9s\n",
                  p->shuffles, p->nodes, p->workers, p->transport, p->repeat,
                  QUERIES, "", "median s", "min s", "max s");
    print_line("cold: processes made to first row", &r->cold, out);
    print_line("warm: query open to first row", &r->warm, out);
    print_line("CPU of a run, all processes", &r->cpu, out);
}

weir_err wb_setup_print_json(const struct wb_setup *r, FILE *out,
                             struct weir_error *err)
{
    const struct wb_setup_params *p = &r->params;
    json_t *o = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, "
        "s:f}",
        "benchmark", "setup", "transport", p->transport, "nodes", (int)p->nodes,
        "workers", (int)p->workers, "shuffles", (int)p->shuffles, "repeat",
        (int)p->repeat, "warm_queries", (int)WB_SETUP_WARM, "cold_s",
        r->cold.median, "cold_min_s", r->cold.min, "cold_max_s", r->cold.max,
        "warm_s", r->warm.median, "warm_min_s", r->warm.min, "warm_max_s",
        r->warm.max, "cpu_s", r->cpu.median);
    return wb_report_write(o, out, err);
}
