/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who gets frames that are not full. A producer pushes a few rows now and then
 * and never sleeps: its only reason to send them is a consumer that waits. The
 * consumer of a posted ring says so in its credits.
 *
 *   consumer         credits               frames
 *   waits            hint = 1, at once     one per push
 *   has other work   hint = 0, lazily      full ones, others if they are late
 */
#include "test/conformance/api.h"

#include <string.h>

#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/link/worker.h"

enum { PUSHES = 1920, PUSH_ROWS = 10, N_ROWS = PUSHES * PUSH_ROWS };
/* A full frame has more rows than this: header and table take some room. */
enum { FRAME_BYTES = 4096, FULL_ROWS = (FRAME_BYTES - 512) / 8 };
/* More than two full frames, but not three. */
enum { DENSE_ROWS = 2 * FRAME_BYTES / 8 + 64 };
/* Longer than the pause up to which a stream is dense, and shorter. */
enum { PUSH_NS = 200000, OTHER_WORK_NS = PUSH_NS, DENSE_PUSH_NS = 20000 };

enum { LATE_NS = 2 * 20000000 };

/* Of a busy writer: 40 bytes per us; a frame takes longer than that pause. By
 * the clock on the wall it is given 4, if others run most of the time. */
enum { FLOW_ROWS = 100, FLOW_NS = 20000, FLOW_FRAME = 16384 };

/* Node 0 has the rows; node 1 takes them, and pushes empty batches to itself if
 * it has other work. */
struct feed {
    struct wt_cluster c;
    struct wt_query q;
    struct ArrowSchema schema;
    weir_writer *writer[WT_NODES];
    uint32_t n_other; /* nodes 2 and up, which push what node 0 does */
    uint32_t at;      /* of these, after node 0: whose turn it is */
    weir_reader *reader;
    struct ArrowArray none;
    struct ArrowArray some;
    bool works;
    uint64_t work_ns; /* OTHER_WORK_NS if 0 */
    uint32_t pushes;  /* of PUSH_ROWS */
    uint32_t dense;   /* of them, the first ones: of DENSE_ROWS, quickly */
    uint32_t polls;   /* after each push */
    bool flow;        /* pushes are of FLOW_ROWS, quickly */
    bool crowded;     /* node 0 is kept off its processor after each push */
    uint32_t polled;
    uint32_t pushed;
    uint64_t n_rows;
    uint64_t pushed_rows;
    uint64_t got_rows;
    uint64_t got_before_end; /* when the producer was done */
};

static const struct weir_field fields[] = {{"id", "l", 0}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 1};

/* Node 0's worker wants to run, and others do. */
static void lose_time(struct feed *f)
{
    uint64_t ns = 9ull * FLOW_NS;
    weir_sim_busy(f->c.sim, ns);
    f->c.node[0]->engine.workers[0].run.lost_ns += ns;
}

/* Time passes without rows. */
static weir_err poll_step(struct feed *f)
{
    f->polled++;
    weir_sim_busy(f->c.sim, PUSH_NS);
    for (uint32_t i = 0; i < f->n_other; i++) {
        (void)weir_writer_poll(f->writer[2 + i]);
    }
    return weir_writer_poll(f->writer[0]);
}

static weir_err push_all(struct feed *f)
{
    for (; f->at <= f->n_other; f->at++) {
        weir_writer *w = f->writer[f->at == 0 ? 0 : f->at + 1];
        weir_err rc = weir_writer_push(w, &f->some);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    f->at = 0;
    return WEIR_OK;
}

static weir_err finish_all(struct feed *f)
{
    weir_err rc = weir_writer_finish(f->writer[0]);
    for (uint32_t i = 0; i < f->n_other && rc == WEIR_OK; i++) {
        rc = weir_writer_finish(f->writer[2 + i]);
    }
    return rc;
}

static weir_err feed_step(void *arg)
{
    struct feed *f = arg;
    if (f->polled < f->polls * f->pushed) {
        return poll_step(f);
    }
    if (f->pushed == f->pushes) {
        f->got_before_end = f->got_rows;
        weir_err end = finish_all(f);
        return end == WEIR_OK ? WEIR_DONE : end;
    }
    bool dense = f->pushed < f->dense;
    uint32_t n = dense ? DENSE_ROWS : f->flow ? FLOW_ROWS : PUSH_ROWS;
    if (f->some.release == NULL) {
        wt_rows_make(&rows, f->pushed_rows, n, &f->some);
    }
    weir_err rc = push_all(f);
    if (rc == WEIR_AGAIN && f->pushed == 0) {
        weir_sim_busy(f->c.sim, PUSH_NS);
        return f->at != 0 ? WEIR_OK : rc; /* the link opens */
    }
    f->some.release(&f->some);
    if (rc != WEIR_OK) { /* rings are never full here: that would flush, too */
        wt_complain(&f->c, "push %u: %s", f->pushed, weir_err_name(rc));
        return WEIR_DONE;
    }
    f->pushed++;
    f->pushed_rows += n;
    weir_sim_busy(f->c.sim, dense     ? DENSE_PUSH_NS
                            : f->flow ? FLOW_NS
                                      : PUSH_NS);
    if (f->crowded) {
        lose_time(f);
    }
    return WEIR_OK;
}

static weir_err take_step(void *arg)
{
    struct feed *f = arg;
    struct ArrowArray batch;
    weir_err rc;
    do {
        rc = weir_reader_next(f->reader, &batch);
        if (rc == WEIR_OK) {
            f->got_rows += (uint64_t)batch.length;
            batch.release(&batch);
        }
    } while (rc == WEIR_OK && f->n_other != 0);
    if (!f->works || rc == WEIR_DONE) {
        return rc;
    }
    weir_err pushed = weir_writer_push(f->writer[1], &f->none);
    if (pushed != WEIR_OK || f->c.why[0] != '\0') {
        wt_complain(&f->c, "no rows: %s", weir_err_name(pushed));
        return WEIR_DONE;
    }
    if (f->got_rows == f->n_rows) {
        f->works = false;
        (void)weir_writer_finish(f->writer[1]);
    }
    weir_sim_busy(f->c.sim, f->work_ns != 0 ? f->work_ns : OTHER_WORK_NS);
    return WEIR_OK;
}

static void open_ends(struct feed *f, uint32_t node)
{
    static const uint32_t to = 1;
    const struct weir_shuffle_params params = {.id = 1,
                                               .schema = &f->schema,
                                               .partitioning = WEIR_GATHER,
                                               .consumers = &to,
                                               .n_consumers = 1};
    struct weir_error err = {0};
    weir_shuffle *s;
    cr_assert_eq(weir_shuffle_open(f->q.query[node], &params, &s, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_writer_open(s, 0, &f->writer[node], &err), WEIR_OK, "%s",
                 err.message);
    if (node == to) {
        cr_assert_eq(weir_reader_open(s, 0, &f->reader, &err), WEIR_OK, "%s",
                     err.message);
    }
}

/* Begins with works, pushes, dense, polls, flow. Returns the frames that node 0
 * has sent. */
static uint64_t feed(const struct wt_place *place, struct feed *f)
{
    const struct wt_cluster_params cluster = {
        .nodes = 2 + f->n_other,
        .node = {.frame_bytes = f->flow ? FLOW_FRAME : FRAME_BYTES}};
    struct weir_node_stats stats;
    struct weir_error err = {0};
    f->n_rows =
        (uint64_t)f->dense * DENSE_ROWS +
        (uint64_t)(f->pushes - f->dense) * (f->flow ? FLOW_ROWS : PUSH_ROWS);
    f->n_rows *= f->n_other + 1u;
    wt_cluster_open(&f->c, place, &cluster);
    wt_query_open(&f->q, &f->c, 1, NULL);
    cr_assert_eq(weir_schema_build(fields, 1, &f->schema, &err), WEIR_OK);
    wt_rows_make(&rows, 0, 0, &f->none);
    for (uint32_t i = 0; i < 2 + f->n_other; i++) {
        open_ends(f, i);
    }
    if (!f->works) {
        (void)weir_writer_finish(f->writer[1]);
    }
    (void)wt_task(&f->c, 0, 0, feed_step, f);
    (void)wt_task(&f->c, 1, 0, take_step, f);
    bool ran = wt_cluster_run(&f->c);
    cr_assert(ran && f->c.why[0] == '\0', "%s", f->c.why);
    cr_assert_eq(f->got_rows, f->n_rows);
    weir_node_stats_get(f->c.node[0], &stats);
    wt_query_close(&f->q);
    f->none.release(&f->none);
    f->schema.release(&f->schema);
    wt_cluster_close(&f->c);
    return stats.frames_sent;
}

void wt_api_reader_that_waits_gets_frames_that_are_not_full(
    const struct wt_place *place)
{
    struct feed f = {.pushes = PUSHES};
    uint64_t frames = feed(place, &f);
    cr_assert_geq(frames, PUSHES * 9 / 10, "%llu frames of %u pushes",
                  (unsigned long long)frames, PUSHES);
    cr_assert_geq(f.got_before_end, N_ROWS - 2 * PUSH_ROWS);
}

/* The credits that were held back while there was more are asked for. */
void wt_api_reader_that_waits_gets_what_follows_full_frames(
    const struct wt_place *place)
{
    enum { DENSE = 40 };
    struct feed f = {.pushes = PUSHES, .dense = DENSE};
    uint64_t frames = feed(place, &f);
    cr_assert_geq(frames, PUSHES - DENSE, "%llu frames",
                  (unsigned long long)frames);
    cr_assert_geq(f.got_before_end, f.n_rows - 2 * PUSH_ROWS);
}

void wt_api_reader_with_other_work_gets_full_frames(
    const struct wt_place *place)
{
    struct feed f = {.works = true, .pushes = PUSHES};
    uint64_t frames = feed(place, &f);
    cr_assert_leq(frames, N_ROWS / FULL_ROWS + 2, "%llu frames of %u rows",
                  (unsigned long long)frames, N_ROWS);
}

/* It never sleeps, nor does the producer, which has a few rows now and then.
 * The credit comes 20 ms after the rows, and the next rows not much later. */
void wt_api_reader_with_other_work_gets_late_rows(const struct wt_place *place)
{
    struct feed f = {.works = true, .pushes = 3, .polls = LATE_NS / PUSH_NS};
    uint64_t frames = feed(place, &f);
    cr_assert_eq(frames, f.pushes);
    cr_assert_eq(f.got_before_end, f.n_rows);
}

/* The same of many producers; the reader looks seldom. */
void wt_api_reader_with_other_work_gets_late_rows_of_all(
    const struct wt_place *place)
{
    struct feed f = {.works = true,
                     .work_ns = 14000000,
                     .n_other = WT_NODES - 2,
                     .pushes = 3,
                     .polls = LATE_NS / PUSH_NS};
    (void)feed(place, &f);
    cr_assert_eq(f.got_before_end, f.n_rows);
}

static void expect_full_frames(const struct wt_place *place, bool crowded)
{
    enum { FLOW = 2000, BYTES = FLOW * FLOW_ROWS * 8 };
    struct feed f = {.flow = true, .crowded = crowded, .pushes = FLOW};
    uint64_t frames = feed(place, &f);
    uint64_t full = BYTES / (FLOW_FRAME - 512);
    uint64_t early = BYTES / (256 << 10);
    cr_assert_leq(frames, full + early + 10, "%llu frames",
                  (unsigned long long)frames);
}

/* It waits most of the time, but the frame will soon be full. */
void wt_api_reader_of_busy_writer_gets_full_frames(const struct wt_place *place)
{
    expect_full_frames(place, false);
}

/* Soon, that is, by the time that the writer's worker has. */
void wt_api_reader_of_crowded_writer_gets_full_frames(
    const struct wt_place *place)
{
    expect_full_frames(place, true);
}

/* Its last rows do not wait for those that would fill the frame. */
void wt_api_reader_of_writer_that_was_busy_gets_the_rest(
    const struct wt_place *place)
{
    struct feed f = {.pushes = 50, .dense = 40, .polls = 3};
    (void)feed(place, &f);
    cr_assert_eq(f.got_before_end, f.n_rows);
}
