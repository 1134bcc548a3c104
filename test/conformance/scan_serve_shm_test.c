/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of scan servers on shm. */
#include "test/conformance/scan_serve.h"

static const struct wt_place place = {.transport = "shm"};

WT_SCAN_SERVE_CONFORMANCE(scan_serve_shm, &place)
