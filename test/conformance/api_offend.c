/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member whose messages are well-formed and forbidden: it opens edges that it
 * may not open, and writes frames that are refused. Node 2 does it, and its own
 * library does not know. The queries that it belongs to fail with its name, the
 * others are exact, and nothing of them is left.
 */
#include "test/conformance/api.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bitmap.h"
#include "core/base/cc.h"
#include "core/link/edge.h"
#include "core/link/edge_in.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/query/shuffle.h"
#include "core/query/writer.h"

enum { OFFENDER = 2, REFUSALS = 200 };

struct stage {
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
};

static const uint32_t consumer[] = {0};
static const uint32_t producers[] = {1, OFFENDER};

/* Rows from nodes 1 and 2 to node 0. */
static struct wt_flow_params to_node_0(void)
{
    return (struct wt_flow_params){.shuffle = {.id = 1,
                                               .producers = producers,
                                               .n_producers = 2,
                                               .consumers = consumer,
                                               .n_consumers = 1},
                                   .n_rows = 300};
}

static void open_cluster(struct stage *s, const struct wt_place *place,
                         uint32_t workers, bool node_rings)
{
    struct wt_cluster_params p = {
        .nodes = 3,
        .workers = workers,
        .node = {.frame_bytes = 4096, .max_shuffles = 4}};
    if (node_rings) {
        p.node.memory_bytes = wt_least_memory(place, &p);
    }
    memset(s, 0, sizeof(*s));
    wt_cluster_open(&s->c, place, &p);
}

static void run(struct stage *s)
{
    bool ran = wt_cluster_run(&s->c);
    cr_assert(ran, "%s", s->c.why);
}

static void close_flow(struct stage *s)
{
    wt_query_close(&s->q);
    wt_flow_close(&s->f);
    s->c.why[0] = '\0';
}

/* Every node is as good as before. */
static void end(struct stage *s)
{
    close_flow(s);
    wt_query_open(&s->q, &s->c, 4711, NULL);
    wt_flow_open(&s->f, &s->q, NULL);
    run(s);
    wt_flow_check(&s->f);
    close_flow(s);
    wt_cluster_close(&s->c);
}

/* The query fails on its members, for what node 2 did. */
static void check_blamed(struct stage *s, const char *what)
{
    bool failed = wt_until(&s->c, wt_query_has_failed, &s->q);
    cr_assert(failed);
    wt_query_failed(&s->q, WEIR_ERR_PEER_PROTOCOL, s->c.name[OFFENDER]);
    wt_query_failed(&s->q, WEIR_ERR_PEER_PROTOCOL, what);
    for (uint32_t w = 0; w < s->c.n_workers; w++) {
        const struct wt_sink *sink = s->f.sink[0][w];
        cr_assert(sink == NULL || sink->task->end == WEIR_ERR_PEER_PROTOCOL,
                  "%s", weir_err_name(sink->task->end));
    }
}

/* A producer that never comes, unless its query fails. */
static weir_err late_step(void *arg)
{
    const struct wt_source *s = arg;
    const struct wt_flow *f = s->flow;
    weir_err rc = weir_query_status(f->query->query[s->task->node], NULL);
    return rc == WEIR_OK ? WEIR_AGAIN : rc;
}

static void be_late(struct stage *s)
{
    for (uint32_t w = 0; w < s->c.n_workers; w++) {
        if (s->f.source[1][w] != NULL) {
            s->f.source[1][w]->task->step = late_step;
        }
    }
}

/* ---- edges --------------------------------------------------------------- */

/* A second writer of worker 0, as if there were none yet. */
static weir_writer *open_double(weir_shuffle *shuffle)
{
    weir_writer *w = NULL;
    struct weir_error err = {0};
    shuffle->writers[0] = NULL;
    cr_assert_eq(weir_writer_open(shuffle, 0, &w, &err), WEIR_OK, "%s",
                 err.message);
    return w;
}

static weir_err finish_step(void *arg)
{
    weir_err rc = weir_writer_finish(arg);
    return rc == WEIR_OK ? WEIR_DONE : rc;
}

/* The end of a second edge is not that of a producer which is late. */
static void second_edge(const struct wt_place *place, bool node_rings)
{
    const struct wt_flow_params params = to_node_0();
    struct stage s;
    open_cluster(&s, place, node_rings ? 2 : 1, node_rings);
    wt_query_open(&s.q, &s.c, 1, NULL);
    wt_flow_open(&s.f, &s.q, &params);
    weir_writer *first = s.f.source[OFFENDER][0]->writer;
    weir_writer *second = open_double(s.f.shuffle[OFFENDER]);
    (void)wt_task(&s.c, OFFENDER, 0, finish_step, second);
    be_late(&s);
    uint64_t now = weir_sim_now(s.c.sim); /* nor has its edge come yet */
    weir_sim_stall(s.c.sim, 1, now, now + 1000000);
    run(&s);
    check_blamed(&s, "which has one to the same worker");
    weir_writer_close(second);
    s.f.shuffle[OFFENDER]->writers[0] = first;
    end(&s);
}

void wt_api_second_edge_of_a_worker_is_refused(const struct wt_place *place)
{
    second_edge(place, false);
    second_edge(place, true);
}

/* Node 2 has opened the shuffle as the others, and then produces after all. */
void wt_api_edge_of_no_producer_is_refused(const struct wt_place *place)
{
    struct wt_flow_params params = to_node_0();
    struct stage s;
    weir_writer *w = NULL;
    struct weir_error err = {0};
    params.shuffle.n_producers = 1;
    open_cluster(&s, place, 1, false);
    wt_query_open(&s.q, &s.c, 1, NULL);
    wt_flow_open(&s.f, &s.q, &params);
    be_late(&s);
    s.f.shuffle[OFFENDER]->self_produces = true;
    cr_assert_eq(weir_writer_open(s.f.shuffle[OFFENDER], 0, &w, &err), WEIR_OK,
                 "%s", err.message);
    (void)wt_task(&s.c, OFFENDER, 0, finish_step, w);
    run(&s);
    check_blamed(&s, "which does not produce");
    end(&s);
}

/* The offender's two workers say that they are others. */
static void pretend(const struct wt_place *place, uint16_t producer,
                    uint16_t to, const char *what)
{
    struct wt_flow_params params = to_node_0();
    struct stage s;
    params.shuffle.producer_workers = 1;
    params.shuffle.consumer_workers = 1;
    open_cluster(&s, place, 2, false);
    wt_query_open(&s.q, &s.c, 1, NULL);
    wt_flow_open(&s.f, &s.q, &params);
    struct wi_out *o = s.f.source[OFFENDER][0]->writer->lanes[0].out;
    o->producer_worker = producer;
    o->consumer_worker = to;
    be_late(&s);
    run(&s);
    check_blamed(&s, what);
    end(&s);
}

void wt_api_edge_of_other_workers_is_refused(const struct wt_place *place)
{
    pretend(place, 1, 0, "from its worker 1, which does not produce");
    pretend(place, 0, 1, "to one that does not consume");
}

/* Node 2 knows who consumes, and sends to node 1 after all. */
void wt_api_edge_to_no_consumer_is_refused(const struct wt_place *place)
{
    const struct wt_flow_params params = to_node_0();
    struct stage s;
    open_cluster(&s, place, 1, false);
    wt_query_open(&s.q, &s.c, 1, NULL);
    wt_flow_open(&s.f, &s.q, &params);
    be_late(&s);
    weir_shuffle *shuffle = s.f.shuffle[OFFENDER];
    weir_writer *first = s.f.source[OFFENDER][0]->writer;
    shuffle->consumers[0] = 1;
    weir_writer *second = open_double(shuffle);
    (void)wt_task(&s.c, OFFENDER, 0, finish_step, second);
    run(&s);
    check_blamed(&s, "to one that does not consume");
    weir_writer_close(second);
    shuffle->writers[0] = first;
    end(&s);
}

static weir_err status_step(void *arg)
{
    weir_err rc = weir_query_status(arg, NULL);
    return rc == WEIR_OK ? WEIR_AGAIN : rc;
}

/* Node 2 opens a query of nodes 0 and 1 as if it were a member. Only its own
 * fails, though it is right in everything else. */
void wt_api_edge_from_outside_the_query_harms_nobody(
    const struct wt_place *place)
{
    static const uint32_t two[] = {0, 1};
    const struct weir_query_params inside = {.members = two, .n_members = 2};
    struct wt_flow_params params = to_node_0();
    struct stage s;
    weir_query *outside = NULL;
    weir_shuffle *shuffle = NULL;
    weir_writer *w = NULL;
    struct weir_error err = {0};
    params.shuffle.n_producers = 1;
    open_cluster(&s, place, 1, false);
    wt_query_open(&s.q, &s.c, 1, &inside);
    wt_flow_open(&s.f, &s.q, &params);
    struct weir_shuffle_params all = s.f.params;
    all.schema = &s.f.schema;
    all.producers = &producers[1];
    cr_assert_eq(weir_query_open(s.c.node[OFFENDER],
                                 &(struct weir_query_params){.id = 1}, &outside,
                                 &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_shuffle_open(outside, &all, &shuffle, &err), WEIR_OK,
                 "%s", err.message);
    shuffle->fingerprint = s.f.shuffle[0]->fingerprint;
    cr_assert_eq(weir_writer_open(shuffle, 0, &w, &err), WEIR_OK, "%s",
                 err.message);
    (void)wt_task(&s.c, OFFENDER, 0, finish_step, w);
    struct wt_task *told = wt_task(&s.c, OFFENDER, 0, status_step, outside);
    run(&s);
    wt_flow_check(&s.f);
    cr_assert_eq(told->end, WEIR_ERR_MISMATCH, "%s", weir_err_name(told->end));
    (void)weir_query_status(outside, &err);
    cr_assert_not_null(strstr(err.message, "among the members"), "%s",
                       err.message);
    weir_query_close(outside);
    end(&s);
}

/* ---- frames -------------------------------------------------------------- */

/* Pushes rows, and damages each frame on its way: the simulator reads what is
 * written when it arrives. In turns its table, its values. */
static weir_err damage_step(void *arg)
{
    struct wt_source *s = arg;
    struct wi_out *o = s->writer->lanes[0].out;
    uint64_t before = o->tail;
    weir_err rc = wt_source_step(s);
    if (rc == WEIR_OK) {
        rc = weir_writer_flush(s->writer);
    }
    if (o->tail != before) {
        uint32_t at = s->flow->query->id % 2 != 0 ? 65 : 129;
        o->mem[before % o->size + at] ^= 64;
    }
    return rc;
}

/* A worker whose call failed finds what failed the query, and its message. */
static weir_err strict_sink_step(void *arg)
{
    struct wt_sink *s = arg;
    weir_err rc = wt_sink_step(s);
    struct weir_error err = {0};
    if (rc < 0 && (weir_query_status(s->flow->query->query[0], &err) != rc ||
                   err.message[0] == '\0')) {
        wt_complain(s->flow->cluster, "a reader has %s, its query %s: \"%s\"",
                    weir_err_name(rc), weir_err_name(err.code), err.message);
    }
    return rc;
}

/* What node 2 could do where its writes are not seen: other bytes in the ring
 * while its rows are being read. */
struct reading {
    struct wt_sink *sink;
    weir_query *query;
    bool read;
};

static weir_err rewritten_step(void *arg)
{
    struct reading *r = arg;
    struct wt_cluster *c = r->sink->flow->cluster;
    struct ArrowArray batch;
    int32_t seen[1024];
    weir_err rc = weir_reader_next(r->sink->reader, &batch);
    if (rc != WEIR_OK) {
        return rc;
    }
    const int32_t *offsets = batch.children[2]->buffers[1];
    size_t bytes = ((size_t)batch.length + 1) * sizeof(*offsets);
    uint32_t member = 0;
    uint32_t worker = 0;
    cr_assert_leq(bytes, sizeof(seen));
    memcpy(seen, offsets, bytes);
    weir_reader_source(r->sink->reader, &member, &worker);
    const struct wi_link *l = c->node[0]->engine.members[member].link;
    memset(l->area.base, 0x5a, l->area.bytes);
    if (memcmp(seen, offsets, bytes) != 0) {
        wt_complain(c, "a peer changed offsets after they were checked");
    }
    r->read = r->read || member != 0;
    batch.release(&batch);
    weir_query_cancel(r->query, "seen");
    return WEIR_DONE;
}

static void rewritten(const struct wt_place *place, bool node_rings)
{
    const struct wt_flow_params params = to_node_0();
    struct stage s;
    struct reading r[2] = {0};
    open_cluster(&s, place, 2, node_rings);
    wt_query_open(&s.q, &s.c, 1, NULL);
    wt_flow_open(&s.f, &s.q, &params);
    for (uint32_t w = 0; w < 2; w++) {
        r[w] = (struct reading){.sink = s.f.sink[0][w], .query = s.q.query[0]};
        s.f.sink[0][w]->task->step = rewritten_step;
        s.f.sink[0][w]->task->arg = &r[w];
    }
    run(&s);
    cr_assert_eq(s.c.why[0], '\0', "%s", s.c.why);
    cr_assert(r[0].read || r[1].read);
    end(&s);
}

void wt_api_rewritten_rows_keep_their_lengths(const struct wt_place *place)
{
    rewritten(place, false);
    rewritten(place, true);
}

enum { TAIL = 128 }; /* the next byte: no write passes over it */

/* Byte by byte: inside of the rings that are open, what is not published. */
static void mark_free(const struct wi_link *l, uint8_t *free_of)
{
    memset(free_of, 0, l->area.bytes);
    uint8_t ring = 1;
    wi_list_each(n, &l->ins)
    {
        const struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
        uint64_t at = (uint64_t)(in->mem - (const uint8_t *)l->area.base);
        if (in->closed) {
            continue;
        }
        memset(free_of + at, ring++, in->size);
        uint64_t head = wi_load_rlx(&in->ctl->head);
        for (uint64_t p = head; p < wi_load_rlx(&in->ctl->tail); p += 64) {
            memset(free_of + at + p % in->size, 0, 64);
        }
        uint8_t *next = free_of + at + wi_load_rlx(&in->ctl->tail) % in->size;
        *next |= *next != 0 ? TAIL : 0;
    }
}

static bool all_free(const uint8_t *free_of, uint64_t off, uint64_t bytes)
{
    for (uint64_t i = off; i < off + bytes; i += 64) {
        if (free_of[i] == 0 || (i != off && (free_of[i] & TAIL) != 0) ||
            (free_of[i] & ~TAIL) != (free_of[off] & ~TAIL)) {
            return false;
        }
    }
    return true;
}

static uint32_t check_guard(struct wi_link *l)
{
    static const uint32_t sizes[] = {64, 128, 4096, 8192};
    uint8_t *free_of = malloc(l->area.bytes);
    uint32_t allowed = 0;
    cr_assert_not_null(free_of);
    mark_free(l, free_of);
    for (uint64_t off = 0; off < l->area.bytes; off += 64) {
        for (size_t i = 0; i < WI_ARRAY_LEN(sizes); i++) {
            bool want = off + sizes[i] <= l->area.bytes &&
                        all_free(free_of, off, sizes[i]);
            cr_assert_eq(wi_in_may_write(l, off, sizes[i]), want,
                         "%u bytes at %lu of %lu", sizes[i], (unsigned long)off,
                         (unsigned long)l->area.bytes);
            allowed += want;
        }
    }
    free(free_of);
    return allowed;
}

struct guarded {
    struct wt_sink *sink;
    uint64_t allowed;
};

static weir_err guarded_step(void *arg)
{
    struct guarded *g = arg;
    struct weir_node *n = g->sink->flow->cluster->node[0];
    weir_err rc = wt_sink_step(g->sink);
    if (g->sink->batches > 2) { /* one or more are held */
        g->allowed += check_guard(n->engine.members[1].link);
        g->allowed += check_guard(n->engine.members[OFFENDER].link);
    }
    return rc;
}

/* Asked by transports that see each write. */
void wt_api_writes_are_kept_off_published_rows(const struct wt_place *place)
{
    const struct wt_flow_params params = to_node_0();
    struct stage s;
    open_cluster(&s, place, 1, false);
    wt_query_open(&s.q, &s.c, 1, NULL);
    wt_flow_open(&s.f, &s.q, &params);
    struct guarded g = {.sink = s.f.sink[0][0]};
    g.sink->hold = 2;
    g.sink->task->step = guarded_step;
    g.sink->task->arg = &g;
    run(&s);
    wt_flow_check(&s.f);
    cr_assert_gt(g.allowed, 0);
    end(&s);
}

static void check_nothing_is_left(const struct stage *s)
{
    for (uint32_t i = 0; i < s->c.n_nodes; i++) {
        const struct wi_engine *e = &s->c.node[i]->engine;
        for (uint32_t m = 0; m < e->n_members; m++) {
            const struct wi_link *l = e->members[m].link;
            for (uint32_t u = 0; l != NULL && u < e->budget.n_units; u++) {
                cr_assert(!wi_bitmap_test(l->used, u), "unit %u of %u", u, m);
            }
            cr_assert(l == NULL || l->peer_free == l->peer_units,
                      "node %u to %u: %u of %u", i, m, l->peer_free,
                      l->peer_units);
        }
        cr_assert(wi_list_empty(&e->dead) && wi_list_empty(&e->strays));
    }
}

static bool units_are_back(void *arg)
{
    const struct stage *s = arg;
    for (uint32_t i = 0; i < s->c.n_nodes; i++) {
        for (uint32_t m = 0; m < s->c.n_nodes; m++) {
            const struct wi_link *l = s->c.node[i]->engine.members[m].link;
            if (l != NULL && l->peer_free != l->peer_units) {
                return false;
            }
        }
    }
    return true;
}

static void refused_frames(const struct wt_place *place, bool node_rings)
{
    const struct wt_flow_params params = to_node_0();
    struct stage s;
    open_cluster(&s, place, 2, node_rings);
    for (uint32_t i = 1; i <= REFUSALS; i++) {
        wt_query_open(&s.q, &s.c, i, NULL);
        wt_flow_open(&s.f, &s.q, &params);
        for (uint32_t w = 0; w < 2; w++) {
            s.f.source[OFFENDER][w]->task->step = damage_step;
            s.f.sink[0][w]->task->step = strict_sink_step;
        }
        be_late(&s);
        run(&s);
        cr_assert_eq(s.c.why[0], '\0', "%s", s.c.why);
        bool failed = wt_until(&s.c, wt_query_has_failed, &s.q);
        cr_assert(failed);
        wt_query_failed(&s.q, weir_query_status(s.q.query[0], NULL),
                        s.c.name[OFFENDER]);
        close_flow(&s);
        s.c.n_tasks = 0;
        bool back = wt_until(&s.c, units_are_back, &s);
        cr_assert(back, "query %u", i);
    }
    wt_query_open(&s.q, &s.c, REFUSALS + 1, NULL);
    wt_flow_open(&s.f, &s.q, NULL);
    run(&s); /* and every worker looks at its queues once more */
    wt_flow_check(&s.f);
    close_flow(&s);
    bool back = wt_until(&s.c, units_are_back, &s);
    cr_assert(back);
    check_nothing_is_left(&s);
    wt_cluster_close(&s.c);
}

void wt_api_refused_frames_leave_nothing_behind(const struct wt_place *place)
{
    refused_frames(place, false);
    refused_frames(place, true);
}

/* As damage_step, but of frames' heads, which dispatchers look at: what a frame
 * is, or to whom it goes. */
static weir_err behead_step(void *arg)
{
    struct wt_source *s = arg;
    struct wi_out *o = s->writer->lanes[0].out;
    const uint32_t at = s->flow->query->id % 2 != 0
                            ? offsetof(struct wi_frame_header, magic)
                            : offsetof(struct wi_frame_header, worker);
    uint64_t before = o->tail;
    weir_err rc = wt_source_step(s);
    if (rc == WEIR_OK) {
        rc = weir_writer_flush(s->writer);
    }
    if (o->tail != before) {
        o->mem[before % o->size + at] ^= 64;
    }
    return rc;
}

static void behead(const struct wt_place *place, uint64_t id, const char *what)
{
    const struct wt_flow_params params = to_node_0();
    struct stage s;
    open_cluster(&s, place, 2, true);
    wt_query_open(&s.q, &s.c, id, NULL);
    wt_flow_open(&s.f, &s.q, &params);
    for (uint32_t w = 0; w < 2; w++) {
        s.f.source[OFFENDER][w]->task->step = behead_step;
    }
    be_late(&s);
    run(&s);
    check_blamed(&s, what);
    end(&s);
}

void wt_api_dispatchers_refuse_frames_too(const struct wt_place *place)
{
    behead(place, 1, "magic");
    behead(place, 2, "a frame for a worker that does not take part");
}

static bool has_strays(void *arg)
{
    const struct wi_engine *e = arg;
    return !wi_list_empty(&e->strays);
}

static bool has_no_strays(void *arg)
{
    return !has_strays(arg);
}

/* A dispatcher that began before the query was closed finds the ring broken
 * after: nobody reads it any more, and its query is gone. */
void wt_api_broken_ring_outlives_its_query(const struct wt_place *place)
{
    struct wt_flow_params params = to_node_0();
    struct stage s;
    params.shuffle.n_producers = 1;
    open_cluster(&s, place, 2, true);
    wt_query_open(&s.q, &s.c, 1, NULL);
    wt_flow_open(&s.f, &s.q, &params);
    run(&s);
    struct wi_engine *e = &s.c.node[0]->engine;
    struct wi_list *first = e->members[1].link->ins.next;
    struct wi_in *in = wi_container_of(first, struct wi_in, item.on_link);
    cr_assert_eq(in->consumer_worker, WI_ANY_WORKER);
    wi_store_sc(&in->dispatching, 1);
    close_flow(&s);
    s.c.n_tasks = 0;
    bool gone = wt_until(&s.c, has_strays, e);
    cr_assert(gone, "the ring is not let go");
    wi_store_sc(&in->fail_queued, 1); /* as fail_later() */
    in->fail_code = WEIR_ERR_PEER_PROTOCOL;
    wi_lq_put(&e->failures, &in->failed);
    wi_engine_kick(e);
    wi_store_sc(&in->dispatching, 0);
    bool freed = wt_until(&s.c, has_no_strays, e);
    cr_assert(freed);
    wt_cluster_close(&s.c);
}
