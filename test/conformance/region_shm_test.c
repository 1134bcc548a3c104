/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of regions on shm. */
#include "test/conformance/region.h"

static const struct wt_place place = {.transport = "shm"};

WT_REGION_CONFORMANCE(region_shm, &place)
