/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that the program itself finds (weir_query_fail): every member fails
 * with the same code and the same message, whoever found one and when. */
#include "test/conformance/api.h"

#include <stdio.h>
#include <string.h>

static void fail_on(struct wt_query *q, uint32_t node)
{
    struct weir_error cause = {.code = WEIR_ERR_QUERY_DATA};
    (void)snprintf(cause.message, sizeof(cause.message),
                   "row %u: division by zero", node);
    cr_expect_eq(weir_query_fail(q->query[node], &cause), WEIR_OK);
}

/* All have the same message, which is that of one member. */
static void check_same(const struct wt_query *q, uint32_t member)
{
    char want[128];
    struct weir_error err = {0};
    (void)snprintf(want, sizeof(want), "%s: row %u: division by zero",
                   q->cluster->name[member], member);
    for (uint32_t i = 0; i < q->cluster->n_nodes; i++) {
        if (q->query[i] != NULL) {
            cr_assert_eq(weir_query_status(q->query[i], &err),
                         WEIR_ERR_QUERY_DATA);
            cr_assert_str_eq(err.message, want, "node %u", i);
        }
    }
}

struct fault {
    struct wt_query *q;
    uint32_t node;
    bool found;
};

/* Finds a fault, then waits for the query to fail, as an operator would. */
static weir_err fault_step(void *arg)
{
    struct fault *f = arg;
    weir_err rc = weir_query_status(f->q->query[f->node], NULL);
    if (!f->found) {
        fail_on(f->q, f->node);
        f->found = true;
        return WEIR_OK;
    }
    return rc == WEIR_OK ? WEIR_AGAIN : rc;
}

static void fault_by(const struct wt_place *place, uint32_t node)
{
    struct fault fault = {.node = node};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, place, &(struct wt_cluster_params){.nodes = 3});
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, NULL);
    f.source[node][0]->task->end = WEIR_DONE; /* never pushes */
    fault.q = &q;
    (void)wt_task(&c, node, 0, fault_step, &fault);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(f.sink[i][0]->task->end, WEIR_ERR_QUERY_DATA);
    }
    check_same(&q, node);
    wt_query_close(&q);
    wt_flow_close(&f);
    wt_cluster_close(&c);
}

void wt_api_fault_of_the_program_fails_all(const struct wt_place *place)
{
    for (uint32_t node = 0; node < 3; node++) {
        fault_by(place, node);
    }
}

/* One member opens, finds a fault, and closes or stays, before the others open
 * in this order. */
static void fault_early(const struct wt_place *place, const uint32_t *order,
                        bool closes)
{
    const struct weir_query_params params = {.id = 9};
    struct wt_cluster c;
    struct wt_query q = {.cluster = &c};
    struct weir_error err = {0};
    wt_cluster_open(&c, place, &(struct wt_cluster_params){.nodes = 3});
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t n = order[i];
        cr_assert_eq(weir_query_open(c.node[n], &params, &q.query[n], &err),
                     WEIR_OK, "%s", err.message);
        if (i == 0) {
            fail_on(&q, n);
        }
        if (i == 0 && closes) {
            weir_query_close(q.query[n]);
            q.query[n] = NULL;
        }
    }
    bool failed = wt_until(&c, wt_query_has_failed, &q);
    cr_assert(failed, "%u first", order[0]);
    check_same(&q, order[0]);
    wt_query_close(&q);
    wt_cluster_close(&c);
}

void wt_api_fault_before_others_open(const struct wt_place *place)
{
    static const uint32_t orders[][3] = {
        {0, 1, 2}, {2, 1, 0}, {2, 0, 1}, {1, 2, 0}};
    for (int i = 0; i < 8; i++) {
        fault_early(place, orders[i / 2], i % 2 != 0);
    }
}

static weir_err status_step(void *arg)
{
    const struct fault *f = arg;
    weir_err rc = weir_query_status(f->q->query[f->node], NULL);
    return rc == WEIR_OK ? WEIR_AGAIN : rc;
}

/* Every member but one finds a fault of its own at the same time. */
static void faults(const struct wt_place *place, uint32_t without)
{
    struct fault fault[5];
    struct wt_cluster c;
    struct wt_query q;
    struct weir_error err = {0};
    wt_cluster_open(&c, place, &(struct wt_cluster_params){.nodes = 5});
    wt_query_open(&q, &c, 1, NULL);
    for (uint32_t i = 0; i < 5; i++) {
        fault[i] = (struct fault){.q = &q, .node = i};
        (void)wt_task(&c, i, 0, i == without ? status_step : fault_step,
                      &fault[i]);
    }
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    cr_assert_eq(weir_query_status(q.query[0], &err), WEIR_ERR_QUERY_DATA);
    uint32_t member = 0;
    while (member < 5 &&
           strncmp(err.message, c.name[member], strlen(c.name[member])) != 0) {
        member++;
    }
    cr_assert(member < 5 && member != without, "%s", err.message);
    check_same(&q, member);
    wt_query_close(&q);
    wt_cluster_close(&c);
}

void wt_api_faults_of_all_members_become_one(const struct wt_place *place)
{
    for (uint32_t without = 0; without < 5; without++) {
        faults(place, without);
    }
}

void wt_api_fault_of_another_scope_is_refused(const struct wt_place *place)
{
    static const weir_err codes[] = {WEIR_OK, WEIR_ERR_DATA, WEIR_ERR_PEER_LOST,
                                     WEIR_ERR_NODE};
    struct weir_error cause = {.message = "no"};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, place, NULL);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, NULL);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        cause.code = codes[i];
        cr_assert_eq(weir_query_fail(q.query[1], &cause), WEIR_ERR_ARG);
    }
    wt_flow_end(&f);
}
