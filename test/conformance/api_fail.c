/* SPDX-License-Identifier: Apache-2.0 */
/* What fails one member's query fails it on all of them, for the same reason;
 * what is only this call's fault fails nothing. */
#include "test/conformance/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool tasks_ended_with(const struct wt_cluster *c, weir_err code)
{
    for (uint32_t i = 0; i < c->n_tasks; i++) {
        if (c->task[i].end != code && c->task[i].end != WEIR_DONE) {
            return false;
        }
    }
    return true;
}

/* After a failure the nodes are as good as before. */
static void close_and_move_on(struct wt_query *q, struct wt_flow *f)
{
    struct wt_cluster *c = q->cluster;
    struct wt_query next;
    struct wt_flow flow;
    wt_query_close(q);
    if (f != NULL) {
        wt_flow_close(f);
    }
    c->why[0] = '\0';
    wt_query_open(&next, c, 4711, NULL);
    wt_flow_open(&flow, &next, NULL);
    bool ran = wt_cluster_run(c);
    cr_assert(ran, "%s", c->why);
    wt_flow_check(&flow);
    wt_query_close(&next);
    wt_flow_close(&flow);
    wt_cluster_close(c);
}

/* ---- cancelling ---------------------------------------------------------- */

static weir_err cancel_step(void *arg)
{
    struct wt_query *q = arg;
    weir_err rc = wt_gate_pass(q->cluster, 1);
    if (rc == WEIR_DONE) {
        weir_query_cancel(q->query[2], "enough of this");
    }
    return rc;
}

/* Node 2 has no part in the shuffle, and no link to anyone. */
void wt_api_cancel_by_a_third_member(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = 3};
    const uint32_t two[] = {0, 1};
    const struct wt_flow_params params = {.shuffle = {.producers = two,
                                                      .n_producers = 2,
                                                      .consumers = two,
                                                      .n_consumers = 2}};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, &params);
    f.source[0][0]->task->end = WEIR_DONE; /* never pushes */
    f.sink[1][0]->opens_early = 1;
    (void)wt_task(&c, 2, 0, cancel_step, &q);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    cr_assert(tasks_ended_with(&c, WEIR_ERR_CANCELLED));
    cr_assert_eq(f.sink[0][0]->task->end, WEIR_ERR_CANCELLED);
    cr_assert_eq(f.sink[1][0]->task->end, WEIR_ERR_CANCELLED);
    wt_query_failed(&q, WEIR_ERR_CANCELLED, "enough of this");
    wt_query_failed(&q, WEIR_ERR_CANCELLED, c.name[2]);
    close_and_move_on(&q, &f);
}

/* One member opens and cancels before the others open, in this order. */
static void cancel_early(const struct wt_place *place, const uint32_t *order)
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
            weir_query_cancel(q.query[n], "early");
        }
    }
    bool failed = wt_until(&c, wt_query_has_failed, &q);
    cr_assert(failed);
    wt_query_failed(&q, WEIR_ERR_CANCELLED, "early");
    close_and_move_on(&q, NULL);
}

void wt_api_cancel_before_others_open(const struct wt_place *place)
{
    static const uint32_t orders[][3] = {
        {0, 1, 2}, {2, 1, 0}, {2, 0, 1}, {1, 2, 0}};
    for (int i = 0; i < 4; i++) {
        cancel_early(place, orders[i]);
    }
}

void wt_api_deadline_ends_a_query(const struct wt_place *place)
{
    /* Long enough to open everything before, even on an emulated machine
     * beside another one, where half a second was too short. */
    const struct weir_query_params deadline = {.deadline_ns = 5000000000};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, place, &(struct wt_cluster_params){.nodes = 3});
    wt_query_open(&q, &c, 1, &deadline);
    wt_flow_open(&f, &q, NULL);
    f.source[1][0]->task->end = WEIR_DONE; /* never pushes */
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(f.sink[i][0]->task->end, WEIR_ERR_DEADLINE);
    }
    wt_query_failed(&q, WEIR_ERR_DEADLINE, "deadline");
    close_and_move_on(&q, &f);
}

/* ---- ending too early ---------------------------------------------------- */

struct quitter {
    struct wt_query *q;
    struct wt_flow *f;
    enum { QUIT_QUERY, QUIT_WRITER } how;
};

static weir_err quit_step(void *arg)
{
    struct quitter *t = arg;
    if (t->how == QUIT_WRITER) {
        weir_writer_close(t->f->source[1][0]->writer);
    } else {
        weir_query_close(t->q->query[1]);
        t->q->query[1] = NULL;
    }
    return WEIR_DONE;
}

static void quit(const struct wt_place *place, struct quitter t)
{
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, place, &(struct wt_cluster_params){.nodes = 3});
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, NULL);
    t.q = &q;
    t.f = &f;
    f.source[1][0]->task->end = WEIR_DONE;
    if (t.how == QUIT_QUERY) {
        f.sink[1][0]->task->end = WEIR_DONE;
    }
    (void)wt_task(&c, 1, 0, quit_step, &t);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    cr_assert_eq(f.sink[0][0]->task->end, WEIR_ERR_ABORTED);
    cr_assert_eq(f.sink[2][0]->task->end, WEIR_ERR_ABORTED);
    wt_query_failed(&q, WEIR_ERR_ABORTED, c.name[1]);
    close_and_move_on(&q, &f);
}

void wt_api_close_before_end_aborts(const struct wt_place *place)
{
    quit(place, (struct quitter){.how = QUIT_QUERY});
}

void wt_api_writer_closed_before_end_aborts(const struct wt_place *place)
{
    quit(place, (struct quitter){.how = QUIT_WRITER});
}

/* A member that is a producer opens the shuffle, but not its writer. */
void wt_api_writer_never_opened_aborts(const struct wt_place *place)
{
    const uint32_t none[] = {1};
    const uint32_t both[] = {0, 1};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    struct weir_error err = {0};
    weir_shuffle *shuffle;
    wt_cluster_open(&c, place, NULL);
    wt_query_open(&q, &c, 1, NULL);
    const struct wt_flow_params params = {
        .shuffle = {.producers = none, .n_producers = 1}};
    wt_flow_open(&f, &q, &params); /* ends well */
    struct weir_shuffle_params second = f.params;
    second.id = 2;
    second.producers = both;
    second.n_producers = 2;
    weir_reader *readers[2];
    weir_writer *writer;
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(weir_shuffle_open(q.query[i], &second, &shuffle, &err),
                     WEIR_OK, "%s", err.message);
        cr_assert_eq(weir_reader_open(shuffle, 0, &readers[i], &err), WEIR_OK);
        if (i == 0) {
            cr_assert_eq(weir_writer_open(shuffle, 0, &writer, &err), WEIR_OK);
        }
    }
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_flow_check(&f);
    weir_reader_stop(readers[1]); /* its reader is in order */
    weir_query_close(q.query[1]);
    q.query[1] = NULL;
    bool failed = wt_until(&c, wt_query_has_failed, &q);
    cr_assert(failed);
    wt_query_failed(&q, WEIR_ERR_ABORTED, c.name[1]);
    close_and_move_on(&q, &f);
}

/* ---- calls that are refused ---------------------------------------------- */

void wt_api_ids_are_used_once(const struct wt_place *place)
{
    struct weir_query_params params = {.id = 1};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    struct weir_error err = {0};
    weir_query *again = NULL;
    weir_shuffle *s = NULL;
    weir_writer *w = NULL;
    weir_reader *r = NULL;
    wt_cluster_open(&c, place, NULL);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, NULL);
    cr_assert_eq(weir_query_open(c.node[0], &params, &again, &err),
                 WEIR_ERR_DUPLICATE);
    cr_assert_not_null(strstr(err.message, "1"));
    cr_assert_eq(weir_shuffle_open(q.query[0], &f.params, &s, &err),
                 WEIR_ERR_DUPLICATE);
    cr_assert_eq(weir_writer_open(f.shuffle[0], 0, &w, &err),
                 WEIR_ERR_DUPLICATE);
    cr_assert_eq(weir_reader_open(f.shuffle[0], 0, &r, &err),
                 WEIR_ERR_DUPLICATE);
    cr_assert(again == NULL && s == NULL && w == NULL && r == NULL);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_flow_check(&f);
    wt_query_close(&q);
    cr_assert_eq(weir_query_open(c.node[1], &params, &again, &err),
                 WEIR_ERR_DUPLICATE);
    q.cluster = &c;
    close_and_move_on(&q, &f);
}

static void refuse_shuffle(struct wt_query *q, struct weir_shuffle_params p,
                           weir_err code, const char *text)
{
    struct weir_error err = {0};
    weir_shuffle *s = NULL;
    p.id = 77;
    cr_assert_eq(weir_shuffle_open(q->query[0], &p, &s, &err), code, "%s",
                 err.message);
    cr_assert_eq(err.code, code);
    cr_assert_not_null(strstr(err.message, text), "no \"%s\" in: %s", text,
                       err.message);
    cr_assert_null(s);
}

void wt_api_bad_options_are_named(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = 2, .workers = 2};
    const char *const unknown[] = {"colour"};
    const uint32_t strangers[] = {0, 7};
    const uint32_t twice[] = {0, 1, 0};
    struct weir_query_params params = {
        .id = 5, .members = strangers, .n_members = 2};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    struct weir_error err = {0};
    weir_query *query = NULL;
    weir_writer *w = NULL;
    weir_reader *r = NULL;
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q, &c, 1, NULL);
    const struct wt_flow_params one = {
        .shuffle = {.producer_workers = 1, .consumer_workers = 1}};
    wt_flow_open(&f, &q, &one);
    struct weir_shuffle_params p = f.params;
    p.keys = unknown;
    refuse_shuffle(&q, p, WEIR_ERR_NOT_FOUND, "colour");
    refuse_shuffle(&q, p, WEIR_ERR_NOT_FOUND, "text");
    p = f.params;
    p.producers = strangers;
    p.n_producers = 2;
    refuse_shuffle(&q, p, WEIR_ERR_ARG, "7");
    p = f.params;
    p.reserved[1] = 1;
    refuse_shuffle(&q, p, WEIR_ERR_ARG, "reserved");
    p = f.params;
    p.schema = NULL;
    refuse_shuffle(&q, p, WEIR_ERR_ARG, "schema");
    cr_assert_eq(weir_query_open(c.node[0], &params, &query, &err),
                 WEIR_ERR_NOT_FOUND);
    params =
        (struct weir_query_params){.id = 5, .members = twice, .n_members = 3};
    cr_assert_eq(weir_query_open(c.node[0], &params, &query, &err),
                 WEIR_ERR_ARG, "a member twice was accepted");
    params = (struct weir_query_params){.id = 5, .reserved = {1}};
    cr_assert_eq(weir_query_open(c.node[0], &params, &query, &err),
                 WEIR_ERR_ARG, "reserved was accepted");
    params = (struct weir_query_params){.id = 0};
    cr_assert_eq(weir_query_open(c.node[0], &params, &query, &err),
                 WEIR_ERR_ARG);
    cr_assert_eq(weir_writer_open(f.shuffle[0], 1, &w, &err), WEIR_ERR_ARG);
    cr_assert_eq(weir_reader_open(f.shuffle[0], 1, &r, &err), WEIR_ERR_ARG);
    cr_assert(query == NULL && w == NULL && r == NULL);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_flow_check(&f);
    close_and_move_on(&q, &f);
}

/* A push that is refused sends nothing, and the query goes on. */
void wt_api_bad_batches_are_refused(const struct wt_place *place)
{
    static const struct weir_field fields[] = {
        {"id", "l", 0}, {"k", "l", 0}, {"text", "u", 1}};
    const struct wt_rows two = {.fields = fields, .n_fields = 2};
    const struct wt_flow_params params = {
        .shuffle = {.partitioning = WEIR_VECTOR}};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    struct ArrowArray batch;
    wt_cluster_open(&c, place, NULL);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, &params);
    weir_writer *w = f.source[0][0]->writer;
    uint32_t dest[] = {0, 1, f.n_dests};
    wt_rows_make(&two, 0, 3, &batch);
    cr_assert_eq(weir_writer_push_to(w, &batch, dest), WEIR_ERR_SCHEMA);
    batch.release(&batch);
    cr_assert_lt(weir_writer_push_to(w, &batch, dest), 0, "released");
    wt_rows_make(&f.rows, 0, 3, &batch);
    cr_assert_eq(weir_writer_push_to(w, &batch, dest), WEIR_ERR_ARG);
    cr_assert_eq(weir_writer_push(w, &batch), WEIR_ERR_ARG);
    batch.release(&batch);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_flow_check(&f);
    close_and_move_on(&q, &f);
}

/* ---- members that disagree ----------------------------------------------- */

static void disagree(const struct wt_place *place,
                     const struct weir_shuffle_params *theirs,
                     const char *const *sides)
{
    static const struct weir_field other[] = {{"id", "l", 0}, {"k", "i", 0}};
    struct wt_cluster c;
    struct wt_query q;
    struct weir_error err = {0};
    struct ArrowSchema schema[2];
    weir_reader *r[2];
    weir_writer *w[2];
    weir_shuffle *s;
    wt_cluster_open(&c, place,
                    &(struct wt_cluster_params){.nodes = 2, .workers = 2});
    wt_query_open(&q, &c, 1, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        struct weir_field fields[] = {other[0], other[1]};
        struct weir_shuffle_params p = {.id = 1,
                                        .partitioning = WEIR_ROUND_ROBIN};
        if (i == 1 && theirs == NULL) {
            fields[1].format = "l";
        } else if (i == 1) {
            p = *theirs;
        }
        cr_assert_eq(weir_schema_build(fields, 2, &schema[i], &err), WEIR_OK);
        p.schema = &schema[i];
        cr_assert_eq(weir_shuffle_open(q.query[i], &p, &s, &err), WEIR_OK);
        weir_err rc = weir_reader_open(s, 0, &r[i], &err);
        if (rc == WEIR_OK) { /* else the news has come already */
            rc = weir_writer_open(s, 0, &w[i], &err);
        }
        cr_assert(rc == WEIR_OK || rc == WEIR_ERR_MISMATCH, "%s", err.message);
    }
    bool failed = wt_until(&c, wt_query_has_failed, &q);
    cr_assert(failed);
    wt_query_failed(&q, WEIR_ERR_MISMATCH, "shuffle 1");
    wt_query_failed(&q, WEIR_ERR_MISMATCH, c.name[0]);
    wt_query_failed(&q, WEIR_ERR_MISMATCH, c.name[1]);
    for (; *sides != NULL; sides++) { /* what each of them has */
        wt_query_failed(&q, WEIR_ERR_MISMATCH, *sides);
    }
    schema[0].release(&schema[0]);
    schema[1].release(&schema[1]);
    close_and_move_on(&q, NULL);
}

void wt_api_schemas_that_differ_fail_both(const struct wt_place *place)
{
    disagree(place, NULL,
             (const char *[]){"id:l, k:i on", "id:l, k:l on", NULL});
}

void wt_api_producer_counts_that_differ_fail_both(const struct wt_place *place)
{
    const struct weir_shuffle_params fewer = {
        .id = 1, .partitioning = WEIR_ROUND_ROBIN, .producer_workers = 1};
    disagree(place, &fewer,
             (const char *[]){"produce with 1 workers",
                              "produce with all workers", NULL});
}

void wt_api_too_many_shuffles_are_refused(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.node = {.max_shuffles = 2}};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f[2];
    struct weir_error err = {0};
    weir_shuffle *s = NULL;
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q, &c, 1, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        const struct wt_flow_params params = {.shuffle = {.id = i + 1}};
        wt_flow_open(&f[i], &q, &params);
    }
    struct weir_shuffle_params p = f[0].params;
    p.id = 3;
    cr_assert_eq(weir_shuffle_open(q.query[0], &p, &s, &err), WEIR_ERR_BUDGET);
    cr_assert_not_null(strstr(err.message, "max_shuffles"));
    cr_assert_null(s);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_flow_check(&f[0]);
    wt_flow_check(&f[1]);
    wt_query_close(&q);
    wt_flow_close(&f[0]);
    close_and_move_on(&q, &f[1]);
}

void wt_api_budget_message_has_the_sum(const struct wt_place *place)
{
    char name[32]; /* no other run's */
    const struct weir_node_params params = {.name = name,
                                            .transport = place->transport,
                                            .workers = 4,
                                            .memory_bytes = 1 << 20};
    struct weir_error err = {0};
    weir_node *node = NULL;
    (void)snprintf(name, sizeof(name), "small-%ld", (long)getpid());
    cr_assert_eq(weir_node_open(&params, &node, &err), WEIR_ERR_BUDGET);
    cr_assert_null(node);
    cr_assert_not_null(strstr(err.message, "1048576"), "%s", err.message);
    /* The sum that it names is enough. */
    const char *need = strstr(err.message, "raise it to ");
    cr_assert_not_null(need, "%s", err.message);
    struct weir_node_params enough = params;
    enough.memory_bytes = strtoull(need + strlen("raise it to "), NULL, 10);
    cr_assert_eq(weir_node_open(&enough, &node, &err), WEIR_OK, "%s",
                 err.message);
    weir_node_close(node);
}
