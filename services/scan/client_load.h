/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bytes of a client at its server: long requests, and the rows of bind.
 *
 *   request, schema ---> in the ask if it fits, else ROOM, put, ask with region
 *   bind: LOAD (schema), OPEN names it, then FILL (one batch) until its end, or
 *   until the engine wants no more
 */
#ifndef WI_SCAN_CLIENT_LOAD_H
#define WI_SCAN_CLIENT_LOAD_H

#include <weir/batch.h>

#include "services/scan/buf.h"
#include "services/scan/client_call.h"

/**
 * Fill in region and n_bytes of an ask with bytes, which are put into a room if
 * they do not fit in it.
 *
 * @param here_out  [out] what follows the ask: bytes, or NULL
 *
 * Errors:     the server's, of the room; WEIR_ERR_CANCELLED, ...
 * Blocks:     while the bytes travel
 * Threads:    the worker's
 * Ownership:  bytes are copied, or stay until the ask was sent
 */
weir_err wi_scan_place_bytes(const struct wi_scan_wait *w,
                             const struct wi_scan_buf *bytes,
                             struct wi_scan_ask *ask, const void **here_out,
                             struct weir_error *err);

/**
 * LOAD: the server is told of rows to come.
 *
 * @param bind    not NULL
 * @param id_out  [out] the load's
 *
 * Errors:     WEIR_ERR_DATA (bind's own); the server's
 * Blocks:     until the server has answered
 * Threads:    the worker's
 * Ownership:  nothing
 */
weir_err wi_scan_load_begin(const struct wi_scan_wait *w,
                            struct ArrowArrayStream *bind, uint64_t id_out[2],
                            struct weir_error *err);

/** What goes on beside FILLs. False: no more of them. */
typedef bool (*wi_scan_beside_fn)(void *arg);

/**
 * FILL: send all rows of bind.
 *
 * @param beside  called whenever something has happened
 *
 * Errors:     as wi_scan_load_begin. With WEIR_ERR_DATA the engine was told
 * Blocks:     until the engine has taken them, or wants no more
 * Threads:    the worker's
 * Ownership:  nothing
 */
weir_err wi_scan_load_rows(const struct wi_scan_wait *w,
                           struct ArrowArrayStream *bind, const uint64_t id[2],
                           wi_scan_beside_fn beside, void *arg,
                           struct weir_error *err);

#endif /* WI_SCAN_CLIENT_LOAD_H */
