/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A fan: the open frames of many destinations, and rows scattered over them in
 * their order.
 *
 *   row i --dest[i]--> d --left[d]--> place in the open frame of d
 *   column c: value of row i --> end[d] - left * width
 *
 * With hundreds of destinations a batch has a few rows for each, and a loop per
 * destination and column costs more than the rows. Here the loop is over rows,
 * one column after another. What it needs of a frame is kept in arrays by
 * destination, which stay in L1; a line of each open frame stays in L2.
 *
 * A builder (frame_build.h) is one destination of a fan, or stands alone. It
 * opens and finishes the frames; while one is open the counts here are the ones
 * that hold.
 *
 * A fan belongs to one thread; none of its calls waits.
 */
#ifndef WI_FRAME_FAN_H
#define WI_FRAME_FAN_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

#include "core/format/frame_layout.h"
#include "core/format/schema.h"

/* Most rows of one call. */
#define WI_FAN_ROWS 2048u

/* One column in all open frames; arrays by destination. */
struct wi_fan_column {
    uint8_t **end;       /* of the values (bits: their beginning) */
    uint8_t **validity;  /* nullable columns */
    uint8_t **bytes;     /* VAR, also below */
    uint32_t *used;      /* bytes */
    uint32_t *cap_bytes; /* bytes */
};

struct wi_fan {
    const struct wi_schema *s; /* constant after open, as is n_dest */
    uint32_t n_dest;
    uint32_t *left; /* rows that fit in the open frame; 0 also if none is */
    uint32_t *cap;  /* rows that fit in it when it is empty */
    void *memory;   /* of all arrays */
    uint32_t place[WI_FAN_ROWS]; /* left[] before the row */
    struct wi_fan_column columns[];
};

/**
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     never.  Threads: any
 * Ownership:  wi_fan_close; the schema must outlive it
 */
weir_err wi_fan_open(const struct wi_schema *s, uint32_t n_dest,
                     struct wi_fan **out, struct weir_error *err);
/** NULL is allowed. */
void wi_fan_close(struct wi_fan *f);

/** The builder of destination d has opened a frame, or appended to it. */
void wi_fan_take(struct wi_fan *f, uint32_t d, const struct wi_builder *b);

/** The builder is about to append, or to finish: tell it what the frame has. */
void wi_fan_give(const struct wi_fan *f, uint32_t d, struct wi_builder *b);

/** Rows in the open frame of destination d. */
static inline uint32_t wi_fan_rows(const struct wi_fan *f, uint32_t d)
{
    return f->cap[d] - f->left[d];
}

/** No frame of destination d is open. */
static inline void wi_fan_shut(struct wi_fan *f, uint32_t d)
{
    f->left[d] = 0;
    f->cap[d] = 0;
}

/**
 * Scatter rows [first, first + n) of a viewed batch, n <= WI_FAN_ROWS, until
 * the frame of a row's destination has no room for it, or is not open.
 *
 * @param dest  of each row, below n_dest
 *
 * Returns: rows taken; < n: dest[that many] has no room
 */
uint32_t wi_fan_scatter(struct wi_fan *f, const struct wi_view *views,
                        const uint16_t *dest, uint32_t first, uint32_t n);

#endif /* WI_FRAME_FAN_H */
