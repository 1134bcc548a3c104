/* SPDX-License-Identifier: Apache-2.0 */
/* Where rows go: what is written, and that nothing is left of what fails. */
#define _GNU_SOURCE 1
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/bench/scan/batches.h"
#include "tools/scan/counted.h"
#include "tools/scan/out.h"
#include "tools/scan/quote.h"

TestSuite(scan_out, .timeout = 60);

enum { PATH_ROOM = 128, TEXT_ROOM = 1024 };

struct fixture {
    char dir[PATH_ROOM];
    char file[PATH_ROOM];
    struct wt_scan_batches batches;
    struct wt_scan_stream stream;
};

static struct ArrowArrayStream open_rows(struct fixture *f, const char *name,
                                         int fails)
{
    strcpy(f->dir, "/tmp/weir_out_XXXXXX");
    cr_assert_not_null(mkdtemp(f->dir));
    cr_assert_lt(snprintf(f->file, PATH_ROOM, "%.80s/%s", f->dir, name),
                 PATH_ROOM);
    wt_scan_batches_init(&f->batches);
    f->stream = (struct wt_scan_stream){.batches = &f->batches, .fails = fails};
    return wt_scan_stream(&f->stream);
}

Test(scan_out, knows_the_ending_of_a_name)
{
    enum out_kind kind;
    cr_assert(out_kind_of(NULL, &kind) && kind == OUT_TABLE);
    cr_assert(out_kind_of("a.csv", &kind) && kind == OUT_CSV);
    cr_assert(out_kind_of("a.b.parquet", &kind) && kind == OUT_PARQUET);
    cr_assert(out_kind_of("/x/y.arrow", &kind) && kind == OUT_ARROW);
    cr_assert(!out_kind_of("a.txt", &kind));
    cr_assert(!out_kind_of(".csv", &kind));
    cr_assert(!out_kind_of("csv", &kind));
}

#ifdef WEIR_DUCKDB
/* The file's bytes; ends the folder, which holds nothing else. */
static size_t take_file(struct fixture *f, char text[TEXT_ROOM])
{
    FILE *file = fopen(f->file, "re");
    cr_assert_not_null(file, "%s", f->file);
    size_t n = fread(text, 1, TEXT_ROOM - 1, file);
    text[n] = '\0';
    (void)fclose(file);
    cr_assert_eq(unlink(f->file), 0);
    cr_assert_eq(rmdir(f->dir), 0, "%s holds more than the file", f->dir);
    return n;
}

Test(scan_out, writes_csv)
{
    struct fixture f;
    struct weir_error err;
    char text[TEXT_ROOM];
    struct ArrowArrayStream rows = open_rows(&f, "it's.csv", 0);
    weir_err rc = out_take(OUT_CSV, f.file, &rows, &err);
    cr_assert_eq(f.stream.released, 1);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    (void)take_file(&f, text);
    cr_assert_str_eq(text, "number,text\n5,a\n-1,\"\"\n0,bcd\n"
                           "9223372036854775807,\"\"\n,efghi\n7,j\n"
                           "123456789,kl\n1,mnopqrst\n");
}
#endif

Test(scan_out, without_duckdb_its_files_are_refused)
{
    struct fixture f;
    struct weir_error err;
    cr_assert_eq(setenv("WEIR_DUCKDB", "/nonexistent/libduckdb.so", 1), 0);
    struct ArrowArrayStream rows = open_rows(&f, "it's.csv", 0);
    cr_assert_eq(out_take(OUT_CSV, f.file, &rows, &err), WEIR_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(err.message, "libduckdb.so"));
    cr_assert_eq(f.stream.released, 1);
    cr_assert_eq(rmdir(f.dir), 0, "%s is not empty", f.dir);
}

Test(scan_out, writes_files_of_arrow)
{
    struct fixture f;
    struct weir_error err;
    char text[TEXT_ROOM * 4];
    struct ArrowArrayStream rows = open_rows(&f, "some.arrow", 0);
    weir_err rc = out_take(OUT_ARROW, f.file, &rows, &err);
    cr_assert_eq(f.stream.released, 1);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    FILE *file = fopen(f.file, "re");
    cr_assert_not_null(file);
    size_t n = fread(text, 1, sizeof(text), file);
    (void)fclose(file);
    cr_assert_lt(n, sizeof(text));
    cr_assert_eq(memcmp(text, "ARROW1\0\0", 8), 0);
    cr_assert_eq(memcmp(text + n - 6, "ARROW1", 6), 0);
    cr_assert_not_null(memmem(text, n, "mnopqrst", 8));
    cr_assert_eq(unlink(f.file), 0);
    cr_assert_eq(rmdir(f.dir), 0);
}

Test(scan_out, leaves_nothing_of_a_stream_that_fails)
{
    static const enum out_kind kinds[] = {OUT_ARROW, OUT_CSV, OUT_PARQUET};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct fixture f;
        struct weir_error err;
        struct ArrowArrayStream rows = open_rows(&f, "part", EIO);
        weir_err rc = out_take(kinds[i], f.file, &rows, &err);
        cr_assert_lt(rc, WEIR_OK);
        cr_assert_eq(f.stream.released, 1);
        cr_assert(rc == WEIR_ERR_NOT_FOUND || rc == WEIR_ERR_UNSUPPORTED ||
                      strstr(err.message, "the engine has tripped") != NULL,
                  "%s", err.message);
        cr_assert_eq(rmdir(f.dir), 0, "something is left");
    }
}

Test(scan_out, says_that_a_folder_is_not_there)
{
    struct fixture f;
    struct weir_error err;
    struct ArrowArrayStream rows = open_rows(&f, "none/some.arrow", 0);
    cr_assert_eq(out_take(OUT_ARROW, f.file, &rows, &err), WEIR_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.message, "none/some.arrow"));
    cr_assert_eq(f.stream.released, 1);
    cr_assert_eq(rmdir(f.dir), 0);
}

Test(scan_out, counts_rows)
{
    struct fixture f;
    struct wl_counter counter = {.rows = 0};
    struct counted counted = {.counter = &counter};
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct ArrowArrayStream rows = open_rows(&f, "none", EIO);
    cr_assert_eq(counted_open(&rows, &counted, &stream, NULL), WEIR_OK);
    cr_assert_null(rows.release);
    for (int i = 1; i <= 2; i++) {
        cr_assert_eq(stream.get_next(&stream, &batch), 0);
        batch.release(&batch);
        cr_assert_eq(counter.rows, (uint64_t)i * WT_SCAN_ROWS / 2);
    }
    cr_assert_eq(stream.get_next(&stream, &batch), EIO);
    cr_assert_str_eq(stream.get_last_error(&stream), "the engine has tripped");
    stream.release(&stream);
    cr_assert_eq(f.stream.released, 1);
    cr_assert_eq(counted.failed, EIO);
    cr_assert_str_eq(counted.why, "the engine has tripped");
    cr_assert_eq(counter.rows, WT_SCAN_ROWS);
    cr_assert_eq(rmdir(f.dir), 0);
}

Test(scan_out, doubles_marks_in_names)
{
    static const struct {
        const char *text;
        size_t bytes;
        char mark;
        const char *quoted;
    } names[] = {{"a", 1, '"', "\"a\""},
                 {"", 0, '\'', "''"},
                 {"it's", 4, '\'', "'it''s'"},
                 {"it's", 4, '"', "\"it's\""},
                 {"\"\".csv", 2, '"', "\"\"\"\"\"\""}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *got = sql_quote(names[i].text, names[i].bytes, names[i].mark);
        cr_assert_str_eq(got, names[i].quoted);
        free(got);
    }
}
