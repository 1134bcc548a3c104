/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Scan servers for tests, and clients that say what they are told to: asks as
 * they travel (services/scan/proto.h), also wrong ones.
 *
 * Node 1 serves the engine of scan_engine.h.
 */
#ifndef WT_SCAN_RAW_H
#define WT_SCAN_RAW_H

#include <weir/scan.h>

#include "services/scan/fault_bytes.h"
#include "services/scan/parts.h"
#include "services/scan/proto.h"
#include "services/scan/request_bytes.h"
#include "services/scan/schema_bytes.h"
#include "test/conformance/region.h"
#include "test/conformance/scan_engine.h"

struct wt_scan {
    struct wt_reads *r;
    weir_scan_server *server;
    struct wt_scan_engine engine;
    struct weir_scan_stats stats; /* of wt_scan_stats */
};

enum { WT_SCAN_SERVER = 1 };

/** @param params  sources are filled in, beside one of the caller's; NULL:
 *                 defaults
 *  Ownership: wt_scan_close, which expects that nothing is left */
struct wt_scan *wt_scan_open(const struct wt_place *place, uint32_t nodes,
                             const struct weir_scan_server_params *params);
void wt_scan_close(struct wt_scan *s);

/** Wait until the server has what cond says. */
bool wt_scan_until(struct wt_scan *s,
                   bool (*cond)(const struct weir_scan_stats *stats));
bool wt_scan_empty(const struct weir_scan_stats *stats);
/** Wait until so many threads are in the engine and wait. */
void wt_scan_until_blocked(struct wt_scan *s, uint32_t n);

/** A client on a node. */
struct wt_scan_client {
    struct wt_scan *s;
    weir_fetch *fetch;
    weir_peer *peer;
    uint64_t number[2];
    uint64_t call;
};

/** Its HOLD is on its way. */
void wt_scan_client_open(struct wt_scan_client *c, struct wt_scan *s,
                         uint32_t node);
void wt_scan_client_close(struct wt_scan_client *c);

/** An answer, and what came with it: copied. */
struct wt_scan_said {
    weir_err code; /* of the ask */
    char why[WEIR_ERROR_MESSAGE_BYTES];
    struct wi_scan_answer a;
    uint32_t len;
    uint8_t *bytes; /* of the payload, 64-byte aligned; NULL: none */
};
void wt_scan_said_free(struct wt_scan_said *said);

/** An ask of the client, of a kind. */
struct wi_scan_ask wt_scan_ask(const struct wt_scan_client *c, uint16_t kind);

/** Send it with n bytes behind it. */
void wt_scan_post(struct wt_scan_client *c, const struct wi_scan_ask *a,
                  const void *bytes, uint32_t n, uint64_t tag);
/** Wait for the next answer; its payload is got, if it is in a slot. */
uint64_t wt_scan_next(struct wt_scan_client *c, struct wt_scan_said *said);
/** Both. n bytes are a->n_bytes, unless those are in a room. */
void wt_scan_say(struct wt_scan_client *c, const struct wi_scan_ask *a,
                 const void *bytes, struct wt_scan_said *said);
/** Both, and what code has to come. */
void wt_scan_expect(struct wt_scan_client *c, const struct wi_scan_ask *a,
                    const void *bytes, weir_err code);

/** OPEN with a text; a->n_bytes and call are filled in. */
struct wi_scan_ask wt_scan_request(struct wt_scan_client *c, const char *text,
                                   uint8_t bytes[WI_SCAN_ASK_INLINE]);
void wt_scan_open_text(struct wt_scan_client *c, const char *text,
                       struct wt_scan_said *said);
/** NEXT that gives slots back: those that are not 0. */
void wt_scan_next_of(struct wt_scan_client *c, const uint64_t *id,
                     uint64_t slot, struct wt_scan_said *said);
void wt_scan_end(struct wt_scan_client *c, uint64_t call, uint64_t slot);

/** Rows of a payload of "numbers", which have to count up from first. */
uint64_t wt_scan_rows(const struct wt_scan_said *said, int64_t first);
/** Rows of a payload of "numbers", and what they add up to. */
uint64_t wt_scan_sum(const struct wt_scan_said *said, int64_t *sum);
/** The text of a fault. Ownership: the caller's, to free. */
struct weir_scan_fault wt_scan_fault(const struct wt_scan_said *said);

/** A payload of one batch of numbers, and its schema. Ownership: the caller's,
 *  to free. */
struct wi_scan_buf wt_scan_numbers(int64_t first, uint32_t rows);
struct wi_scan_buf wt_scan_schema(void);

/** ROOM, for so many bytes. Returns its number. */
uint64_t wt_scan_room(struct wt_scan_client *c, uint64_t bytes);
/** Put bytes into a room. */
void wt_scan_put(struct wt_scan_client *c, uint64_t room,
                 const struct wi_scan_buf *bytes);

#endif /* WT_SCAN_RAW_H */
