/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Control messages: everything two engines tell each other that is not a
 * frame. docs/wire.md is the specification; beside frame.h, only this file and
 * wire.c know bytes.
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
 * or <------- REFUSE with a code and a text. Nodes that have a secret prove
 * that to each other first: core/identity/proof.h.
 */
#ifndef WI_WIRE_H
#define WI_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

#define WI_WIRE_MAGIC 0x31524557u /* "WER1" */
#define WI_WIRE_VERSION_MIN 1u
#define WI_WIRE_VERSION_MAX 2u
#define WI_WIRE_VERSION_PROOF 2u /* KNOCK to SEAL are understood from here on */

/* Capability bits, agreed by intersection. */
#define WI_OUTSIDE UINT32_MAX /* in place of a member number: none */

enum {
    WI_WIRE_CAP_CHECKSUM = 1u << 0, /* frames carry checksums */
    WI_WIRE_CAP_FILTER = 1u << 1,   /* FILTER is understood */
    WI_WIRE_CAP_REGION = 1u << 2,   /* FIND to SYNCED are understood */
    WI_WIRE_CAP_GROW = 1u << 3,     /* MEMBER over a link is understood */
    WI_WIRE_CAP_FILE = 1u << 4,     /* what is mapped may be a file's */
    WI_WIRE_CAP_TALLY = 1u << 5,    /* FOUND says where REVOKEs are counted */
};
#define WI_WIRE_CAPS_REQUIRED 0u

enum {
    WI_NAME_BYTES = 64,
    WI_TEXT_BYTES = 240,
    WI_FOUND_TEXT_BYTES = 224,
    WI_SIDE_BYTES = 320, /* description of a shuffle */
    WI_ADDR_BYTES = 256,
    WI_PACKET_BYTES = 2048, /* most bytes of one packet */
    WI_FILTER_PIECE = 120,  /* words of a FILTER: two fit a packet */
    WI_ASK_BYTES = 1024,    /* of an ASK and of its ANSWER */
    WI_NONCE_BYTES = 32,
};

/* The one table of the messages. A row: type, number on the wire, body (a
 * member of union wi_msg), first and last state of a link in which it may come,
 * and its handler (core/link/messages.c; NULL: it comes over endpoints that are
 * not links yet). */
/* clang-format off */
#define WI_MESSAGES(ROW)                                                       \
    ROW(HELLO,         1, hello,     CONNECTING, DEAD,    NULL)                \
    ROW(ACCEPT,        2, hello,     HELLO,      HELLO,   wi_link_on_accept)   \
    ROW(READY,         3, hello,     READY,      READY,   wi_link_on_ready)    \
    ROW(REFUSE,        4, refuse,    CONNECTING, CLOSING, wi_link_on_refuse)   \
    ROW(BYE,           5, word,      CONNECTING, CLOSING, wi_link_on_bye)      \
    ROW(PING,          6, word,      CONNECTING, CLOSING, on_ping)             \
    ROW(BELL,          7, word,      CONNECTING, CLOSING, on_bell)             \
    /* producer: a ring is in use */                                           \
    ROW(EDGE_OPEN,     8, edge_open, OPEN,       CLOSING, wi_in_on_open)       \
    /* consumer: wants no more of this */                                 \
    ROW(EDGE_STOP,     9, edge,      OPEN,       CLOSING, wi_out_on_stop)      \
    /* producer: the ring will not be written again */                         \
    ROW(EDGE_ABANDON, 10, edge,      OPEN,       CLOSING, wi_in_on_abandon)    \
    /* consumer: the ring may be used again */                                 \
    ROW(EDGE_CLOSED,  11, edge,      OPEN,       CLOSING, wi_out_on_closed)    \
    ROW(NOTIFY,       12, pos,       OPEN,       CLOSING, wi_in_on_notify)     \
    ROW(CREDIT,       13, pos,       OPEN,       CLOSING, wi_out_on_credit)    \
    ROW(FAIL,         14, fail,      CONNECTING, CLOSING, on_query)            \
    ROW(JOIN,         15, member,    CONNECTING, DEAD,    NULL)                \
    /* seed: this one has come, or is elsewhere now; also before a link */     \
    ROW(MEMBER,       16, member,    OPEN,       CLOSING, wi_news_on_member)   \
    /* it is open here; the query is closed here; it is open otherwise */      \
    ROW(SHUFFLE,      17, shuffle,   CONNECTING, CLOSING, on_query)            \
    ROW(CLOSE,        18, close,     CONNECTING, CLOSING, on_query)            \
    ROW(DIFFER,       19, differ,    CONNECTING, CLOSING, on_query)            \
    /* consumer: rows with other keys are of no use to it */                   \
    ROW(FILTER,       20, filter,    OPEN,       CLOSING, on_filter)           \
    /* reader: where is this; owner: there, you may use it */                  \
    ROW(FIND,         21, find,      OPEN,       CLOSING, on_share)            \
    ROW(FOUND,        22, found,     OPEN,       CLOSING, on_share)            \
    /* reader: will not use it again; owner: do not, and say so */             \
    ROW(DROP,         23, grant,     OPEN,       CLOSING, on_share)            \
    ROW(REVOKE,       24, grant,     OPEN,       CLOSING, on_share)            \
    ROW(ASK,          25, ask,       OPEN,       CLOSING, on_share)            \
    ROW(ANSWER,       26, answer,    OPEN,       CLOSING, on_share)            \
    /* asker: waits no more for an answer */                                   \
    ROW(LEAVE,        27, word,      OPEN,       CLOSING, on_share)            \
    /* writer: is what I wrote there; owner: it is */                          \
    ROW(SYNC,         28, word,      OPEN,       CLOSING, on_share)            \
    ROW(SYNCED,       29, word,      OPEN,       CLOSING, on_share)            \
    /* before all others, between nodes that have a secret */                  \
    ROW(KNOCK,        30, knock,     CONNECTING, DEAD,    NULL)                \
    ROW(CHALLENGE,    31, knock,     CONNECTING, DEAD,    NULL)                \
    ROW(PROOF,        32, proof,     CONNECTING, DEAD,    NULL)                \
    /* of the message that follows, until the link is open */                  \
    ROW(SEAL,         33, seal,      CONNECTING, DEAD,    NULL)
/* clang-format on */

#define WI_MSG_NUMBER(TYPE, NUMBER, BODY, FROM, TO, TAKE)                      \
    WI_MSG_##TYPE = NUMBER,
enum wi_msg_type {
    WI_MESSAGES(WI_MSG_NUMBER) WI_MSG_TYPES /* one past the last */
};
#undef WI_MSG_NUMBER

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
    uint32_t from; /* member numbers; both WI_OUTSIDE: not as members */
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

/** A piece of a filter; in order, without gaps. */
struct wi_msg_filter {
    struct wi_msg_head head;
    uint32_t shuffle;
    uint64_t query;
    uint32_t n_words; /* of the whole filter */
    uint32_t first;   /* the first word here */
    uint32_t worker;  /* the sender's, whose rows it is about */
    uint32_t reserved;
    uint64_t words[WI_FILTER_PIECE]; /* zeros behind the last */
};

/** Where are bytes of a region? */
struct wi_msg_find {
    struct wi_msg_head head;
    uint32_t call; /* the reader's number for it */
    uint64_t space;
    uint64_t id;
    uint64_t off;    /* the first byte that is wanted */
    uint32_t access; /* WI_ACCESS_* */
    uint32_t reserved;
};

enum { WI_FOUND_ONCE = 1u << 0 };

/** The piece of the region that they are in, which is granted now. */
struct wi_msg_found {
    struct wi_msg_head head;
    int32_t code; /* not 0: nothing is granted, and text says why */
    uint32_t call;
    uint32_t flags;  /* ONCE: good for what waits for it; later ask again */
    uint64_t handle; /* the owner's number of the region */
    uint64_t key;    /* of the granted memory, */
    uint64_t origin; /* in which the piece begins here */
    uint64_t region_bytes;
    uint64_t off;       /* where in the region the piece begins; */
    uint64_t bytes;     /* its length, 0 beyond the end */
    uint64_t map_bytes; /* of the granted memory, where it is mapped */
    char text[WI_FOUND_TEXT_BYTES];
    uint64_t tally_key; /* granted: the page whose first word counts the
                           owner's REVOKEs on this link; 0: none */
    uint64_t tally_off; /* where that page begins in what is granted */
};

/** DROP, REVOKE. */
struct wi_msg_grant {
    struct wi_msg_head head;
    uint32_t founds; /* DROP: so many FOUND with this key came */
    uint64_t handle;
    uint64_t key; /* REVOKE 0: all of this handle */
};

/** A request, and its one answer. */
struct wi_msg_ask {
    struct wi_msg_head head;
    uint32_t call;
    uint64_t space;
    uint64_t id;
    uint32_t len; /* of the bytes; zeros behind them */
    uint32_t reserved;
    uint8_t bytes[WI_ASK_BYTES];
};

struct wi_msg_answer {
    struct wi_msg_head head;
    int32_t code;
    uint32_t call;
    uint32_t len;
    uint8_t bytes[WI_ASK_BYTES];
};

/** PING, BYE: head only. BELL: the worker. LEAVE, SYNC, SYNCED: the call. */
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

/** KNOCK, CHALLENGE. */
struct wi_msg_knock {
    struct wi_msg_head head;
    uint32_t magic;
    uint32_t version_min;
    uint32_t version_max;
    uint8_t nonce[WI_NONCE_BYTES];
};

/** PROOF: under the current secret, and under the previous one. */
struct wi_msg_proof {
    struct wi_msg_head head;
    uint32_t reserved;
    uint8_t mac[2][32];
};

/** SEAL: of the message that follows. */
struct wi_msg_seal {
    struct wi_msg_head head;
    uint8_t mac[32];
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
    struct wi_msg_filter filter;
    struct wi_msg_find find;
    struct wi_msg_found found;
    struct wi_msg_grant grant;
    struct wi_msg_ask ask;
    struct wi_msg_answer answer;
    struct wi_msg_knock knock;
    struct wi_msg_proof proof;
    struct wi_msg_seal seal;
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
