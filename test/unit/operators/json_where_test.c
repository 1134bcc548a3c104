/* SPDX-License-Identifier: Apache-2.0 */
/* Where values of a document stand, and messages for texts that are no JSON. */
#include "operators/plan/json_where.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <weir/plan.h>

static const char document[] = "{\"weir\": 1,\n"
                               " \"tables\": {\n"
                               "   \"a.b\": {\"csv\": \"x\"},\n"
                               "   \"a\": {\"rows\": [[1, \"]}\\\"\"], [2]],\n"
                               "         \"\\u0061\": 5}},\n"
                               " \"\xc3\xa4\": 7, \"operators\": [ ],\n"
                               " \"result\":\"r\"}\n";

static void expect_at(const char *path, uint32_t line, uint32_t column,
                      size_t path_bytes)
{
    const struct wi_json_where w =
        wi_json_where(document, sizeof(document) - 1, path);
    cr_expect(w.line == line && w.column == column &&
                  w.path_bytes == path_bytes,
              "%s: line %u, column %u, %zu bytes", path, w.line, w.column,
              w.path_bytes);
}

Test(json_where, values_are_found_by_their_path)
{
    expect_at("$: a plan needs", 1, 1, 1);
    expect_at("$.weir: x", 1, 10, 6);
    expect_at("$.tables.a.rows[1][0]: x", 4, 33, 21);
    expect_at("$.tables.a.rows[0][1]: x", 4, 23, 21);
    expect_at("$.result", 7, 11, 8);
}

Test(json_where, names_may_have_dots_and_characters_several_bytes)
{
    expect_at("$.tables.a.b.csv: x", 3, 19, 16);
    expect_at("$.operators: x", 6, 23, 11);
}

Test(json_where, what_is_missing_is_the_value_that_should_have_it)
{
    expect_at("$.tables.a.csv: x", 4, 9, 10);
    expect_at("$.tables.a.rows[2]: x", 4, 18, 15);
    expect_at("$.operators[0].name: x", 6, 23, 11);
    expect_at("$.resul: x", 1, 1, 1);
    expect_at("no path", 1, 1, 0);
}

/* ---- messages ------------------------------------------------------------ */

static void refuses_bytes(const char *json, size_t n, const char *message)
{
    struct weir_error err = {.message = ""};
    weir_plan *plan = NULL;
    cr_expect_neq(weir_plan_read(json, n, NULL, &plan, &err), WEIR_OK);
    cr_expect_null(plan);
    cr_expect_str_eq(err.message, message);
}

static void refuses(const char *json, const char *message)
{
    refuses_bytes(json, strlen(json), message);
}

Test(json_where, a_mistake_says_line_column_and_operator)
{
    refuses("{\"weir\": 1,\n \"operators\": [\n"
            "  {\"name\": \"s\",\n   \"op\": \"scan\", \"table\": \"t\"}],\n"
            " \"result\": \"s\"}",
            "line 4, column 27: $.operators[0].table of \"s\": no table "
            "\"t\"; there is none: declare it first, by weir_plan_table or in "
            "JSON as \"tables\": {\"orders\": {\"csv\": \"orders.csv\"}}");
    refuses("{\"weir\": 1,\n \"operators\": [],\n \"result\": \"s\"}",
            "line 3, column 12: $.result: no operator \"s\"; there is none");
    refuses("{\"weir\": 1, \"operators\": [\n {\"name\": \"\", \"op\": 5}],\n"
            " \"result\": \"s\"}",
            "line 2, column 21: $.operators[0].op: one of scan, filter, "
            "project, join, aggregate, sort, limit, union, shuffle, merge was "
            "expected, found 5");
}

Test(json_where, slips_in_the_text_say_what_is_meant)
{
    refuses("", "the plan is empty");
    refuses(" \n\t", "the plan is empty");
    refuses("{\"weir\": 1\n \"result\": \"s\"}",
            "line 2, column 9: ',' or '}' expected near '\"result\"'");
    refuses("[1\n 2]", "line 2, column 2: ',' or ']' expected near '2'");
    refuses("{\"weir\": 1,}", "line 1, column 12: string or '}' expected near "
                              "'}'; no ',' follows the last one");
    refuses("{\"weir\": 1, // one\n}",
            "line 1, column 13: string or '}' expected near '/'; JSON has no "
            "comments");
    refuses("{'weir': 1}", "line 1, column 2: string or '}' expected near "
                           "'''; names and texts stand in \"\"");
    refuses("{\"weir\": 1, \"result\": \"a\\u0000b\"}",
            "line 1, column 32: the character \\u0000, which texts of a plan "
            "cannot have");
    refuses("{\"weir\": \"\xff\"}", "line 1, column 10: not UTF-8: convert the "
                                    "plan (iconv -t UTF-8)");
}

Test(json_where, a_mark_in_front_is_skipped_and_utf16_named)
{
    static const char utf16[] = "\xff\xfe{\0\"\0w\0";
    static const char without_mark[] = "{\0\"\0w\0";
    static const char message[] =
        "a plan in UTF-8 was expected, this is UTF-16 or no text: convert it "
        "(iconv -t UTF-8)";
    refuses("\xef\xbb\xbf{\"weir\": 2, \"operators\": [], \"result\": \"\"}",
            "line 1, column 10: $.weir: 1, the version of this format, was "
            "expected, found 2");
    refuses_bytes(utf16, sizeof(utf16) - 1, message);
    refuses_bytes(without_mark, sizeof(without_mark) - 1, message);
}
