/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of nodes, queries, shuffles, writers and readers. */
#include "test/unit/args/args.h"

static const struct weir_member one = {.name = "x", .address = "y"};

Test(args, error)
{
    ANSWERS(weir_err_name, code,
            strcmp(weir_err_name((weir_err)77), "WEIR_ERR_UNKNOWN") == 0);
    ANSWERS(weir_err_text, code,
            strcmp(weir_err_text((weir_err)-5000), "unknown code") == 0);
}

Test(args, node)
{
    struct wt_args world;
    struct wt_args *w = &world;
    struct weir_node_params p = {.transport = "sim"};
    const struct weir_seed seed = {.address = "sim:0"};
    const struct weir_seed nowhere = {.server_name = "x"};
    struct weir_member member;
    uint64_t next;
    weir_node *node = NULL;
    wt_args_open(w);
    REFUSES(weir_node_open, node_out, &p, NULL, &w->err);
    p.log_level = (weir_log_level)9;
    REFUSES(weir_node_open, log_level, &p, &node, &w->err);
    ALLOWS(weir_node_open, params, node == NULL);
    ALLOWS(weir_node_close, node, DONE(weir_node_close(NULL)));
    ANSWERS(weir_node_address, node, weir_node_address(NULL)[0] == '\0');
    ANSWERS(weir_node_name, node, weir_node_name(NULL)[0] == '\0');
    ANSWERS(weir_node_plan, node, weir_node_plan(NULL)[0] == '\0');
    REFUSES(weir_node_join, node, NULL, &one, 1, &w->err);
    REFUSES(weir_node_join, members, w->node, NULL, 1, &w->err);
    REFUSES(weir_node_join_seed, node, NULL, "sim:0", 2, 0, &w->err);
    ALLOWS(weir_node_join_seed, seed_address,
           weir_node_join_seed(w->node, NULL, 2, 0, NULL) == WEIR_ERR_STATE);
    REFUSES(weir_node_join_seed_named, node, NULL, &seed, 2, 0, &w->err);
    REFUSES(weir_node_join_seed_named, seed->address, w->node, &nowhere, 2, 0,
            &w->err);
    ALLOWS(weir_node_join_seed_named, seed,
           weir_node_join_seed_named(w->node, NULL, 2, 0, NULL) ==
               WEIR_ERR_STATE);
    ANSWERS(weir_node_members, node, weir_node_members(NULL) == 0);
    ANSWERS(weir_node_self, node, weir_node_self(NULL) == UINT32_MAX);
    CODE(weir_node_member, node, WEIR_ERR_ARG, NULL, 0, &member);
    CODE(weir_node_member, member_out, WEIR_ERR_ARG, w->node, 0, NULL);
    CODE(weir_node_member, idx, WEIR_ERR_NOT_FOUND, w->node, 2, &member);
    REFUSES(weir_node_add_member, node, NULL, 1, &one, &w->err);
    REFUSES(weir_node_add_member, member, w->node, 1, NULL, &w->err);
    CODE(weir_node_add_member, idx, WEIR_ERR_BUDGET, w->node, 4096, &one, NULL);
    REFUSES(weir_node_remove_member, node, NULL, 1, &w->err);
    REFUSES(weir_node_renew_secret, node, NULL, &w->err);
    CODE(weir_node_remove_member, idx, WEIR_ERR_NOT_FOUND, w->node, 4096, NULL);
    CODE(weir_node_step, node, WEIR_ERR_ARG, NULL, 0, &next);
    CODE(weir_node_step, next_ns_out, WEIR_ERR_ARG, w->node, 0, NULL);
    wt_args_close(w);
}

Test(args, peer)
{
    struct wt_args world;
    struct wt_args *w = &world;
    weir_peer *peer = NULL;
    wt_args_open(w);
    REFUSES(weir_peer_open, node, NULL, "sim:1", &peer, &w->err);
    REFUSES(weir_peer_open, address, w->node, NULL, &peer, &w->err);
    REFUSES(weir_peer_open, peer_out, w->node, "sim:1", NULL, &w->err);
    REFUSES(weir_peer_open_named, node, NULL, "sim:1", NULL, &peer, &w->err);
    REFUSES(weir_peer_open_named, address, w->node, NULL, NULL, &peer, &w->err);
    REFUSES(weir_peer_open_named, server_name, w->node, "sim:1", "x", &peer,
            &w->err);
    REFUSES(weir_peer_open_named, peer_out, w->node, "sim:1", NULL, NULL,
            &w->err);
    ALLOWS(weir_peer_close, peer, DONE(weir_peer_close(NULL)));
    ANSWERS(weir_peer_address, peer, weir_peer_address(NULL)[0] == '\0');
    wt_args_close(w);
}

/* What is wrong with a list of members, and with which. */
Test(args, member_list)
{
    const struct weir_node_params p = {.name = "a", .transport = "tcp"};
    const struct {
        struct weir_member member;
        const char *text;
    } lists[] = {
        {{"b", "tcp:127.0.0.1:1", 1}, "none of the 1 members is called a"},
        {{"a", "tcp:127.0.0.1:1", 2}, "says 2 workers, it was opened with 1"},
        {{"a", "tcp:127.0.0.1:1", 0}, "(name a, address tcp:127.0.0.1:1, 0"},
        {{"a", NULL, 1}, "(name a, address NULL, 1 workers)"},
    };
    struct weir_error err = {0};
    weir_node *node = NULL;
    cr_assert_eq(weir_node_open(&p, &node, &err), WEIR_OK, "%s", err.message);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        cr_assert_eq(weir_node_join(node, &lists[i].member, 1, &err),
                     WEIR_ERR_ARG);
        cr_assert_not_null(strstr(err.message, lists[i].text), "%s",
                           err.message);
    }
    weir_node_close(node);
}

Test(args, worker)
{
    struct wt_args world;
    struct wt_args *w = &world;
    wt_args_open(w);
    CODE(weir_worker_wake, node, WEIR_ERR_ARG, NULL, 0);
    CODE(weir_worker_wake, worker, WEIR_ERR_ARG, w->node, 1);
    cr_assert_eq(weir_worker_wake(w->node, 0), WEIR_OK);
    cr_assert_eq(weir_worker_wait(w->node, 0, WEIR_FOREVER), WEIR_OK);
    CODE(weir_worker_wait, node, WEIR_ERR_ARG, NULL, 0, 0);
    CODE(weir_worker_wait, worker, WEIR_ERR_ARG, w->node, 1, WEIR_FOREVER);
    CODE(weir_worker_run, node, WEIR_ERR_ARG, NULL, 0, NULL, 0, WEIR_FOREVER);
    CODE(weir_worker_run, worker, WEIR_ERR_ARG, w->node, 1, NULL, 0,
         WEIR_FOREVER);
    CODE(weir_worker_run, steps, WEIR_ERR_ARG, w->node, 0, NULL, 1,
         WEIR_FOREVER);
    CODE(weir_worker_fd, node, WEIR_ERR_ARG, NULL, 0);
    CODE(weir_worker_fd, worker, WEIR_ERR_ARG, w->node, 1);
    CODE(weir_worker_arm, node, WEIR_ERR_ARG, NULL, 0);
    CODE(weir_worker_arm, worker, WEIR_ERR_ARG, w->node, UINT32_MAX);
    wt_args_close(w);
}

static void ignore_line(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

Test(args, stats_and_report)
{
    struct wt_args world;
    struct wt_args *w = &world;
    struct weir_node_stats s = {.links_open = 1};
    struct weir_link_stats link;
    char text[64];
    wt_args_open(w);
    ANSWERS(weir_node_stats_get, node,
            DONE(weir_node_stats_get(NULL, &s)) && s.links_open == 0);
    ANSWERS(weir_node_stats_get, stats_out,
            DONE(weir_node_stats_get(w->node, NULL)));
    CODE(weir_link_stats_get, node, WEIR_ERR_ARG, NULL, 0, &link);
    CODE(weir_link_stats_get, stats_out, WEIR_ERR_ARG, w->node, 0, NULL);
    CODE(weir_link_stats_get, member, WEIR_ERR_NOT_FOUND, w->node, 9, &link);
    CODE(weir_node_why, node, WEIR_ERR_ARG, NULL, NULL, text, sizeof(text));
    CODE(weir_node_why, text, WEIR_ERR_ARG, w->node, NULL, NULL, 9);
    ALLOWS(weir_node_why, address,
           weir_node_why(w->node, NULL, text, sizeof(text)) == WEIR_OK);
    CODE(weir_node_report, node, WEIR_ERR_ARG, NULL, ignore_line, NULL);
    CODE(weir_node_report, fn, WEIR_ERR_ARG, w->node, NULL, NULL);
    wt_args_close(w);
}

Test(args, query)
{
    struct wt_args world;
    struct wt_args *w = &world;
    const uint32_t list[] = {0};
    const struct weir_error cause = {.code = WEIR_ERR_QUERY_DATA};
    weir_query *q = NULL;
    wt_args_open(w);
    struct weir_query_params p = {.id = 5};
    REFUSES(weir_query_open, node, NULL, &p, &q, &w->err);
    REFUSES(weir_query_open, params, w->node, NULL, &q, &w->err);
    REFUSES(weir_query_open, query_out, w->node, &p, NULL, &w->err);
    p.members = list;
    REFUSES(weir_query_open, members, w->node, &p, &q, &w->err);
    p = (struct weir_query_params){.id = 5, .n_members = 1};
    REFUSES(weir_query_open, members, w->node, &p, &q, &w->err);
    ANSWERS(weir_query_cancel, query, DONE(weir_query_cancel(NULL, "no")));
    CODE(weir_query_fail, query, WEIR_ERR_ARG, NULL, &cause);
    CODE(weir_query_fail, cause, WEIR_ERR_ARG, w->query, NULL);
    REFUSES(weir_query_status, query, NULL, &w->err);
    ALLOWS(weir_query_close, query, DONE(weir_query_close(NULL)));
    cr_assert_null(q);
    wt_args_close(w);
    wt_args_open(w);
    ALLOWS(weir_query_cancel, reason, DONE(weir_query_cancel(w->query, NULL)));
    cr_assert_eq(weir_query_status(w->query, NULL), WEIR_ERR_CANCELLED);
    wt_args_close(w);
}

/* A list without its count, and a count without its list. */
static void refuse_list(struct wt_args *w, const char *name,
                        struct weir_shuffle_params p)
{
    weir_shuffle *s = NULL;
    p.id = 7;
    p.schema = &w->schema;
    wt_args_code("weir_shuffle_open", name, WEIR_ERR_ARG,
                 weir_shuffle_open(w->query, &p, &s, &w->err), &w->err);
    cr_assert_null(s);
}

Test(args, shuffle)
{
    struct wt_args world;
    struct wt_args *w = &world;
    const uint32_t zero[] = {0};
    const char *const keys[] = {"id"};
    weir_shuffle *s = NULL;
    wt_args_open(w);
    const struct weir_shuffle_params p = {.id = 7, .schema = &w->schema};
    REFUSES(weir_shuffle_open, query, NULL, &p, &s, &w->err);
    REFUSES(weir_shuffle_open, params, w->query, NULL, &s, &w->err);
    REFUSES(weir_shuffle_open, shuffle_out, w->query, &p, NULL, &w->err);
    refuse_list(w, "keys", (struct weir_shuffle_params){.keys = keys});
    refuse_list(w, "keys", (struct weir_shuffle_params){.n_keys = 1});
    refuse_list(w, "producers",
                (struct weir_shuffle_params){.producers = zero});
    refuse_list(w, "producers", (struct weir_shuffle_params){.n_producers = 1});
    refuse_list(w, "consumers",
                (struct weir_shuffle_params){.consumers = zero});
    refuse_list(w, "consumers", (struct weir_shuffle_params){.n_consumers = 1});
    refuse_list(
        w, "partitioning",
        (struct weir_shuffle_params){.partitioning = (weir_partitioning)77});
    ANSWERS(weir_shuffle_destinations, shuffle,
            weir_shuffle_destinations(NULL) == 0);
    wt_args_close(w);
}

Test(args, writer)
{
    struct wt_args world;
    struct wt_args *w = &world;
    const uint32_t dest[] = {0};
    struct weir_edge_stats stats;
    weir_writer *new = NULL;
    wt_args_open(w);
    REFUSES(weir_writer_open, shuffle, NULL, 0, &new, &w->err);
    REFUSES(weir_writer_open, writer_out, w->shuffle, 0, NULL, &w->err);
    REFUSES(weir_writer_open, worker, w->shuffle, 9, &new, &w->err);
    CODE(weir_writer_push, writer, WEIR_ERR_ARG, NULL, &w->batch);
    CODE(weir_writer_push, batch, WEIR_ERR_ARG, w->writer, NULL);
    CODE(weir_writer_push_to, writer, WEIR_ERR_ARG, NULL, &w->batch, dest);
    CODE(weir_writer_push_to, batch, WEIR_ERR_ARG, w->writer, NULL, dest);
    CODE(weir_writer_push_to, dest, WEIR_ERR_ARG, w->writer, &w->batch, NULL);
    ANSWERS(weir_writer_error, writer,
            weir_writer_error(w->writer, &w->err) == WEIR_ERR_ARG &&
                strstr(w->err.message, "dest") != NULL);
    CODE(weir_writer_push_wait, writer, WEIR_ERR_ARG, NULL, &w->batch);
    CODE(weir_writer_push_wait, batch, WEIR_ERR_ARG, w->writer, NULL);
    CODE(weir_writer_layout, writer, WEIR_ERR_ARG, NULL, NULL);
    CODE(weir_writer_layout, schema, WEIR_OK, w->writer, NULL);
    CODE(weir_writer_poll, writer, WEIR_ERR_ARG, NULL);
    CODE(weir_writer_flush, writer, WEIR_ERR_ARG, NULL);
    CODE(weir_writer_finish, writer, WEIR_ERR_ARG, NULL);
    CODE(weir_writer_finish_wait, writer, WEIR_ERR_ARG, NULL);
    REFUSES(weir_writer_error, writer, NULL, &w->err);
    CODE(weir_writer_stats, writer, WEIR_ERR_ARG, NULL, 0, &stats);
    CODE(weir_writer_stats, dest, WEIR_ERR_ARG, w->writer, 2, &stats);
    CODE(weir_writer_stats, stats_out, WEIR_ERR_ARG, w->writer, 0, NULL);
    ALLOWS(weir_writer_close, writer, DONE(weir_writer_close(NULL)));
    cr_assert_null(new);
    cr_assert_eq(weir_query_status(w->query, NULL), WEIR_OK);
    wt_args_close(w);
}

Test(args, reader)
{
    struct wt_args world;
    struct wt_args *w = &world;
    struct ArrowArray batch;
    uint32_t a = 1;
    uint32_t b = 1;
    weir_reader *new = NULL;
    wt_args_open(w);
    REFUSES(weir_reader_open, shuffle, NULL, 0, &new, &w->err);
    REFUSES(weir_reader_open, reader_out, w->shuffle, 0, NULL, &w->err);
    REFUSES(weir_reader_open, worker, w->shuffle, 9, &new, &w->err);
    CODE(weir_reader_next, reader, WEIR_ERR_ARG, NULL, &batch);
    CODE(weir_reader_next, batch_out, WEIR_ERR_ARG, w->reader, NULL);
    CODE(weir_reader_next_wait, reader, WEIR_ERR_ARG, NULL, &batch);
    CODE(weir_reader_next_wait, batch_out, WEIR_ERR_ARG, w->reader, NULL);
    CODE(weir_reader_filter_open, reader, WEIR_ERR_ARG, NULL, 1);
    CODE(weir_reader_filter_add, reader, WEIR_ERR_ARG, NULL, &w->batch);
    CODE(weir_reader_filter_add, keys, WEIR_ERR_ARG, w->reader, NULL);
    CODE(weir_reader_filter_send, reader, WEIR_ERR_ARG, NULL);
    REFUSES(weir_reader_error, reader, NULL, &w->err);
    ANSWERS(weir_reader_error, reader,
            weir_reader_error(w->reader, NULL) == WEIR_ERR_ARG);
    ANSWERS(weir_reader_destination, reader,
            weir_reader_destination(NULL) == UINT32_MAX);
    ANSWERS(weir_reader_source, reader,
            DONE(weir_reader_source(NULL, &a, &b)) && a == UINT32_MAX &&
                b == UINT32_MAX);
    ANSWERS(weir_reader_source, member_out,
            DONE(weir_reader_source(w->reader, NULL, &b)) && b == 0);
    ANSWERS(weir_reader_source, worker_out,
            DONE(weir_reader_source(w->reader, &a, NULL)) && a == 0);
    ANSWERS(weir_reader_source_ended, reader,
            weir_reader_source_ended(NULL, 0, 0) == 0);
    ANSWERS(weir_reader_source_ended, member,
            weir_reader_source_ended(w->reader, 9, 0) == 0);
    ANSWERS(weir_reader_source_ended, worker,
            weir_reader_source_ended(w->reader, 0, 9) == 0);
    ANSWERS(weir_reader_stop, reader, DONE(weir_reader_stop(NULL)));
    ALLOWS(weir_reader_close, reader, DONE(weir_reader_close(NULL)));
    cr_assert_null(new);
    wt_args_close(w);
}

Test(args, batch)
{
    struct wt_args world;
    struct wt_args *w = &world;
    const struct weir_field field = {"a", "l", 0};
    struct ArrowArray released = {0};
    struct ArrowSchema s;
    wt_args_open(w);
    REFUSES(weir_schema_build, fields, NULL, 1, &s, &w->err);
    REFUSES(weir_schema_build, n_fields, &field, 0, &s, &w->err);
    REFUSES(weir_schema_build, schema_out, &field, 1, NULL, &w->err);
    CODE(weir_batch_detach, batch, WEIR_ERR_ARG, NULL);
    CODE(weir_batch_detach, batch, WEIR_ERR_ARG, &released);
    wt_args_close(w);
}
