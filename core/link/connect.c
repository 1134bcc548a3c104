/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/connect.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/handshake.h"
#include "core/link/members.h"
#include "core/link/warn.h"
#include "core/transport.h"

#define PAUSE_NS 1000000ull       /* before the second attempt; then doubled */
#define PAUSE_MAX_NS 256000000ull /* at most */

weir_err wi_link_dial(struct wi_link *l, struct weir_error *err)
{
    struct wi_engine *e = l->engine;
    weir_err rc = e->ops->connect(e->transport, e->members[l->member].address,
                                  &l->ep, err);
    if (rc == WEIR_OK) {
        l->ep->user = l;
    }
    wi_engine_kick(e); /* the transport may have events, or want to be armed */
    return rc;
}

void wi_link_say_way(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    char before[WI_REASON_BYTES];
    wi_text_put(before, sizeof(before), l->way);
    e->ops->why(e->transport, e->members[l->member].address, l->ep, l->way);
    size_t at = strlen(l->way);
    (void)snprintf(l->way + at, sizeof(l->way) - at, "%s%s",
                   before[0] != '\0' ? "; " : "", before);
}

/* Go on over the next way to the peer, if the transport knows one. */
static bool try_next(struct wi_link *l, const char *why)
{
    struct wi_engine *e = l->engine;
    const struct wi_member *m = &e->members[l->member];
    struct wi_ep *next = NULL;
    struct weir_error err;
    if (l->state != WI_LINK_CONNECTING || l->ep == NULL ||
        e->ops->connect_next(e->transport, m->address, l->ep, &next, &err) !=
            WEIR_OK) {
        return false;
    }
    const char *failed = l->ep->transport->ops->name;
    wi_warn(e, l->member, WI_CAUSE_CONNECT,
            "link to %s: %s failed: %s; going on over %s", m->name, failed, why,
            next->transport->ops->name);
    (void)snprintf(l->way, sizeof(l->way), "%s failed: %s", failed, why);
    wi_engine_disconnect(e, l->ep); /* nobody sends before CONNECTED */
    l->ep = next;
    next->user = l;
    /* A process that was stopped meanwhile may be past its deadline. */
    l->deadline_ns = wi_max_u64(l->deadline_ns,
                                wi_time_add(e->now_ns, e->cfg.connect_ns / 4));
    l->patience_ns = e->now_ns + (l->deadline_ns - e->now_ns) / 2;
    wi_engine_due(e, l->patience_ns);
    wi_engine_kick(e);
    return true;
}

/* A peer that runs has hung up before it knew who we are: it had no room, or
 * took us for one stranger among many. It may have room in a moment. */
static bool try_again(struct wi_link *l, const struct wi_event *ev)
{
    struct wi_engine *e = l->engine;
    bool hung_up = l->state == WI_LINK_HELLO || l->state == WI_LINK_PROOF ||
                   (l->state == WI_LINK_CONNECTING && ev->hung_up);
    if (!hung_up || e->closing || e->now_ns >= l->deadline_ns) {
        return false;
    }
    if (l->pause_ns == 0) {
        wi_warn(e, l->member, WI_CAUSE_CONNECT,
                "link to %s: %s; trying again for %.1f s (connect_ns)",
                wi_member_name(e, l->member), ev->reason,
                (double)(l->deadline_ns - e->now_ns) / 1e9);
    }
    (void)snprintf(l->way, sizeof(l->way), "refused before: %s", ev->reason);
    if (!wi_link_drop_attempt(l)) {
        return false;
    }
    l->pause_ns =
        wi_min_u64(wi_max_u64(2 * l->pause_ns, PAUSE_NS), PAUSE_MAX_NS);
    l->patience_ns = wi_engine_about(e, l->pause_ns);
    wi_engine_due(e, l->patience_ns);
    wi_link_enter(l, WI_LINK_CONNECTING);
    return true;
}

bool wi_link_begin_again(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    bool ours = l->state <= WI_LINK_HELLO;
    if (!ours || !wi_link_drop_attempt(l)) {
        return false;
    }
    l->deadline_ns = wi_time_add(e->now_ns, e->cfg.connect_ns);
    l->patience_ns = e->now_ns;
    wi_engine_due(e, e->now_ns);
    wi_link_enter(l, WI_LINK_CONNECTING);
    return true;
}

bool wi_link_goes_on(struct wi_link *l, const struct wi_event *ev)
{
    return try_next(l, ev->reason) || try_again(l, ev);
}

static weir_err give_up(const struct wi_link *l, struct weir_error *err)
{
    double s = (double)l->engine->cfg.connect_ns / 1e9;
    return l->pause_ns != 0
               ? wi_fail(err, WEIR_ERR_PEER_LOST,
                         "no link within %.1f s (connect_ns); %s", s, l->way)
               : wi_fail(err, WEIR_ERR_PEER_LOST,
                         "no link within %.1f s (connect_ns); does a Weir node "
                         "listen there?",
                         s);
}

/* The pause is over, or it is time for the next way. */
static weir_err move_on(struct wi_link *l, struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    if (l->ep == NULL) {
        rc = wi_link_dial(l, err);
    } else if (try_next(l, "no answer in half the time (connect_ns)")) {
        return WEIR_OK;
    }
    l->patience_ns = UINT64_MAX; /* the last way gets the rest of the time */
    return rc;
}

weir_err wi_link_connect_tick(struct wi_link *l, uint64_t now_ns,
                              struct weir_error *err)
{
    bool connecting = l->state == WI_LINK_CONNECTING;
    weir_err rc = WEIR_OK;
    if (connecting && now_ns >= l->patience_ns &&
        (l->ep != NULL || now_ns < l->deadline_ns)) {
        rc = move_on(l, err);
    }
    if (rc == WEIR_OK && now_ns >= l->deadline_ns) {
        rc = give_up(l, err);
    }
    wi_engine_due(l->engine, connecting
                                 ? wi_min_u64(l->patience_ns, l->deadline_ns)
                                 : l->deadline_ns);
    return rc;
}
