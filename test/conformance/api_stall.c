/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that take nothing for a while. Nodes are stepped by hand, so that it is
 * known who had a turn and how many it took. */
#include "test/conformance/api.h"

#include <string.h>
#include <time.h>

/* Two nodes, each with a shuffle to the other. */
struct pair {
    struct wt_cluster c;
    struct ArrowSchema schema;
    weir_query *query[2];
    weir_writer *writer[2];   /* to the other node */
    weir_reader *reader[2];   /* from the other node */
    struct ArrowArray out[2]; /* not taken yet */
    struct ArrowArray batch;
};

static const struct weir_field fields[] = {{"id", "l", 0}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 1};

static weir_err step(weir_node *node)
{
    struct timespec t;
    uint64_t next;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return weir_node_step(
        node, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, &next);
}

static void open_ends(struct pair *p, uint32_t node, uint32_t from)
{
    const uint32_t to = 1 - from;
    const struct weir_shuffle_params params =
        wt_way(from + 1, &p->schema, &from, &to);
    struct weir_error err = {0};
    weir_shuffle *s;
    weir_err rc = weir_shuffle_open(p->query[node], &params, &s, &err);
    if (rc == WEIR_OK) {
        rc = node == from ? weir_writer_open(s, 0, &p->writer[node], &err)
                          : weir_reader_open(s, 0, &p->reader[node], &err);
    }
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
}

/* Rings hold more than the buffers between two nodes. */
static void open_pair(struct pair *p, const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .apart = true,
        .node = {.manual = 1,
                 .max_shuffles = 2,
                 .frame_bytes = 1 << 20,
                 .ring_frames = 16,
                 .detect_ns = 60000000000u,
                 .connect_ns = 60000000000u}};
    const struct weir_query_params params = {.id = 1};
    struct weir_error err = {0};
    memset(p, 0, sizeof(*p));
    wt_cluster_open(&p->c, place, &cluster);
    wt_cluster_join(&p->c);
    cr_assert_eq(weir_schema_build(fields, 1, &p->schema, &err), WEIR_OK);
    for (uint32_t i = 0; i < 2; i++) {
        (void)step(p->c.node[i]); /* tells it the time */
        cr_assert_eq(weir_query_open(p->c.node[i], &params, &p->query[i], &err),
                     WEIR_OK, "%s", err.message);
        open_ends(p, i, 0);
        open_ends(p, i, 1);
    }
}

static void close_pair(struct pair *p)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (p->out[i].release != NULL) {
            p->out[i].release(&p->out[i]);
        }
        weir_query_close(p->query[i]);
    }
    p->schema.release(&p->schema);
    wt_cluster_close(&p->c);
}

/* After WEIR_AGAIN it is the same batch that is pushed again. */
static weir_err push(struct pair *p, uint32_t node)
{
    struct ArrowArray *batch = &p->out[node];
    if (batch->release == NULL) {
        wt_rows_make(&rows, 0, 8192, batch);
    }
    weir_err rc = weir_writer_push(p->writer[node], batch);
    if (rc == WEIR_OK) {
        batch->release(batch);
    }
    return rc;
}

static bool pushed(struct pair *p, uint32_t node)
{
    (void)step(p->c.node[0]);
    (void)step(p->c.node[1]);
    return push(p, node) == WEIR_OK;
}

static bool node_0_pushed(void *arg)
{
    return pushed(arg, 0);
}

static bool node_1_pushed(void *arg)
{
    return pushed(arg, 1);
}

static bool batch_comes(void *arg)
{
    struct pair *p = arg;
    (void)step(p->c.node[0]);
    (void)step(p->c.node[1]);
    return weir_reader_next(p->reader[0], &p->batch) == WEIR_OK;
}

static bool end_comes(void *arg)
{
    struct pair *p = arg;
    (void)step(p->c.node[0]);
    return weir_reader_next(p->reader[0], &p->batch) == WEIR_DONE;
}

/* Messages of node 0 that its transport, which is full, cannot take. */
static void say_much(struct pair *p)
{
    struct weir_error err = {0};
    weir_query *q;
    for (uint64_t id = 2; id < 500; id++) {
        const struct weir_query_params params = {.id = id};
        cr_assert_eq(weir_query_open(p->c.node[0], &params, &q, &err), WEIR_OK,
                     "%s", err.message);
        weir_query_cancel(q, NULL);
        weir_query_close(q);
    }
}

/* Node 1 takes nothing while node 0 has a credit for it: what waits for that
 * keeps node 0's network thread from no sleep. */
void wt_api_node_rests_while_its_peer_takes_nothing(
    const struct wt_place *place)
{
    struct pair p;
    uint32_t steps = 0;
    open_pair(&p, place);
    cr_assert(wt_until(&p.c, node_0_pushed, &p));
    cr_assert(wt_until(&p.c, node_1_pushed, &p));
    cr_assert_eq(weir_writer_flush(p.writer[1]), WEIR_OK);
    cr_assert(wt_until(&p.c, batch_comes, &p));
    while (push(&p, 0) == WEIR_OK) {
    }
    say_much(&p);
    weir_err rc;
    do { /* a ring may begin with small frames */
        p.batch.release(&p.batch);
        rc = weir_reader_next(p.reader[0], &p.batch);
    } while (rc == WEIR_OK);
    cr_assert_eq(rc, WEIR_AGAIN);
    while (weir_worker_wait(p.c.node[0], 0, 0) == WEIR_OK) {
    } /* at rest it has paid the credit */
    cr_assert_eq(weir_writer_finish(p.writer[1]), WEIR_OK);
    cr_assert(wt_until(&p.c, end_comes, &p));
    weir_query_close(p.query[0]);
    p.query[0] = NULL;
    while (step(p.c.node[0]) == WEIR_OK && steps < 1000) {
        steps++;
    }
    cr_assert_lt(steps, 1000);
    close_pair(&p);
}
