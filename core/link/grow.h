/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Members that come and go after this node has joined. Engine only, under the
 * node's lock.
 *
 *   number   free --add--> member --remove--> removed, for good
 *                            |  ^
 *                            `--' add, by the same name: it was started again,
 *                                 perhaps at another address
 *
 * Queries keep the members that they were opened with; the link to one that was
 * removed stays while they need it.
 */
#ifndef WI_GROW_H
#define WI_GROW_H

#include "core/link/engine.h"

/** A member comes, or moves to another address. Errors: as
 *  weir_node_add_member. */
weir_err wi_member_add(struct wi_engine *e, uint32_t idx,
                       const struct weir_member *member,
                       struct weir_error *err);

/** A member leaves. Errors: as weir_node_remove_member. */
weir_err wi_member_remove(struct wi_engine *e, uint32_t idx,
                          struct weir_error *err);

#endif /* WI_GROW_H */
