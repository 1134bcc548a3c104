/* SPDX-License-Identifier: Apache-2.0 */
/** Random numbers of a simulated run: splitmix64 (Steele, Lea, Flood, "Fast
 *  splittable pseudorandom number generators", OOPSLA 2014). */
#ifndef WS_RANDOM_H
#define WS_RANDOM_H

#include <stdint.h>

struct ws_random {
    uint64_t state;
};

static inline uint64_t ws_mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/** A generator of its own for each use of a seed. */
static inline struct ws_random ws_random_of(uint64_t seed, uint64_t use)
{
    return (struct ws_random){ws_mix(seed ^ ws_mix(use))};
}

/** 0 .. below-1. */
static inline uint64_t ws_below(struct ws_random *r, uint64_t below)
{
    r->state += 0x9e3779b97f4a7c15u;
    return (ws_mix(r->state) >> 11) % below;
}

static inline uint32_t ws_pick(struct ws_random *r, uint32_t below)
{
    return (uint32_t)ws_below(r, below);
}

/** low .. high, small ones as likely as large ones: each power of two is. */
static inline uint64_t ws_log(struct ws_random *r, uint64_t low, uint64_t high)
{
    uint64_t at = low;
    uint32_t steps = 0;
    while (at <= high / 2) {
        at *= 2;
        steps++;
    }
    at = low << ws_below(r, steps + 1u);
    uint64_t most = at < high - at ? at : high - at;
    return at + ws_below(r, most + 1);
}

#endif /* WS_RANDOM_H */
