/* SPDX-License-Identifier: Apache-2.0 */
/** A seed tells its members what is new (news.h). Under the node's lock. */
#ifndef WI_NEWS_SEND_H
#define WI_NEWS_SEND_H

#include "core/link/engine.h"

/** Timer: tell what there is to tell. */
void wi_news_tick(struct wi_engine *e);

#endif /* WI_NEWS_SEND_H */
