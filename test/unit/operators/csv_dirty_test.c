/* SPDX-License-Identifier: Apache-2.0 */
/* CSV files with something wrong in them: what a table says, word by word. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "test/unit/operators/table_fixture.h"

enum { MESSAGE_BYTES = 512 };

/* Works in a folder of its own, so that messages have no random names. */
static char dir[] = "/tmp/weir-dirty-XXXXXX";

static void enter(void)
{
    cr_assert_not_null(mkdtemp(dir));
    cr_assert_eq(chdir(dir), 0);
}

static void leave(void)
{
    char command[64];
    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    cr_assert_eq(system(command), 0);
}

TestSuite(csv_dirty, .init = enter, .fini = leave);

static void put_bytes(const char *text, size_t n)
{
    FILE *to = fopen("t.csv", "we");
    cr_assert_not_null(to);
    cr_assert_eq(fwrite(text, 1, n, to), n);
    cr_assert_eq(fclose(to), 0);
}

static void put(const char *text)
{
    put_bytes(text, strlen(text));
}

static weir_err try_open(const char *path, const struct weir_field *fields,
                         uint32_t n, weir_table **out, struct weir_error *err)
{
    const struct weir_csv_params p = {
        .path = path, .fields = fields, .n_fields = n};
    return weir_table_csv_open(&p, out, err);
}

/* @param type  of column s: Arrow's format */
static weir_table *open_typed(const char *type, int nullable)
{
    const struct weir_field fields[] = {{"s", type, nullable}};
    struct weir_error err = {0};
    weir_table *table = NULL;
    cr_assert_eq(try_open("t.csv", fields, 1, &table, &err), WEIR_OK, "%s",
                 err.message);
    return table;
}

/* The scan fails like this with any number of parts. */
static void expect_scan(const char *format, int nullable, const char *column,
                        const char *message)
{
    weir_table *table = open_typed(format, nullable);
    for (uint32_t parts = 1; parts <= 9; parts++) {
        const struct weir_error err = wt_scan_error(table, column, parts);
        cr_expect_eq(err.code, WEIR_ERR_DATA);
        cr_expect_str_eq(err.message, message);
    }
    weir_table_close(table);
}

static void expect_open(const char *path, const struct weir_field *fields,
                        uint32_t n, weir_err code, const char *message)
{
    struct weir_error err = {0};
    weir_table *table = NULL;
    cr_expect_eq(try_open(path, fields, n, &table, &err), code, "%s", path);
    cr_expect_null(table);
    cr_expect_str_eq(err.message, message);
}

/* ---- text ---------------------------------------------------------------- */

Test(csv_dirty, text_that_is_not_utf8_is_told_with_line_column_and_byte)
{
    put("n,s\n1,Gr\xc3\xbc\xc3\x9f"
        "e\n2,a\n3,\"x\ny\"\n4,M\xfcller\n5,\xff\n");
    expect_scan("u", 1, "s:utf8?",
                "t.csv:6: column \"s\": byte 2 of the field, 0xfc, is not "
                "UTF-8: convert the file (iconv -t UTF-8), or give the column "
                "the type binary");
}

Test(csv_dirty, a_long_file_is_text_but_for_one_byte)
{
    FILE *to = fopen("t.csv", "we");
    cr_assert_not_null(to);
    (void)fputs("n,s\n", to);
    for (int i = 2; i <= 100000; i++) {
        (void)fprintf(to, "%d,%s\n", i, i == 99999 ? "abcdefghij\xe4" : "abc");
    }
    cr_assert_eq(fclose(to), 0);
    expect_scan("u", 0, "s:utf8",
                "t.csv:99999: column \"s\": byte 11 of the field, 0xe4, is not "
                "UTF-8: convert the file (iconv -t UTF-8), or give the column "
                "the type binary");
}

Test(csv_dirty, binary_takes_any_bytes_and_columns_not_read_have_any)
{
    struct wt_op_rows got;
    struct wt_op_rows expected;
    put("n,s,o\n1,M\xfcller,\xff\n");
    weir_table *table = open_typed("z", 0);
    wt_scan(table, "s:binary", 3, &got);
    wt_op_rows_init(&expected, "s:binary");
    wt_op_rows_add(&expected, "M\xfcller");
    wt_op_rows_expect(&got, &expected, true);
    wt_op_rows_fini(&got);
    wt_op_rows_fini(&expected);
    weir_table_close(table);
}

Test(csv_dirty, no_type_is_found_for_what_is_not_utf8)
{
    put("n,s\n1,a\n2,\xc3(\n");
    expect_open("t.csv", NULL, 0, WEIR_ERR_DATA,
                "t.csv:3: column \"s\": byte 1 of the field, 0xc3, is not "
                "UTF-8: convert the file (iconv -t UTF-8), or give the column "
                "the type binary");
}

/* ---- headers ------------------------------------------------------------- */

Test(csv_dirty, names_of_columns_are_text)
{
    static const char utf16[] = "\xff\xfen\0,\0s\0\n\0";
    put("n,,s\n1,2,3\n");
    expect_open("t.csv", NULL, 0, WEIR_ERR_DATA,
                "t.csv:1: column 2 has no name: put one into the header, or "
                "give the columns that are wanted (fields)");
    put("n,Gr\xf6\xdf"
        "e\n1,2\n");
    expect_open("t.csv", NULL, 0, WEIR_ERR_DATA,
                "t.csv:1: the name of column 2, \"Gr??e\", is not UTF-8: "
                "convert the file (iconv -t UTF-8)");
    put_bytes(utf16, sizeof(utf16) - 1);
    expect_open("t.csv", NULL, 0, WEIR_ERR_DATA,
                "t.csv:1: the name of column 1 has a zero byte in it: convert "
                "the file (iconv -t UTF-8)");
}

Test(csv_dirty, names_that_nobody_asks_for_may_be_empty_or_twice)
{
    static const struct weir_field twice[] = {{"n", "l", 0}};
    struct wt_op_rows got;
    put("n,,s,,n\n1,2,a,3,4\n");
    weir_table *table = open_typed("u", 0);
    wt_scan(table, "s:utf8", 2, &got);
    cr_expect_eq(got.n, 1);
    wt_op_rows_fini(&got);
    weir_table_close(table);
    expect_open("t.csv", twice, 1, WEIR_ERR_DATA,
                "t.csv:1: columns 1 and 5 are both named \"n\"");
}

Test(csv_dirty, columns_of_any_table_have_names_that_are_text)
{
    const struct weir_series_column none = {.name = "", .format = "l"};
    const struct weir_series_column latin = {.name = "\xe4", .format = "l"};
    struct weir_error err = {0};
    weir_table *table = NULL;
    cr_expect_eq(weir_table_series_open(&none, 1, 1, 0, &table, &err),
                 WEIR_ERR_SCHEMA);
    cr_expect_str_eq(err.message, "the name of column 1, \"\", is empty");
    cr_expect_eq(weir_table_series_open(&latin, 1, 1, 0, &table, &err),
                 WEIR_ERR_SCHEMA);
    cr_expect_str_eq(err.message, "the name of column 1, \"?\", is not UTF-8");
}

/* ---- values -------------------------------------------------------------- */

Test(csv_dirty, a_null_where_none_may_be_says_what_allows_it)
{
    put("n,s\n1,5\n2,\n");
    expect_scan("l", 0, "s:int64",
                "t.csv:3: column \"s\": a null (\"\"), which int64 cannot be: "
                "give the column the type int64?");
    put("n,s\n1,5\n2,\"\"\n");
    expect_scan("l", 0, "s:int64", "t.csv:3: column \"s\": \"\" is no int64");
}

Test(csv_dirty, a_float_that_is_too_large_is_not_infinite)
{
    put("n,s\n1,inf\n2,1e308\n3,1e999\n");
    expect_scan("g", 0, "s:float64",
                "t.csv:4: column \"s\": \"1e999\" is no float64");
    put("n,s\n1,-inf\n2,3e38\n3,-4e38\n");
    expect_scan("f", 0, "s:float32",
                "t.csv:4: column \"s\": \"-4e38\" is no float32");
}

Test(csv_dirty, a_message_is_one_line)
{
    put("n,s\n1,\"a\nb\tc\"\n");
    expect_scan("l", 0, "s:int64",
                "t.csv:2: column \"s\": \"a?b?c\" is no int64");
}

/* ---- files --------------------------------------------------------------- */

static void make_socket(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    (void)close(fd);
}

/* Without a writer, opening the pipe would wait forever. */
Test(csv_dirty, what_is_no_regular_file_is_refused_at_once, .timeout = 60)
{
    cr_assert_eq(mkfifo("pipe", 0600), 0);
    cr_assert_eq(mkdir("folder", 0700), 0);
    make_socket("socket");
    expect_open("pipe", NULL, 0, WEIR_ERR_DATA,
                "pipe: a pipe, not a regular file; it is read at several "
                "places, so store it in a file first");
    expect_open("socket", NULL, 0, WEIR_ERR_DATA,
                "socket: a socket, not a regular file; it is read at several "
                "places, so store it in a file first");
    expect_open("/dev/null", NULL, 0, WEIR_ERR_DATA,
                "/dev/null: a device, not a regular file; it is read at "
                "several places, so store it in a file first");
    expect_open("folder", NULL, 0, WEIR_ERR_DATA,
                "folder: a directory; the file of a table was expected");
    expect_open("folder/none", NULL, 0, WEIR_ERR_SYSTEM,
                "folder/none: No such file or directory");
}

Test(csv_dirty, a_file_that_may_not_be_read_says_so)
{
    put("n,s\n1,a\n");
    cr_assert_eq(chmod("t.csv", 0), 0);
    if (access("t.csv", R_OK) == 0) {
        return; /* root may read everything */
    }
    expect_open("t.csv", NULL, 0, WEIR_ERR_SYSTEM, "t.csv: Permission denied");
}

Test(csv_dirty, a_file_that_grows_is_read_as_it_was)
{
    struct wt_op_rows got;
    put("n,s\n1,a\n");
    weir_table *table = open_typed("u", 0);
    FILE *to = fopen("t.csv", "ae");
    cr_assert_geq(fputs("2,b\n3,\xff\n", to), 0);
    cr_assert_eq(fclose(to), 0);
    for (uint32_t parts = 1; parts <= 3; parts++) {
        wt_scan(table, "s:utf8", parts, &got);
        cr_expect_eq(got.n, 1);
        wt_op_rows_fini(&got);
    }
    weir_table_close(table);
}

Test(csv_dirty, a_file_that_shrinks_is_a_fault)
{
    put("n,s\n1,a\n2,b\n3,c\n");
    weir_table *table = open_typed("u", 0);
    cr_assert_eq(truncate("t.csv", 8), 0);
    const struct weir_error err = wt_scan_error(table, "s:utf8", 1);
    cr_expect_str_eq(err.message,
                     "t.csv: the file became shorter while it was read");
    weir_table_close(table);
}
