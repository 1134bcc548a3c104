/* SPDX-License-Identifier: Apache-2.0 */
#include "core/partition/partition_bloom.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "core/partition/partition_impl.h"

enum { KEYS = 20000, MOST = 32768 };

/* Hash of a key, as if one destination in eight got it. */
static uint64_t hash_of(uint64_t key)
{
    uint64_t k0 = wi_splitmix(7);
    uint64_t k1 = wi_splitmix(8) | 1;
    return wi_hash_word(key, k0, k1) >> 3 | 5ull << 61;
}

static struct wi_bloom *filter_of(uint64_t n_keys)
{
    uint64_t hash;
    struct wi_bloom *f = wi_bloom_open(wi_bloom_words(n_keys, MOST));
    cr_assert_not_null(f);
    for (uint64_t k = 0; k < n_keys; k++) {
        hash = hash_of(k);
        wi_bloom_add(f, &hash, 1);
    }
    return f;
}

/* How many of the rows whose keys begin with `first` are kept; the same with
 * and without a list, and in place. */
static uint32_t keep(const struct wi_bloom *f, uint64_t first, uint32_t n,
                     enum wi_isa isa)
{
    static uint64_t hashes[WI_SPLIT_ROWS];
    static uint32_t idx[WI_SPLIT_ROWS + 8];
    static uint32_t out[WI_SPLIT_ROWS + 8];
    for (uint32_t i = 0; i < n; i++) {
        hashes[i] = hash_of(first + i);
        idx[i] = 1000 + i;
    }
    struct wi_bloom_list list = {.hashes = hashes, .first = 1000, .n = n};
    uint32_t kept = wi_bloom_keep(f, &list, isa, out);
    list.idx = idx;
    cr_assert_eq(wi_bloom_keep(f, &list, isa, idx), kept);
    for (uint32_t i = 0; i < kept; i++) {
        cr_assert_eq(idx[i], out[i]);
        cr_assert(i == 0 || idx[i] > idx[i - 1]);
    }
    return kept;
}

Test(bloom, keeps_every_key_and_few_others)
{
    struct wi_bloom *f = filter_of(KEYS);
    for (uint32_t isa = WI_ISA_PORTABLE; isa <= (uint32_t)wi_isa_best();
         isa++) {
        uint32_t kept = 0;
        for (uint64_t k = 0; k < KEYS; k += 2000) {
            cr_assert_eq(keep(f, k, 2000, isa), 2000);
            kept += keep(f, KEYS + k, 2000, isa);
        }
        cr_assert_lt(kept, KEYS * 3 / 100, "%u of %d others", kept, KEYS);
        for (uint32_t n = 0; n < 20; n++) {
            cr_assert_eq(keep(f, 100, n, isa), n);
        }
    }
    free(f);
}

Test(bloom, levels_agree)
{
    struct wi_bloom *f = filter_of(KEYS);
    for (uint64_t k = 0; k < 10 * KEYS; k += 1999) {
        uint32_t kept = keep(f, k, 1999, WI_ISA_PORTABLE);
        cr_assert_eq(keep(f, k, 1999, wi_isa_best()), kept);
    }
    free(f);
}

Test(bloom, size_follows_the_keys)
{
    cr_assert_eq(wi_bloom_words(0, MOST), 1);
    cr_assert_eq(wi_bloom_words(64, MOST), 11);
    cr_assert_eq(wi_bloom_words(MOST * 16ull, MOST), MOST);
    cr_assert_eq(wi_bloom_words(MOST * 16ull + 1, MOST), 0);
    cr_assert_eq(wi_bloom_words(UINT64_MAX, MOST), 0);
}

Test(bloom, filter_without_keys_keeps_nothing)
{
    struct wi_bloom *f = filter_of(0);
    cr_assert_eq(keep(f, 0, 2000, wi_isa_best()), 0);
    free(f);
}

/* The example of docs/wire.md. */
Test(bloom, bits_are_those_of_the_wire)
{
    const uint64_t hash = 0x70398d79b5e74030u;
    struct wi_bloom *f = wi_bloom_open(11);
    cr_assert_not_null(f);
    wi_bloom_add(f, &hash, 1);
    for (uint32_t i = 0; i < 11; i++) {
        cr_assert_eq(f->words[i], i == 7 ? 0x8040800200000000u : 0);
    }
    free(f);
}
