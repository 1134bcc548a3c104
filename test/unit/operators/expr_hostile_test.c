/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are no expression, or too much of one: each is one clear error
 * that names the place. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/expr.h"

static const char *const columns[][2] = {
    {"a", "int64"}, {"name", "utf8?"}, {"d", "decimal(38,20)"}};

static struct wt_expr_rows rows;

static void open_rows(void)
{
    wt_expr_rows_open(&rows, columns, 3, 1);
    wt_expr_rows_put(&rows, "a", 0, "1");
    wt_expr_rows_put(&rows, "d", 0, "1");
}

static void close_rows(void)
{
    wt_expr_rows_close(&rows);
}

TestSuite(expr_hostile, .init = open_rows, .fini = close_rows);

static void fails(const char *text, weir_err want, const char *message)
{
    struct weir_error err = {.message = ""};
    weir_err code = wt_expr_code(&rows, text, &err);
    cr_expect_eq(code, want, "%.80s: %s, %s", text, weir_err_name(code),
                 err.message);
    cr_expect_not_null(strstr(err.message, message), "%.80s\n  is %s\n  not %s",
                       text, err.message, message);
}

static const char *const malformed[][2] = {
    {"", "character 1: found the end: expected a value"},
    {"   ", "character 4: found the end"},
    {"a +", "character 4: found the end: expected a value"},
    {"a + + ", "found the end"},
    {"a b", "character 3: found `b`: expected an operator or the end"},
    {"(a", "character 3: found the end: expected `)`"},
    {"a)", "character 2: found `)`"},
    {"a = 'x", "character 5: the closing ' is missing"},
    {"\"a", "the closing \" is missing"},
    {"a ; b", "character 3: ';' (0x3b) has no meaning"},
    {"a = 1 = 1", "character 7: comparisons do not chain"},
    {"1.2.3", "neither a number nor a name"},
    {"12ab", "neither a number nor a name"},
    {"1e", "exponent has no digits"},
    {"1e+", "exponent has no digits"},
    {"1e999", "1e999 does not fit float64"},
    {"x'0'", "pairs of hex digits"},
    {"x'0g'", "pairs of hex digits"},
    {"a in ()", "found `)`: expected a value"},
    {"a in 1", "expected `(`"},
    {"a between 1", "found the end: expected `and`"},
    {"a not 1", "expected `in`, `between` or `like`"},
    {"1 + not true", "put `not ...` into parentheses"},
    {"case end", "found `end`"},
    {"case when true 1 end", "expected `then`"},
    {"case when true then 1", "expected `end`"},
    {"cast(a int8)", "expected `as`"},
    {"cast(a as int9)", "there is no type `int9`"},
    {"cast(a as decimal(39,2))", "there is no type `decimal(39,2)`"},
    {"cast(a as decimal(", "there is no type"},
    {"cast(a as)", "expected a type"},
    {"extract(week from a)", "expected year, quarter"},
    {"extract(year a)", "expected `from`"},
    {"substring(name)", "expected `,`"},
    {"abs()", "found `)`"},
    {"abs(1, 2)", "abs has 2 arguments: expected 1"},
    {"nosuch(1)", "there is no function `nosuch`"},
    {"count(a)", "there is no function `count`"},
    {"date '2013-1-1'", "expected YYYY-MM-DD"},
    {"date '010000-01-01'", "expected YYYY-MM-DD"},
    {"timestamp '2013-01-01 24:00:00'", "expected YYYY-MM-DD HH:MM:SS"},
    {"timestamp '9999-01-01 00:00:00.000000001'", "does not fit"},
    {"decimal 'x'", "expected a number"},
    {"int8 'x'", "expected a number"},
    {"fixed(2) 'abc'", "expected as many bytes"},
    {"123456789012345678901234567890123456789", "39 digits"},
    {"round(1.5, a)", "must be a constant"},
    {"name like '!x' escape '!'", "before %, _ or itself only"},
    {"name like '!' escape '!'", "before %, _ or itself only"},
    {"name like 'x' escape 'ab'", "one ASCII character"},
    {"d * d", "the result has scale 40, over 38"},
    {"not a", "not of int64: bool was expected"},
    {"a and true", "and of int64: bool was expected"},
    {"case when a then 1 end", "case of int64: bool was expected"},
    {"coalesce(null, null)", "coalesce gives nulls only"},
};

Test(expr_hostile, malformed_texts_name_the_place)
{
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        fails(malformed[i][0], WEIR_ERR_ARG, malformed[i][1]);
    }
}

Test(expr_hostile, places_count_characters_not_bytes)
{
    fails("'\xc3\xbc\xc3\xbc' + 1", WEIR_ERR_ARG, "character 6: utf8 + int64");
}

Test(expr_hostile, a_message_has_one_line_whatever_it_quotes)
{
    fails("\"x\n\ty\"", WEIR_ERR_NOT_FOUND, "there is no column `x??y`");
    fails("1 'x\ny'", WEIR_ERR_ARG, "found `'x?y'`");
}

Test(expr_hostile, an_unknown_column_lists_those_there_are)
{
    fails("b + 1", WEIR_ERR_NOT_FOUND,
          "character 1: there is no column `b`: there are a, name, d");
}

Test(expr_hostile, text_that_is_not_utf8_is_refused)
{
    fails("'\xff'", WEIR_ERR_ARG, "not UTF-8");
    fails("'\xc0\x80'", WEIR_ERR_ARG, "not UTF-8");
    fails("'\xed\xa0\x80'", WEIR_ERR_ARG, "not UTF-8");
}

/* n times `again`, between two texts. */
static char *repeat(const char *before, const char *again, size_t n,
                    const char *after)
{
    size_t len = strlen(again);
    char *text = malloc(strlen(before) + n * len + strlen(after) + 1);
    cr_assert_not_null(text);
    strcpy(text, before);
    char *at = text + strlen(before);
    for (size_t i = 0; i < n; i++, at += len) {
        memcpy(at, again, len);
    }
    strcpy(at, after);
    return text;
}

static void repeated_fails(const char *before, const char *again, size_t n,
                           const char *message)
{
    char *text = repeat(before, again, n, "");
    fails(text, WEIR_ERR_ARG, message);
    free(text);
}

Test(expr_hostile, deep_nesting_is_an_error)
{
    static const char *const parts[] = {
        "(",     "not ",   "- ",        "abs(",  "a + (",       "case when ",
        "cast(", "a in (", "coalesce(", "a = (", "a between (", "substring(",
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        repeated_fails("", parts[i], 1000, "nested deeper than 200 levels");
    }
    repeated_fails("a", " + a", 1000, "nested deeper than 200 levels");
    repeated_fails("a", " is null", 1000, "nested deeper than 200 levels");
}

Test(expr_hostile, size_is_limited)
{
    repeated_fails("true", " and true", 20000, "may have 10000 parts");
    repeated_fails("a", " ", (1u << 20) + 1, "may have 1048576 bytes");
}

/* Shared operands are computed once: otherwise this takes 2^60 steps. */
Test(expr_hostile, nested_shared_operands_are_computed_once)
{
    struct weir_error err;
    char *text = strdup("abs(a)");
    for (uint32_t i = 0; i < 60; i++) {
        char *next = malloc(strlen(text) + 40);
        cr_assert_not_null(next);
        (void)sprintf(next, "nullif(%s + 0, abs(7))", text);
        free(text);
        text = next;
    }
    char found[WT_VALUE_BYTES];
    cr_expect_eq(wt_expr_code(&rows, text, &err), WEIR_OK);
    cr_expect_str_eq(wt_expr_show(&rows, text, 0, found), "1: int64");
    free(text);
}

Test(expr_hostile, long_flat_texts_are_fine)
{
    char found[WT_VALUE_BYTES];
    char *text = repeat("a = 2", " or a = 1", 500, "");
    cr_expect_str_eq(wt_expr_show(&rows, text, 0, found), "true: bool");
    free(text);
    text = repeat("a in (0", ", 5", 3000, ")");
    cr_expect_str_eq(wt_expr_show(&rows, text, 0, found), "false: bool");
    free(text);
    text = repeat("name like '", "%a", 5000, "'");
    cr_expect_str_eq(wt_expr_show(&rows, text, 0, found), "null: bool");
    free(text);
}

Test(expr_hostile, cut_texts_never_crash)
{
    static const char whole[] =
        "case when \"a\" not in (1, 2.5, a) then cast('x''y' as utf8) || "
        "substring(name from 1 for 2) when date '2013-07-01' < timestamp "
        "'2013-07-01 00:00:00.5' and name not like '%_' escape '!' then "
        "lower(x'0aff') else extract(year from date '2013-07-01') end";
    for (size_t n = 0; n < sizeof(whole); n++) {
        struct weir_error err = {.message = ""};
        char *text = strndup(whole, n);
        cr_assert_not_null(text);
        weir_err code = wt_expr_code(&rows, text, &err);
        cr_expect(code == WEIR_ERR_ARG || (code == WEIR_ERR_NOT_FOUND && n < 4),
                  "%s: %s", text, weir_err_name(code));
        cr_expect(strncmp(err.message, "character ", 10) == 0, "%s", text);
        free(text);
    }
}

/* ---- what was meant ------------------------------------------------------ */

static void says(const char *text, const char *message)
{
    struct weir_error err = {.message = ""};
    cr_expect_neq(wt_expr_code(&rows, text, &err), WEIR_OK, "%s", text);
    cr_expect_str_eq(err.message, message);
}

Test(expr_hostile, habits_of_other_languages_are_understood)
{
    says("a == 1", "character 3: `==` has no meaning in an expression: write "
                   "`=`");
    says("a = 1 && a = 2", "character 7: '&' (0x26) has no meaning in an "
                           "expression: conditions are joined with `and`");
    says("!a", "character 1: '!' (0x21) has no meaning in an expression: write "
               "`not`, or `<>`");
    says("a = 1;", "character 6: ';' (0x3b) has no meaning in an expression: "
                   "it is one value, without a `;`");
    says("t.a", "character 2: '.' (0x2e) has no meaning in an expression: a "
                "column has no table in front");
    says("a::int8", "character 2: ':' (0x3a) has no meaning in an expression: "
                    "write cast(x as type)");
    says("`a`", "character 1: '`' (0x60) has no meaning in an expression: a "
                "name is quoted as \"name\"");
    says("a as b", "character 3: found `as`: expected an operator or the end; "
                   "a name stands beside the expression: {\"name\": .., "
                   "\"expr\": ..}");
}

Test(expr_hostile, functions_that_are_called_otherwise_are_known)
{
    static const char aggregate[] =
        "character 5: there is no function `sum`: it is an aggregate, which "
        "stands in the aggregates of an aggregate operator only; a project "
        "above computes with its result";
    says("1 + sum(a)", aggregate);
    says("substr(name, 1)", "character 1: there is no function `substr`: write "
                            "substring(s, a, b)");
    says("if(a = 1, 2, 3)", "character 1: there is no function `if`: write "
                            "case when c then a else b end");
    says("nosuch(a)", "character 1: there is no function `nosuch`: expected "
                      "abs, cast, coalesce, extract, length, lower, nullif, "
                      "round, substring or upper");
}

Test(expr_hostile, names_that_are_texts_or_spelt_otherwise_are_told)
{
    says("name = \"x\"", "character 8: there is no column `x`: there are a, "
                         "name, d; a text stands in single quotes, 'x'");
    says("A = 1", "character 1: there is no column `A`: there are a, name, d; "
                  "names are matched exactly, as in `a`");
    says("name = \xe2\x80\x98x\xe2\x80\x99",
         "character 8: there is no column `\xe2\x80\x98x\xe2\x80\x99`: there "
         "are a, name, d; quotes are straight, ' or \"");
}

Test(expr_hostile, a_comparison_with_null_is_a_mistake)
{
    says("a = null", "character 3: `= null` is true of no row: write `is "
                     "null`");
    says("null <> a", "character 6: `<> null` is true of no row: write `is not "
                      "null`");
    says("a != NULL", "character 3: `!= null` is true of no row: write `is not "
                      "null`");
    says("a < (null)", "character 3: `< null` is true of no row: write `is not "
                       "null`");
}

Test(expr_hostile, names_with_spaces_are_quoted)
{
    static const char *const spaced[][2] = {{"unit price", "int64"}};
    close_rows();
    wt_expr_rows_open(&rows, spaced, 1, 1);
    wt_expr_rows_put(&rows, "unit price", 0, "1");
    says("unit price > 1",
         "character 6: found `price`: expected an operator or the end; a name "
         "with spaces is quoted, \"unit price\"");
}
