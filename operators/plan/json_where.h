/* SPDX-License-Identifier: Apache-2.0 */
/** Where a value stands in the text of a document. */
#ifndef WI_OPERATORS_JSON_WHERE_H
#define WI_OPERATORS_JSON_WHERE_H

#include <stddef.h>
#include <stdint.h>

struct wi_json_where {
    uint32_t line;     /* from 1 */
    uint32_t column;   /* from 1, in characters */
    size_t path_bytes; /* of the path that led there: not all of them where a
                          field is missing */
};

/**
 * Find a value by its path, `$.operators[3].where`, or the deepest one on the
 * way to it that is there.
 *
 * @param json  a document that was read without an error
 * @param path  other text may follow; names with a dot in them are found, too
 *
 * Errors:     none
 * Blocks:     never; O(bytes)
 * Threads:    any
 * Ownership:  nothing
 */
struct wi_json_where wi_json_where(const char *json, size_t n_bytes,
                                   const char *path);

#endif /* WI_OPERATORS_JSON_WHERE_H */
