/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside of the builder: where in a frame the columns' areas are.
 *
 * A frame is laid out for R rows before the first row comes:
 *
 *   fixed areas of R rows | VAR areas of what is left, shared out by width
 *
 * (in column order; the drawing only groups them). R is the largest number for
 * which the fixed areas and R average VAR values fit. Averages are learned
 * from the first rows that come, then from every finished frame. A layout is
 * kept from frame to frame until the averages drift by a sixteenth.
 */
#ifndef WI_FRAME_LAYOUT_H
#define WI_FRAME_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/cc.h"
#include "core/format/frame_copy.h"
#include "core/format/schema.h"

enum { WI_AVERAGE_BITS = 8 }; /* fraction bits of averages */

/* One column in the open frame; offsets from the frame's start. */
struct wi_area {
    uint32_t validity_off;
    uint32_t values_off;
    uint32_t bytes_off;
    uint32_t taken;     /* VAR: rows that `var` counts */
    struct wi_var var;  /* VAR: bytes so far, and of the current append */
    uint32_t first_len; /* VAR: layout must hold one value of this length */
    uint64_t average;   /* VAR: learned width */
    uint64_t laid_out;  /* VAR: average that the layout was made for */
};

struct wi_fan;
struct wi_stream;
struct wi_sum_part;

struct wi_builder {
    const struct wi_schema *s; /* constant after open */
    struct wi_fan *fan;        /* NULL: alone; constant after join */
    uint32_t dest;             /* in the fan */
    uint8_t *mem;              /* open frame, NULL if none */
    uint32_t cap_bytes;
    uint32_t max_rows;
    uint32_t rows;
    uint32_t cap_rows;
    /* What the layout in `areas` was made for; 0: none. */
    uint32_t laid_out_bytes;
    uint32_t laid_out_max_rows;
    bool learned;
    /* Columns that may be written around the cache; NULL: none. */
    struct wi_stream *streams;        /* by column */
    const struct wi_sum_part **parts; /* by buffer, of the open frame */
    bool around;                      /* the open frame's columns are */
    uint32_t appends;                 /* to the open frame */
    bool dense;                       /* the last frame's were long */
    struct wi_area areas[];
};

static inline uint64_t wi_up_line(uint64_t bytes)
{
    return wi_align_up(bytes, WI_CACHE_LINE);
}

static inline uint64_t wi_bitmap_bytes(uint64_t rows)
{
    return (rows + 7) / 8;
}

/* Bytes of the values of a column: FIXED values, BITS bits, VAR offsets;
 * a STRUCT has none. */
static inline uint64_t wi_value_bytes(const struct wi_column *c, uint64_t rows)
{
    switch (c->kind) {
    case WI_KIND_FIXED:
        return rows * c->width;
    case WI_KIND_BITS:
        return wi_bitmap_bytes(rows);
    case WI_KIND_VAR:
        return (rows + 1) * sizeof(int32_t);
    case WI_KIND_STRUCT:
        break;
    }
    return 0;
}

/** Bytes of a column's area for this many rows, without VAR bytes. */
uint64_t wi_fixed_area_bytes(const struct wi_column *c, uint64_t rows);

/** Lay out the frame of cap_bytes for max_rows; cap_rows says for how many. */
void wi_lay_out(struct wi_builder *b);

/** Would the layout be another one now? */
bool wi_layout_has_drifted(const struct wi_builder *b);

#endif /* WI_FRAME_LAYOUT_H */
