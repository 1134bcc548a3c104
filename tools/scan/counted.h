/* SPDX-License-Identifier: Apache-2.0 */
/** A stream that counts what goes through it, and remembers why it failed: not
 *  every reader passes that on. */
#ifndef WEIR_TOOL_COUNTED_H
#define WEIR_TOOL_COUNTED_H

#include <weir/batch.h>

#include "launch/counter.h"

struct counted {
    struct wl_counter *counter; /* of rows; written by whoever calls get_next */
    int failed;                 /* a code of the stream, or 0 */
    char why[WEIR_ERROR_MESSAGE_BYTES];
};

/** Make a stream that gives what `inner` gives.
 *  @param inner    moved into the stream; released in any case
 *  @param counted  valid until the stream is released
 *  Errors: WEIR_ERR_NO_MEMORY. Blocks: never. Threads: any. Ownership:
 *  out->release. */
weir_err counted_open(struct ArrowArrayStream *inner, struct counted *counted,
                      struct ArrowArrayStream *out, struct weir_error *err);

#endif /* WEIR_TOOL_COUNTED_H */
