/* SPDX-License-Identifier: Apache-2.0 */
/**
 * From a frame in a ring to a batch in the caller's hands, and back: check,
 * export, reassemble from chunks, release. Any thread may release a batch; the
 * rest is the reader's worker's.
 */
#ifndef WI_TAKE_H
#define WI_TAKE_H

#include <weir/batch.h>

#include "core/query/reader.h"

/**
 * Take a frame of a stream. Its slot is released unless a batch points to it,
 * also if the frame is refused: else the ring and its link would never be
 * freed.
 *
 * Returns: WEIR_OK (a batch) | WEIR_DONE (none; look at the next frame)
 * Errors:  what failed the query
 */
weir_err wi_take_frame(struct weir_reader *r, struct wi_stream *st,
                       struct wi_held *slot, struct ArrowArray *out);

#endif /* WI_TAKE_H */
