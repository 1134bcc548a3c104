/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short queries one after the other, each of another kind, on a thread per
 * worker: what opens, runs and ends meets at every point of time.
 *
 *   worker 0 of a node   opens query   |  works  |   closes it, the next
 *   the others                       waits     waits
 *
 * Nodes do not wait for one another. What a query is follows from its number:
 * shuffles, partitioning, to workers or to nodes, rows, how many of them are
 * pushed at a time, readers that stop, a member that cancels. Of those that end
 * well every row has come as often as it should. WEIR_TEST_SEED gives others.
 */
#include "test/conformance/api.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/base/atomic.h"

enum { NODES = 3, WORKERS = 2, SHUFFLES = 2, MOST_ROWS = 300 };

enum { QUERIES = WT_SLOW ? 200 : 1500 };

#define DEADLINE_NS 30000000000ull

static const struct weir_field fields[] = {{"id", "l", 0}, {"t", "u", 0}};
static const struct wt_rows spec = {.fields = fields, .n_fields = 2};

/* What a query is. */
struct kind {
    uint32_t n_shuffles;
    weir_partitioning partitioning[SHUFFLES];
    weir_shuffle_to to[SHUFFLES];
    uint32_t rows[SHUFFLES]; /* of each worker */
    uint32_t batch;          /* rows of a push */
    bool stops;              /* worker 0 of each node wants some rows only */
    bool cancels;            /* by node 0, after a few steps */
};

struct worker {
    struct row *row;
    uint32_t node;
    uint32_t worker;
    uint32_t steps;
    weir_writer *writer[SHUFFLES];
    weir_reader *reader[SHUFFLES];
    uint32_t pushed[SHUFFLES]; /* rows */
    uint64_t got[SHUFFLES];
    struct ArrowArray batch;
    bool holds; /* `batch` is not taken yet */
    bool sent[SHUFFLES];
    bool read[SHUFFLES];
};

struct sums {
    _Atomic uint64_t rows[SHUFFLES];
    _Atomic uint64_t ids[SHUFFLES];
    _Atomic uint32_t well; /* members */
};

struct row {
    struct wt_cluster c;
    struct ArrowSchema schema;
    uint64_t seed;
    weir_query *query[NODES];
    pthread_barrier_t meet[NODES];
    struct worker workers[NODES][WORKERS];
    struct seat {
        struct row *row;
        uint32_t node;
        uint32_t worker;
    } seat[NODES * WORKERS];
    struct sums sums[QUERIES + 1];
};

static struct kind kind_of(const struct row *r, uint64_t id)
{
    static const weir_partitioning of[] = {
        WEIR_HASH, WEIR_ROUND_ROBIN, WEIR_RANDOM, WEIR_BROADCAST, WEIR_GATHER};
    uint64_t m = wt_mix(r->seed, id);
    struct kind k = {.n_shuffles = 1 + (uint32_t)(m % SHUFFLES),
                     .batch = 1 + (uint32_t)(m >> 8 & 127),
                     .stops = (m >> 16 & 7) == 0,
                     .cancels = (m >> 20 & 15) == 0};
    for (uint32_t i = 0; i < SHUFFLES; i++) {
        uint64_t n = wt_mix(m, i);
        k.partitioning[i] = of[n % (sizeof(of) / sizeof(of[0]))];
        k.to[i] = (n >> 8 & 1) != 0 ? WEIR_TO_NODE : WEIR_TO_WORKER;
        k.rows[i] = (n >> 16 & 3) == 0 ? 0 : (uint32_t)(n >> 20) % MOST_ROWS;
    }
    return k;
}

/* ---- opening ------------------------------------------------------------- */

static bool reads(const struct kind *k, uint32_t i, uint32_t node,
                  uint32_t worker)
{
    return k->partitioning[i] != WEIR_GATHER || (node == 0 && worker == 0);
}

/* False: the query has failed already, as another member has cancelled it. */
static bool open_shuffle(struct row *r, uint32_t node, const struct kind *k,
                         uint32_t i)
{
    static const char *const key = "id";
    const struct weir_shuffle_params params = {
        .id = i + 1,
        .schema = &r->schema,
        .partitioning = k->partitioning[i],
        .keys = k->partitioning[i] == WEIR_HASH ? &key : NULL,
        .n_keys = k->partitioning[i] == WEIR_HASH,
        .to = k->to[i]};
    weir_shuffle *s = NULL;
    struct weir_error err = {0};
    weir_err rc = weir_shuffle_open(r->query[node], &params, &s, &err);
    for (uint32_t w = 0; w < WORKERS && rc == WEIR_OK; w++) {
        struct worker *me = &r->workers[node][w];
        rc = weir_writer_open(s, w, &me->writer[i], &err);
        if (rc == WEIR_OK && reads(k, i, node, w)) {
            rc = weir_reader_open(s, w, &me->reader[i], &err);
        }
    }
    cr_assert(rc == WEIR_OK || (k->cancels && rc == WEIR_ERR_CANCELLED), "%s",
              err.message);
    return rc == WEIR_OK;
}

static void open_query(struct row *r, uint32_t node, uint64_t id)
{
    const struct kind k = kind_of(r, id);
    const struct weir_query_params q = {.id = id, .deadline_ns = DEADLINE_NS};
    struct weir_error err = {0};
    weir_err rc = weir_query_open(r->c.node[node], &q, &r->query[node], &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    for (uint32_t w = 0; w < WORKERS; w++) {
        struct worker *me = &r->workers[node][w];
        *me = (struct worker){.row = r, .node = node, .worker = w};
    }
    for (uint32_t i = 0; i < k.n_shuffles; i++) {
        if (!open_shuffle(r, node, &k, i)) {
            break;
        }
    }
}

/* ---- working ------------------------------------------------------------- */

static uint64_t first_id(const struct worker *me, uint32_t i)
{
    return ((uint64_t)(me->node * WORKERS + me->worker) * SHUFFLES + i) *
           MOST_ROWS;
}

/* WEIR_OK: something moved. */
static weir_err send(struct worker *me, const struct kind *k, uint32_t i)
{
    uint32_t left = k->rows[i] - me->pushed[i];
    if (left == 0 && !me->holds) {
        weir_err rc = weir_writer_finish(me->writer[i]);
        me->sent[i] = rc == WEIR_OK;
        return rc;
    }
    uint32_t n = left < k->batch ? left : k->batch;
    if (!me->holds) {
        wt_rows_make(&spec, first_id(me, i) + me->pushed[i], n, &me->batch);
        me->holds = true;
    }
    weir_err rc = weir_writer_push(me->writer[i], &me->batch);
    if (rc != WEIR_AGAIN) {
        me->batch.release(&me->batch);
        me->holds = false;
        me->pushed[i] = rc == WEIR_DONE ? k->rows[i] : me->pushed[i] + n;
        rc = rc == WEIR_DONE ? WEIR_OK : rc;
    }
    return rc;
}

static weir_err receive(struct worker *me, const struct kind *k, uint64_t id,
                        uint32_t i)
{
    struct sums *sums = &me->row->sums[id];
    struct ArrowArray batch;
    weir_err rc = weir_reader_next(me->reader[i], &batch);
    if (rc == WEIR_OK) {
        uint64_t sum = 0;
        char why[WT_WHY_BYTES];
        for (int64_t at = 0; at < batch.length; at++) {
            sum += wt_rows_id(&batch, at);
            cr_assert(wt_rows_check(&spec, &batch, at, why), "%s", why);
        }
        me->got[i] += (uint64_t)batch.length;
        (void)wi_add_ar(&sums->rows[i], (uint64_t)batch.length);
        (void)wi_add_ar(&sums->ids[i], sum);
        batch.release(&batch);
        if (k->stops && me->worker == 0 && me->got[i] > 20) {
            weir_reader_stop(me->reader[i]);
        }
    }
    me->read[i] = rc == WEIR_DONE;
    return rc == WEIR_DONE ? WEIR_OK : rc;
}

/* A round over everything. WEIR_DONE: all of it has ended. */
static weir_err round_of(struct worker *me, const struct kind *k, uint64_t id)
{
    bool all = true;
    bool moved = false;
    for (uint32_t i = 0; i < k->n_shuffles; i++) {
        /* One batch at a time is on its way: of the first that is not sent. */
        bool mine = i == 0 || me->sent[i - 1];
        weir_err rc = me->sent[i] || !mine ? WEIR_AGAIN : send(me, k, i);
        moved = moved || rc == WEIR_OK;
        if (rc >= 0 && me->reader[i] != NULL && !me->read[i]) {
            rc = receive(me, k, id, i);
            moved = moved || rc == WEIR_OK;
        }
        if (rc < 0) {
            return rc;
        }
        all = all && me->sent[i] && (me->reader[i] == NULL || me->read[i]);
    }
    return all ? WEIR_DONE : moved ? WEIR_OK : WEIR_AGAIN;
}

static void work(struct worker *me, uint64_t id)
{
    struct row *r = me->row;
    const struct kind k = kind_of(r, id);
    weir_query *q = r->query[me->node];
    struct weir_error err = {0};
    weir_err rc = weir_query_status(q, &err);
    while (rc >= 0 && rc != WEIR_DONE) {
        rc = round_of(me, &k, id);
        if (k.cancels && me->node == 0 && ++me->steps == 3) {
            weir_query_cancel(q, "enough");
        }
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(r->c.node[me->node], me->worker,
                                   WEIR_FOREVER);
        }
    }
    if (me->holds) {
        me->batch.release(&me->batch);
    }
    if (rc < 0) {
        (void)weir_query_status(q, &err);
    }
    cr_assert(rc == WEIR_DONE || (k.cancels && err.code == WEIR_ERR_CANCELLED),
              "query %llu: %s", (unsigned long long)id, err.message);
}

static void *run_worker(void *arg)
{
    const struct seat *at = arg;
    struct row *r = at->row;
    const uint32_t node = at->node;
    const uint32_t worker = at->worker;
    for (uint64_t id = 1; id <= QUERIES; id++) {
        if (worker == 0) {
            open_query(r, node, id);
        }
        (void)pthread_barrier_wait(&r->meet[node]);
        work(&r->workers[node][worker], id);
        (void)pthread_barrier_wait(&r->meet[node]);
        if (worker == 0) {
            if (weir_query_status(r->query[node], NULL) == WEIR_OK) {
                (void)wi_add_ar(&r->sums[id].well, 1);
            }
            weir_query_close(r->query[node]);
        }
    }
    return NULL;
}

/* ---- what came ----------------------------------------------------------- */

static void check_query(const struct row *r, uint64_t id)
{
    const struct kind k = kind_of(r, id);
    const struct sums *s = &r->sums[id];
    bool well = wi_load_acq(&s->well) == NODES;
    cr_assert(well || k.cancels, "query %llu", (unsigned long long)id);
    for (uint32_t i = 0; i < k.n_shuffles && well && !k.stops; i++) {
        uint32_t copies = k.partitioning[i] != WEIR_BROADCAST ? 1
                          : k.to[i] == WEIR_TO_NODE           ? NODES
                                                              : NODES * WORKERS;
        uint64_t rows = (uint64_t)k.rows[i] * NODES * WORKERS;
        uint64_t ids = 0;
        for (uint32_t w = 0; w < NODES * WORKERS; w++) {
            uint64_t first = ((uint64_t)w * SHUFFLES + i) * MOST_ROWS;
            ids +=
                k.rows[i] * first + (uint64_t)k.rows[i] * (k.rows[i] - 1) / 2;
        }
        cr_assert_eq(wi_load_acq(&s->rows[i]), rows * copies,
                     "query %llu, shuffle %u", (unsigned long long)id, i + 1);
        cr_assert_eq(wi_load_acq(&s->ids[i]), ids * copies,
                     "query %llu, shuffle %u", (unsigned long long)id, i + 1);
    }
}

void wt_api_short_queries_of_all_kinds_in_a_row(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = NODES, .workers = WORKERS, .node = {.frame_bytes = 2048}};
    struct row *r = calloc(1, sizeof(*r));
    pthread_t thread[NODES * WORKERS];
    cr_assert_not_null(r);
    const char *seed = getenv("WEIR_TEST_SEED");
    r->seed = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    wt_cluster_open(&r->c, place, &cluster);
    wt_rows_schema(&spec, false, &r->schema);
    for (uint32_t i = 0; i < NODES; i++) {
        cr_assert_eq(pthread_barrier_init(&r->meet[i], NULL, WORKERS), 0);
    }
    for (uint32_t i = 0; i < NODES * WORKERS; i++) {
        r->seat[i] = (struct seat){r, i / WORKERS, i % WORKERS};
        cr_assert_eq(pthread_create(&thread[i], NULL, run_worker, &r->seat[i]),
                     0);
    }
    for (uint32_t i = 0; i < NODES * WORKERS; i++) {
        (void)pthread_join(thread[i], NULL);
    }
    for (uint64_t id = 1; id <= QUERIES; id++) {
        check_query(r, id);
    }
    r->schema.release(&r->schema);
    wt_cluster_close(&r->c);
    free(r);
}
