/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The seed of a join: it numbers those who ask, and sends all of them the list
 * once that is complete (picture in join.h). Engine only, under the node's
 * lock.
 */
#ifndef WI_SEED_H
#define WI_SEED_H

#include "core/link/join_list.h"

/** JOIN from an endpoint that is not a link. */
void wi_seed_message(struct wi_engine *e, struct wi_ep *ep,
                     const struct wi_msg_member *m);

/** An event of an endpoint that has asked. */
void wi_seed_event(struct wi_engine *e, struct wi_join *j,
                   const struct wi_event *ev);

/** Has everyone received the list, or left? */
bool wi_seed_all_told(const struct wi_join *j);

#endif /* WI_SEED_H */
