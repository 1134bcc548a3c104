/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node of the library per process. A phase is a query: opened before the
 * workers meet, closed after all have ended; links stay open in between.
 */
#define _GNU_SOURCE 1
#include "bench/lib/weir_engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/lib/two_stage.h"
#include "core/base/err.h"

#define NAME_BYTES 64

struct engine {
    const struct wb_node *plan;
    weir_node *node;
    uint64_t queries;               /* opened so far: the same on all nodes */
    struct wb_two_stage *two_stage; /* of the running phase */
};

/* The parent's number keeps apart what runs on one machine at a time. */
static void name_node(const struct wb_node *plan, uint32_t i,
                      char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "bench-%d-%u-%u", (int)getppid(),
                   plan->run, i);
}

static weir_err engine_open(const struct wb_node *plan, char *address,
                            void **out, struct weir_error *err)
{
    char name[NAME_BYTES];
    name_node(plan, plan->self, name);
    struct engine *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a node");
    }
    e->plan = plan;
    struct weir_node_params params = {
        .name = name,
        .transport = plan->params.transport,
        .workers = plan->params.workers,
        .max_members = plan->params.nodes,
        .memory_bytes = plan->params.memory_bytes,
        .frame_bytes = plan->params.frame_bytes,
        .ring_frames = plan->params.ring_frames,
        .no_checksum = plan->params.no_checksum,
        .connect_ns = UINT64_C(30000000000), /* all links at once, perhaps in
                                                an emulated machine */
    };
    char listen[WB_ADDRESS_BYTES];
    if (plan->params.listen != NULL && strcmp(params.transport, "shm") != 0) {
        (void)snprintf(listen, sizeof(listen), "%s:0", plan->params.listen);
        params.listen = listen;
    }
    weir_err rc = weir_node_open(&params, &e->node, err);
    if (rc != WEIR_OK) {
        free(e);
        return rc;
    }
    (void)snprintf(address, WB_ADDRESS_BYTES, "%s", weir_node_address(e->node));
    *out = e;
    return WEIR_OK;
}

static weir_err engine_connect(void *engine, struct weir_error *err)
{
    struct engine *e = engine;
    uint32_t n = e->plan->params.nodes;
    struct weir_member *members = calloc(n, sizeof(*members));
    char(*names)[NAME_BYTES] = calloc(n, sizeof(*names));
    weir_err rc = WEIR_ERR_NO_MEMORY;
    if (members == NULL || names == NULL) {
        rc = wi_fail(err, rc, "no memory for %u members", n);
    } else {
        for (uint32_t i = 0; i < n; i++) {
            name_node(e->plan, i, names[i]);
            members[i] = (struct weir_member){
                .name = names[i],
                .address = e->plan->address[i],
                .workers = e->plan->params.workers,
            };
        }
        rc = weir_node_join(e->node, members, n, err);
    }
    free(names);
    free(members);
    return rc;
}

static weir_err engine_prepare(void *engine, struct weir_error *err)
{
    struct engine *e = engine;
    return wb_two_stage_open(e->node, e->plan->params.workers, ++e->queries,
                             &e->two_stage, err);
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
    weir_node_close(e->node);
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
