/* SPDX-License-Identifier: Apache-2.0 */
/** Prepared patterns of LIKE; most are a prefix, a suffix or a part. */
#ifndef WI_OPERATORS_EXPR_LIKE_H
#define WI_OPERATORS_EXPR_LIKE_H

#include "operators/expr/eval.h"

/** @param escape  0: none. Returns NULL: reported. */
struct wi_like *wi_like_make(struct wi_expr_build *b, uint32_t at,
                             struct wi_str pattern, char escape);

/** out[p] = 1 where x[p] matches. Does not look at nulls. */
void wi_like_match(const struct wi_like *like, const struct wi_str *x,
                   struct wi_sel_rows rows, uint8_t *out);

#endif /* WI_OPERATORS_EXPR_LIKE_H */
