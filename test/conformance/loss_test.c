/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of queries when links are lost, memory is refused, or members
 * never come: nobody waits for ever, and nothing stays. Found by `weir sim`. */
#include <criterion/criterion.h>
#include <weir/weir.h>

#include "core/base/list.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "test/support/cluster.h"
#include "test/support/rows.h"
#include "transport/sim/harness.h"

enum { MS = 1000000 };

static const struct weir_field fields[] = {{"id", "l", 0}};
static const uint32_t members[] = {0, 1};

struct member {
    weir_query *query;
    weir_shuffle *shuffle;
    weir_writer *writer;
    weir_reader *reader;
    struct ArrowArray batch; /* of the writer */
    bool pushed;
};

static weir_sim *sim;
static uint32_t producer; /* [node 0]; the other one consumes */

/* With two workers they share their rings. */
static void open_sim(uint32_t workers)
{
    static const struct wt_place place = {.transport = "sim", .sim = true};
    struct weir_error err = {0};
    struct weir_sim_params params = {.nodes = 2,
                                     .node = {.workers = workers,
                                              .max_shuffles = 4,
                                              .frame_bytes = 1024,
                                              .detect_ns = 50 * MS,
                                              .connect_ns = 50 * MS,
                                              .idle_close_ns = 3600000000000u}};
    const struct wt_cluster_params least = {.workers = 2, .node = params.node};
    if (workers == 2) {
        params.node.memory_bytes = wt_least_memory(&place, &least);
    }
    cr_assert_eq(weir_sim_open(&params, &sim, &err), WEIR_OK, "%s",
                 err.message);
}

static struct wi_engine *engine(uint32_t node)
{
    return &weir_sim_node(sim, node)->engine;
}

static void open_query(struct member *m, uint32_t node, uint64_t id,
                       weir_partitioning kind)
{
    const struct weir_query_params q = {
        .id = id, .members = members, .n_members = 2};
    struct weir_shuffle_params s = {.partitioning = kind,
                                    .producers = &members[producer],
                                    .n_producers = 1,
                                    .consumers = &members[1 - producer],
                                    .n_consumers = 1,
                                    .producer_workers = 1};
    struct ArrowSchema schema;
    struct weir_error err = {0};
    *m = (struct member){0};
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    s.schema = &schema;
    cr_assert_eq(weir_query_open(weir_sim_node(sim, node), &q, &m->query, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_shuffle_open(m->query, &s, &m->shuffle, &err), WEIR_OK,
                 "%s", err.message);
    schema.release(&schema);
}

static void open_writer(struct member *m, uint64_t id, weir_partitioning kind)
{
    struct weir_error err = {0};
    open_query(m, 0, id, kind);
    cr_assert_eq(weir_writer_open(m->shuffle, 0, &m->writer, &err), WEIR_OK,
                 "%s", err.message);
}

static void open_reader(struct member *m, uint64_t id, weir_partitioning kind)
{
    struct weir_error err = {0};
    open_query(m, 1, id, kind);
    cr_assert_eq(weir_reader_open(m->shuffle, 0, &m->reader, &err), WEIR_OK,
                 "%s", err.message);
}

/* ---- time ---------------------------------------------------------------- */

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

static weir_err send_row(void *arg, uint64_t now_ns)
{
    struct member *m = arg;
    const struct wt_rows rows = {.fields = fields, .n_fields = 1};
    (void)now_ns;
    if (m->batch.release == NULL) {
        wt_rows_make(&rows, 0, 1, &m->batch);
    }
    if (!m->pushed) {
        weir_err rc = weir_writer_push(m->writer, &m->batch);
        m->pushed = rc == WEIR_OK;
        return rc;
    }
    weir_err rc = weir_writer_finish(m->writer);
    if (rc == WEIR_OK) {
        m->batch.release(&m->batch);
    }
    return rc == WEIR_OK ? WEIR_DONE : rc;
}

static weir_err read_all(void *arg, uint64_t now_ns)
{
    struct member *m = arg;
    struct ArrowArray batch;
    (void)now_ns;
    weir_err rc = weir_reader_next(m->reader, &batch);
    if (rc == WEIR_OK) {
        batch.release(&batch);
    }
    return rc;
}

static weir_err run(uint32_t node, weir_sim_task_fn fn, struct member *m)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_sim_task(sim, node, 0, fn, m), WEIR_OK);
    return weir_sim_run(sim, WEIR_FOREVER, &err);
}

/* ---- cases --------------------------------------------------------------- */

/* The producer is done and gone when its rows are lost, and the consumer, which
 * comes later, is told. */
Test(loss, rows_of_a_closed_query_are_lost_and_a_late_member_is_told,
     .timeout = 60)
{
    struct member out;
    struct member in;
    open_sim(1);
    open_writer(&out, 1, WEIR_GATHER);
    cr_assert_eq(run(0, send_row, &out), WEIR_OK);
    weir_query_close(out.query);
    pass(MS);
    weir_sim_cut(sim, 0, 1, weir_sim_now(sim));
    pass(MS);
    open_reader(&in, 1, WEIR_GATHER);
    weir_err rc = run(1, read_all, &in);
    cr_assert_eq(rc, WEIR_ERR_PEER_LOST, "%s", weir_err_name(rc));
    weir_query_close(in.query);
    weir_sim_close(sim);
}

/* The same, and all is well where the rows have come. */
Test(loss, link_lost_after_the_end_fails_nothing, .timeout = 60)
{
    struct member out;
    struct member in;
    open_sim(1);
    open_writer(&out, 1, WEIR_GATHER);
    open_reader(&in, 1, WEIR_GATHER);
    cr_assert_eq(run(0, send_row, &out), WEIR_OK);
    weir_query_close(out.query);
    cr_assert_eq(run(1, read_all, &in), WEIR_OK);
    weir_sim_cut(sim, 0, 1, weir_sim_now(sim));
    pass(MS);
    cr_assert_eq(weir_query_status(in.query, NULL), WEIR_ERR_PEER_LOST);
    weir_query_close(in.query);
    weir_sim_close(sim);
}

/* Of a ring of a node one worker never reads; its link is lost, and the query
 * closed. */
Test(loss, dead_link_goes_although_a_reader_was_never_opened, .timeout = 60)
{
    struct member out;
    struct member in;
    open_sim(2);
    cr_assert(engine(1)->budget.per_node);
    open_writer(&out, 1, WEIR_BROADCAST);
    open_reader(&in, 1, WEIR_BROADCAST);
    cr_assert_eq(run(0, send_row, &out), WEIR_OK);
    cr_assert_eq(run(1, read_all, &in), WEIR_OK);
    weir_sim_cut(sim, 0, 1, weir_sim_now(sim));
    pass(MS);
    weir_query_close(in.query);
    weir_query_close(out.query);
    pass(MS);
    cr_assert(wi_list_empty(&engine(1)->dead), "the dead link is still there");
    weir_sim_close(sim);
}

/* Two queries get no memory for a ring: both are told, not the first alone. */
Test(loss, every_query_without_memory_is_told, .timeout = 60)
{
    struct member back;
    struct member out[2];
    struct weir_error err = {0};
    open_sim(1);
    open_reader(&back, 1, WEIR_GATHER); /* opens the link */
    pass(MS);
    producer = 1;
    wi_simnet_refuse_memory(wi_sim_net(sim), 1, true);
    for (uint32_t i = 0; i < 2; i++) {
        open_query(&out[i], 1, 2 + i, WEIR_GATHER);
        cr_assert_eq(weir_writer_open(out[i].shuffle, 0, &out[i].writer, &err),
                     WEIR_OK, "%s", err.message);
    }
    pass(200 * MS);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(weir_query_status(out[i].query, &err),
                     WEIR_ERR_QUERY_MEMORY, "query %u: %s", 2 + i, err.message);
        weir_query_close(out[i].query);
    }
    weir_query_close(back.query);
    weir_sim_close(sim);
}

/* A query fails that the consumer never opens, although all was sent to it. */
Test(loss, rings_of_a_failed_query_do_not_wait_for_it, .timeout = 60)
{
    struct member out;
    open_sim(1);
    open_writer(&out, 1, WEIR_GATHER);
    cr_assert_eq(run(0, send_row, &out), WEIR_OK);
    pass(MS);
    const struct wi_link *l = engine(1)->members[0].link;
    cr_assert(l != NULL && !wi_list_empty(&l->ins));
    weir_query_cancel(out.query, "enough");
    weir_query_close(out.query);
    pass(MS);
    cr_assert(wi_list_empty(&l->ins), "its ring is still there");
    weir_sim_close(sim);
}

/* Of a ring of a node one reader stops when the producer has ended already. */
Test(loss, node_ring_goes_although_a_reader_stops_after_the_end, .timeout = 60)
{
    struct member out;
    struct member in;
    weir_reader *other = NULL;
    struct weir_error err = {0};
    open_sim(2);
    open_writer(&out, 1, WEIR_BROADCAST);
    open_reader(&in, 1, WEIR_BROADCAST);
    cr_assert_eq(weir_reader_open(in.shuffle, 1, &other, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(run(0, send_row, &out), WEIR_OK);
    weir_query_close(out.query);
    weir_reader_stop(other);
    cr_assert_eq(run(1, read_all, &in), WEIR_OK);
    weir_query_close(in.query);
    pass(MS);
    const struct wi_link *l = engine(1)->members[0].link;
    cr_assert(l != NULL && wi_list_empty(&l->ins), "its ring is still there");
    weir_sim_close(sim);
}
