/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of regions on tcp. */
#include "test/conformance/region.h"

static const struct wt_place place = {.transport = "tcp"};

WT_REGION_CONFORMANCE(region_tcp, &place)
WT_REGION_THREAD_CASES(WT_REGION_TEST, region_tcp, &place)
