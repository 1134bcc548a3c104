/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One producer, one consumer, two shuffles of one query: the first is the
 * warm-up, which opens the link and touches every page of the rings.
 */
#define _GNU_SOURCE 1
#include "bench/lib/stream.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/lib/pair.h"
#include "bench/lib/report.h"
#include "core/base/err.h"
#include "launch/batch.h"
#include "launch/clock.h"
#include "launch/group.h"

#define BATCH_ROWS 65536u
#define MIB_ROWS (1048576u / 8u)
#define WARM_MIB 4u
#define MAX_MIB 1048576u
#define FIRST_VALUE INT64_C(0x5765697200000001)

/* In shared memory. */
struct shared {
    char address[2][WL_ADDRESS_BYTES];
    uint64_t begin_ns; /* written by: process 0 */
    uint64_t end_ns;   /* written by: process 1 */
    struct wb_usage usage[2];
};

/* One of the two processes. */
struct end {
    const struct wb_stream_params *params;
    struct shared *shared;
    struct wb_pair pair;
    struct wb_pair_end end[2]; /* of the warm-up, of what is measured */
    struct wl_batch batch;
    int64_t values[BATCH_ROWS];
};

/* ---- rows ---------------------------------------------------------------- */

static void make_batch(struct end *e)
{
    for (uint32_t i = 0; i < BATCH_ROWS; i++) {
        e->values[i] = FIRST_VALUE + i;
    }
    wl_batch_point(&e->batch, e->values, BATCH_ROWS);
}

static weir_err send_rows(struct end *e, weir_writer *writer, uint64_t rows)
{
    weir_err rc = WEIR_OK;
    for (uint64_t sent = 0; sent < rows && rc == WEIR_OK; sent += BATCH_ROWS) {
        while ((rc = weir_writer_push(writer, &e->batch.array)) == WEIR_AGAIN) {
            (void)weir_worker_wait(e->pair.node, 0, WEIR_FOREVER);
        }
    }
    return rc == WEIR_OK ? weir_writer_finish_wait(writer) : rc;
}

static weir_err take_rows(struct end *e, weir_reader *reader, uint64_t rows,
                          struct weir_error *err)
{
    uint64_t got = 0;
    struct ArrowArray batch;
    for (;;) {
        weir_err rc = weir_reader_next(reader, &batch);
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(e->pair.node, 0, WEIR_FOREVER);
            continue;
        }
        if (rc != WEIR_OK) {
            return rc != WEIR_DONE ? rc
                   : got == rows
                       ? WEIR_OK
                       : wi_fail(err, WEIR_ERR_INTEGRITY,
                                 "%" PRIu64 " rows came, must be %" PRIu64, got,
                                 rows);
        }
        int64_t value = *wl_batch_values(&batch);
        int64_t must = FIRST_VALUE + (int64_t)(got % BATCH_ROWS);
        got += (uint64_t)batch.length;
        batch.release(&batch);
        if (value != must) {
            return wi_fail(err, WEIR_ERR_INTEGRITY,
                           "a batch begins with %" PRId64 ", must be %" PRId64,
                           value, must);
        }
    }
}

/* ---- a run --------------------------------------------------------------- */

static weir_err move(struct end *e, uint32_t i, uint64_t rows,
                     struct weir_error *err)
{
    weir_err rc = e->pair.self == 0 ? send_rows(e, e->end[i].writer, rows)
                                    : take_rows(e, e->end[i].reader, rows, err);
    return rc == WEIR_OK || rc == WEIR_ERR_INTEGRITY
               ? rc
               : wb_pair_status(&e->pair, rc, err);
}

static double seconds_of(const struct timeval *after,
                         const struct timeval *before)
{
    return (double)(wl_timeval_ns(after) - wl_timeval_ns(before)) * 1e-9;
}

static weir_err measure(struct end *e, struct wl_group *group,
                        struct weir_error *err)
{
    weir_err rc = move(e, 0, WARM_MIB * (uint64_t)MIB_ROWS, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wl_group_meet(group);
    struct rusage before;
    struct rusage after;
    (void)getrusage(RUSAGE_SELF, &before);
    if (e->pair.self == 0) {
        e->shared->begin_ns = wl_now_ns();
    }
    rc = move(e, 1, e->params->mib * (uint64_t)MIB_ROWS, err);
    if (e->pair.self == 1) {
        e->shared->end_ns = wl_now_ns();
    }
    (void)getrusage(RUSAGE_SELF, &after);
    e->shared->usage[e->pair.self] = (struct wb_usage){
        .user_s = seconds_of(&after.ru_utime, &before.ru_utime),
        .sys_s = seconds_of(&after.ru_stime, &before.ru_stime)};
    return rc;
}

static struct wb_pair make_pair(const struct wb_stream_params *p,
                                struct shared *shared, uint32_t self)
{
    return (struct wb_pair){
        .nodes = {.kind = "stream",
                  .address = shared->address,
                  .params = {.transport = p->transport,
                             .listen = p->listen,
                             .frame_bytes = p->frame_bytes,
                             .ring_frames = p->ring_frames}},
        .self = self,
    };
}

static weir_err member(struct wl_group *group, uint32_t self, void *arg,
                       struct weir_error *err)
{
    struct end e = {.params = arg, .shared = wl_group_shared(group)};
    e.pair = make_pair(e.params, e.shared, self);
    make_batch(&e);
    weir_err rc = wb_pair_open(&e.pair, err);
    if (rc != WEIR_OK) {
        return rc; /* ends the other one, too */
    }
    wl_group_meet(group);
    rc = wb_pair_join(&e.pair, err);
    for (uint32_t i = 0; i < 2 && rc == WEIR_OK; i++) {
        rc = wb_pair_shuffle(&e.pair, i + 1, 0, &e.end[i], err);
    }
    if (rc == WEIR_OK) {
        rc = measure(&e, group, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    wl_group_meet(group);
    wb_pair_close(&e.pair);
    return WEIR_OK;
}

/* ---- the parent ---------------------------------------------------------- */

static void summarise(const struct shared *s, const struct wb_stream_params *p,
                      struct wb_stream *out)
{
    out->seconds = (double)(s->end_ns - s->begin_ns) * 1e-9;
    out->mb_per_s = (double)p->mib * 1.048576 / out->seconds;
    out->usage =
        (struct wb_usage){.user_s = s->usage[0].user_s + s->usage[1].user_s,
                          .sys_s = s->usage[0].sys_s + s->usage[1].sys_s};
}

weir_err wb_stream_run(const struct wb_stream_params *params,
                       struct wb_stream *out, struct weir_error *err)
{
    struct wb_stream_params p = *params;
    p.transport = p.transport != NULL ? p.transport : "shm";
    p.frame_bytes = p.frame_bytes != 0 ? p.frame_bytes : 65536;
    p.mib = p.mib != 0 ? p.mib : 256;
    if (p.mib > MAX_MIB) {
        return wi_fail(err, WEIR_ERR_ARG, "mib is %u; must be 1..%u", p.mib,
                       MAX_MIB);
    }
    struct wl_group_params gp = {
        .members = 2,
        .shared_bytes = sizeof(struct shared),
        .timeout_ns = p.timeout_ns,
    };
    struct wl_group *group = NULL;
    weir_err rc = wl_group_open(&gp, &group, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = wl_group_run(group, member, &p, err);
    if (rc == WEIR_OK) {
        summarise(wl_group_shared(group), &p, out);
    }
    wl_group_close(group);
    return rc;
}

static const char *transport_of(const struct wb_stream_params *p)
{
    return p->transport != NULL ? p->transport : "shm";
}

void wb_stream_print(const struct wb_stream_params *params,
                     const struct wb_stream *stream, FILE *out)
{
    (void)fprintf(out,
                  "stream over %s: %.1f MB/s of payload, %.3f s (%.3f s user, "
                  "%.3f s system, both processes)\n",
                  transport_of(params), stream->mb_per_s, stream->seconds,
                  stream->usage.user_s, stream->usage.sys_s);
}

weir_err wb_stream_print_json(const struct wb_stream_params *params,
                              const struct wb_stream *stream, FILE *out,
                              struct weir_error *err)
{
    json_t *o =
        json_pack("{s:s, s:s, s:f, s:f, s:f, s:f}", "benchmark", "stream",
                  "transport", transport_of(params), "seconds", stream->seconds,
                  "mb_per_s", stream->mb_per_s, "user_s", stream->usage.user_s,
                  "sys_s", stream->usage.sys_s);
    return wb_report_write(o, out, err);
}
