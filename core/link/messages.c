/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/messages.h"

#include "core/base/err.h"
#include "core/link/connect.h"
#include "core/link/edge_in.h"
#include "core/link/edge_out.h"
#include "core/link/guest.h"
#include "core/link/handshake.h"
#include "core/link/life.h"
#include "core/link/news_in.h"
#include "core/link/post.h"
#include "core/link/send.h"
#include "core/transport.h"

enum { MOST_POLLS = 16 };

static weir_err on_ping(struct wi_link *l, const union wi_msg *m,
                        struct weir_error *err)
{
    (void)err;
    if (m->word.arg != 0) {
        wi_link_revive(l); /* who asks needs the link */
        wi_link_ping(l, WI_PING_ANSWER);
    }
    return WEIR_OK;
}

static weir_err on_bell(struct wi_link *l, const union wi_msg *m,
                        struct weir_error *err)
{
    (void)err;
    if (m->word.arg < l->engine->cfg.workers) {
        l->engine->ring_fn(l->engine->hook_arg, m->word.arg);
    }
    return WEIR_OK;
}

static weir_err on_query(struct wi_link *l, const union wi_msg *m,
                         struct weir_error *err)
{
    (void)err;
    l->engine->up->message(l, m);
    return WEIR_OK;
}

static weir_err on_filter(struct wi_link *l, const union wi_msg *m,
                          struct weir_error *err)
{
    if ((l->caps & WI_WIRE_CAP_FILTER) == 0) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "FILTER was not agreed upon");
    }
    l->engine->up->message(l, m);
    return WEIR_OK;
}

/* Messages of rows and queries are for members of one cluster: a link of others
 * has no rings and no tables for them. */
static bool is_for_members(uint16_t type)
{
    switch (type) {
    case WI_MSG_BELL:
    case WI_MSG_EDGE_OPEN:
    case WI_MSG_EDGE_STOP:
    case WI_MSG_EDGE_ABANDON:
    case WI_MSG_EDGE_CLOSED:
    case WI_MSG_NOTIFY:
    case WI_MSG_CREDIT:
    case WI_MSG_FAIL:
    case WI_MSG_SHUFFLE:
    case WI_MSG_CLOSE:
    case WI_MSG_DIFFER:
    case WI_MSG_FILTER:
    case WI_MSG_MEMBER:
        return true;
    default:
        return false;
    }
}

static weir_err on_share(struct wi_link *l, const union wi_msg *m,
                         struct weir_error *err)
{
    if ((l->caps & WI_WIRE_CAP_REGION) == 0) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "regions were not agreed upon");
    }
    if (m->head.type == WI_MSG_FIND || m->head.type == WI_MSG_ASK) {
        wi_link_revive(l);
    }
    return l->engine->shares->message(l, m, err);
}

struct row {
    enum wi_link_state from; /* states of the link in which it may come */
    enum wi_link_state to;
    weir_err (*take)(struct wi_link *l, const union wi_msg *m,
                     struct weir_error *err); /* NULL: never over a link */
};

#define ROW(TYPE, NUMBER, BODY, FROM, TO, TAKE)                                \
    [WI_MSG_##TYPE] = {WI_LINK_##FROM, WI_LINK_##TO, TAKE},

static const struct row rows[WI_MSG_TYPES] = {WI_MESSAGES(ROW)};

weir_err wi_link_message(struct wi_link *l, const union wi_msg *m,
                         struct weir_error *err)
{
    const struct row *r = &rows[m->head.type]; /* wi_msg_next() knows it */
    if (r->take == NULL || l->state < r->from || l->state > r->to ||
        (l->outside && is_for_members(m->head.type))) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "control message %u in link state %d", m->head.type,
                       (int)l->state);
    }
    return r->take(l, m, err);
}

static void link_packet(struct wi_link *l, const uint8_t *bytes, uint32_t len)
{
    struct weir_error err;
    union wi_msg m;
    uint32_t at = 0;
    weir_err rc = WEIR_OK;
    l->last_rx_ns = l->engine->now_ns;
    l->ping_ns = 0;
    while (l->state != WI_LINK_DEAD && l->ep != NULL && !wi_link_meet_doom(l)) {
        const uint8_t *from = bytes + at;
        rc = wi_msg_next(bytes, len, &at, &m, &err);
        if (rc == WEIR_OK) {
            rc = wi_link_hear(l, &m, from, &err);
        }
        if (rc == WEIR_OK) {
            rc = wi_link_message(l, &m, &err);
        }
        if (rc < 0 || rc == WEIR_DONE) {
            break;
        }
    }
    if (rc < 0) {
        wi_link_down(l, false, rc, err.message);
    }
}

/* Is it no loss that the peer has closed the connection? One that it began and
 * has not finished may be an attempt that it gave up for ours, and that comes
 * when ours is closed already: we have only answered. */
static bool may_close(const struct wi_link *l)
{
    return l->state == WI_LINK_CLOSING || l->state == WI_LINK_READY;
}

static void take_event(struct wi_engine *e, const struct wi_event *ev)
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
            weir_err rc =
                ev->refused ? WEIR_ERR_PEER_REFUSED : WEIR_ERR_PEER_LOST;
            wi_link_down(l, may_close(l), rc, ev->reason);
        }
        break;
    default:
        wi_link_pump(l);
        break;
    }
}

uint32_t wi_link_events(struct wi_engine *e, uint32_t enough)
{
    struct wi_event events[WI_EVENTS];
    uint32_t total = 0;
    for (uint32_t k = 0; k < MOST_POLLS; k++) {
        uint32_t n = e->ops->poll(e->transport, e->now_ns, events, WI_EVENTS);
        e->events = events;
        e->n_events = n;
        for (uint32_t i = 0; i < n; i++) {
            if (events[i].ep != NULL) {
                take_event(e, &events[i]);
            }
        }
        e->n_events = 0;
        total += n;
        if (n < enough) {
            break;
        }
    }
    return total;
}
