/* SPDX-License-Identifier: Apache-2.0 */
/* The transport conformance suite for tcp with TLS. */
#include "test/conformance/spi.h"
#include "transport/registry.h"

static const struct wi_psks psks = {.n = 1, .of = {{{1}, {2}}}};
static const struct wi_tls_params tls = {.psks = &psks};
static const struct wt_spi_fixture fixture = {.ops = &wi_tcp_ops, .tls = &tls};

WT_SPI_CONFORMANCE(spi_tls, &fixture)
