/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic and casts at the ends of their types. */
#include <criterion/criterion.h>
#include <string.h>

#include "test/support/expr.h"

#define NINES38 "99999999999999999999999999999999999999"

static const char *const columns[][2] = {
    {"least", "int64"},         {"most", "int64"},
    {"one", "int64"},           {"small", "int32"},
    {"big", "uint64"},          {"dec18", "decimal(18,0)"},
    {"dec38", "decimal(38,0)"}, {"cents", "decimal(18,2)"},
    {"huge", "float64"},        {"nan", "float64"},
    {"last", "date"},           {"late", "timestamp(s)"},
    {"none", "int64?"},         {"wide", "decimal(38,10)"},
};

static const char *const values[] = {
    "-9223372036854775808",
    "9223372036854775807",
    "1",
    "-2147483648",
    "18446744073709551615",
    "999999999999999999",
    NINES38,
    "9999999999999999.99",
    "1.7976931348623157e308",
    "nan",
    "9999-12-31",
    "9999-12-31 23:59:59",
    NULL,
    "9999999999999999999999999999.9999999999",
};

static struct wt_expr_rows rows;

static void open_rows(void)
{
    uint32_t n = sizeof(values) / sizeof(values[0]);
    wt_expr_rows_open(&rows, columns, n, 1);
    for (uint32_t i = 0; i < n; i++) {
        wt_expr_rows_put(&rows, columns[i][0], 0, values[i]);
    }
}

static void close_rows(void)
{
    wt_expr_rows_close(&rows);
}

TestSuite(expr_limits, .init = open_rows, .fini = close_rows);

/* {expression, value and type, or "error: " and a part of it} */
static void check(const char *const (*cases)[2], size_t n)
{
    char found[WT_VALUE_BYTES];
    for (size_t i = 0; i < n; i++) {
        const char *want = cases[i][1];
        (void)wt_expr_show(&rows, cases[i][0], 0, found);
        bool error = strncmp(want, "error: ", 7) == 0;
        bool same = error ? strncmp(found, "error: ", 7) == 0 &&
                                strstr(found, want + 7) != NULL
                          : strcmp(found, want) == 0;
        cr_expect(same, "%s\n  is  %s\n  not %s", cases[i][0], found, want);
    }
}
#define CHECK(cases) check(cases, sizeof(cases) / sizeof((cases)[0]))

Test(expr_limits, integers_never_wrap)
{
    static const char *const cases[][2] = {
        {"most + one", "error: 9223372036854775807 + 1: overflow of int64, in "
                       "`most + one`"},
        {"least - one", "error: overflow of int64"},
        {"most - one + one", "9223372036854775807: int64"},
        {"least + most", "-1: int64"},
        {"most * 2", "error: overflow of int64"},
        {"least * -1", "error: overflow of int64"},
        {"least % -1", "0: int64"},
        {"least % 0", "error: division by zero"},
        {"-least", "error: overflow of int64"},
        {"abs(least)", "error: overflow of int64"},
        {"-small", "2147483648: int64"},
        {"big * big", "error: overflow of decimal(38,0)"},
        {"big + big", "36893488147419103230: decimal(21,0)"},
        {"-big", "-18446744073709551615: decimal(20,0)"},
        {"big = most", "false: bool"},
        {"big > least", "true: bool"},
    };
    CHECK(cases);
}

Test(expr_limits, decimals_never_wrap)
{
    static const char *const cases[][2] = {
        {"dec18 + dec18", "1999999999999999998: decimal(19,0)"},
        {"dec18 * dec18", "999999999999999998000000000000000001: "
                          "decimal(36,0)"},
        {"dec38 + 1", "error: overflow of decimal(38,0)"},
        {"dec38 - 1", "99999999999999999999999999999999999998: decimal(38,0)"},
        {"-dec38 - 1", "error: overflow of decimal(38,0)"},
        {"dec38 * 2", "error: overflow of decimal(38,0)"},
        {"dec38 * dec38", "error: overflow of decimal(38,0)"},
        {"dec38 + 0.1", "error: it does not fit"},
        {"dec38 / 1", "error: overflow of decimal(38,6)"},
        {"dec38 / dec38", "1.000000: decimal(38,6)"},
        {"1 / dec38", "0.000000: decimal(38,6)"},
        {"wide / 3", "3333333333333333333333333333.3333333333: decimal(38,10)"},
        {"wide / wide", "1.0000000000: decimal(38,10)"},
        {"wide / 0.00000000001", "error: overflow of decimal(38,10)"},
        {"cents / 0", "error: division by zero"},
        {"cents % 0.00", "error: division by zero"},
        {"cents * 1.00", "9999999999999999.9900: decimal(21,4)"},
        {"2.5 / 0.3", "8.333333: decimal(38,6)"},
        {"0.0000005 / 1", "0.0000005: decimal(38,7)"},
        {"1.0 / 1999999", "0.000001: decimal(38,6)"},
        {"1.0 / 2000001", "0.000000: decimal(38,6)"},
        {"0.000001 / 2", "0.000001: decimal(38,6)"},
        {"-0.000001 / 2", "-0.000001: decimal(38,6)"},
        {"-7.5 % 2", "-1.5: decimal(2,1)"},
    };
    CHECK(cases);
}

Test(expr_limits, floats_do_not_become_infinite)
{
    static const char *const cases[][2] = {
        {"huge * 2", "error: overflow of float64"},
        {"huge + huge", "error: overflow of float64"},
        {"huge / 0.5e0", "error: overflow of float64"},
        {"huge / 0", "error: division by zero"},
        {"huge % 0", "error: division by zero"},
        {"nan + 1", "nan: float64"},
        {"nan = nan", "true: bool"},
        {"nan > huge", "true: bool"},
        {"huge < nan", "true: bool"},
        {"nan <= huge", "false: bool"},
        {"nan in (1e0, 2e0)", "false: bool"},
        {"nan <> 1", "true: bool"},
        {"float64 'inf' - float64 'inf'", "nan: float64"},
        {"float64 '-inf' < 0", "true: bool"},
    };
    CHECK(cases);
}

Test(expr_limits, casts_say_what_does_not_fit)
{
    static const char *const cases[][2] = {
        {"cast(most as int32)",
         "error: cast(9223372036854775807 as int32): it does not fit"},
        {"cast(least as uint8)", "error: it does not fit"},
        {"cast(big as int64)", "error: it does not fit"},
        {"cast(most as uint64)", "9223372036854775807: uint64"},
        {"cast(dec18 as decimal(17,0))", "error: it does not fit"},
        {"cast(dec18 as decimal(18,1))", "error: it does not fit"},
        {"cast(dec18 as decimal(38,20))", "999999999999999999."
                                          "00000000000000000000: "
                                          "decimal(38,20)"},
        {"cast(cents as decimal(16,0))", "error: it does not fit"},
        {"cast(cents as decimal(17,0))", "10000000000000000: decimal(17,0)"},
        {"cast(9.995 as decimal(3,2))", "error: it does not fit"},
        {"cast(-0.5 as int64)", "-1: int64"},
        {"cast(0.49 as int64)", "0: int64"},
        {"cast(dec38 as float64)", "1e+38: float64"},
        {"cast(huge as float32)", "error: it does not fit"},
        {"cast(huge as decimal(38,0))", "error: it does not fit"},
        {"cast(nan as int64)", "error: it does not fit"},
        {"cast(nan as decimal(10,2))", "error: it does not fit"},
        {"cast(9.9e37 as decimal(38,0))",
         "98999999999999993426744560981400092672: decimal(38,0)"},
        {"cast(1e38 as decimal(38,0))",
         "99999999999999997748809823456034029568: decimal(38,0)"},
        {"cast(1.1e38 as decimal(38,0))", "error: it does not fit"},
        {"cast(9223372036854775807e0 as int64)", "error: it does not fit"},
        {"cast(-9223372036854775808e0 as int64)",
         "-9223372036854775808: int64"},
        {"cast(0.125e0 as decimal(3,2))", "0.13: decimal(3,2)"},
        {"cast(-0.125e0 as decimal(3,2))", "-0.13: decimal(3,2)"},
        {"cast(1.005e0 as decimal(3,2))", "1.00: decimal(3,2)"},
        {"cast(late as timestamp(ns))", "error: it does not fit"},
        {"late > timestamp(ns) '2013-01-01'", "error: it does not fit"},
        {"timestamp(ns) '1677-09-21 00:12:43.145224192'",
         "1677-09-21 00:12:43.145224192: timestamp(ns)"},
        {"timestamp(ns) '1677-09-21 00:12:43.145224191'",
         "error: does not fit"},
        {"cast(cast('" NINES38 "' as decimal(38,0)) as utf8)",
         "'999999999999999999999999...': utf8"},
        {"cast('" NINES38 "9' as decimal(38,0))", "error: fits the type"},
        {"cast('-129' as int8)", "error: expected a number"},
        {"cast('-128' as int8)", "-128: int8"},
        {"last + 800000000", "2200325-08-09: date"},
        {"last + 2147483647", "error: it does not fit"},
        {"date '1969-12-31' - 2147483648", "error: it does not fit"},
    };
    CHECK(cases);
}

Test(expr_limits, a_null_raises_nothing)
{
    static const char *const cases[][2] = {
        {"none + most", "null: int64"},
        {"most + none", "null: int64"},
        {"none / 0", "null: float64"},
        {"0 % none", "null: int64"},
        {"dec38 * none", "null: decimal(38,0)"},
        {"cast(none as int8)", "null: int8"},
        {"substring('abc', 1, none)", "null: utf8"},
        {"cast(cast(none as utf8) as date)", "null: date"},
    };
    CHECK(cases);
}
