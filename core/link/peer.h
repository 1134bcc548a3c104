/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Peers: whoever has an address. Engine only, under the node's lock.
 *
 *   handle (weir_peer) --> entry of engine->members --> link
 *
 *   entry of a member            a handle of its address; rows and all else
 *                                share the link
 *   max_members + 0 ..           addresses that this node talks to and that are
 *   max_members + max_peers ..   no members'; and nodes that talk to it
 *
 * Links of the last two carry no rows, and each side uses those that it opened
 * itself: nothing has to be believed of an address that a peer says it has, and
 * two such links between two nodes are not one too many. An entry is in use
 * while it has handles or links.
 */
#ifndef WI_PEER_H
#define WI_PEER_H

#include <weir/peer.h>

#include "core/link/engine.h"
#include "core/link/life.h"

struct weir_node;

/** A handle. Constant after open. */
struct weir_peer {
    struct weir_node *node;
    struct wi_engine *engine;
    uint32_t member; /* entry in engine->members */
    char address[WI_ADDRESS_BYTES];
};

/** Find or make the entry of an address and of whom is expected there, and hold
 *  it. Errors: as weir_peer_open_named */
weir_err wi_peer_hold(struct wi_engine *e, const char *address,
                      const char *server_name, uint32_t *entry_out,
                      struct weir_error *err);
void wi_peer_drop(struct wi_engine *e, uint32_t entry);

/** The link of a peer; opened if there is none. NULL: no memory. */
static inline struct wi_link *wi_peer_link(const struct weir_peer *p)
{
    return wi_link_need(p->engine, p->member);
}

#endif /* WI_PEER_H */
