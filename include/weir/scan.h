/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Scans: columnar results of queries (libweir-scan, a library of its own).
 *
 *   engine: query, data set --> ArrowArrayStream
 *
 * An engine is any producer of an Arrow C stream: fill struct weir_scan_engine
 * with functions of your own, or take one that is here:
 *
 *   weir_scan_adbc_open   any ADBC driver, loaded at run time: SQLite, DuckDB,
 *                         PostgreSQL, ...
 *
 * Serving an engine to other nodes is not there yet.
 */
#ifndef WEIR_SCAN_H
#define WEIR_SCAN_H

#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What answers queries. The functions are called by any thread, several at a
 *  time. */
struct weir_scan_engine {
    /**
     * Run a query.
     *
     * @param dataset     which of the engine's data sets; "" is its only one
     * @param stream_out  [out] set on WEIR_OK only; used by one thread at a
     *                    time, released before the engine is closed
     *
     * Errors:     any, with the engine's own message; WEIR_ERR_NOT_FOUND: no
     *             such data set
     * Blocks:     while the engine works
     * Ownership:  stream_out->release
     */
    weir_err (*open)(void *arg, const char *query, const char *dataset,
                     struct ArrowArrayStream *stream_out,
                     struct weir_error *err);
    /** Free the engine; every stream was released. */
    void (*close)(void *arg);
    void *arg;
};

/** An option of a driver, as ADBC names them. */
struct weir_scan_option {
    const char *key;
    const char *value;
};

/** An ADBC driver and its database. */
struct weir_scan_adbc_params {
    const char *driver; /* path of the shared library, or its name where the
                           system looks for libraries */
    const char *entry;  /* its function [AdbcDriverInit, duckdb_adbc_init] */
    const struct weir_scan_option *options; /* of the database: "uri" for
                           SQLite and PostgreSQL, "path" for DuckDB */
    uint32_t n_options;
    uint64_t reserved[4]; /* must be zero */
};

/**
 * Load an ADBC driver and open a database with it, as an engine with one data
 * set, "". Each query gets a connection of its own.
 *
 * A driver that was loaded stays loaded until the process ends: some start
 * threads that outlive them. Many are C++: a program that carries jemalloc, but
 * behind libc, must have libstdc++ before it, or such a driver's new and delete
 * are of two allocators.
 *
 * @param params      what it points to is not needed afterwards
 * @param engine_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_NOT_FOUND (the driver; says what to
 *             install), WEIR_ERR_UNSUPPORTED (it is no driver),
 *             WEIR_ERR_NO_MEMORY, and what the driver says of the database
 * Blocks:     while the library is loaded and the database opened
 * Threads:    any
 * Ownership:  engine_out->close(engine_out->arg)
 */
WEIR_API weir_err weir_scan_adbc_open(
    const struct weir_scan_adbc_params *params,
    struct weir_scan_engine *engine_out, struct weir_error *err);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_SCAN_H */
