/* SPDX-License-Identifier: Apache-2.0 */
/* The transport conformance suite for auto over verbs. */
#include <stdio.h>

#include "test/conformance/spi.h"
#include "test/support/verbs.h"
#include "transport/registry.h"

static char listen_at[80];
static struct wt_spi_fixture fixture = {.ops = &wi_auto_ops,
                                        .ep_ops = &wi_verbs_ops,
                                        .listen = listen_at,
                                        .stops_at_end = true};

__attribute__((constructor)) static void on_device(void)
{
    snprintf(listen_at, sizeof(listen_at), "verbs=%s", wt_verbs_listen());
    fixture.reads_all = wt_verbs_is_siw();
}

WT_SPI_CONFORMANCE(spi_auto_verbs, &fixture)
