/* SPDX-License-Identifier: Apache-2.0 */
/* Which statements of clients a server of DuckDB takes. */
#include <criterion/criterion.h>
#include <string.h>

#include "tools/scan/statement.h"

TestSuite(statement, .timeout = 60);

static weir_err check(const char *text, bool files)
{
    const struct statement_may may = {files, files};
    struct weir_error err = {.message = ""};
    weir_err rc = statement_check(text, &may, &err);
    cr_assert(rc == WEIR_OK || rc == WEIR_ERR_UNSUPPORTED, "%s: %d", text, rc);
    cr_assert_eq(rc == WEIR_OK, err.message[0] == '\0', "%s", text);
    return rc;
}

static void taken(const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(check(list[i], false), WEIR_OK, "%s", list[i]);
    }
}

static void refused(const char *const *list, size_t n, bool files)
{
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(check(list[i], files), WEIR_ERR_UNSUPPORTED, "%s",
                     list[i]);
    }
}

#define TAKEN(...)                                                             \
    taken((const char *const[]){__VA_ARGS__},                                  \
          sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
#define REFUSED(files, ...)                                                    \
    refused((const char *const[]){__VA_ARGS__},                                \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),       \
            files)

Test(statement, queries_and_changes_are_left_to_the_database)
{
    TAKEN("select 1", "SELECT 1", " \t\r\n select 1", "from t",
          "with a as (select 1) from a", "(select 1)", "values (1)", "table t",
          "insert into t values (1)", "create temp table t (a int)",
          "create or replace view v as select 1", "drop table t", "begin",
          "rollback", "use main", "set x = 1", "describe t", "pivot t on a",
          "pragma table_info('t')", "PRAGMA Version", "execute p",
          "explain select 1", "explain analyze select 1",
          "explain (analyze, format json) select 1", "prepare p as select ?",
          "prepare p (int, text) as select ?", "-- why\nselect 1",
          "-- why\r\nselect 1", "/* why */ select 1", "/**/--\n/**/from t", "");
}

Test(statement, files_are_written_and_attached_where_they_are_allowed)
{
    static const char *const list[] = {"copy t to 'f'",
                                       "COPY (select 1) TO 'f'",
                                       "/* select */ copy t to 'f'",
                                       "-- select\ncopy t to 'f'",
                                       "explain analyze copy t to 'f'",
                                       "explain (analyze) /* */ copy t to 'f'",
                                       "prepare p as copy t to 'f'",
                                       "explain prepare p as copy t to 'f'",
                                       "export database 'f'",
                                       "attach 'f'",
                                       "detach f",
                                       "checkpoint",
                                       "create database f",
                                       "create or replace database f",
                                       "alter database f set alias to g",
                                       "drop database f"};
    const size_t n = sizeof(list) / sizeof(list[0]);
    refused(list, n, false);
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(check(list[i], true), WEIR_OK, "%s", list[i]);
    }
}

Test(statement, what_is_not_known_is_refused)
{
    REFUSED(true, "install x", "load x", "import database 'f'",
            "force checkpoint", "frobnicate", ";select 1", "'select'", "?",
            "\xc2\xa0select 1", "selectselectselectselectselectselect 1",
            "pragma enable_profiling", "pragma threads = 1",
            "pragma import_database('f')", "prepare", "prepare p",
            "prepare \"p\" as select 1", "explain (\"a)\" copy) copy t to 'f'");
}

Test(statement, a_beginning_that_is_not_clear_is_refused)
{
    REFUSED(true, "/* /* */ select */ copy t to 'f'", "/* copy t to 'f'",
            "--\rcopy t to 'f'\nselect 1", "explain (a /* ) */ copy t to 'f'");
}

Test(statement, functions_that_reach_all_clients_are_refused)
{
    REFUSED(true, "from enable_logging()", "from \"Enable_Logging\"()",
            "call disable_logging()", "call truncate_duckdb_logs()",
            "select 1 from enable_profiling()", "from force_checkpoint()",
            "from enable_peg_parser()",
            "from json_execute_serialized_sql('{}')");
}

Test(statement, functions_that_run_a_text_are_refused)
{
    REFUSED(true, "from query('select 1')", "from QUERY ('select 1')",
            "from \"query\" ('select 1')", "from system.main.query('select 1')",
            "from query/* */('select 1')", "from query--\n('select 1')",
            "from query\xc2\xa0('select 1')", "from\xc2\xa0query('select 1')",
            "create temp macro m(x) as table from query(x)",
            "from U&\"quer\\0079\"('select 1')");
    TAKEN("select query from t", "select lower(query) from t",
          "select query, a from t where query = 'x'", "from query_table('t')",
          "select my_query(1)", "select queryable(1)",
          "select menu&\"mask\" from t");
}

Test(statement, files_are_read_by_name_where_they_are_allowed)
{
    static const char *const list[] = {
        "from read_text('f')", "select * from READ_CSV_AUTO('f')",
        "from parquet_scan('f')", "from sniff_csv('f')"};
    refused(list, sizeof(list) / sizeof(list[0]), false);
    cr_expect_eq(check(list[0], true), WEIR_OK);
}

Test(statement, one_is_told_from_what_may_be_many)
{
    cr_expect(!statement_may_be_many("select 1"));
    cr_expect(!statement_may_be_many("select 1; ;\n"));
    cr_expect(!statement_may_be_many(""));
    cr_expect(!statement_may_be_many(";"));
    cr_expect(statement_may_be_many("select ';'"));
    cr_expect(statement_may_be_many("select 1; select 2"));
    cr_expect(statement_may_be_many("select 1; -- that is all"));
}
