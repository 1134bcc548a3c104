/* SPDX-License-Identifier: Apache-2.0 */
/* The transport conformance suite for auto, over each of its parts. */
#include "test/conformance/spi.h"
#include "transport/registry.h"

static const struct wt_spi_fixture over_shm = {.ops = &wi_auto_ops,
                                               .ep_ops = &wi_shm_ops};
static const struct wt_spi_fixture over_tcp = {
    .ops = &wi_auto_ops, .ep_ops = &wi_tcp_ops, .listen = "tcp=127.0.0.1:0"};

WT_SPI_CONFORMANCE(spi_auto_over_shm, &over_shm)
WT_SPI_CONFORMANCE(spi_auto_over_tcp, &over_tcp)
