/* SPDX-License-Identifier: Apache-2.0 */
/* Links: opening, the handshake, heartbeats, closing. The states are in
 * link.h; everything here runs under the node's lock. */
#include "core/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/guest.h"

/* ---- making and freeing ------------------------------------------------------- */

static weir_err alloc_tables(struct wi_link *l)
{
    uint32_t n = l->engine->budget.n_units;
    l->in = calloc(n, sizeof(*l->in));
    l->used = calloc((n + 63) / 64, sizeof(*l->used));
    return l->in != NULL && l->used != NULL ? WEIR_OK : WEIR_ERR_NO_MEMORY;
}

static struct wi_link *make(struct wi_engine *e, uint32_t member)
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
    l->last_tx_ns = e->now_ns;
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
    /* E9 release: the link's fields; pairs with E9 acquire in collect_one() */
    wi_store_rel(&e->slots[l->slot], l);
    wi_engine_due(e,
                  wi_min_u64(l->patience_ns, e->now_ns + e->cfg.detect_ns / 4));
    return l;
}

static void drain_ctl(struct wi_link *l)
{
    free(l->ctl_next);
    l->ctl_next = NULL;
    struct wi_lq_node *n;
    while ((n = wi_lq_take(&l->ctl)) != NULL) {
        free(wi_container_of(n, struct wi_ctl_msg, node));
    }
}

static void free_link(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    wi_list_remove(&l->on_engine);
    drain_ctl(l);
    if (!l->self && l->peer_area != NULL) {
        l->home->ops->unmap(l->home, l->peer_area, l->peer_area_bytes);
    }
    if (!l->self && l->peer_bells != NULL) {
        l->home->ops->unmap(l->home, l->peer_bells, l->peer_bell_bytes);
    }
    if (l->area.base != NULL) {
        wi_engine_area_close(e, l->home, &l->area);
    }
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

void wi_link_send(struct wi_link *l, const union wi_msg *m)
{
    if (l->state == WI_LINK_DEAD) {
        return;
    }
    struct wi_ctl_msg *c = malloc(sizeof(*c) + m->head.len);
    if (c == NULL) {
        wi_link_down(l, false, WEIR_ERR_NO_MEMORY, "no memory for a message");
        return;
    }
    c->len = m->head.len;
    memcpy(c->bytes, m, m->head.len);
    if (l->self) {
        wi_lq_put(&l->engine->self_msgs, &c->node);
        wi_engine_kick(l->engine);
        return;
    }
    l->last_tx_ns = l->engine->now_ns;
    wi_lq_put(&l->ctl, &c->node);
    wi_link_pump(l);
}

static void send_word(struct wi_link *l, enum wi_msg_type type, uint32_t arg)
{
    union wi_msg m;
    wi_msg_init(&m, type);
    m.word.arg = arg;
    wi_link_send(l, &m);
}

static void fill_hello(const struct wi_engine *e, uint32_t to, union wi_msg *m,
                       enum wi_msg_type type)
{
    wi_msg_init(m, type);
    struct wi_msg_hello *h = &m->hello;
    h->magic = WI_WIRE_MAGIC;
    h->version_min = WI_WIRE_VERSION_MIN;
    h->version_max = WI_WIRE_VERSION_MAX;
    h->caps = e->cfg.no_checksum ? 0 : WI_WIRE_CAP_CHECKSUM;
    h->from = e->self;
    h->to = to;
    h->n_members = e->n_members;
    h->incarnation = e->incarnation;
    h->workers = e->cfg.workers;
    h->frame_bytes = e->cfg.frame_bytes;
    h->ring_bytes = e->budget.area_bytes;
    h->unit_bytes = e->budget.unit_bytes;
    h->n_units = e->budget.n_units;
    h->bell_stride = e->bell_stride;
    h->bell_base = to * e->budget.n_units;
    h->bell_ids = e->n_ids;
    wi_text_put(h->name, WI_NAME_BYTES, e->name);
}

/* Grant our side to the peer and say so in m. */
static weir_err grant_to_peer(struct wi_link *l, struct wi_msg_hello *h,
                              struct weir_error *err)
{
    struct wi_engine *e = l->engine;
    weir_err rc = l->home->ops->grant(l->ep, &l->area, &h->ring_key, err);
    if (rc == WEIR_OK && l->mapped) {
        h->bell_bytes = e->bell_mem.bytes;
        rc = l->home->ops->grant(l->ep, &e->bell_mem, &h->bell_key, err);
    }
    return rc;
}

/* ---- opening --------------------------------------------------------------------- */

static weir_err alloc_peer(struct wi_link *l, uint32_t n_units)
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
    if (alloc_peer(l, e->budget.n_units) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u units",
                       e->budget.n_units);
    }
    l->state = WI_LINK_OPEN;
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

/* The link has the endpoint that it stays with: what travels over it comes from
 * the endpoint's own transport. */
static weir_err settle(struct wi_link *l, struct weir_error *err)
{
    struct wi_engine *e = l->engine;
    struct wi_transport *t = l->ep->transport;
    if (l->area.base != NULL && l->home != t) {
        wi_engine_area_close(e, l->home,
                             &l->area); /* an attempt's; ungranted */
    }
    l->home = t;
    l->mapped = (t->ops->caps & WI_CAP_MAP) != 0;
    if (!l->mapped) {
        l->arena = wi_engine_arena(e, t);
        if (l->arena == NULL) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an arena");
        }
    }
    return l->area.base != NULL ? WEIR_OK
                                : wi_engine_area_open(e, t, &l->area, err);
}

struct wi_link *wi_link_need(struct wi_engine *e, uint32_t member)
{
    struct wi_link *l = e->members[member].link;
    if (l != NULL) {
        return l;
    }
    l = make(e, member);
    if (l == NULL) {
        return NULL;
    }
    struct weir_error err;
    weir_err rc = WEIR_OK;
    if (l->self) {
        rc = open_self(l, &err);
    } else {
        l->state = WI_LINK_CONNECTING;
        l->initiator = true;
        rc = e->ops->connect(e->transport, e->members[member].address, &l->ep,
                             &err);
    }
    if (rc == WEIR_OK && l->self) {
        return l;
    }
    if (rc != WEIR_OK) {
        wi_link_down(l, false, rc, err.message);
    } else {
        l->ep->user = l;
    }
    wi_engine_kick(e); /* the transport may have events, or want to be armed */
    return l;
}

/* The way that the link took, behind it what came before (try_next). */
static void say_way(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    char before[WI_REASON_BYTES];
    wi_text_put(before, sizeof(before), l->way);
    e->ops->why(e->transport, e->members[l->member].address, l->ep, l->way);
    size_t at = strlen(l->way);
    (void)snprintf(l->way + at, sizeof(l->way) - at, "%s%s",
                   before[0] != '\0' ? "; " : "", before);
}

/* What failed goes on over the next way, if the transport knows one. */
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
    wi_log(&e->log, WI_LOG_WARN, "link to %s: %s failed: %s; going on over %s",
           m->name, failed, why, next->transport->ops->name);
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

static void now_open(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    l->state = WI_LINK_OPEN;
    l->counted = true;
    l->idle_since_ns = e->now_ns;
    wi_engine_due(e, wi_time_add(e->now_ns, e->cfg.detect_ns / 4));
    e->stats.links_open++;
    e->stats.links_opened++;
    say_way(l);
    wi_log(&e->log, WI_LOG_INFO, "link to %s is open: %s",
           wi_engine_member_name(e, l->member), l->way);
    wi_query_tell_failed(l);
    wi_out_place(l);
}

/* ---- the handshake ---------------------------------------------------------------- */

static weir_err map_peer(struct wi_link *l, const struct wi_msg_hello *h,
                         struct weir_error *err)
{
    if (!l->mapped) {
        l->peer_key = h->ring_key;
        return WEIR_OK;
    }
    void *p = NULL;
    weir_err rc = l->home->ops->map(l->ep, h->ring_key, h->ring_bytes, &p, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    l->peer_area = p;
    l->peer_area_bytes = h->ring_bytes;
    if (h->bell_ids > (1u << 24) || h->bell_stride % WI_CACHE_LINE != 0 ||
        wi_bell_bytes(h->bell_ids) > h->bell_stride ||
        (uint64_t)h->bell_stride * h->workers > h->bell_bytes) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "bells of %u bytes x %u for %u rings do not fit %" PRIu64
                       " bytes",
                       h->bell_stride, h->workers, h->bell_ids, h->bell_bytes);
    }
    rc = l->home->ops->map(l->ep, h->bell_key, h->bell_bytes, &p, err);
    if (rc == WEIR_OK) {
        l->peer_bells = p;
        l->peer_bell_bytes = h->bell_bytes;
    }
    return rc;
}

/* What ACCEPT or READY says of the peer's side. */
static weir_err take_peer(struct wi_link *l, const struct wi_msg_hello *h,
                          struct weir_error *err)
{
    uint64_t need =
        h->n_units * (sizeof(struct wi_ring_ctl) + (uint64_t)h->unit_bytes);
    const struct wi_member *m = &l->engine->members[l->member];
    if (h->workers != m->workers ||
        h->unit_bytes != l->engine->budget.unit_bytes || h->n_units == 0 ||
        h->n_units > (1u << 24) || need > h->ring_bytes) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "ring area of %" PRIu64
                       " bytes in %u units of %u, %u workers",
                       h->ring_bytes, h->n_units, h->unit_bytes, h->workers);
    }
    if (alloc_peer(l, h->n_units) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u units",
                       h->n_units);
    }
    l->peer_incarnation = h->incarnation;
    l->peer_unit_bytes = h->unit_bytes;
    l->peer_units = h->n_units;
    l->peer_free = h->n_units;
    l->peer_bell_stride = h->bell_stride;
    l->peer_bell_base = h->bell_base;
    l->peer_bell_ids = h->bell_ids;
    return map_peer(l, h, err);
}

/* Is this HELLO for us, from somebody we can work with? */
static weir_err check_hello(struct wi_engine *e, const struct wi_msg_hello *h,
                            struct weir_error *err)
{
    if (h->to != e->self || h->from >= e->n_members ||
        h->n_members != e->n_members || h->from == e->self) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "%s is member %u of %u and looks for member %u; this is "
                       "%s, member %u of %u: start all with the same list",
                       h->name, h->from, h->n_members, h->to, e->name, e->self,
                       e->n_members);
    }
    const struct wi_member *m = &e->members[h->from];
    if (strcmp(h->name, m->name) != 0 || h->workers != m->workers) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "member %u is %s with %u workers in the list of %s, but "
                       "says it is %s with %u",
                       h->from, m->name, m->workers, e->name, h->name,
                       h->workers);
    }
    if (h->frame_bytes != e->cfg.frame_bytes) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "frame_bytes is %u on %s and %u on %s: it must be the "
                       "same on all nodes",
                       h->frame_bytes, h->name, e->cfg.frame_bytes, e->name);
    }
    return WEIR_OK;
}

/* Answer an endpoint that is not a link, and let it go. */
void wi_link_refuse(struct wi_engine *e, struct wi_ep *ep, weir_err code,
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
    wi_log(&e->log, code == WEIR_ERR_STATE ? WI_LOG_DEBUG : WI_LOG_WARN,
           "refused a link: %s", text);
}

/* Give up our own attempt: the peer's connection is taken instead. */
static bool drop_attempt(struct wi_link *l)
{
    if (l->ep == NULL) {
        return true;
    }
    if (!wi_link_seal(l)) {
        return false;
    }
    wi_engine_disconnect(l->engine, l->ep);
    l->ep = NULL;
    drain_ctl(l);
    l->packet_len = 0;
    /* E6 release: the link starts again, without ep; pairs with E6 sc in
     * serve() */
    wi_store_rel(&l->lock, 0);
    return true;
}

/* The link that an incoming HELLO is for; NULL: theirs loses. */
static struct wi_link *link_for(struct wi_engine *e,
                                const struct wi_msg_hello *h)
{
    struct wi_link *l = e->members[h->from].link;
    if (l != NULL && l->state >= WI_LINK_READY) {
        wi_link_down(l, false, WEIR_ERR_PEER_LOST, "it was started again");
        l = NULL;
    }
    if (l == NULL) {
        return make(e, h->from);
    }
    /* An attempt that is not up yet has not said HELLO: it cannot cross. */
    bool gives_way = h->from < e->self || l->state == WI_LINK_CONNECTING;
    return gives_way && drop_attempt(l) ? l : NULL;
}

/* A second HELLO from a peer that we still have a link to: its link is about
 * to be found dead, or this one crossed ours and is about to be closed. Which
 * of the two comes first decides. */
bool wi_link_must_wait(const struct wi_engine *e, const struct wi_msg_hello *h)
{
    if (e->n_members == 0) {
        return true;
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
    l->state = WI_LINK_READY;
    l->initiator = false;
    l->broken = false;
    l->caps = caps;
    l->peer_incarnation = h->incarnation;
    l->last_rx_ns = e->now_ns;
    l->deadline_ns = wi_time_add(e->now_ns, e->cfg.connect_ns);
    wi_engine_due(e, l->deadline_ns);
    /* E6 release: ep is set; pairs with E6 acquire in serve() */
    wi_store_rel(&l->sending, 1);
    fill_hello(e, l->member, &m, WI_MSG_ACCEPT);
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
    uint32_t ours = e->cfg.no_checksum ? 0 : WI_WIRE_CAP_CHECKSUM;
    weir_err rc = wi_hello_agree(h, ours, &version, &caps, &err);
    if (rc == WEIR_OK) {
        rc = check_hello(e, h, &err);
    }
    if (rc != WEIR_OK) {
        wi_link_refuse(e, ep, rc, err.message);
        return;
    }
    struct wi_link *l = link_for(e, h);
    if (l == NULL) {
        wi_link_refuse(e, ep, WEIR_ERR_STATE,
                       "crossing: the other connection stays");
        return;
    }
    accept_link(l, ep, h, version, caps);
}

static void on_accept(struct wi_link *l, const struct wi_msg_hello *h)
{
    struct wi_engine *e = l->engine;
    struct weir_error err;
    uint32_t version = 0;
    union wi_msg m;
    weir_err rc = wi_hello_agree(h, h->caps, &version, &l->caps, &err);
    if (rc == WEIR_OK && (h->from != l->member || h->to != e->self)) {
        rc = wi_fail(&err, WEIR_ERR_PEER_PROTOCOL, "answered as member %u",
                     h->from);
    }
    if (rc == WEIR_OK) {
        rc = take_peer(l, h, &err);
    }
    fill_hello(e, l->member, &m, WI_MSG_READY);
    if (rc == WEIR_OK) {
        rc = grant_to_peer(l, &m.hello, &err);
    }
    if (rc != WEIR_OK) {
        wi_link_down(l, false, rc, err.message);
        return;
    }
    wi_link_send(l, &m);
    now_open(l);
}

static void on_ready(struct wi_link *l, const struct wi_msg_hello *h)
{
    struct weir_error err;
    weir_err rc = take_peer(l, h, &err);
    if (rc != WEIR_OK) {
        wi_link_down(l, false, rc, err.message);
        return;
    }
    now_open(l);
}

static void on_refuse(struct wi_link *l, const struct wi_msg_refuse *m)
{
    if (m->code == WEIR_ERR_STATE && l->state == WI_LINK_HELLO &&
        drop_attempt(l)) {
        return; /* crossing: wait for theirs until the deadline */
    }
    weir_err code = m->code == WEIR_ERR_PEER_VERSION ? WEIR_ERR_PEER_VERSION
                                                     : WEIR_ERR_PEER_REFUSED;
    wi_link_down(l, false, code, m->text);
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
    wi_log(&e->log, WI_LOG_WARN, "link lost: peer %s (%s): %s", m->name,
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
    l->state = WI_LINK_DEAD;
    l->lost = !clean;
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
        l->state = WI_LINK_CLOSING;
        l->deadline_ns =
            wi_time_add(l->engine->now_ns, l->engine->cfg.detect_ns);
        wi_engine_due(l->engine, l->deadline_ns);
        if (l->self) {
            wi_link_down(l, true, WEIR_OK, "closed");
        } else {
            send_word(l, WI_MSG_BYE, 0);
            wi_engine_kick(l->engine); /* a new deadline */
        }
    }
}

static void on_bye(struct wi_link *l)
{
    if (l->state == WI_LINK_CLOSING) {
        wi_link_down(l, true, WEIR_OK, "closed");
    } else if (l->state == WI_LINK_OPEN && !wi_link_busy(l)) {
        send_word(l, WI_MSG_BYE, 0);
        l->state = WI_LINK_CLOSING;
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
        if (l->state == WI_LINK_HELLO) {
            on_accept(l, &m->hello);
            return WEIR_OK;
        }
        break;
    case WI_MSG_READY:
        if (l->state == WI_LINK_READY) {
            on_ready(l, &m->hello);
            return WEIR_OK;
        }
        break;
    case WI_MSG_REFUSE:
        on_refuse(l, &m->refuse);
        return WEIR_OK;
    case WI_MSG_BYE:
        on_bye(l);
        return WEIR_OK;
    case WI_MSG_PING:
        if (m->word.arg != 0) {
            send_word(l, WI_MSG_PING, 0);
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
    while (l->state != WI_LINK_DEAD && l->ep != NULL) {
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

static void on_connected(struct wi_link *l)
{
    struct weir_error err;
    union wi_msg m;
    weir_err rc = settle(l, &err);
    if (rc != WEIR_OK) {
        wi_link_down(l, false, rc, err.message);
        return;
    }
    l->state = WI_LINK_HELLO;
    wi_store_rel(&l->sending, 1); /* E6 release: as in accept_link() */
    fill_hello(l->engine, l->member, &m, WI_MSG_HELLO);
    wi_link_send(l, &m);
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
        on_connected(l);
        break;
    case WI_EV_MESSAGE:
        link_packet(l, ev->bytes, ev->len);
        break;
    case WI_EV_CLOSED:
        if (!try_next(l, ev->reason)) {
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
        send_word(l, WI_MSG_PING, 1);
    }
}

void wi_link_tick(struct wi_link *l, uint64_t now_ns)
{
    if (l->state == WI_LINK_OPEN) {
        tick_open(l, now_ns);
        return;
    }
    if (l->state == WI_LINK_DEAD) {
        return;
    }
    if (l->state == WI_LINK_CONNECTING && now_ns >= l->patience_ns) {
        if (try_next(l, "no answer in half the time (connect_ns)")) {
            return;
        }
        l->patience_ns = UINT64_MAX; /* the last way has the rest of it */
    }
    if (now_ns < l->deadline_ns) {
        bool may_turn = l->state == WI_LINK_CONNECTING;
        wi_engine_due(l->engine,
                      may_turn ? wi_min_u64(l->patience_ns, l->deadline_ns)
                               : l->deadline_ns);
        return;
    }
    if (l->state == WI_LINK_CLOSING) {
        wi_link_down(l, true, WEIR_OK, "closed");
        return;
    }
    char why[160];
    (void)snprintf(
        why, sizeof(why),
        "no link within %.1f s (connect_ns); does a Weir node listen "
        "there?",
        (double)l->engine->cfg.connect_ns / 1e9);
    wi_link_down(l, false, WEIR_ERR_PEER_LOST, why);
}
