/* SPDX-License-Identifier: Apache-2.0 */
/* Types of CSV columns: whatever is not text comes back as the text it was. */
#include "operators/table/csv_type.h"

#include <criterion/criterion.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

Test(csv_type, every_day_of_ten_millennia_comes_back)
{
    char text[WI_CSV_VALUE_BYTES];
    char last[WI_CSV_VALUE_BYTES] = "";
    int64_t first;
    int64_t end;
    int64_t days;
    cr_assert(wi_csv_parse_date32("0000-01-01", 10, &first));
    cr_assert(wi_csv_parse_date32("9999-12-31", 10, &end));
    cr_assert(wi_csv_parse_date32("1970-01-01", 10, &days));
    cr_assert_eq(days, 0);
    cr_assert(wi_csv_parse_date32("2000-03-01", 10, &days));
    cr_assert_eq(days, 11017);
    cr_assert_eq(end - first, 3652424);
    for (int64_t d = first; d <= end; d++) {
        cr_assert_eq(wi_csv_print_date32(d, text), 10);
        cr_assert(wi_csv_parse_date32(text, 10, &days), "%.10s", text);
        cr_assert_eq(days, d);
        cr_assert_gt(memcmp(text, last, 10), 0); /* in order, none twice */
        memcpy(last, text, 10);
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11;
}

/* The C library, asked in the same way, is the judge. */
static size_t print_slowly(double value, char *text)
{
    const bool dense = fabs(value) >= DBL_MIN || value == 0;
    int n = 0;
    for (int digits = dense ? 15 : 1; digits <= 17; digits++) {
        n = snprintf(text, 64, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    return (size_t)n;
}

static void expect_as_library(double value)
{
    char fast[WI_CSV_VALUE_BYTES];
    char slow[64];
    size_t len = wi_csv_print_float64(value, fast);
    size_t expected = print_slowly(value, slow);
    cr_assert(len == expected && memcmp(fast, slow, len) == 0,
              "%.17g: \"%.*s\", not \"%s\"", value, (int)len, fast, slow);
}

Test(csv_type, short_decimals_print_and_parse_as_the_c_library_does)
{
    uint64_t state = 1;
    char text[WI_CSV_VALUE_BYTES];
    for (int i = 0; i < 200000; i++) {
        int digits = 1 + (int)(next_random(&state) % 15);
        int decimals = (int)(next_random(&state) % (uint64_t)(digits + 1));
        uint64_t n = next_random(&state);
        for (int d = digits; d < 16; d++) {
            n /= 10;
        }
        double value = (double)n;
        for (int d = 0; d < decimals; d++) {
            value /= 10; /* often not the nearest to a short decimal */
        }
        (void)snprintf(text, sizeof(text), "%.*f", decimals, value);
        double parsed;
        cr_assert(wi_csv_parse_float64(text, strlen(text), &parsed), "%s",
                  text);
        cr_assert_eq(parsed, strtod(text, NULL), "%s", text);
        expect_as_library(parsed);
        expect_as_library(-parsed);
        expect_as_library(value);
    }
}

Test(csv_type, any_double_prints_as_the_c_library_does)
{
    uint64_t state = 2;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = next_random(&state) << 11 ^ next_random(&state);
        double value;
        memcpy(&value, &bits, sizeof(value));
        if (value == value && value - value == 0) { /* finite */
            expect_as_library(value);
        }
    }
    expect_as_library(0.0);
    expect_as_library(-0.0);
    expect_as_library(1e-4);
    expect_as_library(9.9999999999999e-5);
    expect_as_library(1e15);
    expect_as_library(999999999999999.0);
    expect_as_library(0.3);
    expect_as_library(0.1 + 0.2);
}

Test(csv_type, integers_come_back_at_their_limits)
{
    static const int64_t values[] = {0, 1, -1, INT64_MAX, INT64_MIN, 1000000};
    char text[WI_CSV_VALUE_BYTES];
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        int64_t again = 7;
        char expected[WI_CSV_VALUE_BYTES];
        (void)snprintf(expected, sizeof(expected), "%" PRId64, values[i]);
        size_t len = wi_csv_print_int64(values[i], text);
        cr_assert_eq(len, strlen(expected));
        cr_assert_eq(memcmp(text, expected, len), 0);
        cr_assert(wi_csv_parse_int64(text, len, &again));
        cr_assert_eq(again, values[i]);
    }
}
