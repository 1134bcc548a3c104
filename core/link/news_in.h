/* SPDX-License-Identifier: Apache-2.0 */
/** A member hears from its seed what is new (news.h). Under the node's lock. */
#ifndef WI_NEWS_IN_H
#define WI_NEWS_IN_H

#include "core/link/engine.h"
#include "core/link/link.h"

/** MEMBER came over a link. What contradicts this node's own list is logged,
 *  and that list stays. Errors: WEIR_ERR_PEER_PROTOCOL */
weir_err wi_news_on_member(struct wi_link *l, const union wi_msg *m,
                           struct weir_error *err);

#endif /* WI_NEWS_IN_H */
