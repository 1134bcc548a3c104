/* SPDX-License-Identifier: Apache-2.0 */
/* What opening and closing a query leaves for the engine and for peers. */
#include <criterion/criterion.h>

#include <string.h>

#include <weir/stats.h>

#include "core/link/engine.h"
#include "core/link/lock.h"
#include "test/support/lone.h"

static struct wt_lone lone;

static bool has_work(void)
{
    return wi_load_sc(&lone.node->engine.kick) != 0;
}

/* A network thread that sleeps would not see the query's deadline. */
Test(query, opening_one_wakes_the_engine_for_its_deadline)
{
    static const uint32_t self = 0;
    const struct weir_query_params params = {
        .id = 1, .members = &self, .n_members = 1, .deadline_ns = 5000000};
    struct weir_error err = {0};
    weir_query *q = NULL;
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    wt_lone_settle(&lone);
    cr_assert_not(has_work());
    cr_assert_eq(weir_query_open(lone.node, &params, &q, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert(has_work());
    WT_TURNS(&lone, weir_query_status(q, &err) != WEIR_OK);
    cr_assert_eq(err.code, WEIR_ERR_DEADLINE, "%s", err.message);
    weir_query_close(q);
    wt_lone_close(&lone);
}

/* A peer that goes on reading asks what it misses, by the query's number. */
Test(query, closing_one_says_which)
{
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_greet(raw);
    weir_query *q = wt_lone_query(&lone);
    wt_lone_settle(&lone);
    weir_query_close(q);
    WT_TURNS(&lone, raw->of_type[WI_MSG_CLOSE] == 1);
    cr_assert_eq(raw->last[WI_MSG_CLOSE].close.query, 1);
    wt_lone_close(&lone);
}

Test(query, one_that_fails_is_counted_once)
{
    struct weir_node_stats stats = {0};
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    weir_query *q = wt_lone_query(&lone);
    weir_query_cancel(q, "of a test");
    weir_query_cancel(q, "of a test, again");
    weir_node_stats_get(lone.node, &stats);
    cr_assert_eq(stats.queries_failed, 1);
    cr_assert_eq(stats.queries_open, 1);
    weir_query_close(q);
    wt_lone_close(&lone);
}

/* Who is sent a filter takes rows out of lists, which only a hash makes. */
Test(query, filters_are_of_shuffles_by_hash)
{
    static const struct weir_field field = {"id", "l", 0};
    static const uint32_t self = 0;
    const struct weir_query_params params = {
        .id = 1, .members = &self, .n_members = 1};
    struct ArrowSchema schema;
    struct weir_shuffle_params s = {.id = 1,
                                    .schema = &schema,
                                    .partitioning = WEIR_RANDOM,
                                    .producer_workers = 1};
    struct weir_error err = {0};
    weir_query *q = NULL;
    weir_shuffle *shuffle = NULL;
    weir_reader *r = NULL;
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    cr_assert_eq(weir_query_open(lone.node, &params, &q, &err), WEIR_OK);
    cr_assert_eq(weir_schema_build(&field, 1, &schema, &err), WEIR_OK);
    cr_assert_eq(weir_shuffle_open(q, &s, &shuffle, &err), WEIR_OK, "%s",
                 err.message);
    schema.release(&schema);
    cr_assert_eq(weir_reader_open(shuffle, 0, &r, &err), WEIR_OK);
    cr_assert_eq(weir_reader_filter_open(r, 8), WEIR_ERR_ARG);
    cr_assert_eq(weir_reader_error(r, &err), WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "only those by hash"), "%s",
                       err.message);
    weir_query_close(q);
    wt_lone_close(&lone);
}

Test(query, a_partitioning_that_nobody_knows_is_refused)
{
    static const struct weir_field field = {"id", "l", 0};
    struct ArrowSchema schema;
    struct weir_shuffle_params s = {.id = 1,
                                    .schema = &schema,
                                    .partitioning = (weir_partitioning)99,
                                    .producer_workers = 1};
    struct weir_error err = {0};
    weir_shuffle *shuffle = NULL;
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    weir_query *q = wt_lone_query(&lone);
    cr_assert_eq(weir_schema_build(&field, 1, &schema, &err), WEIR_OK);
    cr_assert_eq(weir_shuffle_open(q, &s, &shuffle, &err), WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "partitioning = 99"), "%s",
                       err.message);
    cr_assert_null(shuffle);
    schema.release(&schema);
    weir_query_close(q);
    wt_lone_close(&lone);
}

/* Not a byte less than what a message about a query has room for. */
Test(query, a_long_text_of_what_is_missing_fills_its_field)
{
    static const struct weir_field field = {"id", "l", 0};
    static const uint32_t both[] = {0, 1};
    const struct weir_query_params params = {
        .id = 1, .members = both, .n_members = 2, .deadline_ns = 5000000};
    char name[WI_NAME_BYTES];
    const struct weir_member members[] = {{"lone", "sim:0", 1},
                                          {name, "sim:1", 64}};
    struct ArrowSchema schema;
    struct weir_shuffle_params s = {.id = 1,
                                    .schema = &schema,
                                    .partitioning = WEIR_RANDOM,
                                    .producers = &both[1],
                                    .n_producers = 1,
                                    .consumers = &both[0],
                                    .n_consumers = 1};
    struct weir_error err = {0};
    weir_query *q = NULL;
    weir_shuffle *shuffle = NULL;
    weir_reader *r = NULL;
    memset(name, 'r', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    wt_lone_open(&lone, NULL);
    cr_assert_eq(weir_node_join(lone.node, members, 2, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_query_open(lone.node, &params, &q, &err), WEIR_OK);
    cr_assert_eq(weir_schema_build(&field, 1, &schema, &err), WEIR_OK);
    cr_assert_eq(weir_shuffle_open(q, &s, &shuffle, &err), WEIR_OK, "%s",
                 err.message);
    schema.release(&schema);
    cr_assert_eq(weir_reader_open(shuffle, 0, &r, &err), WEIR_OK, "%s",
                 err.message);
    WT_TURNS(&lone, weir_query_status(q, &err) != WEIR_OK);
    cr_assert_eq(err.code, WEIR_ERR_DEADLINE, "%s", err.message);
    cr_assert_eq(strlen(err.message), WI_TEXT_BYTES - 1, "%s", err.message);
    weir_query_close(q);
    wt_lone_close(&lone);
}
