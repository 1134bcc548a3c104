/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Links: the one connection between this node and a peer, shared by all
 * workers and all queries.
 *
 *   state       waits for                    left by
 *   CONNECTING  the transport                CONNECTED -> HELLO
 *   HELLO       ACCEPT (we connected)        ACCEPT -> OPEN, REFUSE -> DEAD
 *   READY       READY (the peer connected)   READY -> OPEN
 *   OPEN        -                            BYE -> CLOSING, CLOSED -> DEAD
 *   CLOSING     BYE of the peer              BYE, CLOSED -> DEAD; EDGE_OPEN
 *                                            from the peer -> OPEN
 *   DEAD        its edges to be released     freed
 *
 * When both ends connect at once, the connection that the lower-numbered
 * member started wins, if it is up; else the other's.
 *
 * The send side of a link belongs to whoever holds its *post lock*. Nobody
 * waits for it: wi_link_post() leaves the work in a queue and does it itself
 * only if the lock is free; whoever holds the lock looks at the queue again
 * before and after it lets go (edge E6). The engine takes the lock for good
 * when the link dies.
 */
#ifndef WI_LINK_H
#define WI_LINK_H

#include "core/format/wire.h"
#include "core/link/edge.h"
#include "core/transport.h"

struct wi_arena;
struct wi_engine;
struct wi_bell;

enum wi_link_state {
    WI_LINK_CONNECTING,
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
    uint8_t bytes[];
};

/** What one write in flight completes. */
struct wi_posted {
    struct wi_out *out;
    uint64_t pos;
};

/* Of a link's `pings`: what is to be sent. */
enum { WI_PING_ASK = 1u << 0, WI_PING_ANSWER = 1u << 1 };

#define WI_POSTED_MAX 256u /* writes in flight per link, power of two */

struct wi_link {
    struct wi_engine *engine; /* constant */
    struct wi_list on_engine; /* engine's dead list */
    struct wi_rcu_head rcu;
    uint32_t member; /* number of the peer */
    uint32_t slot;   /* in engine->slots: ready ids of this link */
    bool self;       /* the link of a node to itself */
    bool mapped;     /* of the transport in use */

    /* written by: engine */
    enum wi_link_state state; /* wi_link_enter() changes it */
    uint64_t since_ns;        /* when it did */
    bool initiator;
    bool lost;     /* died without BYE */
    bool counted;  /* is in the statistics as open */
    bool sealed;   /* the post lock is ours for good */
    bool untold;   /* FAIL was sent while it closed: the next one repeats it */
    weir_err doom; /* lost in the next step, for this; no message goes out */
    struct wi_ep *ep;
    struct wi_transport *home; /* ep's; owns area and what is mapped */
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
    char way[WI_REASON_BYTES]; /* which way it took, and why; see now_open() */
    struct wi_mem area;        /* granted to the peer: our incoming rings */
    uint8_t *offsets; /* of texts in the area, copied out of the peer's reach at
                       * the same places; NULL: not needed (yet) */
    _Atomic(struct wi_in *) *in; /* by first unit; readers under RCU */
    struct wi_list ins;
    uint64_t *used; /* bitmap of our units that are in a ring */
    /* the peer's side */
    uint64_t peer_key;
    uint64_t peer_area_bytes;
    uint32_t peer_unit_bytes;
    uint32_t peer_units;
    uint64_t *peer_used; /* bitmap of units */
    uint32_t peer_free;
    uint8_t *peer_area; /* mapped */
    uint8_t *peer_bells;
    uint64_t peer_bell_bytes;
    uint32_t peer_bell_stride;
    uint32_t peer_bell_base;
    uint32_t peer_bell_ids;
    struct wi_list waiting; /* outs that wait for the link or for units */
    struct wi_list outs;
    struct wi_out **out; /* by first unit */
    uint32_t live_outs;  /* in a ring and not QUIET */
    uint32_t next_epoch;

    /* the send side; queues are put to by anyone */
    struct wi_lq items;     /* struct wi_item: rings to post, credits due */
    struct wi_lq ctl;       /* struct wi_ctl_msg; put by the engine */
    uint32_t ctl_put;       /* messages ever queued; written by: engine */
    _Atomic uint64_t bells; /* peer's workers whose descriptor must ring */
    _Atomic uint32_t pings; /* WI_PING_*; however often, one of each goes out */
    _Atomic uint32_t again;
    _Atomic uint32_t sending; /* 1 while ep may be used */
    _Atomic uint32_t watched; /* kick the engine after the next round */
    alignas(WI_CACHE_LINE) _Atomic uint32_t lock;
    /* written by: post lock holder */
    struct wi_list active;       /* items with work */
    struct wi_ctl_msg *ctl_next; /* taken from ctl, not sent yet */
    _Atomic uint32_t ctl_taken;  /* messages that are in a packet */
    uint32_t packet_len;         /* a packet that is being filled */
    uint32_t posted_begin;
    uint32_t posted_end;
    uint64_t completed_seen;
    bool broken; /* the transport said so */
    struct wi_posted posted[WI_POSTED_MAX];
    uint8_t packet[WI_PACKET_BYTES];
};

/* ---- link.c: engine only, under the node's lock --------------------------- */

/** The link to a member, opened if there is none. NULL: no memory. */
struct wi_link *wi_link_need(struct wi_engine *e, uint32_t member);

/** Events of the transport. */
void wi_link_event(struct wi_engine *e, const struct wi_event *ev);

/** The link has died; why, in one line. Fails the queries of the peer unless
 *  `graceful`. */
void wi_link_down(struct wi_link *l, bool graceful, weir_err code,
                  const char *why);

/** Say BYE if nothing uses the link. */
void wi_link_bye(struct wi_link *l);

/** Timers of one link; called a few times per detect_ns. */
void wi_link_tick(struct wi_link *l, uint64_t now_ns);

/** Something that used the link is over: its idle time begins if that was the
 *  last. */
void wi_link_rest(struct wi_link *l);

/** True while edges or batches of this link are alive. */
bool wi_link_busy(const struct wi_link *l);

/** The link comes to another state. */
void wi_link_enter(struct wi_link *l, enum wi_link_state state);

/** Finish a dead link: true when it was freed. */
bool wi_link_bury(struct wi_link *l);

/** Queue a control message (the self link delivers it in the next step). A
 *  peer that leaves more of them lying than honest traffic comes to loses the
 *  link, in the next step. */
void wi_link_send(struct wi_link *l, const union wi_msg *m);

/** The same, but it may wait for the engine's next step, or for what is sent
 *  before that: several of them then cost one packet. */
void wi_link_send_soon(struct wi_link *l, const union wi_msg *m);
void wi_links_flush(struct wi_engine *e);

/** How many of them wait. */
uint32_t wi_link_queued(const struct wi_link *l);

/* For handshake.c: */

/** A new link to a member. NULL: no memory. */
struct wi_link *wi_link_make(struct wi_engine *e, uint32_t member);

/** Forget the control messages that were not sent. */
void wi_link_drain(struct wi_link *l);

/** Tables for what the peer grants. */
weir_err wi_link_alloc_peer(struct wi_link *l, uint32_t n_units);

/** The handshake is over. */
void wi_link_opened(struct wi_link *l);

/* ---- connect.c: engine only, under the node's lock --------------------------- */

/** Begin to connect to the member. */
weir_err wi_link_dial(struct wi_link *l, struct weir_error *err);

/** CLOSED before the link was up: does it go on over another way, or again? */
bool wi_link_goes_on(struct wi_link *l, const struct wi_event *ev);

/** Note the way that the link took, behind it what came before. */
void wi_link_say_way(struct wi_link *l);

/** Timers of a link that is not up yet. */
void wi_link_connect_tick(struct wi_link *l, uint64_t now_ns);

/* ---- handshake.c: engine only, under the node's lock ------------------------- */

/** The endpoint of a link that this side opens is up: say HELLO. */
void wi_link_connected(struct wi_link *l);

/** Give up our own attempt: the link starts again, without ep. False: it cannot,
 *  because somebody posts. */
bool wi_link_drop_attempt(struct wi_link *l);

/** Take ACCEPT, READY or REFUSE. False: out of place. */
bool wi_link_handshake(struct wi_link *l, const union wi_msg *m);

/** A peer has said HELLO over an endpoint that is nobody's yet: it becomes
 *  that of a link, or is refused. */
void wi_link_hello(struct wi_engine *e, struct wi_ep *ep,
                   const struct wi_msg_hello *h);

/** Is it too early to answer this HELLO? Before this node has joined, and
 *  while an older link to that peer is still there. */
bool wi_link_must_wait(const struct wi_engine *e, const struct wi_msg_hello *h);

/** Send REFUSE over an endpoint that is not a link, and let go of it. */
void wi_ep_refuse(struct wi_engine *e, struct wi_ep *ep, weir_err code,
                  const char *text);

/** The same, and say in the log that it was to be a link. */
void wi_link_refuse(struct wi_engine *e, struct wi_ep *ep, weir_err code,
                    const char *text);

/* ---- post.c: any thread ---------------------------------------------------- */

/** Put an item on the link's queue (once) and post what can be posted. */
void wi_link_post(struct wi_link *l, struct wi_item *item);

/** Post what can be posted, unless another thread is at it. */
void wi_link_pump(struct wi_link *l);

/** Has the send side let go of an item (never to be posted again)? If not, the
 *  engine is kicked after the next round. */
bool wi_link_quiet(struct wi_link *l, struct wi_item *item);

/** Take the post lock for good; false: somebody holds it, and kicks the engine
 *  afterwards. */
bool wi_link_seal(struct wi_link *l);

#endif /* WI_LINK_H */
