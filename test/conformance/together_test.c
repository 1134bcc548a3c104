/* SPDX-License-Identifier: Apache-2.0 */
/* What a query of a few rows costs in packets: what is opened, and what ends,
 * travels together. Each packet wakes the network thread of its receiver. */
#include <criterion/criterion.h>
#include <string.h>
#include <weir/weir.h>

#include "core/format/wire.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "test/support/rows.h"
#include "transport/sim/harness.h"

enum { MS = 1000000, NODES = 2, SHUFFLES = 2 };

static const struct weir_field fields[] = {{"id", "l", 0}};

struct member {
    weir_query *query;
    weir_shuffle *shuffle[SHUFFLES];
    weir_writer *writer[SHUFFLES];
    weir_reader *reader[SHUFFLES];
    struct ArrowArray batch;
    uint32_t at; /* of send_rows(): what is next */
};

/* What came over the wire, by sender. */
struct traffic {
    uint32_t packets;
    uint32_t of_type[WI_MSG_TYPES];
};

static weir_sim *sim;
static struct member member[NODES];
static struct traffic traffic[NODES];

static void landed(void *arg, uint32_t from, uint32_t to, bool message,
                   uint8_t *bytes, uint32_t len)
{
    struct traffic *t = &traffic[from];
    struct weir_error err;
    union wi_msg m;
    uint32_t at = 0;
    (void)arg, (void)to;
    if (!message) {
        return;
    }
    t->packets++;
    while (wi_msg_next(bytes, len, &at, &m, &err) == WEIR_OK) {
        t->of_type[m.head.type]++;
    }
}

static void open_sim(uint32_t max_shuffles)
{
    static const struct wi_simnet_watch watch = {.landed = landed};
    struct weir_error err = {0};
    const struct weir_sim_params params = {
        .nodes = NODES,
        .node = {.max_shuffles = max_shuffles,
                 .frame_bytes = 1024,
                 .memory_bytes = max_shuffles == 0 ? 4 << 20 : 0,
                 .detect_ns = 3600000000000u,
                 .idle_close_ns = 3600000000000u}};
    cr_assert_eq(weir_sim_open(&params, &sim, &err), WEIR_OK, "%s",
                 err.message);
    wi_simnet_set_watch(wi_sim_net(sim), &watch);
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
    (void)weir_worker_wake(weir_sim_node(sim, 0), 0);
    return WEIR_DONE;
}

/* Some time, far less than a tick of the engines. */
static void pass(void)
{
    struct weir_error err = {0};
    until_ns = weir_sim_now(sim) + MS;
    cr_assert_eq(weir_sim_task(sim, 1, 0, wait_for_it, NULL), WEIR_OK);
    cr_assert_eq(weir_sim_run(sim, WEIR_FOREVER, &err), WEIR_OK, "%s",
                 err.message);
}

/* ---- a query ------------------------------------------------------------- */

static void open_shuffles(struct member *m, uint32_t node, uint64_t id)
{
    const struct weir_query_params q = {.id = id};
    struct ArrowSchema schema;
    struct weir_error err = {0};
    *m = (struct member){0};
    cr_assert_eq(weir_query_open(weir_sim_node(sim, node), &q, &m->query, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    for (uint32_t s = 0; s < SHUFFLES; s++) {
        const struct weir_shuffle_params p = {
            .id = s + 1, .schema = &schema, .partitioning = WEIR_BROADCAST};
        cr_assert_eq(weir_shuffle_open(m->query, &p, &m->shuffle[s], &err),
                     WEIR_OK, "%s", err.message);
    }
    schema.release(&schema);
}

static void open_writer(struct member *m, uint32_t s)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_writer_open(m->shuffle[s], 0, &m->writer[s], &err),
                 WEIR_OK, "%s", err.message);
}

static void open_reader(struct member *m, uint32_t s)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_reader_open(m->shuffle[s], 0, &m->reader[s], &err),
                 WEIR_OK, "%s", err.message);
}

static void open_member(uint32_t node, uint64_t id)
{
    struct member *m = &member[node];
    open_shuffles(m, node, id);
    for (uint32_t s = 0; s < SHUFFLES; s++) {
        open_writer(m, s);
        open_reader(m, s);
    }
}

/* One row into each shuffle, and the end. */
static weir_err send_rows(void *arg, uint64_t now_ns)
{
    struct member *m = arg;
    const struct wt_rows rows = {.fields = fields, .n_fields = 1};
    (void)now_ns;
    if (m->at == 2 * SHUFFLES) {
        return WEIR_DONE;
    }
    weir_writer *w = m->writer[m->at / 2];
    if (m->at % 2 == 0 && m->batch.release == NULL) {
        wt_rows_make(&rows, 0, 1, &m->batch);
    }
    weir_err rc =
        m->at % 2 == 0 ? weir_writer_push(w, &m->batch) : weir_writer_finish(w);
    if (rc == WEIR_OK) {
        if (m->at % 2 == 0) {
            m->batch.release(&m->batch);
        }
        m->at++;
    }
    return rc;
}

static weir_err read_all(void *arg, uint64_t now_ns)
{
    weir_reader *r = arg;
    struct ArrowArray batch;
    (void)now_ns;
    weir_err rc = weir_reader_next(r, &batch);
    if (rc == WEIR_OK) {
        cr_assert_eq(batch.length, 1);
        batch.release(&batch);
    }
    return rc;
}

static void run_all(void)
{
    struct weir_error err = {0};
    for (uint32_t i = 0; i < NODES; i++) {
        cr_assert_eq(weir_sim_task(sim, i, 0, send_rows, &member[i]), WEIR_OK);
        for (uint32_t s = 0; s < SHUFFLES; s++) {
            cr_assert_eq(
                weir_sim_task(sim, i, 0, read_all, member[i].reader[s]),
                WEIR_OK);
        }
    }
    cr_assert_eq(weir_sim_run(sim, WEIR_FOREVER, &err), WEIR_OK, "%s",
                 err.message);
}

static void close_members(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t s = 0; s < SHUFFLES; s++) {
            weir_writer_close(member[i].writer[s]);
            weir_reader_close(member[i].reader[s]);
        }
        weir_query_close(member[i].query);
    }
    pass();
}

/* The first one has opened the links. */
static void run_first(void)
{
    open_member(0, 1);
    open_member(1, 1);
    run_all();
    close_members();
    memset(traffic, 0, sizeof(traffic));
}

/* ---- cases --------------------------------------------------------------- */

Test(together, what_a_node_opens_is_one_packet_to_each_other, .timeout = 60)
{
    open_sim(0);
    run_first();
    for (uint32_t i = 0; i < NODES; i++) {
        struct member *m = &member[i];
        struct wi_engine *e = &weir_sim_node(sim, i)->engine;
        open_shuffles(m, i, 2);
        open_writer(m, 0);
        open_reader(m, 0);
        open_writer(m, 1);
        cr_assert_eq(traffic[i].packets, 0);
        open_reader(m, 1);
        /* A worker of this node may wait for rows of another one that never
         * sleeps: nothing but a step opens the ring between them. */
        cr_assert_neq(wi_load_sc(&e->kick), 0, "a ring of its own");
        pass();
        cr_assert_eq(traffic[i].packets, 1);
        cr_assert_eq(traffic[i].of_type[WI_MSG_SHUFFLE], SHUFFLES);
        cr_assert_eq(traffic[i].of_type[WI_MSG_EDGE_OPEN], SHUFFLES);
    }
    run_all();
    close_members();
    weir_sim_close(sim);
}

static weir_err sleep_once(void *arg, uint64_t now_ns)
{
    uint32_t *calls = arg;
    (void)now_ns;
    return (*calls)++ == 0 ? WEIR_AGAIN : WEIR_DONE;
}

/* More could be opened, but its worker sleeps. */
Test(together, what_is_open_is_told_before_a_worker_sleeps, .timeout = 60)
{
    uint32_t calls = 0;
    open_sim(0);
    run_first();
    open_shuffles(&member[0], 0, 2);
    open_writer(&member[0], 0);
    cr_assert_eq(weir_sim_task(sim, 0, 0, sleep_once, &calls), WEIR_OK);
    pass();
    cr_assert_eq(traffic[0].packets, 1);
    cr_assert_eq(traffic[0].of_type[WI_MSG_EDGE_OPEN], 1);
    weir_query_close(member[0].query);
    weir_sim_close(sim);
}

/* Readers that have all their rows are closed sooner or later, with their
 * query. */
Test(together, ends_of_rings_leave_with_the_end_of_the_query, .timeout = 60)
{
    open_sim(0);
    run_first();
    open_member(0, 2);
    open_member(1, 2);
    run_all();
    pass();
    for (uint32_t i = 0; i < NODES; i++) {
        cr_assert_eq(traffic[i].of_type[WI_MSG_EDGE_CLOSED], 0);
        traffic[i].packets = 0;
    }
    close_members();
    for (uint32_t i = 0; i < NODES; i++) {
        cr_assert_eq(traffic[i].of_type[WI_MSG_EDGE_CLOSED], SHUFFLES);
        cr_assert_eq(traffic[i].of_type[WI_MSG_CLOSE], 1);
        cr_assert_eq(traffic[i].packets, 1, "%u", traffic[i].packets);
    }
    weir_sim_close(sim);
}

/* Where there are rings for these shuffles alone, others may wait for them. */
Test(together, ends_of_rings_leave_at_once_where_rings_are_few, .timeout = 60)
{
    open_sim(SHUFFLES);
    run_first();
    open_member(0, 2);
    open_member(1, 2);
    run_all();
    pass();
    for (uint32_t i = 0; i < NODES; i++) {
        cr_assert_eq(traffic[i].of_type[WI_MSG_EDGE_CLOSED], SHUFFLES);
    }
    close_members();
    weir_sim_close(sim);
}
