/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that waits for SIGUSR1. */
#include <criterion/criterion.h>

#include <weir/node.h>

#include "launch/ask.h"

/* Also where the signal that ends it comes before it waits, in a process whose
 * threads do not keep it off. */
Test(ask, thread_ends_with_the_last_node, .timeout = 60)
{
    struct weir_error err;
    weir_node *node;
    cr_assert_eq(weir_node_open(NULL, &node, &err), WEIR_OK, "%s", err.message);
    wl_ask_begin();
    for (int i = 0; i < 500; i++) {
        cr_assert_eq(wl_ask_node(node, &err), WEIR_OK, "%s", err.message);
        wl_ask_forget(node);
    }
    weir_node_close(node);
}
