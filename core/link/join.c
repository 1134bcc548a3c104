/* SPDX-License-Identifier: Apache-2.0 */
/* Joining through a seed, both sides. */
#include "core/link/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/handshake.h"
#include "core/link/members.h"
#include "core/link/warn.h"
#include "core/link/worker.h"
#include "core/transport.h"

#define RETRY_NS 50000000ull

struct entry {
    struct wi_msg_member m;
    bool known;
    struct wi_ep *ep; /* seed: who asked; NULL: itself, or gone */
    uint32_t told;    /* seed: entries already sent to it */
};

struct wi_join {
    bool seed;
    bool ended; /* the caller has its answer */
    uint32_t n;
    uint32_t n_known;
    struct entry *entries;
    char address[WI_ADDRESS_BYTES];
    struct wi_ep *ep;     /* joiner: to the seed */
    bool up;              /* joiner: ep is connected */
    uint64_t retry_ns;    /* joiner: connect (again) at */
    uint64_t patience_ns; /* joiner: try the next way to the seed at */
    weir_err code;        /* WEIR_AGAIN while it goes on */
    struct weir_error error;
};

static void fill_self(const struct wi_engine *e, struct wi_msg_member *m)
{
    union wi_msg u;
    wi_msg_init(&u, WI_MSG_JOIN);
    u.member.magic = WI_WIRE_MAGIC;
    u.member.version_min = WI_WIRE_VERSION_MIN;
    u.member.version_max = WI_WIRE_VERSION_MAX;
    u.member.workers = e->cfg.workers;
    u.member.n_members = e->join != NULL ? e->join->n : 0;
    wi_text_put(u.member.name, WI_NAME_BYTES, e->name);
    wi_text_put(u.member.address, WI_ADDR_BYTES, e->address);
    *m = u.member;
}

static void finish(struct wi_join *j, weir_err code, const char *text)
{
    if (j->code == WEIR_AGAIN) {
        j->code = wi_fail(&j->error, code, "%s", text);
    }
}

/* All entries are known: this node joins. */
static void complete(struct wi_engine *e, struct wi_join *j)
{
    struct weir_member *list = calloc(j->n, sizeof(*list));
    if (list == NULL) {
        finish(j, WEIR_ERR_NO_MEMORY, "no memory for the member list");
        return;
    }
    for (uint32_t i = 0; i < j->n; i++) {
        list[i] = (struct weir_member){.name = j->entries[i].m.name,
                                       .address = j->entries[i].m.address,
                                       .workers = j->entries[i].m.workers};
    }
    j->code = wi_members_join(e, list, j->n, &j->error);
    free(list);
}

/* ---- the seed ---------------------------------------------------------------------- */

static void tell(const struct wi_join *j, struct entry *to)
{
    bool all = j->n_known == j->n; /* SENDABLE may come before */
    while (to->ep != NULL && all && to->told < j->n) {
        struct wi_msg_member m = j->entries[to->told].m;
        m.head.type = WI_MSG_MEMBER;
        m.idx = to->told;
        m.n_members = j->n;
        m.self = (uint32_t)(to - j->entries);
        weir_err rc = to->ep->transport->ops->send(to->ep, &m, m.head.len);
        if (rc != WEIR_OK) {
            break; /* SENDABLE goes on, or CLOSED ends it */
        }
        to->told++;
    }
    if (to->ep != NULL) {
        (void)to->ep->transport->ops->kick(to->ep);
    }
}

/* Number of a name among those that are known, j->n: it is new. */
static uint32_t find_name(const struct wi_join *j, const char *name)
{
    uint32_t i = 0;
    while (i < j->n &&
           !(j->entries[i].known && strcmp(j->entries[i].m.name, name) == 0)) {
        i++;
    }
    return i;
}

/* What every entry of a list must be, whoever says so. */
static weir_err check_entry(const struct wi_engine *e,
                            const struct wi_msg_member *m,
                            struct weir_error *err)
{
    struct weir_error why;
    if (m->name[0] == '\0' || m->workers == 0 || m->workers > WI_WORKERS_MAX) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "\"%s\" with %u workers: a member needs a name and 1 "
                       "to %u workers",
                       m->name, m->workers, WI_WORKERS_MAX);
    }
    if (e->ops->check(e->transport, m->address, &why) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED, "%s: %.160s", m->name,
                       why.message);
    }
    return WEIR_OK;
}

/* May this one join? The seed's own list stays as it is, whatever comes. */
static weir_err check_join(const struct wi_engine *e,
                           const struct wi_msg_member *m,
                           struct weir_error *err)
{
    const struct wi_join *j = e->join;
    if (m->magic != WI_WIRE_MAGIC || m->version_min > WI_WIRE_VERSION_MAX ||
        m->version_max < WI_WIRE_VERSION_MIN) {
        return wi_fail(err, WEIR_ERR_PEER_VERSION,
                       "seed %s speaks wire versions %u to %u, you %u to %u",
                       e->name, WI_WIRE_VERSION_MIN, WI_WIRE_VERSION_MAX,
                       m->version_min, m->version_max);
    }
    if (j == NULL && e->n_members == 0) {
        return wi_fail(err, WEIR_ERR_STATE, "not a seed yet");
    }
    if (j != NULL && j->seed && m->n_members != j->n) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "%s forms a cluster of %u members, %s expects %u",
                       e->name, j->n, m->name, m->n_members);
    }
    const char *why = j == NULL || !j->seed ? "it is not waiting as a seed"
                      : j->n_known == j->n  ? "the cluster is complete"
                      : find_name(j, m->name) < j->n ? "the name is taken"
                                                     : NULL;
    return why == NULL
               ? check_entry(e, m, err)
               : wi_fail(err, WEIR_ERR_PEER_REFUSED,
                         "%s cannot let %s join: %s", e->name, m->name, why);
}

void wi_join_message(struct wi_engine *e, struct wi_ep *ep,
                     const struct wi_msg_member *m)
{
    struct wi_join *j = e->join;
    struct weir_error err;
    weir_err rc = check_join(e, m, &err);
    if (rc != WEIR_OK) {
        if (rc != WEIR_ERR_STATE) {
            wi_warn(e, WI_STRANGER, WI_CAUSE_JOIN, "refused a join: %s",
                    err.message);
        }
        wi_ep_refuse(e, ep, rc, err.message);
        return;
    }
    struct entry *new = &j->entries[j->n_known++];
    new->m = *m;
    new->known = true;
    new->ep = ep;
    if (j->n_known == j->n) {
        complete(e, j);
        for (uint32_t i = 0; j->code == WEIR_OK && i < j->n; i++) {
            tell(j, &j->entries[i]);
        }
    }
}

static void seed_event(struct wi_engine *e, struct wi_join *j,
                       const struct wi_event *ev)
{
    for (uint32_t i = 0; i < j->n_known; i++) {
        struct entry *it = &j->entries[i];
        if (it->ep != ev->ep) {
            continue;
        }
        if (ev->kind == WI_EV_SENDABLE) {
            tell(j, it);
        } else if (ev->kind == WI_EV_CLOSED) {
            wi_engine_disconnect(e, it->ep);
            it->ep = NULL;
            if (it->told < j->n && j->code == WEIR_AGAIN) {
                /* It went before the list was complete: make room. */
                *it = j->entries[--j->n_known];
                memset(&j->entries[j->n_known], 0, sizeof(*it));
            }
        }
        return;
    }
}

static bool all_told(const struct wi_join *j)
{
    for (uint32_t i = 0; i < j->n_known; i++) {
        if (j->entries[i].ep != NULL) {
            return false;
        }
    }
    return true;
}

/* ---- the joiner ------------------------------------------------------------------------ */

/* An entry of the list that the seed sends. */
static weir_err check_member(const struct wi_engine *e, const struct wi_join *j,
                             const struct wi_msg_member *m,
                             struct weir_error *err)
{
    if (m->n_members != j->n) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "the seed forms a cluster of %u members, this node "
                       "expects %u",
                       m->n_members, j->n);
    }
    if (m->idx >= j->n || m->self >= j->n || j->entries[m->idx].known ||
        find_name(j, m->name) < j->n) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "the seed's list of %u: entry %u (%s) comes twice or is "
                       "out of it",
                       j->n, m->idx, m->name);
    }
    bool own = strcmp(m->name, e->name) == 0;
    if (own != (m->idx == m->self) || (own && m->workers != e->cfg.workers)) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "the seed's list: entry %u is %s with %u workers, this "
                       "node is entry %u, %s with %u",
                       m->idx, m->name, m->workers, m->self, e->name,
                       e->cfg.workers);
    }
    struct weir_error why;
    if (check_entry(e, m, &why) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL, "the seed's list: %.300s",
                       why.message);
    }
    return WEIR_OK;
}

static void take_member(struct wi_engine *e, struct wi_join *j,
                        const struct wi_msg_member *m)
{
    struct weir_error err;
    weir_err rc = check_member(e, j, m, &err);
    if (rc != WEIR_OK) {
        finish(j, rc, err.message);
        return;
    }
    struct entry *it = &j->entries[m->idx];
    j->n_known++;
    it->known = true;
    it->m = *m;
    if (j->n_known == j->n) {
        complete(e, j);
    }
}

static void retry(struct wi_engine *e, struct wi_join *j)
{
    wi_engine_disconnect(e, j->ep);
    j->ep = NULL;
    memset(j->entries, 0, j->n * sizeof(*j->entries)); /* half a list */
    j->n_known = 0;
    j->retry_ns = e->now_ns + RETRY_NS;
    wi_engine_due(e, j->retry_ns);
}

/* The seed's word does not decide what this node's calls return. */
static void on_refuse(struct wi_engine *e, struct wi_join *j,
                      const struct wi_msg_refuse *m)
{
    if (m->code == WEIR_ERR_STATE) {
        retry(e, j); /* it listens, but does not wait as a seed yet */
    } else {
        finish(j,
               m->code == WEIR_ERR_PEER_VERSION ? WEIR_ERR_PEER_VERSION
                                                : WEIR_ERR_PEER_REFUSED,
               m->text);
    }
}

/* An attempt has begun: this long it may take. */
static void be_patient(struct wi_engine *e, struct wi_join *j)
{
    j->up = false;
    j->patience_ns = wi_time_add(e->now_ns, e->cfg.connect_ns / 2);
    wi_engine_due(e, j->patience_ns);
}

/* Go on over the next way to the seed, if there is one. */
static bool try_next(struct wi_engine *e, struct wi_join *j)
{
    struct wi_ep *next = NULL;
    struct weir_error err;
    if (e->ops->connect_next(e->transport, j->address, j->ep, &next, &err) !=
        WEIR_OK) {
        return false;
    }
    wi_engine_disconnect(e, j->ep);
    j->ep = next;
    be_patient(e, j);
    wi_engine_kick(e);
    return true;
}

static void joiner_packet(struct wi_engine *e, struct wi_join *j,
                          const uint8_t *bytes, uint32_t len)
{
    union wi_msg m;
    struct weir_error err;
    uint32_t at = 0;
    weir_err rc = WEIR_OK;
    while (j->code == WEIR_AGAIN && j->ep != NULL &&
           (rc = wi_msg_next(bytes, len, &at, &m, &err)) == WEIR_OK) {
        if (m.head.type == WI_MSG_MEMBER) {
            take_member(e, j, &m.member);
        } else if (m.head.type == WI_MSG_REFUSE) {
            on_refuse(e, j, &m.refuse);
        }
    }
    if (rc < 0) {
        finish(j, rc, err.message);
    }
}

static void joiner_event(struct wi_engine *e, struct wi_join *j,
                         const struct wi_event *ev)
{
    if (ev->kind == WI_EV_CONNECTED) {
        const struct wi_transport_ops *ops = ev->ep->transport->ops;
        struct wi_msg_member m;
        j->up = true;
        j->patience_ns = UINT64_MAX; /* members may come when they like */
        fill_self(e, &m);
        (void)ops->send(ev->ep, &m, m.head.len);
        (void)ops->kick(ev->ep);
    } else if (ev->kind == WI_EV_MESSAGE) {
        joiner_packet(e, j, ev->bytes, ev->len);
    } else if (ev->kind == WI_EV_CLOSED) {
        /* Not there yet, perhaps: the caller's timeout bounds the tries. */
        wi_log(&e->log, WI_LOG_INFO, "seed %s: %s", j->address, ev->reason);
        if (!try_next(e, j)) {
            retry(e, j);
        }
    }
}

/* ---- both --------------------------------------------------------------------------------- */

void wi_join_event(struct wi_engine *e, const struct wi_event *ev)
{
    struct wi_join *j = e->join;
    if (j != NULL && j->ep == ev->ep) {
        joiner_event(e, j, ev);
    } else if (j != NULL && j->seed) {
        seed_event(e, j, ev);
    }
    if (j != NULL && j->ended) {
        wi_join_end(e, true);
    }
}

void wi_join_tick(struct wi_engine *e)
{
    struct wi_join *j = e->join;
    if (j == NULL || j->seed || j->code != WEIR_AGAIN) {
        return;
    }
    if (j->ep != NULL && e->now_ns < j->patience_ns) {
        wi_engine_due(e, j->patience_ns);
        return;
    }
    if (j->ep != NULL) {
        const char *name = j->ep->transport->ops->name;
        if (try_next(e, j)) {
            wi_log(&e->log, WI_LOG_WARN,
                   "seed %s: no answer over %s, trying %s", j->address, name,
                   j->ep->transport->ops->name);
        } else {
            j->patience_ns = UINT64_MAX; /* the last way may take its time */
        }
        return;
    }
    if (e->now_ns < j->retry_ns) {
        wi_engine_due(e, j->retry_ns);
        return;
    }
    weir_err rc = e->ops->connect(e->transport, j->address, &j->ep, &j->error);
    if (rc != WEIR_OK) {
        j->code = rc;
    } else {
        be_patient(e, j);
    }
}

weir_err wi_join_start(struct wi_engine *e, const char *address, uint32_t n,
                       struct weir_error *err)
{
    if (e->n_members != 0 || e->join != NULL || n == 0 ||
        n > e->cfg.max_members) {
        return wi_fail(err, WEIR_ERR_STATE,
                       "cannot join a cluster of %u: joined already, or "
                       "max_members = %u is too small",
                       n, e->cfg.max_members);
    }
    struct weir_error why;
    if (address != NULL && e->ops->check(e->transport, address, &why) < 0) {
        return wi_fail(err, WEIR_ERR_ARG, "seed_address: %.300s", why.message);
    }
    struct wi_join *j = calloc(1, sizeof(*j));
    struct entry *entries = calloc(n, sizeof(*entries));
    if (j == NULL || entries == NULL) {
        free(j);
        free(entries);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u members", n);
    }
    j->entries = entries;
    j->n = n;
    j->seed = address == NULL;
    j->code = WEIR_AGAIN;
    j->retry_ns = e->now_ns;
    e->join = j;
    if (j->seed) {
        fill_self(e, &j->entries[0].m);
        j->entries[0].known = true;
        j->n_known = 1;
        if (n == 1) {
            complete(e, j);
        }
    } else {
        (void)snprintf(j->address, sizeof(j->address), "%s", address);
        wi_engine_due(e, e->now_ns);
    }
    return WEIR_OK;
}

weir_err wi_join_result(struct wi_engine *e, struct weir_error *err)
{
    if (e->join->code < 0 && err != NULL) {
        *err = e->join->error;
    }
    return e->join->code;
}

weir_err wi_join_timeout(struct wi_engine *e, struct weir_error *err)
{
    const struct wi_join *j = e->join;
    if (!j->seed && j->ep != NULL && !j->up) {
        wi_log(&e->log, WI_LOG_INFO, "seed %s: nothing answers", j->address);
        return wi_fail(
            err, WEIR_ERR_TIMEOUT,
            "no connection to the seed at %s: nothing answers there; "
            "does a firewall drop what goes to that port?",
            j->address);
    }
    if (!j->seed) {
        return wi_fail(err, WEIR_ERR_TIMEOUT,
                       "no member list from the seed at %s: does it run, and "
                       "do all %u members?",
                       j->address, j->n);
    }
    char names[256] = "";
    for (uint32_t i = 0; i < j->n_known && strlen(names) < 180; i++) {
        size_t at = strlen(names);
        (void)snprintf(names + at, sizeof(names) - at, "%s%.60s",
                       i != 0 ? ", " : "", j->entries[i].m.name);
    }
    return wi_fail(err, WEIR_ERR_TIMEOUT, "%u of %u members came: %s",
                   j->n_known, j->n, names);
}

void wi_join_end(struct wi_engine *e, bool ok)
{
    struct wi_join *j = e->join;
    if (j == NULL) {
        return;
    }
    j->ended = true;
    if (ok && j->seed && !all_told(j) && !e->closing) {
        return; /* goes on in the background; wi_join_event ends it */
    }
    for (uint32_t i = 0; i < j->n; i++) {
        if (j->entries[i].ep != NULL) {
            wi_engine_disconnect(e, j->entries[i].ep);
        }
    }
    if (j->ep != NULL) {
        wi_engine_disconnect(e, j->ep);
    }
    free(j->entries);
    free(j);
    e->join = NULL;
}
