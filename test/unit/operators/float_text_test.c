/* SPDX-License-Identifier: Apache-2.0 */
/* Floats as text: read back they are the same bits, and no text with fewer
 * digits gives these bits. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/value_read.h"
#include "operators/base/value_text.h"
#include "operators/table/csv_type.h"

enum { ROUNDS = 300000 };

static bool is_same(const char *text, double v, bool single)
{
    const double back =
        single ? (double)strtof(text, NULL) : strtod(text, NULL);
    return memcmp(&back, &v, sizeof(v)) == 0;
}

/* Significant digits of 12.50e3: 3. */
static int digits_of(const char *text)
{
    int n = 0;
    int zeros = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text >= '1' && *text <= '9') {
            n += zeros + 1;
            zeros = 0;
        } else if (*text == '0' && n > 0) {
            zeros++;
        }
    }
    return n;
}

/* Does a text of `digits` digits give v? The nearest one and its two
 * neighbours are tried: all others lie farther away on the same side. */
static bool has_text(double v, bool single, int digits)
{
    char text[64];
    char *end;
    (void)snprintf(text, sizeof(text), "%.*e", digits - 1, v);
    char *e = strchr(text, 'e');
    const int exponent = (int)strtol(e + 1, NULL, 10);
    int64_t mantissa = 0;
    for (const char *c = text; c < e; c++) {
        mantissa =
            *c >= '0' && *c <= '9' ? mantissa * 10 + (*c - '0') : mantissa;
    }
    for (int64_t m = mantissa - 1; m <= mantissa + 1; m++) {
        char near[64];
        (void)snprintf(near, sizeof(near), "%s%llde%d", v < 0 ? "-" : "",
                       (long long)m, exponent - (digits - 1));
        const double back =
            single ? (double)strtof(near, &end) : strtod(near, &end);
        if (back == v) {
            return true;
        }
    }
    return false;
}

static void expect_shortest(double v, bool single)
{
    char text[WI_VALUE_TEXT_BYTES];
    const uint32_t n = wi_float_text(v, single, text);
    cr_assert_eq(n, strlen(text));
    if (!isfinite(v)) {
        return;
    }
    cr_assert(is_same(text, v, single), "%a: %s", v, text);
    const int digits = digits_of(text);
    cr_assert(digits <= 1 || !has_text(v, single, digits - 1),
              "%a: %s has more digits than it needs", v, text);
}

static void expect_double(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof(v));
    expect_shortest(v, false);
}

static void expect_float(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof(v));
    expect_shortest((double)v, true);
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15); /* SplitMix64 */
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

Test(float_text, doubles_are_shortest_and_exact, .timeout = 120)
{
    uint64_t state = 1;
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t bits = next_random(&state);
        expect_double(bits);
        expect_double(bits >> 12 >> bits % 52); /* subnormal */
    }
}

/* Each power of two with its neighbours: below it numbers are closer. */
Test(float_text, powers_of_two_and_their_neighbours_are_shortest)
{
    for (uint64_t exponent = 0; exponent < 2047; exponent++) {
        for (int64_t beside = exponent == 0 ? 1 : -2; beside <= 2; beside++) {
            expect_double((exponent << 52) + (uint64_t)beside);
        }
    }
    for (uint32_t exponent = 0; exponent < 255; exponent++) {
        for (int32_t beside = exponent == 0 ? 1 : -2; beside <= 2; beside++) {
            expect_float((exponent << 23) + (uint32_t)beside);
        }
    }
}

Test(float_text, floats_are_shortest_and_exact, .timeout = 120)
{
    uint64_t state = 2;
    for (int i = 0; i < ROUNDS; i++) {
        const uint32_t bits = (uint32_t)next_random(&state);
        expect_float(bits);
        expect_float(bits >> 9 >> bits % 23);
    }
}

static void expect_text(double v, bool single, const char *expected)
{
    char text[WI_VALUE_TEXT_BYTES];
    (void)wi_float_text(v, single, text);
    cr_expect_str_eq(text, expected);
}

Test(float_text, some_have_the_text_that_one_expects)
{
    expect_text(0x1p-1074, false, "5e-324");
    expect_text(DBL_MIN, false, "2.2250738585072014e-308");
    expect_text(DBL_MAX, false, "1.7976931348623157e+308");
    expect_text(0x1p-44, false, "5.684341886080802e-14");
    expect_text(-0.0, false, "-0");
    expect_text(0.1, false, "0.1");
    expect_text(1e15, false, "1e+15");
    expect_text(123456789012345680.0, false, "1.2345678901234568e+17");
    expect_text((double)0x1p-149f, true, "1e-45");
    expect_text((double)16777216.0f, true, "16777216");
    expect_text((double)0.1f, true, "0.1");
    expect_text((double)-INFINITY, false, "-inf");
}

Test(float_text, a_column_of_the_least_numbers_is_one_of_floats)
{
    struct wi_csv_guess g = {.seen = false};
    wi_csv_guess_add(&g, "5e-324", 6);
    wi_csv_guess_add(&g, "5.684341886080802e-14", 21);
    wi_csv_guess_add(&g, "-2.2250738585072014e-308", 24);
    cr_assert_eq(wi_csv_guess_type(&g).kind, WI_TYPE_FLOAT64);
}

/* Just above the middle of two floats: as a double, it is the middle. */
Test(float_text, a_float32_is_the_nearest_to_its_text)
{
    static const char text[] = "1.00000005960464477539062500001";
    const struct wi_type type = {.kind = WI_TYPE_FLOAT32};
    struct wi_value v;
    cr_assert_eq(
        wi_value_read((struct wi_str){text, sizeof(text) - 1}, &type, &v),
        WI_READ_OK);
    cr_assert_eq(v.f, (double)1.0000001f);
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
    char fast[WI_VALUE_TEXT_BYTES];
    char slow[64];
    size_t len = wi_float_text(value, false, fast);
    size_t expected = print_slowly(value, slow);
    cr_assert(len == expected && memcmp(fast, slow, len) == 0,
              "%.17g: \"%.*s\", not \"%s\"", value, (int)len, fast, slow);
}

Test(float_text, short_decimals_print_and_parse_as_the_c_library_does)
{
    const struct wi_type type = {.kind = WI_TYPE_FLOAT64};
    uint64_t state = 1;
    char text[WI_VALUE_TEXT_BYTES];
    for (int i = 0; i < 200000; i++) {
        int digits = 1 + (int)(next_random(&state) % 15);
        int decimals = (int)(next_random(&state) % (uint64_t)(digits + 1));
        uint64_t n = next_random(&state) >> 11;
        for (int d = digits; d < 16; d++) {
            n /= 10;
        }
        double value = (double)n;
        for (int d = 0; d < decimals; d++) {
            value /= 10; /* often not the nearest to a short decimal */
        }
        (void)snprintf(text, sizeof(text), "%.*f", decimals, value);
        struct wi_value parsed;
        cr_assert_eq(
            wi_value_read((struct wi_str){text, (uint32_t)strlen(text)}, &type,
                          &parsed),
            WI_READ_OK, "%s", text);
        cr_assert_eq(parsed.f, strtod(text, NULL), "%s", text);
        expect_as_library(parsed.f);
        expect_as_library(-parsed.f);
        expect_as_library(value);
    }
}

Test(float_text, any_double_prints_as_the_c_library_does)
{
    uint64_t state = 2;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = next_random(&state);
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
