/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile peer at live nodes, over the simulated network: the input is what
 * it does, one thing after the other, while two honest nodes run a query of
 * their own and one that includes it. Whatever it does, the honest query is
 * exact, the other one ends when the peer has gone, and nothing of both is
 * left.
 */
#include "test/fuzz/fuzz.h"
#include "test/support/rogue_ring.h"

enum {
    MOST_ACTS = 80,
    RINGS = 4,
    HONEST_ROWS = 3000,
    SHARED_ROWS = 600,
    PATIENCE_S = 120
};

struct peer {
    struct wt_lab lab;
    struct fz_input in;
    struct wt_ring ring[RINGS];
    struct wt_msg last; /* to be said again */
    uint32_t node;      /* that it deals with */
};

/* ---- messages ------------------------------------------------------------ */

static struct wt_rogue_link *link_of(struct peer *p)
{
    return p->lab.link[p->node];
}

/* Change a field or two of a message that was right. */
static void spoil(struct peer *p, struct wt_msg *m)
{
    for (uint8_t n = fz_u8(&p->in) % 4; n > 0; n--) {
        uint32_t at = fz_u8(&p->in);
        uint8_t x = fz_u8(&p->in);
        if (m->len != 0) {
            at %= m->len;
            m->at[at] = (uint8_t)(m->at[at] ^ x);
        }
    }
}

static void say(struct peer *p, struct wt_msg *m)
{
    spoil(p, m);
    p->last = *m;
    wt_rogue_send(link_of(p), m);
}

static void say_handshake(struct peer *p)
{
    static const enum wt_msg_type types[] = {WT_HELLO, WT_ACCEPT, WT_READY};
    struct wt_msg m = wt_rogue_hello(link_of(p), types[fz_u8(&p->in) % 3]);
    say(p, &m);
}

static void say_word(struct peer *p)
{
    static const enum wt_msg_type types[] = {WT_BYE, WT_PING, WT_BELL};
    struct wt_msg m = wt_msg(types[fz_u8(&p->in) % 3]);
    wt_set(&m, 4, 4, fz_u8(&p->in));
    say(p, &m);
}

static void say_fail(struct peer *p)
{
    struct wt_msg m = wt_msg(WT_FAIL);
    uint8_t x = fz_u8(&p->in);
    wt_set(&m, 4, 4, (uint64_t)(int64_t) - (100 + x % 8));
    wt_set(&m, 8, 8, p->lab.id[x / 8 % 2] + x / 64);
    wt_set_text(&m, 16, 240, "because");
    say(p, &m);
}

/* Of its side of either query. */
static void say_query(struct peer *p)
{
    static const enum wt_msg_type types[] = {WT_SHUFFLE, WT_CLOSE, WT_DIFFER};
    uint8_t x = fz_u8(&p->in);
    struct wt_msg m = wt_msg(types[x % 3]);
    wt_set(&m, 4, 4, x / 4 % 4);
    wt_set(&m, 8, 8, p->lab.id[x / 16 % 2] + x / 128);
    say(p, &m);
}

/* About a ring of its own, or about one that the node has at it. */
static void say_edge(struct peer *p)
{
    static const enum wt_msg_type types[] = {
        WT_EDGE_STOP, WT_EDGE_ABANDON, WT_EDGE_CLOSED, WT_NOTIFY, WT_CREDIT};
    struct wt_rogue_link *l = link_of(p);
    uint8_t x = fz_u8(&p->in);
    enum wt_msg_type type = types[x % 5];
    uint32_t k = x / 8u;
    uint64_t pos = (uint64_t)fz_u8(&p->in) * 64;
    struct wt_ring *r = &p->ring[k % RINGS];
    uint32_t edge = r->unit;
    uint32_t epoch = r->epoch;
    if (type != WT_EDGE_ABANDON && type != WT_NOTIFY && l->n_edges != 0) {
        const struct wt_rogue_edge *e = &l->edge[k % l->n_edges];
        edge = e->edge;
        epoch = e->epoch;
        pos = pos % 128 == 0 ? e->pos : pos;
    }
    struct wt_msg m = type == WT_NOTIFY || type == WT_CREDIT
                          ? wt_rogue_pos(type, edge, epoch, pos)
                          : wt_rogue_edge_msg(type, edge, epoch, 0xffff);
    say(p, &m);
}

static void say_anything(struct peer *p)
{
    struct wt_msg m = {.len = 1u + fz_u8(&p->in)};
    fz_take(&p->in, m.at, m.len);
    if (m.len >= 4 && m.at[1] % 2 == 0) { /* else not even a length */
        wt_put(m.at, m.at[0] % 20, 2);
        wt_put(m.at + 2, m.len, 2);
    }
    p->last = m;
    wt_rogue_send(link_of(p), &m);
}

static void say_again(struct peer *p)
{
    wt_rogue_send(link_of(p), &p->last);
}

/* ---- rings --------------------------------------------------------------- */

static void open_ring(struct peer *p)
{
    uint8_t x = fz_u8(&p->in);
    struct wt_msg m = wt_ring_message(&p->lab, p->node, 1 + x / 64 % 2,
                                      x / 4 % 16, &p->ring[x % RINGS]);
    say(p, &m);
}

static void send_rows(struct peer *p)
{
    uint8_t x = fz_u8(&p->in);
    struct wt_ring *r = &p->ring[x % RINGS];
    if (r->link != NULL && r->link->used) {
        wt_ring_rows(r, 1 + x / RINGS);
    }
}

static void send_end(struct peer *p)
{
    struct wt_ring *r = &p->ring[fz_u8(&p->in) % RINGS];
    if (r->link != NULL && r->link->used) {
        wt_ring_end(r);
    }
}

/* A frame that was right, with some bytes changed; the sum may fit that. */
static void send_frame(struct peer *p)
{
    static const int64_t keys[] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint8_t frame[256];
    uint8_t image[512] = {0};
    uint8_t x = fz_u8(&p->in);
    struct wt_ring *r = &p->ring[x % RINGS];
    if (r->link == NULL || !r->link->used) {
        return;
    }
    struct wt_place_in_ring at = wt_ring_place(r);
    uint32_t len =
        wt_frame_data(image, (struct wt_place_in_ring){0, 0}, keys, 1);
    uint8_t off = fz_u8(&p->in);
    switch (x / 4 % 4) {
    case 0:
        len = wt_frame_chunk(frame, at, image, len, off / 8u * 8 % len,
                             8u + off % 8 * 8);
        break;
    case 1:
        len = wt_frame_end(frame, at, r->sums);
        break;
    default:
        len = wt_frame_data(frame, at, keys, 1 + off % 8);
        break;
    }
    for (uint8_t n = x / 16 % 4; n > 0; n--) {
        uint32_t where = fz_u8(&p->in) % len;
        frame[where] = (uint8_t)(frame[where] ^ fz_u8(&p->in));
    }
    if (x >= 128) { /* of kind and lengths as they are now */
        wt_put(frame + 24, 0, 8);
    }
    wt_ring_write(r, frame, len);
    wt_ring_publish(r, len);
}

static void write_anywhere(struct peer *p)
{
    uint8_t bytes[64];
    uint64_t off = (uint64_t)fz_u16(&p->in) * 8;
    uint32_t len = 8u * (1u + fz_u8(&p->in) % 8);
    fz_take(&p->in, bytes, len);
    wt_rogue_write(link_of(p), off, bytes, len);
}

/* ---- connections --------------------------------------------------------- */

static void dial_again(struct peer *p)
{
    uint8_t x = fz_u8(&p->in);
    if (x % 2 == 0) {
        wt_rogue_hang_up(link_of(p));
        memset(p->ring, 0, sizeof(p->ring));
    }
    p->lab.rogue.incarnation += x / 2 % 2;
    for (uint32_t i = 0, n = 0; i < WT_ROGUE_LINKS; i++) {
        n += p->lab.rogue.link[i].used ? 1 : 0;
        if (n > 12) {
            return;
        }
    }
    p->lab.link[p->node] =
        wt_rogue_dial(&p->lab.rogue, p->lab.number[p->node],
                      weir_node_address(p->lab.node[p->node]));
    link_of(p)->mute = x / 4 % 4 == 0;
}

static void step(struct peer *p)
{
    for (uint8_t n = 1 + fz_u8(&p->in) % 32; n > 0; n--) {
        (void)wt_lab_step(&p->lab);
    }
}

static void turn(struct peer *p)
{
    p->node = !p->node;
    p->lab.rogue.welcomes = fz_u8(&p->in) % 2 == 0;
}

static void act(struct peer *p)
{
    static void (*const acts[])(struct peer *) = {
        step,           step,       step,      say_handshake, say_word,
        say_fail,       say_edge,   say_edge,  say_again,     say_anything,
        open_ring,      open_ring,  send_rows, send_frame,    send_end,
        write_anywhere, dial_again, turn,      say_query};
    acts[fz_u8(&p->in) % (sizeof(acts) / sizeof(acts[0]))](p);
}

/* ---- a run --------------------------------------------------------------- */

static void finish(struct peer *p)
{
    struct wt_lab *lab = &p->lab;
    struct weir_node_stats stats;
    FZ_CHECK(wt_lab_until(lab, wt_lab_honest_ended, PATIENCE_S),
             "the honest query does not end");
    wt_lab_exact(lab, "fuzz");
    lab->rogue.welcomes = false;
    wt_lab_part(lab);
    FZ_CHECK(wt_lab_until(lab, wt_lab_shared_ended, PATIENCE_S),
             "the shared query does not end");
    wt_lab_end(lab, WT_LAB_HONEST);
    wt_lab_end(lab, WT_LAB_SHARED);
    FZ_CHECK(wt_lab_until(lab, wt_lab_at_rest, PATIENCE_S),
             "something of the peer is left");
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        weir_node_stats_get(lab->node[i], &stats);
        FZ_CHECK(stats.memory_peak_bytes <= stats.memory_cap_bytes,
                 "%llu bytes", (unsigned long long)stats.memory_peak_bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static struct peer p;
    memset(&p, 0, sizeof(p));
    p.in = (struct fz_input){bytes, n};
    uint8_t how = fz_u8(&p.in);
    struct wt_lab_params params = {.rogue = how % 2 == 0 ? 2 : 0};
    wt_lab_open(&p.lab, &params);
    wt_lab_meet(&p.lab);
    wt_lab_begin(&p.lab, WT_LAB_HONEST, HONEST_ROWS);
    wt_lab_begin(&p.lab, WT_LAB_SHARED, SHARED_ROWS);
    for (uint32_t i = 0; i < MOST_ACTS && p.in.left != 0; i++) {
        act(&p);
    }
    finish(&p);
    wt_lab_close(&p.lab);
    return 0;
}
