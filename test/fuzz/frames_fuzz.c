/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: a random schema, and a frame that is random bytes, or one that was
 * built for the schema and then changed in some places. What passes the checks
 * is read to its last byte, in memory of exactly its size.
 *
 *   schema: n, n x {format, nullable}    kind of frame    changes | bytes
 *
 * From 192 on a format is one of a few structs and lists.
 */
#include <weir/batch.h>

#include "core/base/cc.h"
#include "core/format/frame.h"
#include "core/format/frame_build.h"
#include "core/format/frame_check.h"
#include "core/format/pack.h"
#include "core/format/text.h"
#include "test/fuzz/fuzz.h"
#include "test/support/nest.h"

enum {
    MAX_COLUMNS = 6,
    MAX_FLAT = 64,
    NESTED = 192,
    CAP_BYTES = 4096,
    MAX_ROWS = 40,
    EPOCH = 7
};

static const char *const formats[] = {"c", "S",   "l",      "f", "b",
                                      "u", "w:7", "d:38,4", "z", "tdD"};

static const struct wt_nest deep[] = {{"y", "u", 1, NULL, 0, NULL},
                                      {"b", "b", 0, NULL, 0, NULL}};
static const struct wt_nest fields[] = {{"x", "l", 0, NULL, 0, NULL},
                                        {"t", "+s", 1, deep, 2, NULL},
                                        {"z", "z", 0, NULL, 0, NULL}};
static const struct wt_nest number = {"i", "s", 1, NULL, 0, NULL};
static const struct wt_nest some = {"i", "+l", 1, &number, 1, NULL};
static const struct wt_nest text = {"i", "u", 0, NULL, 0, NULL};
static const struct wt_nest whole = {"i", "+s", 1, fields, 3, NULL};
static const struct wt_nest entries = {"i", "+s", 0, deep, 2, NULL};
static const struct wt_nest nested[] = {
    {"s", "+s", 1, fields, 3, NULL},  {"r", "+s", 0, deep, 2, NULL},
    {"l", "+l", 1, &number, 1, NULL}, {"L", "+L", 0, &text, 1, NULL},
    {"w", "+w:3", 1, &some, 1, NULL}, {"m", "+m", 1, &entries, 1, NULL},
    {"d", "+l", 0, &whole, 1, NULL}};

static volatile uint64_t sink; /* so that reads are not left out */

static struct wi_schema *take_schema(struct fz_input *in)
{
    struct wt_nest columns[MAX_COLUMNS];
    static const char *const names[MAX_COLUMNS] = {"a", "b", "c",
                                                   "d", "e", "f"};
    struct ArrowSchema arrow;
    struct wi_schema *s = NULL;
    uint32_t n = 1u + fz_u8(in) % MAX_COLUMNS;
    for (uint32_t i = 0; i < n; i++) {
        uint8_t x = fz_u8(in);
        columns[i] =
            (struct wt_nest){.format = formats[x / 2 % WI_ARRAY_LEN(formats)],
                             .nullable = x & 1};
        if (x >= NESTED) {
            columns[i] = nested[x % WI_ARRAY_LEN(nested)];
        }
        columns[i].name = names[i];
    }
    wt_nest_schema(columns, n, false, &arrow);
    FZ_CHECK(wi_schema_open(&arrow, &s, NULL) == WEIR_OK, "no schema");
    arrow.release(&arrow);
    return s;
}

/* ---- a frame as a producer builds it ------------------------------------- */

/* Values of a list column: what wi_pack_value() makes of items that are cut out
 * of junk as well, the list's own among them. */
static void fill_items(const struct wi_column *c, const uint8_t *junk,
                       const int32_t *offsets, struct wi_packed *p,
                       struct wi_text *texts, uint32_t n)
{
    struct wi_view views[MAX_FLAT];
    struct wi_packed inner[MAX_FLAT];
    struct wi_text inner_texts[MAX_FLAT][16];
    memset(inner, 0, sizeof(inner));
    for (uint32_t i = 0; i < c->items->n_columns; i++) {
        const struct wi_column *col = &c->items->columns[i];
        bool var = col->kind == WI_KIND_VAR;
        views[i] = (struct wi_view){.validity = col->nullable ? junk : NULL,
                                    .values = var ? (const void *)offsets
                                                  : (const void *)junk,
                                    .bytes = var ? junk : NULL};
        if (col->items != NULL) {
            fill_items(col, junk, offsets, &inner[i], inner_texts[i], 16);
            views[i].texts = inner_texts[i];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t items = c->list == WI_LIST_FIXED ? c->n_items : junk[i] % 5;
        size_t before = p->used;
        FZ_CHECK(wi_pack_value(p, c, views, junk[i] % 8, items), "no memory");
        texts[i].len = (uint32_t)(p->used - before);
    }
    const uint8_t *at = p->mem;
    for (uint32_t i = 0; i < n; i++) {
        texts[i].at = at;
        texts[i].room = (uint32_t)(p->mem + p->used - at);
        at += texts[i].len;
    }
    for (uint32_t i = 0; i < c->items->n_columns; i++) {
        free(inner[i].mem);
    }
}

/* Columns of a few rows, whatever the schema: values, offsets and bytes are cut
 * out of the same junk. */
struct rows {
    uint8_t junk[MAX_ROWS * 32 + 64];
    int32_t offsets[MAX_ROWS + 1];
    struct wi_view views[MAX_FLAT];
    struct wi_packed packed[MAX_FLAT];
    struct wi_text texts[MAX_FLAT][MAX_ROWS];
};

static void fill_rows(const struct wi_schema *s, struct fz_input *in,
                      struct rows *r)
{
    uint8_t seed = fz_u8(in);
    for (size_t i = 0; i < sizeof(r->junk); i++) {
        r->junk[i] = (uint8_t)(seed + i * 37);
    }
    for (uint32_t i = 0; i < MAX_ROWS; i++) {
        r->offsets[i + 1] = r->offsets[i] + r->junk[i] % 24;
    }
    for (uint32_t c = 0; c < s->n_columns; c++) {
        const struct wi_column *col = &s->columns[c];
        bool var = col->kind == WI_KIND_VAR;
        r->views[c] = (struct wi_view){
            .validity = col->nullable ? r->junk : NULL,
            .values = var ? (const void *)r->offsets : (const void *)r->junk,
            .bytes = var ? r->junk : NULL};
        if (col->items != NULL) {
            fill_items(col, r->junk, r->offsets, &r->packed[c], r->texts[c],
                       MAX_ROWS);
            r->views[c].texts = r->texts[c];
        }
    }
}

static uint32_t build(const struct wi_schema *s, struct fz_input *in,
                      uint8_t *mem)
{
    static struct rows r;
    struct wi_builder *b = NULL;
    uint8_t how = fz_u8(in);
    fill_rows(s, in, &r);
    FZ_CHECK(wi_builder_open(s, &b, NULL) == WEIR_OK, "no builder");
    wi_builder_start(b, mem, CAP_BYTES, 0);
    (void)wi_builder_append(b, r.views, NULL, 0, 1u + how / 2 % MAX_ROWS);
    uint32_t bytes = wi_builder_finish(b, (how & 1) != 0);
    wi_builder_close(b);
    for (uint32_t c = 0; c < s->n_columns; c++) {
        free(r.packed[c].mem);
        memset(&r.packed[c], 0, sizeof(r.packed[c]));
    }
    return bytes;
}

static void change(struct fz_input *in, uint8_t *mem, uint32_t bytes)
{
    for (uint8_t n = fz_u8(in) % 8; n > 0; n--) {
        uint32_t at = fz_u16(in);
        uint8_t x = fz_u8(in);
        /* Header and table are where the interesting bytes are. */
        at %= x % 4 != 0 && bytes > 192 ? 192 : bytes;
        mem[at] = (uint8_t)(mem[at] ^ x);
    }
}

/* ---- reading all of it --------------------------------------------------- */

static void read_bytes(const uint8_t *p, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += p[i];
    }
    sink += sum;
}

static void read_column(const struct wi_column *c, const struct ArrowArray *a);

/* Offsets ascend to the number of items that there are. */
static void read_list(const struct wi_column *c, const struct ArrowArray *a)
{
    const struct ArrowArray *items = a->children[0];
    uint64_t last = (uint64_t)a->length * c->n_items;
    for (int64_t i = 0; c->list != WI_LIST_FIXED && i < a->length; i++) {
        const int64_t *wide = a->buffers[1];
        const int32_t *narrow = a->buffers[1];
        bool is_wide = c->list == WI_LIST_64;
        int64_t from = is_wide ? wide[i] : narrow[i];
        int64_t to = is_wide ? wide[i + 1] : narrow[i + 1];
        FZ_CHECK(from >= 0 && to >= from && (i > 0 || from == 0), "offsets");
        last = (uint64_t)to;
    }
    FZ_CHECK((uint64_t)items->length == last, "%lld items, not %llu",
             (long long)items->length, (unsigned long long)last);
    read_column(&c->items->columns[0], items);
}

/* A column, which may be a struct of those that follow it. */
static void read_column(const struct wi_column *c, const struct ArrowArray *a)
{
    uint64_t rows = (uint64_t)a->length;
    if (a->buffers[0] != NULL) {
        read_bytes(a->buffers[0], (rows + 7) / 8);
    }
    uint32_t below = 1;
    for (uint32_t k = 0; k < c->n_fields; k++) {
        FZ_CHECK(a->children[k]->length == a->length, "rows of a field");
        read_column(c + below, a->children[k]);
        below += 1 + c[below].n_below;
    }
    if (c->items != NULL) {
        read_list(c, a);
    } else if (c->kind == WI_KIND_VAR) {
        const int32_t *o = a->buffers[1];
        FZ_CHECK(o[0] == 0, "offsets begin at %d", o[0]);
        for (uint64_t i = 0; i < rows; i++) {
            FZ_CHECK(o[i + 1] >= o[i], "offsets descend");
            read_bytes((const uint8_t *)a->buffers[2] + o[i],
                       (uint64_t)(o[i + 1] - o[i]));
        }
    } else if (c->kind != WI_KIND_STRUCT) {
        read_bytes(a->buffers[1],
                   c->kind == WI_KIND_BITS ? (rows + 7) / 8 : rows * c->width);
    }
}

static void take(const struct wi_schema *s, const uint8_t *mem, uint32_t bytes)
{
    struct wi_frame_header h;
    struct ArrowArray array;
    struct weir_error err;
    memcpy(&h, mem, sizeof(h));
    if (wi_frame_check_header(&h, h.pos, EPOCH, bytes, &err) != WEIR_OK) {
        return;
    }
    FZ_CHECK(h.bytes <= bytes && h.bytes % 64 == 0, "%u bytes", h.bytes);
    if (h.kind == WI_FRAME_CHUNK) {
        sink += wi_frame_checksum(&h, mem);
        read_bytes(mem + sizeof(h), h.chunk_bytes);
        return;
    }
    if (h.kind == WI_FRAME_END) {
        sink += wi_frame_get_end(mem).rows;
        return;
    }
    struct wi_export *x = wi_export_open(s);
    FZ_CHECK(x != NULL, "no memory");
    const struct wi_frame_at at = {.h = &h, .mem = mem};
    if (wi_frame_export(x, &at, &array, &err) == WEIR_OK) {
        FZ_CHECK(array.length == h.rows, "%u rows", h.rows);
        uint32_t i = 0;
        for (uint32_t c = 0; c < s->n_top; c++) {
            read_column(&s->columns[i], array.children[c]);
            i += 1 + s->columns[i].n_below;
        }
    }
    wi_export_close(x);
}

/* Every DATA frame that says nothing of a checksum passes as it was built. */
static void raise_header(uint8_t *mem, uint32_t bytes)
{
    struct wi_frame_header h;
    memcpy(&h, mem, sizeof(h));
    h.magic = WI_FRAME_MAGIC;
    h.epoch = EPOCH;
    h.flags = 0;
    h.bytes = bytes;
    memset(h.reserved, 0, sizeof(h.reserved));
    memcpy(mem, &h, sizeof(h));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fz_input in = {bytes, n};
    if (n > 2 * CAP_BYTES) {
        return -1;
    }
    struct wi_schema *s = take_schema(&in);
    uint8_t how = fz_u8(&in);
    uint8_t *built = aligned_alloc(64, CAP_BYTES);
    FZ_CHECK(built != NULL, "no memory");
    memset(built, 0xa5, CAP_BYTES);
    uint32_t size = (uint32_t)(64 * (1 + in.left / 64));
    if (how % 4 != 0) {
        size = build(s, &in, built);
        raise_header(built, size);
        change(&in, built, size);
    } else if (size <= CAP_BYTES) {
        fz_take(&in, built, size);
        raise_header(built, size);
    }
    if (size <= CAP_BYTES) {
        uint8_t *mem = aligned_alloc(64, size);
        FZ_CHECK(mem != NULL, "no memory");
        memcpy(mem, built, size);
        take(s, mem, size);
        free(mem);
    }
    free(built);
    wi_schema_close(s);
    return 0;
}
