/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/handshake.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/hello.h"
#include "core/link/life.h"
#include "core/link/members.h"
#include "core/link/post.h"
#include "core/link/prove.h"
#include "core/link/say.h"
#include "core/link/send.h"
#include "core/link/warn.h"
#include "core/transport.h"

/* Say it, sealed where there is a proof. */
static weir_err say(struct wi_link *l, const union wi_msg *m,
                    struct weir_error *err)
{
    union wi_msg seal;
    if (!wi_prove_seal(l->ep, m, &seal)) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED, "no seal can be made here");
    }
    if (seal.head.len != 0) {
        wi_proof_sealed(l->ep->proof);
        wi_link_send(l, &seal);
    }
    wi_link_send(l, m);
    return WEIR_OK;
}

static void opened(struct wi_link *l)
{
    wi_prove_end(l->ep); /* nothing is sealed from here on */
    wi_link_opened(l);
}

/* ---- the side that connects ---------------------------------------------- */

static weir_err say_hello(struct wi_link *l, struct weir_error *err)
{
    union wi_msg m;
    weir_err rc = wi_hello_settle(l, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_link_enter(l, WI_LINK_HELLO);
    wi_hello_fill(l, &m, WI_MSG_HELLO);
    return say(l, &m, err);
}

static weir_err knock(struct wi_link *l, struct weir_error *err)
{
    union wi_msg m;
    weir_err rc = wi_prove_begin(l->engine, l->ep, &m, err);
    if (rc == WEIR_OK) {
        wi_link_enter(l, WI_LINK_PROOF);
        wi_link_send(l, &m);
    }
    return rc;
}

/* Who has an address only says whom it expects there, and says nothing to
 * anybody else. A member is known by its name: check_name(). */
static weir_err check_server(const struct wi_link *l, struct weir_error *err)
{
    const struct wi_member *m = &l->engine->members[l->member];
    return l->outside ? wi_prove_server(l->ep, m->server_name, err) : WEIR_OK;
}

void wi_link_connected(struct wi_link *l)
{
    struct weir_error err;
    wi_store_rel(&l->sending, 1); /* E6 release: as in accept_link() */
    weir_err rc = check_server(l, &err);
    if (rc == WEIR_OK) {
        rc = wi_prove_wanted(l->engine) ? knock(l, &err) : say_hello(l, &err);
    }
    if (rc != WEIR_OK) {
        wi_link_down(l, false, rc, err.message);
    }
}

weir_err wi_link_hear(struct wi_link *l, const union wi_msg *m,
                      const void *bytes, struct weir_error *err)
{
    union wi_msg out;
    if (l->ep->proof == NULL) {
        return WEIR_OK;
    }
    weir_err rc = wi_prove_hear(l->engine, l->ep, m, bytes, &out, err);
    if (rc == WEIR_AGAIN && out.head.type != 0) {
        wi_link_send(l, &out);
    }
    if (rc == WEIR_AGAIN && l->state == WI_LINK_PROOF && wi_prove_done(l->ep)) {
        rc = say_hello(l, err);
        rc = rc == WEIR_OK ? WEIR_AGAIN : rc;
    }
    return rc;
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

/* Is it who it says, and the member that was meant? */
static weir_err check_name(const struct wi_link *l,
                           const struct wi_msg_hello *h, struct weir_error *err)
{
    const char *name =
        l->outside ? h->name : wi_member_name(l->engine, l->member);
    return wi_prove_name(l->ep, name, err);
}

weir_err wi_link_on_accept(struct wi_link *l, const union wi_msg *msg,
                           struct weir_error *err)
{
    const struct wi_msg_hello *h = &msg->hello;
    uint32_t version = 0;
    union wi_msg m;
    weir_err rc = wi_hello_agree(h, h->caps, &version, &l->caps, err);
    if (rc == WEIR_OK &&
        (h->from != wi_hello_peer(l) || h->to != wi_hello_own(l))) {
        rc = wi_fail(err, WEIR_ERR_PEER_PROTOCOL, "answered as member %u",
                     h->from);
    }
    if (rc == WEIR_OK) {
        rc = check_name(l, h, err);
    }
    if (rc == WEIR_OK) {
        rc = wi_hello_take(l, h, err);
    }
    wi_hello_fill(l, &m, WI_MSG_READY);
    if (rc == WEIR_OK) {
        rc = wi_hello_grant(l, &m.hello, err);
    }
    if (rc == WEIR_OK) {
        rc = say(l, &m, err);
    }
    if (rc == WEIR_OK) {
        opened(l);
    }
    return rc;
}

weir_err wi_link_on_refuse(struct wi_link *l, const union wi_msg *msg,
                           struct weir_error *err)
{
    const struct wi_msg_refuse *m = &msg->refuse;
    if (l->state == WI_LINK_PROOF) {
        return wi_prove_refusal(m, err);
    }
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
    return wi_member_here(e, member) || e->up->knows(e, member);
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
    bool gives_way = h->from < e->self || l->state < WI_LINK_HELLO;
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
    weir_err rc = wi_hello_settle(l, &err);
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
    wi_hello_fill(l, &m, WI_MSG_ACCEPT);
    m.hello.version_min = version;
    m.hello.version_max = version;
    m.hello.caps = caps;
    if (wi_hello_grant(l, &m.hello, &err) != WEIR_OK) {
        wi_link_down(l, false, err.code, err.message);
        return;
    }
    if (say(l, &m, &err) != WEIR_OK) {
        wi_link_down(l, false, err.code, err.message);
    }
}

void wi_link_hello(struct wi_engine *e, struct wi_ep *ep,
                   const struct wi_msg_hello *h)
{
    struct weir_error err;
    uint32_t version = 0;
    uint32_t caps = 0;
    weir_err rc = wi_hello_agree(h, wi_engine_caps(e), &version, &caps, &err);
    if (rc == WEIR_OK) {
        rc = wi_prove_name(ep, h->name, &err);
    }
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
    weir_err rc = wi_hello_take(l, &msg->hello, err);
    if (rc == WEIR_OK) {
        opened(l);
    }
    return rc;
}
