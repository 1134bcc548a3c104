/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Control messages: everything two engines tell each other that is not a
 * frame. docs/wire.md is the specification; this file and wire.c are the only
 * others (beside frame.h) that know bytes.
 *
 * A transport message is a packet of one or more of these, back to back:
 *
 *   0      2      4
 *   +------+------+--------------------+
 *   | type | len  | body, len-4 bytes  |   little endian, len multiple of 4
 *   +------+------+--------------------+
 *
 * A link is opened with three packets; the connecting side speaks first (iWARP
 * requires it, RFC 5044 section 7.1.2):
 *
 *   connecting           accepting
 *   HELLO      ------->             who I am, versions, geometry
 *              <-------  ACCEPT     the same, keys of my rings and bells
 *   READY      ------->             keys of my rings and bells
 *
 * or <------- REFUSE with a code and a text.
 */
#ifndef WI_WIRE_H
#define WI_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

#define WI_WIRE_MAGIC 0x31524557u /* "WER1" */
#define WI_WIRE_VERSION_MIN 1u
#define WI_WIRE_VERSION_MAX 1u

/* Capability bits, agreed by intersection. */
enum {
    WI_WIRE_CAP_CHECKSUM = 1u << 0, /* frames carry checksums */
};
#define WI_WIRE_CAPS_REQUIRED 0u

enum {
    WI_NAME_BYTES = 64,
    WI_TEXT_BYTES = 240,
    WI_SIDE_BYTES = 320, /* description of a shuffle */
    WI_ADDR_BYTES = 256,
    WI_PACKET_BYTES = 2048, /* most bytes of one packet */
};

enum wi_msg_type {
    WI_MSG_HELLO = 1,
    WI_MSG_ACCEPT = 2,
    WI_MSG_READY = 3,
    WI_MSG_REFUSE = 4,
    WI_MSG_BYE = 5,
    WI_MSG_PING = 6,
    WI_MSG_BELL = 7,
    WI_MSG_EDGE_OPEN = 8,
    WI_MSG_EDGE_STOP = 9,     /* consumer: no more of this */
    WI_MSG_EDGE_ABANDON = 10, /* producer: the ring will not be written again */
    WI_MSG_EDGE_CLOSED = 11,  /* consumer: the ring may be used again */
    WI_MSG_NOTIFY = 12,
    WI_MSG_CREDIT = 13,
    WI_MSG_FAIL = 14,
    WI_MSG_JOIN = 15,
    WI_MSG_MEMBER = 16,
    WI_MSG_SHUFFLE = 17, /* it is open here */
    WI_MSG_CLOSE = 18,   /* the query is closed here, complete */
    WI_MSG_DIFFER = 19,  /* the shuffle is open here, otherwise */
    WI_MSG_TYPES,        /* one past the last */
};

struct wi_msg_head {
    uint16_t type;
    uint16_t len; /* with this head */
};

/** HELLO and ACCEPT begin with this. */
struct wi_msg_hello {
    struct wi_msg_head head;
    uint32_t magic;
    uint32_t version_min; /* ACCEPT: both are the version chosen */
    uint32_t version_max;
    uint32_t caps; /* ACCEPT: what both have */
    uint32_t from; /* member numbers */
    uint32_t to;
    uint32_t n_members;
    uint64_t incarnation; /* random, one per life of a node */
    uint32_t workers;
    uint32_t frame_bytes;
    uint64_t ring_bytes; /* ring area granted to the peer: bytes, */
    uint32_t unit_bytes; /* units of it, */
    uint32_t n_units;    /* their number */
    uint64_t ring_key;   /* ACCEPT, READY: transport's keys */
    uint64_t bell_key;
    uint64_t bell_bytes; /* 0: not mapped */
    uint32_t bell_stride;
    uint32_t bell_base; /* id of the first ring of this link there */
    uint32_t bell_ids;  /* ids that a bell has room for */
    uint32_t reserved;
    char name[WI_NAME_BYTES];
};

struct wi_msg_refuse {
    struct wi_msg_head head;
    int32_t code;
    char text[WI_TEXT_BYTES];
};

struct wi_msg_edge_open {
    struct wi_msg_head head;
    uint32_t edge;  /* first unit of its ring: unique among live edges */
    uint32_t epoch; /* goes into every frame */
    uint32_t shuffle;
    uint64_t query;
    uint64_t fingerprint; /* of the schema and the shuffle's options */
    uint64_t ring_off;
    uint32_t ring_bytes;
    uint16_t producer_worker;
    uint16_t consumer_worker; /* WI_ANY_WORKER: frames say which */
};
#define WI_ANY_WORKER 0xffffu

/** STOP, ABANDON, CLOSED. */
struct wi_msg_edge {
    struct wi_msg_head head;
    uint32_t edge;
    uint32_t epoch;
    uint32_t arg; /* STOP: consuming worker */
};

/** NOTIFY (tail) and CREDIT (head). */
struct wi_msg_pos {
    struct wi_msg_head head;
    uint32_t edge;
    uint32_t epoch;
    uint32_t hint; /* CREDIT 1: the consumer has nothing else to do;
                    * NOTIFY 1: more rows follow, or a NOTIFY without it */
    uint64_t pos;
};

struct wi_msg_fail {
    struct wi_msg_head head;
    int32_t code;
    uint64_t query;
    char text[WI_TEXT_BYTES];
};

struct wi_msg_shuffle {
    struct wi_msg_head head;
    uint32_t shuffle;
    uint64_t query;
    uint64_t fingerprint;
};

struct wi_msg_close {
    struct wi_msg_head head;
    uint32_t reserved;
    uint64_t query;
};

struct wi_msg_differ {
    struct wi_msg_head head;
    uint32_t shuffle;
    uint64_t query;
    char text[WI_SIDE_BYTES]; /* the sender's side */
};

/** PING, BYE: head only. BELL: the worker. */
struct wi_msg_word {
    struct wi_msg_head head;
    uint32_t arg;
};

/** JOIN: who asks. MEMBER: one entry of the list, self = asker's number. */
struct wi_msg_member {
    struct wi_msg_head head;
    uint32_t magic;
    uint32_t version_min;
    uint32_t version_max;
    uint32_t idx;
    uint32_t n_members;
    uint32_t self;
    uint32_t workers;
    char name[WI_NAME_BYTES];
    char address[WI_ADDR_BYTES];
};

/** Largest of the above. */
union wi_msg {
    struct wi_msg_head head;
    struct wi_msg_hello hello;
    struct wi_msg_refuse refuse;
    struct wi_msg_edge_open edge_open;
    struct wi_msg_edge edge;
    struct wi_msg_pos pos;
    struct wi_msg_fail fail;
    struct wi_msg_shuffle shuffle;
    struct wi_msg_close close;
    struct wi_msg_differ differ;
    struct wi_msg_word word;
    struct wi_msg_member member;
};

/** Bytes of a message of this type, 0 for an unknown type. */
uint16_t wi_msg_bytes(uint16_t type);

/** Fill the head of a message of this type. */
void wi_msg_init(union wi_msg *m, enum wi_msg_type type);

/**
 * Take the next message out of a packet. The copy in *m is complete, every
 * text in it ends with a NUL, and its type is a known one.
 *
 * @param at  [in, out] offset in the packet
 *
 * Returns:    WEIR_OK | WEIR_DONE (the packet has ended)
 * Errors:     WEIR_ERR_PEER_PROTOCOL (says which field)
 */
weir_err wi_msg_next(const uint8_t *packet, uint32_t len, uint32_t *at,
                     union wi_msg *m, struct weir_error *err);

/** Copy text into a field of a message, cut to fit, padded with NULs. */
void wi_text_put(char *field, uint32_t bytes, const char *text);

/**
 * Choose the version and capabilities that both sides have.
 *
 * Errors:     WEIR_ERR_PEER_VERSION (both ranges), WEIR_ERR_PEER_PROTOCOL
 */
weir_err wi_hello_agree(const struct wi_msg_hello *peer, uint32_t our_caps,
                        uint32_t *version_out, uint32_t *caps_out,
                        struct weir_error *err);

#endif /* WI_WIRE_H */
