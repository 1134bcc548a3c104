/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Partitioning: which destination does each row go to? Pure functions.
 *
 *   views + rows [first, first+n) --split--> for each destination d a list
 *   split->idx + split->begin[d], split->count[d] of row numbers, ascending
 *
 * The lists serve every column of the batch: the scatter that follows
 * (wi_builder_append) reads by list and writes in sequence.
 *
 * The hash is part of the wire contract (docs/wire.md, "hash"): equal keys of
 * equal seed and type go to the same destination on every machine, whatever
 * kernel (core/base/isa.h) computed it. Null hashes to a constant; -0.0 as 0.0;
 * all NaNs alike. Destination = (hash >> 32) * n_dest >> 32 (D. Lemire, "Fast
 * Random Integer Generation in an Interval", 2019: no division, and hardly any
 * bias).
 */
#ifndef WI_PARTITION_H
#define WI_PARTITION_H

#include <stdint.h>

#include <weir/shuffle.h>

#include "core/base/isa.h"
#include "core/format/schema.h"

/* Most rows of one split. Keys, lists and frames' tails then stay in L1/L2. */
#define WI_SPLIT_ROWS 2048u

struct wi_partition_params {
    weir_partitioning kind;
    uint32_t n_dest;         /* 1 .. 65536 */
    const char *const *keys; /* HASH, RANGE */
    uint32_t n_keys;
    uint64_t seed;
    const struct ArrowArray *bounds; /* RANGE; copied */
};

struct wi_partition;

/** Result of one split; arrays belong to the partition, valid until its next
 *  split. For BROADCAST and for a single destination `idx` is NULL: each
 *  destination gets rows first .. first+n-1 (count[d] = n). */
struct wi_split {
    const uint32_t *idx;
    const uint32_t *begin; /* n_dest entries */
    const uint32_t *count; /* n_dest entries */
    uint32_t first;
    uint32_t n;
};

/** "hash", "round robin"; NULL: not a weir_partitioning. */
const char *wi_partitioning_name(weir_partitioning kind);

/**
 * Errors:     WEIR_ERR_NOT_FOUND (key column; lists the columns), WEIR_ERR_ARG
 *             (no keys, n_dest, bounds count or order), WEIR_ERR_SCHEMA
 *             (bounds' columns do not match), WEIR_ERR_NO_MEMORY
 * Blocks:     never.  Threads: a partition belongs to one thread
 * Ownership:  wi_partition_close; schema must outlive it
 */
weir_err wi_partition_open(const struct wi_schema *s,
                           const struct wi_partition_params *params,
                           struct wi_partition **out, struct weir_error *err);
void wi_partition_close(struct wi_partition *p);

/**
 * Split rows [first, first + n), n <= WI_SPLIT_ROWS, of a viewed batch.
 *
 * @param dest  VECTOR: destinations of the whole batch (dest[row]), already
 *              checked to be < n_dest; else NULL
 */
void wi_partition_split(struct wi_partition *p, const struct wi_view *views,
                        uint32_t first, uint32_t n, const uint32_t *dest,
                        struct wi_split *out);

/**
 * Only find the destinations of rows [first, first + n), n <= WI_SPLIT_ROWS.
 *
 * Returns: an entry per row, valid until the next split; NULL: this kind of
 *          partitioning makes lists without them
 */
const uint16_t *wi_partition_dest(struct wi_partition *p,
                                  const struct wi_view *views, uint32_t first,
                                  uint32_t n, const uint32_t *dest);

/** Make the lists that wi_partition_split() would make of the last rows of
 *  wi_partition_dest(): all but the first `skip` of `n`, from `first` on. */
void wi_partition_lists(struct wi_partition *p, uint32_t first, uint32_t n,
                        uint32_t skip, struct wi_split *out);

/** From now on each split by hash also writes the hashes of its rows:
 *  hashes_out has room for WI_SPLIT_ROWS, and outlives the last split. */
void wi_partition_keep_hashes(struct wi_partition *p, uint64_t *hashes_out);

/** Use less than the machine offers, for tests: results do not change. */
void wi_partition_set_isa(struct wi_partition *p, enum wi_isa isa);

#endif /* WI_PARTITION_H */
