/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside of the partitioner, shared by its files (and its tests).
 *
 *   views --partition_hash.c--> words, hashes --+
 *   views --partition_range.c-----------------> dest[] --lists--> wi_split
 *   generator, caller's vector ---------------+
 *
 * Step one writes a destination per row (u16) in blocks that stay in L1; step
 * two turns destinations into ascending lists of row numbers:
 *
 *   words   AVX-512: per destination compare + compress
 *   bytes   VBMI2: the same with bytes
 *   table   AVX2: the same, compressed through a table
 *   masks   vectors of 128 bits: the same, with row numbers of 16 bits that are
 *           widened afterwards
 *   banked  four passes at a time, each over a quarter of the rows and with
 *           lists of its own
 *   direct  one pass, a list of full length for each
 *   sorted  histogram, prefix sum, scatter
 *
 * partition_lists.c has the table that says which is taken.
 *
 * The hash (docs/wire.md, "hash"), all modulo 2^64:
 *
 *   s(x)   = splitmix64's output for state x
 *   k0     = s(seed),  k1 = s(seed + 1) | 1
 *   H(v)   = let y = v ^ k0, x = (y ^ (y >> 29)) * 0xbf58476d1ce4e5b9
 *            in (x ^ (x >> 32)) * k1
 *   h      = H(v_0), then for each further key h = H(v_i ^ h)
 *   dest   = (h >> 32) * n_dest >> 32
 *
 * v of a key is: integers, dates and timestamps, sign or zero extended; bool, 0
 * or 1; floats, the bits of the value as a double with -0 as 0 and every NaN as
 * 0x7ff8000000000000; bytes and decimals, XXH3_64bits_withSeed of the value;
 * null, WI_HASH_NULL.
 */
#ifndef WI_PARTITION_IMPL_H
#define WI_PARTITION_IMPL_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/isa.h"
#include "core/partition/partition.h"

enum {
    WI_KEY_BLOCK = 256,   /* rows per step: words and hashes take 4 KiB of L1 */
    WI_LISTS_DIRECT = 32, /* destinations with lists of full length */
    WI_LISTS_WORDS = 16,
    WI_BANKS = 4,
    WI_BANK_ROWS = WI_SPLIT_ROWS / WI_BANKS,
    WI_RUN_ROWS = 512, /* ROUND_ROBIN */
    /* A full list, and what a vector store may write past its end. A stride of
     * 145 cache lines spreads the used beginnings of the lists over the sets of
     * L1; in neighbouring sets they evicted each other, which cost 0.7 ns per
     * row at 8 destinations. */
    WI_LIST_STRIDE = 145 * 16,
};
_Static_assert(WI_LIST_STRIDE >= WI_SPLIT_ROWS + 16, "compress stores");

#define WI_HASH_ODD 0xbf58476d1ce4e5b9u
#define WI_HASH_NULL 0xa0761d6478bd642fu /* any word that is no likely key */
#define WI_NAN_BITS 0x7ff8000000000000u

struct wi_bounds;
struct wi_way;

struct wi_partition {
    /* constant after open */
    const struct wi_schema *schema;
    weir_partitioning kind;
    enum wi_isa isa;
    const struct wi_way *way; /* of making lists */
    uint32_t n_dest;
    uint32_t n_keys;
    uint32_t *key_columns; /* column numbers */
    uint64_t seed;
    uint64_t k0;
    uint64_t k1;
    struct wi_bounds *bounds; /* RANGE */

    uint64_t *hashes_out; /* see wi_partition_keep_hashes() */

    /* written by: split */
    uint64_t counter;  /* RANDOM: rows so far */
    uint32_t run_dest; /* ROUND_ROBIN */
    uint32_t run_left;
    uint32_t *idx;
    uint32_t *begin;
    uint32_t *count;
    alignas(64) uint16_t dest[WI_SPLIT_ROWS];
    alignas(64) uint64_t words[WI_KEY_BLOCK];
    alignas(64) uint64_t hashes[WI_KEY_BLOCK];
};

/** splitmix64: S. Vigna, 2015; after G. Steele, D. Lea, C. Flood, "Fast
 *  Splittable Pseudorandom Number Generators", OOPSLA 2014. */
static inline uint64_t wi_splitmix(uint64_t state)
{
    uint64_t z = state + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t wi_hash_word(uint64_t v, uint64_t k0, uint64_t k1)
{
    uint64_t y = v ^ k0;
    uint64_t x = (y ^ (y >> 29)) * WI_HASH_ODD;
    return (x ^ (x >> 32)) * k1;
}

static inline uint16_t wi_hash_dest(uint64_t h, uint32_t n_dest)
{
    return (uint16_t)(((h >> 32) * n_dest) >> 32);
}

/** Input of the kernels that make lists from keys. */
struct wi_hash_lists {
    uint64_t k0;
    uint64_t k1;
    uint32_t n_dest; /* as many as the kernel takes */
    uint32_t first;  /* row number of keys[0] */
    uint32_t n;
};

#endif /* WI_PARTITION_IMPL_H */
