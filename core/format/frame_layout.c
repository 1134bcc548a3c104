/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format/frame_layout.h"

#include <assert.h>

#include "core/format/frame_table.h"

uint64_t wi_fixed_area_bytes(const struct wi_column *c, uint64_t rows)
{
    return wi_up_line(wi_value_bytes(c, rows)) +
           (c->nullable ? wi_up_line(wi_bitmap_bytes(rows)) : 0);
}

static uint64_t var_area_bytes(const struct wi_area *a, uint64_t rows)
{
    uint64_t want = (rows * a->average) >> WI_AVERAGE_BITS;
    return wi_up_line(wi_max_u64(want, a->first_len));
}

static uint64_t layout_bytes(const struct wi_builder *b, uint64_t rows)
{
    uint64_t bytes = wi_table_end(b->s->n_buffers);
    for (uint32_t i = 0; i < b->s->n_columns; i++) {
        const struct wi_column *c = &b->s->columns[i];
        bytes += wi_fixed_area_bytes(c, rows);
        if (c->kind == WI_KIND_VAR) {
            bytes += var_area_bytes(&b->areas[i], rows);
        }
    }
    return bytes;
}

/* Most rows whose layout fits: 0 .. max_rows. */
static uint32_t fit_rows(const struct wi_builder *b)
{
    uint64_t bits = b->s->fixed_bits;
    uint64_t table = wi_table_end(b->s->n_buffers);
    uint64_t lo = 0;
    uint64_t hi;

    if (b->cap_bytes <= table) {
        return 0;
    }
    for (uint32_t i = 0; i < b->s->n_columns; i++) {
        bits += b->s->columns[i].kind == WI_KIND_VAR
                    ? (b->areas[i].average * 8) >> WI_AVERAGE_BITS
                    : 0;
    }
    hi = (b->cap_bytes - table) * 8 / bits + 1; /* averages are rounded down */
    hi = wi_min_u64(hi, b->max_rows == 0 ? INT32_MAX : b->max_rows);
    /* A short search, as this runs for each frame where a ring ends: padding
     * takes less than a line for each buffer. */
    uint64_t padding = (uint64_t)b->s->n_buffers * WI_CACHE_LINE;
    if (b->cap_bytes - table > padding) {
        uint64_t guess = (b->cap_bytes - table - padding) * 8 / bits;
        guess = wi_min_u64(guess, hi);
        lo = layout_bytes(b, guess) <= b->cap_bytes ? guess : 0;
    }
    while (lo < hi) {
        uint64_t rows = hi - (hi - lo) / 2;
        if (layout_bytes(b, rows) <= b->cap_bytes) {
            lo = rows;
        } else {
            hi = rows - 1;
        }
    }
    return (uint32_t)lo;
}

/* Share of column i in `spare` bytes, by average width. */
static uint32_t spare_share(const struct wi_builder *b, uint32_t i,
                            uint64_t spare)
{
    uint64_t total = 0;
    for (uint32_t c = 0; c < b->s->n_columns; c++) {
        total +=
            b->s->columns[c].kind == WI_KIND_VAR ? b->areas[c].average + 1 : 0;
    }
    uint64_t share = spare / WI_CACHE_LINE * (b->areas[i].average + 1) / total;
    return (uint32_t)(share * WI_CACHE_LINE);
}

static uint32_t place_column(struct wi_builder *b, uint32_t i, uint32_t off,
                             uint64_t spare)
{
    const struct wi_column *c = &b->s->columns[i];
    struct wi_area *a = &b->areas[i];

    a->validity_off = off;
    if (c->nullable) {
        off += (uint32_t)wi_up_line(wi_bitmap_bytes(b->cap_rows));
    }
    a->values_off = off;
    off += (uint32_t)wi_up_line(wi_value_bytes(c, b->cap_rows));
    a->bytes_off = off;
    if (c->kind == WI_KIND_VAR) {
        a->var.cap_bytes =
            (uint32_t)var_area_bytes(a, b->cap_rows) + spare_share(b, i, spare);
        a->laid_out = a->average;
        off += a->var.cap_bytes;
    }
    return off;
}

void wi_lay_out(struct wi_builder *b)
{
    b->cap_rows = fit_rows(b);
    b->laid_out_bytes = b->cap_bytes;
    b->laid_out_max_rows = b->max_rows;
    if (b->cap_rows == 0) {
        return;
    }
    uint64_t spare = b->cap_bytes - layout_bytes(b, b->cap_rows);
    uint32_t off = wi_table_end(b->s->n_buffers);
    for (uint32_t i = 0; i < b->s->n_columns; i++) {
        off = place_column(b, i, off, spare);
    }
    assert(off <= b->cap_bytes);
}

bool wi_layout_has_drifted(const struct wi_builder *b)
{
    for (uint32_t i = 0; b->s->n_var > 0 && i < b->s->n_columns; i++) {
        const struct wi_area *a = &b->areas[i];
        uint64_t low = a->laid_out - a->laid_out / 16;
        uint64_t high = a->laid_out + a->laid_out / 16 + (1 << WI_AVERAGE_BITS);
        if (b->s->columns[i].kind == WI_KIND_VAR &&
            (a->average < low || a->average > high || a->first_len != 0)) {
            return true;
        }
    }
    return false;
}
