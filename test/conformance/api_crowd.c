/* SPDX-License-Identifier: Apache-2.0 */
/* More shuffles at a time than the plan has rings for: they wait in turn. */
#include "test/conformance/api.h"

#include <stdlib.h>

/* A query of two shuffles: what comes out of the first goes into the second. */
struct chain {
    struct wt_query q;
    struct wt_flow f[2];
    struct wt_relay relay[2]; /* of node i */
};

enum { CHAINS = 60, NODES = 2, ROWS = 4000 };

static void open_chain(struct chain *k, struct wt_cluster *c, uint64_t id)
{
    const struct wt_flow_params first = {.shuffle = {.id = 1}, .n_rows = ROWS};
    const struct wt_flow_params second = {
        .shuffle = {.id = 2}, .relayed = true, .n_ids = (uint64_t)NODES * ROWS};
    wt_query_open(&k->q, c, id, NULL);
    wt_flow_open(&k->f[0], &k->q, &first);
    wt_flow_open(&k->f[1], &k->q, &second);
    for (uint32_t i = 0; i < NODES; i++) {
        wt_relay_open(&k->relay[i], k->f[0].sink[i][0], k->f[1].source[i][0],
                      NULL);
        k->f[0].source[i][0]->closes = true;
        k->f[1].source[i][0]->closes = true;
    }
}

static void close_chain(struct chain *k)
{
    wt_flow_check(&k->f[0]);
    wt_flow_check(&k->f[1]);
    wt_query_close(&k->q);
    wt_flow_close(&k->f[0]);
    wt_flow_close(&k->f[1]);
}

/* Far more rows than rings hold, so that a query with one of its rings alone
 * would stand still. */
void wt_api_queries_beyond_the_plan_take_turns(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = NODES, .node = {.frame_bytes = 2048, .ring_frames = 2}};
    struct chain *chains = calloc(CHAINS, sizeof(*chains));
    struct wt_cluster c;
    cr_assert_not_null(chains);
    wt_cluster_open(&c, place, &cluster);
    for (uint32_t i = 0; i < CHAINS; i++) {
        open_chain(&chains[i], &c, i + 1);
    }
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    for (uint32_t i = 0; i < CHAINS; i++) {
        close_chain(&chains[i]);
    }
    wt_cluster_close(&c);
    free(chains);
}

/* ---- who waits for whom -------------------------------------------------- */

enum { CROWD = 12 }; /* one more than there are rings for on a link */

struct crowd {
    struct wt_cluster c;
    struct ArrowSchema schema;
    weir_query *query[NODES][CROWD];
    weir_err code[NODES][CROWD];
    uint32_t failed;
};

static void open_part(struct crowd *k, uint32_t node, uint32_t i)
{
    const struct weir_query_params query = {.id = i + 1};
    const struct weir_shuffle_params shuffle = {
        .id = 1, .schema = &k->schema, .partitioning = WEIR_ROUND_ROBIN};
    struct weir_error err = {0};
    weir_shuffle *s = NULL;
    weir_writer *w = NULL;
    weir_err rc =
        weir_query_open(k->c.node[node], &query, &k->query[node][i], &err);
    rc = rc == WEIR_OK
             ? weir_shuffle_open(k->query[node][i], &shuffle, &s, &err)
             : rc;
    rc = rc == WEIR_OK ? weir_writer_open(s, 0, &w, &err) : rc;
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
}

static bool one_failed(void *arg)
{
    struct crowd *k = arg;
    k->failed = 0;
    for (uint32_t i = 0; i < NODES * CROWD; i++) {
        weir_err rc = weir_query_status(k->query[i % NODES][i / NODES], NULL);
        k->code[i % NODES][i / NODES] = rc;
        k->failed += rc != WEIR_OK;
    }
    return k->failed >= NODES; /* all its members know */
}

/* The two nodes open queries in opposite orders, so that the last one has no
 * ring on node 0, and the first one none on node 1. Of these the last one
 * fails, everywhere, and no other. */
void wt_api_queries_that_wait_for_one_another_end(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = NODES,
                                              .node = {.stall_ns = 300000000}};
    const struct weir_field column = {"n", "l", 0};
    struct crowd *k = calloc(1, sizeof(*k));
    cr_assert_not_null(k);
    wt_cluster_open(&k->c, place, &cluster);
    cr_assert_eq(weir_schema_build(&column, 1, &k->schema, NULL), WEIR_OK);
    for (uint32_t i = 0; i < CROWD; i++) {
        open_part(k, 0, i);
        open_part(k, 1, CROWD - 1 - i);
    }
    bool found = wt_until(&k->c, one_failed, k);
    cr_assert(found);
    cr_assert_eq(k->failed, NODES);
    cr_assert_eq(k->code[0][CROWD - 1], WEIR_ERR_QUERY_MEMORY);
    cr_assert_eq(k->code[1][CROWD - 1], WEIR_ERR_QUERY_MEMORY);
    for (uint32_t i = 0; i < NODES * CROWD; i++) {
        weir_query_close(k->query[i % NODES][i / NODES]);
    }
    k->schema.release(&k->schema);
    wt_cluster_close(&k->c);
    free(k);
}

/* ---- what has failed before it was open ---------------------------------- */

enum { EARLY = 100 }; /* a node keeps the causes of fewer */

struct early {
    struct wt_cluster c;
    struct ArrowSchema schema;
    weir_query *query[NODES][EARLY];
    weir_err code;
};

static bool all_failed(void *arg)
{
    struct early *k = arg;
    for (uint32_t i = 0; i < EARLY; i++) {
        k->code = weir_query_status(k->query[1][i], NULL);
        if (k->code == WEIR_OK) {
            return false;
        }
    }
    return true;
}

/* Node 0 cancels queries that node 1 opens only then. */
void wt_api_queries_that_failed_early_are_all_heard_of(
    const struct wt_place *place)
{
    const struct weir_field column = {"n", "l", 0};
    struct early *k = calloc(1, sizeof(*k));
    cr_assert_not_null(k);
    wt_cluster_open(&k->c, place, NULL);
    cr_assert_eq(weir_schema_build(&column, 1, &k->schema, NULL), WEIR_OK);
    const struct weir_shuffle_params shuffle = {
        .id = 1, .schema = &k->schema, .partitioning = WEIR_ROUND_ROBIN};
    for (uint32_t node = 0; node < NODES; node++) {
        for (uint32_t i = 0; i < EARLY; i++) {
            const struct weir_query_params query = {.id = i + 1};
            weir_query **q = &k->query[node][i];
            weir_shuffle *s = NULL;
            weir_writer *w = NULL;
            weir_reader *r = NULL;
            cr_assert_eq(weir_query_open(k->c.node[node], &query, q, NULL),
                         WEIR_OK);
            /* It may have heard already. */
            if (weir_shuffle_open(*q, &shuffle, &s, NULL) == WEIR_OK &&
                weir_writer_open(s, 0, &w, NULL) == WEIR_OK) {
                (void)weir_reader_open(s, 0, &r, NULL);
            }
            if (node == 0) {
                weir_query_cancel(*q, "the test");
            }
        }
    }
    bool all = wt_until(&k->c, all_failed, k);
    cr_assert(all);
    cr_assert_eq(k->code, WEIR_ERR_CANCELLED);
    for (uint32_t i = 0; i < NODES * EARLY; i++) {
        weir_query_close(k->query[i % NODES][i / NODES]);
    }
    k->schema.release(&k->schema);
    wt_cluster_close(&k->c);
    free(k);
}
