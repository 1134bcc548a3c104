/* SPDX-License-Identifier: Apache-2.0 */
/* Members that close a query which is not over for the others, or that have not
 * opened what the others have: all hear of it, and of what is missing. */
#include "test/conformance/api.h"

#include <stdio.h>
#include <string.h>

#include "core/base/cc.h"

static const struct weir_field fields[] = {{"id", "l", 0}};

static void keep_it(struct ArrowArray *array)
{
    array->release = NULL;
}

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
    struct weir_shuffle_params params = wt_way(id, &p->schema, &from, &to);
    char name[16];
    (void)snprintf(name, sizeof(name), "to %u", to);
    params.name = id == 8 ? name : NULL;
    struct weir_error err = {0};
    weir_shuffle *s = NULL;
    cr_assert_eq(weir_shuffle_open(p->q.query[node], &params, &s, &err),
                 WEIR_OK, "%s", err.message);
    return s;
}

/* The news may be faster than the program. */
static bool is_over(weir_err rc)
{
    return rc == WEIR_ERR_ABORTED;
}

static weir_reader *read_way(struct plan *p, uint32_t id, uint32_t from,
                             uint32_t to)
{
    struct weir_error err = {0};
    weir_reader *r = NULL;
    weir_shuffle *s = open_way(p, to, id, from, to);
    weir_err rc = weir_reader_open(s, 0, &r, &err);
    cr_assert(rc == WEIR_OK || is_over(rc), "%s", err.message);
    return r;
}

static weir_writer *write_way(struct plan *p, uint32_t id, uint32_t from,
                              uint32_t to)
{
    struct weir_error err = {0};
    weir_writer *w = NULL;
    weir_shuffle *s = open_way(p, from, id, from, to);
    weir_err rc = weir_writer_open(s, 0, &w, &err);
    cr_assert(rc == WEIR_OK || is_over(rc), "%s", err.message);
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

/* ---- what one of them could not open ------------------------------------- */

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

/* ---- what one of them never opened --------------------------------------- */

enum { READS, WRITES };               /* what node 2 does in shuffle 8 */
enum { BEFORE, AFTER, AFTER_A_REST }; /* the close of node 1 */

static bool rests(void *arg)
{
    struct weir_node_stats st;
    weir_node_stats_get(arg, &st);
    return st.links_opened > 0 && st.links_open == 0;
}

static void use_second(struct plan *p, int does)
{
    if (does == READS) {
        (void)read_way(p, 8, 1, 2);
    } else {
        (void)write_way(p, 8, 2, 1);
    }
}

/* Node 1 has done all of shuffle 7, closes, and never opens shuffle 8. */
static void close_between(const struct wt_place *place, int does, int when)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .node = {.idle_close_ns = 20000000}};
    struct plan p;
    struct weir_error err = {0};
    wt_cluster_open(&p.c, place, &cluster);
    wt_query_open(&p.q, &p.c, 1, NULL);
    cr_assert_eq(weir_schema_build(fields, 1, &p.schema, &err), WEIR_OK);
    wt_task(&p.c, 1, 0, finish_step, write_way(&p, 7, 1, 2));
    wt_task(&p.c, 2, 0, read_step, read_way(&p, 7, 1, 2));
    if (when == BEFORE) {
        use_second(&p, does);
    }
    run(&p);
    leave(&p, 1);
    if (when == AFTER_A_REST) {
        bool rest = wt_until(&p.c, rests, p.c.node[1]);
        cr_assert(rest, "its links stay open");
    }
    if (when != BEFORE) {
        use_second(&p, does);
    }
    expect(&p, WEIR_ERR_ABORTED,
           (const char *[]){p.c.name[1], "shuffle 8", NULL});
    close_plan(&p);
}

void wt_api_close_before_a_shuffle_fails_who_reads(const struct wt_place *place)
{
    for (int when = BEFORE; when <= AFTER_A_REST; when++) {
        close_between(place, READS, when);
    }
}

void wt_api_close_before_a_shuffle_fails_who_writes(
    const struct wt_place *place)
{
    for (int when = BEFORE; when <= AFTER_A_REST; when++) {
        close_between(place, WRITES, when);
    }
}

/* Node 1 closes in the time in which the rows for shuffle 8 come. */
void wt_api_close_with_rows_of_an_unopened_shuffle(const struct wt_place *place)
{
    struct plan p;
    open_plan(&p, place, NULL);
    wt_task(&p.c, 2, 0, finish_step, write_way(&p, 8, 2, 1));
    run(&p);
    leave(&p, 1);
    expect(&p, WEIR_ERR_ABORTED,
           (const char *[]){p.c.name[1], "shuffle 8", NULL});
    close_plan(&p);
}

/* ---- strangers ----------------------------------------------------------- */

static bool link_is_up(void *arg)
{
    struct weir_node_stats st;
    weir_node_stats_get(arg, &st);
    return st.links_open > 0;
}

/* Node 2 takes itself for a member of query 9 and cancels it, before the others
 * open it or after one of them has closed it. */
static void let_stranger_cancel(const struct wt_place *place, bool closed)
{
    const uint32_t strange[] = {0, 2};
    const uint32_t two[] = {0, 1};
    const struct weir_query_params theirs = {
        .id = 9, .members = strange, .n_members = 2};
    const struct weir_query_params ours = {
        .id = 9, .members = two, .n_members = 2};
    struct wt_cluster c;
    weir_query *q[3];
    wt_cluster_open(&c, place,
                    &(struct wt_cluster_params){
                        .nodes = 3, .node = {.idle_close_ns = 20000000}});
    for (uint32_t i = 0; closed && i < 2; i++) {
        cr_assert_eq(weir_query_open(c.node[i], &ours, &q[i], NULL), WEIR_OK);
    }
    if (closed) {
        bool up = wt_until(&c, link_is_up, c.node[1]);
        cr_assert(up);
        weir_query_close(q[0]);
    }
    cr_assert_eq(weir_query_open(c.node[2], &theirs, &q[2], NULL), WEIR_OK);
    weir_query_cancel(q[2], "poison");
    bool up = wt_until(&c, link_is_up, c.node[2]);
    cr_assert(up);
    weir_query_close(q[2]);
    bool told = wt_until(&c, rests, c.node[2]);
    cr_assert(told);
    for (uint32_t i = 0; !closed && i < 2; i++) {
        cr_assert_eq(weir_query_open(c.node[i], &ours, &q[i], NULL), WEIR_OK);
    }
    for (uint32_t i = closed ? 1 : 0; i < 2; i++) {
        struct weir_error err = {0};
        (void)weir_query_status(q[i], &err);
        cr_assert_eq(err.code, WEIR_OK, "node %u: %s", i, err.message);
        weir_query_close(q[i]);
    }
    wt_cluster_close(&c);
}

void wt_api_strangers_poison_no_query(const struct wt_place *place)
{
    let_stranger_cancel(place, false);
    let_stranger_cancel(place, true);
}

/* ---- deadlines ----------------------------------------------------------- */

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

/* Pushes rows while there is room for more, until the query fails. */
static weir_err fill_step(void *arg)
{
    static const int64_t ids[4096];
    const void *buffers[] = {NULL, ids};
    const void *none[] = {NULL};
    struct ArrowArray column = {
        .length = 4096, .n_buffers = 2, .buffers = buffers, .release = keep_it};
    struct ArrowArray *columns[] = {&column};
    const struct ArrowArray batch = {.length = 4096,
                                     .n_buffers = 1,
                                     .buffers = none,
                                     .n_children = 1,
                                     .children = columns,
                                     .release = keep_it};
    return weir_writer_push(arg, &batch);
}

/* `from` has sent to node 1 what its ring takes, and node 1 reads nothing. Node
 * 0, which decides, waits for rows of another worker. */
static void stop_reading(const struct wt_place *place, uint32_t from)
{
    const struct weir_query_params deadline = {.deadline_ns = 3000000000};
    char blamed[160];
    struct plan p;
    open_plan(&p, place, &deadline);
    (void)read_way(&p, 7, 2, 0);
    (void)write_way(&p, 7, 2, 0);
    (void)read_way(&p, 8, from, 1);
    wt_task(&p.c, from, 0, fill_step, write_way(&p, 8, from, 1));
    cr_assert(wt_cluster_run(&p.c), "%s", p.c.why);
    cr_assert_eq(p.c.task[0].end, WEIR_ERR_DEADLINE);
    (void)snprintf(blamed, sizeof(blamed),
                   "%s worker 0 writer: waits for room at %s worker 0",
                   p.c.name[from], p.c.name[1]);
    expect(&p, WEIR_ERR_DEADLINE,
           (const char *[]){"deadline passed: shuffle 8 \"to 1\": ", blamed,
                            NULL});
    close_plan(&p);
}

void wt_api_deadline_blames_who_does_not_read(const struct wt_place *place)
{
    stop_reading(place, 0);
}

/* Of what node 0 waits for, others know more. */
void wt_api_deadline_lets_those_speak_that_cannot_write(
    const struct wt_place *place)
{
    stop_reading(place, 2);
}

/* ---- what is said of nodes ----------------------------------------------- */

static _Atomic uint32_t said;

static void hear(void *arg, weir_log_level level, const char *line)
{
    (void)arg;
    said += level == WEIR_LOG_ERROR && strstr(line, "query 77 open") != NULL;
}

/* At the level of the log that is the default. */
void wt_api_node_closed_before_its_query_says_so(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.node = {.log = hear}};
    const struct weir_query_params query = {.id = 77};
    struct wt_cluster c;
    weir_query *q = NULL;
    said = 0;
    wt_cluster_open(&c, place, &cluster);
    cr_assert_eq(weir_query_open(c.node[0], &query, &q, NULL), WEIR_OK);
    wt_cluster_close(&c);
    cr_assert_eq(said, 1);
}

/* The number of the member, and how it was lost: the same on all. */
void wt_api_loss_says_who_saw_it(const struct wt_place *place)
{
    struct weir_error err = {0};
    struct plan p;
    open_plan(&p, place, NULL);
    (void)read_way(&p, 7, 1, 2);
    (void)read_way(&p, 8, 1, 0);
    weir_sim_crash(p.c.sim, 1, weir_sim_now(p.c.sim) + 1000000);
    p.q.query[1] = NULL;
    expect(&p, WEIR_ERR_PEER_LOST,
           (const char *[]){p.c.name[1], "member 1", "silent for",
                            "its process ended or hangs", NULL});
    (void)weir_query_status(p.q.query[0], &err);
    wt_query_failed(&p.q, WEIR_ERR_PEER_LOST, err.message);
    close_plan(&p);
}
