/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Links: the one connection between this node and a peer, shared by all
 * workers and all queries.
 *
 *   state       waits for                    left by
 *   CONNECTING  the transport                CONNECTED -> HELLO, or PROOF
 *   PROOF       proof of who is there        PROOF -> HELLO, REFUSE -> DEAD
 *   HELLO       ACCEPT (we connected)        ACCEPT -> OPEN, REFUSE -> DEAD
 *   READY       READY (the peer connected)   READY -> OPEN
 *   OPEN        -                            BYE -> CLOSING, CLOSED -> DEAD
 *   CLOSING     BYE of the peer              BYE, CLOSED -> DEAD; EDGE_OPEN
 *                                            from the peer -> OPEN
 *   DEAD        its edges to be released     freed
 *
 * When both ends connect at once, the connection that the lower-numbered
 * member started wins if it is up, else the other one.
 *
 *   link.c       made, asked, freed
 *   members.c    members, and who else there is (peer.c): who has which link
 *   connect.c    until it has an endpoint that is up
 *   handshake.c  HELLO, ACCEPT, READY, REFUSE; hello.c: what they say
 *   life.c       opened when needed, watched, closed, lost
 *   messages.c   what comes: events, packets, one row for each message type
 *   send.c       control messages that go out
 *   post.c       the send side: rings, credits, packets; any thread
 *
 * All but post.c runs under the node's lock.
 */
#ifndef WI_LINK_H
#define WI_LINK_H

#include "core/base/atomic.h"
#include "core/base/cc.h"
#include "core/base/list.h"
#include "core/base/lq.h"
#include "core/base/rcu.h"
#include "core/format/wire.h"
#include "core/link/item.h"
#include "core/transport.h"

struct wi_arena;
struct wi_engine;
struct wi_in;
struct wi_out;
struct wi_share;

enum wi_link_state {
    WI_LINK_CONNECTING,
    WI_LINK_PROOF,
    WI_LINK_HELLO,
    WI_LINK_READY,
    WI_LINK_OPEN,
    WI_LINK_CLOSING,
    WI_LINK_DEAD,
};

/** A control message on its way out. */
struct wi_ctl_msg {
    struct wi_lq_node node;
    uint32_t len;
    uint32_t member; /* whom it is for; only looked at in self_msgs */
    uint8_t bytes[];
};

struct wi_transfer;

/** What one operation in flight completes. */
struct wi_posted {
    struct wi_out *out;           /* NULL: it is of a transfer, */
    struct wi_transfer *transfer; /* or, if NULL, of all of them */
    uint64_t pos; /* of the ring; of a transfer: how many bytes */
};

/* Bits of a link's `pings`: what is to be sent. */
enum { WI_PING_ASK = 1u << 0, WI_PING_ANSWER = 1u << 1 };

#define WI_POSTED_MAX 256u /* operations in flight per link, power of two */

struct wi_link {
    struct wi_engine *engine; /* constant */
    struct wi_list on_engine; /* engine's dead list */
    struct wi_list unsent;    /* on engine->unsent_to */
    struct wi_rcu_head rcu;
    uint32_t member; /* entry of the peer in engine->members */
    uint32_t slot;   /* in engine->slots: ready ids of this link */
    bool self;       /* the link of a node to itself */
    bool outside;    /* not as members of one cluster: no rings */
    bool mapped;     /* of the transport in use */

    /* written by: engine */
    enum wi_link_state state; /* wi_link_enter() changes it */
    uint64_t since_ns;        /* when it did */
    bool initiator;
    bool lost;     /* died without BYE */
    bool counted;  /* is in the statistics as open */
    bool sealed;   /* the post lock is ours for good */
    bool untold;   /* FAIL was sent while it closed: the next link repeats it */
    weir_err doom; /* lost in the next step, for this; nothing is sent */
    struct wi_ep *ep;
    struct wi_transport *home; /* of ep, area and mappings */
    struct wi_arena *arena;    /* home's, for outgoing rings */
    uint64_t deadline_ns;      /* handshake */
    uint64_t patience_ns;      /* CONNECTING: then the next way is tried, or
                                  without ep the same again */
    uint64_t pause_ns;         /* before the last new attempt; 0: was none */
    uint64_t last_rx_ns;
    uint64_t ping_ns; /* oldest PING without an answer, 0: none */
    uint64_t idle_since_ns;
    uint64_t peer_incarnation;
    uint32_t caps;
    char way
        [WI_REASON_BYTES]; /* which way it took, and why: wi_link_say_way() */
    struct wi_mem area;    /* granted to the peer: our incoming rings */
    uint8_t *offsets; /* of texts in the area: copied out of the peer's reach
                       * to the same places; NULL: not needed (yet) */
    _Atomic(struct wi_in *) *in; /* by first unit; readers under RCU */
    struct wi_list ins;
    uint64_t *used;  /* bitmap of our units that are in a ring */
    uint64_t *taken; /* bitmap of our units whose pages are there; posted */
    _Atomic uint32_t taken_units; /* of ours, as the peer knows them: how many
                                     are in a ring, or were in one whose CLOSED
                                     may not have left */
    uint32_t late_units;          /* of these, the latter */
    /* the peer's side */
    uint64_t peer_key;
    uint64_t peer_area_bytes;
    uint32_t peer_unit_bytes;
    uint32_t peer_units;
    uint64_t *peer_used; /* bitmap of units */
    uint32_t peer_free;
    uint64_t starved_ns; /* a ring is wanted, and nothing has moved in those
                            that there are since; 0: not so */
    uint64_t moved;      /* how far they were then */
    uint8_t *peer_area;  /* mapped */
    _Atomic uint32_t *peer_pages; /* mapped: by first unit, bytes of a ring
                                     there that have pages; written by: the
                                     worker that has the ring */
    uint8_t *peer_bells;
    uint64_t peer_bell_bytes;
    uint32_t peer_bell_stride;
    uint32_t peer_bell_base;
    uint32_t peer_bell_ids;
    struct wi_list waiting; /* outs that wait for the link or for units */
    struct wi_list outs;
    struct wi_out **out; /* by first unit */
    uint32_t live_outs;  /* in a ring, their writers not closed */
    uint32_t next_epoch;
    struct wi_share *share; /* the regions': share.h; NULL: not used yet */
    /* A word of the peer's that is read ahead of its memory (region/tally.h),
     * and where to; NULL: none. Set before a transfer is started. */
    uint64_t tally_key;
    uint64_t tally_off;
    _Atomic uint64_t *tally_into;
    _Atomic uint64_t tally_read; /* there, if any memory will do */

    /* the send side; queues are put to by anyone */
    struct wi_lq items;      /* struct wi_item: rings to post, credits due */
    struct wi_item transfer; /* stands for all transfers, see transfer.h */
    struct wi_lq transfers;  /* struct wi_transfer */
    struct wi_lq ctl;        /* struct wi_ctl_msg; put by the engine */
    uint32_t ctl_put;        /* messages ever queued; written by: engine */
    _Atomic uint64_t bells;  /* peer's workers whose descriptor must ring */
    _Atomic uint32_t pings;  /* WI_PING_*; at most one of each goes out */
    _Atomic uint32_t again;
    _Atomic uint32_t sending; /* 1 while ep may be used */
    _Atomic uint32_t watched; /* kick the engine after the next round */
    alignas(WI_CACHE_LINE) _Atomic uint32_t lock;
    /* written by: post lock holder */
    struct wi_list active;       /* items with work */
    struct wi_list transferring; /* struct wi_transfer with bytes to post */
    uint32_t transfers_posted;   /* operations of transfers in flight */
    bool tally_due;              /* before the next of them */
    struct wi_ctl_msg *ctl_next; /* taken from ctl, not sent yet */
    _Atomic uint32_t ctl_taken;  /* messages that are in a packet */
    uint32_t packet_len;         /* a packet that is being filled */
    bool packet_first;           /* it goes before any write */
    uint32_t posted_begin;
    uint32_t posted_end;
    uint64_t completed_seen;
    bool broken; /* the transport said so */
    struct wi_posted posted[WI_POSTED_MAX];
    uint8_t packet[WI_PACKET_BYTES];
};

/** A new link to a member or a peer. NULL: no memory. */
struct wi_link *wi_link_make(struct wi_engine *e, uint32_t member);

/** The live link behind another one; NULL: the first; NULL when there is none.
 *  The other one may have ended meanwhile. */
struct wi_link *wi_link_after(const struct wi_engine *e,
                              const struct wi_link *l);

/** All live links of an engine; they may end meanwhile. */
#define wi_each_link(e, l)                                                     \
    for (struct wi_link *l = wi_link_after((e), NULL); (l) != NULL;            \
         (l) = wi_link_after((e), (l)))

/** Change the state of a link. */
void wi_link_enter(struct wi_link *l, enum wi_link_state state);

/** Tables for what the peer grants. */
weir_err wi_link_alloc_peer(struct wi_link *l, uint32_t n_units);

/** Has it edges that are not closed? Abandoned ones count only if asked. */
bool wi_link_has_edges(const struct wi_link *l, bool abandoned);

/** True while edges or batches of this link are alive. */
bool wi_link_busy(const struct wi_link *l);

/** The same, or open queries may need it. */
bool wi_link_needed(const struct wi_link *l);

/** Until when a link that is not needed stays open: not at all if it is of an
 *  address of which this node has no handle any more. */
uint64_t wi_link_idle_until(const struct wi_link *l);

/** A use of the link is over: if it was the last, the link is at rest from now
 *  on. */
void wi_link_rest(struct wi_link *l);

/** Forget the control messages that were not sent. */
void wi_link_drain(struct wi_link *l);

/** Free a dead link that holds nothing any more; wi_link_bury() says when. */
void wi_link_free(struct wi_link *l);

#endif /* WI_LINK_H */
