/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What clients and servers of scans say to each other: asks (weir/ask.h) and
 * regions (weir/region.h), nothing else. All memory that both sides use is
 * the server's.
 *
 *   client                                    server
 *   HOLD  who I am ......................... never answered: while it waits,
 *                                            the client lives
 *   OPEN  call, request ------------------->  engine.open, first batches
 *         <----- reader, schema, payload ---
 *   NEXT  reader, slots given back -------->  parked until a payload is there
 *         <----- seq, payload -------------
 *   (get of a slot, if the payload is in one)
 *   END   call ---------------------------->  reader freed, or its OPEN
 *                                            cancelled
 *
 *   ROOM  bytes --> region that I may write   requests that are too long for an
 *   (put)                                     ask, and rows to take in
 *   LOAD  schema --> load                     then OPEN names it
 *   FILL  load, room: a payload --> taken
 *
 * A *payload* is a schema, some batches, or a fault. A small one follows the
 * answer that announces it; others lie in a *slot*, a region that belongs to
 * one client and is used again for each payload. The client has the slot until
 * it gives it back (in a NEXT or a GIVE); its name is random and stays the
 * same, so that a slot is mapped, granted and registered once.
 *
 *   payload:  [schema, padded to 64]  batches, each:
 *             struct wi_scan_part, head (batch_bytes.h), padded to 64
 *             body, padded to 64
 *
 * Rules:
 *  - Every ask is struct wi_scan_ask, and bytes that it says the length of.
 *  - A client has one HOLD; it comes before all else that has its number. The
 *    server notes the peer and incarnation it came from: a client's number, a
 *    reader or a slot in an ask of anybody else is WEIR_ERR_NOT_FOUND.
 *  - An ask that breaks these rules gets WEIR_ERR_DATA. One that is refused,
 *    for this or as its reader is over, changes nothing: slots that it gives
 *    back are still the client's.
 *  - What an engine says (also an error) comes in struct wi_scan_answer; an
 *    answer whose own code is an error is the library's or the protocol's.
 *  - Payloads of a reader are numbered from 0 (OPEN's own is 0, also when it
 *    has no batches). After the one with WI_SCAN_END, or with an error, the
 *    reader is gone: other NEXTs of it get an empty WI_SCAN_END, later ones
 *    WEIR_ERR_NOT_FOUND.
 *  - A reader that has no payload at its client always gets memory for the next
 *    one. One that has may find max_bytes used up: its NEXT is answered with
 *    WI_SCAN_LATER, and the client asks again when it has given something back,
 *    or has none left. What its program keeps it gives back as WI_SCAN_KEPT.
 *  - A NEXT is parked only while its reader works: no client's NEXT waits for
 *    what another client does.
 */
#ifndef WI_SCAN_PROTO_H
#define WI_SCAN_PROTO_H

#include <stdint.h>

#include <weir/ask.h>

/** name.id of asks; slots and rooms have random ones, never 0. */
enum { WI_SCAN_ASKS = 0 };

enum { WI_SCAN_VERSION = 1 };

enum wi_scan_ask_kind {
    WI_SCAN_ASK_HOLD = 1,
    WI_SCAN_ASK_OPEN,  /* call, bytes (request_bytes.h) here or in region, id:
                          load or 0, n: ranges, 0: not shared */
    WI_SCAN_ASK_RANGE, /* call, id: shared scan, n: range; answered as OPEN */
    WI_SCAN_ASK_NEXT,  /* id: reader; bytes: slots given back, u64 each */
    WI_SCAN_ASK_GIVE,  /* bytes: slots given back, u64 each */
    WI_SCAN_ASK_END,   /* call; bytes: slots given back, u64 each */
    WI_SCAN_ASK_ROOM,  /* n_bytes: how many are wanted */
    WI_SCAN_ASK_LOAD,  /* bytes: a schema (schema_bytes.h), here or in region */
    WI_SCAN_ASK_FILL,  /* id: load, n: batches; bytes: a payload of them, here
                          or in region; flags: WI_SCAN_END with the last; the
                          answer has WI_SCAN_END when no more is wanted */
};

enum wi_scan_flags {
    WI_SCAN_END = 1,   /* nothing comes after this */
    WI_SCAN_LATER = 2, /* nothing now: no memory */
    WI_SCAN_FAILED =
        4, /* of FILL: the client's own rows failed; bytes: a fault */
    WI_SCAN_SHARED = 8, /* of OPEN's answer: id is the scan's, not a reader's */
    WI_SCAN_KEPT = 16,  /* of GIVE: the client goes on reading; the slots are
                           closed, and not used again */
};

/** Every ask. What a kind does not name is 0. */
struct wi_scan_ask {
    uint16_t version;
    uint16_t kind;
    uint32_t flags;
    uint64_t client[2]; /* random, the client's own choice */
    uint64_t
        call; /* number of an OPEN or RANGE of this client, from 1; not used
                      again */
    uint64_t id[2];   /* reader, shared scan, load: random, the server's */
    uint64_t region;  /* room with the bytes; 0: they follow */
    uint64_t n_bytes; /* how many there are */
    uint32_t n;
    uint32_t zero;
};

/** Every answer. What a kind does not name is 0. */
struct wi_scan_answer {
    int32_t code; /* weir_err of the engine; then the payload is a fault */
    uint32_t flags;
    uint64_t id[2]; /* OPEN, RANGE: the reader or shared scan; LOAD: the load */
    int64_t rows;   /* OPEN: rows affected, -1: not known */
    uint64_t seq;   /* number of the payload, within its reader */
    uint32_t n_batches;
    uint32_t schema_bytes; /* OPEN, RANGE: the payload begins with these */
    uint64_t region;       /* slot with the payload, 0: it follows; ROOM: the
                              room */
    uint64_t n_bytes;      /* of the payload; ROOM: of the room */
};

/** One batch in a payload. */
struct wi_scan_part {
    uint64_t head_bytes;
    uint64_t body_bytes;
};

/** A fault: this, then text_bytes of text without a zero. */
struct wi_scan_fault_head {
    int32_t vendor;
    char sqlstate[6]; /* "": none */
    uint16_t zero;
    uint32_t text_bytes;
};

enum {
    WI_SCAN_ASK_INLINE = WEIR_ASK_BYTES - (int)sizeof(struct wi_scan_ask),
    WI_SCAN_ANSWER_INLINE = WEIR_ASK_BYTES - (int)sizeof(struct wi_scan_answer),
};

_Static_assert(sizeof(struct wi_scan_ask) == 72, "as it travels");
_Static_assert(sizeof(struct wi_scan_answer) == 64, "as it travels");
_Static_assert(sizeof(struct wi_scan_part) == 16, "as it travels");
_Static_assert(sizeof(struct wi_scan_fault_head) == 16, "as it travels");

#endif /* WI_SCAN_PROTO_H */
