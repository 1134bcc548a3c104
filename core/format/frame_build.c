/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In mapped rings the frame lies where its consumer can write. So it is only
 * written here; what is needed again, such as lengths, is kept beside it. The
 * checksum has to read it, and clamps what it finds.
 *
 * Appending never moves what is in the frame. If the first row does not fit,
 * the empty frame is laid out again for it (frame_layout.h), so a row that can
 * fit a frame alone always does.
 */
#include "core/format/frame_build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/err.h"
#include "core/format/frame.h"
#include "core/format/frame_bits.h"
#include "core/format/frame_fan.h"
#include "core/format/frame_layout.h"
#include "core/format/frame_stream.h"
#include "core/format/frame_table.h"
#include "core/format/text.h"

enum {
    GUESS_BYTES = 16,  /* width of VAR values before any was seen */
    SAMPLE_ROWS = 256, /* rows looked at to learn widths */
    DENSE_ROWS = 64,   /* of an append: fewer go through the cache */
};

/* ---- opening ------------------------------------------------------------- */

weir_err wi_builder_open(const struct wi_schema *s, struct wi_builder **out,
                         struct weir_error *err)
{
    struct wi_builder *b =
        calloc(1, sizeof(*b) + s->n_columns * sizeof(b->areas[0]));
    if (b == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "frame builder: no memory");
    }
    b->s = s;
    for (uint32_t c = 0; c < s->n_columns; c++) {
        b->areas[c].average = (uint64_t)GUESS_BYTES << WI_AVERAGE_BITS;
    }
    *out = b;
    return WEIR_OK;
}

void wi_builder_close(struct wi_builder *b)
{
    if (b != NULL) {
        free(b->streams);
        free(b->parts);
    }
    free(b);
}

weir_err wi_builder_stream(struct wi_builder *b, struct weir_error *err)
{
    size_t bytes = b->s->n_columns * sizeof(b->streams[0]);
    b->streams = aligned_alloc(WI_CACHE_LINE, bytes);
    b->parts = calloc(b->s->n_buffers, sizeof(b->parts[0]));
    if (b->streams == NULL || b->parts == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "frame builder: no memory");
    }
    return WEIR_OK;
}

void wi_builder_around(struct wi_builder *b)
{
    b->around = b->streams != NULL && b->fan == NULL && b->dense;
}

void wi_builder_join(struct wi_builder *b, struct wi_fan *fan, uint32_t dest)
{
    b->fan = fan;
    b->dest = dest;
}

/* While a frame is open the fan's counts hold; here they are taken and given
 * back. */
static void from_fan(struct wi_builder *b)
{
    if (b->fan != NULL && b->mem != NULL) {
        wi_fan_give(b->fan, b->dest, b);
    }
}

static void to_fan(const struct wi_builder *b)
{
    if (b->fan != NULL) {
        wi_fan_take(b->fan, b->dest, b);
    }
}

void wi_builder_drop(struct wi_builder *b)
{
    b->mem = NULL;
    b->rows = 0;
    if (b->fan != NULL) {
        wi_fan_shut(b->fan, b->dest);
    }
}

void wi_builder_start(struct wi_builder *b, uint8_t *mem, uint32_t cap_bytes,
                      uint32_t max_rows)
{
    assert((uintptr_t)mem % WI_CACHE_LINE == 0);
    assert(cap_bytes % WI_CACHE_LINE == 0 && cap_bytes <= INT32_MAX);
    bool changed = cap_bytes != b->laid_out_bytes ||
                   max_rows != b->laid_out_max_rows || wi_layout_has_drifted(b);
    b->mem = mem;
    b->rows = 0;
    b->appends = 0;
    b->around = false;
    b->cap_bytes = cap_bytes;
    b->max_rows = max_rows;
    if (changed) {
        for (uint32_t i = 0; i < b->s->n_columns; i++) {
            b->areas[i].first_len = 0;
        }
        wi_lay_out(b);
    }
    for (uint32_t i = 0; b->s->n_var > 0 && i < b->s->n_columns; i++) {
        b->areas[i].var.used = 0;
    }
    to_fan(b);
}

uint32_t wi_builder_rows(const struct wi_builder *b)
{
    return b->fan == NULL || b->mem == NULL ? b->rows
                                            : wi_fan_rows(b->fan, b->dest);
}

uint32_t wi_builder_room(const struct wi_builder *b)
{
    return b->mem == NULL ? 0 : b->cap_rows - wi_builder_rows(b);
}

/* ---- widths of VAR values ------------------------------------------------ */

static uint64_t row_at(const struct wi_rows *rows, uint32_t i)
{
    return rows->idx != NULL ? rows->idx[i] : (uint64_t)rows->first + i;
}

/* Forget averages: these rows are a better guess. */
static void learn_rows(struct wi_builder *b, const struct wi_view *views,
                       const struct wi_rows *rows)
{
    uint32_t n = wi_min_u32(rows->n, SAMPLE_ROWS);
    for (uint32_t i = 0; i < b->s->n_columns; i++) {
        uint64_t sum = 0;
        if (b->s->columns[i].kind != WI_KIND_VAR) {
            continue;
        }
        for (uint32_t r = 0; r < n; r++) {
            sum += wi_text_len(&views[i], row_at(rows, r));
        }
        b->areas[i].average = (sum << WI_AVERAGE_BITS) / n;
    }
    b->learned = true;
}

static void learn_frame(struct wi_builder *b)
{
    for (uint32_t i = 0; b->s->n_var > 0 && i < b->s->n_columns; i++) {
        struct wi_area *a = &b->areas[i];
        if (b->s->columns[i].kind != WI_KIND_VAR) {
            continue;
        }
        uint64_t average = ((uint64_t)a->var.used << WI_AVERAGE_BITS) / b->rows;
        a->average = (3 * a->average + average) / 4;
    }
}

/* An empty frame cannot take its first row: lay it out for that row, and for
 * the average of these rows if they fit too. */
static void lay_out_for(struct wi_builder *b, const struct wi_view *views,
                        const struct wi_rows *rows)
{
    learn_rows(b, views, rows);
    for (uint32_t i = 0; i < b->s->n_columns; i++) {
        if (b->s->columns[i].kind == WI_KIND_VAR) {
            b->areas[i].first_len = wi_text_len(&views[i], row_at(rows, 0));
        }
    }
    wi_lay_out(b);
    if (b->cap_rows > 0) {
        return;
    }
    for (uint32_t i = 0; i < b->s->n_columns; i++) {
        b->areas[i].average = 0;
    }
    wi_lay_out(b);
    learn_rows(b, views, rows);
}

/* ---- appending ----------------------------------------------------------- */

/* All VAR columns; rows that fit in each of them. */
static uint32_t put_texts(struct wi_builder *b, const struct wi_view *views,
                          struct wi_rows rows)
{
    for (uint32_t i = 0; i < b->s->n_columns && rows.n > 0; i++) {
        struct wi_area *a = &b->areas[i];
        if (b->s->columns[i].kind != WI_KIND_VAR) {
            continue;
        }
        int32_t *offsets = (void *)(b->mem + a->values_off);
        if (b->rows == 0) {
            offsets[0] = 0;
        }
        rows.n = wi_copy_texts(offsets + b->rows + 1, b->mem + a->bytes_off,
                               &a->var, &views[i], &rows);
        a->taken = rows.n;
    }
    return rows.n;
}

static void put_validity(struct wi_builder *b, const struct wi_area *a,
                         const struct wi_view *v, const struct wi_rows *rows)
{
    uint8_t *bits = b->mem + a->validity_off;
    if (v->validity == NULL) {
        wi_set_bits(bits, b->rows, rows->n);
    } else {
        wi_copy_bits(bits, b->rows, v->validity, v->offset, rows,
                     wi_isa_best());
    }
}

/* A later column may have had room for fewer rows than this one; the bytes of
 * the others are overwritten. */
static void keep_texts(struct wi_area *a, const struct wi_view *v,
                       const struct wi_rows *rows)
{
    a->var.used =
        a->taken == rows->n ? a->var.end : a->var.used + wi_var_bytes(v, rows);
}

static bool is_streamed(const struct wi_builder *b, uint32_t i)
{
    const struct wi_column *c = &b->s->columns[i];
    return b->around && c->kind == WI_KIND_FIXED && c->width <= WI_STREAM_WIDTH;
}

static void put_fixed(struct wi_builder *b, uint32_t i, const struct wi_view *v,
                      const struct wi_rows *rows)
{
    uint32_t width = b->s->columns[i].width;
    uint8_t *values = b->mem + b->areas[i].values_off;
    if (!is_streamed(b, i)) {
        wi_copy_fixed(values + (size_t)b->rows * width, v, width, rows);
        return;
    }
    if (b->rows == 0) {
        wi_stream_start(&b->streams[i], values);
    }
    wi_stream_put(&b->streams[i], v, width, rows);
}

static void put_column(struct wi_builder *b, uint32_t i,
                       const struct wi_view *v, const struct wi_rows *rows)
{
    const struct wi_column *c = &b->s->columns[i];
    struct wi_area *a = &b->areas[i];

    switch (c->kind) {
    case WI_KIND_FIXED:
        put_fixed(b, i, v, rows);
        break;
    case WI_KIND_BITS:
        wi_copy_bits(b->mem + a->values_off, b->rows, v->values, v->offset,
                     rows, wi_isa_best());
        break;
    case WI_KIND_VAR:
        keep_texts(a, v, rows);
        break;
    case WI_KIND_STRUCT:
        break;
    }
    if (c->nullable) {
        put_validity(b, a, v, rows);
    }
}

/* Rows of VAR columns that fit; an empty frame is laid out for them. */
static uint32_t fit_var(struct wi_builder *b, const struct wi_view *views,
                        const struct wi_rows *rows)
{
    struct wi_rows now = *rows;

    if (!b->learned) {
        learn_rows(b, views, rows);
        wi_lay_out(b);
    }
    now.n = wi_min_u32(rows->n, b->cap_rows - b->rows);
    now.n = put_texts(b, views, now);
    if (now.n == 0 && b->rows == 0) {
        lay_out_for(b, views, rows);
        now.n = wi_min_u32(rows->n, b->cap_rows);
        now.n = put_texts(b, views, now);
    }
    return now.n;
}

uint32_t wi_builder_append(struct wi_builder *b, const struct wi_view *views,
                           const uint32_t *idx, uint32_t first, uint32_t n)
{
    struct wi_rows rows = {.idx = idx, .first = first, .n = n};

    assert(b->mem != NULL);
    if (n == 0) {
        return 0;
    }
    from_fan(b);
    rows.n = b->s->n_var > 0 ? fit_var(b, views, &rows)
                             : wi_min_u32(n, b->cap_rows - b->rows);
    for (uint32_t i = 0; rows.n > 0 && i < b->s->n_columns; i++) {
        put_column(b, i, &views[i], &rows);
    }
    b->rows += rows.n;
    b->appends++;
    to_fan(b); /* also after a new layout alone */
    return rows.n;
}

/* ---- finishing ----------------------------------------------------------- */

/* Where the buffers go and what they hold. */
struct packer {
    struct wi_builder *b;
    uint32_t entry; /* next of the table */
    uint32_t end;   /* of the buffers placed so far, multiple of 64 */
    uint32_t used;  /* sum of their bytes, each rounded up to 64 */
    bool compact;   /* move them together */
    bool write;     /* false: only measure */
};

/* The last line of a stream has its zeros. */
static inline bool is_padded(const struct packer *p)
{
    return p->b->parts != NULL && p->b->parts[p->entry] != NULL;
}

static inline void pack_buffer(struct packer *p, uint32_t off, uint64_t len)
{
    uint8_t *mem = p->b->mem;
    uint32_t bytes = (uint32_t)len;
    uint32_t padded = (uint32_t)wi_up_line(len);
    uint32_t to = p->compact || bytes == 0 ? p->end : off;

    if (p->write) {
        if (to != off) {
            memmove(mem + to, mem + off, bytes);
        }
        if (to != off || !is_padded(p)) {
            memset(mem + to + bytes, 0, padded - bytes);
        }
        wi_table_put(mem, p->entry, (struct wi_extent){to, bytes});
    }
    p->entry++;
    p->end = to + padded;
    p->used += padded;
}

static void pack_buffers(struct packer *p)
{
    struct wi_builder *b = p->b;
    for (uint32_t i = 0; i < b->s->n_columns; i++) {
        const struct wi_column *c = &b->s->columns[i];
        const struct wi_area *a = &b->areas[i];
        if (c->nullable) {
            pack_buffer(p, a->validity_off, wi_bitmap_bytes(b->rows));
        }
        if (c->kind != WI_KIND_STRUCT) {
            pack_buffer(p, a->values_off, wi_value_bytes(c, b->rows));
        }
        if (c->kind == WI_KIND_VAR) {
            pack_buffer(p, a->bytes_off, a->var.used);
        }
    }
}

/* Is less than half of the space used? Fixed widths need no measuring. */
static bool is_sparse(struct wi_builder *b, uint32_t begin)
{
    struct packer measure = {.b = b, .end = begin};
    if (b->s->n_var == 0) {
        return b->rows < b->cap_rows / 2;
    }
    pack_buffers(&measure);
    return measure.used < (measure.end - begin) / 2;
}

/* The last lines of columns that are written around the cache. */
static void end_streams(struct wi_builder *b)
{
    uint32_t entry = 0;
    for (uint32_t i = 0; b->streams != NULL && i < b->s->n_columns; i++) {
        bool streamed = is_streamed(b, i);
        entry += b->s->columns[i].nullable ? 1 : 0;
        if (b->s->columns[i].kind == WI_KIND_STRUCT) {
            continue;
        }
        b->parts[entry] = streamed ? &b->streams[i].part : NULL;
        entry += b->s->columns[i].kind == WI_KIND_VAR ? 2 : 1;
        if (streamed) {
            wi_stream_end(&b->streams[i]);
        }
    }
}

static uint64_t sum_of(const struct wi_builder *b,
                       const struct wi_frame_header *h)
{
    return b->around ? wi_frame_checksum_parts(h, b->mem, b->parts)
                     : wi_frame_checksum(h, b->mem);
}

uint32_t wi_builder_finish(struct wi_builder *b, bool checksum)
{
    uint32_t n_buffers = b->s->n_buffers;
    uint32_t begin = wi_table_end(n_buffers);
    struct packer pack = {.b = b, .end = begin, .write = true};
    struct wi_frame_header *h = (void *)b->mem;

    from_fan(b);
    if (h == NULL || b->rows == 0) {
        wi_builder_drop(b);
        return 0;
    }
    learn_frame(b);
    b->dense = b->rows >= b->appends * DENSE_ROWS;
    end_streams(b);
    pack.compact = is_sparse(b, begin);
    pack_buffers(&pack);
    memset(b->mem + WI_TABLE_OFF + n_buffers * 8, 0,
           begin - WI_TABLE_OFF - n_buffers * 8);

    struct wi_frame_header own = {
        .magic = WI_FRAME_MAGIC,
        .kind = WI_FRAME_DATA,
        .bytes = pack.end,
        .rows = b->rows,
        .n_buffers = n_buffers,
    };
    own.checksum = checksum ? sum_of(b, &own) : 0;
    *h = own;
    if (b->around) {
        wi_flush_stores();
    }
    wi_builder_drop(b);
    return pack.end;
}

/* ---- sizes --------------------------------------------------------------- */

uint32_t wi_frame_min_bytes(const struct wi_schema *s)
{
    uint64_t bytes = wi_table_end(s->n_buffers);
    for (uint32_t i = 0; i < s->n_columns; i++) {
        bytes += wi_fixed_area_bytes(&s->columns[i], 1);
    }
    return (uint32_t)bytes;
}

uint64_t wi_frame_row_bytes(const struct wi_schema *s,
                            const struct wi_view *views, uint64_t row)
{
    uint64_t bytes = wi_frame_min_bytes(s);
    for (uint32_t i = 0; s->n_var > 0 && i < s->n_columns; i++) {
        if (s->columns[i].kind == WI_KIND_VAR) {
            bytes += wi_up_line(wi_text_len(&views[i], row));
        }
    }
    return bytes;
}
