/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/link/members.h"

/* This many more copies of texts succeed; the next one fails. */
static _Thread_local uint32_t copies_left = UINT32_MAX;

/* In place of libc's. */
char *strdup(const char *text)
{
    if (copies_left == 0) {
        return NULL;
    }
    copies_left -= copies_left != UINT32_MAX;
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

static weir_err join(weir_node *node, struct weir_error *err)
{
    const struct weir_member members[] = {
        {.name = "n0", .address = weir_node_address(node), .workers = 1},
        {.name = "n1", .address = "tcp:127.0.0.1:9", .workers = 1},
    };
    return weir_node_join(node, members, 2, err);
}

/* A copy that failed was taken for a name, which the first message printed. */
Test(members, no_memory_for_a_name_is_an_error_and_join_may_be_tried_again)
{
    struct weir_node_params params = {
        .name = "n0", .transport = "tcp", .listen = "127.0.0.1:0"};
    struct weir_error err;
    weir_node *node = NULL;
    cr_assert_eq(weir_node_open(&params, &node, &err), WEIR_OK, "%s",
                 err.message);
    for (uint32_t n = 0; n < 4; n++) {
        copies_left = n;
        cr_expect_eq(join(node, &err), WEIR_ERR_NO_MEMORY, "copy %u", n);
        cr_expect_eq(weir_node_members(node), 0, "copy %u", n);
    }
    copies_left = UINT32_MAX;
    cr_assert_eq(join(node, &err), WEIR_OK, "%s", err.message);
    cr_expect_str_eq(wi_member_name(&node->engine, 1), "n1");
    weir_node_close(node);
}
