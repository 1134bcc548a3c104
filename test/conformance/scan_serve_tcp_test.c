/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of scan servers on tcp. */
#include "test/conformance/scan_serve.h"

static const struct wt_place place = {.transport = "tcp"};

WT_SCAN_SERVE_CONFORMANCE(scan_serve_tcp, &place)
