/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of nodes that are members of no cluster. */
#include "test/conformance/region.h"

#include <stdlib.h>

enum { BYTES = 3 << 20 };

static weir_peer *peer_at(struct wt_reads *r, uint32_t to)
{
    struct weir_error err;
    weir_peer *p = NULL;
    cr_assert_eq(weir_peer_open(r->c.node[0], weir_node_address(r->c.node[to]),
                                &p, &err),
                 WEIR_OK, "%s", err.message);
    return p;
}

/* From another node, and from the node itself; copied, and lent. */
void wt_region_read_by_no_member(const struct wt_place *place)
{
    struct wt_reads *r = calloc(1, sizeof(*r));
    weir_region *region[2];
    uint8_t *bytes = malloc(BYTES);
    cr_assert(r != NULL && bytes != NULL);
    wt_cluster_open(&r->c, place, &(struct wt_cluster_params){.apart = true});
    r->fetch = wt_fetch_of(r, 0, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        r->peer[i] = peer_at(r, i);
        region[i] = wt_region(r, i, i, BYTES, 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        const struct weir_get get = {.name = {7, i % 2},
                                     .off = 0,
                                     .bytes = BYTES,
                                     .dst = i < 2 ? bytes : NULL};
        struct weir_got got = wt_get(r, i % 2, &get);
        cr_assert_eq(got.code, WEIR_OK, "get %u: %s", i,
                     weir_fetch_error(r->fetch));
        cr_assert(wt_bytes_are(i < 2 ? bytes : got.ptr, i % 2, 0, BYTES),
                  "get %u", i);
        if (i >= 2) {
            weir_fetch_release(r->fetch, &got);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        weir_region_close(region[i]);
    }
    free(bytes);
    wt_reads_close(r);
}
