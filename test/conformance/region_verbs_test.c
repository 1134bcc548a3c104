/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of regions on verbs, on WEIR_TEST_VERBS_ADDR. */
#include "test/conformance/region.h"
#include "test/support/verbs.h"

static struct wt_place place = {.transport = "verbs"};

__attribute__((constructor)) static void on_device(void)
{
    place.listen = wt_verbs_listen();
}

WT_REGION_CONFORMANCE(region_verbs, &place)
WT_REGION_THREAD_CASES(WT_REGION_TEST, region_verbs, &place)
