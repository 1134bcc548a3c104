/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of regions on tcp. */
#include "test/conformance/region.h"

static const struct wt_place place = {.transport = "tcp"};

WT_REGION_CONFORMANCE(region_tcp, &place)
