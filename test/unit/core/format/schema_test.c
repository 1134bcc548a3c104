/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format/import.h"
#include "core/format/schema.h"
#include "test/unit/core/format/batch_fixture.h"

static struct wi_schema *open_fields(const struct weir_field *fields,
                                     uint32_t n)
{
    struct ArrowSchema s;
    struct wi_schema *out = NULL;
    struct weir_error err = {0};
    cr_assert_eq(weir_schema_build(fields, n, &s, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(wi_schema_open(&s, &out, &err), WEIR_OK, "%s", err.message);
    s.release(&s);
    return out;
}

static weir_err open_format(const char *format, struct wi_column *column_out)
{
    struct ArrowSchema child = {.format = format,
                                .name = "x",
                                .release = (void (*)(struct ArrowSchema *))1};
    struct ArrowSchema *children[] = {&child};
    struct ArrowSchema s = {.format = "+s",
                            .n_children = 1,
                            .children = children,
                            .release = (void (*)(struct ArrowSchema *))1};
    struct wi_schema *out = NULL;
    weir_err rc = wi_schema_open(&s, &out, NULL);
    if (rc == WEIR_OK) {
        *column_out = out->columns[0];
        wi_schema_close(out);
    }
    return rc;
}

Test(schema, every_supported_format_has_its_kind_order_and_width)
{
    static const struct {
        const char *format;
        enum wi_kind kind;
        enum wi_order order;
        uint32_t width;
    } cases[] = {
        {"c", WI_KIND_FIXED, WI_ORDER_SIGNED, 1},
        {"C", WI_KIND_FIXED, WI_ORDER_UNSIGNED, 1},
        {"s", WI_KIND_FIXED, WI_ORDER_SIGNED, 2},
        {"S", WI_KIND_FIXED, WI_ORDER_UNSIGNED, 2},
        {"i", WI_KIND_FIXED, WI_ORDER_SIGNED, 4},
        {"I", WI_KIND_FIXED, WI_ORDER_UNSIGNED, 4},
        {"l", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
        {"L", WI_KIND_FIXED, WI_ORDER_UNSIGNED, 8},
        {"f", WI_KIND_FIXED, WI_ORDER_FLOAT, 4},
        {"g", WI_KIND_FIXED, WI_ORDER_FLOAT, 8},
        {"b", WI_KIND_BITS, WI_ORDER_UNSIGNED, 0},
        {"e", WI_KIND_FIXED, WI_ORDER_NONE, 2},
        {"tdD", WI_KIND_FIXED, WI_ORDER_SIGNED, 4},
        {"tdm", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
        {"tts", WI_KIND_FIXED, WI_ORDER_SIGNED, 4},
        {"ttm", WI_KIND_FIXED, WI_ORDER_SIGNED, 4},
        {"ttu", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
        {"ttn", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
        {"tDs", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
        {"tDn", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
        {"tiM", WI_KIND_FIXED, WI_ORDER_SIGNED, 4},
        {"tiD", WI_KIND_FIXED, WI_ORDER_NONE, 8},
        {"tin", WI_KIND_FIXED, WI_ORDER_NONE, 16},
        {"tss:", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
        {"tsm:UTC", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
        {"tsu:Europe/Lisbon", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
        {"tsn:", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
        {"d:38,10", WI_KIND_FIXED, WI_ORDER_SIGNED, 16},
        {"d:5,-2,128", WI_KIND_FIXED, WI_ORDER_SIGNED, 16},
        {"d:9,2,32", WI_KIND_FIXED, WI_ORDER_SIGNED, 4},
        {"d:18,0,64", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
        {"d:76,-76,256", WI_KIND_FIXED, WI_ORDER_SIGNED, 32},
        {"u", WI_KIND_VAR, WI_ORDER_BYTES, 0},
        {"z", WI_KIND_VAR, WI_ORDER_BYTES, 0},
        {"w:1", WI_KIND_FIXED, WI_ORDER_BYTES, 1},
        {"w:4096", WI_KIND_FIXED, WI_ORDER_BYTES, 4096},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wi_column c = {0};
        cr_assert_eq(open_format(cases[i].format, &c), WEIR_OK, "%s",
                     cases[i].format);
        cr_expect_eq(c.kind, cases[i].kind, "%s", cases[i].format);
        cr_expect_eq(c.order, cases[i].order, "%s", cases[i].format);
        cr_expect_eq(c.width, cases[i].width, "%s", cases[i].format);
    }
}

Test(schema, other_formats_are_refused)
{
    static const char *const formats[] = {
        "",          "n",          "tt",
        "U",         "Z",          "vu",
        "+l",        "+s",         "td",
        "ttx",       "tD",         "tss",
        "ts",        "tsx:",       "w:",
        "w:0",       "w:4097",     "w:12x",
        "w:-1",      "d:",         "d:39,2",
        "d:10",      "d:77,2,256", "d:0,0",
        "d:9,2,",    "ll",         "w:99999999999999999999",
        "d:10,2,32", "d:19,2,64",  "d:9,2,16",
        "d:9,10,32", "tiX",        "d:9,2,4294967328",
    };
    struct wi_column c;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        cr_expect_eq(open_format(formats[i], &c), WEIR_ERR_SCHEMA, "%s",
                     formats[i]);
    }
}

Test(schema, sums_count_buffers_and_bits)
{
    struct weir_field fields[] = {
        {"a", "l", 0}, {"b", "b", 1}, {"c", "u", 1}, {"d", "w:3", 0}};
    struct wi_schema *s = open_fields(fields, 4);
    cr_assert_eq(s->n_columns, 4);
    cr_assert_eq(s->n_var, 1);
    cr_assert_eq(s->n_buffers, 1 + 2 + 3 + 1);
    cr_assert_eq(s->fixed_bits, 64 + 2 + 33 + 24);
    cr_assert_eq(wi_schema_find(s, "c"), 2);
    cr_assert_eq(wi_schema_find(s, "nope"), -1);
    wi_schema_close(s);
}

Test(schema, fingerprint_tells_names_formats_and_nullability_apart)
{
    struct weir_field variants[][2] = {
        {{"a", "l", 0}, {"b", "u", 0}},       {{"a", "l", 1}, {"b", "u", 0}},
        {{"a", "l", 0}, {"b", "u", 1}},       {{"b", "l", 0}, {"a", "u", 0}},
        {{"a", "L", 0}, {"b", "u", 0}},       {{"ab", "l", 0}, {"", "u", 0}},
        {{"b", "u", 0}, {"a", "l", 0}},       {{"a", "tss:", 0}, {"b", "u", 0}},
        {{"a", "tss:UTC", 0}, {"b", "u", 0}},
    };
    enum { N = sizeof(variants) / sizeof(variants[0]) };
    uint64_t prints[N];
    for (int i = 0; i < N; i++) {
        struct wi_schema *s = open_fields(variants[i], 2);
        struct wi_schema *again = open_fields(variants[i], 2);
        cr_assert_eq(s->fingerprint, again->fingerprint);
        prints[i] = s->fingerprint;
        wi_schema_close(s);
        wi_schema_close(again);
        for (int j = 0; j < i; j++) {
            cr_expect_neq(prints[i], prints[j], "%d and %d", i, j);
        }
    }
}

Test(schema, text_is_cut_to_fit_and_terminated)
{
    struct weir_field fields[] = {{"a", "l", 1}, {"b", "u", 0}};
    struct wi_schema *s = open_fields(fields, 2);
    char text[64];
    wi_schema_text(s, text, sizeof(text));
    cr_assert_str_eq(text, "a:l?, b:u");
    for (size_t n = 1; n < 10; n++) {
        memset(text, 'x', sizeof(text));
        wi_schema_text(s, text, n);
        cr_assert_eq(strlen(text), n - 1);
        cr_assert_eq(strncmp(text, "a:l?, b:u", n - 1), 0);
        cr_assert_eq(text[n], 'x');
    }
    wi_schema_close(s);
}

Test(schema, bad_schemas_are_errors_that_name_the_column)
{
    struct ArrowSchema child = {.format = "l", .name = "dict"};
    struct ArrowSchema *children[] = {&child};
    struct ArrowSchema s = {
        .format = "+s", .n_children = 1, .children = children};
    struct wi_schema *out = NULL;
    struct weir_error err;

    cr_assert_eq(wi_schema_open(NULL, &out, &err), WEIR_ERR_ARG);
    cr_assert_eq(wi_schema_open(&s, &out, &err), WEIR_ERR_ARG, "released");
    s.release = (void (*)(struct ArrowSchema *))1;
    cr_assert_eq(wi_schema_open(&s, &out, &err), WEIR_ERR_ARG, "child");
    child.release = s.release;
    child.dictionary = &s;
    cr_assert_eq(wi_schema_open(&s, &out, &err), WEIR_ERR_SCHEMA);
    cr_assert_not_null(strstr(err.message, "dict"));
    s.n_children = 0;
    cr_assert_eq(wi_schema_open(&s, &out, &err), WEIR_ERR_SCHEMA);
    s.n_children = 1025;
    cr_assert_eq(wi_schema_open(&s, &out, &err), WEIR_ERR_SCHEMA);
    s.format = "l";
    cr_assert_eq(wi_schema_open(&s, &out, &err), WEIR_ERR_SCHEMA);
    cr_assert_null(out);
}

/* ---- import -------------------------------------------------------------- */

static void open_batch(struct wt_batch *t, int nullable)
{
    struct weir_field fields[] = {{"a", "l", nullable}, {"s", "u", nullable}};
    wt_open_schema(t, 1, fields, 2);
    wt_random_batch(t, 100, 20);
}

static weir_err import(struct wt_batch *t, struct weir_error *err)
{
    return wi_schema_import(t->schema, &t->array, t->views, err);
}

Test(schema, import_adds_offsets_of_struct_and_child)
{
    struct wt_batch t;
    open_batch(&t, 0);
    t.array.offset = 3;
    t.columns[0].offset = 5;
    t.array.length = 4;
    cr_assert_eq(import(&t, NULL), WEIR_OK);
    cr_assert_eq(t.views[0].offset, 8);
    cr_assert_eq(t.views[0].values, t.buffers[0][1]);
    cr_assert_null(t.views[0].validity);
    wt_close(&t);
}

/* A validity bitmap of 128 ones but for the given bit (-1: none). */
static void set_validity(struct wt_batch *t, uint32_t c, int zero_bit)
{
    uint8_t *bits = malloc(16);
    memset(bits, 0xff, 16);
    if (zero_bit >= 0) {
        bits[zero_bit / 8] &= (uint8_t) ~(1u << (zero_bit % 8));
    }
    free((void *)(uintptr_t)t->buffers[c][0]);
    t->buffers[c][0] = bits;
    t->columns[c].null_count = -1;
    t->columns[c].offset = 0;
    t->array.offset = 3;
    t->array.length = 80;
}

Test(schema, import_counts_nulls_of_the_slice_only)
{
    struct wt_batch t;
    struct weir_error err;
    open_batch(&t, 0);
    for (int bit = -1; bit < 128; bit++) {
        set_validity(&t, 0, bit);
        bool inside = bit >= 3 && bit < 83;
        cr_assert_eq(import(&t, &err), inside ? WEIR_ERR_SCHEMA : WEIR_OK,
                     "bit %d", bit);
    }
    cr_assert_eq(t.views[0].validity, NULL);
    wt_close(&t);
}

Test(schema, import_keeps_validity_of_nullable_columns_with_nulls)
{
    struct wt_batch t;
    open_batch(&t, 1);
    set_validity(&t, 0, 50);
    cr_assert_eq(import(&t, NULL), WEIR_OK);
    cr_assert_eq(t.views[0].validity, t.buffers[0][0]);
    t.columns[0].null_count = 0;
    cr_assert_eq(import(&t, NULL), WEIR_OK);
    cr_assert_null(t.views[0].validity, "null_count 0 wins");
    wt_close(&t);
}

Test(schema, import_refuses_batches_of_another_shape)
{
    struct wt_batch t;
    struct weir_error err;
    open_batch(&t, 0);
    struct ArrowArray good = t.array;

    cr_assert_eq(wi_schema_import(t.schema, NULL, t.views, &err), WEIR_ERR_ARG);
    t.array.n_children = 1;
    cr_assert_eq(import(&t, &err), WEIR_ERR_SCHEMA);
    t.array = good;
    t.array.length = -1;
    cr_assert_eq(import(&t, &err), WEIR_ERR_SCHEMA);
    t.array = good;
    t.array.length = (int64_t)INT32_MAX + 1;
    cr_assert_eq(import(&t, &err), WEIR_ERR_SCHEMA);
    t.array = good;
    t.array.length = 101; /* a row more than the columns have */
    cr_assert_eq(import(&t, &err), WEIR_ERR_SCHEMA);
    t.array = good;
    t.array.offset = INT64_MAX;
    cr_assert_eq(import(&t, &err), WEIR_ERR_SCHEMA);
    t.array = good;
    t.columns[1].n_buffers = 2;
    cr_assert_eq(import(&t, &err), WEIR_ERR_SCHEMA);
    cr_assert_not_null(strstr(err.message, " s "), "%s", err.message);
    t.columns[1].n_buffers = 3;
    cr_assert_eq(import(&t, &err), WEIR_OK);
    wt_close(&t);
}

Test(schema, import_refuses_nulls_of_the_struct)
{
    struct wt_batch t;
    uint8_t bits[32];
    const void *buffers[] = {bits};
    open_batch(&t, 1);
    memset(bits, 0xff, sizeof(bits));
    t.array.buffers = buffers;
    t.array.null_count = -1;
    cr_assert_eq(import(&t, NULL), WEIR_OK);
    bits[t.array.offset / 8 + 2] = 0;
    cr_assert_eq(import(&t, NULL), WEIR_ERR_SCHEMA);
    wt_close(&t);
}

Test(schema, import_takes_empty_batches_with_null_buffers)
{
    struct wt_batch t;
    open_batch(&t, 0);
    t.array.length = 0;
    const void *none[3] = {NULL, NULL, NULL};
    t.columns[0].buffers = none;
    t.columns[1].buffers = none;
    cr_assert_eq(import(&t, NULL), WEIR_OK);
    cr_assert_not_null(t.views[1].values);
    cr_assert_not_null(t.views[1].bytes);
    t.array.length = 1;
    cr_assert_eq(import(&t, NULL), WEIR_ERR_SCHEMA);
    wt_close(&t);
}

/* ---- offsets ------------------------------------------------------------- */

static weir_err check_offsets(struct wt_batch *t, struct weir_error *err)
{
    cr_assert_eq(import(t, err), WEIR_OK);
    return wi_schema_check_offsets(t->schema, t->views,
                                   (uint64_t)t->array.length, err);
}

/* Every place, so that whole blocks, the rest after them and both ends of the
 * slice are tested. */
Test(schema, offsets_that_descend_are_found_in_each_row_of_the_slice)
{
    struct wt_batch t;
    int32_t offsets[300];
    open_batch(&t, 1);
    for (int32_t i = 0; i < 300; i++) {
        offsets[i] = i;
    }
    const void *buffers[] = {NULL, offsets, "bytes"};
    t.columns[1].buffers = buffers;
    t.columns[1].length = 299;
    t.columns[1].offset = 0;
    t.columns[0].length = 299;
    t.array.offset = 5;
    t.array.length = 280;
    for (uint32_t row = 0; row < 280; row++) {
        struct weir_error err = {0};
        char place[32];
        int32_t kept = offsets[5 + row + 1];
        (void)snprintf(place, sizeof(place), "column s, row %u:", row);
        offsets[5 + row + 1] = offsets[5 + row] - 1;
        cr_assert_eq(check_offsets(&t, &err), WEIR_ERR_DATA);
        cr_assert_not_null(strstr(err.message, place), "%s", err.message);
        offsets[5 + row + 1] = kept;
    }
    offsets[4] = 1000; /* just outside the slice */
    offsets[286] = 0;
    cr_assert_eq(check_offsets(&t, NULL), WEIR_OK);
    offsets[5] = -1;
    cr_assert_eq(check_offsets(&t, NULL), WEIR_ERR_DATA);
    wt_close(&t);
}

Test(schema, every_instruction_set_finds_the_same_descent)
{
    int32_t offsets[258];
    const uint8_t *bytes = (const uint8_t *)offsets;
    for (uint32_t row = 0; row < 257; row++) {
        for (int32_t i = 0; i < 258; i++) {
            offsets[i] = i / 2; /* also rows without bytes */
        }
        offsets[row + 1] = INT32_MIN;
        cr_assert_eq(wi_offsets_descent(bytes, 257, WI_ISA_PORTABLE), row);
        cr_assert_eq(wi_offsets_descent(bytes, 257, wi_isa_best()), row);
        cr_assert_eq(wi_offsets_descent(bytes, row, WI_ISA_PORTABLE), row);
        cr_assert_eq(wi_offsets_descent(bytes, row, wi_isa_best()), row);
    }
}

Test(schema, texts_without_a_buffer_are_found)
{
    static const int32_t offsets[] = {7, 7, 7, 9};
    const void *buffers[] = {NULL, offsets, NULL};
    struct weir_error err;
    struct wt_batch t;
    open_batch(&t, 1);
    t.columns[1].buffers = buffers;
    t.columns[1].length = 3;
    t.columns[1].offset = 0;
    t.array.offset = 0;
    t.array.length = 3;
    cr_assert_eq(check_offsets(&t, &err), WEIR_ERR_DATA);
    cr_assert_not_null(strstr(err.message, "no buffer"), "%s", err.message);
    t.array.length = 2; /* all empty: none is needed */
    cr_assert_eq(check_offsets(&t, &err), WEIR_OK);
    wt_close(&t);
}
