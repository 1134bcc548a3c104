/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of the public interface on tcp. */
#include "test/conformance/api.h"

static const struct wt_place place = {.transport = "tcp"};

WT_API_CONFORMANCE(api_tcp, &place)
