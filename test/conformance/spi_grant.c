/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance cases of grants: access, their end, their number, borrowed
 * memory, odd places. See spi.h. */
#include <stdlib.h>
#include <string.h>

#include "test/conformance/spi.h"

enum { MEM = 1 << 18 };

/* Node 1 owns `remote`, node 0 asks from `local`. Two links join them. */
struct pair {
    struct wt_spi spi;
    struct wt_end *a; /* of node 0 */
    struct wt_end *b; /* the other end, of node 1 */
    struct wi_mem local;
    struct wi_mem remote;
};

static void begin(struct pair *p, const struct wt_spi_fixture *fixture)
{
    wt_spi_open(&p->spi, fixture, 2);
    wt_spi_connect(&p->spi, 0, 1, &p->a, &p->b);
    p->local = wt_mem_open(&p->spi, 0, MEM);
    p->remote = wt_mem_open(&p->spi, 1, MEM);
    wt_fill(p->remote.base, MEM, 2);
}

static void end(struct pair *p)
{
    const struct wi_transport_ops *ops = p->spi.fixture->ops;
    wt_end_drop(p->a);
    wt_end_drop(p->b);
    ops->mem_close(p->spi.t[0], &p->local);
    ops->mem_close(p->spi.t[1], &p->remote);
    wt_spi_close(&p->spi);
}

/* A message from b to a: what b granted before has arrived. */
static void tell(struct pair *p)
{
    uint64_t seen = p->a->messages;
    cr_assert(wt_end_send(p->b, "key", 3) && wt_end_kick(p->b));
    WT_UNTIL(&p->spi, p->a->messages > seen);
}

/* Posts one operation that is refused or ends a's endpoint, b's first. */
static void expect_end(struct pair *p, const struct wi_rma *op,
                       weir_err (*fn)(struct wi_ep *, const struct wi_rma *))
{
    if (fn(p->a->ep, op) == WEIR_OK) {
        wt_end_kick(p->a);
        WT_UNTIL(&p->spi, p->b->closed);
        cr_assert_neq(p->b->reason[0], 0);
    }
    cr_assert(wt_is_filled(p->remote.base, MEM, 2), "bytes were written");
}

static void read_some(struct pair *p, uint64_t key, uint64_t off,
                      uint32_t bytes, uint32_t skew)
{
    uint8_t *into = (uint8_t *)p->local.base + skew;
    struct wi_rma op = {into, bytes, key, off};
    uint64_t seen = p->a->reads_done;
    memset(p->local.base, 0, (size_t)skew + bytes + 1);
    cr_assert(wt_end_read(p->a, &op) && wt_end_kick(p->a));
    WT_UNTIL(&p->spi, p->a->reads_done > seen || p->a->closed);
    cr_assert_not(p->a->closed, "%s", p->a->reason);
    cr_assert_eq(into[bytes], 0, "more was read");
    cr_assert(skew == 0 || into[-1] == 0, "read to an earlier place");
}

void wt_spi_grant_to_read_is_not_one_to_write(
    const struct wt_spi_fixture *fixture)
{
    struct pair p;
    begin(&p, fixture);
    struct wi_rma op = {p.local.base, 64,
                        wt_end_grant_as(p.b, &p.remote, WI_ACCESS_READ), 0};
    expect_end(&p, &op, fixture->ops->write);
    end(&p);
}

void wt_spi_grant_to_write_is_not_one_to_read(
    const struct wt_spi_fixture *fixture)
{
    struct pair p;
    if (fixture->reads_all) {
        cr_skip_test("this driver does not ask for the right to read");
    }
    begin(&p, fixture);
    struct wi_rma op = {p.local.base, 64,
                        wt_end_grant_as(p.b, &p.remote, WI_ACCESS_WRITE), 0};
    expect_end(&p, &op, fixture->ops->read);
    cr_assert_eq(((uint8_t *)p.local.base)[0], 0, "bytes were read");
    end(&p);
}

/* Of two links to the owner only the one that uses the key ends. */
void wt_spi_write_after_the_grant_closes_one_link(
    const struct wt_spi_fixture *fixture)
{
    struct pair p;
    struct wt_end *c;
    struct wt_end *d;
    begin(&p, fixture);
    wt_spi_connect(&p.spi, 0, 1, &c, &d);
    uint64_t key = wt_end_grant_as(p.b, &p.remote, WI_ACCESS_WRITE);
    struct wi_rma op = {p.local.base, 64, key, 0};
    memcpy(p.local.base, p.remote.base, 64);
    cr_assert(wt_end_write(p.a, &op) && wt_end_send(p.a, "done", 4));
    cr_assert(wt_end_kick(p.a));
    WT_UNTIL(&p.spi, p.b->messages == 1);
    cr_assert_eq(fixture->ops->ungrant(p.b->ep, &p.remote, key), WEIR_OK);
    memset(p.local.base, 7, 64);
    expect_end(&p, &op, fixture->ops->write);
    cr_assert_not(d->closed, "the wrong endpoint was closed");
    end(&p);
}

void wt_spi_read_after_the_grant_closes_one_link(
    const struct wt_spi_fixture *fixture)
{
    struct pair p;
    struct wt_end *c;
    struct wt_end *d;
    begin(&p, fixture);
    wt_spi_connect(&p.spi, 0, 1, &c, &d);
    uint64_t key = wt_end_grant_as(p.b, &p.remote, WI_ACCESS_READ);
    read_some(&p, key, 0, 64, 0);
    cr_assert_eq(fixture->ops->ungrant(p.b->ep, &p.remote, key), WEIR_OK);
    struct wi_rma op = {p.local.base, 64, key, 0};
    memset(p.local.base, 0, 64);
    expect_end(&p, &op, fixture->ops->read);
    cr_assert_eq(((uint8_t *)p.local.base)[0], 0, "bytes were read");
    cr_assert_not(d->closed, "the wrong endpoint was closed");
    end(&p);
}

/* Thousands, in the midst of traffic; each key works until it is taken back. */
void wt_spi_grants_come_and_go(const struct wt_spi_fixture *fixture)
{
    struct pair p;
    begin(&p, fixture);
    for (uint32_t i = 0; i < 3000; i++) {
        uint64_t key = wt_end_grant_as(p.b, &p.remote, WI_ACCESS_WRITE);
        uint64_t other = wt_end_grant_as(p.b, &p.remote, WI_ACCESS_READ);
        struct wi_rma op = {p.local.base, 64, key, 64 * (i % 16)};
        if (i % 100 == 0) {
            memcpy(p.local.base, (uint8_t *)p.remote.base + op.remote_off, 64);
            uint64_t seen = p.b->messages;
            cr_assert(wt_end_write(p.a, &op) && wt_end_send(p.a, "w", 1));
            cr_assert(wt_end_kick(p.a));
            WT_UNTIL(&p.spi, p.b->messages > seen || p.b->closed);
            cr_assert_not(p.b->closed, "%s", p.b->reason);
        }
        cr_assert_eq(fixture->ops->ungrant(p.b->ep, &p.remote, other), WEIR_OK);
        cr_assert_eq(fixture->ops->ungrant(p.b->ep, &p.remote, key), WEIR_OK);
    }
    cr_assert(wt_is_filled(p.remote.base, MEM, 2));
    end(&p);
}

void wt_spi_many_grants_stand_at_a_time(const struct wt_spi_fixture *fixture)
{
    enum { MANY = 2000 };
    static uint64_t keys[MANY];
    struct pair p;
    begin(&p, fixture);
    for (uint32_t i = 0; i < MANY; i++) {
        keys[i] = wt_end_grant_as(p.b, &p.remote, WI_ACCESS_READ);
    }
    for (uint32_t i = 0; i < MANY; i += 97) {
        read_some(&p, keys[i], i, 100, 0);
        cr_assert_eq(memcmp(p.local.base, (uint8_t *)p.remote.base + i, 100),
                     0);
    }
    end(&p);
}

void wt_spi_odd_places_are_read(const struct wt_spi_fixture *fixture)
{
    struct pair p;
    uint64_t state = 5;
    begin(&p, fixture);
    uint64_t key = wt_end_grant_as(p.b, &p.remote, WI_ACCESS_READ);
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t r = wt_rand(&state);
        uint32_t bytes = i < 40 ? i + 1 : 1 + (uint32_t)(r >> 40) % 100000;
        uint64_t off = r % (MEM - bytes + 1);
        uint32_t skew = (uint32_t)(r >> 32) % 64;
        read_some(&p, key, off, bytes, skew);
        cr_assert_eq(memcmp((uint8_t *)p.local.base + skew,
                            (uint8_t *)p.remote.base + off, bytes),
                     0);
    }
    end(&p);
}

void wt_spi_odd_places_are_written(const struct wt_spi_fixture *fixture)
{
    struct pair p;
    uint64_t state = 6;
    begin(&p, fixture);
    uint64_t key = wt_end_grant_as(p.b, &p.remote, WI_ACCESS_WRITE);
    uint8_t *want = malloc(MEM);
    cr_assert_not_null(want);
    memcpy(want, p.remote.base, MEM);
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t r = wt_rand(&state);
        uint32_t bytes = i < 40 ? i + 1 : 1 + (uint32_t)(r >> 40) % 10000;
        struct wi_rma op = {(uint8_t *)p.local.base + (r >> 32) % 64, bytes,
                            key, r % (MEM - bytes + 1)};
        wt_fill(op.local, bytes, i);
        memcpy(want + op.remote_off, op.local, bytes);
        cr_assert(wt_end_write(p.a, &op) && wt_end_send(p.a, "w", 1));
        cr_assert(wt_end_kick(p.a));
        WT_UNTIL(&p.spi, p.b->messages == i + 1);
        cr_assert_eq(memcmp(want, p.remote.base, MEM), 0, "write %u", i);
        WT_UNTIL(&p.spi, wt_end_completed(p.a) == p.a->posted);
    }
    free(want);
    end(&p);
}

/* Memory of the program, from an odd address on; nothing beside it is read or
 * written, nor freed with it. */
void wt_spi_borrowed_memory_is_read(const struct wt_spi_fixture *fixture)
{
    enum { BYTES = 100001, ODD = 4099 };
    struct pair p;
    struct wi_mem mem = {0};
    struct weir_error err = {0};
    begin(&p, fixture);
    uint8_t *own = malloc(BYTES + 2 * ODD);
    cr_assert_not_null(own);
    wt_fill(own, BYTES + 2 * ODD, 9);
    const struct wi_borrow what = {own + ODD, BYTES, false, -1, 0};
    weir_err rc =
        fixture->ops->mem_borrow(p.spi.t[1], &what, WI_ACCESS_READ, &mem, &err);
    if (rc == WEIR_ERR_UNSUPPORTED) {
        cr_assert_neq(err.message[0], 0);
    } else {
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
        uint64_t key = wt_end_grant_as(p.b, &mem, WI_ACCESS_READ);
        for (uint32_t off = 0; off < BYTES; off += 7777) {
            read_some(&p, key, mem.origin + off, BYTES - off, 1);
            cr_assert_eq(memcmp((uint8_t *)p.local.base + 1, own + ODD + off,
                                BYTES - off),
                         0);
        }
        struct wi_rma op = {p.local.base, 2, key, mem.origin + BYTES - 1};
        expect_end(&p, &op, fixture->ops->read);
        wt_end_drop(p.b);
        fixture->ops->mem_close(p.spi.t[1], &mem);
    }
    cr_assert(wt_is_filled(own, BYTES + 2 * ODD, 9));
    free(own);
    end(&p);
}

/* From the program's memory into the program's memory. */
void wt_spi_local_memory_is_any(const struct wt_spi_fixture *fixture)
{
    struct pair p;
    begin(&p, fixture);
    uint64_t key = wt_end_grant_as(p.b, &p.remote, WI_ACCESS_BOTH);
    uint8_t *own = calloc(1, MEM);
    cr_assert_not_null(own);
    struct wi_rma down = {own + 1, MEM / 2, key, 3};
    cr_assert(wt_end_read(p.a, &down) && wt_end_kick(p.a));
    WT_UNTIL(&p.spi, p.a->reads_done == 1);
    cr_assert_eq(memcmp(own + 1, (uint8_t *)p.remote.base + 3, MEM / 2), 0);
    struct wi_rma up = {own + 1, MEM / 2, key, MEM / 2};
    cr_assert(wt_end_write(p.a, &up) && wt_end_send(p.a, "w", 1));
    cr_assert(wt_end_kick(p.a));
    WT_UNTIL(&p.spi, p.b->messages == 1);
    cr_assert_eq(memcmp(own + 1, (uint8_t *)p.remote.base + MEM / 2, MEM / 2),
                 0);
    free(own);
    end(&p);
}

void wt_spi_mapping_to_read_shows_the_owners_bytes(
    const struct wt_spi_fixture *fixture)
{
    struct pair p;
    struct weir_error err = {0};
    void *base = NULL;
    void *none = NULL;
    begin(&p, fixture);
    uint64_t keys[2];
    keys[0] = wt_end_grant_as(p.b, &p.remote, WI_ACCESS_READ);
    keys[1] = wt_end_grant_as(p.b, &p.remote, WI_ACCESS_READ);
    tell(&p);
    cr_assert_eq(
        fixture->ops->map(p.a->ep, keys[0], MEM, WI_ACCESS_READ, &base, &err),
        WEIR_OK, "%s", err.message);
    cr_assert(wt_is_filled(base, MEM, 2));
    wt_fill(p.remote.base, MEM, 3);
    cr_assert(wt_is_filled(base, MEM, 3));
    cr_assert_eq(
        fixture->ops->map(p.a->ep, keys[1], MEM, WI_ACCESS_BOTH, &none, &err),
        WEIR_ERR_PEER_PROTOCOL, "memory to read was mapped to write");
    cr_assert_null(none);
    fixture->ops->unmap(p.spi.t[0], base, MEM);
    end(&p);
}

void wt_spi_grant_that_has_ended_is_not_mapped(
    const struct wt_spi_fixture *fixture)
{
    struct pair p;
    struct weir_error err = {0};
    void *none = NULL;
    begin(&p, fixture);
    for (uint32_t i = 0; i < 3000; i++) {
        uint64_t key = wt_end_grant_as(p.b, &p.remote, 1 + i % 3);
        cr_assert_eq(fixture->ops->ungrant(p.b->ep, &p.remote, key), WEIR_OK);
        if (i % 500 == 0) {
            tell(&p);
            cr_assert_eq(fixture->ops->map(p.a->ep, key, MEM, WI_ACCESS_READ,
                                           &none, &err),
                         WEIR_ERR_PEER_PROTOCOL);
        }
    }
    cr_assert_null(none);
    end(&p);
}
