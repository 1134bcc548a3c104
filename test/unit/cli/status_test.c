/* SPDX-License-Identifier: Apache-2.0 */
/* The table of docs/command.md. */
#include "cli/status.h"

#include <criterion/criterion.h>

Test(status, bad_data_are_bad_input_at_any_time)
{
    cr_expect_eq(status_of(WEIR_ERR_DATA), 3);
    cr_expect_eq(status_of(WEIR_ERR_QUERY_DATA), 3);
    cr_expect_eq(status_of_input(WEIR_ERR_DATA), 3);
    cr_expect_eq(status_of_input(WEIR_ERR_NOT_FOUND), 3);
    cr_expect_eq(status_of_input(WEIR_ERR_ARG), 3);
    cr_expect_eq(status_of_input(WEIR_ERR_SYSTEM), 3);
}

Test(status, what_the_machine_lacks_is_never_bad_input)
{
    static const weir_err codes[] = {WEIR_ERR_NO_MEMORY, WEIR_ERR_BUDGET,
                                     WEIR_ERR_SYSTEM,    WEIR_ERR_TIMEOUT,
                                     WEIR_ERR_DEADLINE,  WEIR_ERR_QUERY_MEMORY,
                                     WEIR_ERR_PEER_LOST, WEIR_ERR_NODE};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        cr_expect_eq(status_of(codes[i]), 1, "%s", weir_err_name(codes[i]));
    }
    cr_expect_eq(status_of_input(WEIR_ERR_NO_MEMORY), 1);
}

Test(status, done_is_done_and_a_closed_pipe_is_what_a_shell_says)
{
    cr_expect_eq(status_of(WEIR_OK), 0);
    cr_expect_eq(status_of_input(WEIR_OK), 0);
    cr_expect_eq(status_of(WEIR_DONE), 141);
}
