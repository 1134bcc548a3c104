/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of the public interface on auto. */
#include "test/conformance/api.h"

static const struct wt_place place = {.transport = "auto"};

WT_API_CONFORMANCE(api_auto, &place)
