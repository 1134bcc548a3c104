/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All nodes are one thread's here, so everything can be read as it is.
 *
 * What a ring was like before is kept in a table by its address and what else
 * tells it from a later one at the same place.
 */
#include "tools/sim/watch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/atomic.h"
#include "core/link/edge.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/query/query.h"
#include "core/query/reader.h"
#include "core/query/shuffle.h"
#include "tools/sim/hostile.h"
#include "tools/sim/part.h"
#include "transport/sim/harness.h"

enum { SLOTS = 4096 };

struct ring_before {
    const void *ring;
    uint64_t query;
    uint64_t mark; /* tells it from others at its address */
    uint64_t pos[4];
};

struct ws_watch {
    struct ring_before before[SLOTS];
};

/* Where on which ring. */
struct site {
    struct ws_world *w;
    uint32_t node;
    const struct wi_link *link;
    const struct wi_in *in;
    const struct wi_out *out;
    bool lies; /* the peer: what it says is not to be compared */
};

static void complain(const struct site *s, const char *rule, const char *what,
                     uint64_t a, uint64_t b)
{
    const uint64_t query = s->in != NULL ? s->in->query_id : s->out->query_id;
    ws_violate(s->w, rule,
               "node %u, %s node %u, query %" PRIu64 ", shuffle %u, edge %u: "
               "%s: %" PRIu64 " and %" PRIu64,
               s->node, s->in != NULL ? "ring from" : "ring to",
               s->link->member, query - 1,
               s->in != NULL ? s->in->shuffle_id : s->out->shuffle_id,
               s->in != NULL ? s->in->edge : s->out->edge, what, a, b);
}

/* ---- positions only grow ------------------------------------------------- */

static struct ring_before *slot_of(struct ws_watch *w, const void *ring,
                                   uint64_t query, uint64_t mark)
{
    uint64_t i = ws_mix((uintptr_t)ring);
    for (uint32_t n = 0; n < SLOTS; n++, i++) {
        struct ring_before *b = &w->before[i % SLOTS];
        if (b->ring == ring || b->ring == NULL) {
            if (b->query != query || b->mark != mark) {
                *b = (struct ring_before){ring, query, mark, {0}};
            }
            return b;
        }
    }
    return NULL;
}

/* A worker has one ring to another, or to a node, in each shuffle. */
static uint64_t mark_of(const struct site *s, uint32_t shuffle,
                        uint32_t producer, uint32_t consumer)
{
    return ((uint64_t)s->node << 56 | (uint64_t)s->link->member << 48 |
            (uint64_t)shuffle << 32 | (uint64_t)producer << 16) ^
           consumer;
}

static void look_grown(const struct site *s, const void *ring, uint64_t query,
                       uint64_t mark, const uint64_t pos[4])
{
    static const char *const names[4] = {
        "its first position went back", "its second position went back",
        "its third position went back", "its fourth position went back"};
    struct ring_before *b = slot_of(s->w->watch, ring, query, mark);
    for (uint32_t i = 0; b != NULL && i < 4; i++) {
        if (pos[i] < b->pos[i]) {
            complain(s, "positions", names[i], b->pos[i], pos[i]);
        }
        b->pos[i] = pos[i];
    }
}

/* ---- a ring at its consumer ---------------------------------------------- */

static uint64_t rows_sent(struct ws_world *w, const struct wi_in *in,
                          uint32_t node, uint32_t worker, bool *known)
{
    const uint64_t query = in->query_id - 1;
    const uint32_t from = in->link->member;
    *known = query < WS_QUERIES && from < WS_NODES;
    if (!*known) {
        return 0;
    }
    const struct ws_query *q = &w->query[query];
    const struct ws_part *p = &w->part[query][from];
    const uint32_t stage = in->shuffle_id - 1;
    *known = stage < q->n_stages && in->producer_worker < WS_WORKERS &&
             p->state != WS_ABSENT && p->state != WS_AWAITED;
    if (!*known) {
        return 0;
    }
    const struct ws_stage *t = &q->stage[stage];
    uint32_t dest = t->to_node ? 0 : worker;
    for (uint32_t i = 0; i < node; i++) {
        const bool takes = (t->consumers >> i & 1) != 0;
        dest += !takes ? 0 : t->to_node ? 1 : w->shape.workers;
    }
    return ws_part_sent(p, stage, in->producer_worker, dest);
}

static void look_stream(const struct site *s, const struct wi_stream *st)
{
    bool known = false;
    const uint64_t sent = rows_sent(s->w, s->in, s->node, st->worker, &known);
    const bool ended = wi_load_rlx(&st->ended); /* rlx: one thread */
    if (known && (st->rows > sent || (ended && st->rows != sent))) {
        complain(s, "rows",
                 ended ? "it has ended: rows that came, were sent"
                       : "rows that came, were sent",
                 st->rows, sent);
    }
}

/* rlx in all of these: one thread. */
static void look_held(const struct site *s, uint64_t head)
{
    const struct wi_in *in = s->in;
    const uint32_t end = wi_load_rlx(&in->held_end); /* rlx: as above */
    for (uint32_t i = wi_load_rlx(&in->held_begin); i != end; i++) { /* rlx */
        const struct wi_held *h = &in->held[i % WI_HELD_MAX];
        /* rlx: as above */
        if (wi_load_rlx(&h->released) == 0 && h->end <= head) {
            complain(s, "held", "given back up to, held up to", head, h->end);
        }
    }
}

static void look_in(const struct site *s)
{
    const struct wi_in *in = s->in;
    const uint64_t head = wi_load_rlx(&in->ctl->head);    /* rlx: as above */
    const uint64_t tail = wi_load_rlx(&in->ctl->tail);    /* rlx: as above */
    const uint64_t scan = wi_load_rlx(&in->scan);         /* rlx: as above */
    const uint64_t credited = wi_load_rlx(&in->credited); /* rlx: as above */
    const uint64_t pos[4] = {head, tail, scan, credited};
    if (head > scan) {
        complain(s, "positions", "head, scan", head, scan);
    } else if (scan > tail) {
        complain(s, "positions", "scan, tail", scan, tail);
    } else if (tail - head > in->size) {
        complain(s, "positions", "head, tail", head, tail);
    } else if (!in->mapped && credited > head) {
        complain(s, "space", "credit told, given back", credited, head);
    }
    const uint64_t mark =
        mark_of(s, in->shuffle_id, in->producer_worker, in->consumer_worker);
    look_grown(s, in, in->query_id, mark ^ in->opened_ns << 8, pos);
    look_held(s, head);
    for (uint32_t i = 0; i < in->n_streams && !s->lies; i++) {
        look_stream(s, &in->streams[i]);
    }
}

/* ---- a ring at its producer ---------------------------------------------- */

static const struct wi_in *other_end(const struct site *s)
{
    weir_node *node = weir_sim_node(s->w->sim, s->link->member);
    if (node == NULL || s->link->self) {
        return NULL;
    }
    const struct wi_link *l = node->engine.members[s->node].link;
    if (l == NULL || l->in == NULL || l->state != WI_LINK_OPEN ||
        s->link->peer_incarnation != node->engine.incarnation) {
        return NULL;
    }
    const struct wi_in *in = wi_load_rlx(&l->in[s->out->edge]); /* rlx */
    return in != NULL && in->epoch == s->out->epoch &&
                   in->query_id == s->out->query_id &&
                   in->shuffle_id == s->out->shuffle_id
               ? in
               : NULL;
}

static void look_both(const struct site *s, uint64_t credit)
{
    const struct wi_in *in = other_end(s);
    if (in == NULL) {
        return;
    }
    const uint64_t told = wi_load_rlx(&in->credited);  /* rlx: one thread */
    const uint64_t tail = wi_load_rlx(&in->ctl->tail); /* rlx: one thread */
    if (credit > told) {
        complain(s, "space", "credit used, given", credit, told);
    }
    if (tail > s->out->notified) {
        complain(s, "positions", "told of, sent", tail, s->out->notified);
    }
}

static void look_out(const struct site *s)
{
    const struct wi_out *out = s->out;
    /* rlx: one thread */
    if (out->mapped || wi_load_rlx(&out->state) == WI_OUT_WAITING) {
        return;
    }
    const uint64_t credit = wi_load_rlx(&out->credit); /* rlx: one thread */
    const uint64_t pos[4] = {credit, out->posted, out->notified, out->tail};
    if (credit > out->notified) {
        complain(s, "positions", "credit, told of", credit, out->notified);
    } else if (out->notified > out->posted) {
        complain(s, "positions", "told of, posted", out->notified, out->posted);
    } else if (out->posted > out->tail) {
        complain(s, "positions", "posted, made", out->posted, out->tail);
    } else if (out->posted - credit > out->size) {
        complain(s, "space", "posted, credit", out->posted, credit);
    }
    const uint64_t mark =
        mark_of(s, out->shuffle_id, out->producer_worker, out->consumer_worker);
    look_grown(s, out, out->query_id, mark, pos);
    if (!s->lies) {
        look_both(s, credit);
    }
}

/* ---- a node -------------------------------------------------------------- */

static uint32_t count_bits(const uint64_t *bits, uint32_t n)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; bits != NULL && i < (n + 63) / 64; i++) {
        sum += (uint32_t)__builtin_popcountll(bits[i]);
    }
    return sum;
}

static void look_link(struct site *s)
{
    const struct wi_link *l = s->link;
    uint32_t in_use = 0;
    wi_list_each(n, &l->ins)
    {
        s->in = wi_container_of(n, struct wi_in, item.on_link);
        if (!s->in->closed) { /* else its place may be another's already */
            in_use += s->in->units;
            look_in(s);
        }
    }
    s->in = NULL;
    wi_list_each(n, &l->outs)
    {
        s->out = wi_container_of(n, struct wi_out, item.on_link);
        look_out(s);
    }
    s->out = NULL;
    const uint32_t used = count_bits(l->used, l->engine->budget.n_units);
    if (l->used != NULL && used != in_use) {
        ws_violate(s->w, "units",
                   "node %u, link to node %u: %u units are in use, and its "
                   "rings have %u",
                   s->node, l->member, used, in_use);
    }
}

static void look_budget(struct ws_world *w, uint32_t node,
                        const struct wi_engine *e)
{
    const uint64_t real = wi_simnet_memory(wi_sim_net(w->sim), node);
    const uint64_t cap = e->cfg.memory_bytes;
    if (e->mem_bytes > cap || real > cap) {
        ws_violate(w, "budget",
                   "node %u has %" PRIu64 " bytes for what travels, %" PRIu64
                   " of the transport; the cap is %" PRIu64,
                   node, e->mem_bytes, real, cap);
    }
}

static void look(void *arg, uint32_t node)
{
    struct ws_world *w = arg;
    weir_node *n = weir_sim_node(w->sim, node);
    if (n == NULL || ws_violated(w)) {
        return;
    }
    struct site s = {.w = w, .node = node};
    look_budget(w, node, &n->engine);
    for (uint32_t i = 0; i < n->engine.n_members; i++) {
        s.link = n->engine.members[i].link;
        s.lies = i < WS_NODES && (w->node[i].hostile || w->node[i].damages);
        if (s.link != NULL && !w->node[node].hostile) {
            look_link(&s);
        }
    }
}

/* ---- writes -------------------------------------------------------------- */

static void look_write_at(struct site *s, uint64_t off, uint32_t len)
{
    const struct wi_in *in = s->in;
    const uint64_t head = wi_load_rlx(&in->ctl->head); /* rlx: one thread */
    const uint64_t tail = wi_load_rlx(&in->ctl->tail); /* rlx: one thread */
    const uint64_t from = (off + in->size - tail % in->size) % in->size;
    if (off + len > in->size || from + len > in->size - (tail - head)) {
        complain(s, "space", "a write at, with bytes up to it in use",
                 tail + from, head + in->size);
    }
}

static void on_write(void *arg, uint32_t from, uint32_t to, const uint8_t *at,
                     uint32_t len)
{
    struct ws_world *w = arg;
    weir_node *n = weir_sim_node(w->sim, to);
    if (n == NULL || w->node[from].hostile || w->node[to].hostile ||
        ws_violated(w) || from >= n->engine.n_members) {
        return;
    }
    struct site s = {.w = w, .node = to, .link = n->engine.members[from].link};
    if (s.link == NULL || s.link->area.base == NULL) {
        return;
    }
    wi_list_each(i, &s.link->ins)
    {
        s.in = wi_container_of(i, struct wi_in, item.on_link);
        if (!s.in->closed && at >= s.in->mem && at < s.in->mem + s.in->size) {
            look_write_at(&s, (uint64_t)(at - s.in->mem), len);
        }
    }
}

static void on_landed(void *arg, uint32_t from, uint32_t to, bool message,
                      uint8_t *bytes, uint32_t len)
{
    ws_hostile_landed(arg, from, to, message, bytes, len);
}

weir_err ws_watch_open(struct ws_world *w)
{
    w->watch = calloc(1, sizeof(*w->watch));
    if (w->watch == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    const struct wi_simnet_watch watch = {
        .arg = w, .write = on_write, .landed = on_landed};
    wi_simnet_set_watch(wi_sim_net(w->sim), &watch);
    wi_sim_watch(w->sim, look, w);
    return WEIR_OK;
}

void ws_watch_close(struct ws_world *w)
{
    const struct wi_simnet_watch nobody = {0};
    if (w->sim != NULL) {
        wi_simnet_set_watch(wi_sim_net(w->sim), &nobody);
    }
    free(w->watch);
    w->watch = NULL;
}

/* ---- at rest ------------------------------------------------------------- */

static const char *left_on(const struct wi_link *l)
{
    if (!wi_list_empty(&l->outs) || l->live_outs != 0) {
        return "outgoing rings";
    }
    if (!wi_list_empty(&l->ins)) {
        return "incoming rings";
    }
    if (!wi_list_empty(&l->waiting)) {
        return "rings that wait";
    }
    if (count_bits(l->used, l->engine->budget.n_units) != 0) {
        return "units in use";
    }
    return l->state == WI_LINK_OPEN && l->peer_free != l->peer_units
               ? "units of the peer in use"
               : NULL;
}

static const char *left_off(const struct wi_engine *e)
{
    return !wi_list_empty(&e->dead) ? "dead links"
           : !wi_list_empty(&e->limbo)
               ? "edges in limbo"
               : NULL; /* strays go with the next event */
}

const char *ws_watch_left(struct ws_world *w, uint32_t node, uint32_t *peer)
{
    weir_node *n = weir_sim_node(w->sim, node);
    *peer = node;
    if (n == NULL || w->node[node].hostile) {
        return NULL;
    }
    const struct wi_engine *e = &n->engine;
    if (!wi_list_empty(&e->queries) || e->open_shuffles != 0) {
        return "queries";
    }
    for (*peer = 0; *peer < e->n_members; ++*peer) {
        const struct wi_link *l = e->members[*peer].link;
        const bool lies = *peer < WS_NODES && w->node[*peer].hostile;
        const char *what = l != NULL && !lies ? left_on(l) : NULL;
        if (what != NULL) {
            return what;
        }
    }
    return left_off(e);
}
