/* SPDX-License-Identifier: Apache-2.0 */
/* Reports that are asked for while workers move rows; for the thread sanitizer
 * above all. */
#include "test/conformance/api.h"

#include <string.h>

enum { FRAME_BYTES = 4096 };

struct asker {
    struct wt_cluster *c;
    _Atomic bool over;
    uint32_t whole; /* reports that began as they should */
};

static void take_line(void *arg, const char *line)
{
    struct asker *a = arg;
    a->whole += strncmp(line, "node: ", 6) == 0;
}

static void *ask(void *arg)
{
    struct asker *a = arg;
    while (!a->over || a->whole == 0) {
        for (uint32_t i = 0; i < a->c->n_nodes; i++) {
            (void)weir_node_report(a->c->node[i], take_line, a);
        }
    }
    return NULL;
}

static void report_beside(const struct wt_place *place, uint64_t memory_bytes)
{
    const struct wt_cluster_params cluster = {
        .nodes = 2,
        .workers = 2,
        .node = {.frame_bytes = FRAME_BYTES, .memory_bytes = memory_bytes}};
    const struct wt_flow_params flow = {.n_rows = 20000};
    static struct wt_cluster c;
    static struct wt_flow f;
    static struct wt_query q;
    static struct asker a;
    pthread_t thread;
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, &flow);
    a = (struct asker){.c = &c};
    cr_assert_eq(pthread_create(&thread, NULL, ask, &a), 0);
    bool ran = wt_cluster_run(&c);
    a.over = true;
    (void)pthread_join(thread, NULL);
    cr_assert(ran && c.why[0] == '\0', "%s", c.why);
    cr_assert_gt(a.whole, 0);
    wt_flow_check(&f);
    wt_query_close(&q);
    wt_flow_close(&f);
    wt_cluster_close(&c);
}

void wt_api_report_beside_workers(const struct wt_place *place)
{
    const struct wt_cluster_params least = {
        .nodes = 2, .workers = 2, .node = {.frame_bytes = FRAME_BYTES}};
    report_beside(place, 0);
    report_beside(place, wt_least_memory(place, &least)); /* node rings */
}
