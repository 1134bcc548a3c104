/* SPDX-License-Identifier: Apache-2.0 */
/* Row writer and cursor, through a shuffle of one node with itself: rows are
 * read from batches in a ring. */
#include <weir/weir.h>

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct loop {
    weir_node *node;
    weir_query *query;
    struct ArrowSchema schema;
    weir_writer *writer;
    weir_reader *reader;
    weir_row_writer *rows;
};

static void must(weir_err rc, const struct weir_error *err)
{
    cr_assert_eq(rc, WEIR_OK, "%s: %s", weir_err_name(rc), err->message);
}

static void open_loop(struct loop *l, const struct weir_field *fields,
                      uint32_t n, uint32_t batch_rows)
{
    struct weir_error err = {0};
    static unsigned int opened;
    char name[32];
    (void)snprintf(name, sizeof(name), "row-%d-%u", (int)getpid(), opened++);
    const struct weir_node_params np = {.name = name, .max_members = 1};
    must(weir_node_open(&np, &l->node, &err), &err);
    const struct weir_member member = {name, weir_node_address(l->node), 1};
    must(weir_node_join(l->node, &member, 1, &err), &err);
    const struct weir_query_params qp = {.id = 1};
    must(weir_query_open(l->node, &qp, &l->query, &err), &err);
    must(weir_schema_build(fields, n, &l->schema, &err), &err);
    const struct weir_shuffle_params sp = {
        .id = 1, .schema = &l->schema, .partitioning = WEIR_GATHER};
    weir_shuffle *shuffle;
    must(weir_shuffle_open(l->query, &sp, &shuffle, &err), &err);
    must(weir_writer_open(shuffle, 0, &l->writer, &err), &err);
    must(weir_reader_open(shuffle, 0, &l->reader, &err), &err);
    must(
        weir_row_writer_open(l->writer, &l->schema, batch_rows, &l->rows, &err),
        &err);
}

static void close_loop(struct loop *l)
{
    weir_row_writer_close(l->rows);
    weir_query_close(l->query);
    l->schema.release(&l->schema);
    weir_node_close(l->node);
}

/* The next batch; false at the end of the stream. */
static bool next_batch(struct loop *l, struct ArrowArray *batch)
{
    weir_err rc = weir_reader_next_wait(l->reader, batch);
    cr_assert(rc == WEIR_OK || rc == WEIR_DONE, "%s", weir_err_name(rc));
    return rc == WEIR_OK;
}

static void finish(struct loop *l)
{
    cr_assert_eq(weir_row_writer_flush(l->rows), WEIR_OK);
    cr_assert_eq(weir_writer_finish_wait(l->writer), WEIR_OK);
}

static void set_int(struct loop *l, uint32_t column, int64_t value)
{
    cr_assert_eq(weir_row_set_int64(l->rows, column, value), WEIR_OK,
                 "column %u, %lld", column, (long long)value);
}

static void set_text(struct loop *l, uint32_t column, const char *text)
{
    cr_assert_eq(weir_row_set_bytes(l->rows, column, text, strlen(text)),
                 WEIR_OK);
}

static bool text_is(const struct weir_row_cursor *c, uint32_t column,
                    const char *text)
{
    uint64_t len;
    const void *bytes = weir_row_bytes(c, column, &len);
    return len == strlen(text) && memcmp(bytes, text, len) == 0;
}

/* ---- every type at its limits -------------------------------------------- */

struct range {
    const char *format;
    int64_t min;
    int64_t max;
};

static const struct range ranges[] = {
    {"c", INT8_MIN, INT8_MAX},
    {"C", 0, UINT8_MAX},
    {"s", INT16_MIN, INT16_MAX},
    {"S", 0, UINT16_MAX},
    {"i", INT32_MIN, INT32_MAX},
    {"I", 0, UINT32_MAX},
    {"l", INT64_MIN, INT64_MAX},
    {"L", 0, INT64_MAX},
    {"b", 0, 1},
    {"tdD", INT32_MIN, INT32_MAX},
    {"tss:", INT64_MIN, INT64_MAX},
    {"tdm", INT64_MIN, INT64_MAX},
    {"tts", INT32_MIN, INT32_MAX},
    {"ttm", INT32_MIN, INT32_MAX},
    {"ttu", INT64_MIN, INT64_MAX},
    {"tDn", INT64_MIN, INT64_MAX},
    {"tiM", INT32_MIN, INT32_MAX},
    {"d:9,2,32", INT32_MIN, INT32_MAX},
    {"d:18,2,64", INT64_MIN, INT64_MAX},
};
enum { N_RANGES = sizeof(ranges) / sizeof(ranges[0]) };

static void open_ranges(struct loop *l)
{
    struct weir_field fields[N_RANGES];
    for (uint32_t i = 0; i < N_RANGES; i++) {
        fields[i] = (struct weir_field){ranges[i].format, ranges[i].format, 0};
    }
    open_loop(l, fields, N_RANGES, 0);
}

Test(row, integers_travel_at_both_ends_of_their_range)
{
    struct loop l;
    struct ArrowArray batch;
    open_ranges(&l);
    for (uint32_t i = 0; i < N_RANGES; i++) {
        set_int(&l, i, ranges[i].min);
    }
    cr_assert_eq(weir_row_end(l.rows), WEIR_OK);
    for (uint32_t i = 0; i < N_RANGES; i++) {
        set_int(&l, i, ranges[i].max);
    }
    cr_assert_eq(weir_row_end(l.rows), WEIR_OK);
    finish(&l);
    cr_assert(next_batch(&l, &batch));
    cr_assert_eq(batch.length, 2);
    struct weir_row_cursor c = weir_row_cursor_at(&batch, &l.schema);
    cr_assert(weir_row_next(&c));
    for (uint32_t i = 0; i < N_RANGES; i++) {
        cr_assert_eq(weir_row_int64(&c, i), ranges[i].min, "%s",
                     ranges[i].format);
    }
    cr_assert(weir_row_next(&c));
    for (uint32_t i = 0; i < N_RANGES; i++) {
        cr_assert_eq(weir_row_int64(&c, i), ranges[i].max, "%s",
                     ranges[i].format);
    }
    cr_assert_not(weir_row_next(&c));
    batch.release(&batch);
    cr_assert_not(next_batch(&l, &batch));
    close_loop(&l);
}

Test(row, integers_out_of_range_are_refused)
{
    struct loop l;
    open_ranges(&l);
    for (uint32_t i = 0; i < N_RANGES; i++) {
        if (ranges[i].min != INT64_MIN) {
            cr_assert_eq(weir_row_set_int64(l.rows, i, ranges[i].min - 1),
                         WEIR_ERR_DATA, "%s", ranges[i].format);
        }
        if (ranges[i].max != INT64_MAX) {
            cr_assert_eq(weir_row_set_int64(l.rows, i, ranges[i].max + 1),
                         WEIR_ERR_DATA, "%s", ranges[i].format);
        }
    }
    close_loop(&l);
}

Test(row, what_is_no_number_travels_as_its_bytes)
{
    static const struct {
        const char *format;
        uint32_t bytes;
    } cases[] = {{"e", 2}, {"tiD", 8}, {"tin", 16}, {"d:76,2,256", 32}};
    enum { N = sizeof(cases) / sizeof(cases[0]) };
    static const uint8_t value[32] = {1, 2, 3, [7] = 9, [15] = 8, [31] = 0x80};
    struct weir_field fields[N];
    struct loop l;
    struct ArrowArray batch;
    uint64_t len;
    for (uint32_t i = 0; i < N; i++) {
        fields[i] = (struct weir_field){cases[i].format, cases[i].format, 0};
    }
    open_loop(&l, fields, N, 0);
    for (uint32_t i = 0; i < N; i++) {
        cr_assert_eq(weir_row_set_bytes(l.rows, i, value, cases[i].bytes + 1),
                     WEIR_ERR_DATA);
        cr_assert_eq(weir_row_set_bytes(l.rows, i, value, cases[i].bytes),
                     WEIR_OK);
    }
    cr_assert_eq(weir_row_end(l.rows), WEIR_OK);
    finish(&l);
    cr_assert(next_batch(&l, &batch));
    struct weir_row_cursor c = weir_row_cursor_at(&batch, &l.schema);
    cr_assert(weir_row_next(&c));
    for (uint32_t i = 0; i < N; i++) {
        const void *got = weir_row_bytes(&c, i, &len);
        cr_assert_eq(len, cases[i].bytes, "%s", cases[i].format);
        cr_assert_eq(memcmp(got, value, len), 0, "%s", cases[i].format);
    }
    batch.release(&batch);
    close_loop(&l);
}

Test(row, floats_bytes_and_decimals_travel)
{
    static const struct weir_field fields[] = {
        {"f", "f", 0}, {"g", "g", 0},   {"u", "u", 0},
        {"z", "z", 0}, {"w", "w:3", 0}, {"d", "d:38,2", 0},
    };
    static const uint8_t decimal[16] = {1, 2, 3, [15] = 0x80};
    struct loop l;
    struct ArrowArray batch;
    uint64_t len;
    open_loop(&l, fields, 6, 0);
    cr_assert_eq(weir_row_set_double(l.rows, 0, 1.5), WEIR_OK);
    cr_assert_eq(weir_row_set_double(l.rows, 1, -1e300), WEIR_OK);
    set_text(&l, 2, "gr\xc3\xbc\xc3\x9f");
    cr_assert_eq(weir_row_set_bytes(l.rows, 3, "a\0b", 3), WEIR_OK);
    set_text(&l, 4, "xyz");
    cr_assert_eq(weir_row_set_bytes(l.rows, 5, decimal, 16), WEIR_OK);
    cr_assert_eq(weir_row_end(l.rows), WEIR_OK);
    finish(&l);
    cr_assert(next_batch(&l, &batch));
    struct weir_row_cursor c = weir_row_cursor_at(&batch, &l.schema);
    cr_assert(weir_row_next(&c));
    cr_assert_eq(weir_row_double(&c, 0), 1.5);
    cr_assert_eq(weir_row_double(&c, 1), -1e300);
    cr_assert(text_is(&c, 2, "gr\xc3\xbc\xc3\x9f"));
    cr_assert_eq(memcmp(weir_row_bytes(&c, 3, &len), "a\0b", 3), 0);
    cr_assert_eq(len, 3);
    cr_assert(text_is(&c, 4, "xyz"));
    cr_assert_eq(memcmp(weir_row_bytes(&c, 5, &len), decimal, 16), 0);
    cr_assert_eq(len, 16);
    batch.release(&batch);
    close_loop(&l);
}

/* The message of the call that failed. */
static void says(const struct loop *l, weir_err code, const char *text)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_row_writer_error(l->rows, &err), code);
    cr_assert_eq(err.code, code);
    cr_assert_not_null(strstr(err.message, text), "no \"%s\" in: %s", text,
                       err.message);
}

Test(row, setters_say_why_they_refuse)
{
    static const struct weir_field fields[] = {
        {"flag", "c", 0}, {"note", "u", 0}, {"code", "w:3", 0}};
    struct loop l;
    open_loop(&l, fields, 3, 0);
    cr_assert_eq(weir_row_writer_error(l.rows, NULL), WEIR_OK);
    cr_assert_eq(weir_row_set_int64(l.rows, 0, 300), WEIR_ERR_DATA);
    says(&l, WEIR_ERR_DATA, "row 0, column 0 (flag, format c): 300");
    set_int(&l, 0, 1);
    set_text(&l, 1, "x");
    set_text(&l, 2, "abc");
    cr_assert_eq(weir_row_end(l.rows), WEIR_OK);
    cr_assert_eq(weir_row_set_bytes(l.rows, 2, "four", 4), WEIR_ERR_DATA);
    says(&l, WEIR_ERR_DATA,
         "row 1, column 2 (code, format w:3): 4 bytes; "
         "exactly 3");
    cr_assert_eq(weir_row_set_int64(l.rows, 1, 1), WEIR_ERR_SCHEMA);
    says(&l, WEIR_ERR_SCHEMA, "(note, format u)");
    cr_assert_eq(weir_row_set_int64(l.rows, 3, 1), WEIR_ERR_ARG);
    says(&l, WEIR_ERR_ARG, "column = 3; there are 3");
    cr_assert_eq(weir_row_end(l.rows), WEIR_ERR_DATA);
    says(&l, WEIR_ERR_DATA, "column 0 (flag");
    weir_query_cancel(l.query, "enough of it");
    says(&l, WEIR_ERR_CANCELLED, "enough of it");
    cr_assert_eq(weir_writer_error(l.writer, NULL), WEIR_ERR_CANCELLED);
    cr_assert_eq(weir_reader_error(l.reader, NULL), WEIR_ERR_CANCELLED);
    close_loop(&l);
}

/* With the same number of columns, rows would be read wrongly. */
Test(row, open_refuses_the_schema_of_another_shuffle)
{
    static const struct weir_field ours[] = {{"a", "l", 0}};
    static const struct weir_field other[] = {{"a", "i", 0}};
    struct loop l;
    struct weir_error err = {0};
    struct ArrowSchema schema;
    weir_row_writer *rw = NULL;
    open_loop(&l, ours, 1, 0);
    must(weir_schema_build(other, 1, &schema, &err), &err);
    cr_assert_eq(weir_row_writer_open(l.writer, &schema, 0, &rw, &err),
                 WEIR_ERR_SCHEMA);
    cr_assert_not_null(strstr(err.message, "a:i; the shuffle has a:l"), "%s",
                       err.message);
    cr_assert_null(rw);
    schema.release(&schema);
    close_loop(&l);
}

Test(row, setters_refuse_what_does_not_fit)
{
    static const struct weir_field fields[] = {
        {"f", "f", 0}, {"l", "l", 0}, {"u", "u", 0}, {"w", "w:3", 0}};
    struct loop l;
    open_loop(&l, fields, 4, 0);
    cr_assert_eq(weir_row_set_double(l.rows, 0, 1e39), WEIR_ERR_DATA);
    cr_assert_eq(weir_row_set_double(l.rows, 0, (double)FLT_MAX), WEIR_OK);
    cr_assert_eq(weir_row_set_double(l.rows, 0, (double)INFINITY), WEIR_OK);
    cr_assert_eq(weir_row_set_double(l.rows, 1, 1.0), WEIR_ERR_SCHEMA);
    cr_assert_eq(weir_row_set_int64(l.rows, 2, 1), WEIR_ERR_SCHEMA);
    cr_assert_eq(weir_row_set_bytes(l.rows, 1, "x", 1), WEIR_ERR_SCHEMA);
    cr_assert_eq(weir_row_set_bytes(l.rows, 3, "four", 4), WEIR_ERR_DATA);
    cr_assert_eq(weir_row_set_bytes(l.rows, 2, "", UINT64_C(1) << 31),
                 WEIR_ERR_DATA);
    cr_assert_eq(weir_row_set_int64(l.rows, 4, 1), WEIR_ERR_ARG);
    close_loop(&l);
}

Test(row, open_refuses_too_many_rows_and_nested_schemas)
{
    static const struct weir_field field = {"l", "l", 0};
    struct loop l;
    struct weir_error err = {0};
    weir_row_writer *rw = NULL;
    open_loop(&l, &field, 1, 0);
    cr_assert_eq(weir_row_writer_open(l.writer, &l.schema, 65537, &rw, &err),
                 WEIR_ERR_ARG);
    cr_assert(strstr(err.message, "65537") != NULL, "%s", err.message);
    l.schema.children[0]->n_children = 1;
    cr_assert_eq(weir_row_writer_open(l.writer, &l.schema, 1, &rw, &err),
                 WEIR_ERR_SCHEMA);
    l.schema.children[0]->n_children = 0;
    cr_assert_null(rw);
    close_loop(&l);
}

/* ---- nulls --------------------------------------------------------------- */

static const struct weir_field nullable[] = {
    {"id", "l", 0}, {"n", "i", 1}, {"b", "b", 1}, {"text", "u", 1}};

Test(row, what_is_not_set_is_null_and_null_only_there)
{
    enum { ROWS = 5000 };
    struct loop l;
    struct ArrowArray batch;
    int64_t seen = 0;
    open_loop(&l, nullable, 4, 100);
    for (int64_t i = 0; i < ROWS; i++) {
        set_int(&l, 0, i);
        if (i % 3 != 0) {
            set_int(&l, 1, i);
        }
        if (i % 5 != 0) {
            set_int(&l, 2, i & 1);
        }
        if (i % 7 != 0) {
            set_text(&l, 3, i % 2 ? "odd" : "");
        }
        weir_err rc = weir_row_end(l.rows);
        while (rc == WEIR_AGAIN || i == ROWS - 1) {
            bool ended = rc == WEIR_OK;
            if (ended) { /* the ring may not have reached the reader yet */
                finish(&l);
            }
            while (ended ? next_batch(&l, &batch)
                         : weir_reader_next(l.reader, &batch) == WEIR_OK) {
                struct weir_row_cursor c =
                    weir_row_cursor_at(&batch, &l.schema);
                while (weir_row_next(&c)) {
                    int64_t id = weir_row_int64(&c, 0);
                    cr_assert_eq(id, seen);
                    cr_assert_eq(weir_row_is_null(&c, 1), id % 3 == 0);
                    cr_assert_eq(weir_row_is_null(&c, 2), id % 5 == 0);
                    cr_assert_eq(weir_row_is_null(&c, 3), id % 7 == 0);
                    cr_assert_eq(weir_row_int64(&c, 1), id % 3 ? id : 0);
                    cr_assert_eq(weir_row_int64(&c, 2), id % 5 ? id & 1 : 0);
                    cr_assert(id % 7 == 0 ||
                              text_is(&c, 3, id % 2 ? "odd" : ""));
                    seen++;
                }
                batch.release(&batch);
            }
            if (rc == WEIR_OK) {
                break;
            }
            rc = weir_row_writer_flush(l.rows);
        }
        cr_assert_eq(rc, WEIR_OK);
    }
    cr_assert_eq(seen, ROWS);
    close_loop(&l);
}

Test(row, a_row_without_a_value_that_must_be_there_is_dropped)
{
    struct loop l;
    struct ArrowArray batch;
    open_loop(&l, nullable, 4, 0);
    set_text(&l, 3, "lost");
    set_int(&l, 1, 7);
    cr_assert_eq(weir_row_end(l.rows), WEIR_ERR_DATA);
    set_int(&l, 0, 1);
    cr_assert_eq(weir_row_end(l.rows), WEIR_OK);
    finish(&l);
    cr_assert(next_batch(&l, &batch));
    cr_assert_eq(batch.length, 1);
    struct weir_row_cursor c = weir_row_cursor_at(&batch, &l.schema);
    cr_assert(weir_row_next(&c));
    cr_assert_eq(weir_row_int64(&c, 0), 1);
    cr_assert(weir_row_is_null(&c, 1));
    cr_assert(weir_row_is_null(&c, 3));
    batch.release(&batch);
    close_loop(&l);
}

/* ---- batches ------------------------------------------------------------- */

Test(row, a_value_set_twice_counts_once)
{
    struct loop l;
    struct ArrowArray batch;
    open_loop(&l, nullable, 4, 0);
    set_int(&l, 0, 1);
    set_int(&l, 0, 2);
    set_text(&l, 3, "a longer text");
    set_text(&l, 3, "short");
    cr_assert_eq(weir_row_end(l.rows), WEIR_OK);
    finish(&l);
    cr_assert(next_batch(&l, &batch));
    struct weir_row_cursor c = weir_row_cursor_at(&batch, &l.schema);
    cr_assert(weir_row_next(&c));
    cr_assert_eq(weir_row_int64(&c, 0), 2);
    cr_assert(text_is(&c, 3, "short"));
    batch.release(&batch);
    close_loop(&l);
}

Test(row, a_flush_keeps_the_open_row_open)
{
    struct loop l;
    struct ArrowArray batch;
    int64_t rows = 0;
    open_loop(&l, nullable, 4, 0);
    for (int64_t i = 0; i < 3; i++) {
        set_int(&l, 0, i);
        set_text(&l, 3, "before");
        cr_assert_eq(weir_row_end(l.rows), WEIR_OK);
    }
    set_int(&l, 0, 3);
    set_int(&l, 2, 1);
    set_text(&l, 3, "kept");
    cr_assert_eq(weir_row_writer_flush(l.rows), WEIR_OK);
    cr_assert_eq(weir_row_end(l.rows), WEIR_OK);
    finish(&l);
    while (next_batch(&l, &batch)) {
        struct weir_row_cursor c = weir_row_cursor_at(&batch, &l.schema);
        while (weir_row_next(&c)) {
            cr_assert_eq(weir_row_int64(&c, 0), rows);
            cr_assert(text_is(&c, 3, rows == 3 ? "kept" : "before"));
            cr_assert_eq(weir_row_is_null(&c, 2), rows != 3);
            cr_assert(rows != 3 || weir_row_int64(&c, 2) == 1);
            rows++;
        }
        batch.release(&batch);
    }
    cr_assert_eq(rows, 4);
    close_loop(&l);
}

/* Take what is there; each row is one letter, 300 KiB of it. */
static int64_t take_letters(struct loop *l, int64_t rows, uint64_t expected)
{
    struct ArrowArray batch;
    while (weir_reader_next(l->reader, &batch) == WEIR_OK) {
        struct weir_row_cursor c = weir_row_cursor_at(&batch, &l->schema);
        for (; weir_row_next(&c); rows++) {
            uint64_t len;
            const char *got = weir_row_bytes(&c, 0, &len);
            cr_assert_eq(len, expected);
            cr_assert_eq(got[0], 'a' + rows);
            cr_assert_eq(got[len - 1], 'a' + rows);
        }
        batch.release(&batch);
    }
    return rows;
}

Test(row, texts_grow_the_batch_and_push_it_early)
{
    enum { LEN = 300 * 1024, ROWS = 20 };
    static const struct weir_field field = {"text", "u", 0};
    static char text[LEN];
    struct loop l;
    int64_t rows = 0;
    open_loop(&l, &field, 1, 0);
    for (uint32_t i = 0; i < ROWS; i++) {
        memset(text, 'a' + (int)i, sizeof(text));
        cr_assert_eq(weir_row_set_bytes(l.rows, 0, text, sizeof(text)),
                     WEIR_OK);
        weir_err rc = weir_row_end(l.rows);
        /* Four of these are more than a MiB and than a ring holds. One thread
         * is at both ends: it may not wait for a row that it has yet to
         * push. */
        while (rc == WEIR_AGAIN) {
            cr_assert_eq(weir_row_set_bytes(l.rows, 0, "x", 1), WEIR_ERR_STATE);
            cr_assert_eq(weir_row_end(l.rows), WEIR_ERR_STATE);
            rows = take_letters(&l, rows, LEN);
            rc = weir_row_writer_flush(l.rows);
        }
        cr_assert_eq(rc, WEIR_OK);
    }
    cr_assert_geq(rows, 4, "nothing was pushed before %d rows", (int)ROWS);
    cr_assert_eq(weir_row_writer_flush(l.rows), WEIR_OK, "20 rows, 4 a push");
    while (weir_writer_finish(l.writer) == WEIR_AGAIN) {
        rows = take_letters(&l, rows, LEN);
    }
    struct ArrowArray batch;
    while (next_batch(&l, &batch)) { /* the end is in the ring: this ends */
        rows += batch.length;
        batch.release(&batch);
    }
    cr_assert_eq(rows, ROWS);
    close_loop(&l);
}

Test(row, done_reaches_the_row_writer)
{
    struct loop l;
    struct ArrowArray batch;
    open_loop(&l, nullable, 4, 1);
    weir_reader_stop(l.reader);
    weir_err rc = WEIR_OK;
    for (int64_t i = 0; i < 100000 && rc != WEIR_DONE; i++) {
        set_int(&l, 0, i);
        rc = weir_row_end(l.rows);
        while (rc == WEIR_AGAIN) { /* full before the stop came through */
            (void)weir_worker_wait(l.node, 0, WEIR_FOREVER);
            rc = weir_row_writer_flush(l.rows);
        }
        cr_assert(rc == WEIR_OK || rc == WEIR_DONE, "%s", weir_err_name(rc));
    }
    cr_assert_eq(rc, WEIR_DONE);
    cr_assert_eq(weir_writer_finish_wait(l.writer), WEIR_OK);
    cr_assert_not(next_batch(&l, &batch));
    close_loop(&l);
}

/* ---- the cursor on batches of others ------------------------------------- */

Test(row, the_cursor_adds_the_offsets_of_batch_and_column)
{
    static const struct weir_field fields[] = {{"n", "i", 1}, {"b", "b", 1}};
    static const int32_t values[] = {-1, -1, -1, 10, 20, 30};
    static const uint8_t bits = 1u << 4;               /* row 1 of the batch */
    static const uint8_t valid = (uint8_t) ~(1u << 5); /* all but row 2 */
    const void *n_buffers[] = {&valid, values};
    const void *b_buffers[] = {NULL, &bits};
    const void *no_buffers[] = {NULL};
    struct ArrowArray n = {
        .length = 5, .offset = 1, .n_buffers = 2, .buffers = n_buffers};
    struct ArrowArray b = {
        .length = 5, .offset = 1, .n_buffers = 2, .buffers = b_buffers};
    struct ArrowArray *children[] = {&n, &b};
    const struct ArrowArray batch = {.length = 3,
                                     .offset = 2,
                                     .n_buffers = 1,
                                     .buffers = no_buffers,
                                     .n_children = 2,
                                     .children = children};
    struct ArrowSchema schema;
    cr_assert_eq(weir_schema_build(fields, 2, &schema, NULL), WEIR_OK);
    struct weir_row_cursor c = weir_row_cursor_at(&batch, &schema);
    for (int64_t i = 0; i < 3; i++) {
        cr_assert(weir_row_next(&c));
        cr_assert_eq(weir_row_int64(&c, 0), 10 * (i + 1));
        cr_assert_eq(weir_row_int64(&c, 1), i == 1);
        cr_assert_eq(weir_row_is_null(&c, 0), i == 2);
        cr_assert_not(weir_row_is_null(&c, 1));
    }
    cr_assert_not(weir_row_next(&c));
    cr_assert_not(weir_row_next(&c));
    schema.release(&schema);
}
