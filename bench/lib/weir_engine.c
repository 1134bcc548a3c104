/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node of the library per process. A phase is a query: opened before the
 * workers meet, closed after all have ended; links stay open in between.
 */
#define _GNU_SOURCE 1
#include "bench/lib/weir_engine.h"

#include <stdlib.h>

#include "bench/lib/two_stage.h"
#include "core/base/err.h"
#include "launch/nodes.h"

struct engine {
    struct wl_nodes nodes;
    weir_node *node;
    enum wb_row row;
    bool to_node;
    uint64_t queries;               /* opened so far: the same on all nodes */
    struct wb_two_stage *two_stage; /* of the running phase */
};

static struct wl_nodes nodes_of(const struct wb_node *plan)
{
    const struct wb_plan_params *p = &plan->params;
    return (struct wl_nodes){.kind = "bench",
                             .run = plan->run,
                             .n = p->nodes,
                             .address = plan->address,
                             .params = {.transport = p->transport,
                                        .listen = p->listen,
                                        .workers = p->workers,
                                        .memory_bytes = p->memory_bytes,
                                        .frame_bytes = p->frame_bytes,
                                        .ring_frames = p->ring_frames,
                                        .no_checksum = p->no_checksum,
                                        .identity = p->identity}};
}

static weir_err engine_open(const struct wb_node *plan, void **out,
                            struct weir_error *err)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a node");
    }
    e->nodes = nodes_of(plan);
    e->row = plan->params.row;
    e->to_node = plan->params.to_node;
    weir_err rc = wl_nodes_open(&e->nodes, plan->self, &e->node, err);
    if (rc != WEIR_OK) {
        free(e);
        return rc;
    }
    *out = e;
    return WEIR_OK;
}

static weir_err engine_connect(void *engine, struct weir_error *err)
{
    struct engine *e = engine;
    return wl_nodes_join(&e->nodes, e->node, err);
}

static weir_err engine_prepare(void *engine, struct weir_error *err)
{
    struct engine *e = engine;
    struct wb_two_stage_params p = {.workers = e->nodes.params.workers,
                                    .query_id = ++e->queries,
                                    .row = e->row,
                                    .to_node = e->to_node};
    return wb_two_stage_open(e->node, &p, &e->two_stage, err);
}

static weir_err engine_work(void *engine, struct wb_worker *worker,
                            struct weir_error *err)
{
    struct engine *e = engine;
    struct wb_task *task = wb_two_stage_task(e->two_stage, worker);
    for (;;) {
        weir_err rc = wb_task_step(task);
        if (rc == WEIR_DONE) {
            return WEIR_OK;
        }
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(e->node, worker->worker, WEIR_FOREVER);
        } else if (rc != WEIR_OK) {
            return wb_two_stage_status(e->two_stage, rc, err);
        }
    }
}

static weir_err engine_settle(void *engine, struct weir_error *err)
{
    struct engine *e = engine;
    (void)err;
    wb_two_stage_close(e->two_stage);
    e->two_stage = NULL;
    return WEIR_OK;
}

static void engine_close(void *engine)
{
    struct engine *e = engine;
    wb_two_stage_close(e->two_stage);
    wl_nodes_close(e->node);
    free(e);
}

const struct wb_engine_ops wb_weir_engine = {
    .name = "weir",
    .open = engine_open,
    .connect = engine_connect,
    .prepare = engine_prepare,
    .work = engine_work,
    .settle = engine_settle,
    .close = engine_close,
};
