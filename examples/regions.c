/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a peer reads by itself: no query, no cluster.
 *
 *   owner    weir_region_open, write, publish as {1, 42}
 *   reader   weir_peer_open(address), weir_fetch_get x 2, wait, check
 *
 * The owner's code has no part in the gets. Both nodes are in this process and
 * talk over shared memory; the reader needs nothing of the owner's but its
 * address and the name.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <weir/weir.h>

enum { VALUES = 1000, GETS = 2 };

static struct weir_error why;

static int ok(weir_err rc, const char *what)
{
    if (rc < 0) { /* positive codes are not errors */
        errx(1, "%s: %s: %s", what, weir_err_name(rc), why.message);
    }
    return rc == WEIR_OK;
}

static weir_region *publish(weir_node *node, struct weir_name name)
{
    struct weir_region_params p = {.bytes = VALUES * sizeof(int64_t)};
    weir_region *region;
    ok(weir_region_open(node, &p, &region, &why), "region");
    int64_t *values = weir_region_base(region);
    for (int64_t i = 0; i < VALUES; i++) {
        values[i] = i * i;
    }
    ok(weir_region_publish(region, &name, &why), "publish");
    return region;
}

/* Wait for one operation's end. */
static struct weir_got next(weir_node *node, weir_fetch *fetch)
{
    struct weir_got got;
    while (!ok(weir_fetch_next(fetch, &got), "next")) {
        ok(weir_worker_wait(node, 0, 1000000000), "wait");
    }
    if (got.code != WEIR_OK) {
        errx(1, "get: %s", weir_fetch_error(fetch));
    }
    return got;
}

int main(void)
{
    const struct weir_name name = {1, 42};
    weir_node *owner, *reader;
    weir_fetch *fetch;
    weir_peer *peer;
    int64_t one = 0;
    uint32_t taken;
    ok(weir_node_open(NULL, &owner, &why), "owner");
    ok(weir_node_open(NULL, &reader, &why), "reader");
    weir_region *region = publish(owner, name);
    ok(weir_peer_open(reader, weir_node_address(owner), &peer, &why), "peer");
    ok(weir_fetch_open(reader, NULL, &fetch, &why), "fetch");

    const struct weir_get gets[GETS] = {
        {.name = name, .off = 8 * 30, .bytes = 8, .dst = &one, .tag = 0},
        {.name = name, .bytes = 8 * VALUES, .tag = 1}, /* lent */
    };
    ok(weir_fetch_get(fetch, peer, gets, GETS, &taken), "get");
    for (uint32_t i = 0; i < taken; i++) {
        struct weir_got got = next(reader, fetch);
        if (got.tag == 1) {
            const int64_t *values = got.ptr;
            printf("value 999 is %lld\n", (long long)values[999]);
            if (values[999] != 999 * 999) {
                errx(1, "wrong value");
            }
        }
        weir_fetch_release(fetch, &got);
    }
    printf("value 30 is %lld\n", (long long)one);
    weir_fetch_close(fetch);
    weir_peer_close(peer);
    weir_region_close(region);
    weir_node_close(reader);
    weir_node_close(owner);
    return taken == GETS && one == 900 ? 0 : 1;
}
