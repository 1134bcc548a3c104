/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As in frame_build.c, what lies in a frame is written and never believed:
 * counts are kept here. Only words of bits are read again, as appending does.
 */
#include "core/format/frame_fan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/format/text.h"

enum { FETCH_ROWS = 24 }; /* how far ahead lines are fetched */

/* ---- opening ------------------------------------------------------------- */

/* Arrays of pointers, then those of numbers. */
static void place_arrays(struct wi_fan *f)
{
    uint32_t n = f->n_dest;
    uint8_t **pointers = f->memory;
    for (uint32_t c = 0; c < f->s->n_columns; c++) {
        f->columns[c].end = pointers;
        f->columns[c].validity = pointers + n;
        f->columns[c].bytes = pointers + 2 * (size_t)n;
        pointers += 3 * (size_t)n;
    }
    uint32_t *numbers = (void *)pointers;
    f->left = numbers;
    f->cap = numbers + n;
    numbers += 2 * (size_t)n;
    for (uint32_t c = 0; c < f->s->n_columns; c++) {
        f->columns[c].used = numbers;
        f->columns[c].cap_bytes = numbers + n;
        numbers += 2 * (size_t)n;
    }
}

weir_err wi_fan_open(const struct wi_schema *s, uint32_t n_dest,
                     struct wi_fan **out, struct weir_error *err)
{
    size_t per_column = 3 * sizeof(uint8_t *) + 2 * sizeof(uint32_t);
    size_t each = s->n_columns * per_column + 2 * sizeof(uint32_t);
    struct wi_fan *f =
        calloc(1, sizeof(*f) + s->n_columns * sizeof(f->columns[0]));
    void *memory = calloc(n_dest, each);
    if (f == NULL || memory == NULL) {
        free(f);
        free(memory);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u open frames",
                       n_dest);
    }
    f->s = s;
    f->n_dest = n_dest;
    f->memory = memory;
    place_arrays(f);
    *out = f;
    return WEIR_OK;
}

void wi_fan_close(struct wi_fan *f)
{
    if (f != NULL) {
        free(f->memory);
        free(f);
    }
}

/* ---- one destination ----------------------------------------------------- */

/* Where the values of a full frame end; bits have no such place. */
static uint8_t *end_of(const struct wi_builder *b, uint32_t i)
{
    uint8_t *values = b->mem + b->areas[i].values_off;
    switch (b->s->columns[i].kind) {
    case WI_KIND_FIXED:
        return values + (size_t)b->cap_rows * b->s->columns[i].width;
    case WI_KIND_VAR: /* the first offset is no row's end */
        return values + ((size_t)b->cap_rows + 1) * 4;
    case WI_KIND_BITS:
    case WI_KIND_STRUCT:
        break;
    }
    return values;
}

static void take_var(struct wi_fan_column *c, uint32_t d,
                     const struct wi_builder *b, const struct wi_area *a)
{
    c->bytes[d] = b->mem + a->bytes_off;
    c->used[d] = a->var.used;
    c->cap_bytes[d] = a->var.cap_bytes;
    if (b->rows == 0) {
        wi_store_u32(b->mem + a->values_off, 0);
    }
}

void wi_fan_take(struct wi_fan *f, uint32_t d, const struct wi_builder *b)
{
    /* Without a layout for texts the builder looks at the first rows. */
    bool open = b->cap_rows > 0 && (b->s->n_var == 0 || b->learned);
    f->cap[d] = open ? b->cap_rows : b->rows;
    f->left[d] = f->cap[d] - b->rows;
    for (uint32_t i = 0; open && i < f->s->n_columns; i++) {
        struct wi_fan_column *c = &f->columns[i];
        c->end[d] = end_of(b, i);
        c->validity[d] = b->mem + b->areas[i].validity_off;
        if (f->s->columns[i].kind == WI_KIND_VAR) {
            take_var(c, d, b, &b->areas[i]);
        }
    }
}

void wi_fan_give(const struct wi_fan *f, uint32_t d, struct wi_builder *b)
{
    bool open = f->cap[d] != 0;
    b->rows = wi_fan_rows(f, d);
    for (uint32_t i = 0; open && b->s->n_var > 0 && i < b->s->n_columns; i++) {
        if (f->s->columns[i].kind == WI_KIND_VAR) {
            b->areas[i].var.used = f->columns[i].used[d];
        }
    }
}

/* ---- scattering ---------------------------------------------------------- */

/* The rows of one call. */
struct some {
    const uint16_t *dest;
    const uint32_t *place;
    uint32_t first;
    uint32_t n;
};

/* Places of rows in the open frames. Returns how many have one. */
static uint32_t find_places(struct wi_fan *f, const uint16_t *dest, uint32_t n)
{
    uint32_t *left = f->left;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t here = left[dest[i]];
        if (wi_unlikely(here == 0)) {
            return i;
        }
        f->place[i] = here;
        left[dest[i]] = here - 1;
    }
    return n;
}

/* Fetch the line that a row will be written to; when it is the first of its
 * line, the next one: that has until it is full. */
static inline __attribute__((always_inline)) void
fetch_soon(uint8_t *const *end, size_t width, const struct some *rows,
           uint32_t i)
{
    uintptr_t to = (uintptr_t)end[rows->dest[i]] - rows->place[i] * width;
    bool first = to % WI_CACHE_LINE < width;
    wi_prefetch_write(to + (first ? WI_CACHE_LINE : 0u));
}

/* `width` is a constant in every caller but one. */
static inline __attribute__((always_inline)) void
put_values(uint8_t *const *end, const uint8_t *src, size_t width,
           const struct some *rows)
{
    for (uint32_t i = 0; i < rows->n; i++) {
        if (i + FETCH_ROWS < rows->n) {
            fetch_soon(end, width, rows, i + FETCH_ROWS);
        }
        memcpy(end[rows->dest[i]] - rows->place[i] * width, src + i * width,
               width);
    }
}

static void put_fixed(const struct wi_fan_column *c, const struct wi_view *v,
                      size_t width, const struct some *rows)
{
    const uint8_t *src = v->values;
    src += (v->offset + rows->first) * width;
    switch (width) {
    case 1:
        put_values(c->end, src, 1, rows);
        break;
    case 2:
        put_values(c->end, src, 2, rows);
        break;
    case 4:
        put_values(c->end, src, 4, rows);
        break;
    case 8:
        put_values(c->end, src, 8, rows);
        break;
    case 16:
        put_values(c->end, src, 16, rows);
        break;
    default:
        put_values(c->end, src, width, rows);
        break;
    }
}

/* A bit per row; `bits` NULL: ones. The first of a word clears the rest of it,
 * as wi_copy_bits() wants it. */
static void put_bits(uint8_t *const *out, const uint32_t *cap,
                     const uint8_t *bits, uint64_t offset,
                     const struct some *rows)
{
    for (uint32_t i = 0; i < rows->n; i++) {
        uint32_t place = cap[rows->dest[i]] - rows->place[i];
        uint8_t *to = out[rows->dest[i]] + place / 8;
        uint32_t bit =
            bits == NULL ? 1 : wi_bit(bits, offset + rows->first + i);
        if (place % 64 == 0) {
            wi_store_u64(to, bit);
        } else {
            *to = (uint8_t)(*to | bit << place % 8);
        }
    }
}

/* As the loop in wi_copy_bytes(): short values are moved as 32 bytes. */
static inline void put_text(uint8_t *to, uint32_t room, const uint8_t *src,
                            uint32_t len, uint32_t src_left)
{
    if (len <= 32 && src_left >= 32 && room >= 32) {
        memcpy(to, src, 32);
    } else {
        memcpy(to, src, len);
    }
}

/* Ends and bytes of VAR values. Returns how many rows have room for theirs. */
static uint32_t put_var(struct wi_fan_column *c, const struct wi_view *v,
                        const struct some *rows)
{
    const uint8_t *offsets = v->values;
    offsets += (v->offset + rows->first) * 4;
    uint32_t end = wi_load_u32(offsets + (size_t)rows->n * 4);
    uint32_t from = wi_load_u32(offsets);
    for (uint32_t i = 0; i < rows->n; i++) {
        uint32_t d = rows->dest[i];
        uint32_t next = wi_load_u32(offsets + 4 + (size_t)i * 4);
        uint32_t len = next - from;
        uint32_t used = c->used[d];
        uint32_t room = c->cap_bytes[d] - used;
        if (wi_unlikely(len > room)) {
            return i;
        }
        put_text(c->bytes[d] + used, room, v->bytes + from, len, end - from);
        used += len;
        c->used[d] = used;
        wi_store_u32(c->end[d] - (size_t)rows->place[i] * 4, used);
        from = next;
    }
    return rows->n;
}

/* As put_var(), of values that are anywhere. */
static uint32_t put_texts(struct wi_fan_column *c, const struct wi_text *texts,
                          const struct some *rows)
{
    for (uint32_t i = 0; i < rows->n; i++) {
        const struct wi_text *t = &texts[(size_t)rows->first + i];
        uint32_t d = rows->dest[i];
        uint32_t used = c->used[d];
        uint32_t room = c->cap_bytes[d] - used;
        if (wi_unlikely(t->len > room)) {
            return i;
        }
        wi_text_move(c->bytes[d] + used, room, t);
        used += t->len;
        c->used[d] = used;
        wi_store_u32(c->end[d] - (size_t)rows->place[i] * 4, used);
    }
    return rows->n;
}

/* Take back the bytes of rows [n, rows->n). */
static void drop_var(struct wi_fan_column *c, const struct wi_view *v,
                     const struct some *rows, uint32_t n)
{
    for (uint32_t i = n; i < rows->n; i++) {
        c->used[rows->dest[i]] -= wi_text_len(v, (uint64_t)rows->first + i);
    }
}

/* VAR columns decide how many of the rows fit; the others' places are given
 * back. */
static void put_vars(struct wi_fan *f, const struct wi_view *views,
                     struct some *rows)
{
    for (uint32_t i = 0; f->s->n_var > 0 && i < f->s->n_columns; i++) {
        if (f->s->columns[i].kind != WI_KIND_VAR) {
            continue;
        }
        const struct wi_text *texts = views[i].texts;
        uint32_t n = texts == NULL ? put_var(&f->columns[i], &views[i], rows)
                                   : put_texts(&f->columns[i], texts, rows);
        for (uint32_t k = 0; n < rows->n && k < i; k++) {
            if (f->s->columns[k].kind == WI_KIND_VAR) {
                drop_var(&f->columns[k], &views[k], rows, n);
            }
        }
        for (uint32_t r = n; r < rows->n; r++) {
            f->left[rows->dest[r]]++;
        }
        rows->n = n;
    }
}

uint32_t wi_fan_scatter(struct wi_fan *f, const struct wi_view *views,
                        const uint16_t *dest, uint32_t first, uint32_t n)
{
    assert(n <= WI_FAN_ROWS);
    struct some rows = {.dest = dest, .place = f->place, .first = first};
    rows.n = find_places(f, dest, n);
    put_vars(f, views, &rows);
    for (uint32_t i = 0; i < f->s->n_columns; i++) {
        const struct wi_column *c = &f->s->columns[i];
        const struct wi_fan_column *to = &f->columns[i];
        const struct wi_view *v = &views[i];
        if (c->kind == WI_KIND_FIXED) {
            put_fixed(to, v, c->width, &rows);
        } else if (c->kind == WI_KIND_BITS) {
            put_bits(to->end, f->cap, v->values, v->offset, &rows);
        }
        if (c->nullable) {
            put_bits(to->validity, f->cap, v->validity, v->offset, &rows);
        }
    }
    return rows.n;
}
