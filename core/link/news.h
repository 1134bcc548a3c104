/* SPDX-License-Identifier: Apache-2.0 */
/**
 * News: what a seed tells the members of its cluster about members that came,
 * or moved, after the cluster was complete. Engine only, under the node's lock.
 *
 *   seed                                member p
 *   member i comes: change of i = 4
 *   p has heard 3
 *      link OPEN    --MEMBER i-->       adds i, as weir_node_add_member
 *   p has heard 4
 *
 * Who has no link gets one. A link that is lost may have lost news with it, and
 * a member that was started again has heard nothing: it is told everything that
 * changed since the cluster was complete, which to hear twice does nothing.
 * Members that cannot be reached are tried again every connect_ns.
 *
 *   news.c       what there is to tell
 *   news_send.c  tells it
 *   news_in.c    hears it, on the others
 */
#ifndef WI_NEWS_H
#define WI_NEWS_H

#include "core/link/engine.h"
#include "core/link/link.h"

/** Member idx came, or moved. Nothing happens on a node that is no seed. */
void wi_news_changed(struct wi_engine *e, uint32_t idx);

/** A link to a member is open, or has ended. */
void wi_news_link_opened(struct wi_link *l);
void wi_news_link_gone(struct wi_link *l, bool clean);

#endif /* WI_NEWS_H */
