/* SPDX-License-Identifier: Apache-2.0 */
/* Members that come and go while queries run. */
#include "test/conformance/api_part.h"

#include <stdio.h>
#include <string.h>

static const uint64_t second = 1000000000u;

static void open_apart(struct wt_cluster *c, const struct wt_place *place,
                       uint32_t nodes)
{
    const struct wt_cluster_params params = {
        .nodes = nodes,
        .apart = true,
        .node = {.max_members = 4,
                 .connect_ns = 20 * second,
                 .detect_ns = 20 * second}};
    wt_cluster_open(c, place, &params);
}

static struct weir_member member_of(const struct wt_cluster *c, uint32_t i)
{
    return (struct weir_member){.name = weir_node_name(c->node[i]),
                                .address = weir_node_address(c->node[i]),
                                .workers = c->n_workers};
}

/* Node i knows the first n members from the beginning. */
static void join(struct wt_cluster *c, uint32_t i, uint32_t n)
{
    struct weir_member members[WT_NODES];
    struct weir_error err = {0};
    for (uint32_t k = 0; k < n; k++) {
        members[k] = member_of(c, k);
    }
    cr_assert_eq(weir_node_join(c->node[i], members, n, &err), WEIR_OK, "%s",
                 err.message);
}

static void tell(struct wt_cluster *c, uint32_t i, uint32_t idx)
{
    const struct weir_member m = member_of(c, idx);
    struct weir_error err = {0};
    cr_assert_eq(weir_node_add_member(c->node[i], idx, &m, &err), WEIR_OK, "%s",
                 err.message);
}

void wt_part_open(struct wt_part *p, struct wt_cluster *c, uint64_t id,
                  uint32_t n)
{
    uint32_t all = c->n_nodes;
    c->n_nodes = p->n = n;
    wt_query_open(&p->q, c, id, NULL);
    wt_flow_open(&p->f, &p->q, NULL);
    c->n_nodes = all;
}

void wt_part_end(struct wt_part *p)
{
    struct wt_cluster *c = p->q.cluster;
    uint32_t all = c->n_nodes;
    c->n_nodes = p->n;
    bool ran = wt_cluster_run(c);
    cr_assert(ran, "%s", c->why);
    wt_flow_check(&p->f);
    wt_query_close(&p->q);
    wt_flow_close(&p->f);
    c->n_nodes = all;
}

/* One node, then two, then three; the second one's first query is under way
 * when the third comes, and does not have it. */
void wt_api_cluster_grows_from_one(const struct wt_place *place)
{
    struct wt_cluster c;
    struct wt_part p;
    open_apart(&c, place, 3);
    join(&c, 0, 1);
    wt_part_open(&p, &c, 1, 1);
    wt_part_end(&p);
    join(&c, 1, 2);
    tell(&c, 0, 1);
    wt_part_open(&p, &c, 2, 2);
    tell(&c, 1, 2);
    tell(&c, 0, 2);
    tell(&c, 0, 2); /* to say it again does nothing */
    join(&c, 2, 3);
    wt_part_end(&p);
    wt_part_open(&p, &c, 3, 3);
    wt_part_end(&p);
    cr_assert_eq(weir_node_members(c.node[0]), 3);
    wt_cluster_close(&c);
}

static bool has_guest(void *node)
{
    struct weir_link_stats link;
    (void)weir_link_stats_get(node, 0, &link);
    return link.transport[0] != '\0';
}

/* It opens its query, and so a link, before the other one was told of it. */
void wt_api_newcomer_waits_to_be_known(const struct wt_place *place)
{
    struct wt_cluster c;
    struct wt_part p = {.n = 2};
    struct weir_error err = {0};
    const struct weir_query_params params = {.id = 1};
    open_apart(&c, place, 2);
    join(&c, 0, 1);
    join(&c, 1, 2);
    p.q = (struct wt_query){.cluster = &c, .id = 1};
    cr_assert_eq(weir_query_open(c.node[1], &params, &p.q.query[1], &err),
                 WEIR_OK, "%s", err.message);
    bool came = wt_until(&c, has_guest, c.node[1]);
    cr_assert(came);
    tell(&c, 0, 1);
    cr_assert_eq(weir_query_open(c.node[0], &params, &p.q.query[0], &err),
                 WEIR_OK, "%s", err.message);
    wt_flow_open(&p.f, &p.q, NULL);
    wt_part_end(&p);
    wt_cluster_close(&c);
}

/* Nobody ever tells of it: it hears so before its own patience ends. */
void wt_api_newcomer_that_stays_unknown_is_refused(const struct wt_place *place)
{
    const struct wt_cluster_params params = {
        .nodes = 2,
        .apart = true,
        .node = {.max_members = 4, .connect_ns = 2 * second}};
    const struct weir_query_params query = {.id = 1};
    struct weir_error err = {0};
    struct wt_cluster c;
    struct wt_query q = {.cluster = &c, .id = 1};
    wt_cluster_open(&c, place, &params);
    join(&c, 0, 1);
    join(&c, 1, 2);
    cr_assert_eq(weir_query_open(c.node[1], &query, &q.query[1], &err), WEIR_OK,
                 "%s", err.message);
    bool ended = wt_until(&c, wt_query_has_failed, &q);
    cr_assert(ended);
    wt_query_failed(&q, WEIR_ERR_PEER_REFUSED, "weir_node_add_member");
    wt_query_close(&q);
    wt_cluster_close(&c);
}

static bool link_is_open(void *node)
{
    struct weir_link_stats link;
    return weir_link_stats_get(node, 1, &link) == WEIR_OK && link.open;
}

/* It opens a link and a query before the others are told where it is now: to be
 * told then takes nothing from it. */
static void reach_before_told(struct wt_cluster *c, struct wt_part *p)
{
    const struct weir_query_params params = {.id = 2};
    struct weir_error err = {0};
    *p = (struct wt_part){.n = 3, .q = {.cluster = c, .id = 2}};
    cr_assert_eq(weir_query_open(c->node[1], &params, &p->q.query[1], &err),
                 WEIR_OK, "%s", err.message);
    bool up = wt_until(c, link_is_open, c->node[0]);
    cr_assert(up);
    cr_assert_eq(weir_query_open(c->node[0], &params, &p->q.query[0], &err),
                 WEIR_OK, "%s", err.message);
}

/* The same name at the same number, at another address. */
static void come_back(const struct wt_place *place, bool early)
{
    struct wt_cluster c;
    struct wt_part p;
    struct weir_error err = {0};
    char name[WT_NAME_BYTES];
    char listen[WT_NAME_BYTES + 8];
    open_apart(&c, place, 3);
    join(&c, 0, 3);
    join(&c, 1, 3);
    join(&c, 2, 3);
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
    cr_assert_str_neq(weir_node_address(old), weir_node_address(c.node[1]));
    weir_node_close(old);
    join(&c, 1, 3);
    if (early) {
        reach_before_told(&c, &p);
    }
    tell(&c, 0, 1);
    tell(&c, 2, 1);
    if (early) {
        const struct weir_query_params params = {.id = 2};
        cr_assert_eq(weir_query_open(c.node[2], &params, &p.q.query[2], &err),
                     WEIR_OK, "%s", err.message);
        wt_flow_open(&p.f, &p.q, NULL);
    } else {
        wt_part_open(&p, &c, 2, 3);
    }
    wt_part_end(&p);
    wt_cluster_close(&c);
}

void wt_api_member_comes_back_elsewhere(const struct wt_place *place)
{
    come_back(place, false);
}

void wt_api_member_that_is_back_is_told_of_late(const struct wt_place *place)
{
    come_back(place, true);
}

/* Its query goes on; the next one cannot have it, nor can anybody else have its
 * number. */
void wt_api_member_is_removed_while_a_query_runs(const struct wt_place *place)
{
    static const uint32_t both[] = {0, 1};
    const struct weir_query_params with = {
        .id = 2, .members = both, .n_members = 2};
    struct wt_cluster c;
    struct wt_part p;
    struct weir_error err = {0};
    weir_query *q = NULL;
    struct weir_member m;
    open_apart(&c, place, 2);
    join(&c, 0, 2);
    join(&c, 1, 2);
    wt_part_open(&p, &c, 1, 2);
    cr_assert_eq(weir_node_remove_member(c.node[0], 1, &err), WEIR_OK, "%s",
                 err.message);
    wt_part_end(&p);
    cr_assert_eq(weir_query_open(c.node[0], &with, &q, &err),
                 WEIR_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(err.message, "removed"), "%s", err.message);
    cr_assert_eq(weir_node_member(c.node[0], 1, &m), WEIR_ERR_NOT_FOUND);
    wt_part_open(&p, &c, 3, 1); /* of all members: itself */
    wt_part_end(&p);
    m = member_of(&c, 1);
    cr_assert_eq(weir_node_add_member(c.node[0], 1, &m, &err), WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "not used again"), "%s",
                       err.message);
    cr_assert_eq(weir_node_remove_member(c.node[0], 0, &err), WEIR_ERR_ARG);
    cr_assert_eq(weir_node_remove_member(c.node[0], 1, &err),
                 WEIR_ERR_NOT_FOUND);
    wt_cluster_close(&c);
}

/* Numbers that are not in use are no members of anything. */
void wt_api_lists_may_have_holes(const struct wt_place *place)
{
    struct wt_cluster c;
    struct weir_error err = {0};
    struct weir_member members[4] = {{0}};
    const struct weir_query_params all = {.id = 1};
    open_apart(&c, place, 2);
    members[1] = member_of(&c, 0);
    members[3] = member_of(&c, 1);
    cr_assert_eq(weir_node_join(c.node[0], members, 4, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_node_join(c.node[1], members, 4, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_node_self(c.node[1]), 3);
    cr_assert_eq(weir_node_member(c.node[0], 2, &members[0]),
                 WEIR_ERR_NOT_FOUND);
    static const struct weir_field fields[] = {{"id", "l", 0}};
    const uint32_t from = 1;
    const uint32_t to = 3;
    struct ArrowSchema schema = {0};
    const struct weir_shuffle_params way = wt_way(1, &schema, &from, &to);
    weir_query *q[2];
    weir_shuffle *s[2];
    weir_writer *w;
    weir_reader *r;
    struct ArrowArray batch;
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(weir_query_open(c.node[i], &all, &q[i], &err), WEIR_OK,
                     "%s", err.message);
        cr_assert_eq(weir_shuffle_open(q[i], &way, &s[i], &err), WEIR_OK, "%s",
                     err.message);
    }
    cr_assert_eq(weir_writer_open(s[0], 0, &w, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_reader_open(s[1], 0, &r, &err), WEIR_OK, "%s",
                 err.message);
    weir_err rc = weir_writer_finish(w);
    while (rc == WEIR_AGAIN) {
        (void)weir_worker_wait(c.node[0], 0, WEIR_FOREVER);
        rc = weir_writer_finish(w);
    }
    cr_assert_eq(rc, WEIR_OK, "%s", weir_err_name(rc));
    while ((rc = weir_reader_next(r, &batch)) == WEIR_AGAIN) {
        (void)weir_worker_wait(c.node[1], 0, WEIR_FOREVER);
    }
    cr_assert_eq(rc, WEIR_DONE, "%s", weir_err_name(rc));
    weir_query_close(q[0]);
    weir_query_close(q[1]);
    schema.release(&schema);
    wt_cluster_close(&c);
}
