/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The engine: everything of a node that is not on the path of a row.
 *
 *   transport events ---+                 +--- links, edges, members
 *   calls of the API ---+--> wi_engine ---+--- queries and their failure
 *   time -------------- +     step(now)   +--- workers' bells
 *
 * A state machine without thread, clock or system call: everything happens in
 * wi_engine_step() or in a call of the API, both under the node's lock, and
 * time is an argument. The network thread (netthread.c) is a loop around it;
 * the simulator steps hundreds of them in one thread.
 */
#ifndef WI_ENGINE_H
#define WI_ENGINE_H

#include <weir/node.h>
#include <weir/stats.h>

#include "core/base/log.h"
#include "core/link/link.h"
#include "core/query/tomb.h"
#include "core/ring/arena.h"
#include "core/ring/budget.h"
#include "core/ring/ready.h"

struct weir_query;
struct weir_writer;

/** Kinds of warnings, see warn.h. */
enum wi_cause {
    WI_CAUSE_CONNECT,
    WI_CAUSE_LOST,
    WI_CAUSE_REFUSED,
    WI_CAUSE_JOIN,
    WI_CAUSE_CROWD,
    WI_CAUSE_OUTSIDE,
    WI_CAUSES,
};

/** Lets one warning of a kind through in a while. */
struct wi_gate {
    uint64_t open_ns;
    uint32_t held; /* since the last one */
};

struct wi_member {
    char *name;
    char *address;
    uint32_t workers;
    struct wi_link *link; /* the live one, or NULL */
    bool rested;          /* there was one, and it closed in good order */
    struct wi_gate gates[WI_CAUSES];
    struct wi_notes notes;
};

#define WI_GUESTS 32u      /* connections that have not said who they are */
#define WI_WORKERS_MAX 64u /* of one node */
#define WI_ARENAS 8u       /* transports below one node that can write */

/** Counters of one worker: only its thread writes them. */
struct wi_worker_stats {
    _Atomic uint64_t rows_sent, bytes_sent, frames_sent;
    _Atomic uint64_t rows_received, bytes_received, frames_received;
    _Atomic uint64_t pushes_blocked, waits;
};

static inline void wi_stat_add(_Atomic uint64_t *stat, uint64_t n)
{
    /* rlx: only its worker writes it */
    wi_store_rlx(stat, wi_load_rlx(stat) + n);
}

/* What a worker holds that a full ring stopped is kept for so long at most. */
#define WI_KEEP_NS 5000000u

struct wi_worker {
    struct wi_engine *engine; /* constant */
    struct wi_bell *bell;     /* constant */
    uint32_t idx;             /* constant */
    /* written by: the worker */
    alignas(WI_CACHE_LINE) bool happened; /* others' readers became ready */
    uint32_t spin;                        /* adaptive */
    uint32_t no_turns; /* so many waits give none: they were taken */
    uint64_t keep_ns;  /* adaptive: WI_DENSE_NS to WI_KEEP_NS */
    bool blocked;      /* a push found a ring full since the last wait */
    bool settled; /* all was flushed; nothing pushed, nothing happened since */
    bool owes;    /* a reader holds credits back */
    uint32_t progress;      /* counts pushes, and batches that were read */
    struct wi_lq local;     /* wi_stream with dispatched frames; put by: any */
    struct wi_list writers; /* open writers; changed under the node's lock */
    struct wi_list readers; /* open readers; the same */
    struct wi_worker_stats stats;
    _Atomic uint32_t turns; /* counts waits and arms, also those in vain */
    struct wi_watch
        rested;     /* written by: engine; since when it sleeps or not */
    _Atomic int fd; /* eventfd of foreign loops, -1 until asked for */
};

struct wi_engine {
    /* constant after open */
    struct weir_node_params cfg; /* defaults filled in */
    char name[WI_NAME_BYTES];
    char address[WI_ADDRESS_BYTES];
    struct wi_log log;
    const struct wi_transport_ops *ops;
    struct wi_transport *transport;
    struct wi_budget budget;
    uint64_t incarnation;
    struct wi_arena *arenas[WI_ARENAS]; /* of the transports of endpoints */
    struct wi_worker *workers;
    struct wi_mem bell_mem; /* all bells; granted to mapped peers */
    bool bells_mapped;
    uint32_t bell_stride;
    uint32_t n_ids; /* ring ids of this node: max_members x n_units */
    void (*wake_fn)(void *arg);                  /* wake the network thread */
    void (*ring_fn)(void *arg, uint32_t worker); /* ring a worker's fd */
    void *hook_arg;

    /* written by: engine */
    uint64_t now_ns;
    uint64_t tick_ns;  /* next housekeeping */
    uint64_t nudge_ns; /* wake workers that hold back dense frames */
    uint64_t watch_ns; /* look at what stands still */
    struct wi_member *members;
    uint32_t n_members;
    uint32_t self;
    _Atomic(struct wi_link *) *slots; /* max_members of them; RCU */
    uint32_t n_slots;
    struct wi_list dead;   /* links to bury */
    struct wi_list limbo;  /* items to free once the post side let go */
    struct wi_list strays; /* wi_in: over, but still on a local queue */
    struct wi_list queries;
    struct wi_tomb *tombs;   /* ring of WI_TOMBS */
    uint32_t n_tombs;        /* ever made */
    uint64_t n_notes;        /* the same */
    struct wi_list greeting; /* endpoints that have not said HELLO yet */
    uint32_t n_guests;       /* of these */
    uint32_t n_hellos;       /* of these: did, and have to wait */
    struct wi_gate strangers[WI_CAUSES];
    struct wi_lq self_msgs; /* messages of the self link */
    uint32_t n_self_msgs;   /* in it */
    bool unsent;           /* links have messages that wait for the next step */
    struct wi_lq inbox;    /* struct wi_in that are empty */
    struct wi_lq failures; /* struct wi_in that a dispatcher found broken */
    _Atomic uint32_t kick; /* something for the next step */
    uint64_t mem_bytes;    /* bells, ring areas, arenas */
    uint64_t mem_peak;
    uint32_t open_shuffles;
    struct wi_join *join;    /* seed join in progress */
    struct wi_event *events; /* polled and not handled yet */
    uint32_t n_events;
    bool closing;
    struct weir_node_stats stats; /* the cold ones */
};

/* ---- engine.c ---------------------------------------------------------------- */

/**
 * Set up an engine. cfg has its defaults filled in.
 *
 * Errors: as weir_node_open.  Ownership: wi_engine_fini, also after an error
 */
weir_err wi_engine_init(struct wi_engine *e, const struct weir_node_params *cfg,
                        struct weir_error *err);
void wi_engine_fini(struct wi_engine *e);

/** Do everything that can be done at now_ns. Returns how many things. */
uint32_t wi_engine_step(struct wi_engine *e, uint64_t now_ns);

/** When to step again if nothing happens. */
uint64_t wi_engine_next(const struct wi_engine *e);

/** Disconnect an endpoint, and forget its events that were polled already. */
void wi_engine_disconnect(struct wi_engine *e, struct wi_ep *ep);

/** Something was left for the next step: make sure that there is one. */
void wi_engine_kick(struct wi_engine *e);

weir_err wi_engine_join(struct wi_engine *e, const struct weir_member *members,
                        uint32_t n, struct weir_error *err);

/** Name of a member for messages. */
const char *wi_engine_member_name(const struct wi_engine *e, uint32_t idx);

/** Wake a worker for an event of the engine. */
void wi_worker_notify(struct wi_worker *w, uint32_t attn);

/** Wake all workers, whatever a dead peer has left undone. */
void wi_engine_rouse(struct wi_engine *e);

/** A ring area of a transport that links use, within the cap. */
weir_err wi_engine_area_open(struct wi_engine *e, struct wi_transport *t,
                             struct wi_mem *mem, struct weir_error *err);
void wi_engine_area_close(struct wi_engine *e, struct wi_transport *t,
                          struct wi_mem *mem);

/** The arena for what is sent over endpoints of t. NULL: no memory. */
struct wi_arena *wi_engine_arena(struct wi_engine *e, struct wi_transport *t);

/** The next housekeeping is due no later than at. */
static inline void wi_engine_due(struct wi_engine *e, uint64_t at_ns)
{
    e->tick_ns = wi_min_u64(e->tick_ns, at_ns);
}

/* ---- edge.c ------------------------------------------------------------------ */

/** A control message about edges from a link. Fails: protocol broken (err). */
weir_err wi_edge_message(struct wi_link *l, const union wi_msg *m,
                         struct weir_error *err);
/** Send one of those that name an edge and nothing else. */
void wi_edge_send(struct wi_link *l, enum wi_msg_type type, uint32_t edge,
                  uint32_t epoch);
/** Free what a sealed dead link still holds; true if nothing is left. */
bool wi_edges_bury(struct wi_link *l);
/** Free the edges in limbo that the send side has let go of. */
void wi_edges_limbo(struct wi_engine *e);

/* ---- edge_out.c -------------------------------------------------------------- */

/** The messages that a consumer sends. Errors as wi_edge_message(). */
weir_err wi_out_message(struct wi_link *l, const union wi_msg *m,
                        struct weir_error *err);
/** Put a WAITING out on the link to its consumer. */
void wi_out_start(struct wi_link *l, struct wi_out *o);
/** Give rings to the outs that wait, as far as units go. */
void wi_out_place(struct wi_link *l);
/** The writer is done: abandon unless END was written; frees when it can. */
void wi_out_release(struct wi_out *o, bool ended);
/** The consumer wants no more and the worker has stopped writing. */
void wi_out_abandon(struct wi_out *o);
/** Over at both ends, and the send side has let go of it. */
void wi_out_free(struct wi_out *o);

/* ---- edge_in.c --------------------------------------------------------------- */

/** The messages that a producer sends. Errors as wi_edge_message(). */
weir_err wi_in_message(struct wi_link *l, const union wi_msg *m,
                       struct weir_error *err);
/** May the peer write there? Only where a ring is open, and there to none of what
 *  it has published and the reader not released: so nothing changes that was
 *  checked. For wi_guard; arg is the link. */
bool wi_in_may_write(void *arg, uint64_t off, uint64_t bytes);
/** Empty and finished: tell the producer, free once no reader points to it.
 *  Engine's inbox. */
void wi_in_finish(struct wi_in *in);
/** Nothing is held of it, and no reader points to it. */
bool wi_in_released(const struct wi_in *in);
/** Released, and the send side has let go of it. */
void wi_in_free(struct wi_in *in);
/** The link died: nobody is told any more. */
void wi_edges_dead(struct wi_link *l);
/** Free the strays that their workers have taken off; `all`: no worker runs. */
void wi_edges_strays(struct wi_engine *e, bool all);

/* ---- stream.c ---------------------------------------------------------------- */

/** Give the streams of an in to the readers of their workers. */
void wi_in_attach(struct wi_in *in, struct weir_query *q);
/** Nobody will ever read this ring: stop its producer, finish. */
void wi_in_refuse(struct wi_in *in);
bool wi_in_has_readers(const struct wi_in *in);
/** The reader has enough, and (detach) goes away. */
void wi_stream_stop(struct wi_stream *st);
void wi_stream_detach(struct wi_stream *st);

/* ---- in_ring.c: any thread ----------------------------------------------------- */

/** Hand the released prefix of a ring back to its producer. */
void wi_in_advance(struct wi_in *in);
/** Wake the producer of a mapped ring that waits for room. */
void wi_in_wake_producer(struct wi_in *in);
/** Nobody will read any more; tell the engine once everything is released. */
void wi_in_finish_when_empty(struct wi_in *in);

/* ---- scan.c --------------------------------------------------------------------- */

/** The reader of a ring waits for more: credits that were held back are sent,
 *  and from now on at once. By who scans the ring. */
void wi_in_starve(struct wi_in *in);
/** A dispatcher found the ring broken: fail its query. Engine's queue. */
void wi_in_failed(struct wi_in *in);

/* ---- query.c, query_fail.c ------------------------------------------------------------------- */

struct weir_query *wi_query_find(struct wi_engine *e, uint64_t id);

/** Fail a query here and on its other members. First error wins. */
void wi_query_fail(struct weir_query *q, weir_err code, const char *text);
/** `what` was closed too early, `why` says what is missing: fail it on all
 *  members. */
void wi_query_abort(struct weir_query *q, const char *what, const char *why);
/** A link is lost, and its peer with it: every query that the peer belongs to
 *  fails, here too as soon as the query's judge has said so: the first member
 *  that is not lost. */
void wi_query_peer_lost(const struct wi_link *l, weir_err code,
                        const char *why);
/** A link is gone, lost or not: ask again whoever owes an answer over it, and
 *  repeat what it may not have brought to the peer any more. */
void wi_query_unlinked(const struct wi_link *l);
/** This node closes and opens no query any more: fail those that have edges to
 *  it, and that it has not opened. */
void wi_query_decline(struct wi_link *l);
/** Is a member part of an open query? */
bool wi_query_includes(const struct wi_engine *e, uint32_t member);
/** Does an open query wait for producers of a member that have not come yet? */
bool wi_query_expects(const struct wi_engine *e, uint32_t member);
/** A link is open: tell the peer of queries that failed before, and of shuffles
 *  that are open. */
void wi_query_linked(struct wi_link *l);
void wi_query_message(struct wi_link *l, const struct wi_msg_fail *m);
/** SHUFFLE, CLOSE, DIFFER. */
void wi_query_agree(struct wi_link *l, const union wi_msg *m);
/** An edge comes for a query that is not open here. True: it is over, nobody
 *  will read it; and it fails, if the shuffle never came to its end here. */
bool wi_query_over(struct wi_link *l, uint64_t id, uint32_t shuffle);
/** Deadlines; returns the next one. */
uint64_t wi_query_deadlines(struct wi_engine *e, uint64_t now_ns);

/* ---- join.c --------------------------------------------------------------------- */

/** JOIN or MEMBER from an endpoint that is not a link. */
void wi_join_message(struct wi_engine *e, struct wi_ep *ep,
                     const struct wi_msg_member *m);
void wi_join_event(struct wi_engine *e, const struct wi_event *ev);

#endif /* WI_ENGINE_H */
