/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs an engine: one process per node, one thread per worker, the phases in
 * lock step, and the check of what the workers report.
 */
#define _GNU_SOURCE 1
#include "bench/lib/plan.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/lib/keys.h"
#include "bench/lib/median.h"
#include "bench/lib/pin.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "launch/clock.h"
#include "launch/group.h"

#define MAX_NODES 256u
#define MAX_WORKERS 64u
#define MAX_ALL_WORKERS 1024u

/* What the timed runs took; in shared memory, written by process 0. */
struct record {
    struct wb_usage all;
    double seconds[WB_MAX_TIMES];
};

/* One run as each process sees it: everything points into shared memory or is
 * a copy made by fork. */
struct run {
    const struct wb_engine_ops *ops;
    struct wl_group *group;
    struct wb_node node;
    struct wb_board board;
    struct record *record;
    void *engine;
    bool warming;
};

/* One worker thread of one phase. */
struct thread {
    struct run *run;
    struct wb_worker worker;
    pthread_t id;
};

weir_err wb_no_step(void *engine, struct weir_error *err)
{
    (void)engine;
    (void)err;
    return WEIR_OK;
}

uint64_t wb_worker_rows(uint64_t rows, uint32_t workers, uint32_t worker)
{
    return rows / workers + (worker < rows % workers ? 1 : 0);
}

/* ---- the board ----------------------------------------------------------- */

static uint64_t edge_of(const struct wb_board *b, uint32_t stage,
                        uint32_t producer, uint32_t consumer)
{
    return b->edge[stage][(uint64_t)consumer * b->workers + producer];
}

static uint64_t sent_by(const struct wb_board *b, uint32_t stage,
                        uint32_t producer)
{
    uint64_t rows = 0;
    for (uint32_t c = 0; c < b->workers; c++) {
        rows += edge_of(b, stage, producer, c);
    }
    return rows;
}

static uint64_t got_by(const struct wb_board *b, uint32_t stage,
                       uint32_t consumer)
{
    uint64_t rows = 0;
    for (uint32_t p = 0; p < b->workers; p++) {
        rows += edge_of(b, stage, p, consumer);
    }
    return rows;
}

static weir_err check_worker(const struct wb_board *b, uint32_t w,
                             struct weir_error *err)
{
    const struct wb_tally *t = &b->tally[w];
    uint64_t sent[WB_STAGES] = {sent_by(b, 0, w), sent_by(b, 1, w)};
    uint64_t got[WB_STAGES] = {got_by(b, 0, w), got_by(b, 1, w)};
    if (sent[0] != t->made_rows) {
        return wi_fail(err, WEIR_ERR_INTEGRITY,
                       "worker %u made %" PRIu64 " rows, %" PRIu64
                       " of them arrived in stage 1",
                       w, t->made_rows, sent[0]);
    }
    if (sent[1] != got[0]) {
        return wi_fail(err, WEIR_ERR_INTEGRITY,
                       "worker %u received %" PRIu64
                       " rows in stage 1, %" PRIu64
                       " of them arrived in stage 2",
                       w, got[0], sent[1]);
    }
    if (got[1] != t->got_rows) {
        return wi_fail(err, WEIR_ERR_INTEGRITY,
                       "worker %u counted %" PRIu64 " rows, its edges %" PRIu64,
                       w, t->got_rows, got[1]);
    }
    return WEIR_OK;
}

weir_err wb_board_check(const struct wb_board *board, struct weir_error *err)
{
    struct wb_tally all = {.begin_ns = 0};
    for (uint32_t w = 0; w < board->workers; w++) {
        weir_err rc = check_worker(board, w, err);
        if (rc != WEIR_OK) {
            return rc;
        }
        all.made_rows += board->tally[w].made_rows;
        all.made_sum += board->tally[w].made_sum;
        all.got_rows += board->tally[w].got_rows;
        all.got_sum += board->tally[w].got_sum;
    }
    if (all.made_rows != board->rows || all.got_rows != board->rows) {
        return wi_fail(err, WEIR_ERR_INTEGRITY,
                       "%" PRIu64 " rows made and %" PRIu64
                       " received, must be %" PRIu64,
                       all.made_rows, all.got_rows, board->rows);
    }
    if (all.made_sum != all.got_sum) {
        return wi_fail(err, WEIR_ERR_INTEGRITY,
                       "values made sum to %016" PRIx64
                       ", received to %016" PRIx64,
                       all.made_sum, all.got_sum);
    }
    return WEIR_OK;
}

double wb_board_seconds(const struct wb_board *board)
{
    uint64_t begin_ns = UINT64_MAX;
    uint64_t end_ns = 0;
    for (uint32_t w = 0; w < board->workers; w++) {
        begin_ns = wi_min_u64(begin_ns, board->tally[w].begin_ns);
        end_ns = wi_max_u64(end_ns, board->tally[w].end_ns);
    }
    return (double)(end_ns - begin_ns) * 1e-9;
}

static void add_usage(const struct wb_board *board, struct wb_usage *all)
{
    for (uint32_t w = 0; w < board->workers; w++) {
        all->user_s += (double)board->tally[w].user_ns * 1e-9;
        all->sys_s += (double)board->tally[w].sys_ns * 1e-9;
        all->switches += (double)board->tally[w].switches;
    }
}

static size_t tally_bytes(uint32_t workers)
{
    return workers * sizeof(struct wb_tally);
}

static size_t edge_bytes(uint32_t workers)
{
    return (size_t)workers * workers * sizeof(uint64_t);
}

static size_t board_bytes(uint32_t workers)
{
    return tally_bytes(workers) + WB_STAGES * edge_bytes(workers);
}

static void board_clear(const struct wb_board *b, struct wb_worker *w)
{
    memset(w->tally, 0, sizeof(*w->tally));
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        w->edge[s] = b->edge[s] + (size_t)w->id * b->workers;
        memset(w->edge[s], 0, b->workers * sizeof(uint64_t));
    }
}

/* ---- one process --------------------------------------------------------- */

static void work_one(struct thread *t)
{
    struct run *r = t->run;
    struct weir_error err = {.code = WEIR_OK};
    board_clear(&r->board, &t->worker);
    wl_group_meet_threads(r->group);
    t->worker.tally->begin_ns = wl_now_ns();
    weir_err rc = r->ops->work(r->engine, &t->worker, &err);
    t->worker.tally->end_ns = wl_now_ns();
    if (rc != WEIR_OK) {
        /* Other threads of this process may wait for rows that will never
         * come, so the process ends here. */
        err.code = rc;
        wl_group_die(r->group, r->node.self, &err);
    }
}

static void *thread_main(void *arg)
{
    work_one(arg);
    return NULL;
}

/* What this process has used since `before`. */
static void put_usage(struct wb_tally *tally, const struct rusage *before)
{
    struct rusage now;
    (void)getrusage(RUSAGE_SELF, &now);
    tally->user_ns =
        wl_timeval_ns(&now.ru_utime) - wl_timeval_ns(&before->ru_utime);
    tally->sys_ns =
        wl_timeval_ns(&now.ru_stime) - wl_timeval_ns(&before->ru_stime);
    tally->switches = (uint64_t)(now.ru_nvcsw - before->ru_nvcsw) +
                      (uint64_t)(now.ru_nivcsw - before->ru_nivcsw);
}

static weir_err run_workers(struct run *r, uint64_t rows,
                            struct weir_error *err)
{
    uint32_t n = r->node.params.workers;
    struct wl_counter *counters = r->node.params.counters;
    struct thread threads[MAX_WORKERS];
    struct rusage before;
    (void)getrusage(RUSAGE_SELF, &before);
    for (uint32_t w = 0; w < n; w++) {
        uint32_t id = r->node.self * n + w;
        threads[w].run = r;
        threads[w].worker = (struct wb_worker){
            .id = id,
            .worker = w,
            .first_row = wb_first_row(id),
            .rows = wb_worker_rows(rows, n, w),
            .distinct = r->node.params.distinct,
            .row = r->node.params.row,
            .checks_values = r->warming,
            .tally = &r->board.tally[id],
            .counter = counters != NULL ? &counters[id] : NULL,
        };
    }
    for (uint32_t w = 1; w < n; w++) {
        int rc = pthread_create(&threads[w].id, NULL, thread_main, &threads[w]);
        if (rc != 0) {
            return wi_fail_errno(err, rc, "start worker %u", w);
        }
    }
    work_one(&threads[0]);
    for (uint32_t w = 1; w < n; w++) {
        (void)pthread_join(threads[w].id, NULL);
    }
    put_usage(threads[0].worker.tally, &before);
    return WEIR_OK;
}

static weir_err run_phase(struct run *r, uint64_t rows, struct weir_error *err)
{
    weir_err rc = r->ops->prepare(r->engine, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = run_workers(r, rows, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wl_group_meet(r->group);
    r->board.rows = rows * r->node.params.nodes;
    if (r->node.self == 0) {
        rc = wb_board_check(&r->board, err);
    }
    if (rc == WEIR_OK) {
        rc = r->ops->settle(r->engine, err);
    }
    return rc;
}

static weir_err run_phases(struct run *r, struct weir_error *err)
{
    wl_group_meet(r->group); /* all addresses are there */
    weir_err rc = r->ops->connect(r->engine, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wl_group_meet(r->group);
    uint64_t rows = r->node.params.rows_per_node;
    const uint32_t n = WB_WARM_UPS + r->node.params.times;
    for (uint32_t i = 0; i < n && rc == WEIR_OK; i++) {
        r->warming = i < WB_WARM_UPS;
        rc = run_phase(r, r->warming ? wi_min_u64(rows, WB_WARM_ROWS) : rows,
                       err);
        if (rc == WEIR_OK && r->node.self == 0 && !r->warming) {
            r->record->seconds[i - WB_WARM_UPS] = wb_board_seconds(&r->board);
            add_usage(&r->board, &r->record->all);
        }
        if (rc == WEIR_OK) {
            wl_group_meet(r->group); /* the board may be cleared again */
        }
    }
    return rc;
}

static weir_err member(struct wl_group *group, uint32_t self, void *arg,
                       struct weir_error *err)
{
    struct run *r = arg;
    r->node.self = self;
    if (r->node.params.pin) {
        weir_err rc = wb_pin(self, err);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    weir_err rc = r->ops->open(&r->node, &r->engine, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    r->group = group;
    rc = run_phases(r, err);
    r->ops->close(r->engine);
    return rc;
}

/* ---- the parent ---------------------------------------------------------- */

static weir_err check_params(const struct wb_plan_params *p,
                             struct weir_error *err)
{
    if (p->nodes == 0 || p->nodes > MAX_NODES) {
        return wi_fail(err, WEIR_ERR_ARG, "nodes is %u; must be 1..%u",
                       p->nodes, MAX_NODES);
    }
    if (p->workers == 0 || p->workers > MAX_WORKERS ||
        p->workers * p->nodes > MAX_ALL_WORKERS) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "workers is %u; must be 1..%u, and times nodes at most "
                       "%u",
                       p->workers, MAX_WORKERS, MAX_ALL_WORKERS);
    }
    if (p->rows_per_node == 0 || p->rows_per_node > UINT64_C(1) << 39) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "rows per node is %" PRIu64 "; must be 1..2^39",
                       p->rows_per_node);
    }
    if (p->times > WB_MAX_TIMES) {
        return wi_fail(err, WEIR_ERR_ARG, "times is %u; must be 1..%u",
                       p->times, WB_MAX_TIMES);
    }
    return WEIR_OK;
}

/* Shared memory: the tallies, the edges of both stages, the record, the
 * addresses. */
static void lay_out(struct run *r)
{
    uint32_t workers = r->node.params.nodes * r->node.params.workers;
    uint8_t *mem = wl_group_shared(r->group);
    r->board.workers = workers;
    r->board.tally = (struct wb_tally *)(void *)mem;
    mem += tally_bytes(workers);
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        r->board.edge[s] = (uint64_t *)(void *)mem;
        mem += edge_bytes(workers);
    }
    r->record = (struct record *)(void *)mem;
    mem += sizeof(*r->record);
    r->node.address = (char(*)[WL_ADDRESS_BYTES])(void *)mem;
}

/* CPU time of the processes that have ended. */
static double children_s(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_CHILDREN, &u);
    return (double)(wl_timeval_ns(&u.ru_utime) + wl_timeval_ns(&u.ru_stime)) *
           1e-9;
}

static struct wb_usage usage_of(const struct run *r, double spent_s)
{
    const struct wb_usage *all = &r->record->all;
    const double n = (double)r->node.params.times;
    return (struct wb_usage){.user_s = all->user_s / n,
                             .sys_s = all->sys_s / n,
                             .switches = all->switches / n,
                             .setup_s = spent_s - all->user_s - all->sys_s};
}

weir_err wb_plan_run(const struct wb_engine_ops *ops,
                     const struct wb_plan_params *params, double *seconds_out,
                     struct weir_error *err)
{
    static uint32_t runs; /* the caller has one thread */
    weir_err rc = check_params(params, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct run r = {.ops = ops, .node = {.params = *params, .run = ++runs}};
    r.node.params.times = wb_plan_times(params);
    uint32_t workers = params->nodes * params->workers;
    struct wl_group_params gp = {
        .members = params->nodes,
        .threads = workers,
        .shared_bytes = board_bytes(workers) + sizeof(struct record) +
                        params->nodes * WL_ADDRESS_BYTES,
        .timeout_ns = params->timeout_ns,
    };
    rc = wl_group_open(&gp, &r.group, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    lay_out(&r);
    double before_s = children_s();
    rc = wl_group_run(r.group, member, &r, err);
    if (rc == WEIR_OK) {
        *seconds_out =
            wb_spread_of(r.record->seconds, r.node.params.times).median;
        if (params->usage_out != NULL) {
            *params->usage_out = usage_of(&r, children_s() - before_s);
        }
    }
    wl_group_close(r.group);
    return rc;
}
