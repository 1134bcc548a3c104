/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/cc.h"
#include "core/format/checksum.h"
#include "core/format/frame.h"
#include "core/format/frame_build.h"
#include "core/format/frame_check.h"
#include "core/format/frame_copy.h"
#include "core/format/frame_table.h"
#include "core/format/import.h"

#include <sys/mman.h>
#include <unistd.h>

#include "test/unit/core/format/batch_fixture.h"

enum { FRAME_BYTES = 16384 };

static uint8_t *take_frame(size_t bytes)
{
    uint8_t *mem = aligned_alloc(64, bytes);
    cr_assert_not_null(mem);
    memset(mem, 0xa5, bytes);
    return mem;
}

static struct wi_frame_header header_of(const uint8_t *mem)
{
    struct wi_frame_header h;
    memcpy(&h, mem, sizeof(h));
    return h;
}

static struct wi_builder *open_builder(const struct wi_schema *s)
{
    struct wi_builder *b = NULL;
    cr_assert_eq(wi_builder_open(s, &b, NULL), WEIR_OK);
    return b;
}

/* The result of exporting a frame. */
static weir_err check(const struct wi_schema *s,
                      const struct wi_frame_header *h, const uint8_t *mem)
{
    struct wi_export *x = wi_export_open(s);
    struct ArrowArray array;
    weir_err rc = wi_frame_export(x, &(struct wi_frame_at){.h = h, .mem = mem},
                                  &array, NULL);
    wi_export_close(x);
    return rc;
}

/* A finished frame against rows of a batch: checked, exported, imported again
 * and compared cell by cell. */
static void expect_rows(const struct wt_batch *t, const uint8_t *mem,
                        uint32_t bytes, const uint32_t *rows, uint32_t n)
{
    struct wi_view views[WT_MAX_COLUMNS];
    struct weir_error err = {0};
    struct ArrowArray array;
    struct wi_frame_header h = header_of(mem);
    /* Exactly the bytes that travel: ASan finds a read beyond them. */
    uint8_t *copy = take_frame(bytes);
    memcpy(copy, mem, bytes);

    cr_assert_eq(h.bytes, bytes);
    cr_assert_eq(h.rows, n);
    cr_assert_eq(wi_frame_check_header(&h, 0, 0, bytes, &err), WEIR_OK, "%s",
                 err.message);
    struct wi_export *x = wi_export_open(t->schema);
    cr_assert_eq(wi_frame_export(x, &(struct wi_frame_at){.h = &h, .mem = copy},
                                 &array, &err),
                 WEIR_OK, "%s", err.message);
    array.release = wt_no_release;
    cr_assert_eq(wi_schema_import(t->schema, &array, views, &err), WEIR_OK,
                 "%s", err.message);
    for (uint32_t c = 0; c < t->n_columns; c++) {
        const struct wi_column *col = &t->schema->columns[c];
        cr_assert_eq((uintptr_t)views[c].values % 64, 0);
        for (uint32_t i = 0; i < n; i++) {
            struct wt_cell got = wt_cell(col, &views[c], i);
            struct wt_cell want = wt_cell(col, &t->views[c], rows[i]);
            cr_assert(wt_equal(&got, &want), "column %u (%s) row %u", c,
                      col->format, i);
        }
    }
    wi_export_close(x);
    free(copy);
}

/* ---- layout -------------------------------------------------------------- */

Test(frame, one_int64_column_fills_16_kib_with_2032_rows)
{
    struct weir_field field = {"k", "l", 0};
    struct wt_batch t;
    wt_open_schema(&t, 1, &field, 1);
    wt_random_batch(&t, 3000, 0);
    struct wi_builder *b = open_builder(t.schema);
    uint8_t *mem = take_frame(FRAME_BYTES);

    cr_assert_eq(wi_builder_room(b), 0, "no frame is open");
    wi_builder_start(b, mem, FRAME_BYTES, 0);
    cr_assert_eq(wi_builder_room(b), (FRAME_BYTES - 128) / 8);
    cr_assert_eq(wi_builder_append(b, t.views, NULL, 0, 3000), 2032);
    cr_assert_eq(wi_builder_append(b, t.views, NULL, 2032, 968), 0);
    cr_assert_eq(wi_builder_finish(b, true), FRAME_BYTES);
    cr_assert_eq(wi_builder_room(b), 0);

    uint32_t rows[2032];
    for (uint32_t i = 0; i < 2032; i++) {
        rows[i] = i;
    }
    expect_rows(&t, mem, FRAME_BYTES, rows, 2032);
    free(mem);
    wi_builder_close(b);
    wt_close(&t);
}

Test(frame, the_largest_number_of_rows_that_fits_is_laid_out)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct wt_batch t;
        wt_random_schema(&t, seed);
        uint32_t cap = 64 * (16 + (uint32_t)(wt_random(&t) % 500));
        if (t.schema->n_var == 0) {
            uint8_t *mem = take_frame(cap);
            struct wi_builder *b = open_builder(t.schema);
            wi_builder_start(b, mem, cap, 0);
            uint64_t rows = wi_builder_room(b);
            for (uint64_t r = rows; r <= rows + 1; r++) {
                uint64_t bytes = wi_table_end(t.schema->n_buffers);
                for (uint32_t c = 0; c < t.n_columns; c++) {
                    const struct wi_column *col = &t.schema->columns[c];
                    uint64_t bits = wi_align_up((r + 7) / 8, 64);
                    bytes += col->nullable ? bits : 0;
                    bytes += col->kind == WI_KIND_BITS
                                 ? bits
                                 : wi_align_up(r * col->width, 64);
                }
                cr_assert_eq(bytes <= cap, r == rows, "seed %lu rows %lu",
                             (unsigned long)seed, (unsigned long)r);
            }
            wi_builder_close(b);
            free(mem);
        }
        wt_close(&t);
    }
}

Test(frame, max_rows_limits_the_frame)
{
    struct weir_field fields[] = {{"k", "l", 0}, {"s", "u", 1}};
    struct wt_batch t;
    wt_open_schema(&t, 1, fields, 2);
    wt_random_batch(&t, 100, 10);
    struct wi_builder *b = open_builder(t.schema);
    uint8_t *mem = take_frame(FRAME_BYTES);
    wi_builder_start(b, mem, FRAME_BYTES, 7);
    cr_assert_eq(wi_builder_append(b, t.views, NULL, 0, 100), 7);
    cr_assert_eq(wi_builder_rows(b), 7);
    free(mem);
    wi_builder_close(b);
    wt_close(&t);
}

Test(frame, finish_without_rows_writes_nothing)
{
    struct weir_field field = {"k", "l", 0};
    struct wt_batch t;
    wt_open_schema(&t, 1, &field, 1);
    struct wi_builder *b = open_builder(t.schema);
    uint8_t *mem = take_frame(1024);
    cr_assert_eq(wi_builder_finish(b, true), 0, "no frame was started");
    wi_builder_start(b, mem, 1024, 0);
    cr_assert_eq(wi_builder_finish(b, true), 0);
    for (int i = 0; i < 1024; i++) {
        cr_assert_eq(mem[i], 0xa5);
    }
    free(mem);
    wi_builder_close(b);
    wt_close(&t);
}

/* ---- round trips --------------------------------------------------------- */

struct trip {
    struct wt_batch t;
    struct wi_builder *builder;
    uint8_t *mem;
    uint32_t cap;
    uint32_t *rows; /* of the batch, in the open frame */
    uint32_t n;
    uint32_t frames;
    uint64_t bytes;
};

static void finish_trip(struct trip *r, bool checksum)
{
    uint32_t bytes = wi_builder_finish(r->builder, checksum);
    if (r->n == 0) {
        cr_assert_eq(bytes, 0);
        return;
    }
    cr_assert(bytes > 0 && bytes <= r->cap && bytes % 64 == 0);
    cr_assert_eq(header_of(r->mem).checksum != 0, checksum);
    expect_rows(&r->t, r->mem, bytes, r->rows, r->n);
    r->n = 0;
    r->frames++;
    r->bytes += bytes;
}

/* Append n rows of the batch, finishing frames as they fill; with `idx` in any
 * order, else from `first` on. */
static void send_rows(struct trip *r, const uint32_t *idx, uint32_t first,
                      uint32_t n)
{
    uint32_t done = 0;
    while (done < n) {
        const uint32_t *rest = idx == NULL ? NULL : idx + done;
        uint32_t took = wi_builder_append(r->builder, r->t.views, rest,
                                          first + done, n - done);
        for (uint32_t i = 0; i < took; i++) {
            r->rows[r->n++] = rest == NULL ? first + done + i : rest[i];
        }
        done += took;
        cr_assert_eq(wi_builder_rows(r->builder), r->n);
        if (done == n) {
            break;
        }
        if (took == 0 && r->n == 0) { /* a row larger than the frame: skip */
            uint32_t row = rest == NULL ? first + done : rest[0];
            cr_assert(wi_frame_row_bytes(r->t.schema, r->t.views, row) >
                      r->cap);
            done++;
            continue;
        }
        finish_trip(r, (wt_random(&r->t) & 1) != 0);
        memset(r->mem, (int)(wt_random(&r->t) & 0xff), r->cap);
        wi_builder_start(r->builder, r->mem, r->cap, 0);
    }
}

static void run_trip(uint64_t seed)
{
    enum { ROWS = 700 };
    static uint32_t rows[1 << 16];
    uint32_t idx[ROWS];
    struct trip r = {.rows = rows};

    wt_random_schema(&r.t, seed);
    r.cap = 64 *
            (uint32_t)wi_align_up(
                wi_frame_min_bytes(r.t.schema) / 64 + wt_random(&r.t) % 200, 1);
    r.mem = take_frame(r.cap);
    r.builder = open_builder(r.t.schema);
    for (int batch = 0; batch < 4; batch++) {
        wt_random_batch(&r.t, ROWS, batch == 2 ? 600 : 24);
        wi_builder_start(r.builder, r.mem, r.cap, 0);
        for (int part = 0; part < 6; part++) {
            uint32_t n = (uint32_t)(wt_random(&r.t) % ROWS);
            uint32_t first = (uint32_t)(wt_random(&r.t) % (ROWS - n));
            for (uint32_t i = 0; i < n; i++) {
                idx[i] = (uint32_t)(wt_random(&r.t) % ROWS);
            }
            send_rows(&r, (wt_random(&r.t) & 1) != 0 ? idx : NULL, first, n);
        }
        finish_trip(&r, true);
    }
    free(r.mem);
    wi_builder_close(r.builder);
    wt_close(&r.t);
}

Test(frame, random_rows_of_random_schemas_arrive_as_they_were)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        run_trip(seed);
    }
}

Test(frame, a_row_fits_an_empty_frame_exactly_if_row_bytes_says_so)
{
    struct weir_field fields[] = {
        {"k", "l", 1}, {"a", "u", 0}, {"f", "b", 1}, {"b", "z", 1}};
    struct wt_batch t;
    wt_open_schema(&t, 7, fields, 4);
    struct wi_builder *b = open_builder(t.schema);
    for (int round = 0; round < 20; round++) {
        wt_random_batch(&t, 20, 9000);
        for (uint32_t row = 0; row < 20; row++) {
            uint64_t need = wi_frame_row_bytes(t.schema, t.views, row);
            for (int less = 0; less < 2; less++) {
                uint32_t cap = (uint32_t)need - (less ? 64 : 0);
                uint8_t *mem = take_frame(cap);
                wi_builder_start(b, mem, cap, 0);
                uint32_t took = wi_builder_append(b, t.views, NULL, row, 1);
                cr_assert_eq(took, less ? 0 : 1, "row %u of %lu bytes in %u",
                             row, (unsigned long)need, cap);
                uint32_t bytes = wi_builder_finish(b, true);
                cr_assert_eq(bytes, less ? 0 : cap);
                if (!less) {
                    expect_rows(&t, mem, bytes, &row, 1);
                }
                free(mem);
            }
        }
    }
    wi_builder_close(b);
    wt_close(&t);
}

/* Rows of the first frame, and of one after some were built, with the given
 * width of strings; both are compared with a perfect layout. */
static void expect_dense(uint32_t width)
{
    struct weir_field fields[] = {{"k", "l", 0}, {"s", "u", 0}};
    struct wt_batch t;
    wt_open_schema(&t, 1, fields, 2);
    wt_random_batch(&t, 5000, 1);
    int32_t *offsets = calloc(5001, sizeof(*offsets));
    for (int32_t i = 0; i < 5000; i++) {
        offsets[i + 1] = offsets[i] + (int32_t)width;
    }
    uint8_t *bytes = calloc(5000, width + 1);
    t.views[1] = (struct wi_view){.values = offsets, .bytes = bytes};
    struct wi_builder *b = open_builder(t.schema);
    uint8_t *mem = take_frame(FRAME_BYTES);
    uint32_t perfect = (FRAME_BYTES - 128 - 4 * 64) / (12 + width);
    for (int frame = 0; frame < 5; frame++) {
        wi_builder_start(b, mem, FRAME_BYTES, 0);
        uint32_t took = wi_builder_append(b, t.views, NULL, 0, 5000);
        cr_expect(took >= perfect, "width %u frame %d: %u rows, not %u", width,
                  frame, took, perfect);
        (void)wi_builder_finish(b, false);
    }
    free(mem);
    free(offsets);
    free(bytes);
    wi_builder_close(b);
    wt_close(&t);
}

Test(frame, frames_fill_evenly_from_the_first_one_on)
{
    static const uint32_t widths[] = {0, 1, 7, 16, 40, 200, 1000};
    for (size_t i = 0; i < WI_ARRAY_LEN(widths); i++) {
        expect_dense(widths[i]);
    }
}

Test(frame, a_half_empty_frame_costs_half)
{
    struct weir_field fields[] = {{"a", "l", 0}, {"b", "l", 1}, {"c", "u", 0}};
    struct wt_batch t;
    wt_open_schema(&t, 3, fields, 3);
    wt_random_batch(&t, 64, 8);
    struct wi_builder *b = open_builder(t.schema);
    uint8_t *mem = take_frame(FRAME_BYTES);
    uint32_t rows[16];
    uint64_t var = 0;
    wi_builder_start(b, mem, FRAME_BYTES, 0);
    for (uint32_t i = 0; i < 16; i++) {
        rows[i] = i;
        var += wt_cell(&t.schema->columns[2], &t.views[2], i).len;
    }
    cr_assert_eq(wi_builder_append(b, t.views, NULL, 0, 16), 16);
    uint32_t bytes = wi_builder_finish(b, true);
    cr_assert_eq(bytes, 128 + 128 + 64 + 128 + 128 + wi_align_up(var, 64));
    expect_rows(&t, mem, bytes, rows, 16);
    free(mem);
    wi_builder_close(b);
    wt_close(&t);
}

/* ---- other kinds --------------------------------------------------------- */

Test(frame, end_and_pad_pass_the_header_check)
{
    struct wi_frame_end end = {1, 2, 3, 4};
    uint8_t *mem = take_frame(256);
    uint32_t bytes = wi_frame_put_end(mem, &end);
    struct wi_frame_header h = header_of(mem);
    cr_assert_eq(bytes, 128);
    cr_assert_eq(wi_frame_check_header(&h, 0, 0, 128, NULL), WEIR_OK);
    struct wi_frame_end got = wi_frame_get_end(mem);
    cr_assert_eq(memcmp(&got, &end, sizeof(end)), 0);
    wi_frame_put_pad(mem, 64);
    h = header_of(mem);
    cr_assert_eq(h.kind, WI_FRAME_PAD);
    cr_assert_eq(wi_frame_check_header(&h, 0, 0, 64, NULL), WEIR_OK);
    free(mem);
}

Test(frame, chunks_reassemble_to_the_image)
{
    enum { TOTAL = 64 * 50, PIECE = 1000 };
    uint8_t *mem = take_frame(2048);
    uint8_t image[TOTAL];
    uint8_t copy[TOTAL] = {0};
    for (int i = 0; i < TOTAL; i++) {
        image[i] = (uint8_t)(i * 7 + i / 256);
    }
    for (uint32_t off = 0; off < TOTAL; off += PIECE) {
        uint32_t n = wi_min_u32(PIECE, TOTAL - off);
        uint32_t bytes = wi_frame_put_chunk(mem, image, TOTAL, off, n, true);
        struct wi_frame_header h = header_of(mem);
        cr_assert_eq(bytes, wi_align_up(64 + n, 64));
        cr_assert_eq(wi_frame_check_header(&h, 0, 0, bytes, NULL), WEIR_OK);
        cr_assert_eq(h.rows, off + n == TOTAL);
        cr_assert_eq(h.checksum, wi_frame_checksum(&h, mem));
        mem[64 + n / 2] ^= 1;
        cr_assert_neq(h.checksum, wi_frame_checksum(&h, mem));
        mem[64 + n / 2] ^= 1;
        memcpy(copy + h.chunk_off, mem + 64, h.chunk_bytes);
    }
    cr_assert_eq(memcmp(copy, image, TOTAL), 0);
    free(mem);
}

Test(frame, header_check_names_the_field)
{
    const struct wi_frame_header good = {.magic = WI_FRAME_MAGIC,
                                         .kind = WI_FRAME_DATA,
                                         .bytes = 192,
                                         .rows = 5,
                                         .pos = 77,
                                         .epoch = 3,
                                         .n_buffers = 1};
    struct weir_error err;
    struct wi_frame_header h = good;
    cr_assert_eq(wi_frame_check_header(&h, 77, 3, 192, &err), WEIR_OK);
#define REFUSED(change, text)                                                  \
    do {                                                                       \
        h = good;                                                              \
        change;                                                                \
        cr_expect_eq(wi_frame_check_header(&h, 77, 3, 192, &err),              \
                     WEIR_ERR_PEER_PROTOCOL, #change);                         \
        cr_expect_not_null(strstr(err.message, text), "%s", err.message);      \
    } while (0)
    REFUSED(h.magic ^= 1, "magic");
    REFUSED(h.kind = 0, "kind");
    REFUSED(h.kind = 5, "kind");
    REFUSED(h.flags = 1, "flags");
    REFUSED(h.bytes = 0, "bytes");
    REFUSED(h.bytes = 191, "bytes");
    REFUSED(h.bytes = 256, "bytes");
    REFUSED(h.rows = 0, "rows");
    REFUSED(h.rows = 0x80000000u, "rows");
    REFUSED(h.pos = 78, "pos");
    REFUSED(h.epoch = 2, "epoch");
    REFUSED(h.n_buffers = 17, "n_buffers");
    REFUSED(h.reserved[2] = 1, "reserved");
    REFUSED((h.kind = WI_FRAME_CHUNK, h.chunk_bytes = 0), "chunk_bytes");
    REFUSED((h.kind = WI_FRAME_CHUNK, h.chunk_bytes = 129), "chunk_bytes");
    REFUSED((h.kind = WI_FRAME_CHUNK, h.chunk_bytes = 100,
             h.chunk_off = 0xffffffffu, h.total_bytes = 99),
            "chunk_off");
    REFUSED((h.kind = WI_FRAME_CHUNK, h.chunk_bytes = 100, h.rows = 0,
             h.total_bytes = 100),
            "rows");
    REFUSED((h.kind = WI_FRAME_END, h.bytes = 64), "bytes");
#undef REFUSED
}

/* ---- hostile bytes ------------------------------------------------------- */

/* Touch every byte that a checked frame gives access to. */
static uint64_t read_all(const struct wi_schema *s, struct ArrowArray *array)
{
    struct wi_view views[WT_MAX_COLUMNS];
    uint64_t sum = 0;
    array->release = wt_no_release;
    if (wi_schema_import(s, array, views, NULL) != WEIR_OK) {
        return 0;
    }
    for (uint32_t c = 0; c < s->n_columns; c++) {
        for (uint64_t i = 0; i < (uint64_t)array->length; i++) {
            struct wt_cell cell = wt_cell(&s->columns[c], &views[c], i);
            for (uint32_t b = 0; cell.bytes != NULL && b < cell.len; b++) {
                sum += cell.bytes[b];
            }
            sum += cell.bit + cell.null;
        }
    }
    return sum;
}

static void mutate(struct wt_batch *t, uint8_t *mem, uint32_t bytes)
{
    uint32_t n = 1 + (uint32_t)(wt_random(t) % 3);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t region = wt_random(t) % 3 == 0 ? bytes : 256;
        uint32_t at = (uint32_t)(wt_random(t) % wi_min_u32(region, bytes));
        switch (wt_random(t) % 4) {
        case 0:
            mem[at] ^= (uint8_t)(1u << (wt_random(t) & 7));
            break;
        case 1:
            mem[at] = (uint8_t)wt_random(t);
            break;
        case 2:
            memset(mem + (at & ~3u), wt_random(t) & 1 ? 0xff : 0, 4);
            break;
        default:
            mem[at] = (uint8_t)(mem[at] + 64);
            break;
        }
    }
}

/* Returns 1 if the mutated frame was refused. */
static int attack(struct wt_batch *t, const uint8_t *mem, uint32_t bytes,
                  bool checksum)
{
    struct wi_export *x = wi_export_open(t->schema);
    uint8_t *copy = take_frame(bytes);
    struct ArrowArray array;
    int refused = 1;

    memcpy(copy, mem, bytes);
    mutate(t, copy, bytes);
    struct wi_frame_header h = header_of(copy);
    if (!checksum) {
        h.checksum = 0;
    }
    if (wi_frame_check_header(&h, 0, 0, bytes, NULL) == WEIR_OK &&
        h.kind == WI_FRAME_DATA &&
        wi_frame_export(x, &(struct wi_frame_at){.h = &h, .mem = copy}, &array,
                        NULL) == WEIR_OK) {
        refused = read_all(t->schema, &array) == UINT64_MAX;
    }
    free(copy);
    wi_export_close(x);
    return refused;
}

Test(frame, mutated_frames_are_refused_or_safe_to_read)
{
    int refused = 0;
    int accepted = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct wt_batch t;
        wt_random_schema(&t, seed);
        wt_random_batch(&t, 60, 30);
        uint32_t cap =
            (uint32_t)wi_align_up(wi_frame_min_bytes(t.schema) * 4, 64);
        uint8_t *mem = take_frame(cap);
        struct wi_builder *b = open_builder(t.schema);
        wi_builder_start(b, mem, cap, 0);
        cr_assert(wi_builder_append(b, t.views, NULL, 0, 60) > 0);
        uint32_t bytes = wi_builder_finish(b, true);
        for (int i = 0; i < 250; i++) {
            int r = attack(&t, mem, bytes, (i & 1) != 0);
            refused += r;
            accepted += 1 - r;
        }
        free(mem);
        wi_builder_close(b);
        wt_close(&t);
    }
    /* Without a checksum, changed values are accepted: both must happen. */
    cr_assert(refused > 1000 && accepted > 1000, "%d refused, %d accepted",
              refused, accepted);
}

Test(frame, check_refuses_frames_of_another_schema)
{
    struct weir_field one[] = {{"k", "l", 0}};
    struct weir_field two[] = {{"k", "l", 0}, {"v", "l", 0}};
    struct weir_field wide[] = {{"k", "w:100", 0}};
    struct wt_batch a;
    struct wt_batch b;
    struct wt_batch c;
    wt_open_schema(&a, 1, one, 1);
    wt_open_schema(&b, 1, two, 2);
    wt_open_schema(&c, 1, wide, 1);
    wt_random_batch(&a, 50, 0);
    struct wi_builder *builder = open_builder(a.schema);
    uint8_t *mem = take_frame(1024);
    wi_builder_start(builder, mem, 1024, 0);
    (void)wi_builder_append(builder, a.views, NULL, 0, 50);
    (void)wi_builder_finish(builder, true);
    struct wi_frame_header h = header_of(mem);
    cr_assert_eq(check(a.schema, &h, mem), WEIR_OK);
    cr_assert_eq(check(b.schema, &h, mem), WEIR_ERR_PEER_PROTOCOL);
    cr_assert_eq(check(c.schema, &h, mem), WEIR_ERR_PEER_PROTOCOL);
    free(mem);
    wi_builder_close(builder);
    wt_close(&a);
    wt_close(&b);
    wt_close(&c);
}

/* ---- checksum ------------------------------------------------------------ */

static uint64_t sum_of(const void *bytes, size_t n, enum wi_isa isa)
{
    uint8_t last[WI_SUM_BLOCK_BYTES] = {0};
    size_t whole = n / sizeof(last);
    memcpy(last, (const uint8_t *)bytes + whole * sizeof(last),
           n % sizeof(last));
    uint8_t *all = take_frame((whole + 1) * sizeof(last));
    memcpy(all, bytes, whole * sizeof(last));
    memcpy(all + whole * sizeof(last), last, sizeof(last));
    struct wi_sum sum = {.lead = all,
                         .lead_blocks = (uint32_t)(whole + (n % 64 != 0))};
    uint64_t h = wi_sum_get(&sum, isa, 1);
    free(all);
    return h;
}

/* docs/wire.md, "The checksum", gives these to implementers. */
Test(frame, checksum_gives_the_documented_examples)
{
    uint8_t bytes[100];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(7 * i + 1);
    }
    cr_assert_eq(sum_of(bytes, sizeof(bytes), wi_isa_best()),
                 0x7ccb67f69fd135e1);
    uint8_t *mem = take_frame(256);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)i;
    }
    (void)wi_frame_put_chunk(mem, bytes, 128, 0, 100, true);
    cr_assert_eq(header_of(mem).checksum, 0x3dcd279cc6b14c9c);
    free(mem);
}

Test(frame, checksum_is_the_same_with_every_instruction_set)
{
    struct wt_batch rng = {.random = 5};
    uint8_t bytes[1500];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)wt_random(&rng);
    }
    for (size_t n = 0; n < 1400; n += 1 + n / 20) {
        for (size_t skew = 0; skew < 3; skew++) {
            uint64_t want = sum_of(bytes + skew, n, WI_ISA_PORTABLE);
            for (int isa = 1; isa <= (int)wi_isa_best(); isa++) {
                cr_assert_eq(sum_of(bytes + skew, n, (enum wi_isa)isa), want,
                             "%zu bytes", n);
            }
        }
    }
}

/* Frames of a row or two are summed word by word, all others by vectors. */
Test(frame, checksum_of_few_words_is_the_same_as_of_many)
{
    struct weir_field fields[] = {
        {"a", "l", 0}, {"b", "u", 0}, {"c", "b", 0}, {"d", "d:38,9", 1}};
    uint32_t n_narrow = 0;
    for (uint32_t n = 1; n <= WI_ARRAY_LEN(fields); n++) {
        for (uint32_t rows = 1; rows < 8; rows++) {
            struct wt_batch t;
            wt_open_schema(&t, n + rows, fields, n);
            wt_random_batch(&t, rows, 6);
            struct wi_builder *b = open_builder(t.schema);
            uint8_t *mem = take_frame(2048);
            wi_builder_start(b, mem, 2048, 0);
            cr_assert_eq(wi_builder_append(b, t.views, NULL, 0, rows), rows);
            uint32_t bytes = wi_builder_finish(b, true);
            uint32_t n_buffers = t.schema->n_buffers;
            struct wi_sum sum = {.lead = mem + 64,
                                 .lead_blocks = 1,
                                 .n_buffers = n_buffers,
                                 .mem = mem,
                                 .bytes = bytes};
            uint64_t few = wi_sum_narrow(mem, bytes, n_buffers, rows);
            cr_expect(few == 0 ||
                      few == wi_sum_get(&sum, WI_ISA_PORTABLE, rows));
            n_narrow += few != 0;
            free(mem);
            wi_builder_close(b);
            wt_close(&t);
        }
    }
    cr_expect(n_narrow > 4 && n_narrow < 20, "%u", n_narrow);
}

Test(frame, blocks_are_copied_whole_with_every_instruction_set)
{
    static const uint32_t sizes[] = {0,     1,     8192,  8193,  8448,
                                     20000, 65280, 65535, 65536, 65537};
    const uint32_t room = 65536 + 3 * WI_CACHE_LINE;
    uint8_t *src = take_frame(room);
    for (uint32_t i = 0; i < room; i++) {
        src[i] = (uint8_t)(i % 251);
    }
    for (int isa = WI_ISA_PORTABLE; isa <= (int)wi_isa_best(); isa++) {
        for (uint32_t i = 0; i < WI_ARRAY_LEN(sizes); i++) {
            uint8_t *dst = take_frame(room);
            wi_copy_block(dst + 3, src + 5, sizes[i], (enum wi_isa)isa);
            cr_assert_eq(memcmp(dst + 3, src + 5, sizes[i]), 0);
            cr_assert_eq(dst[2], 0xa5);
            cr_assert_eq(dst[3 + sizes[i]], 0xa5, "%u bytes", sizes[i]);
            free(dst);
        }
    }
    free(src);
}

Test(frame, words_are_gathered_alike_with_every_instruction_set)
{
    enum { ROWS = 300, MOST = 40 };
    uint64_t words[ROWS];
    uint32_t idx[MOST];
    for (uint32_t i = 0; i < ROWS; i++) {
        words[i] = i * UINT64_C(0x9e3779b97f4a7c15);
    }
    for (uint32_t i = 0; i < MOST; i++) {
        idx[i] = i * 7 % 11 == 0 ? ROWS - 1 : i * 7;
    }
    for (int isa = WI_ISA_PORTABLE; isa <= (int)wi_isa_best(); isa++) {
        for (uint32_t n = 0; n < MOST; n++) {
            uint64_t got[MOST + 1] = {0};
            struct wi_rows rows = {.idx = idx, .n = n};
            wi_gather_words((uint8_t *)got, (const uint8_t *)words, &rows,
                            (enum wi_isa)isa);
            for (uint32_t i = 0; i < n; i++) {
                cr_assert_eq(got[i], words[idx[i]], "isa %d, row %u", isa, i);
            }
            cr_assert_eq(got[n], 0, "isa %d, %u rows", isa, n);
        }
    }
}

/* Row numbers have 32 bits: 16 GiB of words, of which only the last is
 * there. */
Test(frame, words_are_gathered_from_rows_beyond_2_to_the_31)
{
    enum { N = 8 };
    const uint64_t rows_before = UINT64_C(1) << 31;
    const size_t bytes = (size_t)(rows_before + N) * 8;
    uint32_t idx[N];
    int fd = memfd_create("words", MFD_CLOEXEC);
    cr_assert_eq(ftruncate(fd, (off_t)bytes), 0);
    uint64_t *words =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_neq(words, MAP_FAILED);
    for (uint32_t i = 0; i < N; i++) {
        idx[i] = (uint32_t)rows_before + N - 1 - i;
        words[idx[i]] = i + 1;
    }
    const struct wi_rows rows = {.idx = idx, .n = N};
    for (int isa = WI_ISA_PORTABLE; isa <= (int)wi_isa_best(); isa++) {
        uint64_t got[N] = {0};
        wi_gather_words((uint8_t *)got, (const uint8_t *)words, &rows,
                        (enum wi_isa)isa);
        for (uint32_t i = 0; i < N; i++) {
            cr_assert_eq(got[i], i + 1, "isa %d, row %u", isa, i);
        }
    }
    (void)munmap(words, bytes);
    (void)close(fd);
}

Test(frame, checksum_notices_two_words_that_change_places)
{
    enum { WORDS = 1 << 14 };
    uint64_t *words = calloc(WORDS, 8);
    struct wt_batch rng = {.random = 9};
    for (int i = 0; i < WORDS; i++) {
        words[i] = (uint64_t)i << 56 | 17; /* differ in the top byte only */
    }
    uint64_t before = sum_of(words, WORDS * 8, wi_isa_best());
    for (int round = 0; round < 1000; round++) {
        uint64_t i = wt_random(&rng) % WORDS;
        uint64_t j = round & 1 ? wt_random(&rng) % WORDS
                               : i ^ (uint64_t)1 << (round / 2 % 14);
        if (words[i] == words[j]) {
            continue;
        }
        uint64_t w = words[i];
        words[i] = words[j];
        words[j] = w;
        cr_assert_neq(sum_of(words, WORDS * 8, wi_isa_best()), before,
                      "%lu and %lu", (unsigned long)i, (unsigned long)j);
        words[j] = words[i];
        words[i] = w;
    }
    cr_assert_eq(sum_of(words, WORDS * 8, wi_isa_best()), before);
    free(words);
}

/* In a lane and across lanes, in a buffer and across buffers, and where a
 * buffer begins and ends: a float64 and its negative. */
Test(frame, checksum_notices_two_signs_that_change_places)
{
    enum { BLOCKS = 4, WORDS = BLOCKS * 8, BYTES = 128 + 2 * BLOCKS * 64 };
    uint8_t *mem = calloc(1, BYTES);
    uint64_t *words = (uint64_t *)(void *)(mem + 128);
    struct wi_sum sum = {.lead = mem + WI_TABLE_OFF,
                         .lead_blocks = 1,
                         .n_buffers = 2,
                         .mem = mem,
                         .bytes = BYTES};
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t off = 128 + i * WORDS * 8;
        wi_table_put(mem, i, (struct wi_extent){off, WORDS * 8});
    }
    for (int i = 0; i < 2 * WORDS; i++) {
        for (int j = i + 1; j < 2 * WORDS; j++) {
            words[i] = (uint64_t)1 << 63;
            uint64_t before = wi_sum_get(&sum, WI_ISA_PORTABLE, 1);
            words[i] = 0;
            words[j] = (uint64_t)1 << 63;
            cr_assert_neq(wi_sum_get(&sum, WI_ISA_PORTABLE, 1), before,
                          "%d and %d", i, j);
            words[j] = 0;
        }
    }
    free(mem);
}

Test(frame, checksum_of_a_frame_covers_every_used_byte_and_rows)
{
    struct weir_field fields[] = {{"a", "i", 1}, {"c", "u", 0}, {"b", "b", 0}};
    struct wt_batch t;
    wt_open_schema(&t, 3, fields, 3);
    wt_random_batch(&t, 30, 8);
    struct wi_builder *b = open_builder(t.schema);
    uint8_t *mem = take_frame(2048);
    wi_builder_start(b, mem, 2048, 0);
    cr_assert_eq(wi_builder_append(b, t.views, NULL, 0, 30), 30);
    uint32_t bytes = wi_builder_finish(b, true);
    struct wi_frame_header h = header_of(mem);
    for (uint32_t i = 0; i < h.n_buffers; i++) {
        struct wi_extent e = wi_table_get(mem, i);
        for (uint32_t at = e.off; at < e.off + e.len; at++) {
            mem[at] ^= 0x10;
            cr_assert_neq(wi_frame_checksum(&h, mem), h.checksum);
            mem[at] ^= 0x10;
        }
    }
    for (uint32_t at = 64; at < 64 + 8 * h.n_buffers; at++) {
        mem[at] ^= 1;
        cr_assert_neq(wi_frame_checksum(&h, mem), h.checksum);
        mem[at] ^= 1;
    }
    h.rows--;
    cr_assert_neq(wi_frame_checksum(&h, mem), h.checksum);
    h.rows++;
    h.pos = 4711;
    h.epoch = 12;
    h.worker = 3;
    cr_assert_eq(wi_frame_checksum(&h, mem), h.checksum);
    mem[wi_table_get(mem, 1).off] ^= 1;
    cr_assert_eq(check(t.schema, &h, mem), WEIR_ERR_INTEGRITY);
    cr_assert(bytes <= 2048);
    free(mem);
    wi_builder_close(b);
    wt_close(&t);
}

/* The header of a chunk counts no buffers. A peer's may say what it wants. */
Test(frame, checksum_of_a_chunk_covers_its_bytes_whatever_it_says)
{
    enum { CHUNK = 256 };
    static uint8_t image[CHUNK]; /* zeros, as an empty table */
    uint8_t *mem = take_frame(1024);
    cr_assert_gt(wi_frame_put_chunk(mem, image, 1000, 0, CHUNK, true), 0);
    struct wi_frame_header h = header_of(mem);
    cr_assert_eq(h.checksum, wi_frame_checksum(&h, mem));
    for (uint32_t n = 0; n <= 4; n++) {
        h.n_buffers = n;
        uint64_t sum = wi_frame_checksum(&h, mem);
        for (uint32_t at = WI_TABLE_OFF; at < WI_TABLE_OFF + CHUNK; at++) {
            mem[at] ^= 0x10;
            cr_assert_neq(wi_frame_checksum(&h, mem), sum, "%u: byte %u", n,
                          at);
            mem[at] ^= 0x10;
        }
    }
    free(mem);
}
