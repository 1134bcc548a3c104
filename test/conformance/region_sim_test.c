/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of regions on sim. */
#include "test/conformance/region.h"

static const struct wt_place place = {.transport = "sim", .sim = true};

WT_REGION_CONFORMANCE_SIM(region_sim, &place)
