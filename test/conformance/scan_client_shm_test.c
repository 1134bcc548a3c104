/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of scan clients on shm. */
#include "test/conformance/scan_client.h"

static const struct wt_place place = {.transport = "shm"};

WT_SCAN_CLIENT_CONFORMANCE(scan_client_shm, &place)
