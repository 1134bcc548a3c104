/* SPDX-License-Identifier: Apache-2.0 */
/* Hash indexes: open addressing with linear steps. The slots that a look-up
 * visits are neighbours in memory, and tags alone settle most look-ups of
 * absent keys: the store is not read. */
#include "operators/base/index.h"

#include <string.h>

enum {
    FIRST_BITS = 9,
    MOST_BITS = 32,
    AHEAD = 16, /* slots are fetched this many rows before their use */
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

/* In the order of slots, so that each array is walked once. */
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

static inline void fetch_ahead(const struct wi_index *index,
                               const struct wi_probe *probe, uint32_t i)
{
    if (i + AHEAD < probe->n_todo) {
        __builtin_prefetch(&index->slots[probe->slot[probe->todo[i + AHEAD]]]);
    }
}

/* One look at the next slot of each row in `todo`. What it finds is random, and
 * a branch on it would cost more than all else: so each row is written to all
 * three lists, and only their lengths depend on the slot. Rows that found
 * another tag stay in `todo`. The caller has set number_out to WI_NOWHERE. */
static void look(const struct wi_index *index, struct wi_probe *probe)
{
    const uint64_t *slots = index->slots;
    uint32_t mask = (uint32_t)((UINT64_C(1) << index->bits) - 1);
    uint32_t n_pairs = probe->n_pairs;
    uint32_t n_todo = 0;
    for (uint32_t i = 0; i < probe->n_todo; i++) {
        fetch_ahead(index, probe, i);
        uint32_t row = probe->todo[i];
        uint32_t at = probe->slot[row] & mask;
        uint64_t entry = slots[at];
        bool used = entry != 0;
        bool same = (uint32_t)(entry >> 32) == tag_of(probe->hash[row]);
        probe->pair_row[n_pairs] = row;
        probe->pair_store[n_pairs] = (uint32_t)entry - 1;
        probe->todo[n_todo] = row;
        probe->slot[row] = at + (used & !same);
        n_pairs += used & same;
        n_todo += used & !same;
    }
    probe->n_pairs = n_pairs;
    probe->n_todo = n_todo;
}

static void look_up(const struct wi_index *index, struct wi_probe *probe,
                    uint32_t *number_out)
{
    for (uint32_t i = 0; i < probe->n_todo; i++) {
        number_out[probe->todo[i]] = WI_NOWHERE;
    }
    while (probe->n_todo > 0) {
        look(index, probe);
    }
}

/* One row after the other: each may claim the slot that the next looks at. */
static void look_up_or_claim(struct wi_index *index, struct wi_probe *probe,
                             enum wi_claim claim, uint32_t first,
                             uint32_t *number_out)
{
    uint64_t *slots = index->slots;
    uint64_t mask = (UINT64_C(1) << index->bits) - 1;
    uint32_t n_pairs = 0;
    uint32_t n_claimed = 0;
    for (uint32_t i = 0; i < probe->n_todo; i++) {
        fetch_ahead(index, probe, i);
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
            continue;
        }
        uint32_t number = first + (claim == WI_CLAIM_NEXT ? n_claimed : row);
        slots[at] = (uint64_t)tag << 32 | (number + 1);
        probe->claimed[n_claimed++] = row;
        number_out[row] = number;
    }
    probe->n_pairs = n_pairs;
    probe->n_claimed = n_claimed;
    index->n += n_claimed;
}

void wi_index_walk(struct wi_index *index, struct wi_probe *probe,
                   enum wi_claim claim, uint32_t first, uint32_t *number_out)
{
    probe->n_pairs = 0;
    probe->n_claimed = 0;
    if (claim == WI_CLAIM_NONE) {
        look_up(index, probe, number_out);
    } else {
        look_up_or_claim(index, probe, claim, first, number_out);
    }
}

/* todo holds the rows of all pairs; pair_row holds those that matched, in the
 * same order. The others go on with the slot after the one they looked at. */
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

void wi_index_find(struct wi_index *index, struct wi_probe *probe,
                   const struct wi_match *match, uint32_t *number_out)
{
    do {
        wi_index_walk(index, probe, WI_CLAIM_NONE, 0, number_out);
    } while (wi_probe_settle(probe, match, number_out));
}
