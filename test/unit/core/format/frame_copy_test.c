/* SPDX-License-Identifier: Apache-2.0 */
/* Gathered texts of every length, in memory that ends where they end: blocks
 * may be copied whole, but not beyond. Gathered bits of every count. */
#include "core/format/frame_copy.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "core/base/bytes.h"

enum { MOST_LEN = 300, GUARD = 64, GUARD_BYTE = 0xa5 };

/* Three texts of this length, taken as 2, 0, 1; source and room exactly as long
 * as they are, the source in memory of its own. */
static void check_texts(uint32_t len)
{
    const int32_t offsets[] = {0, (int32_t)len, (int32_t)(2 * len),
                               (int32_t)(3 * len)};
    const uint32_t order[] = {2, 0, 1};
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
    cr_assert_eq(wi_copy_offsets(ends, &var, &view, &rows), 3);
    wi_copy_bytes(to, &var, &view, &rows);
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
        check_texts(len);
    }
}

Test(frame_copy, bits_of_every_count_are_those_of_their_rows)
{
    enum { BITS = 512, MOST = 200 };
    uint8_t bits[BITS / 8];
    uint32_t idx[MOST];
    for (uint32_t i = 0; i < sizeof(bits); i++) {
        bits[i] = (uint8_t)(i * 37 + 11);
    }
    for (uint32_t i = 0; i < MOST; i++) {
        idx[i] = i * 101 % (BITS - 5);
    }
    for (uint32_t at = 0; at < 64; at += 7) {
        for (uint32_t n = 1; n <= MOST; n++) {
            uint8_t out[64] = {0};
            const struct wi_rows rows = {.idx = idx, .n = n};
            wi_copy_bits(out, at, bits, 5, &rows);
            for (uint32_t i = 0; i < n; i++) {
                cr_assert_eq(wi_bit(out, at + i), wi_bit(bits, 5 + idx[i]),
                             "bit %u of %u at %u", i, n, at);
            }
            cr_assert_eq(wi_bit(out, at + n), 0);
        }
    }
}
