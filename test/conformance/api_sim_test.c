/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of the public interface on sim. */
#include "test/conformance/api.h"

static const struct wt_place place = {.transport = "sim", .sim = true};

WT_API_CONFORMANCE_SIM(api_sim, &place)
