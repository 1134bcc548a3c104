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

/* From another node, and from the node itself. */
static void read_everything(const char *transport)
{
    const struct wt_place place = {.transport = transport};
    struct wt_reads *r = calloc(1, sizeof(*r));
    weir_region *region[2];
    uint8_t *bytes = malloc(BYTES);
    cr_assert(r != NULL && bytes != NULL);
    wt_cluster_open(&r->c, &place, &(struct wt_cluster_params){.apart = true});
    r->fetch = wt_fetch_of(r, 0, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        r->peer[i] = peer_at(r, i);
        region[i] = wt_region(r, i, i, BYTES, 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        const struct weir_get get = {
            .name = {7, i}, .off = 0, .bytes = BYTES, .dst = bytes};
        struct weir_got got = wt_get(r, i, &get);
        cr_assert_eq(got.code, WEIR_OK, "node %u: %s", i,
                     weir_fetch_error(r->fetch));
        cr_assert(wt_bytes_are(bytes, i, 0, BYTES), "node %u", i);
    }
    for (uint32_t i = 0; i < 2; i++) {
        weir_region_close(region[i]);
    }
    free(bytes);
    wt_reads_close(r);
}

Test(region_outside, shm, .timeout = 100)
{
    read_everything("shm");
}

Test(region_outside, tcp, .timeout = 100)
{
    read_everything("tcp");
}

Test(region_outside, auto_, .timeout = 100)
{
    read_everything("auto");
}
