/* SPDX-License-Identifier: Apache-2.0 */
/** Which rings workers have in common (common.h): how they come and go. Under
 *  the node's lock. */
#ifndef WI_COMMON_RINGS_H
#define WI_COMMON_RINGS_H

#include "core/link/common.h"

/** For n_expected rings, and workers 0 .. workers-1. NULL: no memory. */
struct wi_common *wi_common_open(struct wi_engine *e, uint32_t n_expected,
                                 uint32_t workers);

/** Nobody reads any more: stop all rings, let go of them, free. Workers may
 *  still be looking (RCU). */
void wi_common_close(struct wi_common *c);

/** A ring came: add it, and, once its query is set, start to take from it. */
void wi_common_add(struct wi_common *c, struct wi_in *in);
void wi_common_start(struct wi_common *c, struct wi_in *in);

/** A worker has had enough. The last one stops the producers. */
void wi_common_enough(struct wi_common *c, uint32_t worker);

#endif /* WI_COMMON_RINGS_H */
