/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An index: from keys to row numbers of a store, by hash.
 *
 *   slots  [tag|number+1] [0] [tag|number+1] [tag|number+1] [0] ...
 *           ^ a look-up begins where the upper bits of its tag say, and goes on
 *             to the right until it meets its tag or a free slot
 *
 * A chunk's rows are looked up together, in rounds:
 *
 *   wi_probe_begin            all rows are to do
 *   wi_index_walk             slots give candidates; new keys claim free slots
 *     (the caller appends the rows that claimed a slot to the store)
 *   wi_probe_settle           candidates with the same key are found; the
 *                             others go on from the next slot: walk again
 *
 * Rules
 *  - At most half of the slots are used.
 *  - A slot holds all 32 bits of the tag, so the index grows without the keys.
 */
#ifndef WI_OPERATORS_INDEX_H
#define WI_OPERATORS_INDEX_H

#include "operators/base/hash.h"

/* written by: the worker. A zeroed one with mem set is empty. */
struct wi_index {
    struct wi_op_mem *mem;
    uint64_t *slots;
    uint64_t n;    /* slots used */
    uint32_t bits; /* 2^bits slots; 0: none */
};

/** The state of one chunk's look-up. Fixed size: part of an operator. */
struct wi_probe {
    uint64_t hash[WI_CHUNK_ROWS];
    uint32_t slot[WI_CHUNK_ROWS]; /* where a row looks next */
    uint32_t todo[WI_CHUNK_ROWS]; /* rows of this round */
    uint32_t pair_row[WI_CHUNK_ROWS];
    uint32_t pair_store[WI_CHUNK_ROWS];
    uint32_t claimed[WI_CHUNK_ROWS]; /* rows that got a slot in this round, in
                                        the order of their numbers */
    uint32_t n_todo;
    uint32_t n_pairs;
    uint32_t n_claimed;
};

/** Room for n keys in all. Errors: as wi_mem_take; the index is then unchanged.
 *  Blocks: never. Threads: the worker's. Ownership: wi_index_fini. */
weir_err wi_index_reserve(struct wi_index *index, uint64_t n,
                          struct weir_error *err);
void wi_index_fini(struct wi_index *index);

/** Forget all keys; the memory stays. */
void wi_index_clear(struct wi_index *index);

/** Begin; the caller has filled probe->hash.
 *  @param rows  the rows to look up, ascending; NULL: 0..n-1 */
void wi_probe_begin(const struct wi_index *index, struct wi_probe *probe,
                    const uint32_t *rows, uint32_t n);

/** What becomes of a row whose key is absent. */
enum wi_claim {
    WI_CLAIM_NONE,  /* number_out is WI_NOWHERE */
    WI_CLAIM_NEXT,  /* it gets the next of first, first + 1, ... */
    WI_CLAIM_BY_ROW /* it gets first + row */
};

/** One round: each row to do finds a candidate, or a free slot, which settles
 *  it. With claims there must be room for as many keys as rows to do. */
void wi_index_walk(struct wi_index *index, struct wi_probe *probe,
                   enum wi_claim claim, uint32_t first, uint32_t *number_out);

/** Compare the candidates. Returns whether rows are left to do: walk again. */
bool wi_probe_settle(struct wi_probe *probe, const struct wi_match *match,
                     uint32_t *number_out);

/** All rounds of a look-up without claims. */
void wi_index_find(struct wi_index *index, struct wi_probe *probe,
                   const struct wi_match *match, uint32_t *number_out);

#endif /* WI_OPERATORS_INDEX_H */
