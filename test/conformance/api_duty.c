/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that wait look after the network; it goes on when they stop. */
#include "test/conformance/api.h"

#include <pthread.h>

/* A worker that waits for a moment before its first step, and never again. */
struct spinner {
    struct wt_flow *f;
    uint32_t node;
};

static bool step(weir_err (*fn)(void *arg), struct wt_task *t)
{
    if (t->end == WEIR_AGAIN) {
        weir_err rc = fn(t->arg);
        t->end = rc == WEIR_OK ? WEIR_AGAIN : rc;
    }
    return t->end != WEIR_AGAIN;
}

static void *spin(void *arg)
{
    struct spinner *s = arg;
    weir_node *node = s->f->cluster->node[s->node];
    struct wt_task *in = s->f->sink[s->node][0]->task;
    struct wt_task *out = s->f->source[s->node][0]->task;
    while (weir_worker_wait(node, 0, 1000) == WEIR_OK) {
    } /* what opening left to tell */
    bool ended = false;
    while (!ended) {
        bool sent = step(wt_source_step, out);
        ended = step(wt_sink_step, in) && sent;
    }
    return NULL;
}

void wt_api_network_goes_on_when_no_worker_waits(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .node = {.frame_bytes = 1024, .ring_frames = 2}};
    const struct wt_flow_params flow = {.n_rows = 5000};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    struct spinner spinners[3];
    pthread_t threads[3];
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, &flow);
    for (uint32_t i = 0; i < 3; i++) {
        spinners[i] = (struct spinner){.f = &f, .node = i};
        cr_assert_eq(pthread_create(&threads[i], NULL, spin, &spinners[i]), 0);
    }
    for (uint32_t i = 0; i < 3; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    wt_flow_check(&f);
    wt_query_close(&q);
    wt_flow_close(&f);
    wt_cluster_close(&c);
}
