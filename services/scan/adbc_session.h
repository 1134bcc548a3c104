/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Connections of an ADBC driver, one for each client, and whose turn it is.
 *
 *   client  1---1  session  1---1  connection of the driver
 *                     1---n  calls: statements and streams, one in the driver
 *                            at a time
 *
 * A call without a client has a session of its own, which ends with it.
 */
#ifndef WI_SCAN_ADBC_SESSION_H
#define WI_SCAN_ADBC_SESSION_H

#include <pthread.h>
#include <stdbool.h>

#include "services/scan/adbc_load.h"

struct wi_scan_call;

/** A driver and its database: what all calls of an engine share. */
struct wi_scan_adbc {
    struct AdbcDriver driver;
    struct AdbcDatabase database;
};

struct wi_scan_adbc_session {
    struct wi_scan_adbc *engine;
    pthread_mutex_t turn;  /* of who is in the driver, for what follows */
    pthread_mutex_t guard; /* of inside */
    struct wi_scan_call *inside;
    struct AdbcConnection connection;
    bool connected;
    bool manual; /* autocommit is off: a transaction is open */
    bool own;    /* of one call */
};

/**
 * Connect.
 *
 * Errors:     WEIR_ERR_NO_MEMORY, what the driver says
 * Blocks:     while the driver works
 * Threads:    any
 * Ownership:  wi_scan_adbc_session_close; engine is borrowed
 */
weir_err wi_scan_adbc_session_open(struct wi_scan_adbc *engine,
                                   struct wi_scan_adbc_session **session_out,
                                   struct weir_error *err);

/** Disconnect: what was not committed is rolled back. Errors: none. Blocks:
 *  while the driver works. Threads: one, after all calls. */
void wi_scan_adbc_session_close(struct wi_scan_adbc_session *session);

/** A call's turn in the driver, and its end. Errors: none. Blocks: while others
 *  have it. Threads: the call's, once at a time. */
void wi_scan_adbc_session_enter(struct wi_scan_adbc_session *session,
                                struct wi_scan_call *call);
void wi_scan_adbc_session_leave(struct wi_scan_adbc_session *session);

/* Answers to WEIR_SCAN_SET, _COMMIT and _ROLLBACK, in the call's turn. */
weir_err wi_scan_adbc_set(struct wi_scan_call *call);
weir_err wi_scan_adbc_commit(struct wi_scan_call *call);
weir_err wi_scan_adbc_rollback(struct wi_scan_call *call);

#endif /* WI_SCAN_ADBC_SESSION_H */
