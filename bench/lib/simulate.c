/* SPDX-License-Identifier: Apache-2.0 */
/* The plan's steps are tasks of the simulator; everything else is counting. */
#include "bench/lib/simulate.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include <weir/sim.h>
#include <weir/stats.h>

#include "bench/lib/keys.h"
#include "bench/lib/report.h"
#include "bench/lib/two_stage.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "launch/clock.h"

#define WARM_ROWS_PER_PEER 8u
/* Far above what any bound allows; a run that needs more is broken. */
#define LIMIT_NS UINT64_C(600000000000)

struct run {
    struct wb_simulate_params p;
    weir_sim *sim;
    struct wb_two_stage **plans; /* [nodes] */
    struct wb_worker *workers;   /* [nodes] */
    struct wb_board board;
};

static weir_err fill_defaults(struct wb_simulate_params *p,
                              struct weir_error *err)
{
    p->nodes = p->nodes != 0 ? p->nodes : 256;
    p->rows_per_node = p->rows_per_node != 0 ? p->rows_per_node : 1u << 18;
    p->seed = p->seed != 0 ? p->seed : 1;
    p->bandwidth = p->bandwidth != 0 ? p->bandwidth : 12500000000u;
    p->latency_ns = p->latency_ns != 0 ? p->latency_ns : 2000;
    p->frame_bytes = p->frame_bytes != 0 ? p->frame_bytes : 4096;
    p->ring_frames = p->ring_frames != 0 ? p->ring_frames : 4;
    if (p->nodes < 2 || p->nodes > 1024) {
        return wi_fail(err, WEIR_ERR_ARG, "nodes is %u; must be 2..1024",
                       p->nodes);
    }
    return WEIR_OK;
}

static weir_err open_sim(struct run *r, struct weir_error *err)
{
    struct weir_sim_params sp = {
        .nodes = r->p.nodes,
        .seed = r->p.seed,
        .bandwidth = r->p.bandwidth,
        .latency_ns = r->p.latency_ns,
        .jitter_ns = r->p.jitter_ns,
        /* Two shuffles run; the next query may find the last one's rings
         * still on their way back. */
        .node = {.max_shuffles = 4,
                 .frame_bytes = r->p.frame_bytes,
                 .ring_frames = r->p.ring_frames,
                 .memory_bytes = UINT64_C(1) << 36},
    };
    return weir_sim_open(&sp, &r->sim, err);
}

static weir_err alloc(struct run *r, struct weir_error *err)
{
    uint32_t n = r->p.nodes;
    r->plans = calloc(n, sizeof(struct wb_two_stage *));
    r->workers = calloc(n, sizeof(*r->workers));
    r->board.workers = n;
    r->board.tally = calloc(n, sizeof(*r->board.tally));
    bool ok = r->plans != NULL && r->workers != NULL && r->board.tally != NULL;
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        r->board.edge[s] = calloc((size_t)n * n, sizeof(uint64_t));
        ok = ok && r->board.edge[s] != NULL;
    }
    return ok ? WEIR_OK
              : wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u nodes", n);
}

static void free_run(struct run *r)
{
    for (uint32_t i = 0; r->plans != NULL && i < r->p.nodes; i++) {
        wb_two_stage_close(r->plans[i]);
    }
    weir_sim_close(r->sim);
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        free(r->board.edge[s]);
    }
    free(r->board.tally);
    free(r->workers);
    free(r->plans);
}

static weir_err step(void *arg, uint64_t now_ns)
{
    (void)now_ns;
    return wb_task_step(arg);
}

static weir_err open_plan(struct run *r, uint32_t i, uint64_t query,
                          uint64_t rows, struct weir_error *err)
{
    uint32_t n = r->p.nodes;
    struct wb_worker *w = &r->workers[i];
    *w = (struct wb_worker){.id = i,
                            .first_row = wb_first_row(i),
                            .rows = rows,
                            .tally = &r->board.tally[i]};
    *w->tally = (struct wb_tally){0};
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        w->edge[s] = r->board.edge[s] + (size_t)i * n;
        for (uint32_t k = 0; k < n; k++) {
            w->edge[s][k] = 0;
        }
    }
    weir_node *node = weir_sim_node(r->sim, i);
    const struct wb_two_stage_params p = {.workers = 1, .query_id = query};
    weir_err rc = wb_two_stage_open(node, &p, &r->plans[i], err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = weir_sim_task(r->sim, i, 0, step, wb_two_stage_task(r->plans[i], w));
    return rc == WEIR_OK ? rc : wi_fail(err, rc, "%s", weir_err_text(rc));
}

/* One query from open to close, checked. */
static weir_err phase(struct run *r, uint64_t query, uint64_t rows,
                      uint64_t *ns_out, struct weir_error *err)
{
    uint64_t begin_ns = weir_sim_now(r->sim);
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; i < r->p.nodes && rc == WEIR_OK; i++) {
        rc = open_plan(r, i, query, rows, err);
    }
    if (rc == WEIR_OK) {
        rc = weir_sim_run(r->sim, wi_max_u64(begin_ns, 1) + LIMIT_NS, err);
    }
    *ns_out = weir_sim_now(r->sim) - begin_ns;
    for (uint32_t i = 0; i < r->p.nodes; i++) {
        wb_two_stage_close(r->plans[i]);
        r->plans[i] = NULL;
    }
    r->board.rows = rows * r->p.nodes;
    return rc == WEIR_OK ? wb_board_check(&r->board, err) : rc;
}

struct totals {
    uint64_t frames;
    uint64_t rows;
    uint64_t wire_bytes;
    uint64_t memory_peak_bytes;
};

static struct totals totals_of(const struct run *r)
{
    struct totals t = {0};
    for (uint32_t i = 0; i < r->p.nodes; i++) {
        struct weir_node_stats s;
        weir_node_stats_get(weir_sim_node(r->sim, i), &s);
        t.frames += s.frames_sent;
        t.rows += s.rows_sent;
        t.wire_bytes += weir_sim_sent_bytes(r->sim, i);
        t.memory_peak_bytes =
            wi_max_u64(t.memory_peak_bytes, s.memory_peak_bytes);
    }
    return t;
}

static weir_err measure(struct run *r, struct wb_simulate *out,
                        struct weir_error *err)
{
    uint64_t n = r->p.nodes;
    uint64_t ns = 0;
    weir_err rc = phase(r, 1, n * WARM_ROWS_PER_PEER, &ns, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct totals before = totals_of(r);
    rc = phase(r, 2, r->p.rows_per_node, &out->virtual_ns, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct totals after = totals_of(r);
    double crossing = (double)r->p.rows_per_node * 8.0 * WB_STAGES *
                      (double)(n - 1) / (double)n; /* bytes of one port */
    out->bound_ns = crossing * 1e9 / (double)r->p.bandwidth;
    out->ratio = (double)out->virtual_ns / out->bound_ns;
    out->frames = after.frames - before.frames;
    out->rows_per_frame =
        (double)(after.rows - before.rows) / (double)out->frames;
    out->wire_per_payload =
        (double)(after.wire_bytes - before.wire_bytes) / (crossing * (double)n);
    out->memory_peak_bytes = after.memory_peak_bytes;
    return WEIR_OK;
}

weir_err wb_simulate_run(const struct wb_simulate_params *params,
                         struct wb_simulate *out, struct weir_error *err)
{
    struct run r = {.p = *params};
    uint64_t begin_ns = wl_now_ns();
    weir_err rc = fill_defaults(&r.p, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = alloc(&r, err);
    if (rc == WEIR_OK) {
        rc = open_sim(&r, err);
    }
    if (rc == WEIR_OK) {
        *out = (struct wb_simulate){.params = r.p};
        rc = measure(&r, out, err);
    }
    free_run(&r);
    out->wall_seconds = (double)(wl_now_ns() - begin_ns) * 1e-9;
    return rc;
}

/* ---- the report ---------------------------------------------------------- */

void wb_simulate_print(const struct wb_simulate *s, FILE *out)
{
    (void)fprintf(
        out,
        "two-stage plan, %u simulated nodes x %" PRIu64 " int64, ports of "
        "%.1f GB/s, %.1f us one way\n"
        "frames of %u bytes, rings of %u; seed %" PRIu64 "\n\n"
        "virtual time       %12.1f us\n"
        "bandwidth bound    %12.1f us\n"
        "ratio              %12.3f\n"
        "rows per frame     %12.1f (%" PRIu64 " frames)\n"
        "wire / payload     %12.3f bytes\n"
        "memory of a node   %12.1f MiB\n"
        "simulated in       %12.1f s\n",
        s->params.nodes, s->params.rows_per_node,
        (double)s->params.bandwidth * 1e-9, (double)s->params.latency_ns * 1e-3,
        s->params.frame_bytes, s->params.ring_frames, s->params.seed,
        (double)s->virtual_ns * 1e-3, s->bound_ns * 1e-3, s->ratio,
        s->rows_per_frame, s->frames, s->wire_per_payload,
        (double)s->memory_peak_bytes / 1048576, s->wall_seconds);
}

weir_err wb_simulate_print_json(const struct wb_simulate *s, FILE *out,
                                struct weir_error *err)
{
    const struct wb_simulate_params *p = &s->params;
    json_t *o = json_pack(
        "{s:s, s:{s:i, s:I, s:I, s:I, s:I, s:I, s:i, s:i}, s:I, s:f, s:f, s:I, "
        "s:f, s:f, s:I, s:f}",
        "benchmark", "sim", "params", "nodes", (int)p->nodes, "rows_per_node",
        (json_int_t)p->rows_per_node, "seed", (json_int_t)p->seed, "bandwidth",
        (json_int_t)p->bandwidth, "latency_ns", (json_int_t)p->latency_ns,
        "jitter_ns", (json_int_t)p->jitter_ns, "frame_bytes",
        (int)p->frame_bytes, "ring_frames", (int)p->ring_frames, "virtual_ns",
        (json_int_t)s->virtual_ns, "bound_ns", s->bound_ns, "ratio", s->ratio,
        "frames", (json_int_t)s->frames, "rows_per_frame", s->rows_per_frame,
        "wire_per_payload", s->wire_per_payload, "memory_peak_bytes",
        (json_int_t)s->memory_peak_bytes, "wall_seconds", s->wall_seconds);
    return wb_report_write(o, out, err);
}
