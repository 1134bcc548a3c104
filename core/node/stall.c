/* SPDX-License-Identifier: Apache-2.0 */
#include "core/node/stall.h"

#include "core/base/clock.h"
#include "core/link/edge.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/link/worker.h"
#include "core/node/node_os.h"
#include "core/node/report.h"
#include "core/query/query.h"
#include "core/query/reader.h"
#include "core/query/shuffle.h"
#include "core/query/writer.h"

/* ---- looking; each returns a number that changes when something moved ---- */

static uint64_t watch_out(struct wi_out *o, uint64_t now_ns)
{
    uint32_t state = wi_load_rlx(&o->state); /* rlx: engine's */
    if (state == WI_OUT_WAITING || o->closed) {
        return state; /* no ring yet, or none any more */
    }
    /* rlx: positions of others, a moment old */
    uint64_t put = wi_load_rlx(&o->ctl->tail);
    uint64_t taken = o->mapped ? wi_load_rlx(&o->ctl->head) /* rlx: as above */
                               : wi_load_rlx(&o->credit);
    (void)wi_watch_look(&o->put, put, now_ns);
    (void)wi_watch_look(&o->taken, taken, now_ns);
    return state + put + taken;
}

static uint64_t watch_writer(struct weir_writer *w, uint64_t now_ns)
{
    uint64_t sum = wi_load_rlx(&w->finished); /* rlx: a moment old */
    uint64_t put = 0;
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        struct wi_out *o = w->lanes[i].out;
        if (w->lanes[i].owner) {
            sum += watch_out(o, now_ns);
            put += o->put.seen;
        }
    }
    (void)wi_watch_look(&w->put, put, now_ns);
    return sum;
}

static uint64_t watch_in(struct wi_in *in, uint64_t now_ns)
{
    /* rlx: engine's; the control block of a closed ring may be another one's */
    if (in->closed || wi_load_rlx(&in->dead) != 0) {
        return 0;
    }
    /* rlx: positions of others, a moment old */
    uint64_t came = wi_load_rlx(&in->ctl->tail);
    uint64_t read = wi_load_rlx(&in->scan);       /* rlx: as above */
    uint64_t freed = wi_load_rlx(&in->ctl->head); /* rlx: as above */
    (void)wi_watch_look(&in->came, came, now_ns);
    (void)wi_watch_look(&in->read, read, now_ns);
    (void)wi_watch_look(&in->freed, freed, now_ns);
    return came + read + freed;
}

static uint64_t watch_reader(struct weir_reader *r, uint64_t now_ns)
{
    uint32_t n = wi_load_rlx(&r->n_streams); /* rlx: only the engine adds */
    uint64_t sum = n + r->stopped;
    for (uint32_t i = 0; i < n; i++) {
        struct wi_stream *st = r->streams[i];
        sum += watch_in(st->in, now_ns);
        sum += wi_load_rlx(&st->ended); /* rlx: a moment old */
    }
    return sum;
}

static uint64_t watch_shuffle(struct weir_shuffle *s, uint64_t now_ns)
{
    uint64_t sum = 1 + s->wrote + s->was_read;
    for (uint32_t i = 0; i < s->query->engine->cfg.workers; i++) {
        sum +=
            s->writers[i] != NULL ? 1 + watch_writer(s->writers[i], now_ns) : 0;
        sum +=
            s->readers[i] != NULL ? 1 + watch_reader(s->readers[i], now_ns) : 0;
    }
    return sum;
}

static void watch_query(struct weir_query *q, uint64_t now_ns)
{
    uint64_t sum = 0;
    wi_list_each(n, &q->shuffles)
    {
        sum += watch_shuffle(wi_container_of(n, struct weir_shuffle, on_query),
                             now_ns);
    }
    if (wi_watch_look(&q->moved, sum, now_ns)) {
        q->stalled = false;
    }
}

/* What it sleeps on. A worker on duty is up for the engine's steps only,
 * perhaps for this one. */
static uint32_t sleep_of(const struct wi_worker *w)
{
    const struct weir_node *n =
        wi_container_of(w->engine, struct weir_node, engine);
    /* rlx: it was set under the lock */
    /* rlx: under the lock */
    return wi_load_rlx(&n->os->duty) == WI_DUTY_WORKER &&
                   wi_load_rlx(&n->os->on_duty) == w->idx
               ? WI_DOZING
               : wi_load_rlx(&w->bell->parked); /* rlx: a moment old */
}

/* Asleep or not; while awake, what it does with its rings. */
static void watch_worker(struct wi_worker *w, uint64_t now_ns)
{
    /* rlx: numbers of its thread, a moment old */
    uint64_t n = wi_load_rlx(&w->turns);
    n += wi_load_rlx(&w->stats.frames_sent);     /* rlx: as above */
    n += wi_load_rlx(&w->stats.frames_received); /* rlx: as above */
    n = n << 2 | sleep_of(w);
    (void)wi_watch_look(&w->rested, n, now_ns);
}

void wi_watch_all(struct wi_engine *e)
{
    for (uint32_t i = 0; i < e->cfg.workers; i++) {
        watch_worker(&e->workers[i], e->now_ns);
    }
    wi_list_each(n, &e->queries)
    {
        watch_query(wi_query_of(n), e->now_ns);
    }
}

/* ---- standing still ------------------------------------------------------ */

static void find_stalled(const struct wi_engine *e)
{
    wi_list_each(n, &e->queries)
    {
        struct weir_query *q = wi_query_of(n);
        if (!q->failing && !q->stalled &&
            e->now_ns - q->moved.since_ns >= e->cfg.stall_ns) {
            q->stalled = wi_report_stall(q);
        }
    }
}

void wi_stall_tick(struct wi_engine *e)
{
    if (wi_list_empty(&e->queries)) {
        e->watch_ns = UINT64_MAX;
        return;
    }
    if (e->now_ns >= e->watch_ns) {
        wi_watch_all(e);
        find_stalled(e);
        e->watch_ns = wi_time_add(e->now_ns, wi_watch_period(e->cfg.stall_ns));
    }
    wi_engine_due(e, e->watch_ns);
}
