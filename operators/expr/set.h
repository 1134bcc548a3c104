/* SPDX-License-Identifier: Apache-2.0 */
/** Constants of an IN, sorted. */
#ifndef WI_OPERATORS_EXPR_SET_H
#define WI_OPERATORS_EXPR_SET_H

#include "operators/expr/eval.h"

/** A set with room for n values of this type. NULL: no memory, reported. */
struct wi_set *wi_set_make(struct wi_expr_build *b, const struct wi_type *type,
                           uint32_t n);
void wi_set_add(struct wi_set *set, const struct wi_value *value);
void wi_set_sort(struct wi_set *set);
bool wi_set_has_null(const struct wi_set *set);

/** out[p] = 1 where x[p] is in the set. Does not look at nulls. */
void wi_set_look_up(const struct wi_set *set, const struct wi_vec *x,
                    struct wi_sel_rows rows, uint8_t *out);

#endif /* WI_OPERATORS_EXPR_SET_H */
