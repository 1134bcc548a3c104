/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The members of the cluster. Constant after this node has joined, but for the
 * link to each. Under the node's lock.
 */
#ifndef WI_MEMBERS_H
#define WI_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/node.h>

#include "core/link/warn.h"

struct wi_engine;
struct wi_link;

struct wi_member {
    char *name;
    char *address;
    uint32_t workers;
    struct wi_link *link; /* the live one, or NULL */
    bool rested;          /* there was one, and it closed in good order */
    struct wi_gate gates[WI_CAUSES];
};

/**
 * Check a list of members and copy it: this node has joined.
 *
 * Errors: as weir_node_join.  Blocks: never
 */
weir_err wi_members_join(struct wi_engine *e, const struct weir_member *members,
                         uint32_t n, struct weir_error *err);

void wi_members_free(struct wi_engine *e);

/** Name of a member for messages. */
const char *wi_member_name(const struct wi_engine *e, uint32_t idx);

#endif /* WI_MEMBERS_H */
