/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster that runs, and grows through its seed. */
#include "test/conformance/api_part.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const uint64_t second = 1000000000u;

struct newcomer {
    weir_node *node;
    const char *seed; /* NULL: is the seed */
    uint32_t n;
    weir_err rc;
    struct weir_error err;
    pthread_t thread;
};

static void *come(void *arg)
{
    struct newcomer *it = arg;
    it->rc =
        weir_node_join_seed(it->node, it->seed, it->n, 60 * second, &it->err);
    return NULL;
}

static void start(struct newcomer *it, struct wt_cluster *c, uint32_t i,
                  uint32_t n)
{
    *it =
        (struct newcomer){.node = c->node[i],
                          .seed = i == 0 ? NULL : weir_node_address(c->node[0]),
                          .n = n};
    cr_assert_eq(pthread_create(&it->thread, NULL, come, it), 0);
}

static void end(struct newcomer *it)
{
    (void)pthread_join(it->thread, NULL);
    cr_assert_eq(it->rc, WEIR_OK, "%s", it->err.message);
}

static void join(struct wt_cluster *c, uint32_t i, uint32_t n)
{
    struct newcomer it;
    start(&it, c, i, n);
    end(&it);
}

static void open_apart(struct wt_cluster *c, const struct wt_place *place,
                       uint32_t nodes, uint32_t max_members)
{
    const struct wt_cluster_params params = {
        .nodes = nodes,
        .apart = true,
        .node = {.max_members = max_members,
                 .connect_ns = 20 * second,
                 .detect_ns = 20 * second}};
    wt_cluster_open(c, place, &params);
}

struct know {
    weir_node *node;
    uint32_t idx;
    const char *address;
};

static bool knows(void *arg)
{
    const struct know *k = arg;
    struct weir_member m;
    return weir_node_member(k->node, k->idx, &m) == WEIR_OK &&
           strcmp(m.address, k->address) == 0;
}

/* The first n nodes know one another, by the numbers that they have here. */
static void all_know(struct wt_cluster *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        cr_assert_eq(weir_node_self(c->node[i]), i);
        for (uint32_t k = 0; k < n; k++) {
            struct know it = {c->node[i], k, weir_node_address(c->node[k])};
            bool told = wt_until(c, knows, &it);
            cr_assert(told, "%u was not told of %u", i, k);
        }
    }
}

/* One node, then two, three, four; each comes while a query of those before it
 * is under way, and is part of the next one. */
void wt_api_seed_takes_newcomers_while_queries_run(const struct wt_place *place)
{
    enum { N = 4 };
    struct wt_cluster c;
    struct wt_part p;
    open_apart(&c, place, N, N);
    join(&c, 0, 1);
    for (uint32_t i = 1; i < N; i++) {
        wt_part_open(&p, &c, i, i);
        join(&c, i, 0);
        wt_part_end(&p);
        all_know(&c, i + 1);
    }
    wt_part_open(&p, &c, N, N);
    wt_part_end(&p);
    wt_cluster_close(&c);
}

/* They get numbers of their own, and hear of one another. */
void wt_api_newcomers_may_come_at_once(const struct wt_place *place)
{
    enum { N = 4 };
    struct wt_cluster c;
    struct wt_part p;
    struct newcomer it[N];
    weir_node *sorted[N] = {NULL};
    open_apart(&c, place, N, N);
    join(&c, 0, 1);
    for (uint32_t i = 1; i < N; i++) {
        start(&it[i], &c, i, 0);
    }
    for (uint32_t i = 1; i < N; i++) {
        end(&it[i]);
    }
    for (uint32_t i = 0; i < N; i++) {
        uint32_t self = weir_node_self(c.node[i]);
        cr_assert(self < N && sorted[self] == NULL, "number %u", self);
        sorted[self] = c.node[i];
    }
    memcpy(c.node, sorted, sizeof(sorted));
    all_know(&c, N);
    wt_part_open(&p, &c, 1, N);
    wt_part_end(&p);
    wt_cluster_close(&c);
}

void wt_api_newcomer_to_a_full_cluster_is_refused(const struct wt_place *place)
{
    struct wt_cluster c;
    struct newcomer late;
    open_apart(&c, place, 3, 2);
    join(&c, 0, 1);
    join(&c, 1, 0);
    start(&late, &c, 2, 0);
    (void)pthread_join(late.thread, NULL);
    cr_assert_eq(late.rc, WEIR_ERR_PEER_REFUSED, "%s", late.err.message);
    cr_assert_not_null(strstr(late.err.message, "max_members"), "%s",
                       late.err.message);
    cr_assert_eq(weir_node_members(c.node[0]), 2);
    wt_cluster_close(&c);
}

/* The cluster is not complete yet: it is tried again until it is. */
void wt_api_newcomer_waits_for_the_first_members(const struct wt_place *place)
{
    struct wt_cluster c;
    struct newcomer it[3];
    open_apart(&c, place, 3, 4);
    start(&it[2], &c, 2, 0);
    start(&it[0], &c, 0, 2);
    start(&it[1], &c, 1, 2);
    for (uint32_t i = 0; i < 3; i++) {
        end(&it[i]);
    }
    all_know(&c, 3);
    wt_cluster_close(&c);
}

/* Under its name, at another address: it has its old number, and those who have
 * heard of the old one hear of the new one. */
void wt_api_killed_member_comes_back_through_the_seed(
    const struct wt_place *place)
{
    struct wt_cluster c;
    struct wt_part p;
    struct weir_error err = {0};
    char name[WT_NAME_BYTES];
    char listen[WT_NAME_BYTES + 8];
    open_apart(&c, place, 3, 4);
    join(&c, 0, 1);
    join(&c, 1, 0);
    join(&c, 2, 0);
    all_know(&c, 3);
    wt_part_open(&p, &c, 1, 3);
    wt_part_end(&p);
    (void)snprintf(name, sizeof(name), "%s", c.name[1]);
    struct weir_node_params again = wt_node_params(&c, 1);
    again.name = name;
    (void)snprintf(listen, sizeof(listen), "%s-again", name);
    if (strcmp(place->transport, "shm") == 0) {
        again.listen = listen;
    }
    weir_node *old = c.node[1];
    cr_assert_eq(weir_node_open(&again, &c.node[1], &err), WEIR_OK, "%s",
                 err.message);
    weir_node_close(old);
    join(&c, 1, 0);
    all_know(&c, 3);
    wt_part_open(&p, &c, 2, 3);
    wt_part_end(&p);
    wt_cluster_close(&c);
}
