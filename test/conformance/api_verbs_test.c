/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of the public interface on verbs, on
 * WEIR_TEST_VERBS_ADDR. */
#include "test/conformance/api.h"
#include "test/support/verbs.h"

static struct wt_place place = {.transport = "verbs"};

__attribute__((constructor)) static void on_device(void)
{
    place.listen = wt_verbs_listen();
}

WT_API_CONFORMANCE(api_verbs, &place)
