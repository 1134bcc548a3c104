/* SPDX-License-Identifier: Apache-2.0 */
/** Reading "sum(price * n)": the function, and the text of its argument. */
#ifndef WI_OPERATORS_AGG_TEXT_H
#define WI_OPERATORS_AGG_TEXT_H

#include "operators/op/ops.h"

/** An aggregate as written. */
struct wi_agg_text {
    enum wi_agg_fn fn;
    const char *argument; /* in the text, not terminated; COUNT_ROWS: none */
    size_t n_bytes;
};

/** Read an aggregate; false: not one. Blanks around its parts are left out.
 *  Errors: none. Blocks: never. Threads: any. Ownership: points into text. */
bool wi_agg_read(const char *text, struct wi_agg_text *out);

/** Are they equal, apart from blanks around their parts? */
bool wi_agg_text_same(const struct wi_agg_text *a, const struct wi_agg_text *b);

#endif /* WI_OPERATORS_AGG_TEXT_H */
