/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The send side of a link: whoever finds the post lock free posts for all.
 *
 *   any thread --put--> items, ctl, pings, bells
 *                            | wi_link_pump(): the holder of the post lock
 *                            v
 *                       writes and packets, in the transport's order
 *
 * Nobody waits for the lock. wi_link_post() leaves the work in a queue and does
 * it itself only if the lock is free; the holder looks at the queue again after
 * it lets go of the lock (edge E6). The engine takes the lock for good when the
 * link dies.
 */
#ifndef WI_POST_H
#define WI_POST_H

#include "core/link/edge.h"
#include "core/link/link.h"

/** Put an item on the link's queue (once) and post what can be posted. */
void wi_link_post(struct wi_link *l, struct wi_item *item);

/** Put an item on the link's queue (once), for the next round. */
void wi_link_leave(struct wi_link *l, struct wi_item *item);

/** Post what can be posted, unless another thread is at it. */
void wi_link_pump(struct wi_link *l);

/** Has the send side let go of an item (never to be posted again)? If not, the
 *  engine is kicked after the next round. */
bool wi_link_quiet(struct wi_link *l, struct wi_item *item);

/** End a grant of the link's endpoint: `ungrant` of core/transport.h, or
 *  WEIR_AGAIN: another thread posts, and kicks the engine afterwards. */
weir_err wi_link_ungrant(struct wi_link *l, const struct wi_mem *mem,
                         uint64_t key);

/** Take the post lock for good; false: another thread has it, and kicks the
 *  engine afterwards. */
bool wi_link_seal(struct wi_link *l);

#endif /* WI_POST_H */
