/* SPDX-License-Identifier: Apache-2.0 */
/** What plans know of each partitioning: one row per word. */
#ifndef WI_OPERATORS_PARTITIONING_H
#define WI_OPERATORS_PARTITIONING_H

#include <stdbool.h>

#include <weir/shuffle.h>

#include "operators/plan/node.h"

struct wi_partitioning {
    weir_partitioning id;
    const char *word;           /* in JSON, explain and messages */
    enum wi_spread_kind spread; /* of the rows that come out */
    bool keys;                  /* it has one or more keys; else none */
    bool bounds;                /* the same */
    bool seed;                  /* it may have a seed */
};

/** NULL: plans cannot use it. */
const struct wi_partitioning *wi_partitioning_of(weir_partitioning id);

/** All words, NULL at the end; word i is that of wi_partitionings[i]. */
extern const char *const wi_partitioning_words[];
extern const struct wi_partitioning wi_partitionings[];

#endif /* WI_OPERATORS_PARTITIONING_H */
