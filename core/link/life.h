/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A link from when it is needed to its end. Engine only, under the node's lock.
 */
#ifndef WI_LIFE_H
#define WI_LIFE_H

#include "core/link/engine.h"
#include "core/link/link.h"

/** The link to a member; opened if there is none. NULL: no memory. */
struct wi_link *wi_link_need(struct wi_engine *e, uint32_t member);

/** The handshake is over. */
void wi_link_opened(struct wi_link *l);

/** The peer still needs a link that we have said BYE on. */
void wi_link_revive(struct wi_link *l);

/** The link has died; why, in one line. Fails the queries of the peer unless
 *  `graceful`. */
void wi_link_down(struct wi_link *l, bool graceful, weir_err code,
                  const char *why);

/** Say BYE if nothing uses the link. */
void wi_link_bye(struct wi_link *l);

/** BYE came. */
weir_err wi_link_on_bye(struct wi_link *l, const union wi_msg *m,
                        struct weir_error *err);

/** Lose a link whose messages could not be queued (`doom`). True: it was so. */
bool wi_link_meet_doom(struct wi_link *l);

/** This node looks at its timers late_ns too late: it slept, or was busy with
 *  its own set-up. In that time it saw nothing of its peers, so it is not held
 *  against them: what they are waited for is moved on. */
void wi_link_excuse(struct wi_link *l, uint64_t late_ns);

/** Timers of one link, a few times per detect_ns. */
void wi_link_tick(struct wi_link *l, uint64_t now_ns);

/** Finish a dead link: true when it was freed. */
bool wi_link_bury(struct wi_link *l);

#endif /* WI_LIFE_H */
