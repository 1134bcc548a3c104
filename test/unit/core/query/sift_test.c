/* SPDX-License-Identifier: Apache-2.0 */
/* When a writer of many destinations makes lists, to take rows out of them, and
 * when it scatters its rows: in one node with as many workers. */
#include <string.h>

#include "core/partition/partition_impl.h"
#include "core/query/filter.h"
#include "core/query/writer.h"
#include "test/support/lone.h"
#include "test/support/rows.h"

enum { WORKERS = 40, ROWS = 2048, TRIAL_BATCHES = 10, MORE_BATCHES = 100 };

static const struct weir_field fields[] = {{"id", "l", 0}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 1};

static struct wt_lone lone;
static weir_query *query;
static weir_writer *writer;
static weir_reader *readers[WORKERS];
static uint64_t pushed;
static uint64_t came;

static void open_shuffle(void)
{
    static const char *const keys[] = {"id"};
    struct ArrowSchema schema;
    struct weir_shuffle_params params = {.id = 1,
                                         .schema = &schema,
                                         .partitioning = WEIR_HASH,
                                         .keys = keys,
                                         .n_keys = 1,
                                         .producer_workers = 1};
    struct weir_error err = {0};
    weir_shuffle *s;
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    cr_assert_eq(weir_shuffle_open(query, &params, &s, &err), WEIR_OK, "%s",
                 err.message);
    schema.release(&schema);
    for (uint32_t k = 0; k < WORKERS; k++) {
        cr_assert_eq(weir_reader_open(s, k, &readers[k], &err), WEIR_OK, "%s",
                     err.message);
    }
    cr_assert_eq(weir_writer_open(s, 0, &writer, &err), WEIR_OK, "%s",
                 err.message);
}

static void open_world(void)
{
    const struct weir_node_params params = {
        .workers = WORKERS, .max_members = 1, .memory_bytes = 1u << 30};
    const struct weir_member self = {"lone", "sim:0", WORKERS};
    const struct weir_query_params q = {.id = 1};
    struct weir_error err = {0};
    pushed = 0;
    came = 0;
    wt_lone_open(&lone, &params);
    cr_assert_eq(weir_node_join(lone.node, &self, 1, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_query_open(lone.node, &q, &query, &err), WEIR_OK, "%s",
                 err.message);
    open_shuffle();
    wt_lone_settle(&lone);
}

/* Everything that is there; true: all readers have ended. */
static bool drain(void)
{
    uint32_t ended = 0;
    for (uint32_t k = 0; k < WORKERS; k++) {
        struct ArrowArray batch;
        weir_err rc;
        while ((rc = weir_reader_next(readers[k], &batch)) == WEIR_OK) {
            came += (uint64_t)batch.length;
            batch.release(&batch);
        }
        cr_assert(rc == WEIR_AGAIN || rc == WEIR_DONE, "%d", (int)rc);
        ended += rc == WEIR_DONE;
    }
    wt_lone_settle(&lone);
    return ended == WORKERS;
}

/* Rows of ids that no filter has. Into empty rings, so that nothing is in the
 * way of a scatter. True: lists were made of them. */
static bool push_makes_lists(void)
{
    struct ArrowArray batch;
    wt_rows_make(&rows, 1u << 20, ROWS, &batch);
    (void)drain();
    memset(&writer->split, 0, sizeof(writer->split));
    cr_assert_eq(weir_writer_push(writer, &batch), WEIR_OK);
    batch.release(&batch);
    pushed += ROWS;
    return writer->split.n != 0;
}

/* How many of so many pushes made lists. */
static uint32_t lists_in(uint32_t pushes)
{
    uint32_t lists = 0;
    for (uint32_t i = 0; i < pushes; i++) {
        lists += push_makes_lists();
    }
    return lists;
}

/* Readers [first, end) send a filter: one of a few keys, which drops nearly
 * everything, or one so small for its keys that it drops nothing. */
static void send_filters(uint32_t first, uint32_t end, bool useless)
{
    struct ArrowArray keys;
    wt_rows_make(&rows, 0, useless ? ROWS : 8, &keys);
    for (uint32_t k = first; k < end; k++) {
        cr_assert_eq(weir_reader_filter_open(readers[k], 8), WEIR_OK);
        cr_assert_eq(weir_reader_filter_add(readers[k], &keys), WEIR_OK);
        cr_assert_eq(weir_reader_filter_send(readers[k]), WEIR_OK);
    }
    keys.release(&keys);
    wt_lone_settle(&lone);
}

static uint64_t dropped(void)
{
    uint64_t rows_dropped = 0;
    for (uint32_t d = 0; d < WORKERS; d++) {
        rows_dropped += writer->lanes[d].filtered;
    }
    return rows_dropped;
}

/* Rows that were not dropped have come. */
static void end_world(void)
{
    weir_err rc;
    while ((rc = weir_writer_finish(writer)) == WEIR_AGAIN) {
        (void)drain();
    }
    cr_assert(rc == WEIR_OK || rc == WEIR_DONE);
    for (uint32_t i = 0; !drain(); i++) {
        cr_assert_lt(i, 1000);
    }
    cr_assert_eq(came + dropped(), pushed);
    weir_writer_close(writer);
    for (uint32_t k = 0; k < WORKERS; k++) {
        weir_reader_close(readers[k]);
    }
    weir_query_close(query);
    wt_lone_close(&lone);
}

Test(sift, rows_are_scattered_where_no_filter_came)
{
    open_world();
    cr_assert_eq(lists_in(MORE_BATCHES), 0);
    end_world();
}

Test(sift, filters_that_drop_rows_get_lists_to_the_end)
{
    open_world();
    send_filters(0, WORKERS, false);
    cr_assert_eq(lists_in(MORE_BATCHES), MORE_BATCHES);
    cr_assert_gt(dropped(), pushed / 2);
    end_world();
}

/* They took the scatter away for good: with 1,024 destinations a row cost five
 * times as much. */
Test(sift, filters_that_drop_nothing_give_the_scatter_back)
{
    open_world();
    send_filters(0, WORKERS, true);
    cr_assert_leq(lists_in(MORE_BATCHES), TRIAL_BATCHES);
    cr_assert_not(push_makes_lists());
    cr_assert_null(writer->partition->hashes_out);
    cr_assert_eq(dropped(), 0);
    end_world();
}

/* Of the first consumer to the last. */
Test(sift, filters_that_come_later_are_judged_anew)
{
    open_world();
    send_filters(0, 1, true);
    (void)lists_in(MORE_BATCHES * 5);
    cr_assert_not(push_makes_lists());
    send_filters(1, WORKERS, false);
    cr_assert_eq(lists_in(MORE_BATCHES), MORE_BATCHES);
    cr_assert_gt(dropped(), 0);
    end_world();
}
