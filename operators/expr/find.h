/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where a piece first stands in a text. Texts of rows are short: memmem, which
 * prepares a table of the piece in every call, takes several times as long.
 */
#ifndef WI_OPERATORS_EXPR_FIND_H
#define WI_OPERATORS_EXPR_FIND_H

#include "operators/base/vec.h"

/** @param piece   of 1 byte or more
 *  @param at_out  [out] its place in the text, if true
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
bool wi_find(struct wi_str text, struct wi_str piece, uint32_t *at_out);

#endif /* WI_OPERATORS_EXPR_FIND_H */
