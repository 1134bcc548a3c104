/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that a worker keeps back while it sleeps elsewhere, and batches that its
 * readers give back late. */
#include <string.h>

#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/link/worker.h"
#include "core/query/writer.h"
#include "test/support/lone.h"
#include "test/support/rows.h"

static const struct weir_field fields[] = {{"id", "l", 0}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 1};

static struct wt_lone lone;
static weir_query *query;
static weir_writer *writer;
static weir_reader *reader;

/* Its worker 0 sends to itself. */
static void open_all(void)
{
    const struct weir_node_params params = {.max_members = 1};
    const struct weir_member self = {"lone", "sim:0", 1};
    const struct weir_query_params q = {.id = 1};
    struct ArrowSchema schema;
    struct weir_shuffle_params s = {.id = 1,
                                    .schema = &schema,
                                    .partitioning = WEIR_GATHER,
                                    .producer_workers = 1};
    struct weir_error err = {0};
    weir_shuffle *shuffle;
    wt_lone_open(&lone, &params);
    cr_assert_eq(weir_node_join(lone.node, &self, 1, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_query_open(lone.node, &q, &query, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    cr_assert_eq(weir_shuffle_open(query, &s, &shuffle, &err), WEIR_OK, "%s",
                 err.message);
    schema.release(&schema);
    cr_assert_eq(weir_reader_open(shuffle, 0, &reader, &err), WEIR_OK);
    cr_assert_eq(weir_writer_open(shuffle, 0, &writer, &err), WEIR_OK);
    wt_lone_settle(&lone);
}

static void push_row(void)
{
    struct ArrowArray batch;
    wt_rows_make(&rows, 0, 1, &batch);
    cr_assert_eq(weir_writer_push(writer, &batch), WEIR_OK);
    batch.release(&batch);
}

static bool took_row(void)
{
    struct ArrowArray batch;
    weir_err rc = weir_reader_next(reader, &batch);
    if (rc == WEIR_OK) {
        batch.release(&batch);
    }
    return rc == WEIR_OK;
}

/* Nobody but the engine knows when they have been kept long enough. */
Test(nudge, rows_that_are_kept_back_are_published_in_time)
{
    open_all();
    push_row();
    cr_assert_eq(weir_writer_flush(writer), WEIR_OK);
    cr_assert(took_row());
    push_row();
    lone.node->engine.workers[0].blocked = true; /* by a ring that was full */
    while (weir_worker_wait(lone.node, 0, 0) == WEIR_OK) {
    }
    cr_assert_not(took_row(), "they are kept");
    uint64_t from = wi_simnet_now(lone.net);
    WT_TURNS(&lone, wi_simnet_now(lone.net) > from + WI_DENSE_NS);
    cr_assert_leq(wi_simnet_now(lone.net), from + WI_DENSE_NS + 1);
    (void)wt_lone_turn(&lone);
    cr_assert_eq(weir_worker_wait(lone.node, 0, 0), WEIR_OK, "it is woken");
    cr_assert_eq(weir_worker_wait(lone.node, 0, 0), WEIR_AGAIN);
    cr_assert(took_row());
    weir_query_cancel(query, NULL);
    weir_query_close(query);
    wt_lone_close(&lone);
}

/* A frame of a few rows costs as much as a full one. */
Test(nudge, rows_wait_while_their_consumer_has_others_to_read)
{
    open_all();
    push_row();
    cr_assert_eq(weir_writer_flush(writer), WEIR_OK);
    push_row();
    while (weir_worker_wait(lone.node, 0, 0) == WEIR_OK) {
    }
    cr_assert(took_row());
    cr_assert_not(took_row(), "the second row goes when the first was read");
    while (weir_worker_wait(lone.node, 0, 0) == WEIR_OK) {
    }
    cr_assert(took_row());
    weir_query_cancel(query, NULL);
    weir_query_close(query);
    wt_lone_close(&lone);
}

/* The last batch that a program holds keeps its ring from being used again. */
Test(nudge, last_batch_that_is_given_back_wakes_the_engine)
{
    struct ArrowArray batch;
    open_all();
    push_row();
    cr_assert_eq(weir_writer_flush(writer), WEIR_OK);
    cr_assert_eq(weir_reader_next(reader, &batch), WEIR_OK);
    weir_query_cancel(query, NULL);
    weir_query_close(query);
    wt_lone_settle(&lone);
    cr_assert_eq(wi_load_sc(&lone.node->engine.kick), 0);
    batch.release(&batch);
    cr_assert_neq(wi_load_sc(&lone.node->engine.kick), 0);
    wt_lone_settle(&lone);
    wt_lone_close(&lone);
}

/* Also one that only looks after what it holds hears of the end. */
Test(nudge, a_writer_that_polls_hears_that_its_query_failed)
{
    open_all();
    cr_assert_eq(weir_writer_poll(writer), WEIR_OK);
    weir_query_cancel(query, NULL);
    cr_assert_eq(weir_writer_poll(writer), WEIR_ERR_CANCELLED);
    weir_query_close(query);
    wt_lone_close(&lone);
}
