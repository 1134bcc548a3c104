/* SPDX-License-Identifier: Apache-2.0 */
/* Gathered texts of every length, in memory that ends where they end: blocks
 * may be copied whole, but not beyond. */
#include "core/format/frame_copy.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { MOST_LEN = 300, GUARD = 64, GUARD_BYTE = 0xa5 };

/* Three texts of this length, in this order; source and room exactly as long
 * as they are, the source in memory of its own. */
static void check_texts(uint32_t len, const uint32_t order[3])
{
    const int32_t offsets[] = {0, (int32_t)len, (int32_t)(2 * len),
                               (int32_t)(3 * len)};
    const struct wi_rows rows = {.idx = order, .n = 3};
    uint8_t *bytes = malloc(3 * (size_t)len);
    uint8_t *to = malloc(3 * (size_t)len + GUARD);
    int32_t ends[3];
    cr_assert(to != NULL && (bytes != NULL || len == 0));
    for (uint32_t i = 0; i < 3 * len; i++) {
        bytes[i] = (uint8_t)(i * 7);
    }
    memset(to, GUARD_BYTE, 3 * (size_t)len + GUARD);
    const struct wi_view view = {.values = offsets, .bytes = bytes};
    struct wi_var var = {.cap_bytes = 3 * len};
    cr_assert_eq(wi_copy_texts(ends, to, &var, &view, &rows), 3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert(len == 0 ||
                      memcmp(to + i * len, bytes + order[i] * len, len) == 0,
                  "text %u of %u bytes", i, len);
    }
    for (uint32_t i = 0; i < GUARD; i++) {
        cr_assert_eq(to[3 * len + i], GUARD_BYTE, "%u bytes: wrote beyond",
                     len);
    }
    free(to);
    free(bytes);
}

Test(frame_copy, texts_of_every_length_stay_in_their_room)
{
    for (uint32_t len = 0; len <= MOST_LEN; len++) {
        check_texts(len, (const uint32_t[]){0, 1, 2});
        check_texts(len, (const uint32_t[]){2, 0, 1}); /* reads end at row 1 */
    }
}

/* Of texts of 10 bytes as many are taken as there is room for. */
Test(frame_copy, texts_end_where_the_room_does)
{
    enum { LEN = 10, TEXTS = 9 };
    int32_t offsets[TEXTS + 1];
    uint8_t bytes[TEXTS * LEN];
    uint32_t order[TEXTS];
    for (uint32_t i = 0; i <= TEXTS; i++) {
        offsets[i] = (int32_t)(i * LEN);
    }
    for (uint32_t i = 0; i < TEXTS; i++) {
        order[i] = i;
        memset(bytes + (size_t)i * LEN, 'a' + (int)i, LEN);
    }
    const struct wi_view view = {.values = offsets, .bytes = bytes};
    for (uint32_t cap = 0; cap <= TEXTS * LEN; cap++) {
        for (uint32_t list = 0; list < 2; list++) {
            const struct wi_rows rows = {.idx = list != 0 ? order : NULL,
                                         .n = TEXTS};
            uint8_t to[TEXTS * LEN + GUARD];
            int32_t ends[TEXTS];
            struct wi_var var = {.cap_bytes = cap};
            memset(to, GUARD_BYTE, sizeof(to));
            uint32_t n = wi_copy_texts(ends, to, &var, &view, &rows);
            cr_assert_eq(n, cap / LEN);
            cr_assert_eq(var.end, n * LEN);
            cr_assert(n == 0 || ends[n - 1] == (int32_t)(n * LEN));
            cr_assert_eq(memcmp(to, bytes, (size_t)n * LEN), 0);
            cr_assert_eq(to[cap], GUARD_BYTE, "room of %u", cap);
        }
    }
}

/* Offsets of a run of rows [first, first + n) of texts of 0 to 4 bytes, behind
 * `used` bytes; the source has exactly as many, the target is written no
 * further. */
static void check_run(uint32_t first, uint32_t n, uint32_t used)
{
    enum { BYTES = 512 };
    static uint8_t bytes[BYTES];
    uint8_t to[BYTES];
    size_t offsets_bytes = (first + n + 1) * sizeof(int32_t);
    size_t ends_bytes = (n + 4) * sizeof(int32_t);
    int32_t *offsets = malloc(offsets_bytes);
    int32_t *ends = malloc(ends_bytes);
    cr_assert(offsets != NULL && ends != NULL);
    memset(ends, GUARD_BYTE, ends_bytes);
    for (uint32_t i = 0; i <= first + n; i++) {
        offsets[i] = (int32_t)(i * 3 + i % 2);
    }
    const struct wi_view view = {.values = offsets, .bytes = bytes};
    const struct wi_rows rows = {.first = first, .n = n};
    struct wi_var var = {.used = used, .cap_bytes = BYTES};
    cr_assert_eq(wi_copy_texts(ends, to, &var, &view, &rows), n);
    for (uint32_t i = 0; i < n; i++) {
        int32_t want = (int32_t)used + offsets[first + i + 1] - offsets[first];
        cr_assert_eq(ends[i], want, "row %u of %u: %d, not %d", i, n, ends[i],
                     want);
    }
    for (size_t i = n * sizeof(int32_t); i < ends_bytes; i++) {
        cr_assert_eq(((uint8_t *)ends)[i], GUARD_BYTE, "%u: wrote beyond", n);
    }
    cr_assert_eq(var.end, n == 0 ? used : (uint32_t)ends[n - 1]);
    free(ends);
    free(offsets);
}

Test(frame_copy, offsets_of_runs_of_every_length)
{
    for (uint32_t n = 0; n <= 70; n++) {
        for (uint32_t first = 0; first < 5; first++) {
            check_run(first, n, 0);
            check_run(first, n, 100 + n);
        }
    }
}
