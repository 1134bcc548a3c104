/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conformance/region.h"

#include <stdlib.h>

struct wt_reads *wt_reads_open_on(const struct wt_place *place,
                                  const struct wt_cluster_params *cluster,
                                  const struct weir_fetch_params *params)
{
    struct wt_reads *r = calloc(1, sizeof(*r));
    cr_assert_not_null(r);
    wt_cluster_open(&r->c, place, cluster);
    r->fetch = wt_fetch_of(r, 0, params);
    for (uint32_t i = 0; i < r->c.n_nodes; i++) {
        r->peer[i] = wt_peer_of(r, 0, i);
    }
    return r;
}

struct wt_reads *wt_reads_open(const struct wt_place *place, uint32_t nodes,
                               const struct weir_fetch_params *params)
{
    return wt_reads_open_on(place, &(struct wt_cluster_params){.nodes = nodes},
                            params);
}

struct wt_reads *wt_reads_open_small(const struct wt_place *place,
                                     uint64_t more_bytes)
{
    struct wt_cluster_params p = {0};
    p.node.memory_bytes = wt_least_memory(place, &p) + more_bytes;
    return wt_reads_open_on(place, &p, NULL);
}

void wt_reads_close(struct wt_reads *r)
{
    weir_fetch_close(r->fetch);
    for (uint32_t i = 0; i < r->c.n_nodes; i++) {
        weir_peer_close(r->peer[i]);
    }
    wt_cluster_close(&r->c);
    free(r);
}

weir_fetch *wt_fetch_of(struct wt_reads *r, uint32_t node,
                        const struct weir_fetch_params *params)
{
    struct weir_error err;
    weir_fetch *f = NULL;
    cr_assert_eq(weir_fetch_open(r->c.node[node], params, &f, &err), WEIR_OK,
                 "%s", err.message);
    return f;
}

weir_peer *wt_peer_of(struct wt_reads *r, uint32_t node, uint32_t to)
{
    struct weir_error err;
    struct weir_member m;
    weir_peer *p = NULL;
    cr_assert_eq(weir_node_member(r->c.node[node], to, &m), WEIR_OK);
    cr_assert_eq(weir_peer_open(r->c.node[node], m.address, &p, &err), WEIR_OK,
                 "%s", err.message);
    cr_assert_str_eq(weir_peer_address(p), m.address);
    return p;
}

struct waits {
    weir_fetch *fetch;
    struct weir_got got;
    weir_err rc;
};

static bool has_next(void *arg)
{
    struct waits *w = arg;
    w->rc = weir_fetch_next(w->fetch, &w->got);
    return w->rc != WEIR_AGAIN;
}

struct weir_got wt_next_of(struct wt_reads *r, weir_fetch *fetch)
{
    struct waits w = {.fetch = fetch};
    cr_assert(wt_until(&r->c, has_next, &w), "nothing ended");
    cr_assert_eq(w.rc, WEIR_OK, "%s", weir_err_name(w.rc));
    return w.got;
}

struct weir_got wt_next(struct wt_reads *r)
{
    return wt_next_of(r, r->fetch);
}

struct weir_got wt_get(struct wt_reads *r, uint32_t node,
                       const struct weir_get *get)
{
    uint32_t taken = 0;
    cr_assert_eq(weir_fetch_get(r->fetch, r->peer[node], get, 1, &taken),
                 WEIR_OK);
    cr_assert_eq(taken, 1);
    struct weir_got got = wt_next(r);
    cr_assert_eq(got.tag, get->tag);
    return got;
}

uint8_t wt_byte(uint64_t id, uint64_t off)
{
    return (uint8_t)((off * 2654435761u + id * 97) >> 7);
}

bool wt_bytes_are(const void *p, uint64_t id, uint64_t off, uint64_t bytes)
{
    const uint8_t *at = p;
    for (uint64_t i = 0; i < bytes; i++) {
        if (at[i] != wt_byte(id, off + i)) {
            return false;
        }
    }
    return true;
}

weir_region *wt_region(struct wt_reads *r, uint32_t node, uint64_t id,
                       uint64_t bytes, int writable)
{
    const struct weir_region_params p = {.bytes = bytes, .writable = writable};
    const struct weir_name name = {7, id};
    struct weir_error err;
    weir_region *region = NULL;
    cr_assert_eq(weir_region_open(r->c.node[node], &p, &region, &err), WEIR_OK,
                 "%s", err.message);
    cr_assert_eq(weir_region_bytes(region), bytes);
    uint8_t *base = weir_region_base(region);
    cr_assert_eq((uintptr_t)base % 64, 0);
    for (uint64_t i = 0; i < bytes; i++) {
        cr_assert_eq(base[i], 0);
        base[i] = wt_byte(id, i);
    }
    cr_assert_eq(weir_region_publish(region, &name, &err), WEIR_OK, "%s",
                 err.message);
    return region;
}

struct asks_wait {
    weir_asks *asks;
    struct weir_ask ask;
};

static bool has_ask(void *arg)
{
    struct asks_wait *w = arg;
    return weir_asks_next(w->asks, &w->ask) == WEIR_OK;
}

struct weir_ask wt_ask_of(struct wt_reads *r, weir_asks *asks)
{
    struct asks_wait w = {.asks = asks};
    cr_assert(wt_until(&r->c, has_ask, &w), "no ask came");
    return w.ask;
}
