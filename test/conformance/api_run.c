/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a worker around its steps: order, ends, sleeps, time. On threads,
 * because it sleeps in weir_worker_wait. */
#include "test/conformance/api.h"

#include <string.h>

enum { BATCHES = 200, BATCH_ROWS = 97 };

#define DEADLINE_NS 20000000000ull

/* ---- two nodes that send to each other ----------------------------------- */

struct side {
    struct pair *pair;
    uint32_t self;
    weir_query *query;
    weir_writer *writer;
    weir_reader *reader;
    struct ArrowArray batch;
    uint32_t pushed;
    uint64_t rows;
    uint64_t batches;
    uint64_t vain; /* calls that moved nothing */
    weir_err end;
};

struct pair {
    struct wt_cluster c;
    struct ArrowSchema schema;
    struct side side[2];
};

static const struct weir_field fields[] = {{"id", "l", 0}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 1};

static weir_err send_step(void *arg)
{
    struct side *s = arg;
    weir_err rc = WEIR_OK;
    while (s->pushed < BATCHES && rc == WEIR_OK) {
        rc = weir_writer_push(s->writer, &s->batch);
        s->pushed += rc == WEIR_OK;
    }
    if (rc == WEIR_OK) {
        rc = weir_writer_finish(s->writer);
        rc = rc == WEIR_OK ? WEIR_DONE : rc;
    }
    return rc;
}

static weir_err receive_step(void *arg)
{
    struct side *s = arg;
    struct ArrowArray batch;
    weir_err rc = weir_reader_next(s->reader, &batch);
    if (rc == WEIR_OK) {
        s->rows += (uint64_t)batch.length;
        s->batches++;
        batch.release(&batch);
    }
    s->vain += rc == WEIR_AGAIN;
    return rc;
}

static void open_query(struct side *s, uint64_t id, weir_shuffle_to to)
{
    static const char *const key = "id";
    const struct weir_query_params q = {.id = id, .deadline_ns = DEADLINE_NS};
    const struct weir_shuffle_params params = {.id = 1,
                                               .schema = &s->pair->schema,
                                               .keys = &key,
                                               .n_keys = 1,
                                               .to = to};
    struct weir_error err = {0};
    weir_shuffle *shuffle;
    weir_err rc =
        weir_query_open(s->pair->c.node[s->self], &q, &s->query, &err);
    rc = rc != WEIR_OK ? rc
                       : weir_shuffle_open(s->query, &params, &shuffle, &err);
    rc = rc != WEIR_OK ? rc : weir_writer_open(shuffle, 0, &s->writer, &err);
    rc = rc != WEIR_OK ? rc : weir_reader_open(shuffle, 0, &s->reader, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
}

static void open_side(struct pair *p, uint32_t i)
{
    struct side *s = &p->side[i];
    s->pair = p;
    s->self = i;
    wt_rows_make(&rows, 1000 * i, BATCH_ROWS, &s->batch);
    open_query(s, 1, WEIR_TO_WORKER);
}

static void open_pair(struct pair *p, const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .node = {.frame_bytes = 1024, .ring_frames = 2}};
    struct weir_error err = {0};
    memset(p, 0, sizeof(*p));
    wt_cluster_open(&p->c, place, &cluster);
    cr_assert_eq(weir_schema_build(fields, 1, &p->schema, &err), WEIR_OK);
    open_side(p, 0);
    open_side(p, 1);
}

static void close_pair(struct pair *p)
{
    for (uint32_t i = 0; i < 2; i++) {
        weir_query_close(p->side[i].query);
        p->side[i].batch.release(&p->side[i].batch);
    }
    p->schema.release(&p->schema);
    wt_cluster_close(&p->c);
}

static void *run_side(void *arg)
{
    struct side *s = arg;
    struct weir_step steps[] = {{receive_step, s}, {send_step, s}};
    s->end =
        weir_worker_run(s->pair->c.node[s->self], 0, steps, 2, WEIR_FOREVER);
    return NULL;
}

/* Rings are tiny and full all the time: neither may wait for one of its steps
 * only, nor miss a wake-up. */
void wt_api_run_moves_both_ways(const struct wt_place *place)
{
    static struct pair p;
    pthread_t thread;
    open_pair(&p, place);
    cr_assert_eq(pthread_create(&thread, NULL, run_side, &p.side[1]), 0);
    (void)run_side(&p.side[0]);
    (void)pthread_join(thread, NULL);
    cr_assert_eq(p.side[0].end, WEIR_OK);
    cr_assert_eq(p.side[1].end, WEIR_OK);
    cr_assert_eq(p.side[0].rows + p.side[1].rows, 2 * BATCHES * BATCH_ROWS);
    close_pair(&p);
}

/* Queries of one batch, one after the other: rings open while their workers
 * look for rows. One that was seen before its query, and then after, was taken
 * for a ring of another kind, and its frames went to nobody. */
enum { QUERIES = WT_SLOW ? 500 : 10000 };

static void *run_many(void *arg)
{
    struct side *s = arg;
    for (uint64_t id = 2; id < 2 + QUERIES && s->end == WEIR_OK; id++) {
        open_query(s, id, WEIR_TO_NODE);
        s->pushed = BATCHES - 1;
        (void)run_side(s);
        weir_query_close(s->query);
    }
    return NULL;
}

void wt_api_run_many_queries_to_nodes(const struct wt_place *place)
{
    static struct pair p;
    pthread_t thread;
    open_pair(&p, place);
    for (uint32_t i = 0; i < 2; i++) {
        weir_query_close(p.side[i].query);
    }
    cr_assert_eq(pthread_create(&thread, NULL, run_many, &p.side[1]), 0);
    (void)run_many(&p.side[0]);
    (void)pthread_join(thread, NULL);
    cr_assert_eq(p.side[0].end, WEIR_OK);
    cr_assert_eq(p.side[1].end, WEIR_OK);
    cr_assert_eq(p.side[0].rows + p.side[1].rows, 2 * QUERIES * BATCH_ROWS);
    p.side[0].query = NULL;
    p.side[1].query = NULL;
    close_pair(&p);
}

static bool has_slept(void *arg)
{
    struct side *s = arg;
    struct weir_node_stats stats;
    weir_node_stats_get(s->pair->c.node[s->self], &stats);
    return stats.waits > 0;
}

/* Node 1 waits for rows that do not come (worker 0 of node 0 is the test's own
 * while it does): it sleeps. Each call in vain is followed by a sleep, or by
 * something that had happened meanwhile. */
void wt_api_run_sleeps_while_nothing_moves(const struct wt_place *place)
{
    static struct pair p;
    struct weir_node_stats stats;
    pthread_t thread;
    open_pair(&p, place);
    p.side[1].pushed = BATCHES; /* has nothing to send */
    cr_assert_eq(pthread_create(&thread, NULL, run_side, &p.side[1]), 0);
    cr_assert(wt_until(&p.c, has_slept, &p.side[1]));
    (void)run_side(&p.side[0]);
    (void)pthread_join(thread, NULL);
    cr_assert_eq(p.side[1].end, WEIR_OK);
    weir_node_stats_get(p.c.node[1], &stats);
    cr_assert_leq(p.side[1].vain, stats.waits + 2 * p.side[1].batches + 16);
    close_pair(&p);
}

void wt_api_run_ends_with_the_query(const struct wt_place *place)
{
    static struct pair p;
    pthread_t thread;
    open_pair(&p, place);
    cr_assert_eq(pthread_create(&thread, NULL, run_side, &p.side[1]), 0);
    cr_assert(wt_until(&p.c, has_slept, &p.side[1]));
    weir_query_cancel(p.side[0].query, NULL);
    (void)pthread_join(thread, NULL);
    cr_assert_eq(p.side[1].end, WEIR_ERR_CANCELLED);
    close_pair(&p);
}

/* ---- steps without rows -------------------------------------------------- */

struct relay {
    bool ready; /* what the first waits for */
    uint32_t calls;
};

static weir_err first_step(void *arg)
{
    struct relay *r = arg;
    r->calls++;
    return r->ready ? WEIR_DONE : WEIR_AGAIN;
}

static weir_err second_step(void *arg)
{
    struct relay *r = arg;
    r->ready = true;
    return WEIR_DONE;
}

static weir_err never_step(void *arg)
{
    struct relay *r = arg;
    r->calls++;
    return WEIR_AGAIN;
}

static weir_err held_step(void *arg)
{
    struct relay *r = arg;
    r->calls++;
    return WEIR_HELD;
}

static weir_err bad_step(void *arg)
{
    (void)arg;
    return WEIR_ERR_DATA;
}

/* The first had its turn when the second did what it waits for, and nothing
 * else will ever wake this worker. */
void wt_api_run_goes_on_after_a_step_has_ended(const struct wt_place *place)
{
    struct wt_cluster c;
    struct relay r = {.ready = false};
    struct weir_step steps[] = {{first_step, &r}, {second_step, &r}};
    wt_cluster_open(&c, place, NULL);
    cr_assert_eq(weir_worker_run(c.node[0], 0, steps, 2, WEIR_FOREVER),
                 WEIR_OK);
    cr_assert_eq(r.calls, 2);
    wt_cluster_close(&c);
}

void wt_api_run_is_left_in_time_and_taken_up_again(const struct wt_place *place)
{
    struct wt_cluster c;
    struct relay r = {.ready = false};
    struct weir_step steps[] = {{never_step, &r}, {second_step, &r}};
    wt_cluster_open(&c, place, NULL);
    cr_assert_eq(weir_worker_run(c.node[0], 0, steps, 2, 1000000), WEIR_AGAIN);
    cr_assert(r.ready && r.calls > 0);
    cr_assert(steps[1].fn == NULL && steps[0].fn == never_step);
    steps[0].fn = first_step;
    cr_assert_eq(weir_worker_run(c.node[0], 0, steps, 2, WEIR_FOREVER),
                 WEIR_OK);
    wt_cluster_close(&c);
}

void wt_api_run_ends_with_the_error_of_a_step(const struct wt_place *place)
{
    struct wt_cluster c;
    struct relay r = {.ready = false};
    struct weir_step steps[] = {{bad_step, &r}, {never_step, &r}};
    wt_cluster_open(&c, place, NULL);
    cr_assert_eq(weir_worker_run(c.node[0], 0, steps, 2, WEIR_FOREVER),
                 WEIR_ERR_DATA);
    cr_assert_eq(r.calls, 0);
    wt_cluster_close(&c);
}

/* It sleeps until the time is over, or is woken now and then. */
void wt_api_run_sleeps_while_a_step_holds_all(const struct wt_place *place)
{
    struct wt_cluster c;
    struct relay r = {.ready = false};
    struct weir_step steps[] = {{held_step, &r}};
    wt_cluster_open(&c, place, NULL);
    cr_assert_eq(weir_worker_run(c.node[0], 0, steps, 1, 20000000), WEIR_AGAIN);
    cr_assert_leq(r.calls, 16);
    wt_cluster_close(&c);
}
