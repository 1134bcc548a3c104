/* SPDX-License-Identifier: Apache-2.0 */
/* Rows scattered over many open frames, against the batch that they are of. */
#include "core/format/frame_fan.h"

#include <criterion/criterion.h>

#include "core/format/frame.h"
#include "core/format/frame_build.h"
#include "core/format/frame_check.h"
#include "test/unit/core/format/batch_fixture.h"

enum { BYTES = 4096, ROWS = 600, DESTS = 5, FEW = 7 };

/* One destination: its open frame, and the rows that should be in it. */
struct lane {
    struct wi_builder *builder;
    uint8_t *mem; /* BYTES, then as many that must not change */
    uint32_t rows[ROWS];
    uint32_t n;
};

struct world {
    struct wt_batch t;
    struct wi_fan *fan;
    struct lane lanes[DESTS];
    uint16_t dest[ROWS];
    uint32_t checked; /* rows of finished frames */
};

static void open_lane(struct world *w, uint32_t d)
{
    struct lane *l = &w->lanes[d];
    l->n = 0;
    memset(l->mem, 0xa5, (size_t)2 * BYTES);
    wi_builder_start(l->builder, l->mem, BYTES, 0);
}

static void open_world(struct world *w, uint64_t seed, uint32_t most_text)
{
    memset(w, 0, sizeof(*w));
    wt_random_schema(&w->t, seed);
    wt_random_batch(&w->t, ROWS, most_text);
    cr_assert_eq(wi_fan_open(w->t.schema, DESTS, &w->fan, NULL), WEIR_OK);
    for (uint32_t d = 0; d < DESTS; d++) {
        struct lane *l = &w->lanes[d];
        cr_assert_eq(wi_builder_open(w->t.schema, &l->builder, NULL), WEIR_OK);
        wi_builder_join(l->builder, w->fan, d);
        l->mem = aligned_alloc(64, (size_t)2 * BYTES);
        cr_assert_not_null(l->mem);
        open_lane(w, d);
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        w->dest[i] = (uint16_t)(wt_random(&w->t) % DESTS);
    }
}

static void close_world(struct world *w)
{
    for (uint32_t d = 0; d < DESTS; d++) {
        wi_builder_close(w->lanes[d].builder);
        free(w->lanes[d].mem);
    }
    wi_fan_close(w->fan);
    wt_close(&w->t);
}

static void compare(const struct wt_batch *t, const struct ArrowArray *array,
                    const uint32_t *rows)
{
    struct wi_view views[WT_MAX_COLUMNS];
    cr_assert_eq(wi_schema_import(t->schema, array, views, NULL), WEIR_OK);
    for (uint32_t c = 0; c < t->n_columns; c++) {
        const struct wi_column *col = &t->schema->columns[c];
        for (uint32_t i = 0; i < (uint32_t)array->length; i++) {
            struct wt_cell got = wt_cell(col, &views[c], i);
            struct wt_cell want = wt_cell(col, &t->views[c], rows[i]);
            cr_assert(wt_equal(&got, &want), "column %u (%s) row %u", c,
                      col->format, i);
        }
    }
}

/* Finish the frame, and compare it cell by cell. */
static void finish(struct world *w, uint32_t d)
{
    struct lane *l = &w->lanes[d];
    struct wi_frame_header h;
    struct ArrowArray array;
    cr_assert_eq(wi_builder_rows(l->builder), l->n);
    uint32_t bytes = wi_builder_finish(l->builder, true);
    cr_assert_eq(bytes == 0, l->n == 0);
    for (uint32_t i = 0; i < BYTES; i++) {
        cr_assert_eq(l->mem[BYTES + i], 0xa5, "written past the frame");
    }
    if (bytes == 0) {
        return;
    }
    memcpy(&h, l->mem, sizeof(h));
    cr_assert_eq(h.rows, l->n);
    struct wi_export *x = wi_export_open(w->t.schema);
    cr_assert_eq(wi_frame_export(x,
                                 &(struct wi_frame_at){.h = &h, .mem = l->mem},
                                 &array, NULL),
                 WEIR_OK);
    array.release = wt_no_release;
    compare(&w->t, &array, l->rows);
    wi_export_close(x);
    w->checked += l->n;
}

static void note(struct world *w, uint32_t row)
{
    struct lane *l = &w->lanes[w->dest[row]];
    l->rows[l->n++] = row;
}

/* A row that found no room is appended by itself, if need be to a new frame. */
static void append_one(struct world *w, uint32_t row)
{
    uint32_t d = w->dest[row];
    struct wi_builder *b = w->lanes[d].builder;
    if (wi_builder_append(b, w->t.views, &row, 0, 1) == 0) {
        finish(w, d);
        open_lane(w, d);
        cr_assert_eq(wi_builder_append(b, w->t.views, &row, 0, 1), 1);
    }
    note(w, row);
}

/* All rows, by calls of different lengths, some rows by themselves. */
static void move_all(struct world *w)
{
    uint32_t row = 0;
    while (row < ROWS) {
        uint32_t n = 1 + (uint32_t)(wt_random(&w->t) % (ROWS / 4));
        n = n < ROWS - row ? n : ROWS - row;
        uint32_t took =
            wi_fan_scatter(w->fan, w->t.views, w->dest + row, row, n);
        cr_assert_leq(took, n);
        for (uint32_t i = 0; i < took; i++) {
            note(w, row + i);
        }
        row += took;
        for (uint32_t i = 0; i < FEW && row < ROWS && (took < n || i > 3);
             i++) {
            append_one(w, row++);
        }
    }
    for (uint32_t d = 0; d < DESTS; d++) {
        finish(w, d);
    }
}

Test(frame_fan, frames_hold_the_rows_of_their_destinations_in_order)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct world w;
        open_world(&w, seed, seed % 3 == 0 ? 300 : 24);
        move_all(&w);
        cr_assert_eq(w.checked, ROWS, "seed %lu", (unsigned long)seed);
        close_world(&w);
    }
}

Test(frame_fan, a_frame_that_is_not_open_takes_no_row)
{
    struct world w;
    open_world(&w, 1, 0);
    for (uint32_t i = 0; i < ROWS; i++) {
        w.dest[i] = 2;
    }
    uint32_t took = wi_fan_scatter(w.fan, w.t.views, w.dest, 0, 1);
    took += took == 0
                ? wi_builder_append(w.lanes[2].builder, w.t.views, NULL, 0, 1)
                : 0;
    cr_assert_eq(took, 1);
    wi_builder_drop(w.lanes[2].builder);
    cr_assert_eq(wi_fan_scatter(w.fan, w.t.views, w.dest, 0, ROWS), 0);
    cr_assert_eq(wi_builder_rows(w.lanes[2].builder), 0);
    close_world(&w);
}
