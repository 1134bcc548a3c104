/* SPDX-License-Identifier: Apache-2.0 */
/* Two processes: the owner of a region, and its reader, which does all of the
 * measuring. */
#define _GNU_SOURCE 1
#include "bench/lib/get.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/get_read.h"
#include "bench/lib/median.h"
#include "core/base/atomic.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "launch/group.h"
#include "launch/nodes.h"

#define MIB UINT64_C(1048576)
#define PAGE_BYTES 4096u
#define LOOK_NS UINT64_C(10000000)

/* In shared memory. */
struct shared {
    char address[2][WL_ADDRESS_BYTES];
    _Atomic uint32_t over; /* written by: the reader */
    /* written by: the reader */
    struct wb_get_figures runs[WB_GET_SIZES][WB_GET_WAYS][WB_GET_REPEAT];
};

/* One of the two processes. */
struct end {
    struct wl_group *group;
    const struct wb_get_params *params;
    struct shared *shared;
    weir_node *node;
};

/* ---- the owner ----------------------------------------------------------- */

static weir_err publish(struct end *e, weir_region **out,
                        struct weir_error *err)
{
    const struct weir_region_params params = {
        .kind = WEIR_REGION_NEW,
        .bytes = e->params->region_bytes,
    };
    weir_err rc = weir_region_open(e->node, &params, out, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    uint64_t *words = weir_region_base(*out);
    for (uint64_t k = 0; k < params.bytes / 8; k++) {
        words[k] = wb_get_word(k);
    }
    return weir_region_publish(*out, &wb_get_name, err);
}

static weir_err own(struct end *e, struct weir_error *err)
{
    weir_region *region = NULL;
    weir_err rc = publish(e, &region, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wl_group_meet(e->group);
    if (e->params->attend) {
        /* rlx: nothing else is read */
        while (wi_load_rlx(&e->shared->over) == 0) {
            (void)weir_worker_wait(e->node, 0, LOOK_NS);
        }
    }
    wl_group_meet(e->group);
    weir_region_close(region);
    return WEIR_OK;
}

/* ---- the reader ---------------------------------------------------------- */

static weir_err measure(struct wb_gets *g, struct wb_get_figures *out,
                        struct weir_error *err)
{
    weir_err rc = wb_gets_check(g, err);
    if (rc == WEIR_OK) {
        rc = wb_gets_single(g, out, err);
    }
    return rc == WEIR_OK ? wb_gets_many(g, out, err) : rc;
}

static weir_err run_all(struct end *e, struct wb_gets *g,
                        struct weir_error *err)
{
    const struct wb_get_params *p = e->params;
    weir_err rc = WEIR_OK;
    for (uint32_t k = 0; k < p->repeat; k++) {
        for (uint32_t i = 0; rc == WEIR_OK && i < p->n_sizes; i++) {
            for (uint32_t way = 0; rc == WEIR_OK && way < WB_GET_WAYS; way++) {
                g->bytes = p->sizes[i];
                g->way = (enum wb_get_way)way;
                rc = measure(g, &e->shared->runs[i][way][k], err);
            }
        }
    }
    return rc;
}

static uint64_t largest(const struct wb_get_params *p)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < p->n_sizes; i++) {
        most = wi_max_u64(most, p->sizes[i]);
    }
    return most;
}

static weir_err read_with(struct end *e, struct wb_gets *g,
                          struct weir_error *err)
{
    uint64_t room = largest(e->params) * e->params->in_flight;
    const struct weir_fetch_params params = {
        .max_bytes = wi_max_u64(room, 16 * MIB),
    };
    g->to = aligned_alloc(PAGE_BYTES, wi_align_up(room, PAGE_BYTES));
    if (g->to == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "no memory for %" PRIu64 " bytes", room);
    }
    memset(g->to, 1, room); /* its pages are there */
    weir_err rc = weir_peer_open(e->node, e->shared->address[0], &g->peer, err);
    if (rc == WEIR_OK) {
        rc = weir_fetch_open(e->node, &params, &g->fetch, err);
    }
    if (rc == WEIR_OK) {
        rc = run_all(e, g, err);
    }
    weir_fetch_close(g->fetch);
    weir_peer_close(g->peer);
    free(g->to);
    return rc;
}

static weir_err read_region(struct end *e, struct weir_error *err)
{
    struct wb_gets g = {.params = e->params, .node = e->node};
    wl_group_meet(e->group);
    weir_err rc = read_with(e, &g, err);
    if (rc != WEIR_OK) {
        return rc; /* ends the other one, too */
    }
    wi_store_rlx(&e->shared->over, 1); /* rlx: see own() */
    wl_group_meet(e->group);
    return WEIR_OK;
}

static weir_err member(struct wl_group *group, uint32_t self, void *arg,
                       struct weir_error *err)
{
    const struct wb_get_params *p = arg;
    struct end e = {
        .group = group,
        .params = p,
        .shared = wl_group_shared(group),
    };
    const struct wl_nodes nodes = {
        .kind = "get",
        .n = 2,
        .address = e.shared->address,
        .params = {.transport = p->transport,
                   .listen = p->listen,
                   .memory_bytes = 2 * p->region_bytes + 512 * MIB},
    };
    weir_err rc = wl_nodes_open(&nodes, self, &e.node, err);
    if (rc == WEIR_OK) {
        rc = self == 0 ? own(&e, err) : read_region(&e, err);
        wl_nodes_close(e.node);
    }
    return rc;
}

/* ---- the parent ---------------------------------------------------------- */

static double median_of(const struct wb_get_figures *runs, uint32_t n,
                        size_t at)
{
    double v[WB_GET_REPEAT];
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&v[i], (const char *)&runs[i] + at, sizeof(v[i]));
    }
    return wb_spread_of(v, n).median;
}

static void summarise(const struct shared *s, const struct wb_get_params *p,
                      struct wb_get *out)
{
    out->params = *p;
    for (uint32_t i = 0; i < p->n_sizes; i++) {
        for (uint32_t way = 0; way < WB_GET_WAYS; way++) {
            const struct wb_get_figures *runs = s->runs[i][way];
#define MEDIAN(member)                                                         \
    median_of(runs, p->repeat, offsetof(struct wb_get_figures, member))
            out->figures[i][way] = (struct wb_get_figures){
                .mean_ns = MEDIAN(mean_ns),
                .median_ns = MEDIAN(median_ns),
                .p99_ns = MEDIAN(p99_ns),
                .mb_per_s = MEDIAN(mb_per_s),
            };
#undef MEDIAN
        }
    }
}

static void set_defaults(struct wb_get_params *p)
{
    static const uint64_t sizes[] = {8, 4096, 65536, MIB};
    if (p->n_sizes == 0) {
        memcpy(p->sizes, sizes, sizeof(sizes));
        p->n_sizes = 4;
    }
    p->transport = p->transport != NULL ? p->transport : "shm";
    p->region_bytes = p->region_bytes != 0 ? p->region_bytes : 64 * MIB;
    p->span = p->span != 0 ? p->span : p->region_bytes;
    p->in_flight = p->in_flight != 0 ? p->in_flight : 16;
    p->repeat = p->repeat != 0 ? p->repeat : 5;
    p->ms = p->ms != 0 ? p->ms : 50;
}

static weir_err check_params(const struct wb_get_params *p,
                             struct weir_error *err)
{
    if (p->n_sizes > WB_GET_SIZES || p->in_flight > WB_GET_IN_FLIGHT ||
        p->repeat > WB_GET_REPEAT || p->ms > 10000) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "%u sizes, %u in flight, %u runs of %u ms: at most "
                       "%u, %u, %u, 10000",
                       p->n_sizes, p->in_flight, p->repeat, p->ms, WB_GET_SIZES,
                       WB_GET_IN_FLIGHT, WB_GET_REPEAT);
    }
    if (p->region_bytes % 8 != 0 || p->span > p->region_bytes ||
        p->span >> 35 != 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "a span of %" PRIu64 " in a region of %" PRIu64
                       ": 32 GiB at most, multiples of 8",
                       p->span, p->region_bytes);
    }
    for (uint32_t i = 0; i < p->n_sizes; i++) {
        uint64_t bytes = p->sizes[i];
        if (bytes == 0 || bytes % 8 != 0 || bytes > p->span) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "gets of %" PRIu64 " bytes; must be 8..%" PRIu64
                           " (the span), a multiple of 8",
                           bytes, p->span);
        }
    }
    return WEIR_OK;
}

weir_err wb_get_run(const struct wb_get_params *params, struct wb_get *out,
                    struct weir_error *err)
{
    struct wb_get_params p = *params;
    set_defaults(&p);
    weir_err rc = check_params(&p, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    const struct wl_group_params gp = {
        .members = 2,
        .shared_bytes = sizeof(struct shared),
        .timeout_ns = p.timeout_ns,
    };
    struct wl_group *group = NULL;
    rc = wl_group_open(&gp, &group, err);
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
