/* SPDX-License-Identifier: Apache-2.0 */
/** ADBC drivers: shared libraries with one function that fills a table. */
#ifndef WI_SCAN_ADBC_LOAD_H
#define WI_SCAN_ADBC_LOAD_H

#include <weir/batch.h>
#include <weir/error.h>
#include <weir/scan_request.h>

#include <arrow-adbc/adbc.h>

/**
 * Load a driver. All functions that the engine calls are there afterwards.
 *
 * @param entry  its function, or NULL: the usual names
 *
 * Errors:     WEIR_ERR_NOT_FOUND (says what to install), WEIR_ERR_UNSUPPORTED,
 *             what the driver says
 * Blocks:     while it is loaded
 * Threads:    any
 * Ownership:  driver_out->release; the library stays loaded
 */
weir_err wi_scan_adbc_load(const char *path, const char *entry,
                           struct AdbcDriver *driver_out,
                           struct weir_error *err);

/**
 * A driver's status and message as ours; releases error.
 *
 * @param fault  [out] the whole message, and the driver's own codes; NULL is
 *               allowed
 * @param doing  what was tried, for the message
 */
weir_err wi_scan_adbc_fail(struct weir_error *err,
                           struct weir_scan_fault *fault, AdbcStatusCode status,
                           struct AdbcError *error, const char *doing);

#endif /* WI_SCAN_ADBC_LOAD_H */
