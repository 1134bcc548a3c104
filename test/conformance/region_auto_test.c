/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of regions on auto. */
#include "test/conformance/region.h"

static const struct wt_place place = {.transport = "auto"};

WT_REGION_CONFORMANCE(region_auto, &place)
WT_REGION_THREAD_CASES(WT_REGION_TEST, region_auto, &place)
