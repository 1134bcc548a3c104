/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a reader gets: the arrays of a batch, whose buffers lie in a frame, or,
 * below a list, in memory of their own.
 *
 *   frame --frame_check.c--> buffers[]   columns as they lie
 *   list column: packed values (pack.h) --wi_export_list--> offsets, items
 *
 * Packed values come from a peer: every count and length is checked against
 * what is left of the value before anything is read or made for it, and read
 * once.
 */
#ifndef WI_EXPORT_H
#define WI_EXPORT_H

#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

#include "core/format/schema.h"

struct wi_unpacked;

/** Storage for one exported batch: an ArrowArray for each column and the buffer
 *  pointers, allocated once and filled again for every frame. Fields of structs
 *  are children of theirs. */
struct wi_export {
    const struct wi_schema *s;
    struct ArrowArray **children; /* of the batch, then of each STRUCT */
    struct ArrowArray ***fields;  /* where those of a column are; NULL: none */
    struct wi_export **items;     /* of list columns, else NULL */
    struct wi_unpacked *own;      /* by column: offsets of lists, and where
                                     this is of items all buffers; NULL: none */
    const void **buffers;         /* three per column, then the struct's */
    struct ArrowArray arrays[];   /* one per column */
};

/** NULL: no memory. */
struct wi_export *wi_export_open(const struct wi_schema *s);
/** NULL is allowed. */
void wi_export_close(struct wi_export *x);

/** Fill the array of column i with buffers that are set. */
void wi_export_array(struct wi_export *x, uint32_t i, uint32_t rows);

/**
 * Unpack the values of list column i, whose buffers are those of a VAR, and
 * replace these by the list's; its array gets its items.
 *
 * Errors:     WEIR_ERR_PEER_PROTOCOL (a value that is none of this type),
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     never; O(bytes).  Threads: one at a time
 * Ownership:  the items are x's, until the next call for it
 */
weir_err wi_export_list(struct wi_export *x, uint32_t i, uint32_t rows,
                        struct weir_error *err);

#endif /* WI_EXPORT_H */
