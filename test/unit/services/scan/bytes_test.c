/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas and batches as bytes, there and back; and bytes that are none. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "services/scan/batch_bytes.h"
#include "services/scan/schema_bytes.h"
#include "test/unit/services/scan/make.h"

TestSuite(scan_bytes, .timeout = 60);

/* A batch of a kind as it travels, in memory of exactly its size. */
struct sent {
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct wi_scan_shape shape;
    struct wi_scan_split split;
    struct wi_scan_body body;
    int released;
    struct weir_error err;
};

static void count_release(void *arg)
{
    ++*(int *)arg;
}

static void send_kind(struct sent *s, int kind)
{
    memset(s, 0, sizeof(*s));
    wt_scan_make(kind, &s->schema, &s->array);
    cr_assert_eq(wi_scan_shape_init(&s->shape, &s->schema, &s->err), WEIR_OK,
                 "%s: %s", wt_scan_kind_name(kind), s->err.message);
    cr_assert_eq(wi_scan_split(&s->shape, &s->array, &s->split, &s->err),
                 WEIR_OK, "%s: %s", wt_scan_kind_name(kind), s->err.message);
    size_t bytes = s->split.body_bytes;
    void *to = aligned_alloc(WI_SCAN_ALIGN, bytes != 0 ? bytes : WI_SCAN_ALIGN);
    cr_assert_not_null(to);
    wi_scan_split_copy(&s->split, to);
    s->body =
        (struct wi_scan_body){to, bytes, count_release, &s->released, false};
}

static void send_end(struct sent *s)
{
    free((void *)(uintptr_t)s->body.base);
    wi_scan_split_fini(&s->split);
    wi_scan_shape_fini(&s->shape);
    if (s->array.release != NULL) {
        s->array.release(&s->array);
    }
    s->schema.release(&s->schema);
}

static weir_err join_sent(struct sent *s, struct ArrowArray *out)
{
    return wi_scan_join(&s->shape, s->split.head.bytes, s->split.head.len,
                        &s->body, out, &s->err);
}

/* ---- schemas ------------------------------------------------------------- */

Test(scan_bytes, schemas_of_all_types_come_back)
{
    for (int k = 0; k < wt_scan_kinds(); k++) {
        struct ArrowSchema schema, back;
        struct ArrowArray array;
        struct wi_scan_buf bytes = {0}, again = {0};
        struct weir_error err;
        wt_scan_make(k, &schema, &array);
        cr_assert_eq(wi_scan_schema_encode(&schema, &bytes, &err), WEIR_OK);
        cr_assert_eq(wi_scan_schema_decode(bytes.bytes, bytes.len, &back, &err),
                     WEIR_OK, "%s: %s", wt_scan_kind_name(k), err.message);
        cr_assert_str_eq(back.format, schema.format);
        cr_assert_eq(back.flags, schema.flags);
        cr_assert_eq(wi_scan_schema_encode(&back, &again, &err), WEIR_OK);
        cr_assert_eq(again.len, bytes.len);
        cr_assert_arr_eq(again.bytes, bytes.bytes, bytes.len, "%s",
                         wt_scan_kind_name(k));
        free(bytes.bytes);
        free(again.bytes);
        back.release(&back);
        schema.release(&schema);
        array.release(&array);
    }
}

Test(scan_bytes, a_schema_cut_anywhere_is_an_error)
{
    struct ArrowSchema schema, back;
    struct ArrowArray array;
    struct wi_scan_buf bytes = {0};
    for (int k = 0; k < wt_scan_kinds(); k++) {
        wt_scan_make(k, &schema, &array);
        bytes.len = 0;
        cr_assert_eq(wi_scan_schema_encode(&schema, &bytes, NULL), WEIR_OK);
        for (size_t n = 0; n < bytes.len; n++) {
            uint8_t *part = malloc(n + 1);
            memcpy(part, bytes.bytes, n);
            cr_assert_eq(wi_scan_schema_decode(part, n, &back, NULL),
                         WEIR_ERR_DATA);
            free(part);
        }
        schema.release(&schema);
        array.release(&array);
    }
    free(bytes.bytes);
}

/* One inside the other, n deep. */
static void nest(struct ArrowSchema *s, int n)
{
    ArrowSchemaInit(s);
    cr_assert_eq(ArrowSchemaSetFormat(s, n > 1 ? "+s" : "i"), NANOARROW_OK);
    if (n > 1) {
        cr_assert_eq(ArrowSchemaAllocateChildren(s, 1), NANOARROW_OK);
        nest(s->children[0], n - 1);
    }
}

Test(scan_bytes, depth_is_bounded)
{
    struct ArrowSchema s;
    struct wi_scan_buf bytes = {0};
    struct weir_error err;
    nest(&s, WI_SCAN_DEPTH_MAX);
    cr_assert_eq(wi_scan_schema_encode(&s, &bytes, &err), WEIR_OK);
    s.release(&s);
    nest(&s, WI_SCAN_DEPTH_MAX + 1);
    cr_assert_eq(wi_scan_schema_encode(&s, &bytes, &err), WEIR_ERR_SCHEMA);
    s.release(&s);
    free(bytes.bytes);
}

static weir_err shape_of(const char *format, int n_children, const char *child,
                         struct weir_error *err)
{
    struct ArrowSchema s;
    struct wi_scan_shape shape;
    ArrowSchemaInit(&s);
    cr_assert_eq(ArrowSchemaSetFormat(&s, format), NANOARROW_OK);
    cr_assert_eq(ArrowSchemaSetName(&s, "the_column"), NANOARROW_OK);
    cr_assert_eq(ArrowSchemaAllocateChildren(&s, n_children), NANOARROW_OK);
    for (int i = 0; i < n_children; i++) {
        ArrowSchemaInit(s.children[i]);
        cr_assert_eq(ArrowSchemaSetFormat(s.children[i], child), NANOARROW_OK);
    }
    weir_err code = wi_scan_shape_init(&shape, &s, err);
    if (code == WEIR_OK) {
        wi_scan_shape_fini(&shape);
    }
    s.release(&s);
    return code;
}

Test(scan_bytes, a_type_that_is_not_known_is_named)
{
    struct weir_error err;
    cr_assert_eq(shape_of("quantum:7", 0, NULL, &err), WEIR_ERR_SCHEMA);
    cr_assert_not_null(strstr(err.message, "quantum:7"));
    cr_assert_not_null(strstr(err.message, "the_column"));
}

/* Formats that nanoarrow would read as something else than other readers. */
Test(scan_bytes, formats_with_two_meanings_are_refused)
{
    static const char *const leaves[] = {
        "w:4294967300", "w:-1",     "w: 3",        "w:3x",
        "w:03",         "d:10",     "d:10,2,127",  "d:4294967306,2",
        "w:",           "d:10,2,x", "d:10,2,128,", ""};
    for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
        cr_assert_eq(shape_of(leaves[i], 0, NULL, NULL), WEIR_ERR_SCHEMA, "%s",
                     leaves[i]);
    }
    static const char *const parents[] = {
        "+us:0,0", "+ud:0",           "+us:0,1,2", "+ud:0,128", "+ud:-1,0",
        "+us:",    "+w:999999999999", "+l",        "+m",        "+ud:0,1,",
        "i"};
    for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
        cr_assert_eq(shape_of(parents[i], 2, "i", NULL), WEIR_ERR_SCHEMA, "%s",
                     parents[i]);
    }
    cr_assert_eq(shape_of("+ud:5,127", 2, "i", NULL), WEIR_OK);
    cr_assert_eq(shape_of("+r", 2, "f", NULL), WEIR_ERR_SCHEMA);
    cr_assert_eq(shape_of("+r", 2, "i", NULL), WEIR_OK);
}

/* ---- batches ------------------------------------------------------------- */

Test(scan_bytes, batches_of_all_types_come_back)
{
    for (int k = 0; k < wt_scan_kinds(); k++) {
        struct sent s;
        struct ArrowArray back;
        send_kind(&s, k);
        cr_assert_eq(join_sent(&s, &back), WEIR_OK, "%s: %s",
                     wt_scan_kind_name(k), s.err.message);

        /* Head and body of what came are those of what was sent. */
        struct wi_scan_split again = {0};
        cr_assert_eq(wi_scan_split(&s.shape, &back, &again, &s.err), WEIR_OK,
                     "%s: %s", wt_scan_kind_name(k), s.err.message);
        cr_assert_eq(again.head.len, s.split.head.len);
        cr_assert_arr_eq(again.head.bytes, s.split.head.bytes, again.head.len,
                         "%s", wt_scan_kind_name(k));
        uint8_t *body = calloc(1, again.body_bytes + 1);
        wi_scan_split_copy(&again, body);
        cr_assert_arr_eq(body, s.body.base, again.body_bytes, "%s",
                         wt_scan_kind_name(k));
        free(body);
        wi_scan_split_fini(&again);

        back.release(&back);
        cr_assert_eq(s.released, 1);
        send_end(&s);
    }
}

static int kind_of(const char *name)
{
    for (int k = 0; k < wt_scan_kinds(); k++) {
        if (strcmp(wt_scan_kind_name(k), name) == 0) {
            return k;
        }
    }
    cr_assert_fail("no kind %s", name);
    return -1;
}

Test(scan_bytes, a_child_outlives_its_batch)
{
    struct sent s;
    struct ArrowArray back;
    send_kind(&s, kind_of("struct"));
    cr_assert_eq(join_sent(&s, &back), WEIR_OK);
    struct ArrowArray child = *back.children[0];
    back.children[0]->release = NULL;
    back.release(&back);
    cr_assert_eq(s.released, 0);
    cr_assert_eq(((const int32_t *)child.buffers[1])[3], 3);
    child.release(&child);
    cr_assert_eq(s.released, 1);
    send_end(&s);
}

Test(scan_bytes, a_bitmap_that_is_not_there_means_no_nulls)
{
    struct sent s;
    struct ArrowArray back;
    send_kind(&s, kind_of("without nulls"));
    s.array.null_count = -1; /* engines leave it uncounted */
    cr_assert_eq(wi_scan_split(&s.shape, &s.array, &s.split, &s.err), WEIR_OK,
                 "%s", s.err.message);
    cr_assert_eq(join_sent(&s, &back), WEIR_OK, "%s", s.err.message);
    cr_assert_null(back.buffers[0]);
    cr_assert_eq(back.null_count, 0);
    back.release(&back);
    send_end(&s);
}

Test(scan_bytes, an_engine_that_breaks_its_schema_is_told)
{
    struct sent s;
    struct ArrowArray other;
    struct ArrowSchema schema;
    send_kind(&s, kind_of("struct"));
    wt_scan_make(kind_of("utf8"), &schema, &other);
    cr_assert_eq(wi_scan_split(&s.shape, &other, &s.split, &s.err),
                 WEIR_ERR_DATA);
    cr_assert_not_null(strstr(s.err.message, "schema"));
    other.release(&other);
    schema.release(&schema);
    send_end(&s);
}

/* Sizes over 2 GiB: nothing is copied to split, so the memory is only reserved
 * by its offsets here, never touched. */
Test(scan_bytes, buffers_over_2_gib_are_measured)
{
    struct sent s;
    send_kind(&s, kind_of("large binary"));
    int64_t offsets[2] = {0, 5000000000};
    static const char byte;
    const void *buffers[3] = {NULL, offsets, &byte};
    struct ArrowArray big = s.array;
    big.length = 1;
    big.null_count = 0;
    big.buffers = buffers;
    cr_assert_eq(wi_scan_split(&s.shape, &big, &s.split, &s.err), WEIR_OK, "%s",
                 s.err.message);
    cr_assert_geq(s.split.body_bytes, 5000000000u);
    uint64_t bytes = 0;
    cr_assert_eq(wi_scan_head_body_bytes(s.split.head.bytes, s.split.head.len,
                                         &bytes, &s.err),
                 WEIR_OK);
    cr_assert_eq(bytes, s.split.body_bytes);
    send_end(&s);
}

/* ---- what a peer may send ------------------------------------------------ */

/* Read every value, as a program would that believes the array. */
static uint64_t read_all(const struct sent *s, const struct ArrowArray *a)
{
    struct ArrowArrayView view;
    uint64_t sum = 0;
    cr_assert_eq(ArrowArrayViewInitFromSchema(&view, &s->schema, NULL),
                 NANOARROW_OK);
    cr_assert_eq(ArrowArrayViewSetArray(&view, a, NULL), NANOARROW_OK);
    const struct ArrowArrayView *v =
        view.dictionary != NULL ? view.dictionary : &view;
    bool texts = v->storage_type == NANOARROW_TYPE_STRING ||
                 v->storage_type == NANOARROW_TYPE_LARGE_BINARY ||
                 wi_scan_has_views(v);
    for (int64_t i = 0; texts && i < v->length; i++) {
        struct ArrowBufferView b = ArrowArrayViewGetBytesUnsafe(v, i);
        for (int64_t k = 0; k < b.size_bytes; k++) {
            sum += b.data.as_uint8[k];
        }
    }
    ArrowArrayViewReset(&view);
    return sum;
}

static volatile uint64_t sink;

/* A peer that writes to a body after it was checked: bits all set, or all its
 * offsets and indices far outside. */
Test(scan_bytes, what_was_checked_stays_when_a_shared_body_changes)
{
    static const uint8_t writes[] = {0xff, 0x7f, 0x00};
    for (int k = 0; k < wt_scan_kinds(); k++) {
        for (size_t i = 0; i < sizeof(writes); i++) {
            struct sent s;
            struct ArrowArray back;
            send_kind(&s, k);
            s.body.shared = true;
            cr_assert_eq(join_sent(&s, &back), WEIR_OK, "%s: %s",
                         wt_scan_kind_name(k), s.err.message);
            memset((void *)(uintptr_t)s.body.base, writes[i], s.body.bytes);
            memset(s.split.head.bytes, writes[i], s.split.head.len);
            cr_assert_eq(wi_scan_shape_check(&s.shape, &s.err), WEIR_OK,
                         "%s: %s", wt_scan_kind_name(k), s.err.message);
            sink = read_all(&s, &back);
            back.release(&back);
            cr_assert_eq(s.released, 1);
            send_end(&s);
        }
    }
}

/* Each byte of the head, and each of the body, becomes another one: an error,
 * or a batch that can be read. */
Test(scan_bytes, no_changed_byte_leads_outside)
{
    static const uint8_t flips[] = {0x01, 0x80, 0xff, 0x40};
    uint64_t refused = 0;
    for (int k = 0; k < wt_scan_kinds(); k++) {
        struct sent s;
        send_kind(&s, k);
        size_t n = s.split.head.len + s.body.bytes;
        for (size_t i = 0; i < n * sizeof(flips); i++) {
            size_t at = i / sizeof(flips);
            uint8_t *byte =
                at < s.split.head.len
                    ? s.split.head.bytes + at
                    : (uint8_t *)(uintptr_t)s.body.base + at - s.split.head.len;
            uint8_t flip = flips[i % sizeof(flips)];
            struct ArrowArray back;
            *byte ^= flip;
            if (join_sent(&s, &back) == WEIR_OK) {
                sink += read_all(&s, &back);
                back.release(&back);
            } else {
                refused++;
            }
            *byte ^= flip;
        }
        send_end(&s);
    }
    cr_assert_gt(refused, 1000);
}

static void refuse_body(const char *kind, uint32_t piece, size_t off,
                        int64_t value, size_t bytes)
{
    struct sent s;
    struct ArrowArray back;
    send_kind(&s, kind_of(kind));
    const struct wi_scan_piece *pieces = (const void *)s.split.pieces.bytes;
    memcpy((uint8_t *)(uintptr_t)s.body.base + pieces[piece].at + off, &value,
           bytes);
    cr_assert_eq(join_sent(&s, &back), WEIR_ERR_DATA, "%s", kind);
    cr_assert_eq(s.released, 0);
    send_end(&s);
}

/* Piece: which buffer of the batch, in the order of the head. */
Test(scan_bytes, references_outside_are_refused)
{
    refuse_body("utf8", 1, 4, 1 << 30, 4);
    refuse_body("utf8", 1, 4, -1, 4);
    refuse_body("large binary", 1, 8, INT64_MAX, 8);
    refuse_body("list", 1, 9 * 4, 1000, 4);
    refuse_body("list view", 1, 8, 1000, 4);
    refuse_body("list view", 2, 8, -1, 4);
    refuse_body("large list view", 1, 16, INT64_MAX, 8);
    refuse_body("large list view", 2, 16, INT64_MAX, 8);
    refuse_body("dense union", 0, 3, 2, 1);
    refuse_body("dense union", 1, 8, 5, 4);
    refuse_body("sparse union", 0, 3, -1, 1);
    refuse_body("dictionary", 1, 2, 200, 1);
    refuse_body("run-end encoded", 1, 8, 29, 4);
    refuse_body("utf8 view", 1, 2 * 16 + 8, 7, 4);
    refuse_body("utf8 view", 1, 2 * 16 + 12, 1000, 4);
    refuse_body("utf8 view", 1, 2 * 16, -5, 4);
}

static void refuse_node(const char *kind, uint32_t idx, struct wi_scan_node to)
{
    struct sent s;
    struct ArrowArray back;
    send_kind(&s, kind_of(kind));
    memcpy(s.split.head.bytes + sizeof(struct wi_scan_head) + idx * sizeof(to),
           &to, sizeof(to));
    cr_assert_eq(join_sent(&s, &back), WEIR_ERR_DATA, "%s", kind);
    send_end(&s);
}

Test(scan_bytes, lengths_that_overflow_are_refused)
{
    const struct wi_scan_node lengths[] = {{INT64_MAX, 0, 0, 0},
                                           {-1, 0, 0, 0},
                                           {1, 0, INT64_MAX, 0},
                                           {1, 0, -1, 0},
                                           {INT64_MAX, 0, INT64_MAX, 0},
                                           {(int64_t)1 << 61, 0, 0, 0},
                                           {((int64_t)1 << 61) + 1, 0, 0, 0},
                                           {9, 10, 0, 0},
                                           {9, -2, 0, 0},
                                           {9, 0, 0, UINT64_MAX},
                                           {10, 0, 0, 0}};
    static const char *const some[] = {
        "int64 with metadata", "utf8",        "utf8 view",
        "fixed-size list",     "list",        "struct",
        "decimal256",          "dense union", "run-end encoded"};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (size_t k = 0; k < sizeof(some) / sizeof(some[0]); k++) {
            bool allowed = strcmp(some[k], "run-end encoded") == 0 &&
                           lengths[i].length == 10;
            if (!allowed) {
                refuse_node(some[k], 0, lengths[i]);
            }
        }
    }
}

Test(scan_bytes, values_without_runs_are_refused)
{
    struct sent s;
    struct ArrowArray back;
    struct wi_scan_node none = {0, 0, 0, 0};
    send_kind(&s, kind_of("run-end encoded"));
    for (uint32_t i = 1; i <= 2; i++) {
        memcpy(s.split.head.bytes + sizeof(struct wi_scan_head) +
                   i * sizeof(none),
               &none, sizeof(none));
    }
    cr_assert_eq(join_sent(&s, &back), WEIR_ERR_DATA);
    send_end(&s);
}
