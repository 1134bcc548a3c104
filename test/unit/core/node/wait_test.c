/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <pthread.h>

#include "core/base/futex.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/link/worker.h"
#include "test/support/cluster.h"
#include "test/support/rows.h"

/* One node; its worker 0 sends to its worker 1. */
struct pair {
    struct wt_cluster c;
    struct ArrowSchema schema;
    weir_query *query;
    weir_writer *writer;
    weir_reader *reader;
    _Atomic bool over;
};

static const struct weir_field fields[] = {{"id", "l", 0}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 1};

static void open_pair(struct pair *p)
{
    static const struct wt_place place = {.transport = "tcp"};
    const struct wt_cluster_params cluster = {.nodes = 1, .workers = 2};
    const struct weir_query_params query = {.id = 1};
    struct weir_shuffle_params params = {
        .id = 1, .partitioning = WEIR_VECTOR, .producer_workers = 1};
    struct weir_error err = {0};
    weir_shuffle *s;
    weir_reader *other;
    wt_cluster_open(&p->c, &place, &cluster);
    cr_assert_eq(weir_schema_build(fields, 1, &p->schema, &err), WEIR_OK);
    params.schema = &p->schema;
    cr_assert_eq(weir_query_open(p->c.node[0], &query, &p->query, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_shuffle_open(p->query, &params, &s, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_writer_open(s, 0, &p->writer, &err), WEIR_OK);
    cr_assert_eq(weir_reader_open(s, 0, &other, &err), WEIR_OK);
    cr_assert_eq(weir_reader_open(s, 1, &p->reader, &err), WEIR_OK);
}

static void push_row(struct pair *p)
{
    static const uint32_t dest = 1;
    struct ArrowArray batch;
    wt_rows_make(&rows, 0, 1, &batch);
    weir_err rc;
    while ((rc = weir_writer_push_to(p->writer, &batch, &dest)) == WEIR_AGAIN) {
        (void)weir_worker_wait(p->c.node[0], 0, WEIR_FOREVER);
    }
    cr_assert_eq(rc, WEIR_OK);
    batch.release(&batch);
}

static bool took_row(void *arg)
{
    struct pair *p = arg;
    struct ArrowArray batch;
    weir_err rc = weir_reader_next(p->reader, &batch);
    if (rc == WEIR_OK) {
        batch.release(&batch);
    }
    return rc == WEIR_OK;
}

/* As a worker whose reader of a posted ring has nothing more to read. */
static void *wait_and_owe(void *arg)
{
    struct pair *p = arg;
    struct weir_node *node = p->c.node[0];
    while (!p->over) {
        node->engine.workers[0].owes = true;
        (void)weir_worker_wait(node, 0, WEIR_FOREVER);
    }
    return NULL;
}

/* Found by rows that went to and fro: each waited for half a millisecond. */
Test(wait, rows_do_not_wait_for_credits, .timeout = 60)
{
    static struct pair p;
    pthread_t thread;
    open_pair(&p);
    struct wi_worker *w = &p.c.node[0]->engine.workers[0];
    push_row(&p);
    cr_assert_eq(weir_writer_flush(p.writer), WEIR_OK);
    cr_assert(wt_until(&p.c, took_row, &p));
    push_row(&p); /* of a stream that is dense: it is kept */
    cr_assert_eq(pthread_create(&thread, NULL, wait_and_owe, &p), 0);
    while (wi_load_sc(&w->bell->parked) == WI_AWAKE) {
        wi_give_turn();
    }
    cr_expect(took_row(&p), "it sleeps on a row");
    p.over = true;
    wi_worker_notify(w, WI_ATTN_EVENT);
    (void)pthread_join(thread, NULL);
    weir_query_cancel(p.query, NULL);
    weir_query_close(p.query);
    p.schema.release(&p.schema);
    wt_cluster_close(&p.c);
}
