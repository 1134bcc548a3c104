/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of the public interface on shm. */
#include "test/conformance/api.h"

static const struct wt_place place = {.transport = "shm"};

WT_API_CONFORMANCE(api_shm, &place)
