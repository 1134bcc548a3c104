/* SPDX-License-Identifier: Apache-2.0 */
/* The transport conformance suite for the bench's transport of blocking
 * sockets: what is compared with has to be right, too. */
#include "bench/opponents/sockets_transport.h"
#include "test/conformance/spi.h"

static const struct wt_spi_fixture fixture = {.ops = &wb_sockets_transport};

WT_SPI_CONFORMANCE(spi_sockets, &fixture)
