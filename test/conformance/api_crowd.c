/* SPDX-License-Identifier: Apache-2.0 */
/* More shuffles at a time than the plan has rings for: they wait in turn. */
#include "test/conformance/api.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- no ring, ever ------------------------------------------------------- */

enum { CROWD = 12, PLANNED = 8 };

struct crowd {
    struct wt_query q[CROWD];
    struct wt_flow f[CROWD];
    struct weir_error err[CROWD];
    uint32_t failed;
};

static bool one_failed(void *arg)
{
    struct crowd *k = arg;
    k->failed = 0;
    for (uint32_t i = 0; i < CROWD; i++) {
        k->failed += weir_query_status(k->q[i].query[0], &k->err[i]) != WEIR_OK;
    }
    return k->failed != 0;
}

/* Nobody takes anything, so no ring comes free: after stall_ns the first query
 * that waits for one fails, and those that have theirs go on. */
void wt_api_query_that_gets_no_ring_fails(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = NODES,
                                              .node = {.stall_ns = 300000000}};
    const struct wt_flow_params flow = {.n_rows = 10};
    struct crowd *k = calloc(1, sizeof(*k));
    struct wt_cluster c;
    cr_assert_not_null(k);
    wt_cluster_open(&c, place, &cluster);
    for (uint32_t i = 0; i < CROWD; i++) {
        wt_query_open(&k->q[i], &c, i + 1, NULL);
        wt_flow_open(&k->f[i], &k->q[i], &flow);
    }
    bool found = wt_until(&c, one_failed, k);
    cr_assert(found);
    cr_assert_eq(k->failed, 1);

    cr_assert_eq(k->err[PLANNED].code, WEIR_ERR_QUERY_MEMORY);
    cr_assert_not_null(strstr(k->err[PLANNED].message, "all are in use"), "%s",
                       k->err[PLANNED].message);
    for (uint32_t i = 0; i < CROWD; i++) {
        wt_query_close(&k->q[i]);
        wt_flow_close(&k->f[i]);
    }
    wt_cluster_close(&c);
    free(k);
}
