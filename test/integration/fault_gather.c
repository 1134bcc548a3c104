/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members that have no rows for the one that dies: a member that only consumes
 * opens no writer, and one that takes no part in the shuffle opens nothing at
 * all. Both have to learn that a producer is gone, at any time.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>

#include "test/support/team.h"

enum { CONSUMER = 0, IDLER = 1, PRODUCER = 2 };

static const uint64_t detect_ns = 2000000000u;

struct scene {
    const char *transport;
    bool joined; /* the producer dies after it has sent rows */
};

static weir_err open_gather(struct wt_plan *p, weir_node *node,
                            struct weir_error *err)
{
    static const struct weir_field field = {.name = "key", .format = "l"};
    static const uint32_t producer[] = {PRODUCER};
    static const uint32_t consumer[] = {CONSUMER};
    struct weir_query_params q = {.id = 1};
    struct ArrowSchema schema;
    weir_shuffle *s = NULL;
    weir_err rc = weir_query_open(node, &q, &p->query, err);
    if (rc != WEIR_OK ||
        weir_schema_build(&field, 1, &schema, err) != WEIR_OK) {
        return rc;
    }
    struct weir_shuffle_params params = {.id = 1,
                                         .schema = &schema,
                                         .partitioning = WEIR_GATHER,
                                         .producers = producer,
                                         .n_producers = 1,
                                         .consumers = consumer,
                                         .n_consumers = 1};
    rc = weir_shuffle_open(p->query, &params, &s, err);
    if (rc == WEIR_OK && weir_node_self(node) == CONSUMER) {
        rc = weir_reader_open(s, 0, &p->reader[0], err);
    } else if (rc == WEIR_OK && weir_node_self(node) == PRODUCER) {
        rc = weir_writer_open(s, 0, &p->writer[0], err);
    }
    schema.release(&schema);
    return rc;
}

static void produce(struct wt_proc *p, struct wt_plan *plan)
{
    int64_t key = 1;
    const void *column_buffers[2] = {NULL, &key};
    const void *buffers[1] = {NULL};
    struct ArrowArray column = {
        .length = 1, .n_buffers = 2, .buffers = column_buffers};
    struct ArrowArray *children[1] = {&column};
    struct ArrowArray batch = {.length = 1,
                               .n_buffers = 1,
                               .n_children = 1,
                               .buffers = buffers,
                               .children = children};
    /* Arrow takes an array without release for a released one. */
    batch.release = (void (*)(struct ArrowArray *))(void (*)(void))produce;
    column.release = batch.release;
    wt_proc_check(p,
                  weir_writer_push_wait(plan->writer[0], &batch) == WEIR_OK &&
                      weir_writer_flush(plan->writer[0]) == WEIR_OK,
                  "push");
    wt_proc_say(p, 'p');
    wt_proc_await(p); /* the parent kills */
}

/* Wait for the end of the query, which is a failure. */
static weir_err await_end(struct wt_plan *plan, weir_node *node, bool consumes)
{
    weir_err rc = weir_query_status(plan->query, NULL);
    while (rc == WEIR_OK || rc == WEIR_AGAIN) {
        struct ArrowArray b;
        rc = consumes ? weir_reader_next(plan->reader[0], &b) : WEIR_AGAIN;
        if (rc == WEIR_OK) {
            b.release(&b);
        } else if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(node, 0, WEIR_FOREVER);
            rc = weir_query_status(plan->query, NULL);
        }
    }
    return rc;
}

static void member(struct wt_proc *p)
{
    const struct scene *s = p->arg;
    struct weir_node_params params = {.transport = s->transport,
                                      .detect_ns = detect_ns,
                                      .connect_ns = detect_ns};
    struct weir_error err = {0};
    struct wt_plan plan = {0};
    weir_node *node = wt_team_open(p, params);
    wt_proc_await(p);
    wt_team_join(p, node);
    weir_err rc = open_gather(&plan, node, &err);
    if (p->self == PRODUCER) {
        wt_proc_check(p, rc == WEIR_OK, "%s", err.message);
        produce(p, &plan);
    }
    wt_proc_say(p, 'j');
    if (rc == WEIR_OK) {
        rc = await_end(&plan, node, p->self == CONSUMER);
        (void)weir_query_status(plan.query, &err);
    }
    wt_team_report(p, 0, &plan, rc, &err);
    /* A node that closes is lost, too, for a member whose connection to it is
     * still under way: nobody leaves before all have heard. */
    wt_proc_say(p, 'f');
    wt_proc_await(p);
    weir_query_close(plan.query);
    weir_node_close(node);
}

static void play(const char *transport, bool joined)
{
    struct scene s = {.transport = transport, .joined = joined};
    struct wt_procs *ps = wt_team_start(3, member, &s);
    for (uint32_t k = 0; k < 3; k++) {
        wt_procs_expect(ps, k, 'o');
    }
    wt_procs_go(ps, CONSUMER);
    wt_procs_go(ps, IDLER);
    wt_procs_expect(ps, CONSUMER, 'j');
    wt_procs_expect(ps, IDLER, 'j');
    if (joined) {
        wt_procs_go(ps, PRODUCER);
        wt_procs_expect(ps, PRODUCER, 'p');
    }
    wt_team_strike(ps, PRODUCER, SIGKILL);
    cr_assert(WIFSIGNALED(wt_procs_end(ps, PRODUCER)));
    wt_procs_expect(ps, CONSUMER, 'f');
    wt_procs_expect(ps, IDLER, 'f');
    wt_procs_go(ps, CONSUMER);
    wt_procs_go(ps, IDLER);
    for (uint32_t k = 0; k < 2; k++) {
        wt_procs_end_well(ps, k);
        wt_team_failed(ps, 0, k, WEIR_ERR_PEER_LOST, PRODUCER, 4 * detect_ns);
    }
    wt_procs_close(ps);
}

Test(fault_gather, shm_producer_dies_before_it_connects, .timeout = 100)
{
    play("shm", false);
}

Test(fault_gather, tcp_producer_dies_before_it_connects, .timeout = 100)
{
    play("tcp", false);
}

Test(fault_gather, shm_producer_dies_with_rows_under_way, .timeout = 100)
{
    play("shm", true);
}

Test(fault_gather, tcp_producer_dies_with_rows_under_way, .timeout = 100)
{
    play("tcp", true);
}
