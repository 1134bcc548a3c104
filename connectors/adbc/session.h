/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a connection, its statements and their streams share: a client of the
 * server, on a worker of its own.
 *
 *   connection --+
 *   statements --+--> session --> weir_scan_client
 *   streams    --+    (closed with the last of them)
 *
 * ADBC's objects are used by one thread at a time, but streams are often read
 * by another thread than the one that runs the next statement: a lock makes
 * them take turns.
 */
#ifndef WI_ADBC_SESSION_H
#define WI_ADBC_SESSION_H

#include <weir/scan_client.h>

#include "connectors/adbc/home.h"

struct wi_adbc_session;

/** What a session is opened with; texts are copied. */
struct wi_adbc_session_params {
    const char *address;
    const char *server_name; /* NULL: the host of the address */
    const char *dataset;
    uint32_t ahead;
    uint64_t max_bytes;
    uint64_t timeout_ns;
};

/**
 * Open a session, held once. The server is not asked yet whether it is there.
 *
 * Errors:     what weir_scan_connect says, ADBC_STATUS_INVALID_STATE (home has
 *             no worker left), ADBC_STATUS_INTERNAL (no memory)
 * Blocks:     shortly
 * Threads:    any
 * Ownership:  wi_adbc_session_drop; home is held
 */
AdbcStatusCode wi_adbc_session_open(struct wi_adbc_home *home,
                                    const struct wi_adbc_session_params *params,
                                    struct wi_adbc_session **session_out,
                                    struct AdbcError *error);

/** In another process than that of home both do nothing. Errors: none. Blocks:
 *  the last drop, while pieces in flight come in. Threads: any. Ownership: the
 *  last one frees session. */
struct wi_adbc_session *wi_adbc_session_hold(struct wi_adbc_session *session);
void wi_adbc_session_drop(struct wi_adbc_session *session);

/**
 * Send a request to the session's data set, and wait for its answer.
 *
 * @param stream_out  NULL: not wanted
 * @param rows_out    NULL: not wanted
 *
 * Errors:     what the engine and the client say
 * Blocks:     while the engine works, and others use the session
 * Threads:    any
 * Ownership:  stream_out->release; request->bind is released
 */
AdbcStatusCode wi_adbc_session_ask(struct wi_adbc_session *session,
                                   const struct weir_scan_request *request,
                                   struct ArrowArrayStream *stream_out,
                                   int64_t *rows_out, struct AdbcError *error);

/**
 * An option of the session at the server: what it does with autocommit, its
 * catalog, ...
 *
 * Errors:     as wi_adbc_session_ask
 * Blocks:     as wi_adbc_session_ask
 * Threads:    any
 * Ownership:  nothing
 */
AdbcStatusCode wi_adbc_session_set(struct wi_adbc_session *session,
                                   const char *key, const char *value,
                                   struct AdbcError *error);

/** WEIR_SCAN_COMMIT or _ROLLBACK. As wi_adbc_session_set; also
 *  ADBC_STATUS_INVALID_STATE (autocommit is on). */
AdbcStatusCode wi_adbc_session_end(struct wi_adbc_session *session,
                                   weir_scan_kind kind,
                                   struct AdbcError *error);

/** As weir_scan_share. */
AdbcStatusCode wi_adbc_session_share(struct wi_adbc_session *session,
                                     const struct weir_scan_request *request,
                                     uint32_t n_ranges,
                                     struct weir_scan_id *id_out,
                                     struct ArrowSchema *schema_out,
                                     struct AdbcError *error);

/** As weir_scan_open_range. */
AdbcStatusCode wi_adbc_session_range(struct wi_adbc_session *session,
                                     const struct weir_scan_id *id,
                                     uint32_t range,
                                     struct ArrowArrayStream *stream_out,
                                     struct AdbcError *error);

/** Cancel all that the session does. Errors: none. Blocks: never. Threads: any.
 *  Ownership: nothing. */
void wi_adbc_session_cancel(struct wi_adbc_session *session);

/** Address of the server, as long as the session is held. */
const char *wi_adbc_session_address(const struct wi_adbc_session *session);

/**
 * Its client's turn: between the two, no other thread uses the client. Streams
 * (stream.h) take it for each of their calls.
 *
 * @return 0, or EDEADLK: this thread has it already. So it is when a stream of
 *         a session is read to be bound to a statement of the same one. Or
 *         ECHILD: the session is another process's
 */
int wi_adbc_session_enter(struct wi_adbc_session *session);
/** What to say when it is not 0. */
AdbcStatusCode wi_adbc_session_refuse(const struct wi_adbc_session *session,
                                      int why, struct AdbcError *error);
void wi_adbc_session_leave(struct wi_adbc_session *session);

#endif /* WI_ADBC_SESSION_H */
