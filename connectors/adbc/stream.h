/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Streams that a caller may read in any thread, and keep after the connection:
 * a session's stream, which takes the session's turn for each call, and says as
 * an AdbcError what went wrong.
 */
#ifndef WI_ADBC_STREAM_H
#define WI_ADBC_STREAM_H

#include "connectors/adbc/session.h"

/** Errors: ADBC_STATUS_INTERNAL (no memory). Blocks: never. Threads: any.
 *  Ownership: inner is moved, also with an error; stream_out->release; holds
 *  session. */
AdbcStatusCode wi_adbc_stream_init(struct ArrowArrayStream *stream_out,
                                   struct ArrowArrayStream *inner,
                                   struct wi_adbc_session *session,
                                   struct AdbcError *error);

/* As in struct AdbcDriver. */
const struct AdbcError *wi_adbc_stream_error(struct ArrowArrayStream *stream,
                                             AdbcStatusCode *status);

#endif /* WI_ADBC_STREAM_H */
