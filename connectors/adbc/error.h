/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Errors as ADBC has them.
 *
 *   weir_err, message ----+
 *                         +--> AdbcStatusCode, struct AdbcError
 *   weir_scan_fault ------+
 *
 * A caller that offers more than revision 1.0.0 (vendor_code is
 * ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA) gets the engine's number in vendor_code
 * if there is one, else one detail: the name of Weir's code.
 */
#ifndef WI_ADBC_ERROR_H
#define WI_ADBC_ERROR_H

#include <weir/error.h>
#include <weir/scan_request.h>

#include <arrow-adbc/adbc.h>

/** Key of the detail, whose value is such as "WEIR_ERR_PEER_LOST". */
#define WI_ADBC_DETAIL "adbc.weir.error"

/** Fill an error with a message of our own; gives status back. error NULL is
 *  allowed; what it held is released. Errors: none. Blocks: never. Threads:
 *  any. Ownership: error->release. */
AdbcStatusCode wi_adbc_fail(struct AdbcError *error, AdbcStatusCode status,
                            const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Fill an error with one of Weir's, and what the engine said; gives the
 *  status. fault NULL is allowed. As wi_adbc_fail. */
AdbcStatusCode wi_adbc_pass(struct AdbcError *error,
                            const struct weir_error *err, weir_err code,
                            const struct weir_scan_fault *fault);

/** A message is released, and the error as it was before. */
void wi_adbc_drop(struct AdbcError *error);

/* As in struct AdbcDriver. */
int wi_adbc_detail_count(const struct AdbcError *error);
struct AdbcErrorDetail wi_adbc_detail(const struct AdbcError *error, int index);

#endif /* WI_ADBC_ERROR_H */
