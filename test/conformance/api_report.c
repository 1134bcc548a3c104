/* SPDX-License-Identifier: Apache-2.0 */
/* Reports and stalls: each way of waiting, and the very line that says so. Node
 * 0 sends to node 1; what hangs is left out. */
#include "test/conformance/api.h"

#include <stdio.h>
#include <string.h>

enum {
    FRAME_BYTES = 4096,
    RING_FRAMES = 4,
    BATCH_ROWS = 256,
    LINES = 64,
    MANY = 999
};
#define SECOND 1000000000ull

struct lines {
    char line[LINES][512];
    uint32_t n;
};

struct scene {
    struct wt_cluster c;
    struct ArrowSchema schema;
    uint64_t id; /* of queries that are opened */
    weir_query *query[2];
    weir_shuffle *shuffle[2];
    weir_writer *writer;
    weir_reader *reader;
    struct ArrowArray batch;
    struct ArrowArray held[16];
    uint32_t n_held;
    uint32_t pushes; /* to be made */
    uint64_t now_ns;
    struct lines report;
    struct lines log; /* of both nodes, on the simulator */
};

static const struct weir_field fields[] = {{"id", "l", 0}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 1};
static const uint32_t first_node = 0, second_node = 1;

static void note(struct lines *to, const char *line)
{
    if (to->n < LINES) {
        (void)snprintf(to->line[to->n++], sizeof(to->line[0]), "%s", line);
    }
}

static void take_line(void *arg, const char *line)
{
    note(arg, line);
}

static void hear(void *arg, weir_log_level level, const char *line)
{
    (void)level;
    note(arg, line);
}

/* ---- a scene ------------------------------------------------------------- */

static void open_small(struct scene *s, const struct wt_place *place,
                       uint64_t stall_ns, uint32_t max_shuffles)
{
    const struct wt_cluster_params cluster = {
        .node = {.frame_bytes = FRAME_BYTES,
                 .ring_frames = RING_FRAMES,
                 .max_shuffles = max_shuffles,
                 .stall_ns = stall_ns,
                 .log = hear,
                 .log_arg = &s->log}};
    struct weir_error err = {0};
    memset(s, 0, sizeof(*s));
    s->id = 7;
    wt_cluster_open(&s->c, place, &cluster);
    cr_assert_eq(weir_schema_build(fields, 1, &s->schema, &err), WEIR_OK);
    wt_rows_make(&rows, 0, BATCH_ROWS, &s->batch);
}

static void open_scene(struct scene *s, const struct wt_place *place,
                       uint64_t stall_ns)
{
    open_small(s, place, stall_ns, 0);
}

static void open_query(struct scene *s, uint32_t node)
{
    const struct weir_query_params params = {.id = s->id};
    struct weir_error err = {0};
    cr_assert_eq(
        weir_query_open(s->c.node[node], &params, &s->query[node], &err),
        WEIR_OK, "%s", err.message);
}

static void open_shuffle(struct scene *s, uint32_t node)
{
    const struct weir_shuffle_params params =
        wt_way(1, &s->schema, &first_node, &second_node);
    struct weir_error err = {0};
    open_query(s, node);
    cr_assert_eq(
        weir_shuffle_open(s->query[node], &params, &s->shuffle[node], &err),
        WEIR_OK, "%s", err.message);
}

static void open_writer(struct scene *s)
{
    struct weir_error err = {0};
    open_shuffle(s, 0);
    cr_assert_eq(weir_writer_open(s->shuffle[0], 0, &s->writer, &err), WEIR_OK,
                 "%s", err.message);
}

static void open_reader(struct scene *s)
{
    struct weir_error err = {0};
    open_shuffle(s, 1);
    cr_assert_eq(weir_reader_open(s->shuffle[1], 0, &s->reader, &err), WEIR_OK,
                 "%s", err.message);
}

static void close_scene(struct scene *s)
{
    for (uint32_t i = 0; i < s->n_held; i++) {
        s->held[i].release(&s->held[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        weir_query_close(s->query[i]);
    }
    s->schema.release(&s->schema);
    s->batch.release(&s->batch);
    wt_cluster_close(&s->c);
}

/* The worker of node 0 tries to push for as long as it is told to. */
static weir_err try_push(void *arg, uint64_t now_ns)
{
    struct scene *s = arg;
    (void)now_ns;
    if (s->pushes == 0) {
        return WEIR_AGAIN;
    }
    weir_err rc = weir_writer_push(s->writer, &s->batch);
    s->pushes -= rc == WEIR_OK;
    return rc;
}

static weir_err rest(void *arg, uint64_t now_ns)
{
    (void)arg;
    (void)now_ns;
    return WEIR_AGAIN;
}

/* Time passes. */
static void pass(struct scene *s, uint64_t ns)
{
    struct weir_error err = {0};
    if (s->now_ns == 0) {
        cr_assert_eq(weir_sim_task(s->c.sim, 0, 0, try_push, s), WEIR_OK);
        cr_assert_eq(weir_sim_task(s->c.sim, 1, 0, rest, s), WEIR_OK);
    }
    s->now_ns += ns;
    cr_assert_eq(weir_sim_run(s->c.sim, s->now_ns, &err), WEIR_ERR_TIMEOUT,
                 "%s", err.message);
}

static void take_all(struct scene *s)
{
    weir_err rc = WEIR_OK;
    while (rc == WEIR_OK) {
        cr_assert_lt(s->n_held, 16);
        rc = weir_reader_next(s->reader, &s->held[s->n_held]);
        s->n_held += rc == WEIR_OK;
    }
    cr_assert(rc == WEIR_AGAIN || rc == WEIR_HELD, "%s", weir_err_name(rc));
}

/* ---- what is said -------------------------------------------------------- */

static void look(struct scene *s, uint32_t node)
{
    s->report.n = 0;
    cr_assert_eq(weir_node_report(s->c.node[node], take_line, &s->report),
                 WEIR_OK);
}

static bool has(const struct lines *l, const char *line)
{
    for (uint32_t i = 0; i < l->n; i++) {
        if (strcmp(l->line[i], line) == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t count(const struct lines *l, const char *part)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        n += strstr(l->line[i], part) != NULL;
    }
    return n;
}

static void print(const struct lines *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        (void)fprintf(stderr, "  %s\n", l->line[i]);
    }
}

static void says(struct scene *s, uint32_t node, const char *line)
{
    look(s, node);
    if (!has(&s->report, line)) {
        print(&s->report);
        cr_assert(false, "node %u does not say: %s", node, line);
    }
}

/* ---- each way of waiting ------------------------------------------------- */

void wt_api_report_names_the_consumer_that_takes_nothing(
    const struct wt_place *place)
{
    struct scene s;
    open_scene(&s, place, 0);
    open_writer(&s);
    open_reader(&s);
    s.pushes = MANY;
    pass(&s, 4 * SECOND);
    says(&s, 0,
         "query 7 shuffle 1 worker 0 writer: waits for room at n1 worker 0, "
         "ring full for 3.0 s, 16384 of 16384 bytes not released there");
    says(&s, 1,
         "query 7 shuffle 1 worker 0 reader: has not taken 16384 bytes of n0 "
         "worker 0 for 3.0 s");
    close_scene(&s);
}

void wt_api_report_names_a_writer_that_was_never_opened(
    const struct wt_place *place)
{
    struct scene s;
    open_scene(&s, place, 0);
    open_shuffle(&s, 0);
    open_reader(&s);
    pass(&s, 4 * SECOND);
    says(&s, 0,
         "query 7 shuffle 1 worker 0 writer: was never opened, the shuffle is "
         "open for 4.0 s");
    says(&s, 1,
         "query 7 shuffle 1 worker 0 reader: waits for n0 worker 0 to open its "
         "writer, for 4.0 s; the link is open for 4.0 s");
    close_scene(&s);
}

void wt_api_report_names_a_writer_that_sends_nothing(
    const struct wt_place *place)
{
    struct scene s;
    open_scene(&s, place, 0);
    open_writer(&s);
    open_reader(&s);
    pass(&s, 4 * SECOND);
    says(&s, 0,
         "query 7 shuffle 1 worker 0 writer: not finished, nothing published "
         "for 3.0 s");
    says(&s, 1,
         "query 7 shuffle 1 worker 0 reader: waits for rows of n0 worker 0, "
         "none for 3.0 s");
    close_scene(&s);
}

void wt_api_report_names_a_query_that_was_never_opened(
    const struct wt_place *place)
{
    struct scene s;
    open_scene(&s, place, 0);
    open_writer(&s);
    s.pushes = MANY;
    pass(&s, 4 * SECOND);
    says(&s, 0,
         "query 7 shuffle 1 worker 0 writer: waits for room at n1 worker 0, "
         "ring full for 3.0 s, 16384 of 16384 bytes not released there");
    says(&s, 1,
         "query 7 shuffle 1: was never opened here, n0 worker 0 sends to it "
         "for 4.0 s");
    open_query(&s, 1);
    says(&s, 1,
         "query 7 shuffle 1: was never opened here, n0 worker 0 sends to it "
         "for 4.0 s");
    close_scene(&s);
}

void wt_api_report_names_a_reader_that_was_never_opened(
    const struct wt_place *place)
{
    struct scene s;
    open_scene(&s, place, 0);
    open_writer(&s);
    open_shuffle(&s, 1);
    pass(&s, 4 * SECOND);
    says(&s, 1,
         "query 7 shuffle 1 worker 0 reader: was never opened, the shuffle is "
         "open for 4.0 s");
    close_scene(&s);
}

void wt_api_report_counts_batches_that_are_held(const struct wt_place *place)
{
    struct scene s;
    open_scene(&s, place, 0);
    open_writer(&s);
    open_reader(&s);
    s.pushes = MANY;
    pass(&s, SECOND);
    take_all(&s);
    pass(&s, 4 * SECOND);
    says(&s, 0,
         "query 7 shuffle 1 worker 0 writer: waits for room at n1 worker 0, "
         "ring full for 4.0 s, 16384 of 16384 bytes not released there");
    says(&s, 1,
         "query 7 shuffle 1 worker 0 reader: the program holds 4 batches of n0 "
         "worker 0 for 4.0 s, 16384 of 16384 bytes of its ring are in use");
    says(&s, 1,
         "query 7 shuffle 1 worker 0 reader: waits for rows of n0 worker 0, "
         "none for 4.0 s");
    close_scene(&s);
}

void wt_api_report_says_that_a_link_is_not_up(const struct wt_place *place)
{
    struct scene s;
    open_scene(&s, place, 0);
    weir_sim_drop(s.c.sim, 0, 1, 0, 60 * SECOND);
    open_writer(&s);
    pass(&s, 3 * SECOND);
    says(&s, 0,
         "query 7 shuffle 1 worker 0 writer: waits for the link to n1, which "
         "is connecting for 3.0 s");
    says(&s, 0,
         "link to n1: connecting for 3.0 s to sim:1, 1 ring waits for it");
    close_scene(&s);
}

void wt_api_report_says_how_links_are(const struct wt_place *place)
{
    struct scene s;
    open_scene(&s, place, 0);
    open_writer(&s);
    open_reader(&s);
    pass(&s, 4 * SECOND);
    says(&s, 0, "node: 1 query, 1 link, 0.3 of 512.0 MiB");
    says(&s, 0,
         "link to n1: open for 4.0 s over sim, heard 2.0 s ago, 0 messages "
         "queued, rings 1 out, 0 in");
    says(&s, 0, "query 7: open for 4.0 s, nothing moved for 3.0 s");
    close_scene(&s);
}

/* The ring of a query that has left node 0 is in use until node 1 has read. */
void wt_api_report_says_that_all_units_are_in_use(const struct wt_place *place)
{
    struct scene s;
    open_small(&s, place, 0, 1);
    open_writer(&s);
    open_reader(&s);
    pass(&s, SECOND);
    cr_assert_eq(weir_writer_finish(s.writer), WEIR_OK);
    weir_query_close(s.query[0]);
    s.id = 8;
    open_writer(&s);
    says(&s, 0,
         "query 8 shuffle 1 worker 0 writer: waits for a ring at n1, all 2 "
         "units are in use there");
    pass(&s, SECOND);
    cr_assert_eq(weir_reader_next(s.reader, &s.held[0]), WEIR_DONE);
    pass(&s, SECOND);
    look(&s, 0);
    cr_assert_eq(count(&s.report, "waits for a ring"), 0);
    close_scene(&s);
}

/* It goes out when the consumer has released what came before: so its writer
 * waits for that, not for room. */
void wt_api_part_filled_frame_waits_for_no_room(const struct wt_place *place)
{
    struct weir_error err = {0};
    struct scene s;
    open_scene(&s, place, 0);
    open_writer(&s);
    open_reader(&s);
    s.pushes = 1;
    pass(&s, SECOND);
    cr_assert_eq(weir_writer_push(s.writer, &s.batch), WEIR_OK);
    (void)weir_worker_wait(s.c.node[0], 0, 0);
    says(&s, 0,
         "query 7 shuffle 1 worker 0 writer: n1 worker 0 has not released 2176 "
         "of 16384 bytes for 0.0 s");
    weir_query_close(s.query[0]);
    s.query[0] = NULL;
    pass(&s, SECOND);
    (void)weir_query_status(s.query[1], &err);
    cr_assert_str_eq(err.message,
                     "n0 (member 0) closed the query before its end: shuffle "
                     "1: n0 worker 0 writer: not finished");
    close_scene(&s);
}

/* Ends the query's only stream on both sides. */
static void finish(struct scene *s)
{
    struct ArrowArray batch;
    cr_assert_eq(weir_writer_finish(s->writer), WEIR_OK);
    pass(s, SECOND);
    while (weir_reader_next(s->reader, &batch) == WEIR_OK) {
        batch.release(&batch);
    }
    cr_assert_eq(weir_reader_next(s->reader, &batch), WEIR_DONE);
}

void wt_api_report_says_no_more_of_what_is_done(const struct wt_place *place)
{
    struct scene s;
    open_scene(&s, place, 0);
    open_writer(&s);
    open_reader(&s);
    pass(&s, SECOND);
    finish(&s);
    pass(&s, SECOND);
    look(&s, 0);
    cr_assert_eq(count(&s.report, "shuffle 1"), 0);
    look(&s, 1);
    cr_assert_eq(count(&s.report, "shuffle 1"), 0);
    close_scene(&s);
}

/* ---- stalls -------------------------------------------------------------- */

void wt_api_stall_is_logged_once(const struct wt_place *place)
{
    struct scene s;
    open_scene(&s, place, 10 * SECOND);
    open_writer(&s);
    open_reader(&s);
    s.pushes = MANY;
    pass(&s, 10 * SECOND);
    cr_assert_eq(s.log.n, 0);
    pass(&s, 3 * SECOND);
    cr_assert(has(&s.log,
                  "n0: query 7: nothing moved for 10.0 s (stall_ns); it "
                  "waits for what follows"));
    cr_assert(has(&s.log, "n0: query 7 shuffle 1 worker 0 writer: waits for "
                          "room at n1 worker 0, ring full for 10.0 s, 16384 of "
                          "16384 bytes not released there"));
    cr_assert(has(&s.log, "n1: query 7 shuffle 1 worker 0 reader: has not "
                          "taken 16384 bytes of n0 worker 0 for 10.0 s"));
    cr_assert_eq(s.log.n, 4);
    pass(&s, 40 * SECOND);
    cr_assert_eq(s.log.n, 4);
    take_all(&s); /* it moves, and stands still again */
    pass(&s, 13 * SECOND);
    cr_assert_eq(count(&s.log, "n1: query 7: nothing moved"), 2);
    close_scene(&s);
}

void wt_api_stall_of_what_is_done_is_no_stall(const struct wt_place *place)
{
    struct scene s;
    open_scene(&s, place, 10 * SECOND);
    open_writer(&s);
    open_reader(&s);
    pass(&s, SECOND);
    finish(&s);
    pass(&s, 40 * SECOND);
    cr_assert_eq(s.log.n, 0);
    close_scene(&s);
}

void wt_api_stall_is_not_logged_if_not_wanted(const struct wt_place *place)
{
    struct scene s;
    open_scene(&s, place, WEIR_FOREVER);
    open_writer(&s);
    open_reader(&s);
    pass(&s, 50 * SECOND);
    cr_assert_eq(s.log.n, 0);
    says(&s, 1,
         "query 7 shuffle 1 worker 0 reader: waits for rows of n0 worker 0, "
         "none for 49.0 s");
    close_scene(&s);
}

/* ---- workers ------------------------------------------------------------- */

static void *read_one(void *arg)
{
    struct scene *s = arg;
    (void)weir_reader_next_wait(s->reader, &s->held[0]);
    return NULL;
}

static bool sleeps(void *arg)
{
    struct scene *s = arg;
    look(s, 1);
    return count(&s->report, "worker 0: asleep in weir_worker_wait") == 1;
}

void wt_api_report_says_who_sleeps(const struct wt_place *place)
{
    static struct scene s;
    pthread_t thread;
    open_scene(&s, place, 0);
    open_writer(&s);
    open_reader(&s);
    cr_assert_eq(pthread_create(&thread, NULL, read_one, &s), 0);
    cr_assert(wt_until(&s.c, sleeps, &s));
    weir_query_cancel(s.query[0], NULL);
    (void)pthread_join(thread, NULL);
    look(&s, 1);
    cr_assert_eq(count(&s.report, "failed, has to be closed: "
                                  "WEIR_ERR_CANCELLED: cancelled by"),
                 1);
    close_scene(&s);
}
