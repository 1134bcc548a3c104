/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Regions of a node: what it publishes, what peers hold of it, and what it
 * holds of peers. All of it under the node's lock, but for what says otherwise.
 *
 *   owner                                   reader
 *   weir_region --> wi_extent (memory    wi_piece (what was found), cached
 *     that is granted) --> wi_holder (a grant    per link until DROP or REVOKE
 *     to the peer of one link)
 *   wi_call (a FIND or an ASK that waits)   wi_find (a FIND on its way)
 *                                           wi_op (one get, put or ask)
 *
 *   wi_share: what belongs to one link; wi_regions: what belongs to the node
 *
 *   regions.c  set-up, step, timers         share.c  where links and this meet
 *   region.c   weir_region_*                owner.c  FIND, DROP; grants
 *   extent.c   parts; copies of them        gone.c   ends of mappings
 *   call.c     calls that wait; weir_ask*   piece.c  FIND's ends, REVOKE
 *   op*.c      operations, link's side      piece_table.c  the cache itself
 *   fetch*.c   the worker's side            tally.c  is a piece still good?
 */
#ifndef WI_REGIONS_H
#define WI_REGIONS_H

#include <weir/ask.h>
#include <weir/fetch.h>
#include <weir/region.h>

#include "core/base/table.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/lock.h"

enum {
    WI_CALLS_MAX = 64,    /* FINDs under way over a link */
    WI_ASKED_MAX = 65536, /* bytes of ASKs under way over a link, as */
    WI_ASK_LEAST = 64,    /* they are charged: a multiple of this */
    /* Pieces that are kept, used or not: so many of a link in any case, and
       beyond that posted ones, of all links together. What is mapped takes
       mappings, of which a process has some 65,000. */
    WI_PIECES_OF_LINK = 256,
    WI_PIECES_OF_NODE = 65536, /* some 16 MiB */
    WI_STAGED_SHIFT = 20,
    WI_STAGED_BYTES = 1 << WI_STAGED_SHIFT, /* of a part that is copied */
};

struct wi_regions {
    struct weir_node *node;
    struct wi_list regions; /* open, or closed and not given back */
    struct wi_table names;  /* of those that are published */
    struct wi_list fetches; /* open, or closed with bytes in flight */
    struct wi_list asks;    /* struct weir_asks */
    struct wi_list shares;
    struct wi_list waiting; /* struct wi_call: FINDs to be tried again */
    struct wi_list staged;  /* struct wi_extent: copies, least recently found
                               first; */
    struct wi_list to_fill; /* of these: to be made, */
    struct wi_list filled;  /* made since the last step */
    struct wi_list gone;    /* struct wi_gone: for the stager, too */
    uint64_t staged_bytes;  /* of mem_bytes */
    uint32_t n_pieces;      /* in the tables of all shares */
    uint64_t last_handle;
    uint64_t last_id;         /* of calls */
    uint64_t begun;           /* counts calls that have begun operations */
    _Atomic uint32_t revokes; /* pieces revoked so far; written by: engine */
    struct wi_lq unused;      /* struct wi_piece without users; put by: any */
};

/** What an ask with an argument of so many bytes costs its link. */
static inline uint32_t wi_ask_charge(uint32_t len)
{
    uint32_t least = WI_ASK_LEAST;
    return len < least ? least : (len + least - 1) & ~(least - 1);
}

/** What the link to a peer has of regions. */
struct wi_share {
    struct wi_link *link;
    struct wi_list on_regions;
    /* as owner */
    struct wi_list holders;
    struct wi_table held;  /* these, by handle and key; */
    struct wi_list ending; /* and those that were dropped, to be ungranted */
    struct wi_list calls;
    uint32_t n_finds;
    uint32_t ask_bytes;      /* of ASKs, as charged */
    uint64_t round;          /* of its last ask, see call.c */
    uint64_t told;           /* REVOKEs sent, see tally.h; */
    struct wi_mem tally_mem; /* the page that says so, */
    uint64_t tally_key;      /* granted; 0: not (yet) */
    bool tally_lacks;        /* there was no memory for it */
    /* as reader */
    struct wi_list pieces;     /* least recently used first; */
    struct wi_table by_name;   /* these, by name and place, */
    struct wi_table by_handle; /* and by handle */
    uint32_t n_pieces;
    struct wi_list leaving; /* pieces that are not in the table, but used */
    struct wi_list finds;
    struct wi_list ops;
    struct wi_list looking; /* operations that wait for their turn to find, */
    struct wi_list asking;  /* or to ask, or for the link */
    bool room; /* there is for some of them: the step lets them go on */
    uint32_t asked_bytes; /* of ASKs on their way, as charged */
    uint32_t n_found;     /* FINDs on their way */
    uint32_t last_call;
    uint64_t heard;         /* REVOKEs that have come */
    struct wi_tally *tally; /* where memory is mapped */
    bool tally_taken;       /* what FOUND says of it */
};

struct weir_region {
    struct weir_node *node;
    struct wi_list on_regions;
    struct wi_list parts;
    struct wi_entry by_name;
    struct weir_name name;
    enum weir_region_kind kind;
    bool published;
    bool closed;
    bool writable;
    uint64_t handle;
    uint8_t *base;
    uint64_t bytes;
    struct wi_mem mem; /* NEW */
    int fd;            /* FILE; else -1 */
    uint64_t file_off; /* of a constant one, `base` is there */
    bool constant;
    void (*release)(void *arg);
    void *release_arg;
    uint64_t until_ns; /* closed: holders that have not let go lose their
                          link then */
};

/** By what a file has changed, see core/node/stager.c. */
struct wi_stamp {
    uint64_t bytes;
    int64_t modified_ns;
    int64_t changed_ns;
    bool settled; /* a later change has a later time */
};

/** Memory of a region that can be granted over one transport. */
struct wi_extent {
    struct weir_region *region;
    struct wi_list on_region;
    struct wi_transport *home; /* NULL: for the node itself */
    struct wi_mem mem;
    bool own_mem;   /* mem is closed with the part */
    uint64_t off;   /* in the region */
    uint64_t bytes; /* that are there, */
    uint64_t span;  /* of so many, unless it is short */
    struct wi_list holders;
    uint32_t users;    /* pieces of the node itself, and who makes a copy */
    bool revoked;      /* its holders were told to let go, */
    uint64_t until_ns; /* and lose their links if they have not by then */
    /* copies, see extent.h */
    bool staged;
    bool filling;          /* it is not made yet, or it is compared */
    uint64_t from;         /* call (wi_regions.last_id) at which that began; */
    uint64_t good;         /* it is as its file or memory was after this call */
    struct wi_stamp stamp; /* written by: stager */
    struct wi_list on_staged;
    struct wi_list on_fill;
    struct weir_error why; /* it is short */
};

/** A grant to the peer of a link. */
struct wi_holder {
    struct wi_list on_part;
    struct wi_list on_share;
    struct wi_entry by_key;
    struct wi_extent *part;
    struct wi_share *share;
    uint64_t key;
    uint32_t access;
    uint32_t founds; /* FOUNDs sent that were not dropped */
    bool ending;     /* dropped, see struct wi_share */
};

/** A piece of a region, at its reader. */
struct wi_piece {
    struct wi_engine *engine;
    struct wi_share *share; /* NULL: not in a table any more */
    struct wi_list on_share;
    struct wi_entry by_name;
    struct wi_entry by_handle;
    struct wi_lq_node unused;
    _Atomic uint32_t users;   /* E14: the table, operations, bytes lent,
                                 caches of fetches */
    _Atomic uint32_t revoked; /* look for another */
    uint32_t member;
    struct weir_name name;
    uint32_t access;
    uint32_t founds;
    uint64_t asked; /* of what had begun by then (wi_regions.begun) it is known
                       that the region was published after */
    bool once;      /* it is for these alone */
    struct wi_tally *tally;
    uint64_t handle;
    uint64_t key;
    uint64_t origin;
    uint64_t region_bytes;
    uint64_t off;
    uint64_t bytes;
    uint64_t incarnation;
    uint8_t *base; /* NULL: posted */
    uint64_t map_bytes;
    struct wi_transport *home; /* of the mapping; NULL: no mapping */
    struct wi_extent *part;    /* of the node itself */
};

/** Set-up and end of a node. */
weir_err wi_regions_init(struct weir_node *n);
void wi_regions_fini(struct wi_engine *e);

/** The program closes the node: so are regions, asks and fetches that it left
 *  open. */
void wi_regions_abort(struct weir_node *n);

/** A part of the engine's step. Returns how much moved. */
uint32_t wi_regions_step(struct wi_engine *e);

/** Deadlines. Returns when the next one is. @param late_ns  so long this node
 *  stood still: who has not given back what was revoked gets it in addition */
uint64_t wi_regions_tick(struct wi_engine *e, uint64_t late_ns);

/** A code that a peer has sent, which has to be an error. */
static inline weir_err wi_peer_code(int32_t code)
{
    return code < 0 ? (weir_err)code : WEIR_ERR_PEER_PROTOCOL;
}

static inline bool wi_name_equal(const struct weir_name *a,
                                 const struct weir_name *b)
{
    return a->id == b->id && a->space == b->space;
}

#endif /* WI_REGIONS_H */
