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
#include <unistd.h>

#include <weir/node.h>
#include <weir/query.h>
#include <weir/shuffle.h>

#include "bench/lib/clock.h"
#include "bench/lib/group.h"
#include "core/base/cc.h"
#include "core/base/err.h"

#define BATCH_ROWS 8192u
#define MIB_ROWS (1048576u / 8u)
#define WARM_MIB 4u
#define MAX_MIB 1048576u
#define FIRST_VALUE INT64_C(0x5765697200000001)

/* In shared memory. */
struct shared {
    char address[2][WB_ADDRESS_BYTES];
    uint64_t begin_ns; /* written by: process 0 */
    uint64_t end_ns;   /* written by: process 1 */
    struct wb_usage usage[2];
};

/* One of the two processes. */
struct end {
    const struct wb_stream_params *params;
    struct shared *shared;
    uint32_t self;
    weir_node *node;
    weir_query *query;
    weir_writer *writer[2]; /* process 0: warm-up, measured */
    weir_reader *reader[2]; /* process 1: the same */

    struct ArrowArray batch;
    struct ArrowArray column;
    struct ArrowArray *children[1];
    const void *batch_buffers[1];
    const void *column_buffers[2];
    int64_t values[BATCH_ROWS];
};

/* ---- rows ------------------------------------------------------------------ */

/* The batch borrows its memory. */
static void release_nothing(struct ArrowArray *array)
{
    array->release = NULL;
}

static void make_batch(struct end *e)
{
    for (uint32_t i = 0; i < BATCH_ROWS; i++) {
        e->values[i] = FIRST_VALUE + i;
    }
    e->children[0] = &e->column;
    e->column_buffers[1] = e->values;
    e->column = (struct ArrowArray){.length = BATCH_ROWS,
                                    .n_buffers = 2,
                                    .buffers = e->column_buffers,
                                    .release = release_nothing};
    e->batch = (struct ArrowArray){.length = BATCH_ROWS,
                                   .n_buffers = 1,
                                   .n_children = 1,
                                   .buffers = e->batch_buffers,
                                   .children = e->children,
                                   .release = release_nothing};
}

static weir_err send_rows(struct end *e, weir_writer *writer, uint64_t rows)
{
    weir_err rc = WEIR_OK;
    for (uint64_t sent = 0; sent < rows && rc == WEIR_OK; sent += BATCH_ROWS) {
        while ((rc = weir_writer_push(writer, &e->batch)) == WEIR_AGAIN) {
            (void)weir_worker_wait(e->node, 0, WEIR_FOREVER);
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
            (void)weir_worker_wait(e->node, 0, WEIR_FOREVER);
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
        const struct ArrowArray *column = batch.children[0];
        const int64_t *values = column->buffers[1];
        int64_t value = values[batch.offset + column->offset];
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

/* ---- the two nodes ------------------------------------------------------------ */

static void name_node(uint32_t i, char name[64])
{
    (void)snprintf(name, 64, "stream-%d-%u", (int)getppid(), i);
}

static weir_err open_node(struct end *e, struct weir_error *err)
{
    char name[64];
    char listen[WB_ADDRESS_BYTES];
    const struct wb_stream_params *p = e->params;
    name_node(e->self, name);
    struct weir_node_params params = {
        .name = name,
        .transport = p->transport,
        .max_members = 2,
        .frame_bytes = p->frame_bytes,
        .ring_frames = p->ring_frames,
    };
    if (p->listen != NULL && strcmp(p->transport, "shm") != 0) {
        (void)snprintf(listen, sizeof(listen), "%s:0", p->listen);
        params.listen = listen;
    }
    weir_err rc = weir_node_open(&params, &e->node, err);
    if (rc == WEIR_OK) {
        (void)snprintf(e->shared->address[e->self], WB_ADDRESS_BYTES, "%s",
                       weir_node_address(e->node));
    }
    return rc;
}

static weir_err join_node(struct end *e, struct weir_error *err)
{
    char names[2][64];
    struct weir_member members[2];
    for (uint32_t i = 0; i < 2; i++) {
        name_node(i, names[i]);
        members[i] = (struct weir_member){
            .name = names[i], .address = e->shared->address[i], .workers = 1};
    }
    return weir_node_join(e->node, members, 2, err);
}

static weir_err open_shuffle(struct end *e, const struct ArrowSchema *schema,
                             uint32_t i, struct weir_error *err)
{
    static const uint32_t from = 0;
    static const uint32_t to = 1;
    weir_shuffle *shuffle = NULL;
    struct weir_shuffle_params params = {
        .id = i + 1,
        .schema = schema,
        .partitioning = WEIR_GATHER,
        .producers = &from,
        .n_producers = 1,
        .consumers = &to,
        .n_consumers = 1,
    };
    weir_err rc = weir_shuffle_open(e->query, &params, &shuffle, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    return e->self == from ? weir_writer_open(shuffle, 0, &e->writer[i], err)
                           : weir_reader_open(shuffle, 0, &e->reader[i], err);
}

static weir_err open_query(struct end *e, struct weir_error *err)
{
    static const struct weir_field field = {.name = "value", .format = "l"};
    struct weir_query_params params = {.id = 1};
    struct ArrowSchema schema;
    weir_err rc = weir_query_open(e->node, &params, &e->query, err);
    if (rc == WEIR_OK) {
        rc = weir_schema_build(&field, 1, &schema, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    for (uint32_t i = 0; i < 2 && rc == WEIR_OK; i++) {
        rc = open_shuffle(e, &schema, i, err);
    }
    schema.release(&schema);
    return rc;
}

/* ---- a run --------------------------------------------------------------------- */

static weir_err move(struct end *e, uint32_t i, uint64_t rows,
                     struct weir_error *err)
{
    weir_err rc = e->self == 0 ? send_rows(e, e->writer[i], rows)
                               : take_rows(e, e->reader[i], rows, err);
    if (rc == WEIR_OK || rc == WEIR_ERR_INTEGRITY) {
        return rc;
    }
    weir_err why = weir_query_status(e->query, err);
    return why != WEIR_OK ? why : wi_fail(err, rc, "%s", weir_err_text(rc));
}

static double seconds_of(const struct timeval *after,
                         const struct timeval *before)
{
    return (double)(after->tv_sec - before->tv_sec) +
           (double)(after->tv_usec - before->tv_usec) * 1e-6;
}

static weir_err measure(struct end *e, struct wb_group *group,
                        struct weir_error *err)
{
    weir_err rc = move(e, 0, WARM_MIB * (uint64_t)MIB_ROWS, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wb_group_meet(group);
    struct rusage before;
    struct rusage after;
    (void)getrusage(RUSAGE_SELF, &before);
    if (e->self == 0) {
        e->shared->begin_ns = wb_now_ns();
    }
    rc = move(e, 1, e->params->mib * (uint64_t)MIB_ROWS, err);
    if (e->self == 1) {
        e->shared->end_ns = wb_now_ns();
    }
    (void)getrusage(RUSAGE_SELF, &after);
    e->shared->usage[e->self] = (struct wb_usage){
        .user_s = seconds_of(&after.ru_utime, &before.ru_utime),
        .sys_s = seconds_of(&after.ru_stime, &before.ru_stime)};
    return rc;
}

static weir_err member(struct wb_group *group, uint32_t self, void *arg,
                       struct weir_error *err)
{
    struct end e = {.params = arg, .self = self};
    e.shared = wb_group_shared(group);
    make_batch(&e);
    weir_err rc = open_node(&e, err);
    if (rc != WEIR_OK) {
        return rc; /* ends the other one, too */
    }
    wb_group_meet(group);
    rc = join_node(&e, err);
    if (rc == WEIR_OK) {
        rc = open_query(&e, err);
    }
    if (rc == WEIR_OK) {
        rc = measure(&e, group, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    wb_group_meet(group);
    weir_query_close(e.query);
    weir_node_close(e.node);
    return WEIR_OK;
}

/* ---- the parent ------------------------------------------------------------------ */

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
    struct wb_group_params gp = {
        .members = 2,
        .shared_bytes = sizeof(struct shared),
        .timeout_ns = p.timeout_ns,
    };
    struct wb_group *group = NULL;
    weir_err rc = wb_group_open(&gp, &group, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = wb_group_run(group, member, &p, err);
    if (rc == WEIR_OK) {
        summarise(wb_group_shared(group), &p, out);
    }
    wb_group_close(group);
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
    if (o == NULL || json_dumpf(o, out, JSON_REAL_PRECISION(9)) != 0) {
        json_decref(o);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for the report");
    }
    (void)fputc('\n', out);
    json_decref(o);
    return WEIR_OK;
}
