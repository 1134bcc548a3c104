/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite for the transport "shm". */
#include "test/conformance/spi.h"

extern const struct wi_transport_ops wi_shm_ops;

static const struct wt_spi_fixture fixture = {.ops = &wi_shm_ops};

WT_SPI_CONFORMANCE(spi_shm, &fixture)
