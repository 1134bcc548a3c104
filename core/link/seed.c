/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/seed.h"

#include <string.h>

#include "core/base/err.h"
#include "core/link/engine.h"
#include "core/link/newcomer.h"
#include "core/link/prove.h"
#include "core/link/say.h"
#include "core/link/warn.h"
#include "core/transport.h"

static void tell(const struct wi_join *j, struct wi_join_entry *to)
{
    bool all = j->n_known == j->n; /* SENDABLE may come before */
    while (to->ep != NULL && all && to->told < j->n) {
        union wi_msg m = {.member = j->entries[to->told].m};
        m.head.type = WI_MSG_MEMBER;
        m.member.idx = to->told;
        m.member.n_members = j->n;
        m.member.self = (uint32_t)(to - j->entries);
        weir_err rc = wi_ep_say(to->ep, &m);
        if (rc != WEIR_OK) {
            break; /* SENDABLE goes on, or CLOSED ends it */
        }
        to->told++;
    }
    if (to->ep != NULL) {
        (void)to->ep->transport->ops->kick(to->ep);
    }
}

/* Does it wait for the members of a cluster that is not complete yet? */
static bool gathers(const struct wi_join *j)
{
    return j != NULL && j->seed && j->n_known < j->n;
}

static weir_err check_version(const struct wi_engine *e,
                              const struct wi_msg_member *m,
                              struct weir_error *err)
{
    if (m->magic == WI_WIRE_MAGIC && m->version_min <= WI_WIRE_VERSION_MAX &&
        m->version_max >= WI_WIRE_VERSION_MIN) {
        return WEIR_OK;
    }
    return wi_fail(err, WEIR_ERR_PEER_VERSION,
                   "seed %s speaks wire versions %u to %u, you %u to %u",
                   e->name, WI_WIRE_VERSION_MIN, WI_WIRE_VERSION_MAX,
                   m->version_min, m->version_max);
}

/* May this one be among the first? */
static weir_err check_join(const struct wi_engine *e,
                           const struct wi_msg_member *m,
                           struct weir_error *err)
{
    const struct wi_join *j = e->join;
    if (j != NULL && j->seed && m->n_members != j->n) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "%s forms a cluster of %u members, %s expects %u",
                       e->name, j->n, m->name, m->n_members);
    }
    const char *why = j == NULL || !j->seed ? "it is not waiting as a seed"
                      : j->n_known == j->n  ? "the cluster is complete"
                      : wi_join_find_name(j, m->name) < j->n
                          ? "the name is taken"
                          : NULL;
    return why == NULL
               ? wi_join_check_entry(e, m, err)
               : wi_fail(err, WEIR_ERR_PEER_REFUSED,
                         "%s cannot let %s join: %s", e->name, m->name, why);
}

/* One of the first members. */
static weir_err gather(struct wi_engine *e, struct wi_ep *ep,
                       const struct wi_msg_member *m, struct weir_error *err)
{
    struct wi_join *j = e->join;
    weir_err rc = check_join(e, m, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wi_join_entry *new = &j->entries[j->n_known++];
    new->m = *m;
    new->known = true;
    new->ep = ep;
    if (j->n_known == j->n) {
        wi_join_complete(e, j);
        for (uint32_t i = 0; j->code == WEIR_OK && i < j->n; i++) {
            tell(j, &j->entries[i]);
        }
    }
    return WEIR_OK;
}

/* One more member of a cluster that runs. */
static weir_err grow(struct wi_engine *e, struct wi_ep *ep,
                     const struct wi_msg_member *m, struct weir_error *err)
{
    if (gathers(e->join)) {
        return wi_fail(err, WEIR_ERR_STATE, "it waits for its first members");
    }
    if (!e->seed || e->closing) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "%s cannot let %s join: it %s", e->name, m->name,
                       e->closing ? "is being closed" : "is no seed");
    }
    weir_err rc = wi_join_check_entry(e, m, err);
    return rc == WEIR_OK ? wi_newcomer_take(e, ep, m, err) : rc;
}

/* The list of members stays as it is, whatever comes. */
void wi_seed_message(struct wi_engine *e, struct wi_ep *ep,
                     const struct wi_msg_member *m)
{
    struct weir_error err;
    weir_err rc = check_version(e, m, &err);
    if (rc == WEIR_OK) {
        rc = wi_prove_name(ep, m->name, &err);
    }
    if (rc == WEIR_OK && e->join == NULL && e->n_members == 0) {
        rc = wi_fail(&err, WEIR_ERR_STATE, "not a seed yet");
    } else if (rc == WEIR_OK) {
        rc = m->n_members == 0 ? grow(e, ep, m, &err) : gather(e, ep, m, &err);
    }
    if (rc == WEIR_OK) {
        return;
    }
    if (rc != WEIR_ERR_STATE) {
        wi_warn(e, WI_STRANGER, WI_CAUSE_JOIN, "refused a join: %s",
                err.message);
    }
    wi_ep_refuse(e, ep, rc, err.message);
}

void wi_seed_event(struct wi_engine *e, struct wi_join *j,
                   const struct wi_event *ev)
{
    for (uint32_t i = 0; i < j->n_known; i++) {
        struct wi_join_entry *it = &j->entries[i];
        if (it->ep != ev->ep) {
            continue;
        }
        if (ev->kind == WI_EV_SENDABLE) {
            tell(j, it);
        } else if (ev->kind == WI_EV_CLOSED) {
            wi_engine_disconnect(e, it->ep);
            it->ep = NULL;
            if (it->told < j->n && j->code == WEIR_AGAIN) {
                /* It left before the list was complete: free its place. */
                *it = j->entries[--j->n_known];
                memset(&j->entries[j->n_known], 0, sizeof(*it));
            }
        }
        return;
    }
}

bool wi_seed_all_told(const struct wi_join *j)
{
    for (uint32_t i = 0; i < j->n_known; i++) {
        if (j->entries[i].ep != NULL) {
            return false;
        }
    }
    return true;
}
