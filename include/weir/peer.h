/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Peers: nodes that this node talks to, members of its cluster or not.
 *
 *   weir_peer_open(node, "tcp:10.0.0.7:4711") --> a handle, at once
 *      weir_fetch_get, weir_fetch_ask ...          (fetch.h)
 *   weir_peer_close
 *
 * Neither node has to be a member of a cluster. A link is opened when the peer
 * is first needed, and closed when it has been idle
 * (weir_node_params.idle_close_ns) or its last handle was closed. All handles
 * of one address share it. If a member has the address when the handle is
 * opened, the link is the member's, with the rows of queries, and the handle
 * stays with the member when that moves (weir_node_add_member).
 *
 * A peer that was killed and started again at its address is a new
 * *incarnation*: operations that were under way with the old one end with
 * WEIR_ERR_PEER_LOST, and the next ones go to the new one. Whoever must not mix
 * the two compares weir_got.incarnation (fetch.h).
 */
#ifndef WEIR_PEER_H
#define WEIR_PEER_H

#include <stdint.h>

#include <weir/error.h>
#include <weir/node.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_peer weir_peer;

/**
 * A handle of the node at an address. Nobody is asked yet whether there is one.
 *
 * @param address   as weir_node_address() of that node says; the own address is
 *                  allowed
 * @param peer_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG (not an address of this node's transport),
 *             WEIR_ERR_BUDGET (more than max_peers that are no members),
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  weir_peer_close, before the node's close
 */
WEIR_API weir_err weir_peer_open(weir_node *node, const char *address,
                                 weir_peer **peer_out, struct weir_error *err);

/**
 * The same, of a node of which another name is known than the host of its
 * address. Where this node has a certificate, nothing is said to whoever
 * answers there without `server_name` in his (weir/identity.h, "Whom a guest
 * expects"). Handles with different names have links of their own.
 *
 * @param server_name  a DNS name or an IP address; NULL: the host of the
 *                     address, or its name if it is a member's. Copied
 *
 * Errors:     as weir_peer_open, and WEIR_ERR_ARG (this node has no
 *             certificate, so nobody would show it one)
 * Blocks:     never
 * Threads:    any
 * Ownership:  as weir_peer_open
 */
WEIR_API weir_err weir_peer_open_named(weir_node *node, const char *address,
                                       const char *server_name,
                                       weir_peer **peer_out,
                                       struct weir_error *err);

/**
 * Give a handle back. The link stays while others use it. Fetches that name the
 * handle were closed before.
 *
 * Errors: none.  Blocks: never.  Threads: any.  Ownership: frees peer; NULL is
 * allowed
 */
WEIR_API void weir_peer_close(weir_peer *peer);

/** The address it was opened with.
 *  Errors: none. Blocks: never. Threads: any. Ownership: the handle's. */
WEIR_API const char *weir_peer_address(const weir_peer *peer);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_PEER_H */
