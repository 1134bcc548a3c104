/* SPDX-License-Identifier: Apache-2.0 */
/** A cluster with one query and one flow: what most tests of the interface
 *  need. */
#ifndef WT_WORLD_H
#define WT_WORLD_H

#include "test/support/flow.h"

struct wt_world {
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
};

/** All of it, joined and opened. Fails the test on error. Ownership:
 *  wt_world_close. */
struct wt_world *wt_world_open(const struct wt_place *place,
                               const struct wt_cluster_params *cluster,
                               const struct wt_flow_params *flow);

/** Run to the end: every row has come once, or the test fails. */
void wt_world_run(struct wt_world *w);

void wt_world_close(struct wt_world *w);

#endif /* WT_WORLD_H */
