/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes hold stays within the plan that they printed at open: real
 * processes up to 64, and 1,024 simulated nodes where one has 1,023 links, or
 * where each has a few.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

#include "bench/lib/idle.h"

/* ---- processes ----------------------------------------------------------- */

/* Pages beside buffers: code, stacks, heap, the transport's packets. */
enum { OTHER_BYTES = 12 << 20 };

static void processes(const char *transport, uint32_t nodes, uint64_t rows,
                      uint32_t frame_bytes)
{
    struct wb_idle_params p = {.transport = transport,
                               .nodes = nodes,
                               .rows = rows,
                               .frame_bytes = frame_bytes};
    struct wb_idle r;
    struct weir_error err = {0};
    cr_assert_eq(wb_idle_run(&p, &r, &err), WEIR_OK, "%s", err.message);
    cr_assert_gt(r.peak_bytes, 0);
    cr_assert_leq(r.peak_bytes, r.plan_bytes, "%llu bytes held; plan: %s",
                  (unsigned long long)r.peak_bytes, r.plan);
    cr_assert_leq(r.peak_bytes, r.cap_bytes);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    /* Over shm the peers' areas are mapped, and so counted, too. */
    uint64_t most = 2 * r.plan_bytes + OTHER_BYTES;
    cr_assert_leq(r.rss_bytes, most, "grew by %llu bytes; plan: %s",
                  (unsigned long long)r.rss_bytes, r.plan);
#endif
}

Test(memory_plan, shm_2, .timeout = 90)
{
    processes("shm", 2, 200000, 0);
}

Test(memory_plan, tcp_2, .timeout = 90)
{
    processes("tcp", 2, 200000, 0);
}

Test(memory_plan, shm_8, .timeout = 90)
{
    processes("shm", 8, 100000, 0);
}

Test(memory_plan, tcp_8, .timeout = 90)
{
    processes("tcp", 8, 100000, 0);
}

Test(memory_plan, shm_64, .timeout = 90)
{
    processes("shm", 64, 640, 1024);
}

/* ---- 1,024 simulated nodes ----------------------------------------------- */

enum { NODES = 1024, PEERS = 4, ROWS = 40 };

struct end {
    weir_query *query;
    weir_writer *writer; /* NULL: this member does not produce */
    weir_reader *reader; /* NULL: does not consume */
    uint64_t made;
    uint64_t got;
    bool written;
    bool read;
    struct ArrowArray column;
    struct ArrowArray batch;
    struct ArrowArray *children[1];
    const void *column_buffers[2];
    const void *buffers[1];
    int64_t keys[ROWS];
};

static void release_nothing(struct ArrowArray *a)
{
    a->release = NULL;
}

static void lay_out(struct end *e)
{
    e->children[0] = &e->column;
    e->column_buffers[1] = e->keys;
    e->column = (struct ArrowArray){.length = ROWS,
                                    .n_buffers = 2,
                                    .buffers = e->column_buffers,
                                    .release = release_nothing};
    e->batch = (struct ArrowArray){.length = ROWS,
                                   .n_buffers = 1,
                                   .n_children = 1,
                                   .buffers = e->buffers,
                                   .children = e->children,
                                   .release = release_nothing};
}

static weir_err step_read(struct end *e)
{
    struct ArrowArray b;
    weir_err rc = e->read ? WEIR_AGAIN : weir_reader_next(e->reader, &b);
    if (rc == WEIR_OK) {
        e->got += (uint64_t)b.length;
        b.release(&b);
    }
    e->read = e->read || rc == WEIR_DONE;
    return rc == WEIR_DONE ? WEIR_OK : rc;
}

static weir_err step(void *arg, uint64_t now_ns)
{
    struct end *e = arg;
    (void)now_ns;
    if (e->read && e->written) {
        return WEIR_DONE;
    }
    weir_err rc = step_read(e);
    if (rc != WEIR_AGAIN || e->written) {
        return rc;
    }
    if (e->made == 0) {
        rc = weir_writer_push(e->writer, &e->batch);
        e->made = rc == WEIR_OK ? ROWS : 0;
        return rc;
    }
    rc = weir_writer_finish(e->writer);
    e->written = rc == WEIR_OK;
    return rc;
}

static void open_end(struct end *e, weir_node *node, uint64_t id,
                     const uint32_t *members, uint32_t n_members,
                     struct weir_shuffle_params params)
{
    struct weir_error err = {0};
    weir_shuffle *s = NULL;
    struct weir_query_params q = {
        .id = id, .members = members, .n_members = n_members};
    lay_out(e);
    cr_assert_eq(weir_query_open(node, &q, &e->query, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_shuffle_open(e->query, &params, &s, &err), WEIR_OK, "%s",
                 err.message);
    uint32_t self = weir_node_self(node);
    e->written = params.n_producers != 0 && params.producers[0] != self;
    e->read = params.n_consumers != 0 && params.consumers[0] != self;
    if (!e->written) {
        cr_assert_eq(weir_writer_open(s, 0, &e->writer, &err), WEIR_OK, "%s",
                     err.message);
    }
    if (!e->read) {
        cr_assert_eq(weir_reader_open(s, 0, &e->reader, &err), WEIR_OK, "%s",
                     err.message);
    }
}

static weir_sim *open_sim(void)
{
    struct weir_sim_params p = {
        .nodes = NODES,
        .node = {.frame_bytes = 1024, .ring_frames = 2, .max_shuffles = 8}};
    weir_sim *sim = NULL;
    struct weir_error err = {0};
    cr_assert_eq(weir_sim_open(&p, &sim, &err), WEIR_OK, "%s", err.message);
    return sim;
}

static struct weir_shuffle_params shuffle(const struct ArrowSchema *schema,
                                          weir_partitioning kind)
{
    return (struct weir_shuffle_params){
        .id = 1, .schema = schema, .partitioning = kind};
}

static void check_and_close(weir_sim *sim, struct end *ends, uint32_t n,
                            uint64_t rows)
{
    uint64_t got = 0;
    struct weir_error err = {0};
    cr_assert_eq(weir_sim_run(sim, WEIR_FOREVER, &err), WEIR_OK, "%s",
                 err.message);
    for (uint32_t i = 0; i < n; i++) {
        got += ends[i].got;
        weir_query_close(ends[i].query);
    }
    cr_assert_eq(got, rows, "%llu rows of %llu", (unsigned long long)got,
                 (unsigned long long)rows);
    for (uint32_t i = 0; i < NODES; i++) {
        struct weir_node_stats s;
        weir_node *node = weir_sim_node(sim, i);
        const char *sum = strstr(weir_node_plan(node), " = ");
        cr_assert_neq(sum, NULL);
        double mib = strtod(sum + 3, NULL) + 0.05; /* printed with one digit */
        weir_node_stats_get(node, &s);
        cr_assert_leq((double)s.memory_peak_bytes, mib * 1048576, "node %u: %s",
                      i, weir_node_plan(node));
        cr_assert_leq(s.memory_peak_bytes, s.memory_cap_bytes);
    }
    weir_sim_close(sim);
    free(ends);
}

/* Everybody to one, or one to everybody: 1,023 links on that one. */
static void star(weir_partitioning kind)
{
    static const struct weir_field field = {.name = "key", .format = "l"};
    static const uint32_t centre[] = {0};
    struct ArrowSchema schema;
    struct end *ends = calloc(NODES, sizeof(*ends));
    weir_sim *sim = open_sim();
    cr_assert_neq(ends, NULL);
    cr_assert_eq(weir_schema_build(&field, 1, &schema, NULL), WEIR_OK);
    struct weir_shuffle_params params = shuffle(&schema, kind);
    if (kind == WEIR_GATHER) {
        params.consumers = centre;
        params.n_consumers = 1;
    } else {
        params.producers = centre;
        params.n_producers = 1;
    }
    for (uint32_t i = 0; i < NODES; i++) {
        open_end(&ends[i], weir_sim_node(sim, i), 1, NULL, 0, params);
        cr_assert_eq(weir_sim_task(sim, i, 0, step, &ends[i]), WEIR_OK);
    }
    schema.release(&schema);
    check_and_close(sim, ends, NODES, (uint64_t)NODES * ROWS);
}

Test(memory_plan, sim_1024_gather, .timeout = 280)
{
    star(WEIR_GATHER);
}

Test(memory_plan, sim_1024_broadcast, .timeout = 280)
{
    star(WEIR_BROADCAST);
}

/* Queries of a few members each, chosen at random (a fixed seed). */
Test(memory_plan, sim_1024_sparse, .timeout = 280)
{
    static const struct weir_field field = {.name = "key", .format = "l"};
    static const char *const keys[] = {"key"};
    struct ArrowSchema schema;
    struct end *ends = calloc(NODES, sizeof(*ends));
    weir_sim *sim = open_sim();
    uint64_t random = 12345;
    cr_assert_neq(ends, NULL);
    cr_assert_eq(weir_schema_build(&field, 1, &schema, NULL), WEIR_OK);
    struct weir_shuffle_params params = shuffle(&schema, WEIR_HASH);
    params.keys = keys;
    params.n_keys = 1;
    for (uint32_t k = 0; k < NODES / PEERS; k++) {
        uint32_t members[PEERS];
        for (uint32_t i = 0; i < PEERS; i++) { /* one of each quarter */
            random = random * 6364136223846793005u + 1442695040888963407u;
            members[i] = i * (NODES / PEERS) +
                         (uint32_t)(random >> 33) % (NODES / PEERS);
        }
        for (uint32_t i = 0; i < PEERS; i++) {
            struct end *e = &ends[k * PEERS + i];
            open_end(e, weir_sim_node(sim, members[i]), k + 1, members, PEERS,
                     params);
            cr_assert_eq(weir_sim_task(sim, members[i], 0, step, e), WEIR_OK);
        }
    }
    schema.release(&schema);
    check_and_close(sim, ends, NODES, (uint64_t)NODES * ROWS);
}
