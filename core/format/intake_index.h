/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside of an intake: columns that are indices into a dictionary.
 *
 *   indices --check--> rows of the dictionary --> texts, or values
 *         nulls of both --> validity
 */
#ifndef WI_INTAKE_INDEX_H
#define WI_INTAKE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

#include "core/format/intake_source.h"
#include "core/format/schema.h"

/** Memory that is kept from batch to batch. */
struct wi_room {
    void *mem;
    size_t bytes;
};

/** At least so many bytes; what was there is not kept.
 *  Errors: WEIR_ERR_NO_MEMORY. Blocks: never. Threads: one.
 *  Ownership: free(room->mem). */
weir_err wi_room_make(struct wi_room *room, const struct wi_column *c,
                      size_t bytes, struct weir_error *err);

struct wi_index {
    uint32_t width; /* bytes of an index; 0: there is no dictionary */
    bool is_signed;
    struct wi_room rows;
    struct wi_room validity;
};

/** Width and sign by format. False: it is no integer. */
bool wi_index_parse(const char *format, struct wi_index *out);

/**
 * Look the rows of a batch up, [offset, offset + n) of array a.
 *
 * @param rows_out      row of the dictionary, by row of the batch, from its
 *                      offset on; 0 under a null
 * @param validity_out  bits from 0 on; NULL: no row is null
 *
 * Errors:     WEIR_ERR_SCHEMA (no dictionary or indices), WEIR_ERR_DATA (an
 *             index that is outside: names column and row), WEIR_ERR_NO_MEMORY
 * Blocks:     never; O(n).  Threads: one
 * Ownership:  both lie in the rooms of x, until the next call
 */
weir_err wi_index_look_up(struct wi_index *x, const struct wi_column *c,
                          const struct ArrowArray *a, uint64_t offset,
                          uint64_t n, const uint32_t **rows_out,
                          const uint8_t **validity_out, struct weir_error *err);

/**
 * The values of a dictionary that are picked, one behind the other, as a column
 * that is no text.
 *
 * Errors:     WEIR_ERR_SCHEMA (it has no values), WEIR_ERR_NO_MEMORY
 * Blocks:     never; O(n).  Threads: one
 * Ownership:  they lie in the room
 */
weir_err wi_index_values(const struct wi_column *c, struct wi_room *room,
                         const struct ArrowArray *d,
                         const struct wi_picks *picks, struct wi_view *v,
                         struct weir_error *err);

#endif /* WI_INTAKE_INDEX_H */
