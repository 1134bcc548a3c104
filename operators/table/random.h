/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Random numbers that are a function of a key and a position, so that any part
 * of a table can be computed anywhere.
 *
 *   key = wi_random_key(seed, column)      a stream
 *   wi_random_at(key, row)                 its row-th number, 64 bits
 *   wi_random_below(number, n)             0 .. n-1
 *
 * Source: SplitMix64, whose n-th output is a function of seed + n * gamma:
 * Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014.
 */
#ifndef WI_OPERATORS_RANDOM_H
#define WI_OPERATORS_RANDOM_H

#include "operators/base/type.h"

#define WI_RANDOM_GAMMA UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t wi_random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t wi_random_at(uint64_t key, uint64_t row)
{
    return wi_random_mix(key + (row + 1) * WI_RANDOM_GAMMA);
}

static inline uint64_t wi_random_key(uint64_t seed, uint64_t stream)
{
    return wi_random_mix(wi_random_at(seed, stream) ^ WI_RANDOM_GAMMA);
}

/** No value is more than n / 2^64 likelier than another. */
static inline uint64_t wi_random_below(uint64_t number, uint64_t n)
{
    return (uint64_t)(((wi_u128)number * n) >> 64);
}

#endif /* WI_OPERATORS_RANDOM_H */
