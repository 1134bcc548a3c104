/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading ADBC drivers. ADBC's own driver manager, in C++, finds drivers by
 * manifests and fills in what old drivers lack; here a path is given, and only
 * functions that every driver has are called.
 *
 * Source: ADBC, adbc.h (AdbcDriverInitFunc), revisions 1.0.0 and 1.1.0.
 */
#include "services/scan/adbc_load.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "services/scan/fail.h"

/* Of a sqlstate, whatever the locale. */
#define LETTERS "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* Codes that say nothing better are of the query: QUERY_DATA. */
static weir_err code_of(AdbcStatusCode status)
{
    static const weir_err codes[] = {
        [ADBC_STATUS_NOT_IMPLEMENTED] = WEIR_ERR_UNSUPPORTED,
        [ADBC_STATUS_NOT_FOUND] = WEIR_ERR_NOT_FOUND,
        [ADBC_STATUS_ALREADY_EXISTS] = WEIR_ERR_DUPLICATE,
        [ADBC_STATUS_INVALID_ARGUMENT] = WEIR_ERR_ARG,
        [ADBC_STATUS_INVALID_STATE] = WEIR_ERR_STATE,
        [ADBC_STATUS_INVALID_DATA] = WEIR_ERR_DATA,
        [ADBC_STATUS_IO] = WEIR_ERR_SYSTEM,
        [ADBC_STATUS_CANCELLED] = WEIR_ERR_CANCELLED,
        [ADBC_STATUS_TIMEOUT] = WEIR_ERR_TIMEOUT,
    };
    bool known =
        status < sizeof(codes) / sizeof(codes[0]) && codes[status] != WEIR_OK;
    return known ? codes[status] : WEIR_ERR_QUERY_DATA;
}

/* Weir has no codes for these. Source: SQL:2003, table 33; 42501 is said by
 * PostgreSQL, too. */
static const char *state_of(AdbcStatusCode status)
{
    return status == ADBC_STATUS_INTEGRITY         ? "23000"
           : status == ADBC_STATUS_UNAUTHENTICATED ? "28000"
           : status == ADBC_STATUS_UNAUTHORIZED    ? "42501"
                                                   : "";
}

/* A driver may not know that there are five letters, and no zero. */
static void fill_fault(struct weir_scan_fault *fault, AdbcStatusCode status,
                       const struct AdbcError *error)
{
    free(fault->text);
    memset(fault, 0, sizeof(*fault));
    if (error->message != NULL && error->message[0] != '\0') {
        fault->text = strdup(error->message);
    }
    if (error->vendor_code != ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA) {
        fault->vendor = error->vendor_code;
    }
    for (size_t i = 0; i < sizeof(error->sqlstate); i++) {
        if (strchr(LETTERS, error->sqlstate[i]) == NULL ||
            error->sqlstate[i] == '\0') {
            memset(fault->sqlstate, 0, sizeof(fault->sqlstate));
            break;
        }
        fault->sqlstate[i] = error->sqlstate[i];
    }
    if (fault->sqlstate[0] == '\0') {
        memcpy(fault->sqlstate, state_of(status), strlen(state_of(status)) + 1);
    }
}

weir_err wi_scan_adbc_fail(struct weir_error *err,
                           struct weir_scan_fault *fault, AdbcStatusCode status,
                           struct AdbcError *error, const char *doing)
{
    weir_err code = code_of(status);
    if (error->message == NULL || error->message[0] == '\0') {
        (void)wi_scan_fail(err, code,
                           "%s: the driver says no more than status %d", doing,
                           (int)status);
    } else {
        (void)wi_scan_fail(err, code, "%s", error->message);
    }
    if (fault != NULL) {
        fill_fault(fault, status, error);
    }
    if (error->release != NULL) {
        error->release(error);
    }
    return code;
}

/* What the engine calls (adbc.c). */
static int complete(const struct AdbcDriver *d)
{
    return d->DatabaseNew != NULL && d->DatabaseSetOption != NULL &&
           d->DatabaseInit != NULL && d->DatabaseRelease != NULL &&
           d->ConnectionNew != NULL && d->ConnectionInit != NULL &&
           d->ConnectionRelease != NULL && d->StatementNew != NULL &&
           d->StatementSetSqlQuery != NULL &&
           d->StatementExecuteQuery != NULL && d->StatementRelease != NULL;
}

static AdbcDriverInitFunc find_entry(void *library, const char *entry)
{
    const char *const usual[] = {"AdbcDriverInit", "duckdb_adbc_init"};
    AdbcDriverInitFunc init = NULL;
    void *symbol = entry != NULL ? dlsym(library, entry) : NULL;
    for (size_t i = 0; entry == NULL && symbol == NULL && i < 2; i++) {
        symbol = dlsym(library, usual[i]);
    }
    memcpy(&init, &symbol, sizeof(init)); /* ISO C has no cast for this */
    return init;
}

static weir_err not_there(const char *path, struct weir_error *err)
{
    const char *why = dlerror();
    return wi_scan_fail(err, WEIR_ERR_NOT_FOUND,
                        "cannot load the ADBC driver '%s': %s; drivers come "
                        "with `pip install adbc-driver-sqlite` "
                        "(libadbc_driver_sqlite.so in its folder) or `npm "
                        "install @duckdb/node-bindings-linux-x64` "
                        "(libduckdb.so)",
                        path, why != NULL ? why : "no reason given");
}

weir_err wi_scan_adbc_load(const char *path, const char *entry,
                           struct AdbcDriver *driver_out,
                           struct weir_error *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        return not_there(path, err);
    }
    AdbcDriverInitFunc init = find_entry(library, entry);
    if (init == NULL) {
        (void)dlclose(library);
        return wi_scan_fail(err, WEIR_ERR_UNSUPPORTED,
                            "'%s' has no function %s: it is no ADBC driver, or "
                            "its entry has another name",
                            path, entry != NULL ? entry : "AdbcDriverInit");
    }
    /* New ones first; a driver of before writes the part that it knows. */
    const int versions[] = {ADBC_VERSION_1_1_0, ADBC_VERSION_1_0_0};
    AdbcStatusCode status = ADBC_STATUS_NOT_IMPLEMENTED;
    struct AdbcError error;
    for (size_t i = 0; status == ADBC_STATUS_NOT_IMPLEMENTED && i < 2; i++) {
        memset(driver_out, 0, sizeof(*driver_out));
        memset(&error, 0, sizeof(error));
        status = init(versions[i], driver_out, &error);
        if (status == ADBC_STATUS_NOT_IMPLEMENTED && i == 0 &&
            error.release != NULL) {
            error.release(&error);
        }
    }
    (void)dlclose(library);
    if (status != ADBC_STATUS_OK) {
        return wi_scan_adbc_fail(err, NULL, status, &error,
                                 "loading the driver");
    }
    if (!complete(driver_out)) {
        if (driver_out->release != NULL) {
            (void)driver_out->release(driver_out, &error);
        }
        return wi_scan_fail(err, WEIR_ERR_UNSUPPORTED,
                            "the ADBC driver '%s' lacks functions that every "
                            "driver has",
                            path);
    }
    return WEIR_OK;
}
