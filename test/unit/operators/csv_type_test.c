/* SPDX-License-Identifier: Apache-2.0 */
/* Types of CSV columns: whatever is not text comes back as the text it was. */
#include "operators/table/csv_type.h"

#include <criterion/criterion.h>
#include <string.h>

static struct wi_type guess(const char *const *texts)
{
    struct wi_csv_guess g = {.seen = false};
    for (; *texts != NULL; texts++) {
        wi_csv_guess_add(&g, *texts, strlen(*texts));
    }
    return wi_csv_guess_type(&g);
}

static void expect_type(const char *expected, const char *const *texts,
                        const char *what)
{
    char text[WI_TYPE_TEXT_BYTES];
    const struct wi_type type = guess(texts);
    cr_expect_str_eq(wi_type_text(&type, text), expected, "column of %s: %s",
                     what, text);
}

#define EXPECT_TYPE(expected_, ...)                                            \
    expect_type(expected_, (const char *const[]){__VA_ARGS__, NULL},           \
                #__VA_ARGS__)

Test(csv_type, a_column_has_the_narrowest_type_that_keeps_its_texts)
{
    EXPECT_TYPE("int64", "1", "-5", "0");
    EXPECT_TYPE("int64", "9223372036854775807", "-9223372036854775808");
    EXPECT_TYPE("bool", "true", "false");
    EXPECT_TYPE("date", "2024-02-29", "0000-01-01", "9999-12-31");
    EXPECT_TYPE("utf8", "2024-02-29", "12345-01-02");
    EXPECT_TYPE("float64", "1.5", "2");
    EXPECT_TYPE("float64", "1.5", "2.25");
    EXPECT_TYPE("float64", "0.1", "1e+20", "1e-07");
    EXPECT_TYPE("float64", "-0");
}

Test(csv_type, as_many_decimals_everywhere_make_an_exact_column)
{
    EXPECT_TYPE("decimal(18,1)", "1.5");
    EXPECT_TYPE("decimal(18,2)", "1.50", "-2.00", "0.00", "80000.05");
    EXPECT_TYPE("decimal(18,2)", "9999999999999999.99");
    EXPECT_TYPE("decimal(38,2)", "1.50", "10000000000000000.00");
    EXPECT_TYPE("decimal(18,18)", "0.123456789012345678");
    EXPECT_TYPE("decimal(38,1)", "12345678901234567890.5");
    EXPECT_TYPE("decimal(38,1)", "1234567890123456789012345678901234567.5");
    EXPECT_TYPE("utf8", "12345678901234567890123456789012345678.5");
    /* Each fits 38 digits, both together do not. */
    EXPECT_TYPE("utf8", "0.0000000000000000000000000000000000001",
                "12.0000000000000000000000000000000000001");
    EXPECT_TYPE("utf8", "-0.00", "0.01");
}

Test(csv_type, timestamps_have_the_unit_of_their_fractions)
{
    EXPECT_TYPE("timestamp(us)", "2013-07-01 12:30:00", "0000-01-01 00:00:00",
                "9999-12-31 23:59:59");
    EXPECT_TYPE("timestamp(ms)", "2013-07-01 12:30:00",
                "2013-07-01 12:30:00.5"
                "00");
    EXPECT_TYPE("timestamp(us)", "2013-07-01 12:30:00.000001");
    EXPECT_TYPE("timestamp(ns)", "2013-07-01 12:30:00.000000001",
                "1700-01-01 00:00:00");
    EXPECT_TYPE("utf8", "2013-07-01 12:30:00.000000001", "1600-01-01 00:00:00");
    EXPECT_TYPE("utf8", "2013-07-01 12:30:00.500", "2013-07-01 12:30:00.000");
    EXPECT_TYPE("utf8", "2013-07-01 12:30:00.500",
                "2013-07-01 12:30:00.500000");
    EXPECT_TYPE("utf8", "2013-07-01 12:30:00.5");
    EXPECT_TYPE("utf8", "2013-07-01 12:30:00.");
    EXPECT_TYPE("utf8", "2013-07-01 12:30:00Z");
    EXPECT_TYPE("utf8", "2013-07-01 12:30:00.25Z");
    EXPECT_TYPE("utf8", "2013-07-01 12:30.123456");
    EXPECT_TYPE("utf8", "2013-07-01T12:30:00");
    EXPECT_TYPE("utf8", "2013-07-01 12:30");
    EXPECT_TYPE("utf8", "2013-07-01 24:00:00");
    EXPECT_TYPE("utf8", "2013-02-29 12:30:00");
    EXPECT_TYPE("utf8", "2013-07-01", "2013-07-01 12:30:00");
    EXPECT_TYPE("utf8", "2013-07-01 12:30:00", "12");
}

Test(csv_type, texts_that_would_change_stay_texts)
{
    EXPECT_TYPE("utf8", "007");
    EXPECT_TYPE("utf8", "+1");
    EXPECT_TYPE("utf8", " 1");
    EXPECT_TYPE("utf8", "1 ");
    EXPECT_TYPE("utf8", "1.50", "1.5");
    EXPECT_TYPE("utf8", "1.50", "2");
    EXPECT_TYPE("utf8", "00.5");
    EXPECT_TYPE("utf8", ".5");
    EXPECT_TYPE("utf8", "5.");
    EXPECT_TYPE("utf8", "1e5");
    EXPECT_TYPE("utf8", "0.00001", "1.5");
    EXPECT_TYPE("utf8", "nan");
    EXPECT_TYPE("utf8", "inf");
    EXPECT_TYPE("utf8", "0x10");
    EXPECT_TYPE("utf8", "TRUE");
    EXPECT_TYPE("utf8", "1", "true");
    EXPECT_TYPE("utf8", "9223372036854775808");
    EXPECT_TYPE("utf8", "");
    EXPECT_TYPE("utf8", "-");
    EXPECT_TYPE("utf8", "2023-02-29");
    EXPECT_TYPE("utf8", "2024-13-01");
    EXPECT_TYPE("utf8", "2024-1-01");
    EXPECT_TYPE("utf8", "2024-04-31");
}

Test(csv_type, a_late_value_changes_the_type_of_all)
{
    struct wi_csv_guess g = {.seen = false};
    for (int i = 0; i < 100000; i++) {
        wi_csv_guess_add(&g, "12", 2);
    }
    cr_assert_eq(wi_csv_guess_type(&g).kind, WI_TYPE_INT64);
    wi_csv_guess_add(&g, "1.5", 3);
    cr_assert_eq(wi_csv_guess_type(&g).kind, WI_TYPE_FLOAT64);
    wi_csv_guess_add(&g, "x", 1);
    cr_assert_eq(wi_csv_guess_type(&g).kind, WI_TYPE_UTF8);
}

Test(csv_type, nulls_are_noted_and_do_not_decide)
{
    struct wi_csv_guess g = {.seen = false};
    wi_csv_guess_add(&g, NULL, 0);
    cr_assert_eq(wi_csv_guess_type(&g).kind, WI_TYPE_UTF8);
    wi_csv_guess_add(&g, "5", 1);
    cr_assert_eq(wi_csv_guess_type(&g).kind, WI_TYPE_INT64);
    cr_assert(wi_csv_guess_type(&g).nullable);
}

Test(csv_type, a_nul_byte_is_no_end_of_a_number)
{
    struct wi_csv_guess g = {.seen = false};
    wi_csv_guess_add(&g, "1.5\0", 4);
    cr_assert_eq(wi_csv_guess_type(&g).kind, WI_TYPE_UTF8);
}
