/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in forked processes. The first member times it and has the answer. */
#define _GNU_SOURCE 1
#include "bench/lib/query.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <weir/plan.h>
#include <weir/run.h>

#include "chbench/chbench.h"
#include "core/base/err.h"
#include "launch/clock.h"
#include "launch/group.h"

/* What the parent reads afterwards; in shared memory. */
struct board {
    double seconds;
    char answer[WB_ANSWER_BYTES];
};

struct query {
    const struct wb_query_params *params;
    char *plan_text; /* with the tables that the run is to have */
    struct wl_group *group;
    struct wl_nodes nodes;
    uint32_t self;
    struct board *board;
};

/* One member at work. */
struct member {
    struct query *query;
    weir_node *node;
    weir_plan *plan;
    struct ArrowSchema schema;
    FILE *answer; /* member 0: into the board */
    void *printer;
};

/* ---- the plan ------------------------------------------------------------ */

/* Every table in memory, those of chbench of the wanted size. */
static weir_err set_tables(json_t *plan, uint32_t warehouses,
                           struct weir_error *err)
{
    const char *name = NULL;
    json_t *table = NULL;
    json_object_foreach(json_object_get(plan, "tables"), name, table)
    {
        bool computed = json_object_get(table, "chbench") != NULL;
        if (!computed && json_object_get(table, "csv") == NULL) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "table \"%s\" is not one of chbench or csv", name);
        }
        if (json_object_set_new(table, "keep", json_true()) != 0 ||
            (computed && json_object_set_new(table, "warehouses",
                                             json_integer(warehouses)) != 0)) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a plan");
        }
    }
    return WEIR_OK;
}

static weir_err drop_filters(json_t *plan, struct weir_error *err)
{
    size_t i = 0;
    json_t *op = NULL;
    json_array_foreach(json_object_get(plan, "operators"), i, op)
    {
        const char *kind = json_string_value(json_object_get(op, "op"));
        if (kind != NULL && strcmp(kind, "join") == 0 &&
            json_object_set_new(op, "filter", json_string("never")) != 0) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a plan");
        }
    }
    return WEIR_OK;
}

static weir_err make_text(struct query *q, struct weir_error *err)
{
    json_error_t where;
    json_t *plan = json_loads(q->params->plan, 0, &where);
    if (plan == NULL) {
        return wi_fail(err, WEIR_ERR_ARG, "plan: line %d: %s", where.line,
                       where.text);
    }
    weir_err rc = set_tables(plan, q->params->warehouses, err);
    if (rc == WEIR_OK && q->params->no_filters) {
        rc = drop_filters(plan, err);
    }
    if (rc == WEIR_OK) {
        q->plan_text = json_dumps(plan, JSON_COMPACT);
        rc = q->plan_text != NULL
                 ? WEIR_OK
                 : wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a plan");
    }
    json_decref(plan);
    return rc;
}

/* ---- a member ------------------------------------------------------------ */

static weir_err take_rows(void *arg, const struct ArrowArray *batch,
                          struct weir_error *err)
{
    struct member *m = arg;
    return m->query->params->print(&m->printer, &m->schema, batch, m->answer,
                                   err);
}

static weir_err open_answer(struct member *m, struct weir_error *err)
{
    m->answer = fmemopen(m->query->board->answer, WB_ANSWER_BYTES, "w");
    return m->answer != NULL
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for the answer");
}

static weir_err close_answer(struct member *m, struct weir_error *err)
{
    weir_err rc = take_rows(m, NULL, err);
    bool fits = fflush(m->answer) == 0 && !ferror(m->answer);
    (void)fclose(m->answer);
    m->answer = NULL;
    m->printer = NULL;
    if (rc != WEIR_OK) {
        return rc;
    }
    return fits ? WEIR_OK
                : wi_fail(err, WEIR_ERR_BUDGET,
                          "the answer is longer than %" PRIu32 " bytes",
                          WB_ANSWER_BYTES);
}

static weir_err run_plan(struct member *m, uint64_t id, struct weir_error *err)
{
    struct weir_run_params params = {
        .query_id = id,
        .memory_bytes = m->query->params->memory_bytes,
        .rows = take_rows,
        .rows_arg = m,
    };
    weir_run *run = NULL;
    weir_err rc = weir_run_open(m->node, m->plan, &params, &run, err);
    if (rc == WEIR_OK) {
        rc = weir_run_wait(run, err);
        weir_run_close(run);
    }
    if (rc != WEIR_OK && weir_err_scope(rc) == WEIR_SCOPE_QUERY) {
        wl_group_end(m->query->group, err); /* all have this one */
    }
    return rc;
}

/* One run, from and until all are here. */
static weir_err phase(struct member *m, uint64_t id, struct weir_error *err)
{
    struct query *q = m->query;
    bool first = q->self == 0;
    weir_err rc = first ? open_answer(m, err) : WEIR_OK;
    if (rc != WEIR_OK) {
        return rc;
    }
    wl_group_meet(q->group);
    uint64_t begin_ns = wl_now_ns();
    rc = run_plan(m, id, err);
    if (rc == WEIR_OK) {
        wl_group_meet(q->group);
        q->board->seconds =
            first ? (double)(wl_now_ns() - begin_ns) * 1e-9 : q->board->seconds;
    }
    if (first) {
        weir_err closed = close_answer(m, rc == WEIR_OK ? err : NULL);
        rc = rc == WEIR_OK ? closed : rc;
    }
    return rc;
}

static weir_err run_phases(struct member *m, struct weir_error *err)
{
    const char *text = m->query->plan_text;
    struct weir_plan_read_params how = ch_params;
    how.data_dir = m->query->params->data_dir;
    weir_err rc = weir_plan_read(text, strlen(text), &how, &m->plan, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = weir_plan_schema(m->plan, NULL, &m->schema, err);
    for (uint64_t id = 1; id <= 2 && rc == WEIR_OK; id++) {
        rc = phase(m, id, err);
    }
    if (m->schema.release != NULL) {
        m->schema.release(&m->schema);
    }
    weir_plan_close(m->plan);
    return rc;
}

static weir_err join(struct query *q, weir_node *node, struct weir_error *err)
{
    wl_group_meet(q->group);
    weir_err rc = wl_nodes_join(&q->nodes, node, err);
    if (rc == WEIR_OK) {
        wl_group_meet(q->group);
    }
    return rc;
}

static weir_err member(struct wl_group *group, uint32_t self, void *arg,
                       struct weir_error *err)
{
    struct query *q = arg;
    struct member m = {.query = q};
    q->group = group;
    q->self = self;
    weir_err rc = wl_nodes_open(&q->nodes, self, &m.node, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = join(q, m.node, err);
    if (rc == WEIR_OK) {
        rc = run_phases(&m, err);
    }
    wl_nodes_close(m.node);
    return rc;
}

/* ---- the parent ---------------------------------------------------------- */

weir_err wb_query_run(const struct wb_query_params *params, double *seconds_out,
                      char *answer_out, struct weir_error *err)
{
    static uint32_t runs; /* the caller has one thread */
    struct query q = {.params = params,
                      .nodes = {.kind = "query",
                                .run = ++runs,
                                .n = params->nodes,
                                .params = params->node}};
    struct wl_group_params gp = {
        .members = params->nodes,
        .shared_bytes =
            sizeof(struct board) + params->nodes * (size_t)WL_ADDRESS_BYTES,
        .timeout_ns = params->timeout_ns,
    };
    weir_err rc = make_text(&q, err);
    if (rc == WEIR_OK) {
        rc = wl_group_open(&gp, &q.group, err);
    }
    if (rc == WEIR_OK) {
        q.board = wl_group_shared(q.group);
        q.nodes.address = (char(*)[WL_ADDRESS_BYTES])(void *)(q.board + 1);
        rc = wl_group_run(q.group, member, &q, err);
        if (rc == WEIR_OK) {
            *seconds_out = q.board->seconds;
            memcpy(answer_out, q.board->answer, WB_ANSWER_BYTES);
            answer_out[WB_ANSWER_BYTES - 1] = '\0';
        }
        wl_group_close(q.group);
    }
    free(q.plan_text);
    return rc;
}
