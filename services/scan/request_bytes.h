/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A request (weir/scan_request.h) as bytes; its bind travels by itself.
 *
 *   bytes:  u32 magic "WSQ1"   u32 kind   u32 options
 *           text dataset   text text   [text key   text value] of each option
 *   text:   u32 length, bytes without a zero
 *
 * Little-endian, nothing is aligned.
 */
#ifndef WI_SCAN_REQUEST_BYTES_H
#define WI_SCAN_REQUEST_BYTES_H

#include <stddef.h>

#include <weir/scan_request.h>

#include "services/scan/buf.h"

enum { WI_SCAN_OPTIONS_MAX = 1024 };

/**
 * Bytes of a request of this process.
 *
 * @param out  what it holds already stays
 *
 * Errors:     WEIR_ERR_ARG (names the member), WEIR_ERR_NO_MEMORY; out is
 *             garbage then
 * Blocks:     never
 * Threads:    any
 * Ownership:  out->bytes is the caller's, to free
 */
weir_err wi_scan_request_encode(const struct weir_scan_request *request,
                                struct wi_scan_buf *out,
                                struct weir_error *err);

/**
 * The request of some bytes, which may come from a peer. No member of it is
 * NULL, but for bind, and for options if there are none.
 *
 * @param request_out  [out] one block with all that it points to
 *
 * Errors:     WEIR_ERR_DATA (says what is wrong), WEIR_ERR_NO_MEMORY
 * Blocks:     never; O(len)
 * Threads:    any
 * Ownership:  free(*request_out)
 */
weir_err wi_scan_request_decode(const void *bytes, size_t len,
                                struct weir_scan_request **request_out,
                                struct weir_error *err);

#endif /* WI_SCAN_REQUEST_BYTES_H */
