/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "core/query/describe.h"

Test(describe, parts_that_differ_are_named)
{
    char text[WI_TEXT_BYTES];
    wi_shuffle_difference("n0", "hash by a; seed 1; columns a l", "n1",
                          "hash by a; seed 2; columns a l", text, sizeof(text));
    cr_assert_str_eq(text, "seed 1 on n0, seed 2 on n1");
}

/* Bounds are in the fingerprint and in no description. */
Test(describe, equal_descriptions_are_shown)
{
    char text[WI_TEXT_BYTES];
    wi_shuffle_difference("n0", "range by a; seed 1; columns a l", "n1",
                          "range by a; seed 1; columns a l", text,
                          sizeof(text));
    cr_assert_str_eq(text, "n0 and n1, in the bounds or beyond what is shown "
                           "of both: range by a; seed 1; columns a l");
}
