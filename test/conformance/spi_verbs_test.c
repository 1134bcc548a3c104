/* SPDX-License-Identifier: Apache-2.0 */
/* The transport conformance suite for verbs, on WEIR_TEST_VERBS_ADDR. */
#include "test/conformance/spi.h"
#include "test/support/verbs.h"
#include "transport/registry.h"

static struct wt_spi_fixture fixture = {.ops = &wi_verbs_ops,
                                        .stops_at_end = true};
static struct wt_spi_fixture own_queues = {
    .ops = &wi_verbs_ops, .stops_at_end = true, .net_open = wt_verbs_no_srq};

__attribute__((constructor)) static void on_device(void)
{
    fixture.listen = own_queues.listen = wt_verbs_listen();
    fixture.reads_all = own_queues.reads_all = wt_verbs_is_siw();
}

WT_SPI_CONFORMANCE(spi_verbs, &fixture)
WT_SPI_CONFORMANCE(spi_verbs_no_srq, &own_queues)
