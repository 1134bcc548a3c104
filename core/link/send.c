/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/send.h"

#include <stdlib.h>
#include <string.h>

#include "core/link/post.h"

#define QUERIES_MAX 16384u /* FAIL, CLOSE, SHUFFLE */

/* Most messages that wait if both sides keep to the protocol and the peer just
 * does not read. Per unit of the peer: EDGE_OPEN and ABANDON. Per unit of ours:
 * a STOP for each worker, one for the ring, and CLOSED, as a unit is used again
 * only after the peer has read CLOSED. A SHUFFLE for each that is opened
 * meanwhile and a FAIL or CLOSE for each query that fails or is closed: room
 * for many times the causes that a node remembers. And a few for the link. */
static uint64_t max_queued(const struct wi_link *l)
{
    const struct wi_engine *e = l->engine;
    return 64 + QUERIES_MAX + 2ull * l->peer_units +
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

/* False: the message will not be sent. */
static bool queue(struct wi_link *l, const union wi_msg *m)
{
    if (l->state == WI_LINK_DEAD || l->doom != WEIR_OK) {
        return false;
    }
    if (wi_link_queued(l) >= max_queued(l)) {
        doom(l, WEIR_ERR_PEER_LOST);
        return false;
    }
    struct wi_ctl_msg *c = malloc(sizeof(*c) + m->head.len);
    if (c == NULL) {
        doom(l, WEIR_ERR_NO_MEMORY);
        return false;
    }
    c->len = m->head.len;
    c->member = l->member;
    memcpy(c->bytes, m, m->head.len);
    if (l->self) {
        l->engine->n_self_msgs++;
        wi_lq_put(&l->engine->self_msgs, &c->node);
        wi_engine_kick(l->engine);
        return true;
    }
    l->ctl_put++;
    wi_lq_put(&l->ctl, &c->node);
    return true;
}

void wi_link_send(struct wi_link *l, const union wi_msg *m)
{
    if (queue(l, m) && !l->self) {
        wi_link_pump(l);
    }
}

void wi_link_send_soon(struct wi_link *l, const union wi_msg *m)
{
    if (queue(l, m) && !l->self) {
        l->engine->unsent = true;
        wi_engine_kick(l->engine);
    }
}

void wi_links_flush(struct wi_engine *e)
{
    if (!e->unsent) {
        return;
    }
    e->unsent = false;
    wi_each_link(e, l)
    {
        if (wi_link_queued(l) != 0) {
            wi_link_pump(l);
        }
    }
}

void wi_edge_send(struct wi_link *l, enum wi_msg_type type, uint32_t edge,
                  uint32_t epoch)
{
    union wi_msg m;
    wi_msg_init(&m, type);
    m.edge.edge = edge;
    m.edge.epoch = epoch;
    wi_link_send(l, &m);
}

void wi_link_ping(struct wi_link *l, uint32_t what)
{
    (void)wi_or_sc(&l->pings, what); /* E6: pairs with E6 in send_pings() */
    wi_link_pump(l);
}
