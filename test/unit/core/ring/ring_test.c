/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/ring.h"

#include <criterion/criterion.h>

Test(ring, reserve_gives_the_whole_ring_in_frames)
{
    struct wi_span s = wi_ring_reserve(4096, 0, 0, 1024, 1024);
    cr_assert_eq(s.bytes, 1024);
    cr_assert_eq(s.off, 0);
    cr_assert_eq(s.pad, 0);
    s = wi_ring_reserve(4096, 3072, 0, 1024, 1024);
    cr_assert_eq(s.bytes, 1024);
    cr_assert_eq(s.off, 3072);
}

Test(ring, reserve_gives_nothing_when_full)
{
    cr_assert_eq(wi_ring_reserve(4096, 4096, 0, 1024, 64).bytes, 0);
    cr_assert_eq(wi_ring_reserve(4096, 4096, 960, 1024, 1024).bytes, 0);
    cr_assert_eq(wi_ring_reserve(4096, 4096, 1024, 1024, 1024).bytes, 1024);
}

Test(ring, reserve_takes_a_shorter_frame_at_the_end)
{
    struct wi_span s = wi_ring_reserve(4096, 3584, 2048, 1024, 256);
    cr_assert_eq(s.bytes, 512);
    cr_assert_eq(s.off, 3584);
    cr_assert_eq(s.pad, 0);
}

Test(ring, reserve_wraps_without_splitting_a_frame)
{
    struct wi_span s = wi_ring_reserve(4096, 3968, 2048, 1024, 256);
    cr_assert_eq(s.pad, 128);
    cr_assert_eq(s.off, 0);
    cr_assert_eq(s.pos, 4096);
    cr_assert_eq(s.bytes, 1024);
}

Test(ring, reserve_counts_the_skipped_bytes_as_used)
{
    /* 1024 bytes are free, but 128 of them are before the end */
    cr_assert_eq(wi_ring_reserve(4096, 3968, 896, 1024, 256).bytes, 0);
    cr_assert_eq(wi_ring_reserve(4096, 3968, 1024, 1024, 256).bytes, 1024);
}

Test(ring, a_ring_of_two_frames_never_jams)
{
    /* any mix of frame sizes: once all is consumed, a full frame fits */
    uint64_t tail = 0;
    uint32_t x = 12345;
    for (int i = 0; i < 100000; i++) {
        x = x * 1664525u + 1013904223u;
        uint32_t used = 64 * (1 + x / 4194304u % 16);
        struct wi_span s = wi_ring_reserve(2048, tail, tail, 1024, 1024);
        cr_assert_eq(s.bytes, 1024, "tail %lu", (unsigned long)tail);
        cr_assert_leq(s.off + s.bytes, 2048);
        tail = s.pos + used;
    }
}

Test(ring, contiguous_stops_at_the_wrap)
{
    cr_assert_eq(wi_ring_contiguous(4096, 4000, 5000), 96);
    cr_assert_eq(wi_ring_contiguous(4096, 4096, 5000), 904);
}
