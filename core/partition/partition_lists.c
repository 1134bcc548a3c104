/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of rows from destinations of rows.
 *
 * Lists of full length need no counting pass, but each lies on pages of its
 * own: many of them run out of TLB entries.
 */
#include "core/partition/partition_lists.h"

#include <string.h>

#include "core/base/cc.h"
#include "core/partition/partition_avx2.h"
#include "core/partition/partition_avx512.h"
#include "core/partition/partition_vbmi2.h"
#include "core/partition/partition_vec128.h"

enum {
    OWN_BANKS = WI_BANKS - 1, /* the first one's lists are the result's */
    BANK_STRIDE = WI_BANK_ROWS + 16, /* a quarter of the rows, and some */
    /* Destinations up to which masks take less time than banks; on aarch64,
     * where nobody has measured, up to which they are fewer instructions. */
    MASKS_MOST = WI_X86 ? 7 : 2,
};

size_t wi_lists_room(uint32_t n_dest)
{
    size_t each = WI_LIST_STRIDE + OWN_BANKS * BANK_STRIDE;
    return n_dest <= WI_LISTS_DIRECT ? n_dest * each : WI_SPLIT_ROWS;
}

static void direct_lists(struct wi_partition *p, uint32_t first, uint32_t n)
{
    uint32_t *list[WI_LISTS_DIRECT];
    const uint16_t *dest = p->dest;
    const uint16_t *end = dest + n;
    for (uint32_t d = 0; d < p->n_dest; d++) {
        list[d] = p->idx + d * WI_LIST_STRIDE;
    }
    for (; end - dest >= 4; dest += 4, first += 4) {
        *list[dest[0]]++ = first;
        *list[dest[1]]++ = first + 1;
        *list[dest[2]]++ = first + 2;
        *list[dest[3]]++ = first + 3;
    }
    for (; dest != end; dest++) {
        *list[*dest]++ = first++;
    }
    for (uint32_t d = 0; d < p->n_dest; d++) {
        p->count[d] = (uint32_t)(list[d] - (p->idx + d * WI_LIST_STRIDE));
    }
}

/* Few destinations: a store to a list waits for the one before it to the same
 * list. Rows of four quarters, each with lists of its own, do not wait for one
 * another; the lists are then put together. */
static void banked_lists(struct wi_partition *p, uint32_t first, uint32_t n)
{
    uint32_t *end[WI_BANKS][WI_LISTS_DIRECT];
    uint32_t *banks = p->idx + (size_t)p->n_dest * WI_LIST_STRIDE;
    const uint32_t each = n / WI_BANKS;
    const uint16_t *dest = p->dest;
    for (uint32_t d = 0; d < p->n_dest; d++) {
        end[0][d] = p->idx + d * WI_LIST_STRIDE;
        for (uint32_t b = 0; b < OWN_BANKS; b++) {
            end[b + 1][d] = banks + (b * p->n_dest + d) * BANK_STRIDE;
        }
    }
    for (uint32_t i = 0; i < each; i++) {
        *end[0][dest[i]]++ = first + i;
        *end[1][dest[each + i]]++ = first + each + i;
        *end[2][dest[2 * each + i]]++ = first + 2 * each + i;
        *end[3][dest[3 * each + i]]++ = first + 3 * each + i;
    }
    for (uint32_t i = WI_BANKS * each; i < n; i++) { /* less than a bank */
        *end[3][dest[i]]++ = first + i;
    }
    for (uint32_t d = 0; d < p->n_dest; d++) {
        uint32_t *to = end[0][d];
        for (uint32_t b = 0; b < OWN_BANKS; b++) {
            const uint32_t *from = banks + (b * p->n_dest + d) * BANK_STRIDE;
            size_t rows = (size_t)(end[b + 1][d] - from);
            memcpy(to, from, rows * sizeof(*to));
            to += rows;
        }
        p->count[d] = (uint32_t)(to - (p->idx + d * WI_LIST_STRIDE));
    }
}

static void sorted_lists(struct wi_partition *p, uint32_t first, uint32_t n)
{
    uint32_t next = 0;

    memset(p->count, 0, p->n_dest * sizeof(uint32_t));
    for (uint32_t i = 0; i < n; i++) {
        p->count[p->dest[i]]++;
    }
    for (uint32_t d = 0; d < p->n_dest; d++) {
        p->begin[d] = next;
        next += p->count[d];
    }
    for (uint32_t i = 0; i < n; i++) {
        p->idx[p->begin[p->dest[i]]++] = first + i;
    }
    for (uint32_t d = 0; d < p->n_dest; d++) {
        p->begin[d] -= p->count[d];
    }
}

/* Of each level the first that serves as many destinations. `loops_bench`
 * shows whether it is the fastest; docs/rationale.md has the figures. */
static const struct wi_way ways[] = {
#if WI_X86
    /* not where many destinations get more than 16 of 64 rows */
    {"bytes", WI_ISA_VBMI2, 5, 24, 32, wi_lists_vbmi2, wi_hash_lists_vbmi2},
    {"words", WI_ISA_AVX512, 1, 13, 16, wi_lists_avx512, wi_hash_lists_avx512},
    {"table", WI_ISA_AVX2, 1, 13, 32, wi_lists_avx2, wi_hash_lists_avx2},
#endif
    {"masks", WI_ISA_PORTABLE, 1, MASKS_MOST, 32, wi_lists_vec128, NULL},
    {"banked", WI_ISA_PORTABLE, 1, 20, 32, banked_lists, NULL},
    {"direct", WI_ISA_PORTABLE, 1, 32, 32, direct_lists, NULL},
    {"sorted", WI_ISA_PORTABLE, 1, UINT32_MAX, UINT32_MAX, sorted_lists, NULL},
};

static bool serves(const struct wi_way *way, enum wi_isa isa, uint32_t n_dest)
{
    return way->isa <= isa && n_dest >= way->least && n_dest <= way->most;
}

const struct wi_way *wi_way_of(enum wi_isa isa, uint32_t n_dest)
{
    const struct wi_way *way = ways;
    while (!serves(way, isa, n_dest)) {
        way++;
    }
    return way;
}

const struct wi_way *wi_way_at(uint32_t i)
{
    return i < WI_ARRAY_LEN(ways) ? &ways[i] : NULL;
}
