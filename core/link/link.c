/* SPDX-License-Identifier: Apache-2.0 */
/* Links: opening, heartbeats, closing. The states are in link.h; everything here
 * runs under the node's lock. */
#include "core/link/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/guest.h"
#include "core/link/warn.h"

/* ---- making and freeing ------------------------------------------------------- */

static weir_err alloc_tables(struct wi_link *l)
{
    uint32_t n = l->engine->budget.n_units;
    l->in = calloc(n, sizeof(*l->in));
    l->used = calloc((n + 63) / 64, sizeof(*l->used));
    return l->in != NULL && l->used != NULL ? WEIR_OK : WEIR_ERR_NO_MEMORY;
}

void wi_link_enter(struct wi_link *l, enum wi_link_state state)
{
    l->state = state;
    l->since_ns = l->engine->now_ns;
}

struct wi_link *wi_link_make(struct wi_engine *e, uint32_t member)
{
    struct wi_link *l = aligned_alloc(WI_CACHE_LINE, sizeof(*l));
    if (l == NULL) {
        return NULL;
    }
    memset(l, 0, sizeof(*l));
    l->engine = e;
    l->member = member;
    l->slot = member;
    l->self = member == e->self;
    wi_list_init(&l->on_engine);
    wi_list_init(&l->ins);
    wi_list_init(&l->waiting);
    wi_list_init(&l->outs);
    wi_list_init(&l->active);
    wi_lq_init(&l->items);
    wi_lq_init(&l->ctl);
    l->last_rx_ns = e->now_ns;
    l->idle_since_ns = e->now_ns;
    l->deadline_ns = wi_time_add(e->now_ns, e->cfg.connect_ns);
    l->patience_ns = wi_time_add(e->now_ns, e->cfg.connect_ns / 2);
    if (alloc_tables(l) != WEIR_OK) {
        free(l->in);
        free(l->used);
        free(l);
        return NULL;
    }
    e->members[member].link = l;
    e->members[member].rested = false;
    /* E9 release: the link's fields; pairs with E9 acquire in collect_one() */
    wi_store_rel(&e->slots[l->slot], l);
    wi_engine_due(e,
                  wi_min_u64(l->patience_ns, e->now_ns + e->cfg.detect_ns / 4));
    return l;
}

void wi_link_drain(struct wi_link *l)
{
    free(l->ctl_next);
    l->ctl_next = NULL;
    struct wi_lq_node *n;
    while ((n = wi_lq_take(&l->ctl)) != NULL) {
        free(wi_container_of(n, struct wi_ctl_msg, node));
    }
    /* rlx: nobody else has the post lock */
    wi_store_rlx(&l->ctl_taken, l->ctl_put);
}

static void free_link(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    wi_list_remove(&l->on_engine);
    wi_link_drain(l);
    if (!l->self && l->peer_area != NULL) {
        l->home->ops->unmap(l->home, l->peer_area, l->peer_area_bytes);
    }
    if (!l->self && l->peer_bells != NULL) {
        l->home->ops->unmap(l->home, l->peer_bells, l->peer_bell_bytes);
    }
    if (l->area.base != NULL) {
        wi_engine_area_close(e, l->home, &l->area);
    }
    free(l->offsets);
    free(l->in);
    free(l->used);
    free(l->out);
    free(l->peer_used);
    wi_rcu_free(&l->rcu, l);
}

/* Is an edge not closed yet? Those that were abandoned count only if asked. */
static bool has_edges(const struct wi_link *l, bool abandoned)
{
    wi_list_each(n, &l->ins)
    {
        struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
        if (!in->closed && (abandoned || !in->abandoned)) {
            return true;
        }
    }
    wi_list_each(m, &l->outs)
    {
        struct wi_out *o = wi_container_of(m, struct wi_out, item.on_link);
        /* rlx: only the engine sets it, under the node's lock */
        if (!o->closed && (abandoned || wi_load_rlx(&o->abandoned) == 0)) {
            return true;
        }
    }
    return false;
}

/* A closed edge may still have its reader or writer, for as long as they like:
 * it does not need the link. */
bool wi_link_busy(const struct wi_link *l)
{
    return has_edges(l, true) || !wi_list_empty(&l->waiting);
}

bool wi_link_bury(struct wi_link *l)
{
    if (!l->sealed) {
        l->sealed = l->ep == NULL || wi_link_seal(l);
        if (!l->sealed) {
            return false; /* whoever posts kicks us afterwards */
        }
        if (l->ep != NULL) {
            wi_engine_disconnect(l->engine, l->ep);
            l->ep = NULL;
        }
    }
    if (!wi_edges_bury(l)) {
        return false;
    }
    free_link(l);
    return true;
}

/* ---- messages ------------------------------------------------------------------ */

/* As many as can be queued while both sides keep to the protocol and the peer
 * just does not read: per unit of the peer EDGE_OPEN and ABANDON, per unit of
 * ours a STOP for each worker, one for the ring, and CLOSED, because a unit is
 * used again only after the peer has read CLOSED; a SHUFFLE for each that is
 * opened meanwhile, a FAIL or CLOSE for each query that fails or is closed, for which there is room for many times the causes that a
 * node remembers; and a few for the link itself. */
static uint64_t ctl_most(const struct wi_link *l)
{
    const struct wi_engine *e = l->engine;
    return 64 + 32 * WI_TOMBS + 2ull * l->peer_units +
           (e->cfg.workers + 2ull) * e->budget.n_units;
}

uint32_t wi_link_queued(const struct wi_link *l)
{
    if (l->self) {
        return l->engine->n_self_msgs;
    }
    return l->ctl_put - wi_load_rlx(&l->ctl_taken); /* rlx: only a number */
}

/* Not at once: whoever sends goes on to work with the link and its edges. */
static void doom(struct wi_link *l, weir_err code)
{
    l->doom = code;
    wi_engine_due(l->engine, l->engine->now_ns);
    wi_engine_kick(l->engine);
}

static bool meet_doom(struct wi_link *l)
{
    char why[WI_REASON_BYTES];
    if (l->doom == WEIR_OK) {
        return false;
    }
    if (l->doom == WEIR_ERR_NO_MEMORY) {
        (void)snprintf(why, sizeof(why), "no memory for a message");
    } else {
        (void)snprintf(why, sizeof(why),
                       "it does not read: %u control messages wait for it",
                       wi_link_queued(l));
    }
    wi_link_down(l, false, l->doom, why);
    return true;
}

/* False: it will not be sent. */
static bool queue(struct wi_link *l, const union wi_msg *m)
{
    if (l->state == WI_LINK_DEAD || l->doom != WEIR_OK) {
        return false;
    }
    if (wi_link_queued(l) >= ctl_most(l)) {
        doom(l, WEIR_ERR_PEER_LOST);
        return false;
    }
    struct wi_ctl_msg *c = malloc(sizeof(*c) + m->head.len);
    if (c == NULL) {
        doom(l, WEIR_ERR_NO_MEMORY);
        return false;
    }
    c->len = m->head.len;
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
    for (uint32_t i = 0; i < e->n_members; i++) {
        struct wi_link *l = e->members[i].link;
        if (l != NULL && wi_link_queued(l) != 0) {
            wi_link_pump(l);
        }
    }
}

static void send_bye(struct wi_link *l)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_BYE);
    wi_link_send(l, &m);
}

/* Not queued: a peer that asks and does not read makes no pile of answers. */
static void ping(struct wi_link *l, uint32_t what)
{
    (void)wi_or_sc(&l->pings, what); /* E6: pairs with E6 in send_pings() */
    wi_link_pump(l);
}

/* ---- opening --------------------------------------------------------------------- */

weir_err wi_link_alloc_peer(struct wi_link *l, uint32_t n_units)
{
    l->out = calloc(n_units, sizeof(struct wi_out *));
    l->peer_used = calloc((n_units + 63) / 64, sizeof(uint64_t));
    return l->out != NULL && l->peer_used != NULL ? WEIR_OK
                                                  : WEIR_ERR_NO_MEMORY;
}

static weir_err open_self(struct wi_link *l, struct weir_error *err)
{
    struct wi_engine *e = l->engine;
    weir_err rc = wi_engine_area_open(e, e->transport, &l->area, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (wi_link_alloc_peer(l, e->budget.n_units) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u units",
                       e->budget.n_units);
    }
    wi_link_enter(l, WI_LINK_OPEN);
    l->mapped = true;
    l->home = e->transport;
    l->peer_incarnation = e->incarnation;
    l->caps = e->cfg.no_checksum ? 0 : WI_WIRE_CAP_CHECKSUM;
    l->peer_area = l->area.base;
    l->peer_unit_bytes = e->budget.unit_bytes;
    l->peer_units = e->budget.n_units;
    l->peer_free = l->peer_units;
    return WEIR_OK;
}

struct wi_link *wi_link_need(struct wi_engine *e, uint32_t member)
{
    struct wi_link *l = e->members[member].link;
    if (l != NULL) {
        return l;
    }
    l = wi_link_make(e, member);
    if (l == NULL) {
        return NULL;
    }
    struct weir_error err;
    weir_err rc = WEIR_OK;
    if (l->self) {
        rc = open_self(l, &err);
    } else {
        wi_link_enter(l, WI_LINK_CONNECTING);
        l->initiator = true;
        rc = wi_link_dial(l, &err);
    }
    if (rc != WEIR_OK) {
        wi_link_down(l, false, rc, err.message);
    }
    return l;
}

void wi_link_opened(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    wi_link_enter(l, WI_LINK_OPEN);
    l->counted = true;
    l->idle_since_ns = e->now_ns;
    wi_engine_due(e, wi_time_add(e->now_ns, e->cfg.detect_ns / 4));
    e->stats.links_open++;
    e->stats.links_opened++;
    wi_link_say_way(l);
    wi_log(&e->log, WI_LOG_INFO, "link to %s is open: %s",
           wi_engine_member_name(e, l->member), l->way);
    wi_query_linked(l);
    wi_out_place(l);
}

/* ---- closing ------------------------------------------------------------------------ */

/* A closed link that is needed again: a new one takes over what waits. */
static void reopen(struct wi_link *l)
{
    struct wi_list *n;
    while ((n = wi_list_take(&l->waiting)) != NULL) {
        struct wi_out *o = wi_container_of(n, struct wi_out, item.on_link);
        struct wi_link *next = wi_link_need(l->engine, l->member);
        if (next == NULL || o->released) {
            wi_list_push_back(&l->waiting, n);
            return;
        }
        wi_out_start(next, o);
    }
}

/* The peer has closed the link, as one that it does not use; but readers here
 * wait for it. It may be slow to open its query, or have left for good: what
 * becomes of another link tells. */
static void watch_producers(const struct wi_link *l)
{
    if (!l->self && wi_query_expects(l->engine, l->member)) {
        (void)wi_link_need(l->engine, l->member);
    }
}

static void report_loss(struct wi_link *l, weir_err code, const char *why)
{
    struct wi_engine *e = l->engine;
    const struct wi_member *m = &e->members[l->member];
    wi_warn(e, l->member, WI_CAUSE_LOST, "link lost: peer %s (%s): %s", m->name,
            m->address, why);
    e->stats.links_lost++;
    wi_query_peer_lost(l, code, why);
}

void wi_link_down(struct wi_link *l, bool graceful, weir_err code,
                  const char *why)
{
    struct wi_engine *e = l->engine;
    if (l->state == WI_LINK_DEAD) {
        return;
    }
    bool clean = graceful && !has_edges(l, false);
    wi_link_enter(l, WI_LINK_DEAD);
    l->lost = !clean;
    e->members[l->member].rested = clean && !l->self;
    if (l->counted) {
        e->stats.links_open--;
    }
    if (e->members[l->member].link == l) {
        e->members[l->member].link = NULL;
        wi_store_rel(&e->slots[l->slot], NULL); /* E9: freed after RCU */
    }
    wi_list_push_back(&e->dead, &l->on_engine);
    wi_edges_dead(l);
    if (!clean) {
        wi_engine_rouse(e); /* also workers that run other queries */
        report_loss(l, code, why);
    } else if (!e->closing) {
        reopen(l);
        watch_producers(l);
    }
    wi_query_unlinked(l);
    wi_engine_kick(e);
}

void wi_link_bye(struct wi_link *l)
{
    if (l->state == WI_LINK_OPEN && !wi_link_busy(l)) {
        wi_link_enter(l, WI_LINK_CLOSING);
        l->deadline_ns =
            wi_time_add(l->engine->now_ns, l->engine->cfg.detect_ns);
        wi_engine_due(l->engine, l->deadline_ns);
        if (l->self) {
            wi_link_down(l, true, WEIR_OK, "closed");
        } else {
            send_bye(l);
            wi_engine_kick(l->engine); /* a new deadline */
        }
    }
}

static void on_bye(struct wi_link *l)
{
    if (l->state == WI_LINK_CLOSING) {
        wi_link_down(l, true, WEIR_OK, "closed");
    } else if (l->state == WI_LINK_OPEN && !wi_link_busy(l)) {
        send_bye(l);
        wi_link_enter(l, WI_LINK_CLOSING);
        l->deadline_ns =
            wi_time_add(l->engine->now_ns, l->engine->cfg.detect_ns);
        wi_engine_due(l->engine, l->deadline_ns);
    }
}

/* ---- events --------------------------------------------------------------------------- */

static weir_err dispatch(struct wi_link *l, const union wi_msg *m,
                         struct weir_error *err)
{
    switch (m->head.type) {
    case WI_MSG_ACCEPT:
    case WI_MSG_READY:
    case WI_MSG_REFUSE:
        if (wi_link_handshake(l, m)) {
            return WEIR_OK;
        }
        break;
    case WI_MSG_BYE:
        on_bye(l);
        return WEIR_OK;
    case WI_MSG_PING:
        if (m->word.arg != 0) {
            ping(l, WI_PING_ANSWER);
        }
        return WEIR_OK;
    case WI_MSG_BELL:
        if (m->word.arg < l->engine->cfg.workers) {
            l->engine->ring_fn(l->engine->hook_arg, m->word.arg);
        }
        return WEIR_OK;
    case WI_MSG_FAIL:
        wi_query_message(l, &m->fail);
        return WEIR_OK;
    case WI_MSG_SHUFFLE:
    case WI_MSG_CLOSE:
    case WI_MSG_DIFFER:
        wi_query_agree(l, m);
        return WEIR_OK;
    default:
        if (m->head.type >= WI_MSG_EDGE_OPEN && m->head.type <= WI_MSG_CREDIT &&
            l->state >= WI_LINK_OPEN) {
            return wi_edge_message(l, m, err);
        }
        break;
    }
    return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                   "control message %u in link state %d", m->head.type,
                   (int)l->state);
}

static void link_packet(struct wi_link *l, const uint8_t *bytes, uint32_t len)
{
    struct weir_error err;
    union wi_msg m;
    uint32_t at = 0;
    weir_err rc = WEIR_OK;
    l->last_rx_ns = l->engine->now_ns;
    l->ping_ns = 0;
    while (l->state != WI_LINK_DEAD && l->ep != NULL && !meet_doom(l)) {
        rc = wi_msg_next(bytes, len, &at, &m, &err);
        if (rc == WEIR_OK) {
            rc = dispatch(l, &m, &err);
        }
        if (rc != WEIR_OK) {
            break;
        }
    }
    if (rc < 0) {
        wi_link_down(l, false, rc, err.message);
    }
}

void wi_link_event(struct wi_engine *e, const struct wi_event *ev)
{
    struct wi_link *l = ev->ep->user;
    if (l == NULL) {
        wi_guest_event(e, ev);
        return;
    }
    if (l->state == WI_LINK_DEAD) {
        return;
    }
    switch (ev->kind) {
    case WI_EV_CONNECTED:
        wi_link_connected(l);
        break;
    case WI_EV_MESSAGE:
        link_packet(l, ev->bytes, ev->len);
        break;
    case WI_EV_CLOSED:
        if (!wi_link_goes_on(l, ev)) {
            wi_link_down(l, l->state == WI_LINK_CLOSING, WEIR_ERR_PEER_LOST,
                         ev->reason);
        }
        break;
    default:
        wi_link_pump(l);
        break;
    }
}

/* ---- timers ------------------------------------------------------------------------------ */

static bool has_queries(const struct wi_link *l)
{
    return wi_link_busy(l) || wi_query_includes(l->engine, l->member);
}

void wi_link_rest(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    if (l->state == WI_LINK_OPEN && !has_queries(l)) {
        l->idle_since_ns = e->now_ns;
        wi_engine_due(e, wi_time_add(e->now_ns, e->cfg.idle_close_ns));
    }
}

static void tick_open(struct wi_link *l, uint64_t now_ns)
{
    const struct weir_node_params *cfg = &l->engine->cfg;
    if (!has_queries(l)) {
        uint64_t close_at = wi_time_add(l->idle_since_ns, cfg->idle_close_ns);
        if (now_ns >= close_at) {
            wi_link_bye(l);
        } else {
            wi_engine_due(l->engine, close_at);
        }
        l->last_rx_ns = now_ns;
        return;
    }
    l->idle_since_ns = now_ns;
    if (l->self) {
        return;
    }
    wi_engine_due(l->engine, wi_time_add(now_ns, cfg->detect_ns / 4));
    /* Silence counts from a question that nobody answered: a link that was at
     * rest was not watched. */
    if (now_ns - l->last_rx_ns > cfg->detect_ns && l->ping_ns != 0 &&
        now_ns - l->ping_ns >= cfg->detect_ns / 2) {
        char why[96];
        (void)snprintf(why, sizeof(why), "silent for %.1f s (detect_ns)",
                       (double)(now_ns - l->last_rx_ns) / 1e9);
        wi_link_down(l, false, WEIR_ERR_PEER_LOST, why);
    } else if (now_ns - l->last_rx_ns >= cfg->detect_ns / 4) {
        l->ping_ns = l->ping_ns != 0 ? l->ping_ns : now_ns;
        ping(l, WI_PING_ASK);
    }
}

void wi_link_tick(struct wi_link *l, uint64_t now_ns)
{
    if (meet_doom(l)) {
        return;
    }
    if (l->state == WI_LINK_OPEN) {
        tick_open(l, now_ns);
        return;
    }
    if (l->state == WI_LINK_DEAD) {
        return;
    }
    if (l->state != WI_LINK_CLOSING) {
        wi_link_connect_tick(l, now_ns);
    } else if (now_ns >= l->deadline_ns) {
        wi_link_down(l, true, WEIR_OK, "closed");
    } else {
        wi_engine_due(l->engine, l->deadline_ns);
    }
}
