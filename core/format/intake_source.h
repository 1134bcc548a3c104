/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside of an intake: where the utf8 and binary values of an array are, in
 * each of Arrow's layouts.
 *
 *   PLAIN  u, z    int32 offsets --> bytes
 *   LARGE  U, Z    int64 offsets --> bytes
 *   VIEW   vu, vz  {len, 12 bytes} or {len, prefix, buffer, offset} --> data[k]
 *
 * Source: Apache Arrow, "Arrow Columnar Format", variable-size binary layouts;
 * "The Arrow C data interface", buffers of views: the last one has the sizes.
 */
#ifndef WI_INTAKE_SOURCE_H
#define WI_INTAKE_SOURCE_H

#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

#include "core/format/schema.h"
#include "core/format/text.h"

enum wi_layout { WI_LAYOUT_PLAIN, WI_LAYOUT_LARGE, WI_LAYOUT_VIEW };

struct wi_source {
    enum wi_layout layout;
    uint64_t n;              /* rows */
    const uint8_t *values;   /* offsets or views, of the first row */
    const uint8_t *bytes;    /* PLAIN, LARGE; NULL: no row has any, */
    int64_t begin;           /* the first offset, */
    int64_t end;             /* and the last */
    const void *const *data; /* VIEW */
    uint64_t n_data;
    const uint8_t *sizes; /* of them, n_data x 8 bytes */
};

/** Which rows of a source are wanted, and which have a value. */
struct wi_picks {
    const uint8_t *validity; /* of what was pushed; NULL: no nulls */
    uint64_t offset;         /* of its bits */
    uint64_t n;
    const uint32_t *rows; /* of the source; NULL: row i */
};

/**
 * Rows [offset, offset + n) of an array.
 *
 * Errors:     WEIR_ERR_SCHEMA (buffers that do not belong to the layout),
 *             WEIR_ERR_DATA (a size below 0, data without a buffer)
 * Blocks:     never; O(data buffers).  Threads: any
 * Ownership:  *out borrows the array
 */
weir_err wi_source_of(const struct wi_column *c, enum wi_layout layout,
                      const struct ArrowArray *a, uint64_t offset, uint64_t n,
                      struct wi_source *out, struct weir_error *err);

/**
 * Find the texts of all rows that are wanted; one of a null is empty.
 *
 * @param texts_out  picks->n entries
 *
 * Errors:     WEIR_ERR_DATA: a text that is not inside its buffer, or longer
 *             than 2^31-1 (names column and row)
 * Blocks:     never; O(n).  Threads: any
 * Ownership:  the texts point into the array
 */
weir_err wi_source_texts(const struct wi_column *c, const struct wi_source *s,
                         const struct wi_picks *picks,
                         struct wi_text *texts_out, struct weir_error *err);

#endif /* WI_INTAKE_SOURCE_H */
