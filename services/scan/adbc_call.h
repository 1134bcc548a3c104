/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A request at work on an ADBC driver.
 *
 *   call open ---> session ---> statement ---> driver's stream
 *        |                                       |
 *        |   wi_scan_call_stream: the call's own stream, which has them all
 *        +-- wi_scan_call_close: without one
 *
 * A stream must not outlive its statement, so each call has its own, which
 * lives as long as its stream does. From open until close or stream the call
 * has its session's turn.
 */
#ifndef WI_SCAN_ADBC_CALL_H
#define WI_SCAN_ADBC_CALL_H

#include <stdbool.h>

#include <weir/scan_engine.h>

#include "services/scan/adbc_session.h"

struct wi_scan_call {
    struct wi_scan_adbc *engine;
    struct wi_scan_adbc_session *session;
    weir_scan_job *job;
    const struct weir_scan_request *request; /* these three: until the */
    struct weir_scan_fault *fault;           /* request is answered */
    struct weir_error *err;
    int64_t rows; /* affected; -1: not known */
    struct AdbcStatement statement;
    struct ArrowArrayStream stream; /* of the driver, or made here */
    bool stated;                    /* the statement was made */
};

/** What a call answers, and where it says what went wrong. */
struct wi_scan_call_params {
    const struct weir_scan_request *request;
    weir_scan_job *job;
    struct weir_scan_fault *fault;
    struct weir_error *err;
};

/**
 * Begin a call, with its session's turn.
 *
 * @param call_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_NO_MEMORY, what the driver says
 * Blocks:     while the driver works, also for other calls of the session
 * Threads:    one per call
 * Ownership:  wi_scan_call_close or wi_scan_call_stream; engine and what params
 *             points to are borrowed
 */
weir_err wi_scan_call_open(struct wi_scan_adbc *engine,
                           const struct wi_scan_call_params *params,
                           struct wi_scan_call **call_out);

/** From now on the driver is told if the call is not wanted any more. Errors:
 *  WEIR_ERR_CANCELLED (it is not). Blocks: never. Threads: the call's, with its
 *  statement made if it gets one. Ownership: nothing. */
weir_err wi_scan_call_cancellable(struct wi_scan_call *call);

/** End a call that gave no stream, and its turn. Errors: none. Blocks: while
 *  the driver works. Threads: the call's. Ownership: frees call; NULL is
 *  allowed. */
void wi_scan_call_close(struct wi_scan_call *call);

/**
 * A call's stream, to be read when the request was answered. Ends its turn.
 *
 * Errors:     none
 * Blocks:     never; the stream while the driver works
 * Threads:    one at a time
 * Ownership:  stream_out->release frees call
 */
void wi_scan_call_stream(struct wi_scan_call *call,
                         struct ArrowArrayStream *stream_out);

/**
 * A stream of no rows as that of the call.
 *
 * @param schema  moved out, or released
 *
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    the call's
 * Ownership:  takes schema
 */
weir_err wi_scan_call_no_rows(struct wi_scan_call *call,
                              struct ArrowSchema *schema);

/** Give the call's error a driver's status and message (wi_scan_adbc_fail);
 *  WEIR_OK for ADBC_STATUS_OK. Errors: that. Blocks: never. Threads: the
 *  call's. Ownership: releases error. */
weir_err wi_scan_call_check(struct wi_scan_call *call, AdbcStatusCode status,
                            struct AdbcError *error, const char *doing);

/** Refuse what the driver has no function for. Errors: WEIR_ERR_UNSUPPORTED.
 *  Blocks: never. Threads: the call's. Ownership: nothing. */
weir_err wi_scan_call_lacks(struct wi_scan_call *call, const char *what);

#endif /* WI_SCAN_ADBC_CALL_H */
