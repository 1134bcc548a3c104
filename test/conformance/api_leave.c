/* SPDX-License-Identifier: Apache-2.0 */
/* Links and nodes that close while others still have something to tell, to read
 * or to wait for. */
#include "test/conformance/api.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct weir_field fields[] = {{"id", "l", 0}};

static const char *const end_of_wait[] = {"closing although", "no link within"};
static _Atomic uint32_t gave_up; /* nodes that waited to the end */

static void hear(void *arg, weir_log_level level, const char *line)
{
    (void)arg;
    (void)level;
    for (int i = 0; i < 2; i++) {
        gave_up += strstr(line, end_of_wait[i]) != NULL;
    }
}

static bool no_links(void *arg)
{
    const struct wt_cluster *c = arg;
    struct weir_node_stats st;
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        weir_node_stats_get(c->node[i], &st);
        if (st.links_open != 0) {
            return false;
        }
    }
    return true;
}

static bool failed(void *arg)
{
    return weir_query_status(arg, NULL) != WEIR_OK;
}

/* Node 0 is done with the query and its link rests; node 1 has read everything,
 * and keeps its readers and writers. */
void wt_api_link_closes_beside_ended_streams(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .node = {.idle_close_ns = 20000000}};
    struct wt_cluster c;
    struct wt_query q[2];
    struct wt_flow f[2];
    struct weir_error err = {0};
    struct weir_node_stats st;
    wt_cluster_open(&c, place, &cluster);
    for (uint32_t i = 0; i < 2; i++) { /* the second needs a link again */
        wt_query_open(&q[i], &c, i + 1, NULL);
        wt_flow_open(&f[i], &q[i], NULL);
        bool ran = wt_cluster_run(&c);
        cr_assert(ran, "%s", c.why);
        wt_flow_check(&f[i]);
        weir_query_close(q[i].query[0]);
        q[i].query[0] = NULL;
        bool closed = wt_until(&c, no_links, &c);
        cr_assert(closed, "links are still open");
        weir_err rc = weir_query_status(q[i].query[1], &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    }
    weir_node_stats_get(c.node[1], &st);
    cr_assert_eq(st.links_lost, 0);
    for (uint32_t i = 0; i < 2; i++) {
        wt_query_close(&q[i]);
        wt_flow_close(&f[i]);
    }
    wt_cluster_close(&c);
}

/* ---- reports that cross a goodbye (simulator) ---------------------------- */

enum judge { NEVER_OPENS, HAS_CLOSED };

/* Node 1 finds a fault at some time and asks node 0, the query's first member,
 * while their link goes to rest or breaks. */
struct crossing {
    struct wt_cluster c;
    enum judge judge;
    uint64_t fault_ns;
    uint64_t cut_ns; /* after the fault; 0: never */
    weir_query *query;
};

static weir_err find_fault(void *arg)
{
    struct crossing *x = arg;
    const struct weir_error cause = {WEIR_ERR_QUERY_DATA, "no such file"};
    uint64_t now = weir_sim_now(x->c.sim);
    if (now < x->fault_ns) {
        weir_sim_busy(x->c.sim, x->fault_ns - now);
        return WEIR_OK;
    }
    return weir_query_fail(x->query, &cause) == WEIR_OK ? WEIR_DONE
                                                        : WEIR_ERR_STATE;
}

static void cross(const struct wt_place *place, struct crossing x)
{
    const struct wt_cluster_params cluster = {
        .node = {.idle_close_ns = 20000000,
                 .detect_ns = 100000000,
                 .connect_ns = 100000000},
        .sim = {.latency_ns = 1000000}};
    const struct weir_query_params query = {.id = 7};
    weir_query *judges = NULL;
    wt_cluster_open(&x.c, place, &cluster);
    cr_assert_eq(weir_query_open(x.c.node[1], &query, &x.query, NULL), WEIR_OK);
    if (x.judge == HAS_CLOSED) {
        cr_assert_eq(weir_query_open(x.c.node[0], &query, &judges, NULL),
                     WEIR_OK);
        weir_query_close(judges);
    }
    wt_task(&x.c, 1, 0, find_fault, &x);
    if (x.cut_ns != 0) {
        weir_sim_cut(x.c.sim, 0, 1, x.fault_ns + x.cut_ns);
    }
    bool ran = wt_cluster_run(&x.c);
    cr_assert(ran && x.c.task[0].end == WEIR_DONE, "%s", x.c.why);
    bool ended = wt_until(&x.c, failed, x.query);
    cr_assert(ended, "judge %d, fault at %llu us, cut %llu us later: no answer",
              (int)x.judge, (unsigned long long)x.fault_ns / 1000,
              (unsigned long long)x.cut_ns / 1000);
    weir_query_close(x.query);
    wt_cluster_close(&x.c);
}

void wt_api_reports_that_cross_a_goodbye_are_answered(
    const struct wt_place *place)
{
    for (uint64_t us = 20000; us < 34000; us += 250) {
        for (uint64_t cut_us = 0; cut_us < 6000; cut_us += 700) {
            struct crossing x = {.fault_ns = us * 1000,
                                 .cut_ns = cut_us * 1000};
            x.judge = NEVER_OPENS;
            cross(place, x);
            x.judge = HAS_CLOSED;
            cross(place, x);
        }
    }
}

static bool rests(void *arg)
{
    struct weir_node_stats st;
    weir_node_stats_get(arg, &st);
    return st.links_opened > 0 && st.links_open == 0;
}

/* The link that node 2 opened to the first member has gone idle, because that
 * one opens the query later, when node 2 cancels it or has no more time. */
static void end_after_a_rest(const struct wt_place *place, uint64_t deadline_ns)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .node = {.idle_close_ns = 20000000}};
    const struct weir_query_params until = {.id = 7,
                                            .deadline_ns = deadline_ns};
    const struct weir_query_params query = {.id = 7};
    struct wt_cluster c;
    weir_query *q[3];
    wt_cluster_open(&c, place, &cluster);
    cr_assert_eq(weir_query_open(c.node[2], &until, &q[2], NULL), WEIR_OK);
    bool idle = wt_until(&c, rests, c.node[2]);
    cr_assert(idle, "the link is still open");
    if (deadline_ns == 0) {
        weir_query_cancel(q[2], "enough");
    }
    bool over = wt_until(&c, failed, q[2]);
    cr_assert(over);
    weir_query_close(q[2]);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(weir_query_open(c.node[i], &query, &q[i], NULL), WEIR_OK);
    }
    for (uint32_t i = 0; i < 2; i++) {
        bool heard = wt_until(&c, failed, q[i]);
        cr_assert(heard, "node %u", i);
        cr_assert_eq(weir_query_status(q[i], NULL),
                     deadline_ns != 0 ? WEIR_ERR_DEADLINE : WEIR_ERR_CANCELLED);
        weir_query_close(q[i]);
    }
    wt_cluster_close(&c);
}

void wt_api_cancel_after_a_rest_is_heard(const struct wt_place *place)
{
    end_after_a_rest(place, 0);
}

void wt_api_deadline_after_a_rest_is_heard(const struct wt_place *place)
{
    end_after_a_rest(place, 5000000000u); /* the link has long gone */
}

/* The other way round: node 2 opened the query, and has no link to the first
 * member any more, when that one cancels it, or has closed it and hears that
 * node 1 does. */
static void cancel_beside(const struct wt_place *place, uint32_t who)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .node = {.idle_close_ns = 20000000}};
    const struct weir_query_params query = {.id = 7};
    struct wt_cluster c;
    weir_query *q[3];
    wt_cluster_open(&c, place, &cluster);
    if (who == 1) {
        cr_assert_eq(weir_query_open(c.node[0], &query, &q[0], NULL), WEIR_OK);
        weir_query_close(q[0]);
    }
    cr_assert_eq(weir_query_open(c.node[2], &query, &q[2], NULL), WEIR_OK);
    bool idle = wt_until(&c, rests, c.node[0]);
    cr_assert(idle, "the link is still open");
    cr_assert_eq(weir_query_open(c.node[who], &query, &q[who], NULL), WEIR_OK);
    weir_query_cancel(q[who], "enough");
    weir_query_close(q[who]);
    bool heard = wt_until(&c, failed, q[2]);
    cr_assert(heard, "node %u cancels: nobody told node 2", who);
    cr_assert_eq(weir_query_status(q[2], NULL), WEIR_ERR_CANCELLED);
    weir_query_close(q[2]);
    wt_cluster_close(&c);
}

void wt_api_cancel_is_heard_by_who_rests(const struct wt_place *place)
{
    cancel_beside(place, 0);
    cancel_beside(place, 1);
}

/* Node 1 cancels at some time, while the link to the first member goes to rest,
 * and closes; that one opens the query later. */
static weir_err cancel_then(void *arg)
{
    struct crossing *x = arg;
    uint64_t now = weir_sim_now(x->c.sim);
    if (now < x->fault_ns) {
        weir_sim_busy(x->c.sim, x->fault_ns - now);
        return WEIR_OK;
    }
    weir_query_cancel(x->query, "enough");
    weir_query_close(x->query);
    return WEIR_DONE;
}

/* The same with a cause that the first member is asked about. */
static weir_err fail_then(void *arg)
{
    struct crossing *x = arg;
    weir_err rc = find_fault(arg);
    if (rc == WEIR_DONE) {
        weir_query_close(x->query);
    }
    return rc;
}

static void end_across(const struct wt_place *place, uint64_t at_ns,
                       weir_err (*end)(void *arg), weir_err code)
{
    const struct wt_cluster_params cluster = {
        .node = {.idle_close_ns = 20000000,
                 .detect_ns = 100000000,
                 .connect_ns = 100000000},
        .sim = {.latency_ns = 1000000}};
    const struct weir_query_params query = {.id = 7};
    struct crossing x = {.fault_ns = at_ns};
    weir_query *late = NULL;
    wt_cluster_open(&x.c, place, &cluster);
    cr_assert_eq(weir_query_open(x.c.node[1], &query, &x.query, NULL), WEIR_OK);
    wt_task(&x.c, 1, 0, end, &x);
    bool ran = wt_cluster_run(&x.c);
    cr_assert(ran && x.c.task[0].end == WEIR_DONE, "%s", x.c.why);
    cr_assert_eq(weir_query_open(x.c.node[0], &query, &late, NULL), WEIR_OK);
    bool heard = wt_until(&x.c, failed, late);
    cr_assert(heard, "%s at %llu us: nobody told node 0", weir_err_name(code),
              (unsigned long long)at_ns / 1000);
    cr_assert_eq(weir_query_status(late, NULL), code);
    weir_query_close(late);
    wt_cluster_close(&x.c);
}

void wt_api_cancel_that_crosses_a_goodbye_is_heard(const struct wt_place *place)
{
    for (uint64_t us = 20000; us < 34000; us += 250) {
        end_across(place, us * 1000, cancel_then, WEIR_ERR_CANCELLED);
        end_across(place, us * 1000, fail_then, WEIR_ERR_QUERY_DATA);
    }
}

/* ---- nodes that close (threads) ------------------------------------------ */

static void *close_node(void *node)
{
    weir_node_close(node);
    return NULL;
}

/* A reader on `node` of what `from` would produce. */
static void read_from(weir_query *query, uint32_t node, uint32_t from)
{
    struct ArrowSchema schema = {0};
    const struct weir_shuffle_params params =
        wt_way(node + 1, &schema, &from, &node);
    struct weir_error err = {0};
    weir_shuffle *s;
    weir_reader *r;
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    cr_assert_eq(weir_shuffle_open(query, &params, &s, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_reader_open(s, 0, &r, &err), WEIR_OK, "%s", err.message);
    schema.release(&schema);
}

/* 1 begins a link to 2, 2 to 3, and 3 to 1, and then all close. */
void wt_api_nodes_that_close_in_a_circle_do_not_wait(
    const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 4, .node = {.log_level = WEIR_LOG_WARN, .log = hear}};
    struct wt_cluster c;
    struct wt_query q;
    pthread_t thread[4];
    for (int round = 0; round < 5; round++) {
        wt_cluster_open(&c, place, &cluster);
        wt_query_open(&q, &c, 1, NULL);
        for (uint32_t i = 1; i < 4; i++) {
            read_from(q.query[i], i, i % 3 + 1);
        }
        wt_query_close(&q);
        for (uint32_t i = 0; i < 4; i++) {
            cr_assert_eq(
                pthread_create(&thread[i], NULL, close_node, c.node[i]), 0);
        }
        for (uint32_t i = 0; i < 4; i++) {
            (void)pthread_join(thread[i], NULL);
            c.node[i] = NULL;
        }
        wt_cluster_close(&c);
        cr_assert_eq(gave_up, 0, "%u nodes gave up", gave_up);
    }
}

/* Node 1 fails its query, closes it and itself, all at once. */
void wt_api_cause_of_a_node_that_closes_is_told(const struct wt_place *place)
{
    const struct weir_query_params query = {.id = 1};
    const struct weir_error cause = {WEIR_ERR_QUERY_DATA, "no such file"};
    struct weir_error err = {0};
    struct wt_cluster c;
    weir_query *q[2];
    wt_cluster_open(&c, place, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(weir_query_open(c.node[i], &query, &q[i], &err), WEIR_OK);
    }
    cr_assert_eq(weir_query_fail(q[1], &cause), WEIR_OK);
    weir_query_close(q[1]);
    weir_node_close(c.node[1]);
    c.node[1] = NULL;
    bool ended = wt_until(&c, failed, q[0]);
    cr_assert(ended, "nobody notices");
    weir_err rc = weir_query_status(q[0], &err);
    cr_assert_eq(rc, WEIR_ERR_QUERY_DATA, "%s", err.message);
    cr_assert_not_null(strstr(err.message, "no such file"), "%s", err.message);
    weir_query_close(q[0]);
    wt_cluster_close(&c);
}

/* Node 1 closes before it has opened the query that node 0 writes to. */
void wt_api_node_that_closes_declines_queries_to_come(
    const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .node = {.log_level = WEIR_LOG_WARN, .log = hear}};
    const uint32_t consumer = 1;
    const struct weir_query_params query = {.id = 1};
    struct ArrowSchema schema;
    const struct weir_shuffle_params params = {.id = 1,
                                               .schema = &schema,
                                               .partitioning = WEIR_GATHER,
                                               .consumers = &consumer,
                                               .n_consumers = 1};
    struct weir_error err = {0};
    struct wt_cluster c;
    pthread_t thread;
    weir_query *q;
    weir_shuffle *s;
    weir_writer *w;
    wt_cluster_open(&c, place, &cluster);
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    cr_assert_eq(weir_query_open(c.node[0], &query, &q, &err), WEIR_OK);
    cr_assert_eq(weir_shuffle_open(q, &params, &s, &err), WEIR_OK);
    cr_assert_eq(weir_writer_open(s, 0, &w, &err), WEIR_OK);
    cr_assert_eq(weir_writer_finish_wait(w), WEIR_OK); /* it has an edge */
    cr_assert_eq(pthread_create(&thread, NULL, close_node, c.node[1]), 0);
    bool ended = wt_until(&c, failed, q);
    cr_assert(ended, "nobody notices");
    weir_err rc = weir_query_status(q, &err);
    cr_assert_eq(rc, WEIR_ERR_ABORTED, "%s", err.message);
    cr_assert_not_null(strstr(err.message, c.name[1]), "%s", err.message);
    weir_query_close(q);
    (void)pthread_join(thread, NULL);
    c.node[1] = NULL;
    cr_assert_eq(gave_up, 0, "it waited to the end");
    schema.release(&schema);
    wt_cluster_close(&c);
}
