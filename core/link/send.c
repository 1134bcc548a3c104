/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/send.h"

#include <stdlib.h>
#include <string.h>

#include "core/link/in_use.h"
#include "core/link/post.h"

#define QUERIES_MAX 16384u /* FAIL, CLOSE, SHUFFLE */

/* Most messages that wait if both sides keep to the protocol and the peer just
 * does not read. Per unit of the peer: EDGE_OPEN and ABANDON. Per unit of ours:
 * a STOP for each worker, one for the ring, and CLOSED, as a unit is used again
 * only after the peer has read CLOSED. A SHUFFLE for each that is opened
 * meanwhile and a FAIL or CLOSE for each query that fails or is closed: room
 * for many times the causes that a node remembers. And hints, and a few for the
 * link. */
static uint64_t max_queued(const struct wi_link *l)
{
    const struct wi_engine *e = l->engine;
    return 64 + QUERIES_MAX + WI_HINTS_MAX + 2ull * l->peer_units +
           (e->cfg.workers + 2ull) * e->budget.n_units;
}

uint32_t wi_link_queued(const struct wi_link *l)
{
    if (l->self) {
        return l->engine->n_self_msgs;
    }
    return l->ctl_put - wi_load_rlx(&l->ctl_taken); /* rlx: only a number */
}

/* Lose the link in the next step: the sender goes on to work with it now. */
static void doom(struct wi_link *l, weir_err code)
{
    l->doom = code;
    wi_engine_due(l->engine, l->engine->now_ns);
    wi_engine_kick(l->engine);
}

/* WEIR_ERR_NO_MEMORY: nothing has happened. */
static weir_err put(struct wi_link *l, const union wi_msg *m)
{
    struct wi_ctl_msg *c = malloc(sizeof(*c) + m->head.len);
    if (c == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    c->len = m->head.len;
    c->member = l->member;
    memcpy(c->bytes, m, m->head.len);
    if (l->self) {
        l->engine->n_self_msgs++;
        wi_lq_put(&l->engine->self_msgs, &c->node);
        return WEIR_OK;
    }
    l->ctl_put++;
    wi_lq_put(&l->ctl, &c->node);
    return WEIR_OK;
}

static bool takes_messages(const struct wi_link *l)
{
    return l->state != WI_LINK_DEAD && l->doom == WEIR_OK;
}

/* False: the message will not be sent. */
static bool queue(struct wi_link *l, const union wi_msg *m)
{
    if (!takes_messages(l)) {
        return false;
    }
    weir_err rc =
        wi_link_queued(l) >= max_queued(l) ? WEIR_ERR_PEER_LOST : put(l, m);
    if (rc != WEIR_OK) {
        doom(l, rc);
    }
    return rc == WEIR_OK;
}

/* The engine's next step sends what is queued, or whoever looks before: first
 * to those above this node. Each node has an order of its own, as links take
 * turns in the order in which they first had something to send: if all began
 * with the same peer, all would wait for it. */
static void mark_unsent(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    wi_store_rlx(&e->unsent, 1); /* rlx: changed under the lock */
    if (!l->self && wi_list_empty(&l->unsent)) {
        wi_list_push_back(&e->unsent_to[l->member > e->self ? 0 : 1],
                          &l->unsent);
    }
}

static void send_later(struct wi_link *l)
{
    mark_unsent(l);
    wi_engine_kick(l->engine);
}

static void send_queued(struct wi_link *l)
{
    wi_list_remove(&l->unsent);
    wi_link_pump(l);
    wi_in_told(l);
}

void wi_link_send(struct wi_link *l, const union wi_msg *m)
{
    if (!queue(l, m)) {
        return;
    }
    if (l->self) {
        send_later(l);
    } else {
        send_queued(l);
    }
}

void wi_link_send_soon(struct wi_link *l, const union wi_msg *m)
{
    if (queue(l, m)) {
        send_later(l);
    }
}

void wi_link_send_with(struct wi_link *l, const union wi_msg *m)
{
    if (!queue(l, m)) {
        return;
    }
    mark_unsent(l);
    if (l->self) {
        wi_engine_kick(l->engine);
    }
}

void wi_link_send_late(struct wi_link *l, const union wi_msg *m)
{
    (void)queue(l, m);
}

bool wi_link_takes_hints(const struct wi_link *l, uint32_t n)
{
    return takes_messages(l) && wi_link_queued(l) + n <= WI_HINTS_MAX;
}

bool wi_link_hint(struct wi_link *l, const union wi_msg *m)
{
    if (put(l, m) != WEIR_OK) {
        return false;
    }
    send_later(l);
    return true;
}

void wi_links_flush(struct wi_engine *e)
{
    struct wi_list *n;
    /* rlx: under the lock */
    if (wi_load_rlx(&e->unsent) == 0) {
        return;
    }
    wi_store_rlx(&e->unsent, 0); /* rlx: as above */
    for (size_t i = 0; i < WI_ARRAY_LEN(e->unsent_to); i++) {
        while ((n = wi_list_take(&e->unsent_to[i])) != NULL) {
            send_queued(wi_container_of(n, struct wi_link, unsent));
        }
    }
}

void wi_links_flush_late(struct wi_engine *e)
{
    wi_each_link(e, l)
    {
        if (!l->self && wi_link_queued(l) != 0) {
            send_queued(l);
        } else if (!l->self) {
            wi_in_told(l); /* it left with a frame */
        }
    }
}

void wi_edge_fill(union wi_msg *m, enum wi_msg_type type, uint32_t edge,
                  uint32_t epoch)
{
    wi_msg_init(m, type);
    m->edge.edge = edge;
    m->edge.epoch = epoch;
}

void wi_edge_send(struct wi_link *l, enum wi_msg_type type, uint32_t edge,
                  uint32_t epoch)
{
    union wi_msg m;
    wi_edge_fill(&m, type, edge, epoch);
    wi_link_send(l, &m);
}

void wi_link_ping(struct wi_link *l, uint32_t what)
{
    (void)wi_or_sc(&l->pings, what); /* E6: pairs with E6 in send_pings() */
    wi_link_pump(l);
}
