/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of regions on shm. */
#include "test/conformance/region.h"

static const struct wt_place place = {.transport = "shm"};

WT_REGION_CONFORMANCE(region_shm, &place)
WT_REGION_MAP_CASES(WT_REGION_TEST, region_shm, &place)
WT_REGION_THREAD_CASES(WT_REGION_TEST, region_shm, &place)
