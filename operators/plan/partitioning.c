/* SPDX-License-Identifier: Apache-2.0 */
/* The table of partitionings: rows, words and places come from one list. */
#include "operators/plan/partitioning.h"

#include <stddef.h>

/* id, word, spread, keys, bounds, seed */
#define EACH(X)                                                                \
    X(HASH, "hash", HASH, true, false, true)                                   \
    X(RANGE, "range", RANGE, true, true, false)                                \
    X(ROUND_ROBIN, "round_robin", ANY, false, false, false)                    \
    X(RANDOM, "random", ANY, false, false, true)                               \
    X(BROADCAST, "broadcast", EVERY, false, false, false)                      \
    X(GATHER, "gather", SINGLE, false, false, false)

#define ROW(name, text, where, has_keys, has_bounds, has_seed)                 \
    {.id = WEIR_##name,                                                        \
     .word = text,                                                             \
     .spread = WI_SPREAD_##where,                                              \
     .keys = has_keys,                                                         \
     .bounds = has_bounds,                                                     \
     .seed = has_seed},
const struct wi_partitioning wi_partitionings[] = {EACH(ROW)};

#define WORD(name, text, ...) text,
const char *const wi_partitioning_words[] = {EACH(WORD) NULL};

#define PLACE(name, ...) PLACE_##name,
enum { EACH(PLACE) };

const struct wi_partitioning *wi_partitioning_of(weir_partitioning id)
{
    switch (id) { /* no default: the compiler reports a missing case */
#define CASE(name, ...)                                                        \
    case WEIR_##name:                                                          \
        return &wi_partitionings[PLACE_##name];
        EACH(CASE)
    case WEIR_VECTOR: /* a program's own writer says where rows go */
        break;
    }
    return NULL;
}
