/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Nodes of the library in the processes of a group (group.h): what to call
 * them ("process 2 of 4"), where they listen, and how they find each other.
 *
 *   each process:  open (writes its address) --> wl_group_meet --> join
 */
#ifndef WL_NODES_H
#define WL_NODES_H

#include <stdint.h>

#include <weir/error.h>
#include <weir/node.h>

#define WL_ADDRESS_BYTES 256u /* those of auto hold all of a node's */

/** The same in all processes of the group. */
struct wl_nodes {
    const char *kind; /* of program; part of the names over shm */
    uint32_t run;     /* tells apart what one parent runs */
    uint32_t n;
    char (*address)[WL_ADDRESS_BYTES]; /* [n], in memory of the group */
    struct weir_node_params params;    /* of each; name and max_members are
                                          filled in, `listen` has no port */
};

/**
 * Open the node of this process and write down its address. SIGUSR1 prints its
 * report from now on (ask.h).
 *
 * Errors:     as weir_node_open
 * Blocks:     shortly
 * Threads:    one
 * Ownership:  wl_nodes_close
 */
weir_err wl_nodes_open(const struct wl_nodes *nodes, uint32_t self,
                       weir_node **out, struct weir_error *err);

/** weir_node_close; NULL is allowed. */
void wl_nodes_close(weir_node *node);

/**
 * Join the others; all of them are open.
 *
 * Errors:     as weir_node_join
 * Blocks:     as weir_node_join
 * Threads:    one
 * Ownership:  nothing
 */
weir_err wl_nodes_join(const struct wl_nodes *nodes, weir_node *node,
                       struct weir_error *err);

/** A query's message without the name of the node that was the first to find
 *  the fault. Errors: none. Blocks: never. Threads: any. Ownership: points into
 *  message. */
const char *wl_nodes_cause(const struct wl_nodes *nodes, const char *message);

#endif /* WL_NODES_H */
