/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lib/crowd.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <weir/node.h>

#include "bench/lib/keys.h"
#include "bench/lib/plan.h"
#include "bench/lib/report.h"
#include "bench/lib/two_stage.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "launch/clock.h"
#include "launch/group.h"
#include "launch/nodes.h"

#define MAX_NODES 8u
#define MOST_AT_A_TIME 256u

/* What the members of one query report. */
struct marks {
    struct wb_tally tally[MAX_NODES];
    uint64_t edge[WB_STAGES][MAX_NODES * MAX_NODES];
};

/* In shared memory. */
struct board {
    char address[MAX_NODES][WL_ADDRESS_BYTES];
    uint64_t begin_ns[MAX_NODES];
    uint64_t end_ns[MAX_NODES];
    struct marks query[WB_CROWD_MAX_QUERIES];
};

/* A query that this member has open. */
struct slot {
    struct wb_two_stage *plan; /* NULL: free */
    struct wb_task *task;
    struct wb_worker worker;
};

struct member {
    struct wl_group *group;
    const struct wb_crowd_params *params;
    struct board *board;
    weir_node *node;
    uint32_t self;
    uint32_t at_a_time;
    uint32_t opened;
    uint32_t closed;
    struct slot slot[MOST_AT_A_TIME];
};

/* ---- a member ------------------------------------------------------------ */

static weir_err open_query(struct member *m, struct slot *s,
                           struct weir_error *err)
{
    struct marks *marks = &m->board->query[m->opened];
    const struct wb_two_stage_params p = {.workers = 1,
                                          .query_id = ++m->opened};
    s->worker = (struct wb_worker){.id = m->self,
                                   .first_row = wb_first_row(m->self),
                                   .rows = m->params->rows,
                                   .tally = &marks->tally[m->self]};
    for (uint32_t k = 0; k < WB_STAGES; k++) {
        s->worker.edge[k] = &marks->edge[k][m->self * m->params->nodes];
    }
    weir_err rc = wb_two_stage_open(m->node, &p, &s->plan, err);
    if (rc == WEIR_OK) {
        s->task = wb_two_stage_task(s->plan, &s->worker);
    }
    return rc;
}

/* One round of one query; opens the next one where there is none. */
static weir_err step(struct member *m, struct slot *s, struct weir_error *err)
{
    if (s->plan == NULL) {
        return m->opened == m->params->queries ? WEIR_AGAIN
                                               : open_query(m, s, err);
    }
    weir_err rc = wb_task_step(s->task);
    if (rc == WEIR_DONE) {
        wb_two_stage_close(s->plan);
        s->plan = NULL;
        m->closed++;
        return WEIR_OK;
    }
    return rc < 0 ? wb_two_stage_status(s->plan, rc, err) : rc;
}

static weir_err run_queries(struct member *m, struct weir_error *err)
{
    while (m->closed < m->params->queries) {
        bool moved = false;
        for (uint32_t i = 0; i < m->at_a_time; i++) {
            weir_err rc = step(m, &m->slot[i], err);
            if (rc < 0) {
                return rc;
            }
            moved = moved || rc == WEIR_OK;
        }
        if (!moved) {
            (void)weir_worker_wait(m->node, 0, WEIR_FOREVER);
        }
    }
    return WEIR_OK;
}

static weir_err member(struct wl_group *group, uint32_t self, void *arg,
                       struct weir_error *err)
{
    struct member *m = arg; /* this process's copy */
    m->group = group;
    m->self = self;
    const struct wl_nodes nodes = {
        .kind = "crowd",
        .n = m->params->nodes,
        .address = m->board->address,
        .params = {.transport = m->params->transport, .workers = 1},
    };
    weir_err rc = wl_nodes_open(&nodes, self, &m->node, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wl_group_meet(group); /* all addresses are there */
    rc = wl_nodes_join(&nodes, m->node, err);
    if (rc == WEIR_OK) {
        wl_group_meet(group);
        m->board->begin_ns[self] = wl_now_ns();
        rc = run_queries(m, err);
        m->board->end_ns[self] = wl_now_ns();
    }
    for (uint32_t i = 0; i < m->at_a_time; i++) {
        wb_two_stage_close(m->slot[i].plan);
    }
    if (rc == WEIR_OK) {
        wl_group_meet(group);
    }
    wl_nodes_close(m->node);
    return rc;
}

/* ---- the parent ---------------------------------------------------------- */

static weir_err check(const struct member *m, struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    for (uint32_t q = 0; q < m->params->queries && rc == WEIR_OK; q++) {
        struct marks *marks = &m->board->query[q];
        const struct wb_board board = {
            .workers = m->params->nodes,
            .rows = m->params->rows * m->params->nodes,
            .tally = marks->tally,
            .edge = {marks->edge[0], marks->edge[1]}};
        rc = wb_board_check(&board, err);
    }
    return rc;
}

static double rate_of(const struct member *m)
{
    const struct board *b = m->board;
    uint64_t begin = b->begin_ns[0];
    uint64_t end = b->end_ns[0];
    for (uint32_t i = 1; i < m->params->nodes; i++) {
        begin = wi_min_u64(begin, b->begin_ns[i]);
        end = wi_max_u64(end, b->end_ns[i]);
    }
    return m->params->queries / ((double)(end - begin) * 1e-9);
}

static weir_err run_once(struct member *m, double *rate_out,
                         struct weir_error *err)
{
    const struct wl_group_params gp = {
        .members = m->params->nodes,
        .shared_bytes = sizeof(struct board),
    };
    struct wl_group *group = NULL;
    weir_err rc = wl_group_open(&gp, &group, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    m->board = wl_group_shared(group);
    rc = wl_group_run(group, member, m, err);
    rc = rc == WEIR_OK ? check(m, err) : rc;
    *rate_out = rc == WEIR_OK ? rate_of(m) : 0;
    wl_group_close(group);
    return rc;
}

static uint32_t or_else(uint32_t given, uint32_t usual)
{
    return given != 0 ? given : usual;
}

weir_err wb_crowd_run(const struct wb_crowd_params *params,
                      struct wb_crowd *out, struct weir_error *err)
{
    static double rate[WB_CROWD_KINDS][WB_CROWD_MAX_REPEAT];
    static struct member m;
    *out = (struct wb_crowd){
        .params = {.transport =
                       params->transport != NULL ? params->transport : "shm",
                   .nodes = or_else(params->nodes, 2),
                   .queries = or_else(params->queries, 1024),
                   .rows = params->rows != 0 ? params->rows : 1000,
                   .repeat = or_else(params->repeat, 5)},
        .at_a_time = {8, 64, MOST_AT_A_TIME}};
    const struct wb_crowd_params *p = &out->params;
    if (p->nodes > MAX_NODES || p->queries > WB_CROWD_MAX_QUERIES ||
        p->repeat > WB_CROWD_MAX_REPEAT) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "%u nodes, %u queries, %u runs: at most %u, %u, %u",
                       p->nodes, p->queries, p->repeat, MAX_NODES,
                       WB_CROWD_MAX_QUERIES, WB_CROWD_MAX_REPEAT);
    }
    weir_err rc = WEIR_OK;
    for (uint32_t r = 0; r < p->repeat * WB_CROWD_KINDS && rc == WEIR_OK; r++) {
        uint32_t kind = r % WB_CROWD_KINDS;
        m = (struct member){.params = p, .at_a_time = out->at_a_time[kind]};
        rc = run_once(&m, &rate[kind][r / WB_CROWD_KINDS], err);
    }
    for (uint32_t k = 0; k < WB_CROWD_KINDS && rc == WEIR_OK; k++) {
        out->rate[k] = wb_spread_of(rate[k], p->repeat);
    }
    return rc;
}

/* ---- the report ---------------------------------------------------------- */

void wb_crowd_print(const struct wb_crowd *r, FILE *out)
{
    const struct wb_crowd_params *p = &r->params;
    (void)fprintf(out,
                  "%u queries of 2 shuffles and %llu rows of each of %u nodes "
                  "over %s, defaults; %u interleaved runs, all verified\n\n"
                  "%-12s %12s %9s %9s %9s\n",
                  p->queries, (unsigned long long)p->rows, p->nodes,
                  p->transport, p->repeat, "at a time", "queries/s", "least",
                  "most", "/ first");
    for (uint32_t k = 0; k < WB_CROWD_KINDS; k++) {
        const struct wb_spread *s = &r->rate[k];
        (void)fprintf(out, "%-12u %12.0f %9.0f %9.0f %9.2f\n", r->at_a_time[k],
                      s->median, s->min, s->max, s->median / r->rate[0].median);
    }
}

weir_err wb_crowd_print_json(const struct wb_crowd *r, FILE *out,
                             struct weir_error *err)
{
    const struct wb_crowd_params *p = &r->params;
    json_t *rates = json_object();
    for (uint32_t k = 0; k < WB_CROWD_KINDS; k++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%u", r->at_a_time[k]);
        (void)json_object_set_new(rates, name, json_real(r->rate[k].median));
    }
    json_t *o =
        json_pack("{s:s, s:s, s:i, s:i, s:I, s:i, s:o}", "benchmark", "crowd",
                  "transport", p->transport, "nodes", (int)p->nodes, "queries",
                  (int)p->queries, "rows", (json_int_t)p->rows, "repeat",
                  (int)p->repeat, "queries_per_s", rates);
    return wb_report_write(o, out, err);
}
