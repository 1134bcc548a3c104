/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/newcomer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/grow.h"
#include "core/link/join_list.h"
#include "core/link/members.h"
#include "core/link/say.h"
#include "core/link/warn.h"
#include "core/transport.h"

struct newcomer {
    struct wi_list list;
    struct wi_ep *ep;
    struct wi_msg_member m; /* its JOIN */
    uint32_t idx;           /* its number */
    uint32_t n;             /* entries of its list */
    uint32_t told;          /* of these are sent */
    uint32_t change;        /* what its list has heard: news.h */
    bool is_member;
    uint64_t deadline_ns;
};

static void newcomer_leaves(struct wi_engine *e, struct newcomer *c)
{
    wi_engine_disconnect(e, c->ep);
    wi_list_remove(&c->list);
    free(c);
}

/* ---- its number ---------------------------------------------------------- */

static bool is_kept(const struct wi_engine *e, uint32_t idx)
{
    wi_list_each(n, &e->newcomers)
    {
        const struct newcomer *c = wi_container_of(n, struct newcomer, list);
        if (c->idx == idx && !c->is_member) {
            return true;
        }
    }
    return false;
}

static uint32_t free_number(const struct wi_engine *e)
{
    uint32_t i = 0;
    while (i < e->cfg.max_members &&
           (e->members[i].name != NULL || is_kept(e, i))) {
        i++;
    }
    return i;
}

static uint32_t number_of(const struct wi_engine *e, const char *name)
{
    uint32_t i = 0;
    while (i < e->n_members && (e->members[i].name == NULL ||
                                strcmp(e->members[i].name, name) != 0)) {
        i++;
    }
    return i < e->n_members ? i : free_number(e);
}

/* Is another connection of this name not over yet? */
static bool is_joining(const struct wi_engine *e, const char *name)
{
    wi_list_each(n, &e->newcomers)
    {
        const struct newcomer *c = wi_container_of(n, struct newcomer, list);
        if (strcmp(c->m.name, name) == 0) {
            return true;
        }
    }
    return false;
}

static weir_err check_number(const struct wi_engine *e, uint32_t idx,
                             const struct wi_msg_member *m,
                             struct weir_error *err)
{
    if (idx == e->cfg.max_members) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "%s cannot let %s join: all %u numbers are taken, also "
                       "by members that were removed: raise max_members",
                       e->name, m->name, e->cfg.max_members);
    }
    const struct wi_member *old = &e->members[idx];
    const char *why = idx == e->self ? "the name is taken"
                      : old->removed ? "a member of that name was removed"
                      : old->name == NULL || old->workers == m->workers
                          ? NULL
                          : "a member of that name has another number of "
                            "workers";
    return why == NULL
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_PEER_REFUSED,
                         "%s cannot let %s join: %s", e->name, m->name, why);
}

/* ---- its list ------------------------------------------------------------ */

/* From now on queries may have it, and the others are told. */
static weir_err become_member(struct wi_engine *e, struct newcomer *c,
                              struct weir_error *err)
{
    const struct weir_member m = {
        .name = c->m.name, .address = c->m.address, .workers = c->m.workers};
    c->is_member = true;
    e->members[c->idx].heard = c->change; /* first: it need not be told that */
    return wi_member_add(e, c->idx, &m, err);
}

static weir_err send_entry(const struct wi_engine *e, struct newcomer *c)
{
    union wi_msg m;
    wi_join_fill_entry(e, c->told, &m);
    if (c->told == c->idx) {
        m.member = c->m;
        m.head.type = WI_MSG_MEMBER;
        m.member.idx = c->idx;
    }
    m.member.n_members = c->n;
    m.member.self = c->idx;
    return wi_ep_say(c->ep, &m);
}

static void tell(struct wi_engine *e, struct newcomer *c)
{
    struct weir_error err;
    while (c->told < c->n) {
        if (c->told == c->n - 1 && !c->is_member &&
            become_member(e, c, &err) != WEIR_OK) {
            wi_ep_refuse(e, c->ep, WEIR_ERR_PEER_REFUSED, err.message);
            wi_list_remove(&c->list);
            free(c);
            return;
        }
        if (send_entry(e, c) != WEIR_OK) {
            break; /* SENDABLE goes on, or CLOSED ends it */
        }
        c->told++;
    }
    (void)c->ep->transport->ops->kick(c->ep);
}

weir_err wi_newcomer_take(struct wi_engine *e, struct wi_ep *ep,
                          const struct wi_msg_member *m, struct weir_error *err)
{
    if (is_joining(e, m->name)) {
        return wi_fail(err, WEIR_ERR_STATE, "%s is joining already", m->name);
    }
    uint32_t idx = number_of(e, m->name);
    weir_err rc = check_number(e, idx, m, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct newcomer *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a member");
    }
    c->ep = ep;
    c->m = *m;
    c->idx = idx;
    c->n = wi_max_u32(e->n_members, idx + 1);
    c->change = e->change;
    c->deadline_ns = wi_time_add(e->now_ns, e->cfg.connect_ns);
    wi_list_push_back(&e->newcomers, &c->list);
    wi_engine_due(e, c->deadline_ns);
    tell(e, c);
    return WEIR_OK;
}

/* ---- until it goes ------------------------------------------------------- */

void wi_newcomer_event(struct wi_engine *e, const struct wi_event *ev)
{
    wi_list_each(n, &e->newcomers)
    {
        struct newcomer *c = wi_container_of(n, struct newcomer, list);
        if (c->ep != ev->ep) {
            continue;
        }
        if (ev->kind == WI_EV_SENDABLE) {
            tell(e, c);
        } else if (ev->kind == WI_EV_CLOSED) {
            newcomer_leaves(e, c);
        }
        return;
    }
}

void wi_newcomers_tick(struct wi_engine *e, uint64_t late_ns)
{
    wi_list_each(n, &e->newcomers)
    {
        struct newcomer *c = wi_container_of(n, struct newcomer, list);
        c->deadline_ns = wi_time_add(c->deadline_ns, late_ns);
        if (e->now_ns >= c->deadline_ns) {
            newcomer_leaves(e, c);
        } else {
            wi_engine_due(e, c->deadline_ns);
        }
    }
}

void wi_newcomers_close(struct wi_engine *e)
{
    wi_list_each(n, &e->newcomers)
    {
        newcomer_leaves(e, wi_container_of(n, struct newcomer, list));
    }
}
