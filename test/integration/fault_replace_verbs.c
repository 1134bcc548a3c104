/* SPDX-License-Identifier: Apache-2.0 */
/* As fault_replace, over verbs, on WEIR_TEST_VERBS_ADDR. */
#define REPLACE_ON_VERBS 1
#include "test/integration/fault_replace.c"

#include "test/support/verbs.h"

__attribute__((constructor)) static void on_device(void)
{
    listen_at = wt_verbs_listen();
}

REPLACE_TESTS(verbs)
