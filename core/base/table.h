/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An intrusive hash table: chains of struct wi_list, as many as entries, or a
 * few more. What is looked up compares entries itself; a table may have many
 * with one hash. It never fails: where there is no memory for more chains, the
 * chains become longer.
 *
 *   wi_list_each(n, wi_table_chain(t, hash))
 *   {
 *       struct thing *x = wi_container_of(n, struct thing, by_name.chain);
 *       if (same(x, what)) ...
 *   }
 */
#ifndef WI_BASE_TABLE_H
#define WI_BASE_TABLE_H

#include <stdint.h>

#include "core/base/list.h"

/** Inside of what is in the table. */
struct wi_entry {
    struct wi_list chain;
    uint64_t hash;
};

struct wi_table {
    struct wi_list *chains;
    struct wi_list first; /* the only one, until there is an entry more */
    uint32_t mask;        /* chains, minus 1 */
    uint32_t n;
};

/** The table stays where it is. Threads: one at a time, as all of these. */
void wi_table_init(struct wi_table *t);

/** Free what the table has for itself; entries are their owners'. */
void wi_table_fini(struct wi_table *t);

void wi_table_put(struct wi_table *t, struct wi_entry *e, uint64_t hash);

/** Take out one that is in it. */
void wi_table_drop(struct wi_table *t, struct wi_entry *e);

/** The chain of all that were put with this hash, and of some others. */
static inline struct wi_list *wi_table_chain(const struct wi_table *t,
                                             uint64_t hash)
{
    return &t->chains[(uint32_t)(hash >> 32) & t->mask];
}

/** Of two words; equal words in another order have another one. */
static inline uint64_t wi_hash_words(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ (b * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 32) ^ b) * 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 29);
}

#endif /* WI_BASE_TABLE_H */
