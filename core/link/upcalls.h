/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What links ask the queries that use them, and tell them; and the regions
 * likewise. Links know either by these calls only.
 *
 *   core/query   wi_query_upcalls      above: which edge is whose, who fails
 *        ^             |
 *        |  calls      | engine.up, constant after open
 *   core/link -------- +               below: edges, rings, peers
 *
 * All calls are made under the node's lock.
 */
#ifndef WI_UPCALLS_H
#define WI_UPCALLS_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

#include "core/format/wire.h"

struct wi_engine;
struct wi_in;
struct wi_link;
struct wi_out;

struct wi_upcalls {
    /** FAIL, SHUFFLE, CLOSE, DIFFER or FILTER came. */
    void (*message)(struct wi_link *l, const union wi_msg *m);

    /* ---- edges ----------------------------------------------------------- */

    /** A peer has opened a ring: give it to its readers, or refuse it
     *  (wi_in_refuse), now or when the query is opened. */
    void (*edge_opened)(struct wi_in *in);
    /** A ring that a query had taken (in->query is set) is being freed. */
    void (*edge_freed)(struct wi_in *in);
    /** A ring cannot be had from the peer. */
    void (*edge_failed)(struct wi_out *o, weir_err code, const char *why);

    /* ---- links ----------------------------------------------------------- */

    /** A link is open: tell the peer what it has missed. */
    void (*link_opened)(struct wi_link *l);
    /** A link is lost, and its peer with it. */
    void (*peer_lost)(const struct wi_link *l, weir_err code, const char *why);
    /** A link is gone, lost or not: whoever was owed an answer over it asks
     *  again, and what may not have been delivered is repeated. */
    void (*link_gone)(const struct wi_link *l);
    /** Is a member part of a query that is open and has not failed? */
    bool (*needs)(const struct wi_engine *e, uint32_t member);
    /** Is it part of a query that is open here, or that was and may be open
     *  there? */
    bool (*knows)(const struct wi_engine *e, uint32_t member);
    /** Does such a query, which has not failed, wait for rings of a member that
     *  have not come? */
    bool (*expects)(const struct wi_engine *e, uint32_t member);
};

/** The same for regions (core/region), all under the node's lock. */
struct wi_share_upcalls {
    /** FIND to SYNCED came. Errors: the peer broke the protocol. */
    weir_err (*message)(struct wi_link *l, const union wi_msg *m,
                        struct weir_error *err);
    /** A link is open, or again. */
    void (*link_opened)(struct wi_link *l);
    /** A link is gone; clean: closed because nobody needed it. */
    void (*link_gone)(struct wi_link *l, bool clean, weir_err code,
                      const char *why);
    /** Nothing is posted any more on a link that is gone. */
    void (*link_over)(struct wi_link *l);
    /** Is something under way over the link, for either side? */
    bool (*busy)(const struct wi_link *l);
};

#endif /* WI_UPCALLS_H */
