/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Packing: the value of a row of a list column as one run of bytes. export.h
 * unpacks it.
 *
 *   list of n items:  n as uint32, unless a type says it;  then for each column
 *                     of the items' schema, in its order:
 *     if nullable     a byte: 1, and n bits; or 0: no nulls
 *     FIXED           n values
 *     BITS            n bits
 *     VAR             n lengths as uint32, then the bytes of all; of lists in
 *                     lists these are packed themselves
 *     STRUCT          nothing
 *
 * Nothing is aligned; bits fill bytes, least significant first.
 */
#ifndef WI_PACK_H
#define WI_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format/schema.h"

/** Bytes that grow, kept from batch to batch. */
struct wi_packed {
    uint8_t *mem;
    size_t used;
    size_t bytes;
};

/**
 * Append one value: items [from, from + n) of the views. Their offsets were
 * checked.
 *
 * Returns:    false: no memory
 * Errors:     none.  Blocks: never.  Threads: one at a time
 * Ownership:  free(p->mem)
 */
bool wi_pack_value(struct wi_packed *p, const struct wi_column *list,
                   const struct wi_view *views, uint64_t from, uint32_t n);

#endif /* WI_PACK_H */
