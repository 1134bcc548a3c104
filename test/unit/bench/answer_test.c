/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of different opponents compare as they should. */
#include <criterion/criterion.h>
#include <string.h>

#include "bench/lib/query.h"

static weir_err compare(const char *a, const char *b)
{
    struct weir_error err = {0};
    weir_err rc = wb_answer_compare(a, b, &err);
    cr_assert_eq(wb_answer_compare(b, a, NULL), rc);
    cr_assert(rc == WEIR_OK || err.message[0] != '\0');
    return rc;
}

Test(answer, order_and_line_ends_do_not_matter)
{
    cr_assert_eq(compare("1,a\n2,b\n", "2,b\r\n1,a"), WEIR_OK);
    cr_assert_eq(compare("", ""), WEIR_OK);
}

Test(answer, every_copy_of_a_row_counts)
{
    cr_assert_eq(compare("1\n1\n2\n", "1\n2\n2\n"), WEIR_ERR_INTEGRITY);
    cr_assert_eq(compare("1\n", "1\n1\n"), WEIR_ERR_INTEGRITY);
    cr_assert_eq(compare("", "1\n"), WEIR_ERR_INTEGRITY);
}

Test(answer, a_null_alone_is_a_row)
{
    cr_assert_eq(compare("x\n\n", "x\n\"\"\n"), WEIR_OK);
    cr_assert_eq(compare("x\n\n", "x\n"), WEIR_ERR_INTEGRITY);
}

Test(answer, integers_and_text_are_exact)
{
    cr_assert_eq(compare("10000000\n", "10000001\n"), WEIR_ERR_INTEGRITY);
    cr_assert_eq(compare("x,y\n", "x,z\n"), WEIR_ERR_INTEGRITY);
    cr_assert_eq(compare("1,2\n", "1\n"), WEIR_ERR_INTEGRITY);
}

Test(answer, decimals_are_exact)
{
    cr_assert_eq(compare("1,5.50\n", "1,5.5\n"), WEIR_OK);
    cr_assert_eq(compare("1,5.00\n", "1,5\n"), WEIR_OK);
    cr_assert_eq(compare("1,123456789.01\n", "1,123456789.02\n"),
                 WEIR_ERR_INTEGRITY);
    cr_assert_eq(compare("1,5.003125\n", "1,5.0031247\n"), WEIR_ERR_INTEGRITY);
    cr_assert_eq(compare("1,5.0x\n", "1,5.0y\n"), WEIR_ERR_INTEGRITY);
}

Test(answer, floats_may_differ_in_their_last_digits)
{
    cr_assert_eq(compare("1,5.003125\n", "1,5.0031247e+00\n"), WEIR_OK);
    cr_assert_eq(compare("1,5.0031\n", "1,5.0032e+00\n"), WEIR_ERR_INTEGRITY);
    cr_assert_eq(compare("1,5.0x\n", "1,5.0e+00\n"), WEIR_ERR_INTEGRITY);
}

Test(answer, a_quoted_field_may_hold_a_comma)
{
    cr_assert_eq(compare("\"a,b\",1.0\n", "\"a,b\",1.00\n"), WEIR_OK);
    cr_assert_eq(compare("\" a\",1\n", " a,1\n"), WEIR_OK);
    cr_assert_eq(compare("\"a,1.0\",1\n", "\"a,1.00\",1\n"),
                 WEIR_ERR_INTEGRITY);
}
