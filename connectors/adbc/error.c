/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as ADBC has them. Source: adbc.h (AdbcError): callers of revision
 * 1.0.0 have no members behind `release`. */
#include "connectors/adbc/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_details(const struct AdbcError *error)
{
    return error->vendor_code == ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA;
}

static void release_error(struct AdbcError *error)
{
    free(error->message);
    error->message = NULL;
    error->release = NULL;
    if (has_details(error)) {
        error->private_data = NULL;
    }
}

void wi_adbc_drop(struct AdbcError *error)
{
    if (error != NULL && error->release != NULL) {
        error->release(error);
    }
}

/* Takes message, of malloc. */
static void put(struct AdbcError *error, char *message)
{
    wi_adbc_drop(error);
    error->message = message;
    memset(error->sqlstate, 0, sizeof(error->sqlstate));
    error->release = release_error;
    if (has_details(error)) {
        error->private_data = NULL;
    } else {
        error->vendor_code = 0;
    }
}

AdbcStatusCode wi_adbc_fail(struct AdbcError *error, AdbcStatusCode status,
                            const char *fmt, ...)
{
    char *message = NULL;
    va_list args;
    if (error == NULL) {
        return status;
    }
    va_start(args, fmt);
    if (vasprintf(&message, fmt, args) < 0) {
        message = NULL;
    }
    va_end(args);
    put(error, message);
    return status;
}

static AdbcStatusCode status_of(weir_err code)
{
    switch (code) {
    case WEIR_ERR_ARG:
        return ADBC_STATUS_INVALID_ARGUMENT;
    case WEIR_ERR_NOT_FOUND:
        return ADBC_STATUS_NOT_FOUND;
    case WEIR_ERR_DUPLICATE:
        return ADBC_STATUS_ALREADY_EXISTS;
    case WEIR_ERR_STATE:
        return ADBC_STATUS_INVALID_STATE;
    case WEIR_ERR_TIMEOUT:
    case WEIR_ERR_DEADLINE:
        return ADBC_STATUS_TIMEOUT;
    case WEIR_ERR_SCHEMA:
    case WEIR_ERR_UNSUPPORTED:
        return ADBC_STATUS_NOT_IMPLEMENTED;
    case WEIR_ERR_DATA:
        return ADBC_STATUS_INVALID_DATA;
    case WEIR_ERR_CANCELLED:
        return ADBC_STATUS_CANCELLED;
    case WEIR_ERR_SYSTEM:
        return ADBC_STATUS_IO;
    default:
        return weir_err_scope(code) == WEIR_SCOPE_PEER ? ADBC_STATUS_IO
                                                       : ADBC_STATUS_INTERNAL;
    }
}

/* Weir has no codes for these classes of SQL:2003, table 33. */
static AdbcStatusCode status_of_state(const char *sqlstate,
                                      AdbcStatusCode otherwise)
{
    if (strncmp(sqlstate, "23", 2) == 0) {
        return ADBC_STATUS_INTEGRITY;
    }
    if (strncmp(sqlstate, "28", 2) == 0) {
        return ADBC_STATUS_UNAUTHENTICATED;
    }
    if (strcmp(sqlstate, "42501") == 0) {
        return ADBC_STATUS_UNAUTHORIZED;
    }
    return otherwise;
}

AdbcStatusCode wi_adbc_pass(struct AdbcError *error,
                            const struct weir_error *err, weir_err code,
                            const struct weir_scan_fault *fault)
{
    static const struct weir_scan_fault none;
    fault = fault != NULL ? fault : &none;
    AdbcStatusCode status = status_of_state(fault->sqlstate, status_of(code));
    if (error == NULL) {
        return status;
    }
    put(error, strdup(fault->text != NULL ? fault->text : err->message));
    memcpy(error->sqlstate, fault->sqlstate, sizeof(error->sqlstate));
    if (fault->vendor != 0) {
        error->vendor_code = fault->vendor;
    } else if (has_details(error)) {
        error->private_data = (void *)(uintptr_t)weir_err_name(code);
    }
    return status;
}

int wi_adbc_detail_count(const struct AdbcError *error)
{
    return has_details(error) && error->release == release_error &&
           error->private_data != NULL;
}

struct AdbcErrorDetail wi_adbc_detail(const struct AdbcError *error, int index)
{
    struct AdbcErrorDetail detail = {0};
    if (index == 0 && wi_adbc_detail_count(error) == 1) {
        detail.key = WI_ADBC_DETAIL;
        detail.value = error->private_data;
        detail.value_length = strlen(error->private_data);
    }
    return detail;
}
