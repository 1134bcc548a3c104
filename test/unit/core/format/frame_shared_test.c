/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in memory that the other end can write to at any time: whatever it
 * writes, the builder stays inside its space, and exported columns keep their
 * lengths. */
#include <criterion/criterion.h>

#include "core/format/frame.h"
#include "core/format/frame_build.h"
#include "core/format/frame_check.h"
#include "test/unit/core/format/batch_fixture.h"

enum { BYTES = 4096, GUARD = 65536, ROWS = 64 };

/* BYTES for a frame; what lies on both sides must not change. */
struct space {
    uint8_t *all;
    uint8_t *mem;
};

static struct space open_space(void)
{
    struct space s = {.all = aligned_alloc(64, BYTES + 2 * GUARD)};
    cr_assert_not_null(s.all);
    memset(s.all, 0xa5, BYTES + 2 * GUARD);
    s.mem = s.all + GUARD;
    return s;
}

static void check_space(const struct space *s, uint64_t seed)
{
    for (uint32_t i = 0; i < GUARD; i++) {
        cr_assert(s->all[i] == 0xa5 && s->mem[BYTES + i] == 0xa5,
                  "seed %lu, byte %u", (unsigned long)seed, i);
    }
}

/* The other end writes words of its own, small and large ones. */
static void scribble(struct wt_batch *t, uint8_t *mem)
{
    for (uint32_t i = 0; i < BYTES / 4; i++) {
        uint32_t word = (uint32_t)wt_random(t);
        word = word % 3 == 0 ? word % BYTES : word;
        memcpy(mem + (size_t)i * 4, &word, 4);
    }
}

static uint32_t append_some(struct wt_batch *t, struct wi_builder *b)
{
    uint32_t idx[ROWS];
    uint32_t n = 1 + (uint32_t)(wt_random(t) % 8);
    if (wt_random(t) % 2 == 0) {
        return wi_builder_append(b, t->views, NULL, ROWS / 2, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        idx[i] = (uint32_t)(wt_random(t) % ROWS);
    }
    return wi_builder_append(b, t->views, idx, 0, n);
}

Test(frame_shared, builder_stays_in_its_space_whatever_a_peer_writes_there)
{
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct wt_batch t;
        struct wi_builder *b = NULL;
        struct space s = open_space();
        wt_random_schema(&t, seed);
        wt_random_batch(&t, ROWS, 24);
        cr_assert_eq(wi_builder_open(t.schema, &b, NULL), WEIR_OK);
        for (int frame = 0; frame < 3; frame++) {
            wi_builder_start(b, s.mem, BYTES, 0);
            while (append_some(&t, b) != 0 && wt_random(&t) % 8 != 0) {
                scribble(&t, s.mem);
            }
            uint32_t bytes = wi_builder_finish(b, true);
            cr_assert_leq(bytes, BYTES);
            check_space(&s, seed);
        }
        wi_builder_close(b);
        wt_close(&t);
        free(s.all);
    }
}

static void check_offsets(const struct wt_batch *t,
                          const struct ArrowArray *array, uint32_t bytes)
{
    for (uint32_t c = 0; c < t->n_columns; c++) {
        const int32_t *o = array->children[c]->buffers[1];
        int32_t last = 0;
        for (int64_t i = 0;
             t->schema->columns[c].kind == WI_KIND_VAR && i <= array->length;
             i++) {
            cr_assert(o[i] >= last && (uint32_t)o[i] <= bytes, "offset %ld",
                      (long)i);
            last = o[i];
        }
    }
}

Test(frame_shared, exported_offsets_stay_what_was_checked)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct wt_batch t;
        struct wi_builder *b = NULL;
        struct ArrowArray array;
        struct weir_error err = {0};
        struct space s = open_space();
        struct space hidden = open_space();
        wt_random_schema(&t, seed);
        wt_random_batch(&t, ROWS, 24);
        cr_assert_eq(wi_builder_open(t.schema, &b, NULL), WEIR_OK);
        wi_builder_start(b, s.mem, BYTES, 0);
        (void)append_some(&t, b);
        uint32_t bytes = wi_builder_finish(b, true);
        struct wi_frame_header h;
        memcpy(&h, s.mem, sizeof(h));
        struct wi_export *x = wi_export_open(t.schema);
        const struct wi_frame_at at = {
            .h = &h, .mem = s.mem, .offsets = hidden.mem};
        if (bytes != 0) {
            cr_assert_eq(wi_frame_export(x, &at, &array, &err), WEIR_OK, "%s",
                         err.message);
            scribble(&t, s.mem);
            check_offsets(&t, &array, bytes);
            check_space(&hidden, seed);
        }
        wi_export_close(x);
        wi_builder_close(b);
        wt_close(&t);
        free(hidden.all);
        free(s.all);
    }
}

/* Behind the offsets of a column lie those of the next one, or nothing. */
Test(frame_shared, nothing_but_offsets_is_copied)
{
    enum { TEXTS = 15 };
    static const struct weir_field text = {"t", "u", 0};
    struct wt_batch t;
    struct wi_builder *b = NULL;
    struct ArrowArray array;
    struct weir_error err = {0};
    struct wi_frame_header h;
    struct space s = open_space();
    struct space hidden = open_space();
    wt_open_schema(&t, 1, &text, 1);
    wt_random_batch(&t, TEXTS, 24);
    cr_assert_eq(wi_builder_open(t.schema, &b, NULL), WEIR_OK);
    wi_builder_start(b, s.mem, BYTES, 0);
    cr_assert_eq(wi_builder_append(b, t.views, NULL, 0, TEXTS), TEXTS);
    cr_assert_gt(wi_builder_finish(b, true), 0);
    memcpy(&h, s.mem, sizeof(h));
    struct wi_export *x = wi_export_open(t.schema);
    const struct wi_frame_at at = {
        .h = &h, .mem = s.mem, .offsets = hidden.mem};
    cr_assert_eq(wi_frame_export(x, &at, &array, &err), WEIR_OK, "%s",
                 err.message);
    const uint8_t *from = array.children[0]->buffers[1];
    const uint8_t *end = from + (TEXTS + 1) * sizeof(int32_t);
    cr_assert(from >= hidden.mem && end <= hidden.mem + BYTES);
    for (const uint8_t *p = hidden.mem; p < hidden.mem + BYTES; p++) {
        cr_assert(*p == 0xa5 || (p >= from && p < end), "byte %ld",
                  (long)(p - from));
    }
    wi_export_close(x);
    wi_builder_close(b);
    wt_close(&t);
    free(hidden.all);
    free(s.all);
}
