/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/hello.h"

#include <inttypes.h>

#include "core/base/err.h"
#include "core/link/edge_in.h"
#include "core/link/members.h"
#include "core/transport.h"

uint32_t wi_hello_own(const struct wi_link *l)
{
    return l->outside ? WI_OUTSIDE : l->engine->self;
}

uint32_t wi_hello_peer(const struct wi_link *l)
{
    return l->outside ? WI_OUTSIDE : l->member;
}

void wi_hello_fill(const struct wi_link *l, union wi_msg *m,
                   enum wi_msg_type type)
{
    const struct wi_engine *e = l->engine;
    wi_msg_init(m, type);
    struct wi_msg_hello *h = &m->hello;
    h->magic = WI_WIRE_MAGIC;
    h->version_min = WI_WIRE_VERSION_MIN;
    h->version_max = WI_WIRE_VERSION_MAX;
    h->caps = wi_engine_caps(e);
    h->from = wi_hello_own(l);
    h->to = wi_hello_peer(l);
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
weir_err wi_hello_grant(struct wi_link *l, struct wi_msg_hello *h,
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
    if (wi_budget_frame(h->unit_bytes) < WI_LEAST_FRAME_BYTES ||
        h->n_units == 0 || h->n_units > (1u << 24) || need > h->ring_bytes) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "ring area of %" PRIu64
                       " bytes in %u units of %u, units of %s have %u",
                       h->ring_bytes, h->n_units, h->unit_bytes, e->name,
                       e->budget.unit_bytes);
    }
    return WEIR_OK;
}

/* What ACCEPT or READY says of the peer's side. */
weir_err wi_hello_take(struct wi_link *l, const struct wi_msg_hello *h,
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
weir_err wi_hello_settle(struct wi_link *l, struct weir_error *err)
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
