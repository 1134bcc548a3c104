/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Readers: who asks for the batches of a scan, and gets them in order.
 *
 *   NEXT --> parked --> scan's ready --> payload --> slot --> oldest answered
 *
 * The first payload of a reader answers its OPEN or RANGE. One that *announces*
 * only says that a shared scan is there, and is over.
 */
#ifndef WI_SCAN_READER_H
#define WI_SCAN_READER_H

#include "services/scan/payload.h"
#include "services/scan/scan.h"
#include "services/scan/server.h"

struct wi_scan_reader {
    struct wi_scan_key key; /* first */
    TAILQ_ENTRY(wi_scan_reader) on_session;
    TAILQ_ENTRY(wi_scan_reader) on_ready;
    struct wi_scan_session *session;
    struct wi_scan_scan *scan;
    uint64_t call;
    struct weir_ask open; /* OPEN or RANGE */
    bool opening;         /* it is not answered yet */
    bool announces;
    bool waits; /* in the scan's ready */
    bool busy;  /* a thread serves it */
    bool over;
    struct wi_scan_asks asks; /* NEXTs */
    uint32_t n_out;           /* slots with its payloads at its client */
    uint64_t seq;
    uint64_t asked_ns;
    struct wi_scan_payload payload; /* of who is busy; kept after a LATER */
};

/** A reader of a scan for an OPEN or RANGE, which it takes over; it waits for
 *  its turn. NULL: no memory, nothing is answered. */
struct wi_scan_reader *wi_scan_reader_make(struct wi_scan_session *session,
                                           struct wi_scan_scan *scan,
                                           const struct weir_ask *ask,
                                           uint64_t call);

/** A client's reader by its number, once its OPEN was answered; or NULL. */
struct wi_scan_reader *wi_scan_reader_find(struct weir_scan_server *s,
                                           const struct wi_scan_session *of,
                                           const uint64_t *id);

/** NEXT. Takes over the ask. */
void wi_scan_reader_next(struct wi_scan_reader *reader,
                         const struct weir_ask *ask);

/** It is not wanted any more. Lets the lock go if its scan is not, either;
 *  reader may be freed by then. */
void wi_scan_reader_end(struct wi_scan_reader *reader);

/** Its turn, and its payload is there: answer; free it if it is over. Lets the
 *  lock go meanwhile. */
void wi_scan_reader_serve(struct wi_scan_reader *reader);

#endif /* WI_SCAN_READER_H */
