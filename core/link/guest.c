/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints from ACCEPTED to their first message. */
#include "core/link/guest.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/link/handshake.h"
#include "core/link/join.h"
#include "core/link/say.h"
#include "core/link/seed.h"
#include "core/link/warn.h"
#include "core/transport.h"

static struct wi_guest *guest_of(struct wi_engine *e, const struct wi_ep *ep)
{
    wi_list_each(n, &e->greeting)
    {
        struct wi_guest *g = wi_container_of(n, struct wi_guest, list);
        if (g->ep == ep) {
            return g;
        }
    }
    return NULL;
}

static void guest_leaves(struct wi_engine *e, struct wi_guest *g)
{
    wi_list_remove(&g->list);
    e->n_guests--;
    e->n_hellos -= g->has_hello ? 1 : 0;
    free(g);
}

/* Let go of the oldest guest that has (not) said HELLO. */
static void make_room(struct wi_engine *e, bool has_hello)
{
    wi_list_each(n, &e->greeting)
    {
        struct wi_guest *g = wi_container_of(n, struct wi_guest, list);
        if (g->has_hello == has_hello) {
            wi_engine_disconnect(e, g->ep);
            guest_leaves(e, g);
            return;
        }
    }
}

/* A node that closes wants no new links, but it and this peer may wait for one
 * another over a link. */
static bool may_come(const struct wi_engine *e, const struct wi_msg_hello *h)
{
    return !e->closing ||
           (h->from < e->n_members && e->members[h->from].link != NULL);
}

/* A member that nobody made known here yet. It is to hear so before its own
 * patience ends. */
static void limit_wait(struct wi_engine *e, struct wi_guest *g)
{
    if (wi_link_unknown(e, &g->hello.hello)) {
        g->deadline_ns = wi_min_u64(
            g->deadline_ns, wi_time_add(e->now_ns, e->cfg.connect_ns / 2));
        wi_engine_due(e, g->deadline_ns);
    }
}

/* Answer a HELLO now, or leave it for wi_guests_greet(). */
static void welcome(struct wi_engine *e, struct wi_guest *g)
{
    if (!g->has_hello) {
        return;
    }
    if (wi_link_must_wait(e, &g->hello.hello)) {
        limit_wait(e, g);
        return;
    }
    struct wi_msg_hello hello = g->hello.hello;
    struct wi_ep *ep = g->ep;
    guest_leaves(e, g);
    if (may_come(e, &hello)) {
        wi_link_hello(e, ep, &hello);
    } else { /* now: it may close as well, and wait for this answer */
        wi_link_refuse(e, ep, WEIR_ERR_PEER_LOST, "the node is being closed");
    }
}

static void turn_away(struct wi_engine *e, struct wi_guest *g, weir_err code,
                      const char *why)
{
    struct wi_ep *ep = g->ep;
    guest_leaves(e, g);
    wi_link_refuse(e, ep, code, why);
}

/* A packet may have no more than what is about identity. */
static void guest_packet(struct wi_engine *e, struct wi_guest *g,
                         const struct wi_event *ev)
{
    struct weir_error err;
    uint32_t at = 0;
    struct wi_ep *ep = g->ep;
    weir_err rc = wi_ep_hear(e, ev, &at, &g->hello, &err);
    if (rc == WEIR_DONE) {
        return;
    }
    if (rc != WEIR_OK && rc != WEIR_ERR_PEER_PROTOCOL) {
        turn_away(e, g, rc, err.message);
        return;
    }
    if (rc == WEIR_OK && g->hello.head.type == WI_MSG_JOIN) {
        struct wi_msg_member join = g->hello.member;
        guest_leaves(e, g);
        wi_seed_message(e, ep, &join);
        return;
    }
    if (rc != WEIR_OK || g->hello.head.type != WI_MSG_HELLO) {
        turn_away(e, g, WEIR_ERR_PEER_PROTOCOL, "expected HELLO or JOIN");
        return;
    }
    if (!g->has_hello && e->n_hellos == e->cfg.max_members) {
        make_room(e, true);
    }
    e->n_hellos += g->has_hello ? 0 : 1;
    g->has_hello = true;
    welcome(e, g);
}

void wi_guests_greet(struct wi_engine *e)
{
    if (e->n_hellos == 0) {
        return; /* each step comes here; there may be many guests */
    }
    wi_list_each(n, &e->greeting)
    {
        welcome(e, wi_container_of(n, struct wi_guest, list));
    }
}

/* A member that nobody made known here hears so, while it still waits. */
static void give_up(struct wi_engine *e, struct wi_guest *g)
{
    struct wi_ep *ep = g->ep;
    struct wi_msg_hello hello = g->hello.hello;
    bool tell = g->has_hello && !e->closing && wi_link_unknown(e, &hello);
    guest_leaves(e, g);
    if (tell) {
        wi_link_hello(e, ep, &hello);
    } else {
        wi_engine_disconnect(e, ep);
    }
}

void wi_guests_tick(struct wi_engine *e, uint64_t late_ns)
{
    wi_list_each(n, &e->greeting)
    {
        struct wi_guest *g = wi_container_of(n, struct wi_guest, list);
        g->deadline_ns = wi_time_add(g->deadline_ns, late_ns);
        if (e->now_ns >= g->deadline_ns) {
            give_up(e, g);
        } else {
            wi_engine_due(e, g->deadline_ns);
        }
    }
}

/* Strangers have places of their own, so they cannot take the members'. */
static void limit_strangers(struct wi_engine *e)
{
    if (e->n_guests - e->n_hellos == WI_GUESTS) {
        make_room(e, false);
        wi_warn(e, WI_STRANGER, WI_CAUSE_CROWD,
                "%u connections have not said who they are: the oldest one "
                "is dropped for another",
                WI_GUESTS);
    }
}

static void on_accepted(struct wi_engine *e, struct wi_ep *ep)
{
    limit_strangers(e);
    struct wi_guest *g = calloc(1, sizeof(*g));
    if (g == NULL) {
        wi_engine_disconnect(e, ep);
        return;
    }
    g->ep = ep;
    g->deadline_ns = wi_time_add(e->now_ns, e->cfg.connect_ns);
    wi_list_push_back(&e->greeting, &g->list);
    e->n_guests++;
    wi_engine_due(e, g->deadline_ns);
}

void wi_guest_event(struct wi_engine *e, const struct wi_event *ev)
{
    if (ev->kind == WI_EV_ACCEPTED) {
        on_accepted(e, ev->ep);
        return;
    }
    struct wi_guest *g = guest_of(e, ev->ep);
    if (ev->kind == WI_EV_SENDABLE) {
        (void)ev->ep->transport->ops->kick(ev->ep); /* rule 4 */
    }
    if (g == NULL) {
        wi_join_event(e, ev);
    } else if (ev->kind == WI_EV_MESSAGE) {
        guest_packet(e, g, ev);
    } else if (ev->kind == WI_EV_CLOSED) {
        wi_engine_disconnect(e, ev->ep);
        guest_leaves(e, g);
    }
}

void wi_guests_close(struct wi_engine *e)
{
    wi_list_each(n, &e->greeting)
    {
        struct wi_guest *g = wi_container_of(n, struct wi_guest, list);
        wi_engine_disconnect(e, g->ep);
        guest_leaves(e, g);
    }
}
