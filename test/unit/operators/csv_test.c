/* SPDX-License-Identifier: Apache-2.0 */
/* CSV files as tables: parts, types, errors; libcsv judges the grammar. */
#include <csv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/operators/table_fixture.h"

/* A file that lives as long as the test wants. */
struct file {
    char path[32];
};

static void put_file(struct file *f, const char *text, size_t len)
{
    (void)strcpy(f->path, "/tmp/csv-table-XXXXXX");
    int fd = mkstemp(f->path);
    cr_assert_geq(fd, 0);
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        cr_assert_gt(n, 0);
        text += n;
        len -= (size_t)n;
    }
    (void)close(fd);
}

static weir_table *open_with(const char *path, const struct weir_field *fields,
                             uint32_t n, const char *null_text)
{
    const struct weir_csv_params p = {
        .path = path, .fields = fields, .n_fields = n, .null_text = null_text};
    struct weir_error err = {0};
    weir_table *table = NULL;
    weir_err rc = weir_table_csv_open(&p, &table, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    return table;
}

/* Rows of a text must be these, in any number of parts. */
static void expect_rows(const char *text, const struct weir_field *fields,
                        uint32_t n, const struct wt_op_rows *expected,
                        const char *columns)
{
    struct file f;
    struct wt_op_rows got;
    put_file(&f, text, strlen(text));
    weir_table *table = open_with(f.path, fields, n, NULL);
    for (uint32_t parts = 1; parts <= 17; parts++) {
        wt_scan(table, columns, parts, &got);
        wt_op_rows_expect(&got, expected, true);
        wt_op_rows_fini(&got);
    }
    weir_table_close(table);
    (void)unlink(f.path);
}

/* ---- many columns -------------------------------------------------------- */

/* "c0,c1,..." and a row of numbers like the names. */
static char *wide_text(uint32_t n)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    for (uint32_t row = 0; row < 2; row++) {
        for (uint32_t i = 0; i < n; i++) {
            (void)fprintf(to, "%s%s%u", i == 0 ? "" : ",", row == 0 ? "c" : "",
                          i);
        }
        (void)fputs("\n", to);
    }
    (void)fclose(to);
    return text;
}

/* A file may have any number of columns: a table has 1024. */
Test(csv, columns_that_nobody_wants_are_not_counted)
{
    static const struct weir_field wanted[] = {{"c4999", "l", 0},
                                               {"c7", "l", 0}};
    struct weir_error err = {0};
    struct file f;
    struct wt_op_rows got;
    char *text = wide_text(5000);
    put_file(&f, text, strlen(text));
    weir_table *table = open_with(f.path, wanted, 2, NULL);
    wt_scan(table, "c4999:int64 c7:int64", 1, &got);
    cr_assert_eq(got.n, 1);
    wt_op_rows_fini(&got);
    weir_table_close(table);
    const struct weir_csv_params all = {.path = f.path};
    cr_assert_eq(weir_table_csv_open(&all, &table, &err), WEIR_ERR_DATA);
    cr_assert_not_null(strstr(err.message, "5000 columns"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "fields"), "%s", err.message);
    (void)unlink(f.path);
    free(text);
}

/* ---- grammar and parts --------------------------------------------------- */

static const struct weir_field two_fields[] = {{"n", "i", 0}, {"s", "u", 1}};

#define EXPECT_TWO(text, ...)                                                  \
    do {                                                                       \
        const char *const lines[] = {__VA_ARGS__};                             \
        struct wt_op_rows expected;                                            \
        wt_op_rows_init(&expected, "n:int32 s:utf8?");                         \
        for (size_t l = 0; l < sizeof(lines) / sizeof(lines[0]); l++) {        \
            wt_op_rows_add(&expected, lines[l]);                               \
        }                                                                      \
        expect_rows((text), two_fields, 2, &expected, "n:int32 s:utf8?");      \
        wt_op_rows_fini(&expected);                                            \
    } while (0)

Test(csv, every_kind_of_line_end_ends_a_record)
{
    EXPECT_TWO("n,s\n1,a\n2,b\n", "1 a", "2 b");
    EXPECT_TWO("n,s\r\n1,a\r\n2,b\r\n", "1 a", "2 b");
    EXPECT_TWO("n,s\r1,a\r2,b\r", "1 a", "2 b");
    EXPECT_TWO("n,s\n1,a\n2,b", "1 a", "2 b");
    EXPECT_TWO("n,s\n\n\n1,a\r\n\r\n2,b\n\n", "1 a", "2 b");
    EXPECT_TWO("\xef\xbb\xbfn,s\n1,a\n2,b", "1 a", "2 b");
}

Test(csv, quotes_keep_what_is_in_them)
{
    EXPECT_TWO("n,s\n\"1\",\"a,b\"\n2,\"\"\n3,\n4,\"\"\"\"\n", "1 a,b",
               "2 \"\"", "3 -", "4 \"");
    EXPECT_TWO("n,s\n1,\"a\nb\"\n2,\"\n\n\"\n3,\"\r\n\"\n4,x\n", "1 a\nb",
               "2 \n\n", "3 \r\n", "4 x");
    EXPECT_TWO("n,\"s\"\n1,\"\"\"\n\"\"\"\n2,\"\n2,\"\"\n\"\n", "1 \"\n\"",
               "2 \n2,\"\n");
}

Test(csv, a_file_without_rows_has_columns)
{
    struct wt_op_rows none;
    wt_op_rows_init(&none, "n:int32 s:utf8?");
    expect_rows("n,s\n", two_fields, 2, &none, "n:int32 s:utf8?");
    expect_rows("n,s", two_fields, 2, &none, "n:int32 s:utf8?");
    wt_op_rows_fini(&none);
}

Test(csv, a_line_without_anything_is_a_null_of_the_only_column)
{
    const struct weir_field one[] = {{"s", "u", 1}};
    struct wt_op_rows expected;
    wt_op_rows_init(&expected, "s:utf8?");
    wt_op_rows_add(&expected, "a");
    wt_op_rows_add(&expected, "-");
    wt_op_rows_add(&expected, "-");
    wt_op_rows_add(&expected, "b");
    expect_rows("s\na\n\n\r\nb\n", one, 1, &expected, "s:utf8?");
    wt_op_rows_fini(&expected);
}

/* Longer than the buffers of the scanner and of the search for a part. */
Test(csv, a_giant_field_lies_over_many_parts)
{
    enum { GIANT = 900000 };
    char *text = malloc(2 * GIANT);
    struct wt_op_rows expected;
    cr_assert_not_null(text);
    char *to = stpcpy(text, "n,s\n1,a\n2,\"");
    wt_op_rows_init(&expected, "n:int32 s:utf8?");
    wt_op_rows_add(&expected, "1 a");
    struct wt_value *row = wt_op_rows_new(&expected);
    row[0].i = 2;
    row[1].s = malloc(GIANT + 1);
    for (int i = 0; i < GIANT; i++) {
        static const char bytes[] = "x\",\n\ry";
        char c = bytes[i % 6];
        row[1].s[i] = c;
        *to++ = c;
        if (c == '"') {
            *to++ = c;
        }
    }
    row[1].s[GIANT] = '\0';
    (void)stpcpy(to, "\"\n3,b\n");
    wt_op_rows_add(&expected, "3 b");
    expect_rows(text, two_fields, 2, &expected, "n:int32 s:utf8?");
    wt_op_rows_fini(&expected);
    free(text);
}

/* ---- against libcsv ------------------------------------------------------ */

struct judge {
    struct wt_op_rows *rows;
    struct wt_value *row;
    uint32_t field;
};

static void judge_field(void *text, size_t len, void *arg)
{
    struct judge *j = arg;
    if (j->field == 0) {
        j->row = wt_op_rows_new(j->rows);
    }
    j->row[j->field].null = text == NULL;
    if (text != NULL) { /* not strndup: it does not end where libcsv's does */
        j->row[j->field].s = calloc(1, len + 1);
        cr_assert_not_null(j->row[j->field].s);
        memcpy(j->row[j->field].s, text, len);
    }
    j->field++;
}

static void judge_record(int c, void *arg)
{
    (void)c;
    ((struct judge *)arg)->field = 0;
}

static int no_space(unsigned char c)
{
    (void)c;
    return 0;
}

/* All records of a text but its header, three texts each. */
static void judge(const char *text, size_t len, struct wt_op_rows *rows)
{
    struct csv_parser parser;
    struct judge j = {.rows = rows};
    cr_assert_eq(
        csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_EMPTY_IS_NULL), 0);
    csv_set_space_func(&parser, no_space);
    cr_assert_eq(csv_parse(&parser, text, len, judge_field, judge_record, &j),
                 len);
    cr_assert_eq(csv_fini(&parser, judge_field, judge_record, &j), 0);
    csv_free(&parser);
}

static size_t random_text(uint64_t *state, uint32_t rows, char *text)
{
    static const char *const fields[] = {
        "",
        "\"\"",
        "1",
        "plain",
        "\"a,b\"",
        "\"\n\"",
        "\"\r\n\"",
        "\"\"\"\"",
        " x ",
        "\"\r\"",
        "\"\n\n\"",
        "\"q\"\"\nq\"",
        "\"\"\",\"\"\"",
        "a rather long text that fills a block of sixty-four bytes and more"};
    static const char *const ends[] = {"\n", "\r\n", "\r", "\n\n", "\r\n\r\n"};
    const size_t n_fields = sizeof(fields) / sizeof(fields[0]);
    char *to = text;
    for (uint32_t i = 0; i < rows; i++) {
        for (int f = 0; f < 3; f++) {
            to = stpcpy(to, fields[wt_next_random(state) % n_fields]);
            to = stpcpy(to, f < 2 ? "," : ends[wt_next_random(state) % 5]);
        }
    }
    return (size_t)(to - text);
}

Test(csv, random_files_are_what_libcsv_reads_in_any_number_of_parts)
{
    static const struct weir_field fields[] = {
        {"a", "u", 1}, {"b", "u", 1}, {"c", "u", 1}};
    static const char header[] = "a,b,c\n";
    enum { MOST = 3000, HEADER = sizeof(header) - 1 };
    char *text = malloc(HEADER + MOST * 220);
    cr_assert_not_null(text);
    (void)strcpy(text, header);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t state = seed;
        const uint32_t rows = seed == 12 ? MOST : (uint32_t)(seed * seed);
        struct wt_op_rows expected;
        struct file f;
        size_t len = random_text(&state, rows, text + HEADER);
        wt_op_rows_init(&expected, "a:utf8? b:utf8? c:utf8?");
        judge(text + HEADER, len, &expected);
        cr_assert_eq(expected.n, rows);
        put_file(&f, text, HEADER + len);
        weir_table *table = open_with(f.path, fields, 3, NULL);
        for (uint32_t parts = 1; parts <= 17; parts++) {
            struct wt_op_rows got;
            wt_scan(table, "c:utf8? a:utf8? b:utf8?", parts, &got);
            wt_op_rows_fini(&got);
            wt_scan(table, "a:utf8? b:utf8? c:utf8?", parts, &got);
            wt_op_rows_expect(&got, &expected, true);
            wt_op_rows_fini(&got);
        }
        weir_table_close(table);
        (void)unlink(f.path);
        wt_op_rows_fini(&expected);
    }
    free(text);
}

/* Every byte of a small file is the border of some part. */
Test(csv, every_byte_may_be_a_border)
{
    const char *text = "n,s\r\n1,\"a\"\"\r\n\"\r\n\r\n2,\"\n\"\r3,b\n\n4,\"\"";
    struct file f;
    struct wt_op_rows whole;
    struct wt_op_rows got;
    put_file(&f, text, strlen(text));
    weir_table *table = open_with(f.path, two_fields, 2, NULL);
    wt_scan(table, "n:int32 s:utf8?", 1, &whole);
    cr_assert_eq(whole.n, 4);
    for (uint32_t parts = 2; parts <= 2 * strlen(text); parts++) {
        wt_scan(table, "n:int32 s:utf8?", parts, &got);
        wt_op_rows_expect(&got, &whole, true);
        wt_op_rows_fini(&got);
    }
    wt_op_rows_fini(&whole);
    weir_table_close(table);
    (void)unlink(f.path);
}

/* ---- columns and types --------------------------------------------------- */

Test(csv, types_are_found_and_columns_chosen)
{
    const char *text = "id,day,price,ok,name,empty\n"
                       "1,2013-07-01,1.5,true,x,\n"
                       "-2,,2.25,false,,\n";
    struct file f;
    struct wt_op_rows got;
    put_file(&f, text, strlen(text));
    weir_table *table = open_with(f.path, NULL, 0, NULL);
    wt_scan(table,
            "name:utf8? id:int64 day:date? price:float64 ok:bool empty:utf8?",
            3, &got);
    struct wt_op_rows expected;
    wt_op_rows_init(&expected, "name:utf8? id:int64 day:date? price:float64 "
                               "ok:bool empty:utf8?");
    wt_op_rows_add(&expected, "x 1 15887 1.5 1 -");
    wt_op_rows_add(&expected, "- -2 - 2.25 0 -");
    wt_op_rows_expect(&got, &expected, true);
    wt_op_rows_fini(&got);
    wt_scan(table, "price:float64", 1, &got);
    cr_assert_eq(got.n, 2);
    wt_op_rows_fini(&got);
    wt_op_rows_fini(&expected);
    weir_table_close(table);
    (void)unlink(f.path);
}

Test(csv, every_type_is_read)
{
    static const struct weir_field fields[] = {
        {"a", "c", 1},      {"b", "S", 1},    {"c", "L", 1},
        {"d", "f", 1},      {"e", "tsm:", 1}, {"f", "d:4,2", 1},
        {"g", "d:30,3", 1}, {"h", "w:2", 1},  {"i", "z", 1},
        {"j", "b", 1}};
    static const char columns[] = "a:int8? b:uint16? c:uint64? d:float32? "
                                  "e:timestamp(ms)? f:decimal(4,2)? "
                                  "g:decimal(30,3)? h:fixed(2)? i:binary? "
                                  "j:bool?";
    const char *text =
        "j,i,h,g,f,e,d,c,b,a\n"
        "TRUE,x,ab,123456789012345678901234567.8,-1.5,"
        "1970-01-02T00:00:01.25Z,0.5,18446744073709551615,65535,-128\n"
        ",,,,,,,,,\n"
        "0,\"\",cd,-.5,99.99000,1969-12-31 23:59,-2,0,+7,127\n";
    struct file f;
    struct wt_op_rows got;
    struct wt_op_rows expected;
    put_file(&f, text, strlen(text));
    weir_table *table = open_with(f.path, fields, 10, NULL);
    wt_scan(table, columns, 2, &got);
    wt_op_rows_init(&expected, columns);
    wt_op_rows_add(&expected,
                   "-128 65535 18446744073709551615 0.5 86401250 -150 "
                   "123456789012345678901234567800 ab x 1");
    wt_op_rows_add(&expected, "- - - - - - - - - -");
    wt_op_rows_add(&expected, "127 7 0 -2 -60000 9999 -500 cd \"\" 0");
    wt_op_rows_expect(&got, &expected, true);
    wt_op_rows_fini(&expected);
    wt_op_rows_fini(&got);
    weir_table_close(table);
    (void)unlink(f.path);
}

Test(csv, a_null_text_and_a_delimiter_may_be_chosen)
{
    static const struct weir_field fields[] = {{"n", "l", 1}, {"s", "u", 1}};
    const char *text = "1;NULL\nNULL;\n3;\"NULL\"\n";
    struct wt_op_rows got;
    struct wt_op_rows expected;
    struct file f;
    put_file(&f, text, strlen(text));
    const struct weir_csv_params p = {.path = f.path,
                                      .delimiter = ';',
                                      .no_header = 1,
                                      .fields = fields,
                                      .n_fields = 2,
                                      .null_text = "NULL"};
    weir_table *table;
    cr_assert_eq(weir_table_csv_open(&p, &table, NULL), WEIR_OK);
    wt_scan(table, "n:int64? s:utf8?", 2, &got);
    wt_op_rows_init(&expected, "n:int64? s:utf8?");
    wt_op_rows_add(&expected, "1 -");
    wt_op_rows_add(&expected, "- \"\"");
    wt_op_rows_add(&expected, "3 NULL");
    wt_op_rows_expect(&got, &expected, true);
    wt_op_rows_fini(&expected);
    wt_op_rows_fini(&got);
    weir_table_close(table);
    (void)unlink(f.path);
}

/* ---- errors -------------------------------------------------------------- */

static void expect_scan_error(const char *text, const char *message)
{
    struct file f;
    put_file(&f, text, strlen(text));
    weir_table *table = open_with(f.path, two_fields, 2, NULL);
    for (uint32_t parts = 1; parts <= 9; parts++) {
        struct weir_error err = wt_scan_error(table, "n:int32 s:utf8?", parts);
        cr_expect_eq(err.code, WEIR_ERR_DATA);
        cr_expect(strstr(err.message, message) != NULL,
                  "%u parts: \"%s\" in \"%s\"", parts, message, err.message);
        cr_expect(strstr(err.message, f.path) != NULL, "%s", err.message);
    }
    weir_table_close(table);
    (void)unlink(f.path);
}

Test(csv, the_first_fault_is_told_with_its_line_whatever_the_parts)
{
    expect_scan_error("n,s\n1,a\n2,\"x\ny\"\nx,b\n", ":5: column \"n\": \"x\" "
                                                     "is no int32");
    expect_scan_error("n,s\n1,a\n2\n3,c\n4\n", ":3: 1 field, the header has 2");
    expect_scan_error("n,s\n1,a\n2,b\n3,c\"d\n4,\"e\n\"\nx,y\n",
                      ":4: a quote in the middle of field 2");
    expect_scan_error("n,s\n1,a\n2,b\n3,\"c\n4,d\n5,e\n", ":4: the quote that");
    expect_scan_error("n,s\n1,a\n2147483648,b\n",
                      ":3: column \"n\": \"2147483648\" is no int32");
    expect_scan_error("n,s\n1,a\n,b\n", ":3: column \"n\": a null (\"\")");
}

static void expect_open_error(const struct weir_csv_params *p, weir_err code,
                              const char *message)
{
    struct weir_error err = {0};
    weir_table *table = NULL;
    cr_expect_eq(weir_table_csv_open(p, &table, &err), code);
    cr_expect_null(table);
    cr_expect(strstr(err.message, message) != NULL, "\"%s\" in \"%s\"", message,
              err.message);
}

Test(csv, what_cannot_be_opened_says_why)
{
    static const struct weir_field other[] = {{"x", "i", 0}};
    static const struct weir_field twice[] = {{"n", "i", 0}, {"n", "i", 0}};
    struct file good;
    struct file same;
    struct file none;
    put_file(&good, "n,s\n1,a\n", 8);
    put_file(&same, "n,s,n\n1,a,2\n", 12);
    put_file(&none, "", 0);
    expect_open_error(&(struct weir_csv_params){.path = "/nowhere.csv"},
                      WEIR_ERR_SYSTEM, "/nowhere.csv: No such file");
    expect_open_error(&(struct weir_csv_params){.path = "/tmp"}, WEIR_ERR_DATA,
                      "a directory");
    expect_open_error(&(struct weir_csv_params){.path = none.path},
                      WEIR_ERR_DATA, "the file is empty");
    expect_open_error(&(struct weir_csv_params){.path = same.path},
                      WEIR_ERR_DATA,
                      ":1: columns 1 and 3 are both named \"n\"");
    expect_open_error(
        &(struct weir_csv_params){
            .path = good.path, .fields = other, .n_fields = 1},
        WEIR_ERR_NOT_FOUND, "has no column \"x\"; its columns are: n, s");
    expect_open_error(&(struct weir_csv_params){.path = good.path,
                                                .fields = twice,
                                                .n_fields = 2},
                      WEIR_ERR_SCHEMA, "columns 1 and 2 are both named \"n\"");
    expect_open_error(
        &(struct weir_csv_params){.path = good.path, .no_header = 1},
        WEIR_ERR_ARG, "the columns must be given");
    expect_open_error(
        &(struct weir_csv_params){.path = good.path, .delimiter = '"'},
        WEIR_ERR_ARG, "delimiter");
    expect_open_error(
        &(struct weir_csv_params){.path = good.path, .reserved = {0, 1}},
        WEIR_ERR_ARG, "reserved");
    (void)unlink(good.path);
    (void)unlink(same.path);
    (void)unlink(none.path);
}
