/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of runs, by the join of bench/plans: what operators hold stays within
 * what the run was given, and a program that follows the messages of runs that
 * had too little soon has enough.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/run.h>

#include "chbench/chbench.h"
#include "test/support/cluster.h"

enum {
    PLAN_BYTES = 1 << 14,
    /* With this little memory this many runs fail: the first names what
     * operators take when they open, every later one twice as much. */
    TOO_LITTLE_BYTES = 1 << 16,
    MOST_FAILURES = 6,
};

static const struct wt_place shm = {.transport = "shm"};

struct cluster {
    struct wt_cluster c;
    weir_plan *plan;
    uint64_t runs; /* so far: their ids */
};

/* One run, on every node. */
struct attempt {
    weir_run *run[WT_NODES];
    weir_err end[WT_NODES];
    struct weir_error err[WT_NODES];
    uint64_t rows;
};

static weir_plan *read_join(void)
{
    static char text[PLAN_BYTES];
    struct weir_error err = {0};
    weir_plan *plan = NULL;
    FILE *from = fopen(WEIR_SOURCE_DIR "/bench/plans/join.json", "re");
    cr_assert_not_null(from);
    const size_t n = fread(text, 1, sizeof(text), from);
    (void)fclose(from);
    cr_assert_lt(n, sizeof(text));
    cr_assert_eq(weir_plan_read(text, n, &ch_params, &plan, &err), WEIR_OK,
                 "%s", err.message);
    return plan;
}

static void open_cluster(struct cluster *t, uint32_t nodes, uint32_t workers)
{
    *t = (struct cluster){.plan = read_join()};
    const struct wt_cluster_params params = {
        .nodes = nodes,
        .workers = workers,
        .node = {.max_shuffles = weir_run_shuffles(t->plan)}};
    wt_cluster_open(&t->c, &shm, &params);
}

static void close_cluster(struct cluster *t)
{
    wt_cluster_close(&t->c);
    weir_plan_close(t->plan);
}

static weir_err count_rows(void *arg, const struct ArrowArray *batch,
                           struct weir_error *err)
{
    (void)err;
    *(uint64_t *)arg += (uint64_t)batch->length;
    return WEIR_OK;
}

static void *wait_for_run(void *run)
{
    return (void *)(intptr_t)weir_run_wait(run, NULL);
}

static void run_join(struct cluster *t, uint64_t memory_bytes,
                     struct attempt *a)
{
    pthread_t thread[WT_NODES];
    *a = (struct attempt){0};
    const struct weir_run_params params = {.query_id = ++t->runs,
                                           .memory_bytes = memory_bytes,
                                           .rows = count_rows,
                                           .rows_arg = &a->rows};
    for (uint32_t i = 0; i < t->c.n_nodes; i++) {
        cr_assert_eq(weir_run_open(t->c.node[i], t->plan, &params, &a->run[i],
                                   &a->err[i]),
                     WEIR_OK, "%s", a->err[i].message);
    }
    for (uint32_t i = 0; i < t->c.n_nodes; i++) {
        cr_assert_eq(pthread_create(&thread[i], NULL, wait_for_run, a->run[i]),
                     0);
    }
    for (uint32_t i = 0; i < t->c.n_nodes; i++) {
        (void)pthread_join(thread[i], NULL);
        a->end[i] = weir_run_status(a->run[i], &a->err[i]);
    }
}

static void close_runs(struct cluster *t, struct attempt *a)
{
    for (uint32_t i = 0; i < t->c.n_nodes; i++) {
        weir_run_close(a->run[i]);
    }
}

/* Too little, everywhere with the same message. Returns what it names. */
static uint64_t named_bytes(const struct cluster *t, const struct attempt *a)
{
    static const char raise[] = "raise it to ";
    const char *message = a->err[0].message;
    for (uint32_t i = 0; i < t->c.n_nodes; i++) {
        cr_assert_eq(a->end[i], WEIR_ERR_QUERY_MEMORY, "%s", a->err[i].message);
        cr_assert_str_eq(a->err[i].message, message);
    }
    const char *at = strstr(message, raise);
    cr_assert_not_null(at, "%s", message);
    return strtoull(at + sizeof(raise) - 1, NULL, 10);
}

/* Give each run what the one before named. Returns what was enough. */
static uint64_t follow_messages(struct cluster *t)
{
    uint64_t memory = TOO_LITTLE_BYTES;
    struct attempt a;
    run_join(t, memory, &a);
    for (uint32_t failures = 1; a.end[0] != WEIR_OK; failures++) {
        const uint64_t named = named_bytes(t, &a);
        const bool at_open =
            strstr(a.err[0].message, "before there are rows") != NULL;
        cr_assert_eq(at_open, failures == 1, "run %u: %s", failures,
                     a.err[0].message);
        cr_assert_geq(named, at_open ? memory + 1 : 2 * memory, "%s",
                      a.err[0].message);
        cr_assert_leq(failures, (uint32_t)MOST_FAILURES, "%s",
                      a.err[0].message);
        close_runs(t, &a);
        memory = named;
        run_join(t, memory, &a);
    }
    cr_assert_gt(a.rows, 0);
    close_runs(t, &a);
    return memory;
}

static void check_shape(uint32_t nodes, uint32_t workers)
{
    struct cluster t;
    open_cluster(&t, nodes, workers);
    (void)follow_messages(&t);
    close_cluster(&t);
}

Test(run_memory, a_run_with_what_the_last_one_named_soon_has_enough,
     .timeout = 200)
{
    check_shape(2, 1);
    check_shape(8, 1);
    check_shape(2, 2);
}

/* One byte less than what opening takes is refused, so the check counts what
 * is there. */
Test(run_memory, what_opening_takes_is_known_to_the_byte, .timeout = 200)
{
    struct cluster t;
    struct attempt a;
    open_cluster(&t, 3, 2);
    run_join(&t, TOO_LITTLE_BYTES, &a);
    const uint64_t named = named_bytes(&t, &a);
    close_runs(&t, &a);
    run_join(&t, named - 1, &a);
    cr_assert_not_null(strstr(a.err[0].message, "before there are rows"));
    close_runs(&t, &a);
    run_join(&t, named, &a);
    cr_assert_null(strstr(a.err[0].message, "before there are rows"), "%s",
                   a.err[0].message);
    close_runs(&t, &a);
    close_cluster(&t);
}

Test(run_memory, operators_of_8_nodes_stay_within_it, .timeout = 200)
{
    struct cluster t;
    struct attempt a;
    open_cluster(&t, 8, 1);
    const uint64_t memory = follow_messages(&t);
    run_join(&t, memory, &a);
    for (uint32_t i = 0; i < t.c.n_nodes; i++) {
        uint64_t sum = 0;
        struct weir_op_stats op;
        cr_assert_eq(a.end[i], WEIR_OK, "%s", a.err[i].message);
        for (uint32_t k = 0; weir_run_stats(a.run[i], k, &op) == WEIR_OK; k++) {
            sum += op.memory_bytes;
        }
        cr_assert_gt(sum, 0);
        cr_assert_leq(sum, memory, "node %u held %llu bytes", i,
                      (unsigned long long)sum);
    }
    close_runs(&t, &a);
    close_cluster(&t);
}
