/* SPDX-License-Identifier: Apache-2.0 */
/* As fault_kill, over verbs, on WEIR_TEST_VERBS_ADDR. */
#define KILL_ON_VERBS 1
#include "test/integration/fault_kill.c"

#include "test/support/verbs.h"

__attribute__((constructor)) static void on_device(void)
{
    listen_at = wt_verbs_listen();
}

KILL_TESTS(verbs)
