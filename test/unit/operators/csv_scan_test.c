/* SPDX-License-Identifier: Apache-2.0 */
/* Records and where they are; parts of a file that together are the file. */
#include "operators/table/csv_scan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/csv_plan.h"

/* A file without a name, or with one in `path` (to be removed). */
static int file_of(const char *bytes, size_t len, char *path)
{
    char own[] = "/tmp/csv-scan-XXXXXX";
    int fd = mkstemp(path == NULL ? own : path);
    cr_assert_geq(fd, 0);
    if (path == NULL) {
        cr_assert_eq(unlink(own), 0);
    }
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        cr_assert_gt(n, 0);
        bytes += n;
        len -= (size_t)n;
    }
    return fd;
}

struct scanned {
    int fd;
    struct wi_csv_scan *scan;
    struct wi_csv_record record;
    struct weir_error err;
};

/* A scanner of the open file, which is said to have len bytes. */
static void open_scan(struct scanned *s, uint64_t len, uint32_t columns)
{
    const struct wi_csv_file file = {s->fd, "file", len, ','};
    cr_assert_eq(wi_csv_scan_open(&file, columns, &s->scan, &s->err), WEIR_OK);
    wi_csv_scan_range(s->scan, 0, len, 1);
}

static void open_text(struct scanned *s, const char *text, uint32_t columns)
{
    size_t len = strlen(text);
    memset(s, 0, sizeof(*s));
    s->fd = file_of(text, len, NULL);
    open_scan(s, len, columns);
}

static void close_text(struct scanned *s)
{
    wi_csv_scan_close(s->scan);
    (void)close(s->fd);
}

static weir_err next(struct scanned *s)
{
    return wi_csv_scan_next(s->scan, &s->record, &s->err);
}

static bool field_is(const struct scanned *s, uint32_t i, const char *text)
{
    const struct wi_csv_field *f = &s->record.fields[i];
    if (text == NULL || wi_csv_is_empty(f)) {
        return text == NULL && wi_csv_is_empty(f);
    }
    return f->len == strlen(text) && memcmp(f->text, text, f->len) == 0;
}

/* Expect one record: where it is, and its fields. */
static void expect(struct scanned *s, uint64_t line, uint64_t begin,
                   uint32_t n_fields, const char *const *fields)
{
    weir_err rc = next(s);
    cr_assert_eq(rc, WEIR_OK, "%s %s", weir_err_name(rc), s->err.message);
    cr_expect_eq(s->record.line, line, "line %u", (unsigned)s->record.line);
    cr_expect_eq(s->record.begin, begin, "begin %u", (unsigned)s->record.begin);
    cr_assert_eq(s->record.n_fields, n_fields);
    for (uint32_t i = 0; i < n_fields; i++) {
        cr_expect(field_is(s, i, fields[i]), "line %u field %u", (unsigned)line,
                  i);
    }
}

#define FIELDS(...)                                                            \
    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),               \
        (const char *const[])                                                  \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

Test(csv_scan, records_have_their_lines_and_offsets)
{
    struct scanned s;
    open_text(&s, "a,b\n1,\"x\ny\"\r\n\r\n\"\",\n z ,\"say \"\"hi\"\"\"", 0);
    expect(&s, 1, 0, FIELDS("a", "b"));
    expect(&s, 2, 4, FIELDS("1", "x\ny"));
    expect(&s, 5, 15, FIELDS("", NULL));
    expect(&s, 6, 19, FIELDS(" z ", "say \"hi\""));
    cr_assert_eq(next(&s), WEIR_DONE);
    cr_assert_eq(next(&s), WEIR_DONE);
    close_text(&s);
}

Test(csv_scan, a_lone_cr_ends_a_record_and_is_data_in_quotes)
{
    struct scanned s;
    open_text(&s, "a,b\r1,\"x\ry\r\nz\"\r2,3\r", 2);
    expect(&s, 1, 0, FIELDS("a", "b"));
    expect(&s, 2, 4, FIELDS("1", "x\ry\r\nz"));
    expect(&s, 5, 15, FIELDS("2", "3"));
    cr_assert_eq(next(&s), WEIR_DONE);
    close_text(&s);
}

Test(csv_scan, empty_lines_are_nulls_in_one_column_and_nothing_in_more)
{
    struct scanned s;
    open_text(&s, "1\n\n\r\n2\n", 1);
    expect(&s, 1, 0, FIELDS("1"));
    expect(&s, 2, 2, FIELDS(NULL));
    expect(&s, 3, 3, FIELDS(NULL));
    expect(&s, 4, 5, FIELDS("2"));
    cr_assert_eq(next(&s), WEIR_DONE);
    close_text(&s);
    open_text(&s, "\n\n1,2\n\n", 2);
    expect(&s, 3, 2, FIELDS("1", "2"));
    cr_assert_eq(next(&s), WEIR_DONE);
    close_text(&s);
}

static void expect_error(const char *text, uint32_t good, const char *message)
{
    struct scanned s;
    open_text(&s, text, 2);
    for (uint32_t i = 0; i < good; i++) {
        cr_assert_eq(next(&s), WEIR_OK, "%s", s.err.message);
    }
    cr_assert_eq(next(&s), WEIR_ERR_DATA);
    cr_expect(strstr(s.err.message, message) != NULL, "\"%s\" in \"%s\"",
              message, s.err.message);
    close_text(&s);
}

Test(csv_scan, errors_say_the_line_and_what_is_wrong)
{
    expect_error("1,2\n3\n", 1, "file:2: 1 field, the header has 2");
    expect_error("1,2\n\"a\nb\",2\n1,2,3\n", 2, "file:4: 3 fields");
    expect_error("1,2\n3,\"4\n5,6\n", 1,
                 "file:2: the quote that opens field 2");
    expect_error("1,2\n3,a\"b\n", 1,
                 "file:2: a quote in the middle of field 2");
    expect_error("\"1\"x,2\n", 0, "file:1: a quote in the middle of field 1");
}

Test(csv_scan, a_quote_that_is_never_closed_does_not_take_all_memory)
{
    size_t len = (size_t)WI_CSV_MAX_RECORD_BYTES + 1000;
    char *text = malloc(len);
    struct scanned s;
    cr_assert_not_null(text);
    memset(text, 'x', len);
    memcpy(text, "1,2\n3,\"", 7);
    for (size_t i = 100; i < len; i += 100) {
        text[i] = '\n';
    }
    memset(&s, 0, sizeof(s));
    s.fd = file_of(text, len, NULL);
    open_scan(&s, len, 2);
    cr_assert_eq(next(&s), WEIR_OK);
    cr_assert_eq(next(&s), WEIR_ERR_DATA);
    cr_expect(strstr(s.err.message, "file:2: the record that begins here is "
                                    "longer") != NULL,
              "%s", s.err.message);
    close_text(&s);
    free(text);
}

Test(csv_scan, a_file_that_became_shorter_is_an_error)
{
    struct scanned s;
    memset(&s, 0, sizeof(s));
    s.fd = file_of("1,2\n3,4\n", 8, NULL);
    open_scan(&s, 100, 2);
    cr_assert_eq(next(&s), WEIR_OK);
    cr_assert_eq(next(&s), WEIR_OK);
    cr_assert_eq(next(&s), WEIR_ERR_DATA);
    close_text(&s);
}

/* ---- parts --------------------------------------------------------------- */

static uint32_t pick(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* A table of many records with every kind of line end, inside and outside. */
static char *make_table(uint64_t seed, size_t rows, size_t *len_out)
{
    static const char *const fields[] = {"1",
                                         "",
                                         "\"\"",
                                         "abc",
                                         "\"a,b\"",
                                         "\"l\nf\"",
                                         "\"c\r\nr\"",
                                         "\"\"\"\"",
                                         "\"\r\"",
                                         "\"\n\n\"",
                                         "a longer text without any quotes"};
    static const char *const ends[] = {"\n", "\r\n", "\r", "\n\n", "\r\n\r\n"};
    char *text = malloc(16 + rows * 128);
    cr_assert_not_null(text);
    char *to = stpcpy(text, "a,b,c\n");
    for (size_t i = 0; i < rows; i++) {
        for (int f = 0; f < 3; f++) {
            to = stpcpy(to, fields[pick(&seed, 11)]);
            to = stpcpy(to, f < 2 ? "," : ends[pick(&seed, 5)]);
        }
    }
    *len_out = (size_t)(to - text);
    return text;
}

/* Order-dependent hash of a record: FNV-1a over fields, with their nulls. */
static uint64_t mix(uint64_t h, const struct wi_csv_record *r)
{
    for (uint32_t i = 0; i < r->n_fields; i++) {
        h = (h ^ (wi_csv_is_empty(&r->fields[i]) ? 1u : 2u)) * 0x100000001b3u;
        for (size_t b = 0; b < r->fields[i].len; b++) {
            h = (h ^ (uint8_t)r->fields[i].text[b]) * 0x100000001b3u;
        }
    }
    return h;
}

static void check_parts(const char *path, uint32_t n_parts)
{
    struct csv_plan plan;
    struct weir_error err = {0};
    struct wi_csv_record r;
    struct wi_csv_scan *scan;
    _Atomic uint64_t done = 0;
    uint64_t whole = 7;
    uint64_t parts = 7;
    uint64_t rows = 0;
    weir_err rc = csv_plan_open(&plan, path, n_parts, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    rc = csv_plan_scan(&plan, &done, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    cr_assert_eq(done, plan.bytes);
    const struct wi_csv_file file = {plan.fd, path, plan.bytes, ','};
    cr_assert_eq(wi_csv_scan_open(&file, 3, &scan, &err), WEIR_OK);
    wi_csv_scan_range(scan, 6, plan.bytes, 2);
    while (wi_csv_scan_next(scan, &r, &err) == WEIR_OK) {
        whole = mix(whole, &r);
    }
    for (uint32_t i = 0; i < n_parts; i++) {
        const uint64_t end = i + 1 < n_parts ? plan.begins[i + 1] : plan.bytes;
        wi_csv_scan_range(scan, plan.begins[i], end, 1);
        while ((rc = wi_csv_scan_next(scan, &r, &err)) == WEIR_OK) {
            parts = mix(parts, &r);
            rows++;
        }
        cr_assert_eq(rc, WEIR_DONE, "part %u: %s", i, err.message);
    }
    cr_assert_eq(rows, plan.rows);
    cr_assert_eq(parts, whole, "%u parts", n_parts);
    wi_csv_scan_close(scan);
    csv_plan_close(&plan);
}

/* The larger ones are several read buffers long, so that every kind of line end
 * lies across their edges now and then. */
Test(csv_scan, parts_of_a_file_are_the_file)
{
    static const uint32_t parts[] = {1, 2, 3, 7, 64, 1000};
    static const size_t rows[] = {0, 1, 5, 300, 40000};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        for (size_t r = 0; r < 5; r++) {
            char path[] = "/tmp/csv-parts-XXXXXX";
            size_t len;
            char *text = make_table(seed, rows[r], &len);
            int fd = file_of(text, len, path);
            for (size_t p = 0; p < 6; p++) {
                check_parts(path, parts[p]);
            }
            (void)close(fd);
            (void)unlink(path);
            free(text);
        }
    }
}
