/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of scan clients on tcp. */
#include "test/conformance/scan_client.h"

static const struct wt_place place = {.transport = "tcp"};

WT_SCAN_CLIENT_CONFORMANCE(scan_client_tcp, &place)
