/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The text of a plan: parsing it, and finding where something is in it.
 *
 *   wi_json_parse(bytes) --> document --> wi_json_add_place(message) if it
 *                                         cannot be read as a plan
 */
#ifndef WI_OPERATORS_JSON_TEXT_H
#define WI_OPERATORS_JSON_TEXT_H

#include <jansson.h>

#include <weir/error.h>

/** Borrowed. */
struct wi_json_text {
    const char *at;
    size_t n_bytes;
};

/**
 * Parse. A byte order mark of UTF-8 in front is skipped.
 *
 * Errors:     WEIR_ERR_DATA, WEIR_ERR_DUPLICATE (a key): with line and column
 * Blocks:     never
 * Threads:    any
 * Ownership:  json_decref
 */
weir_err wi_json_parse(struct wi_json_text *text, json_t **root_out,
                       struct weir_error *err);

/** A message that begins with a path, `$.operators[3].where: `, gets line and
 *  column in front, and the operator's name after the path. */
void wi_json_add_place(const struct wi_json_text *text, const json_t *root,
                       struct weir_error *err);

#endif /* WI_OPERATORS_JSON_TEXT_H */
