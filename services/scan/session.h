/* SPDX-License-Identifier: Apache-2.0 */
/** Clients of a server: from their HOLD on until all that they had is freed. */
#ifndef WI_SCAN_SESSION_H
#define WI_SCAN_SESSION_H

#include "services/scan/server.h"

/** One holder more, and one less. The lock is held. */
struct wi_scan_state *wi_scan_state_hold(struct wi_scan_state *state);
void wi_scan_state_drop(struct wi_scan_state *state);

/** HOLD: a client comes. Answers if it may not. */
void wi_scan_session_open(struct weir_scan_server *s,
                          const struct weir_ask *ask,
                          const struct wi_scan_ask *a);

/** The client that an ask says it is of; NULL: it is not, and was answered. */
struct wi_scan_session *wi_scan_session_of(struct weir_scan_server *s,
                                           const struct weir_ask *ask,
                                           const struct wi_scan_ask *a);

/** Its HOLD waits no more: give up all it has. The lock is let go meanwhile. */
void wi_scan_session_leave(struct weir_scan_server *s,
                           struct wi_scan_session *session);

/** Free it if it is gone and nothing of it is left. */
void wi_scan_session_settle(struct weir_scan_server *s,
                            struct wi_scan_session *session);

#endif /* WI_SCAN_SESSION_H */
