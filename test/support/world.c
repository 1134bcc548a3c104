/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/world.h"

#include <criterion/criterion.h>
#include <stdlib.h>

struct wt_world *wt_world_open(const struct wt_place *place,
                               const struct wt_cluster_params *cluster,
                               const struct wt_flow_params *flow)
{
    struct wt_world *w = calloc(1, sizeof(*w));
    cr_assert_not_null(w);
    wt_cluster_open(&w->c, place, cluster);
    wt_query_open(&w->q, &w->c, 1, NULL);
    wt_flow_open(&w->f, &w->q, flow);
    return w;
}

void wt_world_run(struct wt_world *w)
{
    bool ran = wt_cluster_run(&w->c);
    cr_assert(ran, "%s", w->c.why);
    wt_flow_check(&w->f);
}

void wt_world_close(struct wt_world *w)
{
    wt_query_close(&w->q);
    wt_flow_close(&w->f);
    wt_cluster_close(&w->c);
    free(w);
}
