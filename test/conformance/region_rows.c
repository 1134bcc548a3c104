/* SPDX-License-Identifier: Apache-2.0 */
/* Gets beside the rows of a query, over one link: neither waits for the end of
 * the other. */
#include "test/conformance/region.h"

#include <stdlib.h>
#include <weir/stats.h>

#include "test/support/flow.h"

enum { PIECE = 256 << 10, IN_FLIGHT = 4, TEXT = 1000, OWNER = 1 };

/* Gets without a pause, until the rows have come. */
struct getter {
    struct wt_reads *r;
    const struct wt_sink *rows;
    uint32_t in_flight;
    uint64_t ended; /* gets, while rows came */
};

static void post(struct getter *g)
{
    uint32_t taken = 1;
    while (g->in_flight < IN_FLIGHT && taken == 1) {
        const struct weir_get get = {.name = {7, 90}, .bytes = PIECE};
        weir_err rc =
            weir_fetch_get(g->r->fetch, g->r->peer[OWNER], &get, 1, &taken);
        if (rc < 0) {
            wt_complain(&g->r->c, "a get: %s", weir_err_name(rc));
        }
        g->in_flight += taken;
    }
}

static bool take(struct getter *g)
{
    struct weir_got got;
    if (weir_fetch_next(g->r->fetch, &got) != WEIR_OK) {
        return false;
    }
    if (got.code != WEIR_OK || !wt_bytes_are(got.ptr, 90, 0, PIECE)) {
        wt_complain(&g->r->c, "a get ended with %s, or wrong bytes: %s",
                    weir_err_name(got.code), weir_fetch_error(g->r->fetch));
    }
    weir_fetch_release(g->r->fetch, &got);
    g->in_flight--;
    return true;
}

static weir_err get_on(void *arg)
{
    struct getter *g = arg;
    bool over = g->rows->task->end != WEIR_AGAIN;
    bool took = take(g);
    g->ended += took && !over;
    if (over) {
        return took ? WEIR_OK : g->in_flight == 0 ? WEIR_DONE : WEIR_AGAIN;
    }
    post(g);
    return took ? WEIR_OK : WEIR_AGAIN;
}

/* Returns how many bytes gets had when all rows had come. */
static uint64_t run_both(struct wt_reads *r, uint64_t n_rows)
{
    static const uint32_t from = OWNER;
    static const uint32_t to = 0;
    struct wt_query q;
    struct wt_flow f;
    weir_region *region = wt_region(r, OWNER, 90, PIECE, 0);
    wt_query_open(&q, &r->c, 1, NULL);
    wt_flow_open(
        &f, &q,
        &(struct wt_flow_params){.shuffle = wt_way(1, NULL, &from, &to),
                                 .rows = {.big_every = 1, .big_bytes = TEXT},
                                 .n_rows = n_rows});
    struct getter g = {.r = r, .rows = f.sink[0][0]};
    wt_task(&r->c, 0, 0, get_on, &g);
    cr_assert(wt_cluster_run(&r->c), "%s", r->c.why);
    wt_flow_check(&f);
    wt_query_close(&q);
    wt_flow_close(&f);
    weir_region_close(region);
    return g.ended * PIECE;
}

/* The rows come although gets never pause, and gets go on meanwhile. */
void wt_region_rows_come_beside_gets(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    cr_assert_gt(run_both(r, 20000), 0);
    wt_reads_close(r);
}

/* On a link that is the bottleneck, what travels is shared as what may be in
 * flight is: 1 MiB of gets, and a ring of four frames of 60 KiB. */
void wt_region_rows_and_gets_share_a_link(const struct wt_place *place)
{
    enum { ROWS = 20000, BYTES = ROWS * TEXT };
    struct wt_reads *r = wt_reads_open_on(
        place,
        &(struct wt_cluster_params){.node = {.frame_bytes = 61440},
                                    .sim = {.bandwidth = 100000000}},
        NULL);
    uint64_t got = run_both(r, ROWS);
    cr_assert_geq(got, BYTES, "%u", (unsigned)got);
    cr_assert_leq(got, BYTES * 6ull, "%u", (unsigned)got);
    wt_reads_close(r);
}
