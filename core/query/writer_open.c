/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/writer_open.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/isa.h"
#include "core/format/frame_build.h"
#include "core/format/frame_fan.h"
#include "core/format/intake.h"
#include "core/link/edge.h"
#include "core/link/edge_out.h"
#include "core/link/engine.h"
#include "core/link/life.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/link/worker.h"
#include "core/query/query.h"
#include "core/query/query_fail.h"
#include "core/query/shuffle.h"
#include "core/query/writer.h"

/* Bytes of an open frame below which a writer is refused where the plan could
 * not promise more. */
#define STAGE_LEAST 512u

/* Destinations from which on rows are scattered without lists;
 * docs/rationale.md has the figures. */
#define FAN_LANES 32u

static struct wi_out *open_out(struct weir_writer *w, uint32_t member,
                               uint32_t worker)
{
    struct weir_shuffle *s = w->shuffle;
    struct wi_engine *e = s->query->engine;
    struct wi_link *l = wi_link_need(e, member);
    struct wi_out *o = aligned_alloc(WI_CACHE_LINE, sizeof(*o));
    if (l == NULL || o == NULL) {
        free(o);
        return NULL;
    }
    memset(o, 0, sizeof(*o));
    o->item.kind = WI_ITEM_OUT;
    wi_list_init(&o->item.on_link);
    wi_list_init(&o->item.posting);
    o->query_id = s->query->id;
    o->shuffle_id = s->id;
    o->fingerprint = s->fingerprint;
    o->producer_worker = (uint16_t)w->worker->idx;
    o->consumer_worker = (uint16_t)worker;
    o->worker = w->worker;
    wi_out_start(l, o);
    return o;
}

/* The lanes to one member: a ring each, or one ring for all of them. */
static weir_err open_member(struct weir_writer *w, uint32_t member,
                            struct weir_error *err)
{
    struct weir_shuffle *s = w->shuffle;
    uint32_t n = wi_shuffle_dests(s, member);
    bool shared = s->query->engine->budget.per_node && n > 1;
    uint32_t workers = wi_shuffle_workers(s, member, s->consumer_workers);
    /* Whose bell rings for rows that anybody may take. */
    uint32_t first = s->to_node ? w->worker->idx % workers : 0;
    struct wi_out *o = NULL;
    for (uint32_t k = 0; k < n; k++) {
        bool owner = o == NULL || !shared;
        if (owner) {
            o = open_out(w, member, shared || s->to_node ? WI_ANY_WORKER : k);
        }
        if (o == NULL) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an edge");
        }
        struct wi_lane *lane = &w->lanes[w->n_lanes++];
        *lane =
            (struct wi_lane){.out = o,
                             .worker = (uint16_t)(first + k),
                             .owner = owner,
                             .shared = shared,
                             .takers = (uint16_t)(s->to_node ? workers : 0)};
        weir_err rc = wi_builder_open(s->schema, &lane->builder, err);
        if (rc == WEIR_OK && w->fan == NULL && wi_isa_around()) {
            rc = wi_builder_stream(lane->builder, err);
        }
        if (rc != WEIR_OK) {
            return rc;
        }
        if (w->fan != NULL) {
            wi_builder_join(lane->builder, w->fan, w->n_lanes - 1);
        }
    }
    return WEIR_OK;
}

/* Lanes to the consumers before the k-th one. */
static uint32_t lanes_before(const struct weir_writer *w, uint32_t k)
{
    const struct weir_shuffle *s = w->shuffle;
    uint32_t n = 0;
    for (uint32_t i = 0; i < k; i++) {
        n += wi_shuffle_dests(s, s->consumers[i]);
    }
    return n;
}

/* In the order of lane_at(), as links take turns in the order in which they
 * first had something to send. */
static weir_err open_lanes(struct weir_writer *w, struct weir_error *err)
{
    struct weir_shuffle *s = w->shuffle;
    const struct wi_engine *e = s->query->engine;
    weir_err rc = WEIR_OK;
    uint32_t n = s->n_consumers;
    uint64_t place = (e->self + 1ull) * n / e->n_members;
    w->first_lane = lanes_before(w, (uint32_t)(place % n));
    w->n_lanes = w->first_lane;
    for (uint32_t i = 0; i < n && rc == WEIR_OK; i++) {
        uint32_t k = (uint32_t)((place + i) % n);
        w->n_lanes = k == 0 ? 0 : w->n_lanes;
        rc = open_member(w, s->consumers[k], err);
    }
    w->n_lanes = lanes_before(w, n); /* those not opened are zero */
    return rc == WEIR_OK ? weir_query_status(s->query, err) : rc;
}

/* Stages of the lanes that share rings. Members with more workers than this
 * node, for which the plan is made, leave less for each. */
static weir_err open_stages(struct weir_writer *w, struct weir_error *err)
{
    const struct wi_budget *b = &w->shuffle->query->engine->budget;
    uint64_t n = 0;
    for (uint32_t d = 0; d < w->n_lanes; d++) {
        n += w->lanes[d].shared;
    }
    if (n == 0) {
        return WEIR_OK;
    }
    uint64_t each = b->stages_bytes / n / WI_CACHE_LINE * WI_CACHE_LINE;
    w->stage_bytes = (uint32_t)wi_min_u64(each, b->stage_bytes);
    uint32_t least = w->worker->engine->flexible ? STAGE_LEAST : WI_CACHE_LINE;
    if (w->stage_bytes < least) {
        return wi_fail(err, WEIR_ERR_BUDGET,
                       "%" PRIu64 " destinations share %" PRIu64
                       " bytes for open frames: raise memory_bytes, or let the "
                       "shuffle go to nodes (WEIR_TO_NODE)",
                       n, b->stages_bytes);
    }
    w->stages = aligned_alloc(WI_CACHE_LINE, n * w->stage_bytes);
    if (w->stages == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u frames",
                       w->n_lanes);
    }
    uint8_t *next = w->stages;
    for (uint32_t d = 0; d < w->n_lanes; d++) {
        if (w->lanes[d].shared) {
            w->lanes[d].stage = next;
            next += w->stage_bytes;
        }
    }
    return WEIR_OK;
}

/* Rows are scattered in their order where lists would be short. */
static weir_err open_fan(struct weir_writer *w, struct weir_error *err)
{
    const struct weir_shuffle *s = w->shuffle;
    return s->n_dest >= FAN_LANES
               ? wi_fan_open(s->schema, s->n_dest, &w->fan, err)
               : WEIR_OK;
}

static weir_err open_locked(struct weir_shuffle *s, uint32_t worker,
                            struct weir_writer **out, struct weir_error *err)
{
    struct wi_engine *e = s->query->engine;
    uint32_t n = s->self_produces
                     ? wi_shuffle_workers(s, e->self, s->producer_workers)
                     : 0;
    if (worker >= n) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "worker %u of %s does not produce for shuffle %u: "
                       "%u of its workers do, from 0 on (producers, "
                       "producer_workers)",
                       worker, e->name, s->id, n);
    }
    if (s->writers[worker] != NULL) {
        return wi_fail(err, WEIR_ERR_DUPLICATE,
                       "worker %u has a writer of shuffle %u", worker, s->id);
    }
    if ((s->wrote >> worker & 1) != 0) {
        return wi_fail(err, WEIR_ERR_STATE,
                       "worker %u has finished and closed its writer of "
                       "shuffle %u: one writer for each worker and shuffle",
                       worker, s->id);
    }
    struct weir_writer *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a writer");
    }
    wi_list_init(&w->on_worker);
    w->shuffle = s;
    w->worker = &e->workers[worker];
    /* rlx: a number; the first push counts as one after a wait */
    w->turns_seen = wi_load_rlx(&w->worker->turns) - 1;
    w->partition = s->partitions[worker];
    w->row_bytes = wi_frame_min_bytes(s->schema);
    w->trust = e->cfg.trust_batches != 0;
    w->lanes = calloc(s->n_dest, sizeof(*w->lanes));
    w->views = calloc(s->schema->n_columns, sizeof(*w->views));
    s->writers[worker] = w;
    wi_list_push_back(&w->worker->writers, &w->on_worker);
    weir_err rc = w->lanes != NULL && w->views != NULL
                      ? open_fan(w, err)
                      : wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory");
    wi_edges_limbo(e); /* rings that have ended give their units back first */
    rc = rc == WEIR_OK ? open_lanes(w, err) : rc;
    rc = rc == WEIR_OK ? open_stages(w, err) : rc;
    if (rc == WEIR_OK && s->schema->n_lists > 0) {
        rc = wi_intake_open(s->schema, NULL, &w->intake, err);
    }
    if (rc != WEIR_OK) {
        wi_writer_free(w);
        return rc;
    }
    *out = w;
    return WEIR_OK;
}

weir_err weir_writer_open(weir_shuffle *shuffle, uint32_t worker,
                          weir_writer **writer_out, struct weir_error *err)
{
    struct weir_error why; /* for the other members */
    weir_err rc = wi_check_args(err, WI_ARG(shuffle), WI_ARG(writer_out));
    rc = rc == WEIR_OK ? wi_engine_check_own(shuffle->query->engine, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_query *q = shuffle->query;
    err = err != NULL ? err : &why;
    wi_node_lock(q->node);
    rc = weir_query_status(q, err);
    if (rc == WEIR_OK) {
        rc = open_locked(shuffle, worker, writer_out, err);
    }
    if (rc == WEIR_OK) {
        wi_query_opened(q, WI_PART_WRITER, shuffle->id, worker);
    } else {
        wi_query_refused(q, WI_PART_WRITER, shuffle->id, worker, err);
    }
    wi_node_unlock(q->node);
    return rc;
}

weir_err weir_writer_stats(const weir_writer *writer, uint32_t dest,
                           struct weir_edge_stats *stats_out)
{
    if (writer == NULL || stats_out == NULL || dest >= writer->n_lanes) {
        return WEIR_ERR_ARG;
    }
    const struct wi_lane *lane = &writer->lanes[dest];
    *stats_out = (struct weir_edge_stats){.rows = lane->rows,
                                          .bytes = lane->bytes,
                                          .frames = lane->frames,
                                          .filtered = lane->filtered};
    return WEIR_OK;
}

void wi_writer_free(struct weir_writer *w)
{
    bool finished = wi_load_rlx(&w->finished); /* rlx: its worker's is over */
    for (uint32_t d = 0; d < w->n_lanes; d++) {
        if (w->lanes[d].owner) {
            wi_out_release(w->lanes[d].out, finished);
        }
        if (w->lanes[d].builder != NULL) {
            wi_builder_close(w->lanes[d].builder);
        }
    }
    wi_fan_close(w->fan);
    w->shuffle->writers[w->worker->idx] = NULL;
    w->shuffle->wrote |= (uint64_t)finished << w->worker->idx;
    wi_list_remove(&w->on_worker);
    free(w->image);
    free(w->stages);
    free(w->lanes);
    wi_intake_close(w->intake);
    free(w->views);
    free(w->sieve);
    free(w);
}

static void abort_of(const struct weir_writer *w)
{
    char what[64];
    (void)snprintf(what, sizeof(what), "the writer of worker %u of shuffle %u",
                   w->worker->idx, w->shuffle->id);
    wi_query_abort(w->shuffle->query, what, "it was not finished");
}

void weir_writer_close(weir_writer *writer)
{
    if (writer == NULL || wi_engine_inherited(writer->worker->engine)) {
        return;
    }
    struct weir_query *q = writer->shuffle->query;
    wi_node_lock(q->node);
    if (!wi_load_rlx(&writer->finished)) { /* rlx: our own worker's */
        abort_of(writer);
    }
    wi_writer_free(writer);
    wi_node_unlock(q->node);
}
