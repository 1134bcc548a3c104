/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Filters of keys: which rows may have one of a consumer's keys? Pure
 * functions.
 *
 *   keys --wi_partition_hashes--> hashes --wi_bloom_add--> filter   consumer
 *   rows --wi_partition_hashes--> hashes --wi_bloom_keep--> rows    producer
 *
 * A filter is a register-blocked Bloom filter (H. Lang, T. Neumann, A. Kemper,
 * P. Boncz, "Performance-Optimal Filtering: Bloom Overtakes Cuckoo at High
 * Throughput", PVLDB 12(5), 2019): all bits of a key are in one word of 64, so
 * that a look is one load. With 10 bits a key it lets 2 of 100 other keys pass.
 * Which bits is part of the wire contract (docs/wire.md, "FILTER"): word
 * (h mod 2^32) * n_words / 2^32, and in it the four bits that the highest 24
 * bits of h * 0x9e3779b97f4a7c15 name, six at a time. The upper half of h,
 * which has chosen the destination, differs little among the keys of a
 * consumer.
 */
#ifndef WI_PARTITION_BLOOM_H
#define WI_PARTITION_BLOOM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/isa.h"
#include "core/partition/partition.h"

struct wi_bloom {
    uint32_t n_words;
    uint64_t words[];
};

/** Words of a filter of so many keys; 0: it would have fewer than four bits a
 *  key within `most` words, and let most rows pass. */
uint32_t wi_bloom_words(uint64_t n_keys, uint32_t most);

/** A zeroed filter; free() it. NULL: no memory. */
struct wi_bloom *wi_bloom_open(uint32_t n_words);

void wi_bloom_add(struct wi_bloom *f, const uint64_t *hashes, uint32_t n);

/** Rows of a list that may be among the keys. */
struct wi_bloom_list {
    const uint64_t *hashes; /* of rows first, first + 1, ... */
    uint32_t first;
    const uint32_t *idx; /* the rows; NULL: first .. first+n-1 */
    uint32_t n;
};

/** Returns how many are left; they are in idx_out, which has room for
 *  list->n + 8 and may be list->idx itself. */
uint32_t wi_bloom_keep(const struct wi_bloom *f,
                       const struct wi_bloom_list *list, enum wi_isa isa,
                       uint32_t *idx_out);

#endif /* WI_PARTITION_BLOOM_H */
