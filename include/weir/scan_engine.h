/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Engines: what answers the requests of a scan server (scan.h).
 *
 *   server thread:  engine.open(request, job) --> ArrowArrayStream
 *                   stream.get_next ... release
 *   any thread:     weir_scan_job_on_cancel's fn
 */
#ifndef WEIR_SCAN_ENGINE_H
#define WEIR_SCAN_ENGINE_H

#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>
#include <weir/scan_request.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Is told that a request is not wanted any more. */
typedef void (*weir_scan_cancel_fn)(void *arg);

/** One request, as its engine sees it. NULL: one that nobody cancels, of
 *  whoever calls an engine without a server. */
typedef struct weir_scan_job weir_scan_job;

/**
 * Have a function called when the request is not wanted any more: its client
 * has cancelled it or died, or the server closes. So an engine learns of it
 * while its thread is at work: in open, or in the stream's get_next.
 *
 * @param fn   called once, by any thread, at once if it is so already; must not
 *             block for long. NULL: not any more; fn does not run once this has
 *             returned
 *
 * Errors:     none
 * Blocks:     while fn runs
 * Threads:    any, but fn
 * Ownership:  what arg points to is valid until NULL was set
 */
WEIR_API void weir_scan_job_on_cancel(weir_scan_job *job,
                                      weir_scan_cancel_fn fn, void *arg);

/** Is it not wanted any more? Errors: none. Blocks: never. Threads: any.
 *  Ownership: nothing. */
WEIR_API int weir_scan_job_cancelled(weir_scan_job *job);

/** What an engine keeps for a client, such as a session of a database. */
struct weir_scan_keeper {
    /** Make it. @param kept_out  [out] set on WEIR_OK only  Errors: any, with a
     *  message. Blocks: while the engine works. */
    weir_err (*make)(void *arg, void **kept_out, struct weir_error *err);
    /** Free it. Blocks: while the engine works. */
    void (*close)(void *kept);
    void *arg; /* handed to make; tells one engine's from another's */
};

/**
 * What the engine keeps for the client that a request comes from; it is made
 * with the client's first request, and closed when the client has left, however
 * it did, and all of its streams were released.
 *
 * @param kept_out  [out] NULL: there is no client, or several: who calls an
 *                  engine without a server, requests that readers share
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY; keeper->make's
 * Blocks:     while it is made, also by another thread
 * Threads:    any; requests of one client may run at the same time
 * Ownership:  the server's
 */
WEIR_API weir_err weir_scan_job_keep(weir_scan_job *job,
                                     const struct weir_scan_keeper *keeper,
                                     void **kept_out, struct weir_error *err);

/** What answers requests. The functions are called by any thread, several at a
 *  time. */
struct weir_scan_engine {
    /**
     * Answer a request.
     *
     * @param request     no member of it is NULL, but for bind; valid during
     *                    the call. bind may be moved out (release = NULL), and
     *                    is released by the caller if it was not
     * @param job         whether it is still wanted; valid until stream_out was
     *                    released, or open has returned an error
     * @param stream_out  [out] set on WEIR_OK only; UPDATE and INGEST may leave
     *                    it as it is, zeroed. Used by one thread at a time, and
     *                    released before the engine is closed
     * @param rows_out    [out] rows affected; -1 before the call: not known
     * @param fault_out   [out] zeroed before the call; may be filled with an
     *                    error, besides err. The caller frees its text
     *
     * Errors:     any, with the engine's own message; WEIR_ERR_NOT_FOUND: no
     *             such data set; WEIR_ERR_UNSUPPORTED: requests of that kind
     * Blocks:     while the engine works
     * Ownership:  stream_out->release
     */
    weir_err (*open)(void *arg, const struct weir_scan_request *request,
                     weir_scan_job *job, struct ArrowArrayStream *stream_out,
                     int64_t *rows_out, struct weir_scan_fault *fault_out,
                     struct weir_error *err);
    /** Free the engine; every stream was released. */
    void (*close)(void *arg);
    void *arg;
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
 * set, "". Each client has a connection of its own, its session, from its first
 * request until it has left: temporary tables, prepared statements, variables
 * and transactions are the client's, and what is left of a transaction is
 * rolled back. Calls of the driver for one client come one at a time. Requests
 * that readers share, and those without a client, get a connection each.
 * Options of QUERY, UPDATE, SCHEMA and INGEST are set on the statement.
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

#endif /* WEIR_SCAN_ENGINE_H */
