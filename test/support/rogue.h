/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A member of a cluster that is no node: it speaks the wire protocol by a
 * second implementation (wire.h) and does what a test tells it, right or wrong.
 *
 *   test --sends, writes--> wt_rogue_link --carrier--> node
 *        <--what came------
 *
 * A carrier brings messages and writes to nodes: the simulated network, or
 * plain tcp sockets. By itself a rogue answers what a polite peer answers
 * (HELLO, ACCEPT, PING), as far as the link says so, and keeps what came.
 */
#ifndef WT_ROGUE_H
#define WT_ROGUE_H

#include <stdbool.h>
#include <stdint.h>

#include "test/support/wire.h"

enum {
    WT_ROGUE_LINKS = 96,
    WT_ROGUE_EDGES = 64,
    WT_ROGUE_AREA = 1 << 20, /* what it grants to each peer */
};

struct wt_rogue;

/** A ring that a node has opened towards the rogue. */
struct wt_rogue_edge {
    uint32_t edge;
    uint32_t epoch;
    uint32_t shuffle;
    uint32_t ring_bytes;
    uint64_t query;
    uint64_t pos; /* last NOTIFY */
    bool gone;    /* abandoned or closed */
};

/** One connection. */
struct wt_rogue_link {
    struct wt_rogue *rogue;
    void *ep; /* the carrier's */
    int fd;
    bool used;
    bool up;        /* connected: bytes can be sent */
    bool open;      /* the handshake is over */
    bool closed;    /* by the other end, or broken */
    bool mute;      /* answers nothing by itself */
    bool deaf;      /* does not even read (tcp) */
    uint32_t reads; /* READs that came (tcp) */
    uint32_t more;  /* bytes that answers to READs are too long (tcp) */
    uint32_t peer;
    uint64_t peer_key;
    uint64_t peer_bytes;
    uint32_t peer_units;
    uint64_t key; /* of what is granted to the peer */
    uint8_t *area;
    uint32_t seen[WT_MSG_TYPES]; /* how often each type came */
    struct wt_msg last[WT_MSG_TYPES];
    struct wt_rogue_edge edge[WT_ROGUE_EDGES];
    uint32_t n_edges;
    uint8_t *in; /* bytes that are no whole record yet (tcp) */
    uint32_t in_bytes;
    bool greeted;
};

/** How its bytes travel. */
struct wt_carrier {
    /** Begin to connect; `up` follows, or `closed`. */
    void (*connect)(struct wt_rogue_link *l, const char *address);
    /** One message of any length. */
    void (*send)(struct wt_rogue_link *l, const void *bytes, uint32_t len);
    /** Into what the peer granted under this key. */
    void (*write)(struct wt_rogue_link *l, uint64_t key, uint64_t off,
                  const void *bytes, uint32_t len);
    void (*close)(struct wt_rogue_link *l);
    /** Take what came, hand it to wt_rogue_take(). How many things. */
    uint32_t (*poll)(struct wt_rogue *r);
};

struct wt_rogue {
    const struct wt_carrier *carrier;
    void *transport; /* the carrier's */
    int listener;
    char address[256];
    char name[64];
    uint32_t self;
    uint32_t n_members;
    uint32_t workers;
    uint32_t frame_bytes;
    uint32_t unit_bytes;
    uint64_t incarnation;
    bool welcomes;        /* lets nodes connect; else hangs up */
    bool without_regions; /* agrees to no message about them */
    struct wt_rogue_link link[WT_ROGUE_LINKS];
};

/** A new connection to a node; nothing is sent over it. */
struct wt_rogue_link *wt_rogue_dial(struct wt_rogue *r, uint32_t peer,
                                    const char *address);

/** One that a node has made. For carriers; NULL: hang up. */
struct wt_rogue_link *wt_rogue_accept(struct wt_rogue *r);

/** A HELLO, ACCEPT or READY as it has to be, to be sent or spoilt. */
struct wt_msg wt_rogue_hello(const struct wt_rogue_link *l,
                             enum wt_msg_type type);

void wt_rogue_send(struct wt_rogue_link *l, const struct wt_msg *m);
void wt_rogue_write(struct wt_rogue_link *l, uint64_t off, const void *bytes,
                    uint32_t len);
void wt_rogue_hang_up(struct wt_rogue_link *l);

/** A whole message has come. For carriers. */
void wt_rogue_take(struct wt_rogue_link *l, const uint8_t *bytes, uint32_t len);

/** Where ring `unit` begins in what the peer granted. */
uint64_t wt_rogue_ring(const struct wt_rogue_link *l, uint32_t unit);

/** Messages about an edge: offsets 4, 8, 12 and 16 of their tables. */
struct wt_msg wt_rogue_pos(enum wt_msg_type type, uint32_t edge, uint32_t epoch,
                           uint64_t pos);
struct wt_msg wt_rogue_edge_msg(enum wt_msg_type type, uint32_t edge,
                                uint32_t epoch, uint32_t arg);

/* ---- carriers ------------------------------------------------------------ */

struct wi_simnet;
/** At a port of a simulated network. Fills carrier, transport and address. */
void wt_rogue_on_sim(struct wt_rogue *r, struct wi_simnet *net, uint32_t port);
void wt_rogue_off_sim(struct wt_rogue *r);

/** At a port of 127.0.0.1. */
void wt_rogue_on_tcp(struct wt_rogue *r);
void wt_rogue_off_tcp(struct wt_rogue *r);
/** Bytes as they are, without a record around them (tcp). */
void wt_rogue_raw(struct wt_rogue_link *l, const void *bytes, uint32_t len);
/** The head of a tcp record. */
void wt_rogue_record(uint8_t at[24], uint32_t type, uint32_t bytes,
                     uint64_t key, uint64_t off);

/** End the process with a reason if something does not hold. Tests of Criterion
 *  and fuzz targets alike use these helpers. */
#define WT_MUST(ok, ...)                                                       \
    do {                                                                       \
        if (!(ok)) {                                                           \
            wt_must_fail(__FILE__, __LINE__, __VA_ARGS__);                     \
        }                                                                      \
    } while (0)
void wt_must_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((noreturn, cold, format(printf, 3, 4)));

#endif /* WT_ROGUE_H */
