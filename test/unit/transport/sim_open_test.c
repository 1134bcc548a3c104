/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a simulated network: which of them can be. */
#include <criterion/criterion.h>

#include <string.h>

#include "core/transport.h"
#include "transport/registry.h"
#include "transport/sim/simnet.h"

static void refused(const struct wi_transport_params *params, const char *why)
{
    struct weir_error err = {0};
    struct wi_transport *t = NULL;
    cr_expect_eq(wi_sim_ops.open(params, &t, &err), WEIR_ERR_ARG, "%s", why);
    cr_expect_null(t, "%s", why);
    cr_expect_not_null(strstr(err.message, why), "no \"%s\" in: %s", why,
                       err.message);
}

Test(sim_open, a_node_is_at_a_port_of_a_network_alone)
{
    const struct wi_simnet_params net = {
        .ports = 2, .seed = 1, .bandwidth = 1000000000, .latency_ns = 2000};
    struct wi_simport_ref ref = {NULL, 0};
    struct wi_transport_params params = {.name = "any"};
    struct weir_error err = {0};
    struct wi_transport *t[3] = {NULL};
    refused(&params, "no network was given");
    params.arg = &ref;
    refused(&params, "no network was given");
    cr_assert_eq(wi_simnet_open(&net, &ref.net, &err), WEIR_OK);
    ref.port = 2;
    refused(&params, "only 2 ports");
    ref.port = 1;
    params.advertise = "somewhere";
    refused(&params, "ports alone");
    params.advertise = NULL;
    cr_assert_eq(wi_sim_ops.open(&params, &t[0], &err), WEIR_OK);
    refused(&params, "port 1 is taken");
    ref.port = WI_SIMPORT_ANY;
    cr_assert_eq(wi_sim_ops.open(&params, &t[1], &err), WEIR_OK);
    refused(&params, "only 2 ports");
    wi_sim_ops.close(t[0]);
    wi_sim_ops.close(t[1]);
    wi_simnet_close(ref.net);
}
