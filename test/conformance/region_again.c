/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that are published again. What the owner has done before a get begins
 * the get sees: here owner and reader are one program, so each get begins after
 * the calls before it have returned.
 */
#include "test/conformance/region.h"

#include <stdlib.h>

#include "core/link/life.h"
#include "core/link/link.h"
#include "core/link/lock.h"

enum { ID = 90, BYTES = 70001, ROUNDS = 60 };

/* To be {7, ID}: holds wt_byte(version), and is as many bytes longer. */
static weir_region *make(struct wt_reads *r, uint32_t node, uint64_t version,
                         int writable)
{
    const struct weir_region_params p = {.bytes = BYTES + version,
                                         .writable = writable};
    struct weir_error err;
    weir_region *region = NULL;
    cr_assert_eq(weir_region_open(r->c.node[node], &p, &region, &err), WEIR_OK,
                 "%s", err.message);
    uint8_t *base = weir_region_base(region);
    for (uint64_t i = 0; i < BYTES + version; i++) {
        base[i] = wt_byte(version, i);
    }
    return region;
}

static void publish(weir_region *region)
{
    const struct weir_name name = {7, ID};
    struct weir_error err;
    cr_assert_eq(weir_region_publish(region, &name, &err), WEIR_OK, "%s",
                 err.message);
}

static weir_region *publish_as(struct wt_reads *r, uint32_t node,
                               uint64_t version, int writable)
{
    weir_region *region = make(r, node, version, writable);
    publish(region);
    return region;
}

static void expect_version(struct wt_reads *r, uint32_t node,
                           const struct weir_get *get, uint64_t version)
{
    struct weir_got got = wt_get(r, node, get);
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
    cr_assert_eq(got.region_bytes, BYTES + version, "version %d, not %d",
                 (int)(got.region_bytes - BYTES), (int)version);
    cr_assert(wt_bytes_are(got.ptr, version, get->off, got.bytes),
              "old bytes, version %d", (int)version);
    weir_fetch_release(r->fetch, &got);
}

static void expect_not_found(struct wt_reads *r, uint32_t node,
                             const struct weir_get *get)
{
    struct weir_got got = wt_get(r, node, get);
    cr_assert_eq(got.code, WEIR_ERR_NOT_FOUND, "%s", weir_err_name(got.code));
}

static struct weir_get some_of(uint64_t version)
{
    return (struct weir_get){
        .name = {7, ID}, .off = version, .bytes = 1 + version * 997 % BYTES};
}

void wt_region_published_again_is_the_new_one(const struct wt_place *place)
{
    static uint8_t dst[BYTES];
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    for (uint32_t node = 0; node < 2; node++) {
        for (uint64_t v = 0; v < ROUNDS; v++) {
            struct weir_get get = some_of(v);
            weir_region *region = publish_as(r, node, v, 0);
            expect_version(r, node, &get, v);
            get.dst = dst;
            expect_version(r, node, &get, v); /* it is known by now */
            weir_region_close(region);
        }
    }
    wt_reads_close(r);
}

/* The length, too, and what is beyond the end. */
void wt_region_published_again_has_its_own_length(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    for (uint32_t node = 0; node < 2; node++) {
        for (uint64_t v = 0; v < ROUNDS; v++) {
            const struct weir_name name = {7, ID};
            const struct weir_get rest = {
                .name = name, .off = 9, .bytes = UINT64_MAX};
            const struct weir_get length = {.name = name};
            const struct weir_get last = {
                .name = name, .off = BYTES + v - 1, .bytes = 1};
            weir_region *region = publish_as(r, node, v, 0);
            switch (v % 3) {
            case 0:
                expect_version(r, node, &length, v);
                break;
            case 1:
                expect_version(r, node, &last, v);
                break;
            default:
                break;
            }
            expect_version(r, node, &rest, v);
            weir_region_close(region);
        }
    }
    wt_reads_close(r);
}

void wt_region_closed_region_is_not_found(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    for (uint32_t node = 0; node < 2; node++) {
        for (uint64_t v = 0; v < ROUNDS; v++) {
            struct weir_get get = some_of(v);
            weir_region *region = publish_as(r, node, v, 0);
            expect_version(r, node, &get, v);
            weir_region_close(region);
            get.bytes *= v % 3 != 0; /* or its length */
            expect_not_found(r, node, &get);
        }
    }
    wt_reads_close(r);
}

void wt_region_put_goes_to_the_new_one(const struct wt_place *place)
{
    static uint8_t src[BYTES];
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    for (uint32_t node = 0; node < 2; node++) {
        for (uint64_t v = 0; v < ROUNDS; v++) {
            const struct weir_put put = {
                .name = {7, ID}, .off = v, .bytes = 1 + v * 997, .src = src};
            weir_region *region = publish_as(r, node, v, 1);
            uint8_t *owned = weir_region_base(region);
            uint32_t taken;
            memset(src, (int)(v + 100), sizeof(src));
            cr_assert_eq(
                weir_fetch_put(r->fetch, r->peer[node], &put, 1, &taken),
                WEIR_OK);
            struct weir_got got = wt_next(r);
            cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
            cr_assert_eq(memcmp(owned + v, src, put.bytes), 0, "version %d",
                         (int)v);
            weir_region_close(region);
        }
    }
    wt_reads_close(r);
}

static bool count_down(void *arg)
{
    uint32_t *n = arg;
    return (*n)-- == 0;
}

/* The new get finds the old one on its way, in each of its states. */
void wt_region_get_passes_an_older_one(const struct wt_place *place)
{
    enum { STEPS = 24 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    for (uint32_t node = 0; node < 2; node++) {
        for (uint32_t v = 0; v < 2 * STEPS; v += 2) {
            const struct weir_get get = {.name = {7, ID}, .bytes = BYTES};
            const struct weir_get length = {.name = {7, ID}, .tag = 1};
            const struct weir_get *const newer = v % 4 == 0 ? &get : &length;
            uint32_t looks = v / 2;
            uint32_t taken;
            weir_region *region = publish_as(r, node, v, 0);
            cr_assert_eq(
                weir_fetch_get(r->fetch, r->peer[node], &length, 1, &taken),
                WEIR_OK);
            (void)wt_until(&r->c, count_down, &looks);
            weir_region_close(region);
            region = publish_as(r, node, v + 1, 0);
            struct weir_get second = *newer;
            second.tag = 2;
            cr_assert_eq(
                weir_fetch_get(r->fetch, r->peer[node], &second, 1, &taken),
                WEIR_OK);
            for (uint32_t i = 0; i < 2; i++) {
                struct weir_got got = wt_next(r);
                bool old = got.tag != 2;
                cr_assert(got.code == WEIR_OK ||
                              (old && got.code == WEIR_ERR_NOT_FOUND),
                          "%s", weir_fetch_error(r->fetch));
                cr_assert(old || (got.region_bytes == BYTES + v + 1 &&
                                  wt_bytes_are(got.ptr, v + 1, 0, got.bytes)),
                          "after %u looks", v / 2);
                weir_fetch_release(r->fetch, &got);
            }
            weir_region_close(region);
        }
    }
    wt_reads_close(r);
}

/* Before the reader knows that the link is lost, too. */
void wt_region_owner_without_the_link_closes_a_region(
    const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_node *owner = r->c.node[1];
    for (uint64_t v = 0; v < ROUNDS; v += 2) {
        const struct weir_get get = some_of(v);
        weir_region *old = publish_as(r, 1, v, 0);
        weir_region *new = make(r, 1, v + 1, 0);
        struct weir_got got;
        do { /* the link of before may be found lost here */
            got = wt_get(r, 1, &get);
            weir_fetch_release(r->fetch, &got);
        } while (got.code != WEIR_OK);
        wi_node_lock(owner);
        wi_link_down(owner->engine.members[0].link, false, WEIR_ERR_PEER_LOST,
                     "a test");
        wi_node_unlock(owner);
        weir_region_close(old);
        publish(new);
        got = wt_get(r, 1, &get);
        cr_assert(got.code == WEIR_OK ||
                      weir_err_scope(got.code) == WEIR_SCOPE_PEER,
                  "%s", weir_fetch_error(r->fetch));
        cr_assert(got.code != WEIR_OK || got.region_bytes == BYTES + v + 1,
                  "version %d", (int)v);
        weir_fetch_release(r->fetch, &got);
        weir_region_close(new);
    }
    wt_reads_close(r);
}

/* ---- copies -------------------------------------------------------------- */

/* Who maps memory has copies of such memory, which others write to. */
void wt_region_put_into_borrowed_memory_is_read_by_a_peer(
    const struct wt_place *place)
{
    static uint8_t own[BYTES];
    static uint8_t src[BYTES];
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    const struct weir_region_params p = {.kind = WEIR_REGION_BORROWED,
                                         .base = own,
                                         .bytes = BYTES,
                                         .writable = 1};
    struct weir_error err;
    weir_region *region = NULL;
    cr_assert_eq(weir_region_open(r->c.node[1], &p, &region, &err), WEIR_OK,
                 "%s", err.message);
    publish(region);
    weir_fetch *writer = wt_fetch_of(r, 1, NULL);
    weir_peer *itself = wt_peer_of(r, 1, 1);
    for (uint64_t v = 1; v < 10; v++) {
        const struct weir_put put = {
            .name = {7, ID}, .off = v, .bytes = v * 99, .src = src};
        const struct weir_get get = {
            .name = {7, ID}, .off = v, .bytes = v * 99};
        uint32_t taken;
        memset(src, (int)v, sizeof(src));
        cr_assert_eq(weir_fetch_put(writer, itself, &put, 1, &taken), WEIR_OK);
        struct weir_got got = wt_next_of(r, writer);
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(writer));
        got = wt_get(r, 1, &get);
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
        cr_assert_eq(memcmp(got.ptr, src, get.bytes), 0, "put %d", (int)v);
        weir_fetch_release(r->fetch, &got);
    }
    weir_fetch_close(writer);
    weir_peer_close(itself);
    weir_region_close(region);
    wt_reads_close(r);
}
