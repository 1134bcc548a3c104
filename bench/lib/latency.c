/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ping-pong between two processes: bare on a cache line, and with rows over two
 * shuffles, one in each direction. Blocks need no barrier between them: a block
 * has ended on both sides when its last answer has come.
 */
#define _GNU_SOURCE 1
#include "bench/lib/latency.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/median.h"
#include "bench/lib/pair.h"
#include "bench/lib/pin.h"
#include "bench/lib/report.h"
#include "core/base/atomic.h"
#include "core/base/err.h"
#include "launch/batch.h"
#include "launch/clock.h"
#include "launch/group.h"

#define MAX_BLOCKS 10000u

enum kind { BARE, ROW, KINDS };

struct shared {
    alignas(64) _Atomic uint64_t line; /* the ball: trips so far, both ways */
    alignas(64) char address[2][WL_ADDRESS_BYTES];
    alignas(64) double half_ns[]; /* [kind][sample]; written by: process 0 */
};

struct player {
    const struct wb_latency_params *params;
    struct shared *shared;
    uint64_t bare_trips;
    uint64_t row_trips;
    uint32_t n_samples[KINDS];
    struct wb_pair pair;
    weir_writer *writer; /* to the other */
    weir_reader *reader; /* from the other */

    struct wl_batch batch; /* one row: `value` */
    int64_t value;
    struct ArrowArray last; /* the batch that was read last, or released */
};

static uint32_t samples_of(const struct wb_latency_params *p)
{
    return p->blocks * WB_LATENCY_SAMPLES;
}

/* ---- one trip ------------------------------------------------------------ */

static void bare_serve(struct player *p)
{
    uint64_t n = ++p->bare_trips;
    /* E61 release: the ball itself is all that travels; pairs with E61 acquire
     * in bare_answer(), and the other way round */
    wi_store_rel(&p->shared->line, 2 * n - 1);
    while (wi_load_acq(&p->shared->line) != 2 * n) {
    }
}

static void bare_answer(struct player *p)
{
    uint64_t n = ++p->bare_trips;
    /* E61 acquire, then E61 release: pair with those in bare_serve() */
    while (wi_load_acq(&p->shared->line) != 2 * n - 1) {
    }
    wi_store_rel(&p->shared->line, 2 * n);
}

static weir_err send_row(struct player *p, uint64_t value)
{
    weir_err rc;
    p->value = (int64_t)value;
    do {
        rc = weir_writer_push(p->writer, &p->batch.array);
    } while (rc == WEIR_AGAIN);
    return rc == WEIR_OK ? weir_writer_flush(p->writer) : rc;
}

/* Give back the batch of the last row, if there is one. A row is readable
 * before its batch is released, so this is done once the next row is on its
 * way. */
static void release_last(struct player *p)
{
    if (p->last.release != NULL) {
        p->last.release(&p->last);
    }
}

static weir_err receive_row(struct player *p, uint64_t value)
{
    weir_err rc;
    do {
        rc = weir_reader_next(p->reader, &p->last);
    } while (rc == WEIR_AGAIN);
    if (rc != WEIR_OK) {
        return rc == WEIR_DONE ? WEIR_ERR_INTEGRITY : rc;
    }
    bool right =
        p->last.length == 1 && *wl_batch_values(&p->last) == (int64_t)value;
    return right ? WEIR_OK : WEIR_ERR_INTEGRITY;
}

static weir_err row_serve(struct player *p)
{
    uint64_t n = ++p->row_trips;
    weir_err rc = send_row(p, 2 * n - 1);
    release_last(p);
    return rc == WEIR_OK ? receive_row(p, 2 * n) : rc;
}

static weir_err row_answer(struct player *p)
{
    uint64_t n = ++p->row_trips;
    weir_err rc = receive_row(p, 2 * n - 1);
    if (rc == WEIR_OK) {
        rc = send_row(p, 2 * n);
    }
    release_last(p);
    return rc;
}

/* ---- blocks -------------------------------------------------------------- */

static weir_err trips(struct player *p, enum kind kind)
{
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; i < WB_LATENCY_TRIPS && rc == WEIR_OK; i++) {
        if (kind == ROW) {
            rc = p->pair.self == 0 ? row_serve(p) : row_answer(p);
        } else if (p->pair.self == 0) {
            bare_serve(p);
        } else {
            bare_answer(p);
        }
    }
    return rc;
}

static weir_err play_block(struct player *p, enum kind kind)
{
    double *half_ns = p->shared->half_ns + kind * samples_of(p->params);
    uint64_t then_ns = wl_now_ns();
    for (uint32_t i = 0; i < WB_LATENCY_SAMPLES; i++) {
        weir_err rc = trips(p, kind);
        if (rc != WEIR_OK) {
            return rc;
        }
        uint64_t now_ns = wl_now_ns();
        if (p->pair.self == 0) {
            half_ns[p->n_samples[kind]++] =
                (double)(now_ns - then_ns) / (2.0 * WB_LATENCY_TRIPS);
        }
        then_ns = now_ns;
    }
    return WEIR_OK;
}

static weir_err play(struct player *p)
{
    weir_err rc = trips(p, ROW); /* links and pages */
    for (uint32_t b = 0; b < p->params->blocks && rc == WEIR_OK; b++) {
        rc = play_block(p, BARE);
        if (rc == WEIR_OK) {
            rc = play_block(p, ROW);
        }
    }
    return rc;
}

/* ---- a run --------------------------------------------------------------- */

static weir_err open_streams(struct player *p, struct weir_error *err)
{
    struct wb_pair_end there;
    struct wb_pair_end back;
    weir_err rc = wb_pair_shuffle(&p->pair, 1, 0, &there, err);
    if (rc == WEIR_OK) {
        rc = wb_pair_shuffle(&p->pair, 2, 1, &back, err);
    }
    if (rc == WEIR_OK) {
        p->writer = p->pair.self == 0 ? there.writer : back.writer;
        p->reader = p->pair.self == 0 ? back.reader : there.reader;
    }
    return rc;
}

/* Both streams to their ends, so that the query closes well. */
static weir_err end_streams(struct player *p)
{
    struct ArrowArray batch;
    release_last(p);
    weir_err rc = weir_writer_finish_wait(p->writer);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = weir_reader_next_wait(p->reader, &batch);
    if (rc == WEIR_OK) {
        batch.release(&batch);
        return WEIR_ERR_INTEGRITY; /* a row that nobody sent */
    }
    return rc == WEIR_DONE ? WEIR_OK : rc;
}

static weir_err play_all(struct player *p, struct weir_error *err)
{
    weir_err rc = play(p);
    if (rc == WEIR_OK) {
        rc = end_streams(p);
    }
    return rc == WEIR_OK ? rc : wb_pair_status(&p->pair, rc, err);
}

static weir_err member(struct wl_group *group, uint32_t self, void *arg,
                       struct weir_error *err)
{
    struct player p = {.params = arg, .shared = wl_group_shared(group)};
    p.pair = (struct wb_pair){
        .nodes = {.kind = "latency",
                  .address = p.shared->address,
                  .params = {.transport = p.params->transport}},
        .self = self,
    };
    wl_batch_point(&p.batch, &p.value, 1);
    weir_err rc = wb_pair_open(&p.pair, err);
    if (rc != WEIR_OK) {
        return rc; /* ends the other one, too */
    }
    wl_group_meet(group);
    rc = wb_pair_join(&p.pair, err);
    if (rc == WEIR_OK) {
        rc = open_streams(&p, err);
    }
    if (rc == WEIR_OK) {
        /* After the node's own threads have started: they stay unbound. */
        rc = wb_pin(self, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    wl_group_meet(group);
    rc = play_all(&p, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wl_group_meet(group);
    wb_pair_close(&p.pair);
    return WEIR_OK;
}

/* ---- the parent ---------------------------------------------------------- */

static struct wb_latency_one summary(double *v, uint32_t n)
{
    struct wb_spread s = wb_spread_of(v, n); /* sorts */
    return (struct wb_latency_one){.p50_ns = s.median,
                                   .p99_ns = v[(uint64_t)n * 99 / 100],
                                   .min_ns = s.min};
}

weir_err wb_latency_run(const struct wb_latency_params *params,
                        struct wb_latency *out, struct weir_error *err)
{
    struct wb_latency_params p = *params;
    p.blocks = p.blocks != 0 ? p.blocks : 100;
    if (p.blocks > MAX_BLOCKS) {
        return wi_fail(err, WEIR_ERR_ARG, "blocks is %u; must be 1..%u",
                       p.blocks, MAX_BLOCKS);
    }
    if (wb_cores() < 2) {
        return wi_fail(err, WEIR_ERR_UNSUPPORTED,
                       "two processes that spin need two cores; this program "
                       "may use one (see taskset)");
    }
    uint32_t n = samples_of(&p);
    struct wl_group_params gp = {
        .members = 2,
        .shared_bytes = sizeof(struct shared) + KINDS * n * sizeof(double),
        .timeout_ns = p.timeout_ns,
    };
    struct wl_group *group = NULL;
    weir_err rc = wl_group_open(&gp, &group, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = wl_group_run(group, member, &p, err);
    if (rc == WEIR_OK) {
        struct shared *s = wl_group_shared(group);
        out->bare = summary(s->half_ns, n);
        out->row = summary(s->half_ns + n, n);
    }
    wl_group_close(group);
    return rc;
}

static const char *transport_of(const struct wb_latency_params *p)
{
    return p->transport != NULL ? p->transport : "shm";
}

void wb_latency_print(const struct wb_latency_params *params,
                      const struct wb_latency *latency, FILE *out)
{
    const struct wb_latency_one *bare = &latency->bare;
    const struct wb_latency_one *row = &latency->row;
    (void)fprintf(out,
                  "one way between two processes on two cores, both spinning\n"
                  "%-12s %9s %9s %9s\n"
                  "%-12s %9.0f %9.0f %9.0f\n%-12s %9.0f %9.0f %9.0f\n\n"
                  "a row over %s takes %.2f times a bare cache line\n",
                  "", "p50 ns", "p99 ns", "min ns", "cache line", bare->p50_ns,
                  bare->p99_ns, bare->min_ns, transport_of(params), row->p50_ns,
                  row->p99_ns, row->min_ns, transport_of(params),
                  row->p50_ns / bare->p50_ns);
}

static json_t *one_of(const char *name, const struct wb_latency_one *l)
{
    return json_pack("{s:s, s:f, s:f, s:f}", "name", name, "p50_ns", l->p50_ns,
                     "p99_ns", l->p99_ns, "min_ns", l->min_ns);
}

weir_err wb_latency_print_json(const struct wb_latency_params *params,
                               const struct wb_latency *latency, FILE *out,
                               struct weir_error *err)
{
    char key[64];
    (void)snprintf(key, sizeof(key), "%s/cacheline", transport_of(params));
    json_t *o = json_pack("{s:s, s:[o, o], s:{s:f}}", "benchmark", "latency",
                          "results", one_of("cacheline", &latency->bare),
                          one_of(transport_of(params), &latency->row), "ratios",
                          key, latency->row.p50_ns / latency->bare.p50_ns);
    return wb_report_write(o, out, err);
}
