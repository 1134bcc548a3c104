/* SPDX-License-Identifier: Apache-2.0 */
/**
 * From a frame in a ring to a batch in the caller's hands, and back: checked,
 * exported, reassembled from chunks, released. A batch may be released by any
 * thread; the rest is the reader's worker's.
 */
#ifndef WI_TAKE_H
#define WI_TAKE_H

#include <weir/batch.h>

#include "core/query/reader.h"

/**
 * Take a frame of a stream. The slot of a frame that gives no batch, or none
 * that points to it, is released: also of one that is refused, or the ring and
 * its link would never be let go.
 *
 * Returns: WEIR_OK (a batch) | WEIR_DONE (none; look at the next frame)
 * Errors:  what failed the query
 */
weir_err wi_take_frame(struct weir_reader *r, struct wi_stream *st,
                       struct wi_held *slot, struct ArrowArray *out);

#endif /* WI_TAKE_H */
