/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Asks of a client, their answers, and the payloads that these announce.
 *
 *   ASKING --answer--> OVER                      (inline, or nothing came)
 *                      WAITING --> GETTING --> OVER   (a slot)
 *   PUTTING ---------> OVER                      (bytes into a room)
 *
 * A call is its owner's until it is abandoned; then what it brings goes back,
 * and it is freed when it is over.
 */
#ifndef WI_SCAN_CLIENT_CALL_H
#define WI_SCAN_CLIENT_CALL_H

#include "services/scan/client.h"

enum wi_scan_call_state {
    WI_SCAN_CALL_NEW,
    WI_SCAN_CALL_ASKING,
    WI_SCAN_CALL_WAITING,
    WI_SCAN_CALL_GETTING,
    WI_SCAN_CALL_PUTTING,
    WI_SCAN_CALL_OVER,
};

struct wi_scan_call {
    TAILQ_ENTRY(wi_scan_call) next; /* of the client; over: its owner's */
    struct weir_scan_client *client;
    enum wi_scan_call_state state;
    bool brings;     /* a payload */
    bool abandoned;  /* nobody wants it */
    uint64_t number; /* of the OPEN or RANGE that it has to do with */
    void (*over)(struct wi_scan_call *call); /* NULL: its owner looks */
    void *owner;
    struct weir_error err; /* of the library or the protocol; code OK: none */
    struct wi_scan_answer answer;
    struct wi_scan_payload *payload; /* NULL: it has none */
    void *src;                       /* of a put; freed with the call */
    struct wi_scan_givens given; /* slots that it says are read; a server that
                                    refuses it has not taken them */
};

/** A new one, not sent. NULL: no memory. Ownership: wi_scan_call_drop */
struct wi_scan_call *wi_scan_call_make(struct weir_scan_client *c);

/** Nobody wants it any more. */
void wi_scan_call_drop(struct wi_scan_call *call);

/**
 * Send an ask: its version and client are filled in.
 *
 * @param bytes  ask->n_bytes of them follow, unless they are in a region, or
 *               are a number only (ROOM)
 *
 * Returns:    WEIR_OK | WEIR_AGAIN (too many are under way)
 * Errors:     those of weir_fetch_ask
 * Blocks:     never
 * Threads:    the worker's
 * Ownership:  bytes are copied
 */
weir_err wi_scan_call_ask(struct wi_scan_call *call,
                          const struct wi_scan_ask *ask, const void *bytes);

/** The same with slots that are to be given back, as many as fit. */
weir_err wi_scan_call_ask_giving(struct wi_scan_call *call,
                                 const struct wi_scan_ask *ask);

/** Write bytes to a room, as wi_scan_call_ask. @param src taken over */
weir_err wi_scan_call_put(struct wi_scan_call *call, uint64_t room, void *src,
                          uint64_t bytes);

/** An ask whose answer nobody waits for, with slots to be given back. */
void wi_scan_send_giving(struct weir_scan_client *c,
                         const struct wi_scan_ask *ask);

/** Give slots back, if there are any. */
void wi_scan_send_gives(struct weir_scan_client *c);

/** Say that the memory of all slots lent to a stream is kept: the server closes
 *  them. False: not now. */
bool wi_scan_send_keeping(struct weir_scan_client *c, uint64_t number);

/** Take all that has ended, and start what can be started. Never waits. */
void wi_scan_pump(struct weir_scan_client *c);

/**
 * Wait until a call is over.
 *
 * Errors:     the call's; WEIR_ERR_CANCELLED, WEIR_ERR_TIMEOUT
 * Blocks:     yes
 * Threads:    the worker's
 * Ownership:  nothing
 */
weir_err wi_scan_call_wait(const struct wi_scan_wait *w,
                           struct wi_scan_call *call, struct weir_error *err);

/** Send, and wait: also for its turn. As wi_scan_call_ask, _wait. */
weir_err wi_scan_call_say(const struct wi_scan_wait *w,
                          struct wi_scan_call *call,
                          const struct wi_scan_ask *ask, const void *bytes,
                          struct weir_error *err);

/** Send, waiting for its turn only. */
weir_err wi_scan_call_post(const struct wi_scan_wait *w,
                           struct wi_scan_call *call,
                           const struct wi_scan_ask *ask, const void *bytes,
                           struct weir_error *err);

/** Send HOLD, unless one waits. As wi_scan_call_ask. */
weir_err wi_scan_hold(struct weir_scan_client *c);

#endif /* WI_SCAN_CLIENT_CALL_H */
