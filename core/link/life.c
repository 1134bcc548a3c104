/* SPDX-License-Identifier: Apache-2.0 */
/* Links: opened when needed, watched, closed, lost. */
#include "core/link/life.h"

#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/neutral.h"
#include "core/link/connect.h"
#include "core/link/edge.h"
#include "core/link/edge_out.h"
#include "core/link/in_end.h"
#include "core/link/members.h"
#include "core/link/news.h"
#include "core/link/post.h"
#include "core/link/send.h"
#include "core/link/warn.h"
#include "core/link/worker.h"
#include "core/transport.h"

/* ---- opening ------------------------------------------------------------- */

static weir_err open_self(struct wi_link *l, struct weir_error *err)
{
    struct wi_engine *e = l->engine;
    l->home = e->transport; /* gives the area back, also if the rest fails */
    l->mapped = true;
    l->peer_incarnation = e->incarnation;
    l->caps = wi_engine_caps(e);
    if (l->outside) {
        wi_link_enter(l, WI_LINK_OPEN);
        return WEIR_OK;
    }
    weir_err rc = wi_engine_area_open(e, e->transport, &l->area, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (wi_link_alloc_peer(l, e->budget.n_units) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u units",
                       e->budget.n_units);
    }
    const struct wi_mem_part ctl = {.base = l->area.base,
                                    .bytes = l->area.bytes,
                                    .to = e->budget.n_units *
                                          sizeof(struct wi_ring_ctl)};
    rc = l->home->ops->mem_take(l->home, &ctl, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_link_enter(l, WI_LINK_OPEN);
    l->peer_area = l->area.base;
    l->peer_area_bytes = l->area.bytes;
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
           wi_member_name(e, l->member), l->way);
    if (!l->outside) {
        e->up->link_opened(l);
    }
    e->shares->link_opened(l);
    wi_news_link_opened(l);
    wi_out_place(l);
}

void wi_link_revive(struct wi_link *l)
{
    if (l->state == WI_LINK_CLOSING) {
        wi_link_enter(l, WI_LINK_OPEN);
        l->idle_since_ns = l->engine->now_ns;
        wi_engine_kick(l->engine); /* its timers have changed */
        l->engine->shares->link_opened(l);
        wi_news_link_opened(l);
        wi_out_place(l);
    }
}

/* ---- closing ------------------------------------------------------------- */

static void send_bye(struct wi_link *l)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_BYE);
    wi_link_send(l, &m);
}

/* A closed link is needed again: a new one takes over its waiting edges. */
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

/* The peer has closed the link because it does not use it, but readers here
 * wait for the peer. It may be slow to open its query, or have left for good: a
 * new link will tell. */
static void watch_producers(const struct wi_link *l)
{
    if (!l->self && !l->outside &&
        l->engine->up->expects(l->engine, l->member)) {
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
    e->up->peer_lost(l, code, why);
}

void wi_link_down(struct wi_link *l, bool graceful, weir_err code,
                  const char *why)
{
    struct wi_engine *e = l->engine;
    if (l->state == WI_LINK_DEAD) {
        return;
    }
    bool clean = graceful && !wi_link_has_edges(l, false);
    wi_link_enter(l, WI_LINK_DEAD);
    l->lost = !clean;
    e->members[l->member].rested = clean && !l->self;
    if (l->counted) {
        e->stats.links_open--;
    }
    if (e->members[l->member].link == l) {
        e->members[l->member].link = NULL;
        if (!l->outside) {
            wi_store_rel(&e->slots[l->slot], NULL); /* E9: freed after RCU */
        }
    }
    wi_list_remove(&l->unsent);
    wi_list_push_back(&e->dead, &l->on_engine);
    wi_edges_dead(l);
    if (!clean) {
        wi_workers_rouse(e); /* also workers that run other queries */
        report_loss(l, code, why);
    } else if (!e->closing) {
        reopen(l);
        watch_producers(l);
    }
    if (!l->outside) {
        e->up->link_gone(l);
    }
    e->shares->link_gone(l, clean, code, why);
    wi_news_link_gone(l, clean);
    wi_engine_kick(e);
}

void wi_link_bye(struct wi_link *l)
{
    /* What a node says to itself may carry what has to be given back. */
    bool talks = l->self && l->engine->n_self_msgs != 0;
    if (l->state == WI_LINK_OPEN && !wi_link_busy(l) && !talks) {
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

weir_err wi_link_on_bye(struct wi_link *l, const union wi_msg *m,
                        struct weir_error *err)
{
    (void)m;
    (void)err;
    if (l->state == WI_LINK_CLOSING) {
        wi_link_down(l, true, WEIR_OK, "closed");
    } else if (l->state == WI_LINK_OPEN && !wi_link_busy(l)) {
        send_bye(l);
        wi_link_enter(l, WI_LINK_CLOSING);
        l->deadline_ns =
            wi_time_add(l->engine->now_ns, l->engine->cfg.detect_ns);
        wi_engine_due(l->engine, l->deadline_ns);
    } else if (l->state == WI_LINK_OPEN && l->engine->shares->busy(l)) {
        wi_link_ping(l, WI_PING_ASK); /* the peer does not see what we get */
    }
    return WEIR_OK;
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
        l->engine->shares->link_over(l);
    }
    if (!wi_edges_bury(l)) {
        return false;
    }
    wi_link_free(l);
    return true;
}

/* ---- timers -------------------------------------------------------------- */

bool wi_link_meet_doom(struct wi_link *l)
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

static void tick_open(struct wi_link *l, uint64_t now_ns)
{
    const struct weir_node_params *cfg = &l->engine->cfg;
    if (!wi_link_needed(l)) {
        uint64_t close_at = wi_link_idle_until(l);
        if (now_ns >= close_at) {
            wi_link_bye(l);
        } else {
            wi_engine_due(l->engine, close_at);
        }
        l->last_rx_ns = now_ns;
        return;
    }
    l->idle_since_ns = now_ns;
    wi_out_tick(l);
    if (l->self) {
        return;
    }
    wi_engine_due(l->engine, wi_time_add(now_ns, cfg->detect_ns / 4));
    /* Silence counts from a question that nobody answered: a link at rest was
     * not watched. */
    if (now_ns - l->last_rx_ns > cfg->detect_ns && l->ping_ns != 0 &&
        now_ns - l->ping_ns >= cfg->detect_ns / 2) {
        char why[96];
        (void)wi_neutral_format(why, sizeof(why),
                                "silent for %.1f s (detect_ns)",
                                (double)(now_ns - l->last_rx_ns) / 1e9);
        wi_link_down(l, false, WEIR_ERR_PEER_LOST, why);
    } else if (now_ns - l->last_rx_ns >= cfg->detect_ns / 4) {
        l->ping_ns = l->ping_ns != 0 ? l->ping_ns : now_ns;
        wi_link_ping(l, WI_PING_ASK);
    }
}

void wi_link_excuse(struct wi_link *l, uint64_t late_ns)
{
    l->deadline_ns = wi_time_add(l->deadline_ns, late_ns);
    l->patience_ns = wi_time_add(l->patience_ns, late_ns);
    l->starved_ns += l->starved_ns != 0 ? late_ns : 0;
    if (l->ping_ns != 0) {
        l->ping_ns = wi_min_u64(l->ping_ns + late_ns, l->engine->now_ns);
    }
}

void wi_link_tick(struct wi_link *l, uint64_t now_ns)
{
    if (wi_link_meet_doom(l)) {
        return;
    }
    if (l->state == WI_LINK_OPEN) {
        tick_open(l, now_ns);
        return;
    }
    if (l->state == WI_LINK_DEAD) {
        return;
    }
    struct weir_error err;
    if (l->state != WI_LINK_CLOSING) {
        if (wi_link_connect_tick(l, now_ns, &err) < 0) {
            wi_link_down(l, false, err.code, err.message);
        }
    } else if (now_ns >= l->deadline_ns) {
        wi_link_down(l, true, WEIR_OK, "closed");
    } else {
        wi_engine_due(l->engine, l->deadline_ns);
    }
}
