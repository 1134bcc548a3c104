/* SPDX-License-Identifier: Apache-2.0 */
/* The transport conformance suite on the simulated network; its clock moves
 * when nothing else does. */
#include <stdlib.h>

#include "test/conformance/spi.h"
#include "transport/registry.h"
#include "transport/sim/simnet.h"

static void *net_open(void)
{
    const struct wi_simnet_params params = {
        .ports = WT_SPI_NODES,
        .seed = 7,
        .bandwidth = 12500000000u,
        .latency_ns = 2000,
        .jitter_ns = 500,
        .overhead_bytes = 64,
        .faults = {.again_ppm = 1000, .delay_ppm = 10000, .delay_ns = 50000},
    };
    struct weir_error err = {0};
    struct wi_simport_ref *ref = calloc(1, sizeof(*ref));
    cr_assert_not_null(ref);
    cr_assert_eq(wi_simnet_open(&params, &ref->net, &err), WEIR_OK, "%s",
                 err.message);
    ref->port = WI_SIMPORT_ANY;
    return ref;
}

static void net_close(void *net)
{
    struct wi_simport_ref *ref = net;
    wi_simnet_close(ref->net);
    free(ref);
}

static uint64_t now(void *net)
{
    return wi_simnet_now(((struct wi_simport_ref *)net)->net);
}

static bool pass_time(void *net, struct wi_transport *const *t, uint32_t n)
{
    struct wi_simnet *simnet = ((struct wi_simport_ref *)net)->net;
    uint64_t next = wi_simnet_next(simnet);
    (void)t;
    (void)n;
    if (next == WI_NEVER) {
        return false;
    }
    wi_simnet_advance(simnet, next);
    return true;
}

static const struct wt_spi_fixture fixture = {
    .ops = &wi_sim_ops,
    .net_open = net_open,
    .net_close = net_close,
    .now = now,
    .wait = pass_time,
};

WT_SPI_CONFORMANCE(spi_sim, &fixture)
