/* SPDX-License-Identifier: Apache-2.0 */
/* Hash indexes: open addressing with linear steps. Slots of one tag follow each
 * other in memory, and a tag that differs ends most look-ups of absent keys
 * without a look at the store. */
#include "operators/base/index.h"

#include <string.h>

enum {
    FIRST_BITS = 9,
    MOST_BITS = 32,
    AHEAD = 16, /* rows that slots are fetched ahead of their use */
};

static const uint64_t FACTOR = 0xd6e8feb86659fd93; /* odd, random */

static inline uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash * FACTOR >> 32);
}

static inline uint64_t slot_of(uint32_t tag, uint32_t bits)
{
    return tag >> (32 - bits);
}

void wi_index_fini(struct wi_index *index)
{
    if (index->slots != NULL) {
        wi_mem_put(index->mem, index->slots,
                   sizeof(*index->slots) << index->bits);
    }
    index->slots = NULL;
    index->bits = 0;
    index->n = 0;
}

void wi_index_clear(struct wi_index *index)
{
    if (index->slots != NULL) {
        memset(index->slots, 0, sizeof(*index->slots) << index->bits);
    }
    index->n = 0;
}

/* In the order of slots, so that both arrays are passed once. */
static void move_slots(const struct wi_index *from, struct wi_index *to)
{
    uint64_t mask = (UINT64_C(1) << to->bits) - 1;
    for (uint64_t i = 0; i < UINT64_C(1) << from->bits; i++) {
        uint64_t entry = from->slots[i];
        if (entry == 0) {
            continue;
        }
        uint64_t at = slot_of((uint32_t)(entry >> 32), to->bits);
        while (to->slots[at] != 0) {
            at = (at + 1) & mask;
        }
        to->slots[at] = entry;
    }
}

weir_err wi_index_reserve(struct wi_index *index, uint64_t n,
                          struct weir_error *err)
{
    uint32_t bits = index->bits == 0 ? FIRST_BITS : index->bits;
    while (bits < MOST_BITS && UINT64_C(1) << bits < 2 * n) {
        bits++;
    }
    if (bits == index->bits) {
        return WEIR_OK;
    }
    struct wi_index larger = {.mem = index->mem, .n = index->n, .bits = bits};
    size_t n_bytes = sizeof(*larger.slots) << bits;
    void *at = NULL;
    weir_err code = wi_mem_take(index->mem, n_bytes, &at, err);
    if (code != WEIR_OK) {
        return code;
    }
    memset(at, 0, n_bytes);
    larger.slots = at;
    if (index->slots != NULL) {
        move_slots(index, &larger);
        wi_index_fini(index);
    }
    *index = larger;
    return WEIR_OK;
}

void wi_probe_begin(const struct wi_index *index, struct wi_probe *probe,
                    const uint32_t *rows, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = rows == NULL ? i : rows[i];
        probe->todo[i] = row;
        probe->slot[row] =
            (uint32_t)slot_of(tag_of(probe->hash[row]), index->bits);
    }
    probe->n_todo = n;
}

/* `claim` is a constant wherever this is inlined. */
static inline __attribute__((always_inline)) void
walk(struct wi_index *index, struct wi_probe *probe, enum wi_claim claim,
     uint32_t first, uint32_t *number_out)
{
    uint64_t *slots = index->slots;
    uint64_t mask = (UINT64_C(1) << index->bits) - 1;
    uint32_t n_pairs = 0;
    uint32_t n_claimed = 0;
    for (uint32_t i = 0; i < probe->n_todo; i++) {
        if (i + AHEAD < probe->n_todo) {
            __builtin_prefetch(
                &slots[probe->slot[probe->todo[i + AHEAD]] & mask]);
        }
        uint32_t row = probe->todo[i];
        uint32_t tag = tag_of(probe->hash[row]);
        uint64_t at = probe->slot[row] & mask;
        uint64_t entry = slots[at];
        while (entry != 0 && (uint32_t)(entry >> 32) != tag) {
            at = (at + 1) & mask;
            entry = slots[at];
        }
        if (entry != 0) {
            probe->pair_row[n_pairs] = row;
            probe->pair_store[n_pairs++] = (uint32_t)entry - 1;
            probe->slot[row] = (uint32_t)at;
        } else if (claim == WI_CLAIM_NONE) {
            number_out[row] = WI_NOWHERE;
        } else {
            uint32_t number =
                first + (claim == WI_CLAIM_NEXT ? n_claimed : row);
            slots[at] = (uint64_t)tag << 32 | (number + 1);
            probe->claimed[n_claimed++] = row;
            number_out[row] = number;
        }
    }
    probe->n_pairs = n_pairs;
    probe->n_claimed = n_claimed;
    index->n += n_claimed;
}

void wi_index_walk(struct wi_index *index, struct wi_probe *probe,
                   enum wi_claim claim, uint32_t first, uint32_t *number_out)
{
    switch (claim) {
    case WI_CLAIM_NONE:
        walk(index, probe, WI_CLAIM_NONE, first, number_out);
        break;
    case WI_CLAIM_NEXT:
        walk(index, probe, WI_CLAIM_NEXT, first, number_out);
        break;
    case WI_CLAIM_BY_ROW:
        walk(index, probe, WI_CLAIM_BY_ROW, first, number_out);
        break;
    }
}

/* Both lists ascend: todo has the rows of all pairs, pair_row those that
 * matched. The others go on behind the slot that they looked at. */
static void keep_losers(struct wi_probe *probe, uint32_t n_matched)
{
    uint32_t n_todo = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < probe->n_pairs; i++) {
        uint32_t row = probe->todo[i];
        if (next < n_matched && probe->pair_row[next] == row) {
            next++;
        } else {
            probe->slot[row]++;
            probe->todo[n_todo++] = row;
        }
    }
    probe->n_todo = n_todo;
}

bool wi_probe_settle(struct wi_probe *probe, const struct wi_match *match,
                     uint32_t *number_out)
{
    memcpy(probe->todo, probe->pair_row, probe->n_pairs * sizeof(*probe->todo));
    uint32_t n = wi_match_pairs(match, probe->pair_row, probe->pair_store,
                                probe->n_pairs);
    for (uint32_t i = 0; i < n; i++) {
        number_out[probe->pair_row[i]] = probe->pair_store[i];
    }
    probe->n_todo = 0;
    if (n < probe->n_pairs) {
        keep_losers(probe, n);
    }
    return probe->n_todo > 0;
}

/* One whole-number key without nulls: compared on the spot. */
static bool is_simple(const struct wi_match *match)
{
    const struct wi_vec *a = &match->chunk->col[match->chunk_cols[0]];
    const struct wi_vec *b = &match->store->col[match->store_cols[0]];
    return match->n_cols == 1 && a->rep == WI_I64 && a->null == NULL &&
           b->null == NULL;
}

static void find_simple(const struct wi_index *index,
                        const struct wi_probe *probe,
                        const struct wi_match *match, uint32_t *number_out)
{
    const int64_t *key = wi_vec_i64(&match->chunk->col[match->chunk_cols[0]]);
    const int64_t *kept = wi_vec_i64(&match->store->col[match->store_cols[0]]);
    const uint64_t *slots = index->slots;
    uint64_t mask = (UINT64_C(1) << index->bits) - 1;
    for (uint32_t i = 0; i < probe->n_todo; i++) {
        if (i + AHEAD < probe->n_todo) {
            __builtin_prefetch(&slots[probe->slot[probe->todo[i + AHEAD]]]);
        }
        uint32_t row = probe->todo[i];
        int64_t wanted = key[wi_chunk_pos(match->chunk, row)];
        uint32_t tag = tag_of(probe->hash[row]);
        uint64_t at = probe->slot[row];
        uint64_t entry = slots[at];
        while (entry != 0 && ((uint32_t)(entry >> 32) != tag ||
                              kept[(uint32_t)entry - 1] != wanted)) {
            at = (at + 1) & mask;
            entry = slots[at];
        }
        number_out[row] = entry == 0 ? WI_NOWHERE : (uint32_t)entry - 1;
    }
}

void wi_index_find(struct wi_index *index, struct wi_probe *probe,
                   const struct wi_match *match, uint32_t *number_out)
{
    if (is_simple(match)) {
        find_simple(index, probe, match, number_out);
        return;
    }
    do {
        wi_index_walk(index, probe, WI_CLAIM_NONE, 0, number_out);
    } while (wi_probe_settle(probe, match, number_out));
}
