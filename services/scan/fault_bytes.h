/* SPDX-License-Identifier: Apache-2.0 */
/** Faults (weir/scan_request.h) as payloads: a head (proto.h), and a text. */
#ifndef WI_SCAN_FAULT_BYTES_H
#define WI_SCAN_FAULT_BYTES_H

#include <stddef.h>

#include <weir/scan_request.h>

#include "services/scan/buf.h"

/**
 * Bytes of a fault. A text beyond WI_SCAN_TEXT_MAX is cut.
 *
 * @param message  its text, if fault->text is NULL
 * @param out      what it holds already stays; failed: no memory
 *
 * Errors:     none
 * Blocks:     never
 * Threads:    any
 * Ownership:  out->bytes is the caller's, to free
 */
void wi_scan_fault_encode(const struct weir_scan_fault *fault,
                          const char *message, struct wi_scan_buf *out);

/**
 * The fault of some bytes, which may come from a peer.
 *
 * @param fault_out  [out] its text is not NULL
 *
 * Errors:     WEIR_ERR_DATA, WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  free(fault_out->text)
 */
weir_err wi_scan_fault_decode(const void *bytes, size_t len,
                              struct weir_scan_fault *fault_out,
                              struct weir_error *err);

#endif /* WI_SCAN_FAULT_BYTES_H */
