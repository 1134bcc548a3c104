/* SPDX-License-Identifier: Apache-2.0 */
/** Inside of the partitioner: ways to make lists (partition_impl.h). */
#ifndef WI_PARTITION_LISTS_H
#define WI_PARTITION_LISTS_H

#include "core/partition/partition_impl.h"

/** A way to make lists. */
struct wi_way {
    const char *name;
    enum wi_isa isa; /* instructions it takes */
    uint32_t least;  /* destinations for which it is taken, */
    uint32_t most;   /* at least and at most */
    uint32_t can;    /* destinations that it can serve */
    /* p->dest to the lists of p. */
    void (*lists)(struct wi_partition *p, uint32_t first, uint32_t n);
    /* The same from non-null 64-bit keys; NULL: there is no such loop. */
    void (*of_keys)(const void *keys, const struct wi_hash_lists *in,
                    uint32_t *idx_out, uint32_t *count_out);
};

/** The way that is taken. Errors: none. Blocks: never. Threads: any.
 *  Ownership: static. */
const struct wi_way *wi_way_of(enum wi_isa isa, uint32_t n_dest);

/** Number i of all; NULL: there are no more. As wi_way_of(). */
const struct wi_way *wi_way_at(uint32_t i);

/** Row numbers that the lists of any way take, with what they need besides.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
size_t wi_lists_room(uint32_t n_dest);

#endif /* WI_PARTITION_LISTS_H */
