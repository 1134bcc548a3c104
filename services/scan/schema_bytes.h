/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An ArrowSchema as bytes, of any type that the C Data Interface can say.
 *
 *   bytes:  u32 magic "WSC1"   field
 *   field:  u32 has   u64 flags   u32 children
 *           text format   [text name]   [text metadata]
 *           field of each child   [field of the dictionary]
 *   text:   u32 length, bytes (no zero at the end)
 *   has:    1 name, 2 metadata, 4 dictionary
 *
 * Little-endian, nothing is aligned. Metadata are as the C Data Interface has
 * them: i32 pairs, then i32 length and bytes of each key and value.
 *
 * The bytes come from a peer: every count and length is checked against what is
 * left before it is used, depth and number of fields are bounded. What a format
 * means is not looked at here, so a type that only the client does not know
 * travels, and is named where it is not known (shape.h).
 */
#ifndef WI_SCAN_SCHEMA_BYTES_H
#define WI_SCAN_SCHEMA_BYTES_H

#include <stddef.h>

#include <weir/batch.h>

#include "services/scan/buf.h"

enum {
    WI_SCAN_DEPTH_MAX = 64,      /* of fields in fields */
    WI_SCAN_FIELDS_MAX = 65536,  /* in all, dictionaries included */
    WI_SCAN_TEXT_MAX = 16777216, /* bytes of one format, name or metadata */
};

/**
 * Bytes of a schema.
 *
 * @param out  what it holds already stays
 *
 * Errors:     WEIR_ERR_SCHEMA (too deep, too many fields, a text too long or
 *             malformed), WEIR_ERR_NO_MEMORY; out is garbage then
 * Blocks:     never
 * Threads:    any
 * Ownership:  out->bytes is the caller's, to free
 */
weir_err wi_scan_schema_encode(const struct ArrowSchema *schema,
                               struct wi_scan_buf *out, struct weir_error *err);

/**
 * The schema of some bytes, in memory of its own.
 *
 * Errors:     WEIR_ERR_DATA (says what is wrong), WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  schema_out->release
 */
weir_err wi_scan_schema_decode(const void *bytes, size_t len,
                               struct ArrowSchema *schema_out,
                               struct weir_error *err);

#endif /* WI_SCAN_SCHEMA_BYTES_H */
