/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The engine: everything of a node that is not on the path of a row.
 *
 *   transport events ---+                 +--- links, edges, members
 *   calls of the API ---+--> wi_engine ---+--- queries and their failure
 *   time ---------------+     step(now)   +--- workers' bells
 *
 * A state machine without thread, clock or system call: everything happens in
 * a step (core/node/step.h) or in a call of the API, both under the node's lock
 * (lock.h), and time is an argument. The network thread is a loop around the
 * step; the simulator steps hundreds of engines in one thread.
 */
#ifndef WI_ENGINE_H
#define WI_ENGINE_H

#include <weir/node.h>
#include <weir/stats.h>

#include "core/base/cc.h"
#include "core/base/clock.h"
#include "core/base/forks.h"
#include "core/base/list.h"
#include "core/base/log.h"
#include "core/base/lq.h"
#include "core/format/wire.h"
#include "core/link/members.h"
#include "core/link/upcalls.h"
#include "core/link/worker.h"
#include "core/ring/arena.h"
#include "core/ring/budget.h"
#include "core/transport.h"

struct wi_join;
struct wi_keys;
struct wi_link;
struct wi_regions;
struct wi_tombs;

#define WI_ARENAS 8u /* transports below one node that can write */

/* Lists of what belongs to queries, by their numbers: hundreds are open at a
 * time. */
#define WI_QUERY_LISTS 64u

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
    uint32_t forks;                     /* wi_forks, when it was opened */
    struct wi_arena *arenas[WI_ARENAS]; /* of the transports of endpoints */
    struct wi_worker *workers;
    bool flexible;  /* memory_bytes is the default */
    bool unlimited; /* max_shuffles is: more than planned wait for rings */
    bool certified; /* over tcp it shows a certificate, and looks at those of
                       others */
    struct wi_mem bell_mem; /* all bells; granted to mapped peers */
    bool bells_mapped;
    uint32_t bell_stride;
    uint32_t n_ids; /* ring ids of this node: max_members x n_units */
    void (*wake_fn)(void *arg);                  /* wake the network thread */
    void (*ring_fn)(void *arg, uint32_t worker); /* ring a worker's fd */
    void (*fill_fn)(void *arg); /* make copies of regions: wi_extent_take() */
    bool (*draw_fn)(void *bytes, size_t n); /* random bytes; false: none */
    void *hook_arg;
    const struct wi_upcalls *up;           /* to the queries */
    const struct wi_share_upcalls *shares; /* to the regions */

    /* written by: engine */
    struct wi_keys *keys; /* NULL: no secret, nobody is asked for proof */
    uint64_t now_ns;
    uint64_t tick_ns;          /* next housekeeping */
    uint64_t nudge_ns;         /* wake workers that keep dense frames back */
    uint64_t watch_ns;         /* look at what stands still */
    struct wi_member *members; /* max_members of them, then 2 x max_peers of
                                  others: peer.h */
    uint32_t n_members;        /* one above the highest number */
    uint32_t self;
    struct wi_old_text *old_texts;    /* of members */
    _Atomic(struct wi_link *) *slots; /* max_members of them; RCU */
    uint32_t n_slots;
    struct wi_list dead;   /* links to bury */
    struct wi_list limbo;  /* items to free when the send side lets go */
    struct wi_list strays; /* wi_in: over, but still on a local queue */
    struct wi_list queries;
    struct wi_list queries_of[WI_QUERY_LISTS]; /* the same */
    struct wi_list ins_of[WI_QUERY_LISTS]; /* rings of peers, those on links */
    struct wi_tombs *tombs;                /* the queries': tomb.h */
    struct wi_regions *regions;            /* core/region/regions.h */
    struct wi_list greeting; /* endpoints that have not said HELLO yet */
    uint32_t n_guests;       /* of these */
    uint32_t n_hellos;       /* of these: have said it, but must wait */
    struct wi_gate strangers[WI_CAUSES];
    struct wi_lq self_msgs;  /* messages of the self link */
    uint32_t n_self_msgs;    /* in self_msgs */
    _Atomic uint32_t unsent; /* links have messages that wait for the next step,
                                or for a worker that looks before it sleeps */
    struct wi_list unsent_to[2]; /* these links: to members above us, below */
    struct wi_lq inbox;          /* struct wi_in that are empty */
    struct wi_lq failures; /* struct wi_in that a dispatcher found broken */
    _Atomic uint32_t kick; /* something for the next step */
    uint64_t mem_bytes;    /* bells, ring areas, arenas */
    uint64_t mem_peak;
    uint64_t filter_bytes; /* of peers' filters; not in mem_bytes */
    uint32_t open_shuffles;
    struct wi_join *join;     /* seed join in progress */
    bool seed;                /* of a cluster that is complete: it may grow */
    uint32_t change;          /* of the members since; see news.h */
    uint32_t changed_last;    /* whose it was */
    uint64_t news_ns;         /* tell the others then */
    struct wi_list newcomers; /* who is being told the list: newcomer.c */
    struct wi_event *events;  /* polled and not handled yet */
    uint32_t n_events;
    bool closing;
    struct weir_node_stats stats; /* the cold ones */
};

/** Is this a child of the process that opened it? Then nothing of it may be
 *  touched: locks may be held by threads that are not here, and mapped memory
 *  is the parent's as well. */
static inline bool wi_engine_inherited(const struct wi_engine *e)
{
    return e->forks != wi_forks;
}

/** WEIR_OK, or WEIR_ERR_STATE and what a child may do instead. */
weir_err wi_engine_check_own(const struct wi_engine *e, struct weir_error *err);

/** What this node can do on a link (WI_WIRE_CAP_*). */
uint32_t wi_engine_caps(const struct wi_engine *e);

/** Disconnect an endpoint, and forget its events that were polled already. */
void wi_engine_disconnect(struct wi_engine *e, struct wi_ep *ep);

/** Work was left for the next step: make sure that there is one. Any thread. */
void wi_engine_kick(struct wi_engine *e);

/** A ring area of a transport that links use, within the cap. */
weir_err wi_engine_area_open(struct wi_engine *e, struct wi_transport *t,
                             struct wi_mem *mem, struct weir_error *err);
void wi_engine_area_close(struct wi_engine *e, struct wi_transport *t,
                          struct wi_mem *mem);

/** The arena for what is sent over endpoints of t. NULL: no memory. */
struct wi_arena *wi_engine_arena(struct wi_engine *e, struct wi_transport *t);

/** Entries of members, and of others behind them. */
static inline uint32_t wi_engine_entries(const struct wi_engine *e)
{
    return e->cfg.max_members + 2 * (uint32_t)e->cfg.max_peers;
}

/** Now, for hot paths, as wi_clock_coarse(). */
uint64_t wi_engine_coarse_ns(const struct wi_engine *e);

/** Which of the lists of a query are its. Numbers often count up. */
static inline uint32_t wi_query_list(uint64_t query_id)
{
    return (uint32_t)(query_id ^ query_id >> 32) % WI_QUERY_LISTS;
}

/** Housekeeping is due at `at_ns` at the latest. */
static inline void wi_engine_due(struct wi_engine *e, uint64_t at_ns)
{
    e->tick_ns = wi_min_u64(e->tick_ns, at_ns);
}

/** A time some `ns` from now for what happens to many links of a large cluster
 *  at about the same time: a tick looks at all links, so they share it. */
static inline uint64_t wi_engine_about(const struct wi_engine *e, uint64_t ns)
{
    uint64_t at_ns = wi_time_add(e->now_ns, ns);
    return wi_time_add(at_ns, ns / 8 - at_ns % (ns / 8));
}

#endif /* WI_ENGINE_H */
