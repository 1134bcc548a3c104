/* SPDX-License-Identifier: Apache-2.0 */
/* Members that close a query which is not over for the others, or that have not
 * opened what the others have: all hear of it, and of what is missing. */
#include "test/conformance/api.h"

#include <stdio.h>
#include <string.h>

#include "core/base/cc.h"

static const struct weir_field fields[] = {{"id", "l", 0}};

/* A query on three nodes, of shuffles that gather rows of one in another. */
struct plan {
    struct wt_cluster c;
    struct wt_query q;
    struct ArrowSchema schema;
};

static void open_plan(struct plan *p, const struct wt_place *place,
                      const struct weir_query_params *params)
{
    struct weir_error err = {0};
    wt_cluster_open(&p->c, place, &(struct wt_cluster_params){.nodes = 3});
    wt_query_open(&p->q, &p->c, 1, params);
    cr_assert_eq(weir_schema_build(fields, 1, &p->schema, &err), WEIR_OK);
}

static void close_plan(struct plan *p)
{
    wt_query_close(&p->q);
    p->schema.release(&p->schema);
    wt_cluster_close(&p->c);
}

static weir_shuffle *open_way(struct plan *p, uint32_t node, uint32_t id,
                              uint32_t from, uint32_t to)
{
    const struct weir_shuffle_params params =
        wt_way(id, &p->schema, &from, &to);
    struct weir_error err = {0};
    weir_shuffle *s = NULL;
    cr_assert_eq(weir_shuffle_open(p->q.query[node], &params, &s, &err),
                 WEIR_OK, "%s", err.message);
    return s;
}

static weir_reader *read_way(struct plan *p, uint32_t id, uint32_t from,
                             uint32_t to)
{
    struct weir_error err = {0};
    weir_reader *r = NULL;
    weir_shuffle *s = open_way(p, to, id, from, to);
    cr_assert_eq(weir_reader_open(s, 0, &r, &err), WEIR_OK, "%s", err.message);
    return r;
}

static weir_writer *write_way(struct plan *p, uint32_t id, uint32_t from,
                              uint32_t to)
{
    struct weir_error err = {0};
    weir_writer *w = NULL;
    weir_shuffle *s = open_way(p, from, id, from, to);
    cr_assert_eq(weir_writer_open(s, 0, &w, &err), WEIR_OK, "%s", err.message);
    return w;
}

static void leave(struct plan *p, uint32_t node)
{
    weir_query_close(p->q.query[node]);
    p->q.query[node] = NULL;
}

static bool all_failed(void *arg)
{
    const struct wt_query *q = arg;
    for (uint32_t i = 0; i < q->cluster->n_nodes; i++) {
        if (q->query[i] != NULL &&
            weir_query_status(q->query[i], NULL) == WEIR_OK) {
            return false;
        }
    }
    return true;
}

/* The query fails for those that still have it, and each text is said. */
static void expect(struct plan *p, weir_err code, const char *const *texts)
{
    bool failed = wt_until(&p->c, all_failed, &p->q);
    cr_assert(failed, "somebody still waits");
    for (; *texts != NULL; texts++) {
        wt_query_failed(&p->q, code, *texts);
    }
}

/* ---- what one of them could not open -------------------------------------- */

static void refuse_way(struct plan *p, uint32_t node, uint32_t id,
                       weir_err code)
{
    const char *const unknown[] = {"colour"};
    const struct weir_shuffle_params params = {.id = id,
                                               .schema = &p->schema,
                                               .partitioning = WEIR_HASH,
                                               .keys = unknown,
                                               .n_keys = 1};
    weir_shuffle *s = NULL;
    cr_assert_eq(weir_shuffle_open(p->q.query[node], &params, &s, NULL), code);
}

void wt_api_close_after_a_failed_open_aborts(const struct wt_place *place)
{
    struct plan p;
    open_plan(&p, place, NULL);
    (void)read_way(&p, 7, 1, 2);
    refuse_way(&p, 1, 7, WEIR_ERR_NOT_FOUND);
    leave(&p, 1);
    expect(&p, WEIR_ERR_ABORTED,
           (const char *[]){p.c.name[1], "shuffle 7", "colour", NULL});
    close_plan(&p);
}

static weir_err finish_step(void *arg)
{
    weir_err rc = weir_writer_finish(arg);
    return rc == WEIR_OK ? WEIR_DONE : rc;
}

static weir_err read_step(void *arg)
{
    struct ArrowArray none;
    return weir_reader_next(arg, &none);
}

static void run(struct plan *p)
{
    bool ran = wt_cluster_run(&p->c);
    cr_assert(ran, "%s", p->c.why);
    for (uint32_t i = 0; i < p->c.n_tasks; i++) {
        cr_assert_eq(p->c.task[i].end, WEIR_DONE);
    }
}

/* It is opened after all: nothing stays of the failure. */
void wt_api_open_that_is_made_good_aborts_nothing(const struct wt_place *place)
{
    struct plan p;
    open_plan(&p, place, NULL);
    refuse_way(&p, 1, 7, WEIR_ERR_NOT_FOUND);
    weir_writer *w = write_way(&p, 7, 1, 2);
    refuse_way(&p, 1, 7, WEIR_ERR_DUPLICATE); /* is open already */
    wt_task(&p.c, 1, 0, finish_step, w);
    wt_task(&p.c, 2, 0, read_step, read_way(&p, 7, 1, 2));
    run(&p);
    leave(&p, 1);
    wt_query_failed(&p.q, WEIR_OK, "");
    close_plan(&p);
}

/* Its consumer opens the shuffle, and no reader. */
void wt_api_reader_never_opened_aborts(const struct wt_place *place)
{
    struct plan p;
    open_plan(&p, place, NULL);
    weir_writer *w = write_way(&p, 7, 1, 2);
    (void)open_way(&p, 2, 7, 1, 2);
    wt_task(&p.c, 1, 0, finish_step, w);
    run(&p);
    leave(&p, 2);
    expect(&p, WEIR_ERR_ABORTED,
           (const char *[]){p.c.name[2], "shuffle 7", "reader", NULL});
    close_plan(&p);
}

/* ---- deadlines ------------------------------------------------------------ */

/* All say the same, and who waits for what of whom. */
void wt_api_deadline_says_what_was_missing(const struct wt_place *place)
{
    const struct weir_query_params deadline = {.deadline_ns = 3000000000};
    char say[WEIR_ERROR_MESSAGE_BYTES];
    struct weir_error err = {0};
    struct plan p;
    open_plan(&p, place, &deadline);
    (void)read_way(&p, 7, 1, 2);
    (void)open_way(&p, 1, 7, 1, 2); /* and no writer */
    (void)open_way(&p, 0, 7, 1, 2);
    expect(&p, WEIR_ERR_DEADLINE,
           (const char *[]){"deadline passed: shuffle 7: ", p.c.name[1],
                            "worker 0", NULL});
    (void)weir_query_status(p.q.query[0], &err);
    (void)snprintf(say, sizeof(say), "%s", err.message);
    wt_query_failed(&p.q, WEIR_ERR_DEADLINE, say);
    close_plan(&p);
}
