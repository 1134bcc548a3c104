/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters that consumers send. Every source pushes the same IDS rows again and
 * again; consumers want those of the first WANTED ids. These must come once per
 * round from each source; of the others some may.
 *
 *   sink    keys of the wanted ids -> filter -> producers; counts what comes
 *   source  rounds, until its rows were filtered for all who sent a filter, and
 *           a few more
 */
#include "test/conformance/api.h"

#include <string.h>

#include "test/support/cluster.h"
#include "test/support/flow.h"

enum { IDS = 512, WANTED = 64, MORE_ROUNDS = 8, NODES = 3, WORKERS = 2 };
enum { SINKS = NODES * WORKERS, BUSY_NS = 20000 };

static const struct weir_field fields[] = {
    {"id", "l", 0}, {"k", "i", 0}, {"s", "u", 1}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 3};

struct world;

struct source {
    struct world *w;
    weir_writer *writer;
    uint64_t rounds;
    uint32_t more; /* rounds since all filters were there */
};

struct sink {
    struct world *w;
    weir_reader *reader;
    bool sends;
    bool sent;
    uint32_t heard; /* bits: members whose rows have come: their links are up */
    uint64_t got[IDS];
};

struct world {
    struct wt_cluster c;
    struct wt_query q;
    struct ArrowSchema schema;
    struct ArrowArray batch; /* all ids */
    uint32_t n_sinks;
    struct source source[SINKS];
    struct sink sink[SINKS];
};

/* ---- tasks --------------------------------------------------------------- */

/* The key columns of the wanted ids, `s` before `k`. */
static weir_err send_filter(struct sink *s)
{
    struct ArrowArray wanted;
    wt_rows_make(&rows, 0, WANTED, &wanted);
    struct ArrowArray *columns[] = {wanted.children[2], wanted.children[1]};
    struct ArrowArray keys = wanted;
    keys.n_children = 2;
    keys.children = columns;
    weir_err rc = weir_reader_filter_open(s->reader, WANTED);
    if (rc == WEIR_OK) {
        cr_assert_eq(weir_reader_filter_add(s->reader, &keys), WEIR_OK);
        cr_assert_eq(weir_reader_filter_send(s->reader), WEIR_OK);
    }
    wanted.release(&wanted);
    s->sent = true;
    return rc;
}

static weir_err sink_step(void *arg)
{
    struct sink *s = arg;
    struct ArrowArray batch;
    weir_err rc = WEIR_OK;
    if (s->sends && !s->sent && s->heard == (1u << s->w->c.n_nodes) - 1) {
        rc = send_filter(s);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = weir_reader_next(s->reader, &batch);
    if (rc == WEIR_OK) {
        char why[WT_WHY_BYTES];
        for (int64_t i = 0; i < batch.length; i++) {
            s->got[wt_rows_id(&batch, i)]++;
            if (!wt_rows_check(&rows, &batch, i, why)) {
                wt_complain(&s->w->c, "%s", why);
            }
        }
        uint32_t member;
        weir_reader_source(s->reader, &member, NULL);
        s->heard |= 1u << member;
        batch.release(&batch);
    }
    return rc;
}

static uint64_t filtered(const struct source *s, uint32_t dest)
{
    struct weir_edge_stats stats;
    cr_assert_eq(weir_writer_stats(s->writer, dest, &stats), WEIR_OK);
    return stats.filtered;
}

static bool all_filters_came(const struct source *s)
{
    for (uint32_t d = 0; d < s->w->n_sinks; d++) {
        if (s->w->sink[d].sends && filtered(s, d) == 0) {
            return false;
        }
    }
    return true;
}

static weir_err source_step(void *arg)
{
    struct source *s = arg;
    if (s->more == MORE_ROUNDS) {
        weir_err rc = weir_writer_finish(s->writer);
        return rc == WEIR_OK ? WEIR_DONE : rc;
    }
    weir_err rc = weir_writer_push(s->writer, &s->w->batch);
    s->rounds += rc == WEIR_OK;
    s->more += rc == WEIR_OK && all_filters_came(s);
    if (s->w->c.sim != NULL) { /* else all is done at one instant */
        weir_sim_busy(s->w->c.sim, BUSY_NS);
    }
    return rc;
}

/* ---- the world ----------------------------------------------------------- */

static void open_worker(struct world *w, weir_shuffle *shuffle, uint32_t node,
                        uint32_t worker)
{
    struct weir_error err = {0};
    struct source *from = &w->source[w->n_sinks];
    struct sink *to = &w->sink[w->n_sinks++];
    from->w = w;
    to->w = w;
    cr_assert_eq(weir_writer_open(shuffle, worker, &from->writer, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_reader_open(shuffle, worker, &to->reader, &err), WEIR_OK,
                 "%s", err.message);
    (void)wt_task(&w->c, node, worker, source_step, from);
    (void)wt_task(&w->c, node, worker, sink_step, to);
}

static void open_world(struct world *w, const struct wt_place *place,
                       const struct wt_cluster_params *cluster)
{
    static const char *const keys[] = {"s", "k"};
    const struct weir_shuffle_params params = {.id = 1,
                                               .schema = &w->schema,
                                               .partitioning = WEIR_HASH,
                                               .keys = keys,
                                               .n_keys = 2,
                                               .seed = 3};
    struct weir_error err = {0};
    memset(w, 0, sizeof(*w));
    wt_cluster_open(&w->c, place, cluster);
    wt_query_open(&w->q, &w->c, 1, NULL);
    cr_assert_eq(weir_schema_build(fields, 3, &w->schema, &err), WEIR_OK);
    wt_rows_make(&rows, 0, IDS, &w->batch);
    for (uint32_t n = 0; n < w->c.n_nodes; n++) {
        weir_shuffle *shuffle;
        cr_assert_eq(weir_shuffle_open(w->q.query[n], &params, &shuffle, &err),
                     WEIR_OK, "%s", err.message);
        for (uint32_t k = 0; k < w->c.n_workers; k++) {
            open_worker(w, shuffle, n, k);
        }
    }
}

static void close_world(struct world *w)
{
    wt_query_close(&w->q);
    w->batch.release(&w->batch);
    w->schema.release(&w->schema);
    wt_cluster_close(&w->c);
}

/* What each id must have come to, and may have. */
static void check(const struct world *w)
{
    uint64_t rounds = 0;
    uint64_t all = 0;
    uint64_t dropped = 0;
    for (uint32_t k = 0; k < w->n_sinks; k++) {
        rounds += w->source[k].rounds;
        for (uint32_t d = 0; d < w->n_sinks; d++) {
            dropped += filtered(&w->source[k], d);
        }
    }
    for (uint32_t id = 0; id < IDS; id++) {
        uint64_t came = 0;
        bool sends = false; /* does who gets it send a filter? */
        for (uint32_t d = 0; d < w->n_sinks; d++) {
            came += w->sink[d].got[id];
            sends = sends || (w->sink[d].got[id] != 0 && w->sink[d].sends);
        }
        cr_assert_leq(came, rounds, "id %u", id);
        cr_assert(came == rounds || (id >= WANTED && (came == 0 || sends)),
                  "id %u came %llu times in %llu rounds", id,
                  (unsigned long long)came, (unsigned long long)rounds);
        all += came;
    }
    cr_assert_eq(all + dropped, rounds * IDS);
}

/* The sinks in `senders`, a bit each, send filters. */
static void run(const struct wt_place *place,
                const struct wt_cluster_params *cluster, uint32_t senders)
{
    static struct world w;
    open_world(&w, place, cluster);
    for (uint32_t d = 0; d < w.n_sinks; d++) {
        w.sink[d].sends = (senders >> d & 1) != 0;
    }
    bool ran = wt_cluster_run(&w.c);
    cr_assert(ran && w.c.why[0] == '\0', "%s", w.c.why);
    check(&w);
    for (uint32_t k = 0; k < w.n_sinks; k++) {
        for (uint32_t d = 0; d < w.n_sinks; d++) {
            cr_assert(w.sink[d].sends || filtered(&w.source[k], d) == 0);
        }
    }
    close_world(&w);
}

void wt_api_filtered_rows_are_not_sent(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = NODES,
                                              .workers = WORKERS};
    run(place, &cluster, ~0u);
}

void wt_api_filter_of_one_reader_leaves_others_their_rows(
    const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = NODES,
                                              .workers = WORKERS};
    run(place, &cluster, 1u << 3);
}

void wt_api_filter_on_node_rings(const struct wt_place *place)
{
    struct wt_cluster_params cluster = {
        .nodes = NODES, .workers = WORKERS, .node = {.max_shuffles = 2}};
    cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    run(place, &cluster, 0x15);
}

void wt_api_filter_of_a_node_to_itself(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = 1, .workers = 1};
    run(place, &cluster, 1);
}

void wt_api_filter_at_any_time(const struct wt_place *place)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const struct wt_cluster_params cluster = {
            .nodes = NODES,
            .workers = WORKERS,
            .node = {.frame_bytes = 4096, .ring_frames = 2},
            .sim = {.seed = seed, .jitter_ns = 200000}};
        run(place, &cluster, (uint32_t)(seed * 7 + 1));
    }
}

/* ---- faults -------------------------------------------------------------- */

/* Nodes 0 and 2 say the same. */
static bool is_agreed(void *arg)
{
    const struct world *w = arg;
    return weir_query_status(w->q.query[0], NULL) ==
           weir_query_status(w->q.query[2], NULL);
}

/* Run until the end, with a fault at this time, 0: none. Returns the end. */
static uint64_t strike(const struct wt_place *place, uint64_t seed, bool crash,
                       uint64_t at_ns)
{
    static struct world w;
    const struct wt_cluster_params cluster = {
        .nodes = NODES,
        .workers = WORKERS,
        .node = {.frame_bytes = 4096, .ring_frames = 2, .detect_ns = 20000000},
        .sim = {.seed = seed, .jitter_ns = 20000}};
    open_world(&w, place, &cluster);
    for (uint32_t d = 0; d < w.n_sinks; d++) {
        w.sink[d].sends = true;
    }
    if (at_ns != 0 && crash) {
        weir_sim_crash(w.c.sim, 1, at_ns);
    } else if (at_ns != 0) {
        weir_sim_cut(w.c.sim, 1, 2, at_ns);
    }
    bool ran = wt_cluster_run(&w.c);
    cr_assert(ran && w.c.why[0] == '\0', "seed %llu, at %llu ns: %s",
              (unsigned long long)seed, (unsigned long long)at_ns, w.c.why);
    uint64_t end_ns = weir_sim_now(w.c.sim);
    struct weir_error err[2] = {0};
    /* What one knows may be on its way to the other, whose tasks are done. */
    cr_assert(wt_until(&w.c, is_agreed, &w));
    weir_err rc = weir_query_status(w.q.query[0], &err[0]);
    cr_assert_eq(weir_query_status(w.q.query[2], &err[1]), rc);
    cr_assert_str_eq(err[0].message, err[1].message);
    cr_assert(rc == WEIR_OK || rc == WEIR_ERR_PEER_LOST, "%s", err[0].message);
    close_world(&w);
    return end_ns;
}

/* Also while the pieces of filters are on their way. */
void wt_api_faults_while_filters_travel(const struct wt_place *place)
{
    enum { TIMES = 24 };
    for (uint64_t seed = 1; seed <= 4; seed++) {
        uint64_t end_ns = strike(place, seed, false, 0);
        for (uint64_t i = 1; i < TIMES; i++) {
            (void)strike(place, seed, i % 2 == 0, end_ns * i / TIMES);
        }
    }
}

/* ---- wrong use ----------------------------------------------------------- */

static void misuse(struct world *w)
{
    weir_reader *r = w->sink[0].reader;
    struct weir_error err;
    cr_assert_eq(weir_reader_filter_add(r, &w->batch), WEIR_ERR_STATE);
    cr_assert_eq(weir_reader_filter_send(r), WEIR_ERR_STATE);
    cr_assert_eq(weir_reader_filter_open(r, UINT64_MAX), WEIR_ERR_BUDGET);
    cr_assert_eq(weir_reader_error(r, &err), WEIR_ERR_BUDGET);
    cr_assert_eq(weir_reader_filter_open(r, 0), WEIR_OK);
    cr_assert_eq(weir_reader_filter_open(r, 1), WEIR_ERR_STATE);
    cr_assert_eq(weir_reader_filter_add(r, &w->batch), WEIR_ERR_SCHEMA,
                 "three columns");
    cr_assert_eq(weir_reader_filter_send(r), WEIR_OK);
    cr_assert_eq(weir_reader_filter_send(r), WEIR_ERR_STATE);
    cr_assert_eq(weir_reader_filter_open(r, 1), WEIR_ERR_STATE);
    cr_assert_eq(weir_query_status(w->q.query[0], &err), WEIR_OK);
}

void wt_api_filters_that_are_misused_fail_no_query(const struct wt_place *place)
{
    static struct world w;
    const struct wt_cluster_params cluster = {.nodes = 2};
    const struct wt_flow_params gather = {
        .shuffle = {.id = 2, .partitioning = WEIR_GATHER}};
    struct wt_flow f;
    open_world(&w, place, &cluster);
    misuse(&w);
    wt_flow_open(&f, &w.q, &gather);
    cr_assert_eq(weir_reader_filter_open(f.sink[0][0]->reader, 1),
                 WEIR_ERR_ARG);
    wt_query_close(&w.q);
    wt_flow_close(&f);
    close_world(&w);
}
