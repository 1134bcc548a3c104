/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of tables that a program adds to plans in JSON. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <weir/plan.h>

#define PLAN(table)                                                            \
    "{\"weir\": 1, \"tables\": {\"t\": " table "}, \"operators\": "            \
    "[{\"name\": \"s\", \"op\": \"scan\", \"table\": \"t\"}], \"result\": "    \
    "\"s\"}"

/* What the kind was opened with. */
struct seen {
    char text[32];
    uint64_t rows;
    uint64_t seed;
};

static weir_err open_own(void *arg, const char *text, const uint64_t *numbers,
                         weir_table **table_out, struct weir_error *err)
{
    static const struct weir_series_column column = {.name = "n",
                                                     .format = "l"};
    struct seen *seen = arg;
    (void)snprintf(seen->text, sizeof(seen->text), "%s", text);
    seen->rows = numbers[0];
    seen->seed = numbers[1];
    if (strcmp(text, "none") == 0) {
        (void)snprintf(err->message, sizeof(err->message), "no such thing");
        err->code = WEIR_ERR_NOT_FOUND;
        return WEIR_ERR_NOT_FOUND;
    }
    return weir_table_series_open(&column, 1, numbers[0], numbers[1], table_out,
                                  err);
}

static const struct weir_table_number numbers[] = {{"rows_of", 7}, {"seed", 3}};

static weir_err read_plan(const char *json, struct seen *seen,
                          struct weir_error *err)
{
    const struct weir_table_kind kind = {.field = "own",
                                         .what = "a table of one's own",
                                         .numbers = numbers,
                                         .n_numbers = 2,
                                         .open = open_own,
                                         .arg = seen};
    const struct weir_plan_read_params params = {.kinds = &kind, .n_kinds = 1};
    weir_plan *plan = NULL;
    weir_err rc = weir_plan_read(json, strlen(json), &params, &plan, err);
    cr_assert_eq(plan != NULL, rc == WEIR_OK);
    weir_plan_close(plan);
    return rc;
}

Test(json_kind, a_table_of_the_programs_kind_gets_its_text_and_numbers)
{
    struct seen seen = {.rows = 0};
    struct weir_error err = {.message = ""};
    cr_assert_eq(
        read_plan(PLAN("{\"own\": \"x\", \"seed\": 5, \"keep\": true}"), &seen,
                  &err),
        WEIR_OK, "%s", err.message);
    cr_assert_str_eq(seen.text, "x");
    cr_assert_eq(seen.rows, 7u);
    cr_assert_eq(seen.seed, 5u);
}

static void refuses(const char *json, weir_err code, const char *message)
{
    struct seen seen;
    struct weir_error err;
    cr_assert_eq(read_plan(json, &seen, &err), code);
    const char *path = strstr(err.message, "$.");
    cr_assert_not_null(path, "%s", err.message);
    cr_assert_str_eq(path, message);
}

Test(json_kind, mistakes_are_told_as_those_of_other_tables)
{
    refuses(PLAN("{\"own\": 5}"), WEIR_ERR_DATA,
            "$.tables.t.own: a string was expected, found 5");
    refuses(PLAN("{\"own\": \"none\"}"), WEIR_ERR_NOT_FOUND,
            "$.tables.t: no such thing");
    refuses(PLAN("{\"mine\": \"x\"}"), WEIR_ERR_DATA,
            "$.tables.t: a table needs one of \"csv\", \"series\", \"rows\", "
            "\"own\"");
    refuses(PLAN("{\"own\": \"x\", \"year\": 1}"), WEIR_ERR_DATA,
            "$.tables.t: unknown field \"year\"; a table of one's own has "
            "own, rows_of, seed, keep");
    refuses(
        PLAN("{\"own\": \"x\", \"seed\": \"5\"}"), WEIR_ERR_DATA,
        "$.tables.t.seed: an integer, 0 or greater, was expected, found \"5\"");
}

Test(json_kind, the_library_has_none_of_its_own)
{
    static const char json[] = PLAN("{\"chbench\": \"orders\"}");
    struct weir_error err;
    weir_plan *plan = NULL;
    cr_assert_eq(weir_plan_read(json, strlen(json), NULL, &plan, &err),
                 WEIR_ERR_DATA);
    cr_assert_not_null(
        strstr(err.message,
               "a table needs one of \"csv\", \"series\", \"rows\""),
        "%s", err.message);
}

Test(json_kind, half_a_kind_is_refused)
{
    const struct weir_table_kind whole = {
        .field = "own", .what = "a table", .open = open_own};
    struct weir_table_kind half[] = {whole, whole, whole, whole, whole};
    half[0].field = NULL;
    half[1].what = NULL;
    half[2].open = NULL;
    half[3].numbers = numbers;
    half[4].numbers = numbers;
    half[4].n_numbers = WEIR_TABLE_NUMBERS + 1;
    for (size_t i = 0; i < sizeof(half) / sizeof(half[0]); i++) {
        const struct weir_plan_read_params params = {.kinds = &half[i],
                                                     .n_kinds = 1};
        struct weir_error err;
        weir_plan *plan = NULL;
        cr_assert_eq(weir_plan_read("{}", 2, &params, &plan, &err),
                     WEIR_ERR_ARG);
        cr_assert_not_null(strstr(err.message, "kinds[0]"), "%s", err.message);
    }
}
