/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that the system refuses at once. */
#include <criterion/criterion.h>

#include <string.h>

#include "core/transport.h"
#include "transport/registry.h"

/* No TCP to a broadcast address: connect(2) itself says so. */
Test(tcp_connect, what_the_system_refuses_is_closed_with_its_reason)
{
    const struct wi_transport_params params = {.name = "any"};
    struct weir_error err = {0};
    struct wi_transport *t = NULL;
    struct wi_ep *ep = NULL;
    struct wi_event ev = {0};
    cr_assert_eq(wi_tcp_ops.open(&params, &t, &err), WEIR_OK, "%s",
                 err.message);
    weir_err rc = wi_tcp_ops.connect(t, "tcp:255.255.255.255:9", &ep, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    cr_assert_eq(wi_tcp_ops.poll(t, 1, &ev, 1), 1);
    cr_assert_eq(ev.kind, WI_EV_CLOSED);
    cr_assert_eq(ev.ep, ep);
    cr_assert_eq(strncmp(ev.reason, "connect to 255.255.255.255:9: ", 30), 0,
                 "%s", ev.reason);
    wi_tcp_ops.disconnect(ep);
    wi_tcp_ops.close(t);
}
