/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/err.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

/* Names and paths come from outside. */
static const char quoted[] = "a\nb\tc\x1b[31m\x7f gr\xc3\xbc\xc3\x9f";

Test(err, a_message_has_one_line_whatever_it_quotes)
{
    struct weir_error err;
    cr_assert_eq(wi_fail(&err, WEIR_ERR_ARG, "no \"%s\"", quoted),
                 WEIR_ERR_ARG);
    cr_assert_str_eq(err.message, "no \"a?b?c?[31m? gr\xc3\xbc\xc3\x9f\"");
}

Test(err, a_message_of_the_system_has_one_line_too)
{
    struct weir_error err;
    cr_assert_eq(wi_fail_errno(&err, ENOENT, "open %s", quoted),
                 WEIR_ERR_SYSTEM);
    cr_assert_null(strpbrk(err.message, "\n\t\x1b\x7f"), "%s", err.message);
}
