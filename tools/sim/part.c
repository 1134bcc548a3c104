/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/part.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/sim/actor.h"
#include "tools/sim/exec.h"

static const char *const keys[] = {"k"};

/* ---- opening ------------------------------------------------------------- */

static uint32_t list_of(uint32_t set, uint32_t list[WS_NODES])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < WS_NODES; i++) {
        if ((set >> i & 1) != 0) {
            list[n++] = i;
        }
    }
    return n;
}

static weir_err open_stage(struct ws_part *p, uint32_t i,
                           struct weir_error *err)
{
    struct ws_world *w = p->world;
    const struct ws_stage *t = &w->query[p->query].stage[i];
    uint32_t producers[WS_NODES];
    uint32_t consumers[WS_NODES];
    const struct weir_shuffle_params params = {
        .id = i + 1,
        .schema = &w->schema,
        .partitioning = t->kind,
        .keys = t->kind == WEIR_HASH ? keys : NULL,
        .n_keys = t->kind == WEIR_HASH,
        .seed = t->to == WS_NONE ? 5 : 6,
        .to = t->to_node ? WEIR_TO_NODE : WEIR_TO_WORKER,
        .producers = producers,
        .n_producers = list_of(t->producers, producers),
        .consumers = consumers,
        .n_consumers = list_of(t->consumers, consumers),
    };
    return weir_shuffle_open(p->handle, &params, &p->shuffle[i], err);
}

weir_err ws_part_open(struct ws_part *p)
{
    struct ws_world *w = p->world;
    const struct ws_query *q = &w->query[p->query];
    struct weir_error err = {0};
    uint32_t members[WS_NODES];
    const struct weir_query_params params = {
        .id = p->query + 1,
        .members = members,
        .n_members = list_of(q->members, members),
        .deadline_ns = q->deadline_ns,
    };
    if (q->plan == WS_EXECUTOR) {
        p->state = WS_RUNNING;
        return ws_exec_begin(p, &p->outcome);
    }
    weir_err rc = weir_query_open(weir_sim_node(w->sim, p->node), &params,
                                  &p->handle, &err);
    if (rc == WEIR_ERR_NOT_FOUND) {
        return WEIR_AGAIN;
    }
    for (uint32_t i = 0; i < q->n_stages && rc == WEIR_OK; i++) {
        rc = open_stage(p, i, &err);
    }
    p->outcome = err;
    p->state = WS_RUNNING;
    return rc;
}

void ws_query_begin(struct ws_world *w, uint32_t query)
{
    struct ws_query *q = &w->query[query];
    uint32_t present = 0;
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        const bool here = w->node[i].there && !w->node[i].leaving;
        present |= here ? 1u << i : 0;
    }
    w->begun[query] = true;
    if (!ws_query_clip(q, present)) {
        return;
    }
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        struct ws_part *p = &w->part[query][i];
        if ((q->members >> i & 1) == 0) {
            continue;
        }
        *p = (struct ws_part){
            .world = w, .query = query, .node = i, .state = WS_AWAITED};
        if (weir_sim_node(w->sim, i) == NULL) {
            p->state = WS_DIED;
            continue;
        }
        ws_actors_begin(p);
    }
}

/* ---- the end ------------------------------------------------------------- */

uint64_t ws_part_sent(const struct ws_part *p, uint32_t stage, uint32_t worker,
                      uint32_t dest)
{
    struct weir_edge_stats stats;
    const weir_writer *w = p->actor[worker].end[stage].writer;
    if (w == NULL || weir_writer_stats(w, dest, &stats) != WEIR_OK) {
        return p->sent[stage][worker][dest];
    }
    return stats.rows;
}

/* Writers go with the query; what they sent is looked at later. */
static void keep_sent(struct ws_part *p)
{
    for (uint32_t s = 0; s < WS_STAGES; s++) {
        const uint32_t n = weir_shuffle_destinations(p->shuffle[s]);
        for (uint32_t i = 0; i < WS_WORKERS * n; i++) {
            const uint32_t k = i / n;
            p->sent[s][k][i % n] = ws_part_sent(p, s, k, i % n);
        }
    }
}

static weir_err status_of(const struct ws_part *p, struct weir_error *err)
{
    return p->run != NULL      ? weir_run_status(p->run, err)
           : p->handle != NULL ? weir_query_status(p->handle, err)
                               : WEIR_OK;
}

void ws_part_cancel(struct ws_part *p, const char *reason)
{
    if (p->run != NULL) {
        weir_run_cancel(p->run, reason);
    } else if (p->handle != NULL) {
        weir_query_cancel(p->handle, reason);
    }
}

static void close_part(struct ws_part *p, enum ws_state state)
{
    static const char *const words[] = {
        [WS_DONE] = "is done", [WS_FAILED] = "fails", [WS_DIED] = "dies"};
    if (p->world->shape.log) {
        (void)fprintf(stderr, "%12" PRIu64 " query %u on node %u %s: %s\n",
                      weir_sim_now(p->world->sim), p->query, p->node,
                      words[state], p->outcome.message);
    }
    keep_sent(p);
    for (uint32_t i = 0; i < p->world->shape.workers; i++) {
        ws_actor_close(&p->actor[i]);
    }
    weir_query_close(p->handle);
    weir_run_close(p->run);
    p->handle = NULL;
    p->run = NULL;
    memset(p->shuffle, 0, sizeof(p->shuffle));
    p->state = state;
    ws_part_wake(p);
}

void ws_part_leave(struct ws_part *p)
{
    if (--p->actors_left == 0 && ws_part_lives(p)) {
        p->outcome.code = status_of(p, &p->outcome);
        close_part(p, p->outcome.code == WEIR_OK ? WS_DONE : WS_FAILED);
    }
}

/* A call failed although the query is well: with little memory it may. */
static void note_refused(struct ws_part *p, weir_err code)
{
    struct ws_world *w = p->world;
    bool refused = false;
    for (uint32_t i = 0; i < w->shape.schedule.n; i++) {
        const struct ws_fault *f = &w->shape.schedule.fault[i];
        refused = refused || (f->kind == WS_FAULT_memory && f->node == p->node);
    }
    if (!p->own && !(refused && code == WEIR_ERR_NO_MEMORY)) {
        ws_violate(w, "call", "query %u on node %u: a call fails: %s: %s",
                   p->query, p->node, weir_err_name(code), p->outcome.message);
    }
    p->own = true;
}

void ws_part_fail(struct ws_part *p, weir_err code)
{
    struct weir_error status = {0};
    if (!ws_part_lives(p)) {
        return;
    }
    if (status_of(p, &status) != WEIR_OK) {
        p->outcome = status;
    } else {
        p->outcome.code = code;
        note_refused(p, code);
    }
    close_part(p, WS_FAILED);
}

void ws_part_die(struct ws_part *p)
{
    if (ws_part_lives(p)) {
        close_part(p, WS_DIED);
    }
}

/* A node that was started again does not know the query; what others have sent
 * to it waits for that. */
static void call_off_unknown(struct ws_part *p)
{
    weir_query *handle = NULL;
    const struct ws_query *q = &p->world->query[p->query];
    weir_node *node = weir_sim_node(p->world->sim, p->node);
    uint32_t members[WS_NODES];
    struct weir_query_params params = {
        .id = p->query + 1,
        .members = members,
        .n_members = list_of(q->members, members),
    };
    weir_err rc =
        node != NULL ? weir_query_open(node, &params, &handle, NULL) : WEIR_OK;
    if (rc == WEIR_ERR_NOT_FOUND) { /* one has left: alone, then */
        params.members = &p->node;
        params.n_members = 1;
        rc = weir_query_open(node, &params, &handle, NULL);
    }
    if (rc == WEIR_OK && handle != NULL) {
        weir_query_cancel(handle, "a member is gone");
        weir_query_close(handle);
    }
}

void ws_query_call_off(struct ws_world *w, uint32_t query)
{
    w->call_off_ns[query] = 0;
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        struct ws_part *p = &w->part[query][i];
        if (p->state == WS_RUNNING) {
            ws_part_cancel(p, "a member is gone");
            w->called_off[query] = true;
        } else if (p->state == WS_AWAITED) {
            close_part(p, WS_DIED);
            call_off_unknown(p);
        } else if (p->state != WS_ABSENT && w->node[i].crashed) {
            call_off_unknown(p);
        }
    }
}

void ws_part_wake(struct ws_part *p)
{
    weir_node *node = weir_sim_node(p->world->sim, p->node);
    for (uint32_t i = 0; node != NULL && i < p->world->shape.workers; i++) {
        (void)weir_worker_wake(node, i);
    }
}
