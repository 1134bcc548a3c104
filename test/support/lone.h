/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One node among peers that are made of the transport alone: they say what a
 * test has them say, and read only when it wants. All on the simulated network,
 * in one thread.
 *
 *   node: member 0, port 0, manual        raw ends: member 1, port 1
 *
 *   wt_lone_open -> wt_lone_link / wt_lone_dial -> wt_end_say ... WT_TURNS
 *                -> wt_lone_close
 */
#ifndef WT_LONE_H
#define WT_LONE_H

#include <criterion/criterion.h>
#include <weir/weir.h>

#include "core/format/wire.h"
#include "core/transport.h"
#include "transport/sim/simnet.h"

enum { WT_RAWS = 256, WT_LOG_BYTES = 1 << 16 };

struct wt_lone;

/** One endpoint, of a peer. */
struct wt_raw {
    struct wt_lone *lone;
    struct wi_ep *ep; /* NULL: the slot is free */
    bool up;
    bool accepted; /* the node has connected */
    bool closed;
    uint32_t caps;                   /* what its HELLO says [0] */
    uint64_t messages;               /* control messages that came */
    uint64_t of_type[WI_MSG_TYPES];  /* how many of each */
    union wi_msg last[WI_MSG_TYPES]; /* the last of each */
};

struct wt_lone {
    weir_node *node;
    struct wi_simnet *net;
    struct wi_transport *t; /* of the peers */
    struct wi_mem mem;      /* what a peer grants */
    struct wt_raw raws[WT_RAWS];
    bool deaf;        /* the peers poll nothing */
    bool asleep;      /* the node takes no step */
    uint32_t refused; /* connections that the peers close when they come */
    uint64_t next_ns; /* the node wants a step then */
    char log[WT_LOG_BYTES];
    size_t log_len;
    uint32_t lines;
};

/** Open; `params` may say what the node is like. Not joined. */
void wt_lone_open(struct wt_lone *lone, const struct weir_node_params *params);
void wt_lone_close(struct wt_lone *lone);

/** The node joins: itself, and "raw" as member 1. */
void wt_lone_join(struct wt_lone *lone);

/** The node opens query 1 of both members, and with it a link to "raw". */
weir_query *wt_lone_query(struct wt_lone *lone);

/** A connection to the node, that has said nothing yet. */
struct wt_raw *wt_lone_dial(struct wt_lone *lone);

/** HELLO of member 1 over such a connection; returns when ACCEPT has come. */
void wt_raw_hello(struct wt_raw *raw);

/** The handshake of member 1 over such a connection, up to READY. */
void wt_raw_greet(struct wt_raw *raw);

/** Send one message; waits, turning, while the transport is full. */
void wt_raw_say(struct wt_raw *raw, const union wi_msg *m);

/** Send a packet. False: the transport takes no more, or it is closed. */
bool wt_raw_send(struct wt_raw *raw, const void *bytes, uint32_t len);

/** Let go of it. */
void wt_raw_drop(struct wt_raw *raw);

/** Let things happen once, or time pass. False: nothing will ever happen. */
bool wt_lone_turn(struct wt_lone *lone);

/** Turn until nothing more happens at this time. */
void wt_lone_settle(struct wt_lone *lone);

#define WT_TURNS(lone, cond)                                                   \
    do {                                                                       \
        while (!(cond)) {                                                      \
            cr_assert(wt_lone_turn(lone), "nothing more happens, yet not: %s", \
                      #cond);                                                  \
        }                                                                      \
    } while (0)

#endif /* WT_LONE_H */
