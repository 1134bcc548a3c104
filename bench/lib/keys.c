/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys, destinations and sums, each loop once as plain C and compiled for
 * three instruction sets. Dispatch is a predictable branch per batch of 2048
 * rows; no ifunc: sanitizers do not support it.
 */
#include "bench/lib/keys.h"

#include "core/base/isa.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* vectorise whatever the build type says */
#endif

#define MAX_COUNT_PASSES 32u

#define INLINE static inline __attribute__((always_inline))

/* The output function of splitmix64. */
INLINE uint64_t mix(uint64_t state)
{
    uint64_t z = state + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

INLINE uint64_t make_body(int64_t *keys, uint64_t first, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t x = (first + i) * UINT64_C(0xd1342543de82ef95);
        x ^= x >> 32;
        keys[i] = (int64_t)x;
        sum += x;
    }
    return sum;
}

INLINE void dest_body(uint16_t *restrict dest, const int64_t *restrict keys,
                      uint32_t n, uint64_t seed, uint32_t n_dest)
{
    uint64_t k0 = mix(seed);
    uint64_t k1 = mix(seed + 1) | 1;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t x = ((uint64_t)keys[i] ^ k0) * UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ (x >> 32)) * k1;
        dest[i] = (uint16_t)((x >> 32) * n_dest >> 32);
    }
}

/* With few destinations one vector pass for each is faster than increments,
 * which wait for each other's stores. A 16-bit counter holds what a batch can
 * have. */
INLINE void count_body(uint32_t *restrict count, const uint16_t *restrict dest,
                       uint32_t n, uint32_t n_dest)
{
    if (n_dest > MAX_COUNT_PASSES || n > UINT16_MAX) {
        for (uint32_t i = 0; i < n; i++) {
            count[dest[i]]++;
        }
        return;
    }
    for (uint32_t d = 0; d < n_dest; d++) {
        uint16_t want = (uint16_t)d;
        uint16_t here = 0;
        for (uint32_t i = 0; i < n; i++) {
            here = (uint16_t)(here + (uint16_t)(dest[i] == want));
        }
        count[d] += here;
    }
}

INLINE uint64_t sum_body(const int64_t *keys, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += (uint64_t)keys[i];
    }
    return sum;
}

#if WI_X86

/* One function under three names, and the choice between them. */
#define FOR_EACH_ISA(type, name, body, params, args)                           \
    WI_TARGET_AVX2 static type name##_avx2 params                              \
    {                                                                          \
        return body args;                                                      \
    }                                                                          \
    WI_TARGET_AVX512 static type name##_avx512 params                          \
    {                                                                          \
        return body args;                                                      \
    }                                                                          \
    type name params                                                           \
    {                                                                          \
        enum wi_isa isa = wi_isa_best();                                       \
        if (isa >= WI_ISA_AVX512) {                                            \
            return name##_avx512 args;                                         \
        }                                                                      \
        return isa >= WI_ISA_AVX2 ? name##_avx2 args : body args;              \
    }

#else

#define FOR_EACH_ISA(type, name, body, params, args)                           \
    type name params                                                           \
    {                                                                          \
        return body args;                                                      \
    }

#endif

FOR_EACH_ISA(uint64_t, wb_keys_make, make_body,
             (int64_t * keys, uint64_t first, uint32_t n), (keys, first, n))
FOR_EACH_ISA(void, wb_dest_make, dest_body,
             (uint16_t * dest, const int64_t *keys, uint32_t n, uint64_t seed,
              uint32_t n_dest),
             (dest, keys, n, seed, n_dest))
FOR_EACH_ISA(void, wb_dest_count, count_body,
             (uint32_t * count, const uint16_t *dest, uint32_t n,
              uint32_t n_dest),
             (count, dest, n, n_dest))
FOR_EACH_ISA(uint64_t, wb_keys_sum, sum_body, (const int64_t *keys, uint64_t n),
             (keys, n))

uint64_t wb_keys_fold(int64_t *keys, uint32_t n, uint64_t distinct)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        keys[i] = (int64_t)((uint64_t)keys[i] % distinct);
        sum += (uint64_t)keys[i];
    }
    return sum;
}
