/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance cases of writes, reads and mappings: see spi.h. */
#include <string.h>

#include "test/conformance/spi.h"

enum { RING = 1 << 20, PIECE = 1 << 14 };

/* ---- a stream of writes through a ring ----------------------------------- */

/* What a stream's message says about the write in front of it. */
struct notice {
    uint64_t off;
    uint64_t bytes;
    uint64_t seed;
};

/* One direction: writes of changing sizes at wrapping offsets of the peer's
 * ring, each followed by a message. The receiving side checks the bytes when
 * the message arrives and wipes them. */
struct stream {
    struct wt_end *from;
    struct wt_end *to;
    struct wi_mem local;
    struct wi_mem remote;
    uint64_t key;
    uint64_t pos;      /* bytes written so far, padding included */
    uint64_t consumed; /* position up to which the receiver has checked */
    uint64_t sent;
    uint64_t received;
    uint64_t state; /* of the generator */
};

static void check_write(struct wt_end *end, const uint8_t *bytes, uint32_t len)
{
    struct stream *s = end->arg;
    struct notice note;
    cr_assert_eq(len, sizeof(note));
    memcpy(&note, bytes, sizeof(note));
    cr_assert_eq(note.seed, s->received, "notices out of order");
    uint8_t *at = (uint8_t *)s->remote.base + note.off % RING;
    cr_assert(wt_is_filled(at, note.bytes, note.seed),
              "write %lu is not there when its message is",
              (unsigned long)note.seed);
    memset(at, 0, note.bytes);
    s->received++;
    s->consumed = note.off + note.bytes;
}

static void stream_init(struct stream *s, struct wt_end *from,
                        struct wt_end *to, uint64_t seed)
{
    *s = (struct stream){.from = from, .to = to, .state = seed};
    s->local = wt_mem_open(from->spi, from->node, RING);
    s->remote = wt_mem_open(to->spi, to->node, RING);
    s->key = wt_end_grant(to, &s->remote);
    to->on_message = check_write;
    to->arg = s;
}

static void stream_fini(struct stream *s)
{
    struct wt_spi *spi = s->from->spi;
    const struct wi_transport_ops *ops = spi->fixture->ops;
    ops->mem_close(spi->t[s->from->node], &s->local);
    ops->mem_close(spi->t[s->to->node], &s->remote);
}

static uint64_t next_bytes(struct stream *s)
{
    uint64_t r = wt_rand(&s->state);
    switch (r & 3) {
    case 0:
        return 8;
    case 1:
        return 8 * (1 + (r >> 8) % 32);
    case 2:
        return PIECE;
    default:
        return 8 * (1 + (r >> 8) % (256 * 1024 / 8));
    }
}

/* One write and its message; waits for room in the ring like a ring does. */
static void stream_step(struct stream *s)
{
    uint64_t bytes = next_bytes(s);
    uint64_t left = RING - s->pos % RING;
    if (left < bytes) {
        s->pos += left; /* a frame never wraps */
    }
    WT_UNTIL(s->from->spi,
             s->pos + bytes - s->consumed <= RING || s->received == s->sent);
    uint64_t off = s->pos % RING;
    struct notice note = {s->pos, bytes, s->sent};
    struct wi_rma op = {
        .local = (uint8_t *)s->local.base + off,
        .bytes = (uint32_t)bytes,
        .key = s->key,
        .remote_off = off,
    };
    wt_fill(op.local, bytes, s->sent);
    cr_assert(wt_end_write(s->from, &op));
    cr_assert(wt_end_send(s->from, &note, sizeof(note)));
    cr_assert(wt_end_kick(s->from));
    s->pos += bytes;
    s->sent++;
}

static void stream_finish(struct stream *s)
{
    WT_UNTIL(s->from->spi, s->received == s->sent);
    WT_UNTIL(s->from->spi, wt_end_completed(s->from) == s->from->posted);
}

void wt_spi_write_is_readable_when_its_message_arrives(
    const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    struct stream s;
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    stream_init(&s, a, b, 11);
    while (s.sent < 400) {
        stream_step(&s);
    }
    stream_finish(&s);
    wt_end_drop(a);
    wt_end_drop(b);
    stream_fini(&s);
    wt_spi_close(&spi);
}

void wt_spi_writes_cross(const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    struct stream s[2];
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    stream_init(&s[0], a, b, 21);
    stream_init(&s[1], b, a, 22);
    while (s[0].sent < 200) {
        stream_step(&s[0]);
        stream_step(&s[1]);
    }
    stream_finish(&s[0]);
    stream_finish(&s[1]);
    wt_end_drop(a);
    wt_end_drop(b);
    stream_fini(&s[0]);
    stream_fini(&s[1]);
    wt_spi_close(&spi);
}

void wt_spi_writes_go_to_their_own_peer(const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *end[6];
    struct stream s[6];
    wt_spi_open(&spi, fixture, 3);
    wt_spi_connect(&spi, 0, 1, &end[0], &end[1]);
    wt_spi_connect(&spi, 1, 2, &end[2], &end[3]);
    wt_spi_connect(&spi, 2, 0, &end[4], &end[5]);
    for (uint32_t i = 0; i < 6; i++) {
        stream_init(&s[i], end[i], end[i ^ 1], 100 + i);
    }
    for (uint32_t i = 0; i < 6 * 60; i++) {
        stream_step(&s[i % 6]);
    }
    for (uint32_t i = 0; i < 6; i++) {
        stream_finish(&s[i]);
    }
    for (uint32_t i = 0; i < 6; i++) {
        wt_end_drop(end[i]);
    }
    for (uint32_t i = 0; i < 6; i++) {
        stream_fini(&s[i]);
    }
    wt_spi_close(&spi);
}

/* ---- completion ---------------------------------------------------------- */

/* Two ends, memory on both sides, everything of b's granted to a. */
struct pair {
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    struct wi_mem local;
    struct wi_mem remote;
    uint64_t key;
};

static void pair_open(struct pair *p, const struct wt_spi_fixture *fixture)
{
    wt_spi_open(&p->spi, fixture, 2);
    wt_spi_connect(&p->spi, 0, 1, &p->a, &p->b);
    p->local = wt_mem_open(&p->spi, 0, RING);
    p->remote = wt_mem_open(&p->spi, 1, RING);
    p->key = wt_end_grant(p->b, &p->remote);
}

static void pair_close(struct pair *p)
{
    const struct wi_transport_ops *ops = p->spi.fixture->ops;
    wt_end_drop(p->a);
    wt_end_drop(p->b);
    ops->mem_close(p->spi.t[0], &p->local);
    ops->mem_close(p->spi.t[1], &p->remote);
    wt_spi_close(&p->spi);
}

static struct wi_rma piece(const struct pair *p, uint64_t i)
{
    uint64_t off = i * PIECE % RING;
    return (struct wi_rma){
        .local = (uint8_t *)p->local.base + off,
        .bytes = PIECE,
        .key = p->key,
        .remote_off = off,
    };
}

void wt_spi_completed_memory_may_be_reused(const struct wt_spi_fixture *fixture)
{
    struct pair p;
    pair_open(&p, fixture);
    for (uint64_t i = 0; i < RING / PIECE; i++) {
        struct wi_rma op = piece(&p, i);
        op.local = p.local.base; /* the same bytes each time */
        wt_fill(op.local, PIECE, i);
        cr_assert(wt_end_write(p.a, &op) && wt_end_kick(p.a));
        WT_UNTIL(&p.spi, wt_end_completed(p.a) == i + 1);
        memset(op.local, 0xee, PIECE);
    }
    cr_assert(wt_end_send(p.a, "end", 3) && wt_end_kick(p.a));
    WT_UNTIL(&p.spi, p.b->messages == 1);
    for (uint64_t i = 0; i < RING / PIECE; i++) {
        uint8_t *at = (uint8_t *)p.remote.base + i * PIECE;
        cr_assert(wt_is_filled(at, PIECE, i), "piece %lu", (unsigned long)i);
    }
    pair_close(&p);
}

void wt_spi_blocked_writes_complete_in_order(
    const struct wt_spi_fixture *fixture)
{
    struct pair p;
    weir_err rc = WEIR_OK;
    uint64_t posted = 0;
    uint64_t last = 0;
    pair_open(&p, fixture);
    wt_fill(p.local.base, RING, 9);
    p.spi.paused = 2; /* nobody takes anything */
    while (posted < 4096 && rc == WEIR_OK) {
        struct wi_rma op = piece(&p, posted);
        rc = fixture->ops->write(p.a->ep, &op);
        posted += rc == WEIR_OK;
        wt_end_kick(p.a);
        cr_assert_leq(wt_end_completed(p.a), posted);
    }
    p.spi.paused = 0;
    cr_assert(wt_end_send(p.a, "end", 3) && wt_end_kick(p.a));
    while (wt_end_completed(p.a) < posted || p.b->messages == 0) {
        cr_assert_geq(wt_end_completed(p.a), last, "completed went back");
        last = wt_end_completed(p.a);
        cr_assert(wt_spi_turn(&p.spi), "writes never complete");
    }
    cr_assert_eq(wt_end_completed(p.a), posted);
    uint64_t whole = posted * PIECE < RING ? posted * PIECE : RING;
    cr_assert(wt_is_filled(p.remote.base, whole, 9));
    pair_close(&p);
}

void wt_spi_disconnect_ends_writes_in_flight(
    const struct wt_spi_fixture *fixture)
{
    struct pair p;
    weir_err rc = WEIR_OK;
    pair_open(&p, fixture);
    p.spi.paused = 2;
    for (uint64_t i = 0; i < 1024 && rc == WEIR_OK; i++) {
        struct wi_rma op = piece(&p, i);
        rc = fixture->ops->write(p.a->ep, &op);
        wt_end_kick(p.a);
    }
    wt_end_drop(p.a);
    fixture->ops->mem_close(p.spi.t[0], &p.local); /* a later use faults */
    p.spi.paused = 0;
    WT_UNTIL(&p.spi, p.b->closed);
    wt_end_drop(p.b);
    memset(p.remote.base, 0, RING);
    wt_spi_drain(&p.spi);
    uint8_t *bytes = p.remote.base;
    if ((wt_spi_ep_ops(fixture)->caps & WI_CAP_GRANT_STICKS) == 0) {
        cr_assert(bytes[0] == 0 && !memcmp(bytes, bytes + 1, RING - 1),
                  "written after disconnect");
    }
    fixture->ops->mem_close(p.spi.t[1], &p.remote);
    wt_spi_close(&p.spi);
}

/* ---- what a peer may not do ---------------------------------------------- */

static bool is_zero(const struct wi_mem *mem)
{
    const uint8_t *bytes = mem->base;
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, mem->bytes - 1) == 0;
}

/* What `stops_at_end` allows: the beginning of the write, and nothing else. */
static bool is_cut_off(const struct pair *p, const struct wi_rma *op)
{
    const uint8_t *bytes = p->remote.base;
    uint64_t n = 0;
    if (op->remote_off >= RING) {
        return false;
    }
    while (op->remote_off + n < RING &&
           bytes[op->remote_off + n] == ((uint8_t *)p->local.base)[n]) {
        n++;
    }
    for (uint64_t i = 0; i < RING; i++) {
        bool inside = i >= op->remote_off && i < op->remote_off + n;
        if (!inside && bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

/* A bad operation is refused at once, or closes the owner's end with a reason;
 * either way nothing is written. */
static void expect_refusal(struct pair *p, const struct wi_rma *op,
                           weir_err (*fn)(struct wi_ep *,
                                          const struct wi_rma *))
{
    wt_fill(p->local.base, op->bytes, 1);
    weir_err rc = fn(p->a->ep, op);
    if (rc == WEIR_OK) {
        wt_end_kick(p->a);
        WT_UNTIL(&p->spi, p->b->closed);
        cr_assert_neq(p->b->reason[0], 0);
        wt_end_drop(p->b);
        WT_UNTIL(&p->spi, p->a->closed);
    } else {
        cr_assert_lt(rc, 0);
    }
    cr_assert(is_zero(&p->remote) ||
                  (p->spi.fixture->stops_at_end && is_cut_off(p, op)),
              "bytes were written");
    cr_assert(wt_is_filled(p->local.base, op->bytes, 1), "bytes were read");
}

static void refuse_write(const struct wt_spi_fixture *fixture, uint64_t key_xor,
                         uint64_t off, uint32_t bytes)
{
    struct pair p;
    pair_open(&p, fixture);
    struct wi_rma op = {p.local.base, bytes, p.key ^ key_xor, off};
    expect_refusal(&p, &op, fixture->ops->write);
    pair_close(&p);
}

void wt_spi_write_with_unknown_key_closes(const struct wt_spi_fixture *fixture)
{
    refuse_write(fixture, 1, 0, 64);
    refuse_write(fixture, UINT64_C(1) << 63, 0, 64);
}

void wt_spi_write_across_the_end_closes(const struct wt_spi_fixture *fixture)
{
    refuse_write(fixture, 0, RING - 8, 16);
    refuse_write(fixture, 0, RING, 8);
    refuse_write(fixture, 0, 8, RING);
}

void wt_spi_write_with_wrapping_offset_closes(
    const struct wt_spi_fixture *fixture)
{
    refuse_write(fixture, 0, UINT64_MAX - 7, 8);
    refuse_write(fixture, 0, UINT64_MAX - 7, 64);
}

void wt_spi_grant_is_for_one_endpoint_only(const struct wt_spi_fixture *fixture)
{
    struct pair p;
    struct wt_end *c;
    struct wt_end *d;
    pair_open(&p, fixture);
    wt_spi_connect(&p.spi, 0, 1, &c, &d);
    struct wi_rma op = {p.local.base, 64, p.key, 0};
    wt_fill(p.local.base, 64, 1);
    if (fixture->ops->write(c->ep, &op) == WEIR_OK) {
        wt_end_kick(c);
        WT_UNTIL(&p.spi, d->closed);
    }
    cr_assert(is_zero(&p.remote), "a grant works through another endpoint");
    cr_assert_not(p.b->closed, "the wrong endpoint was closed");
    pair_close(&p);
}

/* ---- reads --------------------------------------------------------------- */

void wt_spi_read_brings_the_bytes(const struct wt_spi_fixture *fixture)
{
    struct pair p;
    uint64_t state = 3;
    pair_open(&p, fixture);
    wt_fill(p.remote.base, RING, 4);
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t r = wt_rand(&state);
        uint32_t bytes = (uint32_t)(8 * (1 + (r >> 40) % (128 * 1024 / 8)));
        uint64_t off = 8 * ((r & 0xfffff) % ((RING - bytes) / 8 + 1));
        struct wi_rma op = {p.local.base, bytes, p.key, off};
        memset(p.local.base, 0, bytes);
        cr_assert(wt_end_read(p.a, &op) && wt_end_kick(p.a));
        WT_UNTIL(&p.spi, p.a->reads_done == i + 1);
        cr_assert_eq(wt_end_completed(p.a), i + 1);
        cr_assert_eq(
            memcmp(p.local.base, (uint8_t *)p.remote.base + off, bytes), 0);
    }
    pair_close(&p);
}

void wt_spi_reads_and_writes_complete_in_order(
    const struct wt_spi_fixture *fixture)
{
    struct pair p;
    pair_open(&p, fixture);
    uint64_t half = RING / 2;
    uint64_t pieces = half / PIECE;
    wt_fill((uint8_t *)p.remote.base + half, half, 6);
    wt_fill(p.local.base, half, 5);
    for (uint64_t i = 0; i < pieces; i++) {
        struct wi_rma out = piece(&p, i);
        struct wi_rma in = piece(&p, pieces + i);
        cr_assert(wt_end_read(p.a, &in) && wt_end_write(p.a, &out));
        cr_assert(wt_end_kick(p.a));
        /* A write that was posted after a read completes after it. */
        cr_assert_leq(wt_end_completed(p.a), 2 * p.a->reads_done + 2);
    }
    WT_UNTIL(&p.spi, wt_end_completed(p.a) == 2 * pieces);
    WT_UNTIL(&p.spi, p.a->reads_done == pieces);
    cr_assert(wt_end_send(p.a, "end", 3) && wt_end_kick(p.a));
    WT_UNTIL(&p.spi, p.b->messages == 1);
    cr_assert(wt_is_filled(p.remote.base, half, 5));
    cr_assert(wt_is_filled((uint8_t *)p.local.base + half, half, 6));
    pair_close(&p);
}

/* Messages behind a read may go, and be gone, before its bytes are here. */
void wt_spi_read_is_complete_with_its_bytes(
    const struct wt_spi_fixture *fixture)
{
    enum { ROUNDS = 50, MESSAGES = 40, BYTES = 64 << 10 };
    struct pair p;
    pair_open(&p, fixture);
    wt_fill(p.remote.base, BYTES, 8);
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        struct wi_rma op = {p.local.base, BYTES, p.key, 0};
        memset(p.local.base, 0, BYTES);
        cr_assert(wt_end_read(p.a, &op));
        for (uint32_t k = 0; k < MESSAGES; k++) {
            cr_assert(wt_end_send(p.a, "behind", 6));
        }
        cr_assert(wt_end_kick(p.a));
        WT_UNTIL(&p.spi, wt_end_completed(p.a) == i);
        cr_assert(wt_is_filled(p.local.base, BYTES, 8), "round %lu",
                  (unsigned long)i);
        WT_UNTIL(&p.spi, p.b->messages == i * MESSAGES);
    }
    pair_close(&p);
}

void wt_spi_reads_cross(const struct wt_spi_fixture *fixture)
{
    struct pair p;
    pair_open(&p, fixture);
    uint64_t back = wt_end_grant(p.a, &p.local);
    uint64_t half = RING / 2;
    wt_fill(p.local.base, half, 1);
    wt_fill((uint8_t *)p.remote.base + half, half, 2);
    for (uint64_t off = 0; off < half; off += PIECE) {
        struct wi_rma down = {(uint8_t *)p.local.base + half + off, PIECE,
                              p.key, half + off};
        struct wi_rma up = {(uint8_t *)p.remote.base + off, PIECE, back, off};
        cr_assert(wt_end_read(p.a, &down) && wt_end_read(p.b, &up));
        cr_assert(wt_end_kick(p.a) && wt_end_kick(p.b));
    }
    WT_UNTIL(&p.spi, p.a->reads_done == half / PIECE &&
                         p.b->reads_done == half / PIECE);
    cr_assert_eq(memcmp(p.local.base, p.remote.base, RING), 0);
    pair_close(&p);
}

void wt_spi_read_outside_the_grant_closes(const struct wt_spi_fixture *fixture)
{
    static const struct {
        uint64_t key_xor;
        uint64_t off;
        uint32_t bytes;
    } bad[] = {{1, 0, 64}, {0, RING - 8, 16}, {0, UINT64_MAX - 7, 64}};
    for (size_t i = 0; i < 3; i++) {
        struct pair p;
        pair_open(&p, fixture);
        struct wi_rma op = {p.local.base, bad[i].bytes, p.key ^ bad[i].key_xor,
                            bad[i].off};
        expect_refusal(&p, &op, fixture->ops->read);
        pair_close(&p);
    }
}

/* ---- memory and mappings ------------------------------------------------- */

void wt_spi_memory_is_zeroed_and_page_aligned(
    const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    wt_spi_open(&spi, fixture, 1);
    for (size_t bytes = 4096; bytes <= 4 << 20; bytes *= 4) {
        struct wi_mem mem = wt_mem_open(&spi, 0, bytes);
        cr_assert_eq((uintptr_t)mem.base % 4096, 0);
        cr_assert(is_zero(&mem));
        memset(mem.base, 0xff, bytes);
        fixture->ops->mem_close(spi.t[0], &mem);
    }
    wt_spi_close(&spi);
}

void wt_spi_too_much_memory_is_an_error_with_a_text(
    const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wi_mem mem = {0};
    struct weir_error err = {0};
    wt_spi_open(&spi, fixture, 1);
    weir_err rc = fixture->ops->mem_open(spi.t[0], (size_t)1 << 60, &mem, &err);
    cr_assert(rc == WEIR_ERR_NO_MEMORY || rc == WEIR_ERR_SYSTEM, "%s",
              weir_err_name(rc));
    cr_assert_eq(err.code, rc);
    cr_assert_neq(err.message[0], 0);
    cr_assert_null(mem.base, "output written on failure");
    wt_spi_close(&spi);
}

static void *map_it(struct pair *p)
{
    struct weir_error err = {0};
    void *base = NULL;
    /* The message that carries the key comes first. */
    cr_assert(wt_end_send(p->b, &p->key, 8) && wt_end_kick(p->b));
    WT_UNTIL(&p->spi, p->a->messages == 1);
    weir_err rc = p->spi.fixture->ops->map(p->a->ep, p->key, RING,
                                           WI_ACCESS_BOTH, &base, &err);
    cr_assert_eq(rc, WEIR_OK, "map: %s", err.message);
    return base;
}

void wt_spi_mapped_bytes_are_seen_by_the_owner(
    const struct wt_spi_fixture *fixture)
{
    struct pair p;
    pair_open(&p, fixture);
    uint8_t *base = map_it(&p);
    wt_fill(base, RING, 12);
    cr_assert(wt_is_filled(p.remote.base, RING, 12));
    wt_fill(p.remote.base, RING, 13);
    cr_assert(wt_is_filled(base, RING, 13));
    fixture->ops->unmap(p.spi.t[0], base, RING);
    pair_close(&p);
}

void wt_spi_map_of_unknown_key_is_refused(const struct wt_spi_fixture *fixture)
{
    struct pair p;
    pair_open(&p, fixture);
    uint8_t *base = map_it(&p);
    void *none = NULL;
    struct weir_error err = {0};
    weir_err rc = fixture->ops->map(p.a->ep, p.key ^ 0x5555, RING,
                                    WI_ACCESS_BOTH, &none, &err);
    cr_assert_eq(rc, WEIR_ERR_PEER_PROTOCOL, "%s", weir_err_name(rc));
    rc = fixture->ops->map(p.a->ep, p.key, RING * 2, WI_ACCESS_BOTH, &none,
                           &err);
    cr_assert_eq(rc, WEIR_ERR_PEER_PROTOCOL, "%s", weir_err_name(rc));
    cr_assert_null(none);
    fixture->ops->unmap(p.spi.t[0], base, RING);
    pair_close(&p);
}

void wt_spi_mapping_outlives_its_endpoint(const struct wt_spi_fixture *fixture)
{
    struct pair p;
    pair_open(&p, fixture);
    uint8_t *base = map_it(&p);
    wt_end_drop(p.a);
    WT_UNTIL(&p.spi, p.b->closed);
    wt_fill(base, RING, 14); /* must not fault */
    fixture->ops->unmap(p.spi.t[0], base, RING);
    wt_end_drop(p.b);
    fixture->ops->mem_close(p.spi.t[0], &p.local);
    fixture->ops->mem_close(p.spi.t[1], &p.remote);
    wt_spi_close(&p.spi);
}
