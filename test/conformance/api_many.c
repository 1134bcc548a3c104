/* SPDX-License-Identifier: Apache-2.0 */
/* Many queries in a row, counters, waiting. */
#include "test/conformance/api.h"

#include <dirent.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- nothing is left ----------------------------------------------- */

struct held {
    uint64_t heap;
    uint64_t travel;
    uint64_t fds;
};

static struct held measure(struct wt_cluster *c)
{
    struct held h = {.heap = mallinfo2().uordblks};
    DIR *dir = opendir("/proc/self/fd");
    cr_assert_not_null(dir);
    while (readdir(dir) != NULL) {
        h.fds++;
    }
    (void)closedir(dir);
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        struct weir_node_stats st;
        weir_node_stats_get(c->node[i], &st);
        h.travel += st.memory_bytes;
        cr_assert_eq(st.queries_open, 0);
        cr_assert_leq(st.memory_peak_bytes, st.memory_cap_bytes);
    }
    return h;
}

struct limit {
    uint64_t heap;
    uint64_t last;
};

static bool heap_is_small(void *arg)
{
    struct limit *l = arg;
    l->last = mallinfo2().uordblks;
    return l->last <= l->heap;
}

void wt_api_a_thousand_shuffles_leave_nothing_behind(
    const struct wt_place *place)
{
    /* What is remembered of queries that are over is full early (WI_TOMBS).
     * 50 bytes for each query in between. RCU frees a little later. */
    enum { EARLY = 600, ALL = 1500, SLACK = 45000 };
    const struct wt_flow_params flow = {.n_rows = 20};
    struct wt_cluster c;
    struct held early = {0};
    wt_cluster_open(&c, place, NULL);
    for (uint32_t i = 1; i <= ALL; i++) {
        wt_flow_run(&c, i, &flow);
        if (i == EARLY) {
            early = measure(&c);
        }
    }
    struct held late = measure(&c);
    cr_assert_eq(late.fds, early.fds);
    cr_assert_leq(late.travel, early.travel);
    struct limit limit = {.heap = early.heap + SLACK};
    bool small = wt_until(&c, heap_is_small, &limit);
    cr_assert(small, "%llu bytes, then %llu", (unsigned long long)early.heap,
              (unsigned long long)limit.last);
    wt_cluster_close(&c);
}

/* Rings of shuffles that have ended hold memory here until their writers are
 * closed. The plan has room for two full-size rings on a link, and for four of
 * the least size. */
void wt_api_rings_that_ended_count_in_the_plan(const struct wt_place *place)
{
    enum { FLOWS = 4 };
    const struct wt_cluster_params cluster = {.nodes = 2,
                                              .node = {.frame_bytes = 4096,
                                                       .ring_frames = 16,
                                                       .max_shuffles = FLOWS,
                                                       .memory_bytes = 460000}};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f[FLOWS];
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q, &c, 1, NULL);
    for (uint32_t i = 0; i < FLOWS; i++) {
        const struct wt_flow_params params = {.shuffle = {.id = i + 1}};
        wt_flow_open(&f[i], &q, &params);
        bool ran = wt_cluster_run(&c);
        cr_assert(ran, "shuffle %u: %s", i + 1, c.why);
        wt_flow_check(&f[i]);
    }
    wt_query_close(&q);
    for (uint32_t i = 0; i < FLOWS; i++) {
        wt_flow_close(&f[i]);
    }
    (void)measure(&c);
    wt_cluster_close(&c);
}

/* ---- counters ------------------------------------------------------------ */

void wt_api_counters_add_up(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .workers = 2, .node = {.frame_bytes = 2048}};
    const struct wt_flow_params flow = {.n_rows = 2000};
    struct wt_cluster c;
    struct weir_node_stats sum = {0};
    wt_cluster_open(&c, place, &cluster);
    wt_flow_run(&c, 1, &flow);
    for (uint32_t i = 0; i < 3; i++) {
        struct weir_node_stats st;
        weir_node_stats_get(c.node[i], &st);
#define ADD(name, unit, meaning) sum.name += st.name;
        WEIR_NODE_STATS(ADD)
#undef ADD
        cr_assert_eq(st.rows_sent, 4000);
        cr_assert_geq(st.memory_peak_bytes, st.memory_bytes);
        cr_assert_gt(st.memory_bytes, 0);
    }
    cr_assert_eq(sum.rows_received, 12000);
    cr_assert_eq(sum.frames_sent, sum.frames_received);
    cr_assert_eq(sum.bytes_sent, sum.bytes_received);
    cr_assert_gt(sum.bytes_sent, 12000 * 16);
    cr_assert_eq(sum.links_open, 6, "%llu", (unsigned long long)sum.links_open);
    cr_assert_eq(sum.links_lost + sum.queries_failed + sum.queries_open, 0);
    wt_cluster_close(&c);
}

static weir_err source_of_rows_step(void *arg)
{
    struct wt_sink *s = arg;
    struct wt_flow *f = s->flow;
    struct ArrowArray batch;
    weir_err rc = weir_reader_next(s->reader, &batch);
    if (rc != WEIR_OK) {
        return rc;
    }
    uint32_t member = UINT32_MAX;
    uint32_t worker = UINT32_MAX;
    weir_reader_source(s->reader, &member, &worker);
    for (int64_t row = 0; row < batch.length; row++) {
        uint64_t id = wt_rows_id(&batch, row);
        f->seen[s->dest * f->n_ids + id]++;
        if (id / f->n_rows != member * f->cluster->n_workers + worker) {
            wt_complain(f->cluster, "id %llu from %u.%u",
                        (unsigned long long)id, member, worker);
        }
    }
    batch.release(&batch);
    return WEIR_OK;
}

void wt_api_reader_names_the_source(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = 3, .workers = 2};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, NULL);
    for (uint32_t i = 0; i < 6; i++) {
        struct wt_sink *s = f.sink[i / 2][i % 2];
        s->task->step = source_of_rows_step;
        cr_assert_eq(weir_reader_destination(s->reader), i);
    }
    wt_flow_end(&f);
}

/* ---- ends and edges ------------------------------------------------------ */

/* Node 1 does not finish before the reader has seen the others end. */
static weir_err ends_step(void *arg)
{
    struct wt_sink *s = arg;
    struct wt_cluster *c = s->flow->cluster;
    weir_err rc = wt_sink_step(s);
    int ended[3];
    for (uint32_t i = 0; i < 3; i++) {
        ended[i] = weir_reader_source_ended(s->reader, i, 0);
    }
    if (c->gate == 0 && ended[1] != 0) {
        wt_complain(c, "node 1 ended before it finished");
    }
    if (ended[0] != 0 && ended[2] != 0) {
        wt_gate_open(c, 1);
    }
    if (rc == WEIR_DONE && ended[1] == 0) {
        wt_complain(c, "done, but node 1 has not ended");
    }
    return rc;
}

void wt_api_reader_knows_which_sources_ended(const struct wt_place *place)
{
    const struct wt_flow_params params = {
        .shuffle = {.partitioning = WEIR_GATHER}};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, place, &(struct wt_cluster_params){.nodes = 3});
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, &params);
    f.source[1][0]->finish_gate = 1;
    f.sink[0][0]->task->step = ends_step;
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_flow_check(&f);
    const weir_reader *r = f.sink[0][0]->reader;
    cr_assert_eq(weir_reader_source_ended(r, 1, 0), 1);
    cr_assert_eq(weir_reader_source_ended(r, 1, 1), 0, "no such worker");
    cr_assert_eq(weir_reader_source_ended(r, 3, 0), 0, "no such member");
    wt_query_close(&q);
    wt_flow_close(&f);
    wt_cluster_close(&c);
}

void wt_api_writer_counts_by_destination(const struct wt_place *place)
{
    const struct wt_flow_params params = {
        .shuffle = {.partitioning = WEIR_VECTOR}, .n_rows = 2000};
    struct weir_edge_stats edge = {0};
    struct weir_node_stats node;
    uint64_t bytes = 0;
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, place, &(struct wt_cluster_params){.nodes = 3});
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, &params);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_flow_check(&f);
    const weir_writer *w = f.source[1][0]->writer;
    for (uint32_t dest = 0; dest < 3; dest++) {
        uint64_t rows = 0;
        for (uint64_t id = 2000; id < 4000; id++) {
            rows += wt_flow_dest(&f, id) == dest;
        }
        cr_assert_eq(weir_writer_stats(w, dest, &edge), WEIR_OK);
        cr_assert_eq(edge.rows, rows);
        cr_assert(edge.frames > 0 && edge.frames <= rows);
        bytes += edge.bytes;
    }
    weir_node_stats_get(c.node[1], &node);
    cr_assert_eq(bytes, node.bytes_sent);
    cr_assert_eq(weir_writer_stats(w, 3, &edge), WEIR_ERR_ARG);
    wt_query_close(&q);
    wt_flow_close(&f);
    wt_cluster_close(&c);
}

/* ---- publishing ---------------------------------------------------------- */

static weir_err push_and_flush_step(void *arg)
{
    struct wt_source *s = arg;
    weir_err rc = wt_source_step(s);
    if (rc == WEIR_OK && weir_writer_flush(s->writer) != WEIR_OK) {
        return WEIR_ERR_STATE;
    }
    return rc;
}

/* The source, once it has flushed, waits where the library does not see it,
 * until its one row has come to the other node. */
void wt_api_flush_publishes(const struct wt_place *place)
{
    const uint32_t from[] = {0};
    const uint32_t to[] = {1};
    const struct wt_flow_params params = {.shuffle = {.producers = from,
                                                      .n_producers = 1,
                                                      .consumers = to,
                                                      .n_consumers = 1},
                                          .n_rows = 1};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, place, NULL);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, &params);
    f.source[0][0]->task->step = push_and_flush_step;
    f.source[0][0]->finish_gate = 1;
    f.sink[1][0]->opens_early = 1;
    wt_flow_end(&f);
}

/* ---- links at rest ------------------------------------------------------- */

static bool no_links(void *arg)
{
    const struct wt_cluster *c = arg;
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        struct weir_node_stats st;
        weir_node_stats_get(c->node[i], &st);
        if (st.links_open != 0) {
            return false;
        }
    }
    return true;
}

static uint64_t now_of(const struct wt_cluster *c)
{
    struct timespec t;
    if (c->sim != NULL) {
        return weir_sim_now(c->sim);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Long before the next look at peers that may be silent: detect_ns / 4. */
void wt_api_idle_links_close_and_open_again(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .node = {.idle_close_ns = 20000000}};
    struct wt_cluster c;
    struct weir_node_stats st;
    wt_cluster_open(&c, place, &cluster);
    for (uint32_t i = 1; i <= 3; i++) {
        wt_flow_run(&c, i, NULL);
        uint64_t from = now_of(&c);
        bool idle = wt_until(&c, no_links, &c);
        cr_assert(idle, "links are still open");
        cr_assert(!place->sim || now_of(&c) - from < 30000000, "after %llu ns",
                  (unsigned long long)(now_of(&c) - from));
        for (uint32_t k = 0; k < 3; k++) {
            weir_node_stats_get(c.node[k], &st);
            cr_assert_eq(st.links_lost, 0);
            cr_assert_geq(st.links_opened, 2 * i);
        }
    }
    wt_cluster_close(&c);
}

struct rest {
    struct wt_cluster *c;
    uint64_t until_ns;
};

static bool rested(void *arg)
{
    const struct rest *r = arg;
    return now_of(r->c) >= r->until_ns;
}

static void rest(struct wt_cluster *c, uint64_t ns)
{
    struct rest r = {c, now_of(c) + ns};
    bool done = wt_until(c, rested, &r);
    cr_assert(done);
}

/* Node 1 knows the shuffle but opens no reader: what node 0 wrote is nobody's,
 * and its ring is given back with the query. */
void wt_api_links_rest_after_readers_never_opened(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .node = {.idle_close_ns = 20000000}};
    const struct weir_field fields[] = {{"id", "l", 0}};
    struct ArrowSchema schema;
    const struct weir_shuffle_params params = {
        .id = 1, .schema = &schema, .partitioning = WEIR_BROADCAST};
    struct wt_cluster c;
    struct wt_query q;
    struct weir_error err = {0};
    weir_shuffle *s = NULL;
    weir_writer *w = NULL;
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q, &c, 1, NULL);
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    for (uint32_t i = 2; i-- > 0;) { /* node 1 first: it finds the shuffle */
        cr_assert_eq(weir_shuffle_open(q.query[i], &params, &s, &err), WEIR_OK,
                     "%s", err.message);
    }
    cr_assert_eq(weir_writer_open(s, 0, &w, &err), WEIR_OK, "%s", err.message);
    rest(&c, 50000000);
    wt_query_close(&q);
    bool idle = wt_until(&c, no_links, &c);
    cr_assert(idle, "links are still open");
    schema.release(&schema);
    wt_cluster_close(&c);
}

/* A peer that has nothing to say is asked before it is given up. */
void wt_api_silence_between_queries_is_no_loss(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .node = {.detect_ns = 1000000000}};
    const struct weir_query_params params = {.id = 2};
    struct wt_cluster c;
    struct weir_error err = {0};
    weir_query *early = NULL;
    wt_cluster_open(&c, place, &cluster);
    wt_flow_run(&c, 1, NULL);
    rest(&c, 20000000000u);
    cr_assert_eq(weir_query_open(c.node[0], &params, &early, &err), WEIR_OK,
                 "%s", err.message);
    rest(&c, 3000000000u);
    weir_err rc = weir_query_status(early, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    weir_query_close(early);
    wt_flow_run(&c, 3, NULL);
    wt_cluster_close(&c);
}

/* Times are counted from now, not from when the node last had work. */
void wt_api_query_after_a_long_rest(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 2, .node = {.connect_ns = 4000000000}};
    const struct weir_query_params deadline = {.id = 7,
                                               .deadline_ns = 4000000000};
    struct wt_cluster c;
    struct weir_error err = {0};
    weir_query *q = NULL;
    wt_cluster_open(&c, place, &cluster);
    rest(&c, 4500000000);
    cr_assert_eq(weir_query_open(c.node[1], &deadline, &q, &err), WEIR_OK);
    wt_flow_run(&c, 1, NULL);
    rest(&c, 1000000);
    weir_query_close(q);
    wt_cluster_close(&c);
}

/* ---- a foreign event loop ------------------------------------------------ */

struct loop {
    struct wt_flow *f;
    uint32_t node;
    uint32_t sleeps;
};

static weir_err once(weir_err (*step)(void *arg), struct wt_task *t)
{
    if (t->end != WEIR_AGAIN) {
        return WEIR_AGAIN;
    }
    weir_err rc = step(t->arg);
    if (rc != WEIR_OK && rc != WEIR_AGAIN) {
        t->end = rc;
        return WEIR_OK;
    }
    return rc;
}

static void *run_loop(void *arg)
{
    struct loop *l = arg;
    struct wt_cluster *c = l->f->cluster;
    struct wt_task *in = l->f->sink[l->node][0]->task;
    struct wt_task *out = l->f->source[l->node][0]->task;
    struct pollfd fd = {.fd = weir_worker_fd(c->node[l->node], 0),
                        .events = POLLIN};
    while (in->end == WEIR_AGAIN || out->end == WEIR_AGAIN) {
        weir_err a = once(wt_sink_step, in);
        weir_err b = once(wt_source_step, out);
        if (a == WEIR_OK || b == WEIR_OK ||
            weir_worker_arm(c->node[l->node], 0) != WEIR_OK) {
            continue;
        }
        l->sleeps++;
        if (poll(&fd, 1, 60000) != 1) {
            wt_complain(c, "node %u slept for a minute", l->node);
            break;
        }
    }
    return NULL;
}

void wt_api_foreign_loop_needs_only_poll(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .node = {.frame_bytes = 1024, .ring_frames = 2}};
    const struct wt_flow_params flow = {.n_rows = 5000};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    struct loop loops[3];
    pthread_t threads[3];
    wt_cluster_open(&c, place, &cluster);
    cr_assert_eq(weir_worker_arm(c.node[0], 0), WEIR_ERR_STATE);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, &flow);
    for (uint32_t i = 0; i < 3; i++) {
        loops[i] = (struct loop){.f = &f, .node = i};
        cr_assert_eq(pthread_create(&threads[i], NULL, run_loop, &loops[i]), 0);
    }
    for (uint32_t i = 0; i < 3; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    wt_flow_check(&f);
    cr_assert_gt(loops[0].sleeps + loops[1].sleeps + loops[2].sleeps, 0);
    wt_query_close(&q);
    wt_flow_close(&f);
    wt_cluster_close(&c);
}
