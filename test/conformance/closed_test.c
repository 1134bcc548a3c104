/* SPDX-License-Identifier: Apache-2.0 */
/* What a member still owes to the others once it has closed a query: the cause
 * that all of them fail for, and a link to who has not closed it yet. Found by
 * `weir sim`. */
#include <criterion/criterion.h>
#include <string.h>
#include <weir/weir.h>

#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/query/judge.h"
#include "core/query/tomb.h"
#include "transport/sim/harness.h"

enum { NODES = 3, LATENCY = 1000000, MS = 1000000 };

static const uint32_t numbers[] = {0, 1, 2};
static const struct weir_field fields[] = {{"id", "l", 0}};

static weir_sim *sim;
static weir_query *query[NODES];
static weir_shuffle *shuffle[NODES];

static void open_sim(uint64_t idle_close_ns)
{
    struct weir_error err = {0};
    const struct weir_sim_params params = {
        .nodes = NODES,
        .latency_ns = LATENCY,
        .node = {.max_shuffles = 4,
                 .detect_ns = 100 * MS,
                 .connect_ns = 100 * MS,
                 .idle_close_ns = idle_close_ns}};
    cr_assert_eq(weir_sim_open(&params, &sim, &err), WEIR_OK, "%s",
                 err.message);
}

static struct wi_tombs *tombs(uint32_t node)
{
    return weir_sim_node(sim, node)->engine.tombs;
}

static void open_query(uint32_t node, uint64_t id, const uint32_t *members,
                       uint32_t n)
{
    const struct weir_query_params params = {
        .id = id, .members = members, .n_members = n};
    struct weir_error err = {0};
    cr_assert_eq(
        weir_query_open(weir_sim_node(sim, node), &params, &query[node], &err),
        WEIR_OK, "%s", err.message);
}

/* From one node to another. */
static void open_shuffle(uint32_t node, uint32_t from, uint32_t to)
{
    struct weir_error err = {0};
    struct ArrowSchema schema;
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    const struct weir_shuffle_params params = {.id = 1,
                                               .schema = &schema,
                                               .partitioning = WEIR_GATHER,
                                               .producers = &from,
                                               .n_producers = 1,
                                               .consumers = &to,
                                               .n_consumers = 1};
    cr_assert_eq(weir_shuffle_open(query[node], &params, &shuffle[node], &err),
                 WEIR_OK, "%s", err.message);
    schema.release(&schema);
}

static weir_reader *open_reader(uint32_t node)
{
    weir_reader *r = NULL;
    struct weir_error err = {0};
    cr_assert_eq(weir_reader_open(shuffle[node], 0, &r, &err), WEIR_OK, "%s",
                 err.message);
    return r;
}

static weir_writer *open_writer(uint32_t node)
{
    weir_writer *w = NULL;
    struct weir_error err = {0};
    cr_assert_eq(weir_writer_open(shuffle[node], 0, &w, &err), WEIR_OK, "%s",
                 err.message);
    return w;
}

static void close_query(uint32_t node)
{
    weir_query_close(query[node]);
    query[node] = NULL;
}

static void close_sim(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        close_query(i);
    }
    weir_sim_close(sim);
}

static void fail(uint32_t node, const char *why)
{
    struct weir_error cause = {.code = WEIR_ERR_QUERY_DATA};
    (void)strncpy(cause.message, why, sizeof(cause.message) - 1);
    cr_assert_eq(weir_query_fail(query[node], &cause), WEIR_OK);
}

static uint64_t until_ns;

static weir_err wait_for_it(void *arg, uint64_t now_ns)
{
    (void)arg;
    if (now_ns < until_ns) {
        weir_sim_busy(sim, until_ns - now_ns);
        return WEIR_OK;
    }
    return WEIR_DONE;
}

static void pass(uint64_t ns)
{
    struct weir_error err = {0};
    until_ns = weir_sim_now(sim) + ns;
    cr_assert_eq(weir_sim_task(sim, 1, 0, wait_for_it, NULL), WEIR_OK);
    cr_assert_eq(weir_sim_run(sim, WEIR_FOREVER, &err), WEIR_OK, "%s",
                 err.message);
}

static void assert_failed(uint32_t node, weir_err code, const char *text)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_query_status(query[node], &err), code, "node %u: %s",
                 node, err.message);
    cr_assert_not_null(strstr(err.message, text), "node %u: no \"%s\" in: %s",
                       node, text, err.message);
}

/* All have it open and links to each other. */
static void open_everywhere(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        open_query(i, 1, numbers, NODES);
        open_shuffle(i, 1, 2);
    }
    (void)open_reader(2);
    pass(10 * LATENCY);
}

/* ---- the cause ----------------------------------------------------------- */

/* Node 2 asks the first member, and closes before the answer is there. That has
 * another cause, which all are told. */
Test(closed, the_first_member_decides_though_the_asker_has_closed,
     .timeout = 60)
{
    open_sim(3600000000000u);
    open_everywhere();
    fail(2, "second");
    close_query(2);
    cr_assert_eq(tombs(2)->n_asking, 1);
    pass(LATENCY / 2);
    fail(0, "first");
    pass(5 * LATENCY);
    assert_failed(0, WEIR_ERR_QUERY_DATA, "first");
    assert_failed(1, WEIR_ERR_QUERY_DATA, "first");
    cr_assert_eq(tombs(2)->n_asking, 0);
    cr_assert_not_null(
        strstr(wi_tomb_find(&weir_sim_node(sim, 2)->engine, 1)->text, "first"));
    close_sim();
}

/* The same, where it closes its writer alone. */
Test(closed, the_first_member_decides_though_the_asker_closes_a_writer,
     .timeout = 60)
{
    open_sim(3600000000000u);
    open_everywhere();
    weir_writer *w = open_writer(1);
    pass(5 * LATENCY);
    fail(1, "second");
    weir_writer_close(w);
    pass(LATENCY / 2);
    fail(0, "first");
    pass(5 * LATENCY);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_failed(i, WEIR_ERR_QUERY_DATA, "first");
    }
    close_sim();
}

/* Where there is no other cause, that of the closed query is it. */
Test(closed, a_cause_is_told_though_its_finder_has_closed, .timeout = 60)
{
    open_sim(3600000000000u);
    open_everywhere();
    fail(2, "second");
    close_query(2);
    pass(5 * LATENCY);
    assert_failed(0, WEIR_ERR_QUERY_DATA, "second");
    assert_failed(1, WEIR_ERR_QUERY_DATA, "second");
    close_sim();
}

/* The link to the first member breaks before it answers: the next one is
 * asked, which opens the query later. */
Test(closed, the_next_member_is_asked_if_the_first_is_lost, .timeout = 60)
{
    open_sim(3600000000000u);
    open_query(0, 1, numbers, NODES);
    open_query(2, 1, numbers, NODES);
    pass(10 * LATENCY);
    fail(2, "second");
    close_query(2);
    weir_sim_cut(sim, 0, 2, weir_sim_now(sim));
    pass(10 * LATENCY);
    cr_assert_eq(tombs(2)->n_asking, 0, "it still waits");
    open_query(1, 1, numbers, NODES);
    assert_failed(1, WEIR_ERR_QUERY_DATA, "second");
    close_sim();
}

/* A first member that was never reached: the link to it is given up, and with
 * nobody else to ask the cause stands. */
Test(closed, a_member_that_nobody_answers_decides_alone, .timeout = 60)
{
    static const uint32_t two[] = {0, 2};
    open_sim(3600000000000u);
    weir_sim_drop(sim, 0, 2, weir_sim_now(sim), 1000000000u);
    open_query(2, 1, two, 2);
    fail(2, "second");
    close_query(2);
    pass(5 * LATENCY);
    cr_assert_eq(tombs(2)->n_asking, 1);
    pass(400 * MS);
    cr_assert_eq(tombs(2)->n_asking, 0, "it still waits");
    cr_assert_eq(wi_tomb_find(&weir_sim_node(sim, 2)->engine, 1)->code,
                 WEIR_ERR_QUERY_DATA);
    close_sim();
}

/* The first member stands still: its answer is not waited for for ever. */
Test(closed, an_answer_has_its_time, .timeout = 60)
{
    static const uint32_t two[] = {0, 2};
    open_sim(3600000000000u);
    open_query(0, 1, two, 2);
    open_query(2, 1, two, 2);
    pass(10 * LATENCY);
    weir_sim_stall(sim, 0, weir_sim_now(sim), 1000 * (uint64_t)MS);
    fail(2, "second");
    close_query(2);
    pass(250 * MS);
    cr_assert_eq(tombs(2)->n_asking, 1);
    pass(100 * MS); /* twice detect_ns, and connect_ns */
    cr_assert_eq(tombs(2)->n_asking, 0, "it still waits");
    close_sim();
}

/* Nothing is remembered of a query after so many others: it is told before. */
Test(closed, a_question_is_settled_before_it_is_forgotten, .timeout = 60)
{
    static const uint32_t alone[] = {2};
    open_sim(3600000000000u);
    open_everywhere();
    fail(2, "second");
    close_query(2);
    for (uint32_t i = 0; i < WI_TOMBS; i++) {
        cr_assert_eq(tombs(2)->n_asking, 1, "after %u queries", i);
        open_query(2, 100 + i, alone, 1);
        close_query(2);
    }
    cr_assert_eq(tombs(2)->n_asking, 0);
    pass(5 * LATENCY);
    assert_failed(0, WEIR_ERR_QUERY_DATA, "second");
    assert_failed(1, WEIR_ERR_QUERY_DATA, "second");
    close_sim();
}

/* What fails a query has a message, whatever a member says. */
Test(closed, a_failure_without_a_word_names_who_told_of_it, .timeout = 60)
{
    union wi_msg m;
    open_sim(3600000000000u);
    open_everywhere();
    wi_msg_init(&m, WI_MSG_FAIL);
    m.fail.code = WEIR_ERR_QUERY_DATA;
    m.fail.query = 1;
    cr_assert(wi_simnet_inject(wi_sim_net(sim), 2, 0, &m, m.head.len));
    pass(5 * LATENCY);
    assert_failed(0, WEIR_ERR_QUERY_DATA,
                  weir_node_name(weir_sim_node(sim, 2)));
    assert_failed(1, WEIR_ERR_QUERY_DATA,
                  weir_node_name(weir_sim_node(sim, 2)));
    close_sim();
}

/* ---- the link ------------------------------------------------------------ */

/* Node 0 has read enough, closed its query and removed node 1, which comes
 * later with its part. */
static void leave(void)
{
    struct weir_error err = {0};
    static const uint32_t two[] = {0, 1};
    open_sim(5 * MS);
    open_query(0, 1, two, 2);
    open_query(1, 1, two, 2);
    open_shuffle(0, 1, 0);
    open_shuffle(1, 1, 0);
    weir_reader_stop(open_reader(0));
    pass(10 * LATENCY);
    close_query(0);
    cr_assert_eq(weir_node_remove_member(weir_sim_node(sim, 0), 1, &err),
                 WEIR_OK, "%s", err.message);
    pass(100 * MS);
    cr_assert_null(weir_sim_node(sim, 0)->engine.members[1].link,
                   "the link is not at rest");
}

Test(closed, a_member_that_left_gets_its_link_while_its_query_is_open,
     .timeout = 60)
{
    leave();
    weir_writer *w = open_writer(1);
    pass(20 * LATENCY);
    struct weir_error err = {0};
    weir_err rc = weir_query_status(query[1], &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_writer_finish(w), WEIR_OK);
    close_query(1);
    close_sim();
}

/* It may have a link, but no more queries: it need not wait to learn that. */
Test(closed, a_member_that_left_is_refused_new_queries, .timeout = 60)
{
    static const uint32_t two[] = {0, 1};
    leave();
    (void)open_writer(1);
    pass(20 * LATENCY);
    weir_query *old = query[1];
    open_query(1, 2, two, 2);
    open_shuffle(1, 1, 0);
    pass(20 * LATENCY);
    assert_failed(1, WEIR_ERR_PEER_REFUSED, "that were removed from its list");
    cr_assert_eq(weir_query_status(old, NULL), WEIR_OK);
    weir_query_close(old);
    close_sim();
}
