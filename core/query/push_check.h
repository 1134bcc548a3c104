/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a push checks before it moves a row. On an error both leave a message in
 * the writer's `error`, and the rest of the writer as it was.
 */
#ifndef WI_PUSH_CHECK_H
#define WI_PUSH_CHECK_H

#include "core/query/shuffle.h"

/**
 * Begin a push: check the batch and point the writer's views at it.
 *
 * Errors: WEIR_ERR_ARG, WEIR_ERR_SCHEMA, WEIR_ERR_DATA, WEIR_ERR_STATE (the
 * writer is finishing)
 */
weir_err wi_push_begin(struct weir_writer *w, const struct ArrowArray *batch,
                       const uint32_t *dest);

/**
 * Go on with a push that ended with WEIR_AGAIN: is it the same batch?
 *
 * Errors: WEIR_ERR_STATE: it is not
 */
weir_err wi_push_resume(struct weir_writer *w, const struct ArrowArray *batch,
                        const uint32_t *dest);

#endif /* WI_PUSH_CHECK_H */
