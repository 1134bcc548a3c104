/* SPDX-License-Identifier: Apache-2.0 */
/* Joining through a seed. */
#include "test/conformance/api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t long_ns = 60000000000u;
static const uint64_t short_ns = 3000000000u; /* enough to come and be heard */

struct joiner {
    weir_node *node;
    const char *seed; /* NULL: is the seed */
    uint32_t n;
    uint64_t timeout_ns;
    weir_err rc;
    struct weir_error err;
    pthread_t thread;
};

static void *join(void *arg)
{
    struct joiner *j = arg;
    j->rc = weir_node_join_seed(j->node, j->seed, j->n, j->timeout_ns, &j->err);
    return NULL;
}

static void start(struct joiner *j)
{
    cr_assert_eq(pthread_create(&j->thread, NULL, join, j), 0);
}

static void open_apart(struct wt_cluster *c, const struct wt_place *place,
                       uint32_t nodes)
{
    const struct wt_cluster_params params = {
        .nodes = nodes, .apart = true, .node = {.max_members = 4}};
    wt_cluster_open(c, place, &params);
}

/* Join all, the seed's call coming first or last, and check who is who. */
static void gather(const struct wt_place *place, bool seed_first)
{
    enum { N = 4 };
    struct wt_cluster c;
    struct joiner j[N];
    weir_node *sorted[N] = {NULL};
    open_apart(&c, place, N);
    for (uint32_t k = 0; k < N; k++) {
        uint32_t i = seed_first ? k : N - 1 - k;
        j[i] = (struct joiner){.node = c.node[i],
                               .seed =
                                   i == 0 ? NULL : weir_node_address(c.node[0]),
                               .n = N,
                               .timeout_ns = long_ns};
        start(&j[i]);
    }
    for (uint32_t i = 0; i < N; i++) {
        (void)pthread_join(j[i].thread, NULL);
    }
    for (uint32_t i = 0; i < N; i++) {
        cr_assert_eq(j[i].rc, WEIR_OK, "node %u: %s", i, j[i].err.message);
        cr_assert_eq(weir_node_members(c.node[i]), N);
        uint32_t self = weir_node_self(c.node[i]);
        cr_assert(self < N && sorted[self] == NULL);
        sorted[self] = c.node[i];
        struct weir_member m;
        cr_assert_eq(weir_node_member(c.node[i], self, &m), WEIR_OK);
        cr_assert_str_eq(m.name, c.name[i]);
        cr_assert_eq(weir_node_member(c.node[i], N, &m), WEIR_ERR_NOT_FOUND);
    }
    cr_assert_eq(sorted[0], c.node[0]);
    memcpy(c.node, sorted, sizeof(sorted));
    struct wt_query q;
    struct wt_flow f;
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, NULL);
    wt_flow_end(&f);
}

void wt_api_seed_gathers_four(const struct wt_place *place)
{
    gather(place, true);
}

/* Its node listens, but it has not said yet that it is a seed. */
void wt_api_seed_may_come_last(const struct wt_place *place)
{
    gather(place, false);
}

/* Two nodes; the second is what is wrong. */
static void misfit(const struct wt_place *place, struct joiner *seed,
                   struct joiner *other, const char *name)
{
    struct wt_cluster c;
    struct weir_error err = {0};
    open_apart(&c, place, 2);
    if (name != NULL) {
        struct weir_node_params p = wt_node_params(&c, 1);
        p.name = weir_node_name(c.node[0]);
        p.listen = strcmp(place->transport, "shm") == 0 ? name : NULL;
        weir_node_close(c.node[1]);
        cr_assert_eq(weir_node_open(&p, &c.node[1], &err), WEIR_OK, "%s",
                     err.message);
    }
    seed->node = c.node[0];
    other->node = c.node[1];
    other->seed = weir_node_address(c.node[0]);
    start(seed);
    start(other);
    (void)pthread_join(seed->thread, NULL);
    (void)pthread_join(other->thread, NULL);
    wt_cluster_close(&c);
}

void wt_api_seed_refuses_another_count(const struct wt_place *place)
{
    struct joiner seed = {.n = 2, .timeout_ns = short_ns};
    struct joiner other = {.n = 3, .timeout_ns = long_ns};
    misfit(place, &seed, &other, NULL);
    cr_assert_eq(other.rc, WEIR_ERR_PEER_REFUSED, "%s", other.err.message);
    cr_assert_not_null(strstr(other.err.message, "2"), "%s", other.err.message);
    cr_assert_not_null(strstr(other.err.message, "3"), "%s", other.err.message);
    cr_assert_eq(seed.rc, WEIR_ERR_TIMEOUT, "%s", weir_err_name(seed.rc));
}

void wt_api_seed_refuses_a_double_name(const struct wt_place *place)
{
    struct joiner seed = {.n = 2, .timeout_ns = short_ns};
    struct joiner other = {.n = 2, .timeout_ns = long_ns};
    char listen[64];
    (void)snprintf(listen, sizeof(listen), "double-%p", (void *)&seed);
    misfit(place, &seed, &other, listen);
    cr_assert_eq(other.rc, WEIR_ERR_PEER_REFUSED, "%s", other.err.message);
    cr_assert_not_null(strstr(other.err.message, "name"), "%s",
                       other.err.message);
    cr_assert_eq(seed.rc, WEIR_ERR_TIMEOUT, "%s", weir_err_name(seed.rc));
}

void wt_api_seed_says_who_came(const struct wt_place *place)
{
    struct joiner seed = {.n = 3, .timeout_ns = short_ns};
    struct joiner other = {.n = 3, .timeout_ns = short_ns};
    misfit(place, &seed, &other, NULL);
    cr_assert_eq(seed.rc, WEIR_ERR_TIMEOUT);
    cr_assert_not_null(strstr(seed.err.message, "of 3"), "%s",
                       seed.err.message);
    cr_assert(other.rc == WEIR_ERR_TIMEOUT, "%s", other.err.message);
    cr_assert_not_null(strstr(other.err.message, "seed"), "%s",
                       other.err.message);
}
