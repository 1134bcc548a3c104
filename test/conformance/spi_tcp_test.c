/* SPDX-License-Identifier: Apache-2.0 */
/* The transport conformance suite for tcp. */
#include "test/conformance/spi.h"
#include "transport/registry.h"

static const struct wt_spi_fixture fixture = {.ops = &wi_tcp_ops};

WT_SPI_CONFORMANCE(spi_tcp, &fixture)
