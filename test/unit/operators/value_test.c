/* SPDX-License-Identifier: Apache-2.0 */
/* A text is the same value wherever it stands: as a cast in an expression, as a
 * field of a CSV file, and among rows written in a plan. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "operators/base/time_read.h"
#include "operators/base/value_read.h"
#include "operators/base/value_text.h"
#include "operators/expr/eval.h"
#include "operators/plan/literal.h"
#include "test/support/expr.h"
#include "test/unit/operators/table_fixture.h"

static const struct {
    const char *type;
    const char *text;
    const char *value; /* NULL: refused */
} cases[] = {
    {"date", "0000-01-01", "0000-01-01"},
    {"date", "0000-02-29", "0000-02-29"},
    {"date", "9999-12-31", "9999-12-31"},
    {"date", "10000-01-01", "10000-01-01"},
    {"date", "+10000-01-01", "10000-01-01"},
    {"date", "-0001-12-31", "-0001-12-31"},
    {"date", "-0004-02-29", "-0004-02-29"},
    {"date", "-0001-02-29", NULL},
    {"date", "5881580-07-11", "5881580-07-11"},
    {"date", "5881580-07-12", NULL},
    {"date", "-5877641-06-23", "-5877641-06-23"},
    {"date", "-5877641-06-22", NULL},
    {"date", "010000-01-01", NULL},
    {"date", "-001-01-01", NULL},
    {"date", "1234567890123-01-01", NULL},
    {"timestamp(us)", "12345-06-07 08:09:10.5", "12345-06-07 08:09:10.500000"},
    {"timestamp(ms)", "-0044-03-15T12:00Z", "-0044-03-15 12:00:00"},
    {"timestamp(s)", "292277026596-12-04 15:30:07",
     "292277026596-12-04 15:30:07"},
    {"timestamp(s)", "292277026596-12-04 15:30:08", NULL},
    {"timestamp(s)", "-292277022657-01-27 08:29:52",
     "-292277022657-01-27 08:29:52"},
    {"timestamp(s)", "999999999999-01-01", NULL},
    {"date", "2013-02-29", NULL},
    {"date", "2013-7-01", NULL},
    {"timestamp(s)", "0000-01-01 00:00:00", "0000-01-01 00:00:00"},
    {"timestamp(s)", "2013-07-01", "2013-07-01 00:00:00"},
    {"timestamp(s)", "2013-07-01T12:30:01Z", "2013-07-01 12:30:01"},
    {"timestamp(s)", "2013-07-01 12:30", "2013-07-01 12:30:00"},
    {"timestamp(s)", "2013-07-01 12:30.5", NULL},
    {"timestamp(s)", "2013-07-01 12:30:01.000", "2013-07-01 12:30:01"},
    {"timestamp(s)", "2013-07-01 12:30:01.5", NULL},
    {"timestamp(ms)", "2013-07-01 12:30:01.5", "2013-07-01 12:30:01.500"},
    {"timestamp(us)", "2013-07-01 12:30:01.0000005", NULL},
    {"timestamp(ns)", "2013-07-01 12:30:01.0000000005", NULL},
    {"timestamp(ns)", "1600-01-01", NULL},
    {"decimal(5,2)", "1.5", "1.50"},
    {"decimal(5,2)", "+001.500", "1.50"},
    {"decimal(5,2)", "-.5", "-0.50"},
    {"decimal(5,2)", "3.", "3.00"},
    {"decimal(5,2)", "1.005", NULL},
    {"decimal(5,2)", "999.99", "999.99"},
    {"decimal(5,2)", "1000.00", NULL},
    {"decimal(5,2)", ".", NULL},
    {"decimal(38,19)", "-1234567890123456789.1234567890123456789",
     "-1234567890123456789.1234567890123456789"},
    {"int64", "-007", "-7"},
    {"int64", "2.0", "2"},
    {"int64", "2.5", NULL},
    {"int64", "9223372036854775807", "9223372036854775807"},
    {"int64", "9223372036854775808", NULL},
    {"int8", "-128", "-128"},
    {"int8", "128", NULL},
    {"uint64", "18446744073709551615", "18446744073709551615"},
    {"uint64", "-0", "0"},
    {"uint64", "-1", NULL},
    {"bool", "TRUE", "true"},
    {"bool", "1", "true"},
    {"bool", "0", "false"},
    {"bool", "2", NULL},
    {"float64", "-Infinity", "-inf"},
    {"float64", "+.5e1", "5"},
    {"float64", "0x10", NULL},
    {"float64", "1e999", NULL},
    {"float64",
     "0.1000000000000000000000000000000000000000000000000000000000000000000",
     "0.1"},
    {"float32", "16777217", "16777216"},
    {"float32", "1e39", NULL},
};
enum { N_CASES = sizeof(cases) / sizeof(cases[0]) };

static struct wi_str str_of(const char *text)
{
    return (struct wi_str){text, (uint32_t)strlen(text)};
}

/* ---- in an expression ---------------------------------------------------- */

static void expect_cast(const char *type, const char *text, const char *value)
{
    struct wt_expr_rows rows;
    char expr[200];
    char expected[200];
    char shown[WT_VALUE_BYTES];
    wt_expr_rows_open(&rows, NULL, 0, 1);
    (void)snprintf(expr, sizeof(expr), "cast('%s' as %s)", text, type);
    const char *got = wt_expr_show(&rows, expr, 0, shown);
    if (value == NULL) {
        cr_expect(strncmp(got, "error: ", 7) == 0, "%s: %s", expr, got);
    } else {
        (void)snprintf(expected, sizeof(expected), "%s: %s", value, type);
        cr_expect_str_eq(got, expected, "%s: %s", expr, got);
    }
    wt_expr_rows_close(&rows);
}

Test(value, a_cast_reads_it)
{
    for (int i = 0; i < N_CASES; i++) {
        expect_cast(cases[i].type, cases[i].text, cases[i].value);
    }
}

/* ---- in a CSV file ------------------------------------------------------- */

static weir_table *open_file(const char *path, struct wi_columns *columns)
{
    struct ArrowSchema schema;
    struct weir_error err = {0};
    weir_table *table = NULL;
    cr_assert_eq(wi_columns_to_arrow(columns, &schema, &err), WEIR_OK);
    const struct weir_field field = {"v", schema.children[0]->format, 0};
    const struct weir_csv_params p = {
        .path = path, .fields = &field, .n_fields = 1};
    cr_assert_eq(weir_table_csv_open(&p, &table, &err), WEIR_OK, "%s",
                 err.message);
    schema.release(&schema);
    return table;
}

static void expect_value(const struct wt_op_rows *rows, const char *expected,
                         const char *field)
{
    const struct wi_type *type = &rows->columns.at[0].type;
    const struct wt_value *v = wt_op_rows_at(rows, 0);
    struct wi_value value = {.null = v->null};
    char text[WI_VALUE_TEXT_BYTES];
    switch (wi_type_rep(type)) {
    case WI_BOOL:
        value.b = v->i != 0;
        break;
    case WI_F64:
        value.f = v->f;
        break;
    case WI_I128:
        value.w = v->i;
        break;
    default:
        value.i = (int64_t)v->i;
        break;
    }
    (void)wi_value_text(type, &value, text);
    cr_expect_str_eq(text, expected, "field %s: %s", field, text);
}

static void expect_field(const char *type, const char *text, const char *value)
{
    char path[] = "/tmp/value-test-XXXXXX";
    char column[64];
    struct wt_op_rows rows;
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_gt(dprintf(fd, "v\n%s\n", text), 0);
    (void)close(fd);
    (void)snprintf(column, sizeof(column), "v:%s", type);
    wt_op_rows_init(&rows, column);
    weir_table *table = open_file(path, &rows.columns);
    wt_op_rows_fini(&rows);
    if (value == NULL) {
        const struct weir_error err = wt_scan_error(table, column, 1);
        cr_expect_eq(err.code, WEIR_ERR_DATA, "%s %s", type, text);
    } else {
        wt_scan(table, column, 1, &rows);
        cr_assert_eq(rows.n, 1);
        expect_value(&rows, value, text);
        wt_op_rows_fini(&rows);
    }
    weir_table_close(table);
    (void)unlink(path);
}

Test(value, a_csv_field_is_the_same)
{
    for (int i = 0; i < N_CASES; i++) {
        expect_field(cases[i].type, cases[i].text, cases[i].value);
    }
}

/* ---- in a plan ----------------------------------------------------------- */

static void expect_literal(const char *type, const char *text,
                           const char *value)
{
    struct wt_op_rows rows;
    struct wi_literals lit;
    struct weir_error err = {0};
    char column[64];
    (void)snprintf(column, sizeof(column), "v:%s", type);
    wt_op_rows_init(&rows, column);
    cr_assert_eq(wi_literals_init(&lit, &rows.columns, &err), WEIR_OK);
    cr_assert_eq(wi_literals_row(&lit, &err), WEIR_OK);
    const weir_err rc = wi_literals_put(&lit, 0, str_of(text), &err);
    cr_expect_eq(rc, value == NULL ? WEIR_ERR_ARG : WEIR_OK, "%s %s: %s", type,
                 text, err.message);
    if (rc == WEIR_OK && value != NULL) {
        const struct wi_value v = wi_value_at(&lit.col[0], 0);
        char got[WI_VALUE_TEXT_BYTES];
        (void)wi_value_text(&rows.columns.at[0].type, &v, got);
        cr_expect_str_eq(got, value, "literal %s: %s", text, got);
    }
    wi_literals_fini(&lit);
    wt_op_rows_fini(&rows);
}

Test(value, a_literal_of_a_plan_is_the_same)
{
    for (int i = 0; i < N_CASES; i++) {
        expect_literal(cases[i].type, cases[i].text, cases[i].value);
    }
}

/* ---- each kind ----------------------------------------------------------- */

static bool decimal_is(const char *text, uint8_t precision, uint8_t scale,
                       int64_t expected)
{
    const struct wi_type type = {
        .kind = WI_TYPE_DECIMAL, .precision = precision, .scale = scale};
    wi_i128 value = 0;
    return wi_read_decimal(str_of(text), &type, &value) == WI_READ_OK &&
           value == expected;
}

Test(value, decimals_are_exact_or_refused)
{
    cr_expect(decimal_is("12.34", 4, 2, 1234));
    cr_expect(decimal_is("-0.01", 4, 2, -1));
    cr_expect(decimal_is("12", 4, 2, 1200));
    cr_expect(decimal_is("12.", 4, 2, 1200));
    cr_expect(decimal_is(".5", 4, 2, 50));
    cr_expect(decimal_is("0012.3400000000000000000000", 4, 2, 1234));
    cr_expect(decimal_is("99.99", 4, 2, 9999));
    cr_expect(decimal_is("7", 1, 0, 7));
    cr_expect_not(decimal_is("100", 4, 2, 10000));
    cr_expect_not(decimal_is("99.991", 4, 2, 9999));
    cr_expect_not(decimal_is("1.234", 4, 2, 123));
    cr_expect_not(decimal_is("", 4, 2, 0));
    cr_expect_not(decimal_is(".", 4, 2, 0));
    cr_expect_not(decimal_is("-", 4, 2, 0));
    cr_expect_not(decimal_is("1.2.3", 4, 2, 0));
    cr_expect_not(decimal_is("1e2", 4, 2, 0));
    const struct wi_type widest = {
        .kind = WI_TYPE_DECIMAL, .precision = 38, .scale = 0};
    wi_i128 value;
    char text[40];
    memset(text, '9', 39);
    text[39] = '\0';
    cr_expect_eq(wi_read_decimal(str_of(text + 1), &widest, &value),
                 WI_READ_OK);
    cr_expect_eq(wi_read_decimal(str_of(text), &widest, &value),
                 WI_READ_MISFIT);
}

static bool time_is(const char *text, enum wi_unit unit, int64_t expected)
{
    int64_t value = 0;
    return wi_read_timestamp(str_of(text), (uint8_t)unit, &value) ==
               WI_READ_OK &&
           value == expected;
}

Test(value, timestamps_are_exact_or_refused)
{
    cr_expect(time_is("1970-01-01", WI_SECOND, 0));
    cr_expect(time_is("2013-07-01 0:00:00", WI_SECOND, 0) == false);
    cr_expect(time_is("2013-07-01 00:00:00", WI_MICRO, 1372636800000000));
    cr_expect(time_is("2013-07-01T12:30", WI_SECOND, 1372681800));
    cr_expect(time_is("1969-12-31 23:59:59.5", WI_MILLI, -500));
    cr_expect(time_is("1970-01-01 00:00:00.123456789", WI_NANO, 123456789));
    cr_expect(time_is("2262-04-11 23:47:16.854775807", WI_NANO, INT64_MAX));
    cr_expect_not(time_is("2262-04-11 23:47:16.854775808", WI_NANO, 0));
    cr_expect(time_is("1677-09-21 00:12:43.145224192", WI_NANO, INT64_MIN));
    cr_expect_not(time_is("1677-09-21 00:12:43.145224191", WI_NANO, 0));
    cr_expect_not(time_is("1970-01-01 00:00:00.5", WI_SECOND, 0));
    cr_expect_not(time_is("1970-01-01 24:00:00", WI_SECOND, 86400));
    cr_expect_not(time_is("1970-01-01 23:60", WI_SECOND, 86400));
    cr_expect_not(time_is("1970-01-01 23:59:60", WI_SECOND, 86400));
    cr_expect_not(time_is("1970-01-01 ", WI_SECOND, 0));
    cr_expect_not(time_is("1970-02-30", WI_SECOND, 0));
    cr_expect_not(time_is("1970-01-01 00:00:00x", WI_SECOND, 0));
}

Test(value, integers_are_refused_beyond_their_range)
{
    int64_t i;
    uint64_t u;
    float f;
    double d;
    cr_expect(wi_read_int64(str_of("-9223372036854775808"), &i) == WI_READ_OK &&
              i == INT64_MIN);
    cr_expect(wi_read_int64(str_of("+0009223372036854775807"), &i) ==
                  WI_READ_OK &&
              i == INT64_MAX);
    cr_expect_neq(wi_read_int64(str_of("9223372036854775808"), &i), WI_READ_OK);
    cr_expect_neq(wi_read_int64(str_of("-9223372036854775809"), &i),
                  WI_READ_OK);
    cr_expect_neq(wi_read_int64(str_of("1 "), &i), WI_READ_OK);
    cr_expect_neq(wi_read_int64(str_of("-"), &i), WI_READ_OK);
    cr_expect_neq(wi_read_uint64(str_of("18446744073709551616"), &u),
                  WI_READ_OK);
    cr_expect_neq(wi_read_uint64(str_of("-1"), &u), WI_READ_OK);
    cr_expect(wi_read_float32(str_of("16777217"), &f) == WI_READ_OK &&
              f == 16777216.0f);
    cr_expect(wi_read_float64(str_of("-Infinity"), &d) == WI_READ_OK && d < 0);
    cr_expect(wi_read_float64(str_of("NaN"), &d) == WI_READ_OK && d != d);
    cr_expect_neq(wi_read_float64(str_of("0x10"), &d), WI_READ_OK);
    cr_expect_neq(wi_read_float64(str_of("nano"), &d), WI_READ_OK);
    cr_expect_neq(wi_read_float64(str_of(" 1"), &d), WI_READ_OK);
}

/* ---- and back ------------------------------------------------------------ */

Test(value, every_day_of_ten_millennia_comes_back)
{
    char text[WI_VALUE_TEXT_BYTES];
    char last[WI_VALUE_TEXT_BYTES] = "";
    int64_t first;
    int64_t end;
    int64_t days;
    cr_assert_eq(wi_read_date(str_of("0000-01-01"), &first), WI_READ_OK);
    cr_assert_eq(wi_read_date(str_of("9999-12-31"), &end), WI_READ_OK);
    cr_assert_eq(wi_read_date(str_of("1970-01-01"), &days), WI_READ_OK);
    cr_assert_eq(days, 0);
    cr_assert_eq(wi_read_date(str_of("2000-03-01"), &days), WI_READ_OK);
    cr_assert_eq(days, 11017);
    cr_assert_eq(end - first, 3652424);
    for (int64_t d = first; d <= end; d++) {
        cr_assert_eq(wi_date_text(d, text), 10);
        cr_assert_eq(wi_read_date(str_of(text), &days), WI_READ_OK, "%s", text);
        cr_assert_eq(days, d);
        cr_assert_gt(strcmp(text, last), 0); /* in order, none twice */
        memcpy(last, text, sizeof(last));
    }
}

/* All of a type's values, a step apart. */
Test(value, every_date_and_timestamp_that_is_printed_is_read)
{
    const struct wi_type types[] = {
        {.kind = WI_TYPE_DATE32},
        {.kind = WI_TYPE_TIMESTAMP, .unit = WI_SECOND},
        {.kind = WI_TYPE_TIMESTAMP, .unit = WI_MILLI},
        {.kind = WI_TYPE_TIMESTAMP, .unit = WI_MICRO},
        {.kind = WI_TYPE_TIMESTAMP, .unit = WI_NANO},
    };
    for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
        const struct wi_value_range range = wi_type_range(&types[k]);
        const wi_i128 step = (range.most - range.least) / 100003;
        for (wi_i128 v = range.least; v <= range.most; v += step) {
            char text[WI_VALUE_TEXT_BYTES];
            const struct wi_value in = {.i = (int64_t)v};
            struct wi_value out;
            const uint32_t n = wi_value_text(&types[k], &in, text);
            cr_assert_eq(n, strlen(text));
            cr_assert_eq(wi_value_read(str_of(text), &types[k], &out),
                         WI_READ_OK, "%s", text);
            cr_assert_eq(out.i, in.i, "%s", text);
        }
    }
}

static void expect_exact(wi_i128 v, uint32_t scale, const char *expected)
{
    char text[WI_VALUE_TEXT_BYTES];
    const uint32_t n = wi_exact_text(v, scale, text);
    cr_expect_str_eq(text, expected);
    cr_expect_eq(n, strlen(expected));
}

Test(value, numbers_have_all_digits_of_their_scale)
{
    const wi_i128 most = wi_pow10(WI_DECIMAL_MOST) - 1;
    expect_exact(0, 0, "0");
    expect_exact(0, 2, "0.00");
    expect_exact(-5, 2, "-0.05");
    expect_exact(100, 2, "1.00");
    expect_exact(INT64_MIN, 0, "-9223372036854775808");
    expect_exact(wi_pow10(20), 0, "100000000000000000000");
    expect_exact(wi_pow10(20) + 7, 20, "1.00000000000000000007");
    expect_exact(most, 0, "99999999999999999999999999999999999999");
    expect_exact(-most, 38, "-0.99999999999999999999999999999999999999");
}
