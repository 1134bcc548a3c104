/* SPDX-License-Identifier: Apache-2.0 */
/** A query and a flow over the first n nodes of a cluster that grows. */
#ifndef WT_API_PART_H
#define WT_API_PART_H

#include "test/conformance/api.h"

struct wt_part {
    struct wt_query q;
    struct wt_flow f;
    uint32_t n;
};

/** Open both on n nodes; the flow has not begun. */
void wt_part_open(struct wt_part *p, struct wt_cluster *c, uint64_t id,
                  uint32_t n);

/** Let the flow run to its end, check its rows, close both. */
void wt_part_end(struct wt_part *p);

#endif /* WT_API_PART_H */
