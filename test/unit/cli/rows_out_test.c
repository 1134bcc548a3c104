/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of every type as a table, CSV and JSON: to the letter. */
#include "cli/rows_out.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weir/table.h>

#include "operators/table/table.h"

__extension__ typedef __int128 i128;

enum { ROWS = 2, COLUMNS = 3 };

/* One column of a batch, over buffers of the test. */
struct column {
    const void *buffers[3];
    struct ArrowArray array;
};

static void keep(struct ArrowArray *array)
{
    array->release = NULL;
}

static void set(struct column *c, const uint8_t *valid, const void *values,
                const void *text)
{
    c->buffers[0] = valid;
    c->buffers[1] = values;
    c->buffers[2] = text;
    c->array = (struct ArrowArray){.length = ROWS,
                                   .null_count = valid == NULL ? 0 : -1,
                                   .n_buffers = text == NULL ? 2 : 3,
                                   .buffers = c->buffers,
                                   .release = keep};
}

static char *print(enum rows_format format, const struct ArrowSchema *schema,
                   const struct ArrowArray *batch)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    struct rows_out *out;
    cr_assert_eq(rows_out_open(to, format, schema, &out, NULL), WEIR_OK);
    if (batch != NULL) {
        cr_assert_eq(rows_out_put(out, batch, NULL), WEIR_OK);
    }
    cr_assert_eq(rows_out_end(out, NULL), WEIR_OK);
    rows_out_close(out);
    (void)fclose(to);
    return text;
}

static void expect(enum rows_format format, const struct ArrowArray *batch,
                   const char *expected)
{
    static const struct weir_field fields[COLUMNS] = {
        {"n", "l", 0}, {"say, it", "u", 1}, {"d", "d:5,2", 0}};
    struct ArrowSchema schema;
    cr_assert_eq(weir_schema_build(fields, COLUMNS, &schema, NULL), WEIR_OK);
    char *text = print(format, &schema, batch);
    cr_expect_str_eq(text, expected, "%s", text);
    free(text);
    schema.release(&schema);
}

static void with_batch(void (*check)(const struct ArrowArray *))
{
    static const int64_t n[] = {-7, 1234};
    static const uint8_t valid[] = {1}; /* the second text is null */
    static const int32_t offsets[] = {0, 8, 8};
    static const i128 d[] = {-5, 12345};
    struct column c[COLUMNS];
    struct ArrowArray *children[COLUMNS];
    const void *none[1] = {NULL};
    set(&c[0], NULL, n, NULL);
    set(&c[1], valid, offsets, "a \"\xc3\xa4\"\n,");
    set(&c[2], NULL, d, NULL);
    for (int i = 0; i < COLUMNS; i++) {
        children[i] = &c[i].array;
    }
    const struct ArrowArray batch = {.length = ROWS,
                                     .n_buffers = 1,
                                     .buffers = none,
                                     .n_children = COLUMNS,
                                     .children = children,
                                     .release = keep};
    check(&batch);
}

static void check_table(const struct ArrowArray *batch)
{
    expect(ROWS_TABLE, batch,
           "    n | say, it |      d\n"
           "------+---------+--------\n"
           "   -7 | a \"\xc3\xa4\" , |  -0.05\n"
           " 1234 | null    | 123.45\n"
           "(2 rows)\n");
}

Test(rows_out, a_table_is_aligned_and_numbers_stand_to_the_right)
{
    with_batch(check_table);
}

static void check_csv(const struct ArrowArray *batch)
{
    expect(ROWS_CSV, batch,
           "n,\"say, it\",d\n"
           "-7,\"a \"\"\xc3\xa4\"\"\n,\",-0.05\n"
           "1234,,123.45\n");
}

Test(rows_out, csv_quotes_what_a_reader_would_split)
{
    with_batch(check_csv);
}

static void check_json(const struct ArrowArray *batch)
{
    expect(ROWS_JSON, batch,
           "{\"n\": -7, \"say, it\": \"a \\\"\xc3\xa4\\\"\\n,\", \"d\": "
           "\"-0.05\"}\n"
           "{\"n\": 1234, \"say, it\": null, \"d\": \"123.45\"}\n");
}

Test(rows_out, json_has_decimals_as_texts)
{
    with_batch(check_json);
}

Test(rows_out, no_rows_still_have_a_header)
{
    expect(ROWS_TABLE, NULL, " n | say, it | d\n---+---------+---\n(0 rows)\n");
    expect(ROWS_CSV, NULL, "n,\"say, it\",d\n");
    expect(ROWS_JSON, NULL, "");
}

/* ---- single values ------------------------------------------------------- */

static void expect_value(const char *format, const void *values,
                         const char *expected)
{
    const struct weir_field field = {"v", format, 0};
    struct ArrowSchema schema;
    struct column c;
    struct ArrowArray *children[1] = {&c.array};
    char csv[64];
    set(&c, NULL, values, NULL);
    const struct ArrowArray batch = {
        .length = 1, .n_children = 1, .children = children, .release = keep};
    cr_assert_eq(weir_schema_build(&field, 1, &schema, NULL), WEIR_OK);
    char *text = print(ROWS_CSV, &schema, &batch);
    (void)snprintf(csv, sizeof(csv), "v\n%s\n", expected);
    cr_expect_str_eq(text, csv, "%s: %s", format, text);
    free(text);
    schema.release(&schema);
}

Test(rows_out, integers_and_bools)
{
    expect_value("c", &(int8_t){-128}, "-128");
    expect_value("S", &(uint16_t){65535}, "65535");
    expect_value("l", &(int64_t){INT64_MIN}, "-9223372036854775808");
    expect_value("L", &(uint64_t){UINT64_MAX}, "18446744073709551615");
    expect_value("b", &(uint8_t){1}, "true");
    expect_value("b", &(uint8_t){0}, "false");
}

Test(rows_out, floats_are_the_shortest_that_read_back)
{
    expect_value("g", &(double){0.1}, "0.1");
    expect_value("g", &(double){1.0 / 3}, "0.3333333333333333");
    expect_value("f", &(float){0.1F}, "0.1");
    expect_value("g", &(double){1e300}, "1e+300");
    expect_value("g", &(double){-0.0}, "-0");
}

Test(rows_out, decimals_have_all_their_digits)
{
    expect_value("d:38,0", &(i128){42}, "42");
    expect_value("d:5,5", &(i128){-1}, "-0.00001");
    expect_value("d:3,2", &(i128){0}, "0.00");
}

Test(rows_out, dates_and_times_before_and_after_1970)
{
    expect_value("tdD", &(int32_t){0}, "1970-01-01");
    expect_value("tdD", &(int32_t){-1}, "1969-12-31");
    expect_value("tdD", &(int32_t){15887}, "2013-07-01");
    expect_value("tss:", &(int64_t){1372680000}, "2013-07-01 12:00:00");
    expect_value("tsu:", &(int64_t){1372680000000001},
                 "2013-07-01 12:00:00.000001");
    expect_value("tsm:", &(int64_t){-1}, "1969-12-31 23:59:59.999");
    expect_value("tsn:UTC", &(int64_t){1000000000}, "1970-01-01 00:00:01");
    expect_value(
        "tss:", &(int64_t){INT64_C(67768036191676800)},
        "2147485548-01-01 00:00:00"); /* beyond the years of struct tm */
}

/* A header of a CSV file may have a line end in a name. */
Test(rows_out, a_table_has_a_line_per_row_whatever_its_names_are)
{
    static const struct weir_field fields[] = {{"a\nb\t", "u", 0},
                                               {"n\n", "l", 0}};
    struct ArrowSchema schema;
    cr_assert_eq(weir_schema_build(fields, 2, &schema, NULL), WEIR_OK);
    char *text = print(ROWS_TABLE, &schema, NULL);
    cr_expect_str_eq(text, " a b  | n \n"
                           "------+----\n"
                           "(0 rows)\n");
    free(text);
    schema.release(&schema);
}

/* ---- bytes --------------------------------------------------------------- */

enum { BYTES = 256, FIXED = 3, KEYS = 3 };

/* Each byte once, then none, then a null; beside three bytes that a reader
 * would take for something else. */
static const struct weir_field byte_fields[] = {{"b", "z", 1}, {"f", "w:3", 0}};

static void write_bytes(const char *path, const char *bytes, const char *fixed)
{
    static const uint8_t valid[] = {3};
    static const int32_t offsets[] = {0, BYTES, BYTES, BYTES};
    const void *none[] = {NULL};
    struct column c[2];
    struct ArrowArray *children[] = {&c[0].array, &c[1].array};
    struct ArrowSchema schema;
    struct rows_out *out;
    set(&c[0], valid, offsets, bytes);
    set(&c[1], NULL, fixed, NULL);
    c[0].array.length = c[1].array.length = KEYS;
    const struct ArrowArray batch = {.length = KEYS,
                                     .n_buffers = 1,
                                     .buffers = none,
                                     .n_children = 2,
                                     .children = children,
                                     .release = keep};
    cr_assert_eq(weir_schema_build(byte_fields, 2, &schema, NULL), WEIR_OK);
    FILE *to = fopen(path, "w");
    cr_assert_not_null(to);
    cr_assert_eq(rows_out_open(to, ROWS_CSV, &schema, &out, NULL), WEIR_OK);
    cr_assert_eq(rows_out_put(out, &batch, NULL), WEIR_OK);
    cr_assert_eq(rows_out_end(out, NULL), WEIR_OK);
    rows_out_close(out);
    (void)fclose(to);
    schema.release(&schema);
}

static void check_bytes(const struct ArrowArray *batch, const char *bytes,
                        const char *fixed)
{
    const struct ArrowArray *b = batch->children[0];
    const int32_t *offsets = b->buffers[1];
    cr_assert_eq(batch->length, KEYS);
    cr_assert_eq(offsets[1] - offsets[0], BYTES);
    cr_assert_eq(memcmp((const char *)b->buffers[2] + offsets[0], bytes, BYTES),
                 0);
    cr_assert_eq(offsets[2], offsets[1]);
    cr_assert_eq(((const uint8_t *)b->buffers[0])[0] & 7, 3, "nulls");
    cr_assert_eq(memcmp(batch->children[1]->buffers[1], fixed, KEYS * FIXED),
                 0);
}

Test(rows_out, csv_of_bytes_reads_back)
{
    static const char fixed[] = "\"\r\n,  \0ab";
    static const uint32_t both[] = {0, 1};
    const struct weir_table_part part = {
        .n_parts = 1, .n_workers = 1, .columns = both, .n_columns = 2};
    char path[] = "/tmp/rows-out-XXXXXX";
    char bytes[BYTES];
    struct weir_error err = {0};
    struct ArrowArray batch;
    weir_table *table = NULL;
    void *scan = NULL;
    for (int i = 0; i < BYTES; i++) {
        bytes[i] = (char)i;
    }
    (void)close(mkstemp(path));
    write_bytes(path, bytes, fixed);
    const struct weir_csv_params p = {
        .path = path, .fields = byte_fields, .n_fields = 2};
    cr_assert_eq(weir_table_csv_open(&p, &table, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(table->ops.open(table->arg, &part, &scan, &err), WEIR_OK);
    cr_assert_eq(table->ops.next(scan, &batch, &err), WEIR_OK, "%s",
                 err.message);
    check_bytes(&batch, bytes, fixed);
    batch.release(&batch);
    table->ops.close(scan);
    weir_table_close(table);
    (void)unlink(path);
}
