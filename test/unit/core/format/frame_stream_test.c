/* SPDX-License-Identifier: Apache-2.0 */
/* Columns written around the cache: the same bytes and the same sums. */
#include "core/format/frame_stream.h"

#include <criterion/criterion.h>

#include "core/base/atomic.h"
#include "core/format/frame_build.h"
#include "core/format/frame_layout.h"
#include "test/unit/core/format/batch_fixture.h"

enum { BYTES = 32768, ROWS = 700, FRAMES = 5 };

/* A builder and what it fills; all bytes after its frame stay as they were. */
struct side {
    struct wi_builder *builder;
    uint8_t *mem;
};

static void open_side(struct side *s, const struct wt_batch *t, bool around)
{
    cr_assert_eq(wi_builder_open(t->schema, &s->builder, NULL), WEIR_OK);
    if (around) {
        cr_assert_eq(wi_builder_stream(s->builder, NULL), WEIR_OK);
    }
    s->mem = aligned_alloc(64, BYTES);
    cr_assert_not_null(s->mem);
}

static void close_side(struct side *s)
{
    wi_builder_close(s->builder);
    free(s->mem);
}

static void start(struct side *s)
{
    memset(s->mem, 0, BYTES);
    wi_builder_start(s->builder, s->mem, BYTES, 0);
    wi_builder_around(s->builder);
}

/* The same rows to both, some of them from a list. */
static uint32_t append(struct wt_batch *t, struct side *sides, uint32_t most)
{
    uint32_t idx[ROWS];
    uint32_t n = (uint32_t)(wt_random(t) % most) + 1;
    uint32_t first = (uint32_t)(wt_random(t) % (ROWS - n + 1));
    const uint32_t *list = (wt_random(t) & 1) != 0 ? idx : NULL;
    for (uint32_t i = 0; i < n; i++) {
        idx[i] = (uint32_t)(wt_random(t) % ROWS);
    }
    uint32_t took =
        wi_builder_append(sides[0].builder, t->views, list, first, n);
    cr_assert_eq(wi_builder_append(sides[1].builder, t->views, list, first, n),
                 took);
    return took;
}

/* Returns whether the second side went around the cache. */
static bool run_frame(struct wt_batch *t, struct side *sides, uint32_t most)
{
    start(&sides[0]);
    start(&sides[1]);
    bool around = sides[1].builder->around;
    cr_assert(!sides[0].builder->around);
    for (uint32_t parts = (uint32_t)(wt_random(t) % 9); parts > 0; parts--) {
        (void)append(t, sides, most);
    }
    uint32_t bytes = wi_builder_finish(sides[0].builder, true);
    cr_assert_eq(wi_builder_finish(sides[1].builder, true), bytes);
    wi_flush_stores();
    cr_assert_eq(memcmp(sides[0].mem, sides[1].mem, bytes), 0);
    return around;
}

Test(frame_stream, frames_written_around_the_cache_are_the_same)
{
    uint32_t n_around = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct wt_batch t;
        struct side sides[2];
        wt_random_schema(&t, seed);
        wt_random_batch(&t, ROWS, seed % 4 == 0 ? 300 : 24);
        open_side(&sides[0], &t, false);
        open_side(&sides[1], &t, true);
        for (int frame = 0; frame < FRAMES; frame++) {
            n_around += run_frame(&t, sides, seed % 3 == 0 ? 5 : ROWS);
        }
        close_side(&sides[0]);
        close_side(&sides[1]);
        wt_close(&t);
    }
    cr_assert_gt(n_around, 50, "%u", n_around);
}

Test(frame_stream, a_builder_that_gets_few_rows_at_a_time_uses_the_cache)
{
    struct wt_batch t;
    struct side s;
    struct weir_field field = {"k", "l", 0};
    wt_open_schema(&t, 1, &field, 1);
    wt_random_batch(&t, ROWS, 1);
    open_side(&s, &t, true);
    for (uint32_t n = 63; n <= 64; n++) {
        start(&s);
        (void)wi_builder_append(s.builder, t.views, NULL, 0, n);
        (void)wi_builder_append(s.builder, t.views, NULL, 0, n);
        cr_assert_gt(wi_builder_finish(s.builder, true), 0);
        start(&s);
        cr_assert_eq(s.builder->around, n == 64);
    }
    close_side(&s);
    wt_close(&t);
}

/* A piece in two moves at each level, between two that are read. */
static void check_sums(const uint8_t *mem, uint32_t blocks, uint32_t cut)
{
    _Alignas(64) uint8_t moved[64 * 9];
    for (int isa = 0; isa <= (int)wi_isa_best(); isa++) {
        enum wi_isa level = (enum wi_isa)isa;
        const uint8_t *piece = mem + 64;
        struct wi_sum all = {.lead = piece, .lead_blocks = blocks};
        struct wi_sum_part part = {0};
        const struct wi_sum_part *parts[] = {&part};
        struct wi_sum none = {.mem = mem, .n_buffers = 1, .parts = parts};
        wi_sum_move(&part, moved, piece, cut, level);
        wi_sum_move(&part, moved + (size_t)cut * 64, piece + (size_t)cut * 64,
                    blocks - cut, level);
        uint32_t last;
        memcpy(&last, piece + (size_t)blocks * 64 - 4, 4);
        wi_sum_part_end(&part, last);
        wi_flush_stores();
        cr_assert_eq(memcmp(moved, piece, (size_t)blocks * 64), 0);
        cr_assert_eq(wi_sum_get(&none, level, 1),
                     wi_sum_get(&all, WI_ISA_PORTABLE, 1), "%s, %u of %u",
                     wi_isa_name(level), cut, blocks);
    }
}

Test(frame_stream, moved_lines_have_the_sums_of_lines_that_are_read)
{
    _Alignas(64) uint8_t mem[64 * 10];
    for (uint32_t i = 0; i < sizeof(mem); i++) {
        mem[i] = (uint8_t)(i * 167 + i / 7);
    }
    for (uint32_t blocks = 1; blocks <= 9; blocks++) {
        for (uint32_t cut = 0; cut <= blocks; cut++) {
            check_sums(mem, blocks, cut);
        }
    }
}
