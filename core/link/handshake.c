/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/handshake.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/edge_in.h"
#include "core/link/life.h"
#include "core/link/members.h"
#include "core/link/post.h"
#include "core/link/send.h"
#include "core/link/warn.h"
#include "core/transport.h"

/* ---- what each side tells ------------------------------------------------ */

static uint32_t own_number(const struct wi_link *l)
{
    return l->outside ? WI_OUTSIDE : l->engine->self;
}

static uint32_t peer_number(const struct wi_link *l)
{
    return l->outside ? WI_OUTSIDE : l->member;
}

static void fill_hello(const struct wi_link *l, union wi_msg *m,
                       enum wi_msg_type type)
{
    const struct wi_engine *e = l->engine;
    wi_msg_init(m, type);
    struct wi_msg_hello *h = &m->hello;
    h->magic = WI_WIRE_MAGIC;
    h->version_min = WI_WIRE_VERSION_MIN;
    h->version_max = WI_WIRE_VERSION_MAX;
    h->caps = wi_engine_caps(e);
    h->from = own_number(l);
    h->to = peer_number(l);
    h->incarnation = e->incarnation;
    h->workers = e->cfg.workers;
    h->frame_bytes = e->cfg.frame_bytes;
    wi_text_put(h->name, WI_NAME_BYTES, e->name);
    if (l->outside) {
        return; /* no rows, no rings */
    }
    h->n_members = e->n_members;
    h->ring_bytes = e->budget.area_bytes;
    h->unit_bytes = e->budget.unit_bytes;
    h->n_units = e->budget.n_units;
    h->bell_stride = e->bell_stride;
    h->bell_base = l->member * e->budget.n_units;
    h->bell_ids = e->n_ids;
}

/* Grant our side to the peer and say so in m. */
static weir_err grant_to_peer(struct wi_link *l, struct wi_msg_hello *h,
                              struct weir_error *err)
{
    const struct wi_transport_ops *ops = l->home->ops;
    uint32_t access = l->mapped ? WI_ACCESS_BOTH : WI_ACCESS_WRITE;
    if (l->outside) {
        return WEIR_OK;
    }
    l->area.guard = (struct wi_guard){.may_write = wi_in_may_write, .arg = l};
    weir_err rc = ops->grant(l->ep, &l->area, access, &h->ring_key, err);
    if (rc == WEIR_OK && l->mapped) {
        h->bell_bytes = l->engine->bell_mem.bytes;
        rc = ops->grant(l->ep, &l->engine->bell_mem, access, &h->bell_key, err);
    }
    return rc;
}

static weir_err map_peer(struct wi_link *l, const struct wi_msg_hello *h,
                         struct weir_error *err)
{
    if (!l->mapped) {
        l->peer_key = h->ring_key;
        return WEIR_OK;
    }
    void *p = NULL;
    weir_err rc = l->home->ops->map(l->ep, h->ring_key, h->ring_bytes,
                                    WI_ACCESS_BOTH, &p, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    l->peer_area = p;
    l->peer_area_bytes = h->ring_bytes;
    uint64_t ctl_bytes = h->n_units * sizeof(struct wi_ring_ctl);
    const struct wi_mem_part ctl = {
        .base = p, .bytes = h->ring_bytes, .to = ctl_bytes};
    rc = l->home->ops->mem_take(l->home, &ctl, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (h->bell_ids > (1u << 24) || h->bell_stride % WI_CACHE_LINE != 0 ||
        wi_bell_bytes(h->bell_ids) > h->bell_stride ||
        (uint64_t)h->bell_stride * h->workers > h->bell_bytes) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "bells of %u bytes x %u for %u rings do not fit %" PRIu64
                       " bytes",
                       h->bell_stride, h->workers, h->bell_ids, h->bell_bytes);
    }
    rc = l->home->ops->map(l->ep, h->bell_key, h->bell_bytes, WI_ACCESS_BOTH,
                           &p, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    l->peer_bells = p;
    l->peer_bell_bytes = h->bell_bytes;
    const struct wi_mem_part bells = {
        .base = p, .bytes = h->bell_bytes, .to = h->bell_bytes};
    return l->home->ops->mem_take(l->home, &bells, err);
}

static weir_err check_peer(const struct wi_link *l,
                           const struct wi_msg_hello *h, struct weir_error *err)
{
    const struct wi_engine *e = l->engine;
    const struct wi_member *m = &e->members[l->member];
    uint64_t need =
        h->n_units * (sizeof(struct wi_ring_ctl) + (uint64_t)h->unit_bytes);
    if (h->workers != m->workers) {
        return wi_fail(
            err, WEIR_ERR_PEER_REFUSED,
            "it runs with %u workers, the list of members of %s says "
            "%u: give all nodes the same list",
            h->workers, e->name, m->workers);
    }
    if (h->unit_bytes != e->budget.unit_bytes || h->n_units == 0 ||
        h->n_units > (1u << 24) || need > h->ring_bytes) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "ring area of %" PRIu64
                       " bytes in %u units of %u, units of %s have %u",
                       h->ring_bytes, h->n_units, h->unit_bytes, e->name,
                       e->budget.unit_bytes);
    }
    return WEIR_OK;
}

/* What ACCEPT or READY says of the peer's side. */
static weir_err take_peer(struct wi_link *l, const struct wi_msg_hello *h,
                          struct weir_error *err)
{
    l->peer_incarnation = h->incarnation;
    if (l->outside) {
        wi_member_call(l->engine, l->member, h->name);
        return WEIR_OK;
    }
    weir_err rc = check_peer(l, h, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (wi_link_alloc_peer(l, h->n_units) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u units",
                       h->n_units);
    }
    l->peer_unit_bytes = h->unit_bytes;
    l->peer_units = h->n_units;
    l->peer_free = h->n_units;
    l->peer_bell_stride = h->bell_stride;
    l->peer_bell_base = h->bell_base;
    l->peer_bell_ids = h->bell_ids;
    return map_peer(l, h, err);
}

/* The link has its final endpoint. What travels over it comes from the
 * endpoint's own transport. */
static weir_err settle(struct wi_link *l, struct weir_error *err)
{
    struct wi_engine *e = l->engine;
    struct wi_transport *t = l->ep->transport;
    if (l->area.base != NULL && l->home != t) {
        wi_engine_area_close(e, l->home,
                             &l->area); /* of an attempt; was not granted */
    }
    l->home = t;
    l->mapped = (t->ops->caps & WI_CAP_MAP) != 0;
    /* Outside there are no rings; what is read still needs a place. */
    bool any = (t->ops->caps & WI_CAP_LOCAL_ANY) != 0;
    if (!l->mapped && !(l->outside && any)) {
        l->arena = wi_engine_arena(e, t);
        if (l->arena == NULL) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an arena");
        }
    }
    return l->area.base != NULL || l->outside
               ? WEIR_OK
               : wi_engine_area_open(e, t, &l->area, err);
}

/* ---- the side that connects ---------------------------------------------- */

void wi_link_connected(struct wi_link *l)
{
    struct weir_error err;
    union wi_msg m;
    weir_err rc = settle(l, &err);
    if (rc != WEIR_OK) {
        wi_link_down(l, false, rc, err.message);
        return;
    }
    wi_link_enter(l, WI_LINK_HELLO);
    wi_store_rel(&l->sending, 1); /* E6 release: as in accept_link() */
    fill_hello(l, &m, WI_MSG_HELLO);
    wi_link_send(l, &m);
}

bool wi_link_drop_attempt(struct wi_link *l)
{
    if (l->ep == NULL) {
        return true;
    }
    if (!wi_link_seal(l)) {
        return false;
    }
    wi_engine_disconnect(l->engine, l->ep);
    l->ep = NULL;
    wi_link_drain(l);
    l->packet_len = 0;
    l->broken = false; /* the endpoint was */
    /* E6 release: the link starts again, without ep; pairs with E6 sc in
     * serve() */
    wi_store_rel(&l->lock, 0);
    return true;
}

weir_err wi_link_on_accept(struct wi_link *l, const union wi_msg *msg,
                           struct weir_error *err)
{
    const struct wi_msg_hello *h = &msg->hello;
    uint32_t version = 0;
    union wi_msg m;
    weir_err rc = wi_hello_agree(h, h->caps, &version, &l->caps, err);
    if (rc == WEIR_OK &&
        (h->from != peer_number(l) || h->to != own_number(l))) {
        rc = wi_fail(err, WEIR_ERR_PEER_PROTOCOL, "answered as member %u",
                     h->from);
    }
    if (rc == WEIR_OK) {
        rc = take_peer(l, h, err);
    }
    fill_hello(l, &m, WI_MSG_READY);
    if (rc == WEIR_OK) {
        rc = grant_to_peer(l, &m.hello, err);
    }
    if (rc == WEIR_OK) {
        wi_link_send(l, &m);
        wi_link_opened(l);
    }
    return rc;
}

weir_err wi_link_on_refuse(struct wi_link *l, const union wi_msg *msg,
                           struct weir_error *err)
{
    const struct wi_msg_refuse *m = &msg->refuse;
    (void)err;
    if (m->code == WEIR_ERR_STATE && l->state == WI_LINK_HELLO &&
        wi_link_drop_attempt(l)) {
        return WEIR_OK; /* crossing: wait for theirs until the deadline */
    }
    bool known =
        m->code == WEIR_ERR_PEER_VERSION || m->code == WEIR_ERR_PEER_LOST;
    weir_err code = known ? (weir_err)m->code : WEIR_ERR_PEER_REFUSED;
    wi_link_down(l, false, code, m->text);
    return WEIR_OK;
}

/* ---- the side that accepts ----------------------------------------------- */

static bool is_outsider(const struct wi_msg_hello *h)
{
    return h->from == WI_OUTSIDE && h->to == WI_OUTSIDE;
}

/* A member that left may come back for the queries that it is part of. */
static bool may_be_here(const struct wi_engine *e, uint32_t member)
{
    return wi_member_here(e, member) || e->up->needs(e, member);
}

bool wi_link_unknown(const struct wi_engine *e, const struct wi_msg_hello *h)
{
    return e->n_members != 0 && h->to == e->self &&
           h->from < e->cfg.max_members && e->members[h->from].name == NULL;
}

/* Does it say what our list says of it? */
static weir_err check_entry(const struct wi_engine *e,
                            const struct wi_msg_hello *h,
                            struct weir_error *err)
{
    const struct wi_member *m = &e->members[h->from];
    if (wi_link_unknown(e, h)) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "%s says it is member %u, which %s does not know: add "
                       "it there (weir_node_add_member)",
                       h->name, h->from, e->name);
    }
    if (strcmp(h->name, m->name) != 0 || h->workers != m->workers) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "member %u is %s with %u workers in the list of %s, but "
                       "says it is %s with %u: start all with the same list",
                       h->from, m->name, m->workers, e->name, h->name,
                       h->workers);
    }
    if (!may_be_here(e, h->from)) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "member %u, %s, was removed from the list of %s",
                       h->from, m->name, e->name);
    }
    return WEIR_OK;
}

/* Is this HELLO for us, from somebody we can work with? */
static weir_err check_hello(struct wi_engine *e, const struct wi_msg_hello *h,
                            struct weir_error *err)
{
    if (is_outsider(h)) {
        return WEIR_OK;
    }
    if (h->to != e->self || h->from >= e->cfg.max_members ||
        h->from == e->self) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "%s is member %u of %u and looks for member %u; this is "
                       "%s, member %u of %u: start all with the same list, in "
                       "the same order, and the same max_members",
                       h->name, h->from, h->n_members, h->to, e->name, e->self,
                       e->n_members);
    }
    weir_err rc = check_entry(e, h, err);
    if (rc == WEIR_OK && h->frame_bytes != e->cfg.frame_bytes) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "frame_bytes is %u on %s and %u on %s: it must be the "
                       "same on all nodes",
                       h->frame_bytes, h->name, e->cfg.frame_bytes, e->name);
    }
    return rc;
}

void wi_ep_refuse(struct wi_engine *e, struct wi_ep *ep, weir_err code,
                  const char *text)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_REFUSE);
    m.refuse.code = (int32_t)code;
    wi_text_put(m.refuse.text, WI_TEXT_BYTES, text);
    const struct wi_transport_ops *ops = ep->transport->ops;
    if (ops->send(ep, &m, m.head.len) == WEIR_OK) {
        (void)ops->kick(ep);
    }
    wi_engine_disconnect(e, ep);
}

void wi_link_refuse(struct wi_engine *e, struct wi_ep *ep, weir_err code,
                    const char *text)
{
    wi_ep_refuse(e, ep, code, text);
    if (code == WEIR_ERR_STATE || code == WEIR_ERR_PEER_LOST) {
        wi_log(&e->log, WI_LOG_DEBUG, "refused a link: %s", text);
    } else {
        wi_warn(e, WI_STRANGER, WI_CAUSE_REFUSED, "refused a link: %s", text);
    }
}

/* Those who come without being members each have an entry and a link of their
 * own: nothing crosses. NULL: no room for one more. */
static struct wi_link *visitor_link(struct wi_engine *e,
                                    const struct wi_msg_hello *h)
{
    const struct weir_member m = {.name = h->name, .address = "it connected"};
    uint32_t max = (uint32_t)e->cfg.max_peers;
    uint32_t i = wi_member_free_entry(e, e->cfg.max_members + max, max);
    if (i == UINT32_MAX || wi_member_copy(e, i, &m) != WEIR_OK) {
        return NULL;
    }
    struct wi_link *l = wi_link_make(e, i);
    if (l == NULL) {
        wi_member_rest(e, i);
    }
    return l;
}

/* The link that an incoming HELLO is for; NULL: theirs loses. */
static struct wi_link *link_for(struct wi_engine *e,
                                const struct wi_msg_hello *h)
{
    if (is_outsider(h)) {
        return visitor_link(e, h);
    }
    struct wi_link *l = e->members[h->from].link;
    if (l != NULL && l->state >= WI_LINK_READY) {
        wi_link_down(l, false, WEIR_ERR_PEER_LOST, "it was started again");
        l = NULL;
    }
    if (l == NULL) {
        return wi_link_make(e, h->from);
    }
    /* An attempt that is not up yet has not said HELLO: it cannot cross. */
    bool gives_way = h->from < e->self || l->state == WI_LINK_CONNECTING;
    return gives_way && wi_link_drop_attempt(l) ? l : NULL;
}

/* A newcomer may be here before this node was told of it.
 * A second HELLO from a peer that we still have a link to: either that link is
 * about to be found dead, or HELLOs crossed and this one is about to be closed.
 * Which of the two happens first decides. */
bool wi_link_must_wait(const struct wi_engine *e, const struct wi_msg_hello *h)
{
    if (is_outsider(h)) {
        return false;
    }
    if (e->n_members == 0) {
        return true;
    }
    if (wi_link_unknown(e, h)) {
        return true; /* perhaps it is told in a moment */
    }
    if (h->from >= e->n_members || e->members[h->from].link == NULL) {
        return false;
    }
    const struct wi_link *l = e->members[h->from].link;
    return l->state >= WI_LINK_READY && l->state != WI_LINK_DEAD &&
           l->peer_incarnation == h->incarnation;
}

static void accept_link(struct wi_link *l, struct wi_ep *ep,
                        const struct wi_msg_hello *h, uint32_t version,
                        uint32_t caps)
{
    struct wi_engine *e = l->engine;
    struct weir_error err;
    union wi_msg m;
    l->ep = ep;
    ep->user = l;
    weir_err rc = settle(l, &err);
    if (rc != WEIR_OK) {
        wi_link_down(l, false, rc, err.message);
        return;
    }
    wi_link_enter(l, WI_LINK_READY);
    l->initiator = false;
    l->caps = caps;
    l->peer_incarnation = h->incarnation;
    l->last_rx_ns = e->now_ns;
    l->deadline_ns = wi_time_add(e->now_ns, e->cfg.connect_ns);
    wi_engine_due(e, l->deadline_ns);
    /* E6 release: ep is set; pairs with E6 acquire in serve() */
    wi_store_rel(&l->sending, 1);
    fill_hello(l, &m, WI_MSG_ACCEPT);
    m.hello.version_min = version;
    m.hello.version_max = version;
    m.hello.caps = caps;
    if (grant_to_peer(l, &m.hello, &err) != WEIR_OK) {
        wi_link_down(l, false, err.code, err.message);
        return;
    }
    wi_link_send(l, &m);
}

void wi_link_hello(struct wi_engine *e, struct wi_ep *ep,
                   const struct wi_msg_hello *h)
{
    struct weir_error err;
    uint32_t version = 0;
    uint32_t caps = 0;
    weir_err rc = wi_hello_agree(h, wi_engine_caps(e), &version, &caps, &err);
    if (rc == WEIR_OK) {
        rc = check_hello(e, h, &err);
    }
    if (rc != WEIR_OK) {
        wi_link_refuse(e, ep, rc, err.message);
        return;
    }
    struct wi_link *l = link_for(e, h);
    if (l == NULL && is_outsider(h)) {
        wi_link_refuse(e, ep, WEIR_ERR_PEER_REFUSED,
                       "as many nodes that are no members as it serves have a "
                       "link to it: raise its max_peers");
        return;
    }
    if (l == NULL) {
        wi_link_refuse(e, ep, WEIR_ERR_STATE,
                       "crossing: the other connection stays");
        return;
    }
    accept_link(l, ep, h, version, caps);
}

weir_err wi_link_on_ready(struct wi_link *l, const union wi_msg *msg,
                          struct weir_error *err)
{
    weir_err rc = take_peer(l, &msg->hello, err);
    if (rc == WEIR_OK) {
        wi_link_opened(l);
    }
    return rc;
}
