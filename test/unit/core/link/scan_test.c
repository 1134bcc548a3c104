/* SPDX-License-Identifier: Apache-2.0 */
/* A ring that all workers of a node share, of another node: on a simulated
 * network, in one thread. */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>

#include "core/link/engine.h"
#include "core/link/lock.h"
#include "test/support/lone.h"
#include "test/support/rows.h"

enum { NODES = 2, WORKERS = 2, MS = 1000000 };

static const struct weir_field fields[] = {{"id", "l", 0}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 1};

static struct wi_simnet *net;
static weir_node *node[NODES];
static weir_query *query[NODES];
static weir_writer *writer;          /* of node 0 */
static weir_reader *reader[WORKERS]; /* of node 1 */

/* Of the least memory that will do: then its rings are shared. */
static void open_node(uint32_t i)
{
    struct wi_simport_ref port = {net, i};
    struct weir_node_params p = {.name = i == 0 ? "n0" : "n1",
                                 .transport = "sim",
                                 .manual = 1,
                                 .workers = WORKERS,
                                 .max_members = NODES,
                                 .max_shuffles = 1,
                                 .memory_bytes = 1 << 16,
                                 .transport_arg = &port};
    struct weir_error err = {0};
    while (weir_node_open(&p, &node[i], &err) == WEIR_ERR_BUDGET) {
        p.memory_bytes += p.memory_bytes / 16;
    }
    cr_assert_not_null(node[i], "%s", err.message);
    cr_assert(node[i]->engine.budget.per_node);
}

/* Let things happen for so long. */
static void pass(uint64_t ns)
{
    uint64_t until = wi_simnet_now(net) + ns;
    uint64_t now;
    while ((now = wi_simnet_now(net)) <= until) {
        uint64_t next = until + 1;
        for (uint32_t i = 0; i < NODES; i++) {
            uint64_t at = UINT64_MAX;
            (void)weir_node_step(node[i], now, &at);
            next = at < next ? at : next;
        }
        uint64_t sooner = wi_simnet_next(net);
        next = sooner < next ? sooner : next;
        wi_simnet_advance(net, next > now ? next : now + 1);
    }
}

/* Rows of node 0 to the workers of node 1. */
static void open_query(uint32_t i)
{
    static const uint32_t members[NODES] = {0, 1};
    const struct weir_query_params q = {.id = 1};
    struct ArrowSchema schema;
    struct weir_shuffle_params s = {.id = 1,
                                    .schema = &schema,
                                    .partitioning = WEIR_VECTOR,
                                    .producers = &members[0],
                                    .n_producers = 1,
                                    .consumers = &members[1],
                                    .n_consumers = 1,
                                    .producer_workers = 1};
    struct weir_error err = {0};
    weir_shuffle *shuffle = NULL;
    cr_assert_eq(weir_query_open(node[i], &q, &query[i], &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    cr_assert_eq(weir_shuffle_open(query[i], &s, &shuffle, &err), WEIR_OK, "%s",
                 err.message);
    schema.release(&schema);
    for (uint32_t k = 0; i == 1 && k < WORKERS; k++) {
        cr_assert_eq(weir_reader_open(shuffle, k, &reader[k], &err), WEIR_OK);
    }
    if (i == 0) {
        cr_assert_eq(weir_writer_open(shuffle, 0, &writer, &err), WEIR_OK);
    }
}

static void open_all(void)
{
    const struct wi_simnet_params params = {.ports = NODES,
                                            .seed = 1,
                                            .bandwidth = 12500000000u,
                                            .latency_ns = 2000,
                                            .overhead_bytes = 64};
    const struct weir_member members[] = {{"n0", "sim:0", WORKERS},
                                          {"n1", "sim:1", WORKERS}};
    struct weir_error err = {0};
    cr_assert_eq(wi_simnet_open(&params, &net, &err), WEIR_OK);
    for (uint32_t i = 0; i < NODES; i++) {
        open_node(i);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        cr_assert_eq(weir_node_join(node[i], members, NODES, &err), WEIR_OK);
        open_query(i);
    }
}

static void close_all(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        weir_query_cancel(query[i], NULL);
        weir_query_close(query[i]);
        weir_node_close(node[i]);
    }
    wi_simnet_close(net);
}

/* Nobody but the engine looks at such a ring: it tells whose row has come. */
Test(scan, row_in_a_shared_ring_wakes_the_worker_that_it_is_for)
{
    static const uint32_t dest = 1; /* worker 1 */
    struct ArrowArray batch;
    struct pollfd fds[WORKERS];
    open_all();
    pass(10ull * MS);
    for (uint32_t k = 0; k < WORKERS; k++) {
        fds[k] = (struct pollfd){weir_worker_fd(node[1], k), POLLIN, 0};
        while (weir_worker_arm(node[1], k) == WEIR_AGAIN) {
        }
    }
    cr_assert_eq(poll(fds, WORKERS, 0), 0);
    wt_rows_make(&rows, 0, 1, &batch);
    cr_assert_eq(weir_writer_push_to(writer, &batch, &dest), WEIR_OK);
    batch.release(&batch);
    cr_assert_eq(weir_writer_flush(writer), WEIR_OK);
    pass(MS);
    cr_assert_eq(poll(fds, WORKERS, 0), 1);
    cr_assert_eq(fds[1].revents, POLLIN);
    cr_assert_eq(weir_reader_next(reader[1], &batch), WEIR_OK);
    batch.release(&batch);
    close_all();
}

/* It may have rows that wait for just that. */
Test(scan, opening_of_a_ring_wakes_its_producer)
{
    open_all();
    struct pollfd fd = {weir_worker_fd(node[0], 0), POLLIN, 0};
    while (weir_worker_arm(node[0], 0) == WEIR_AGAIN) {
    }
    cr_assert_eq(poll(&fd, 1, 0), 0);
    pass(10ull * MS);
    cr_assert_eq(poll(&fd, 1, 0), 1);
    close_all();
}
