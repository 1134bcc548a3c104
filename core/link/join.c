/* SPDX-License-Identifier: Apache-2.0 */
/* Joining through a seed: the joiner, and what both sides do. */
#include "core/link/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/join_list.h"
#include "core/link/newcomer.h"
#include "core/link/prove.h"
#include "core/link/say.h"
#include "core/link/seed.h"
#include "core/transport.h"

#define RETRY_NS 50000000ull

/* ---- the joiner ---------------------------------------------------------- */

/* Does this entry belong into the seed's list, as far as that has come? */
static weir_err check_place(const struct wi_engine *e, const struct wi_join *j,
                            const struct wi_msg_member *m,
                            struct weir_error *err)
{
    if (j->any && (m->n_members == 0 || m->n_members > e->cfg.max_members)) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "the seed's cluster has numbers up to %u, this node's "
                       "max_members is %u: give all nodes the same",
                       m->n_members, e->cfg.max_members);
    }
    if (m->n_members != j->n && !(j->any && j->n == 0)) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "the seed forms a cluster of %u members, this node "
                       "expects %u",
                       m->n_members, j->n);
    }
    bool twice = m->name[0] != '\0' && wi_join_find_name(j, m->name) < j->n;
    if (m->idx >= m->n_members || m->self >= m->n_members ||
        j->entries[m->idx].known || twice) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "the seed's list of %u: entry %u (%s) comes twice or is "
                       "out of it",
                       m->n_members, m->idx, m->name);
    }
    return WEIR_OK;
}

/* An entry of the list that the seed sends. */
static weir_err check_member(const struct wi_engine *e, const struct wi_join *j,
                             const struct wi_msg_member *m,
                             struct weir_error *err)
{
    weir_err rc = check_place(e, j, m, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (j->any && m->idx != m->self && wi_join_is_hole(m)) {
        return WEIR_OK;
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
    if (wi_join_check_entry(e, m, &why) != WEIR_OK) {
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
    if (rc == WEIR_OK && m->idx == 0) {
        rc = wi_prove_name(j->ep, m->name, &err); /* it is the seed */
    }
    if (rc != WEIR_OK) {
        wi_join_finish(j, rc, err.message);
        return;
    }
    j->n = m->n_members; /* of a cluster that runs: news */
    struct wi_join_entry *it = &j->entries[m->idx];
    j->n_known++;
    it->known = true;
    it->m = *m;
    if (j->n_known == j->n) {
        wi_join_complete(e, j);
    }
}

static void retry(struct wi_engine *e, struct wi_join *j)
{
    wi_engine_disconnect(e, j->ep);
    j->ep = NULL;
    memset(j->entries, 0, j->n * sizeof(*j->entries)); /* part of a list */
    j->n_known = 0;
    j->n = j->any ? 0 : j->n;
    j->retry_ns = e->now_ns + RETRY_NS;
    wi_engine_due(e, j->retry_ns);
}

/* A seed cannot choose freely what this node's calls return. */
static void on_refuse(struct wi_engine *e, struct wi_join *j,
                      const struct wi_msg_refuse *m)
{
    struct weir_error err;
    if (!wi_prove_done(j->ep)) {
        weir_err code = wi_prove_refusal(m, &err);
        wi_join_finish(j, code, err.message);
    } else if (m->code == WEIR_ERR_STATE) {
        retry(e, j); /* it listens, but does not wait as a seed yet */
    } else {
        wi_join_finish(j,
                       m->code == WEIR_ERR_PEER_VERSION ? WEIR_ERR_PEER_VERSION
                                                        : WEIR_ERR_PEER_REFUSED,
                       m->text);
    }
}

/* An attempt has begun: set the time it may take. */
static void limit_attempt(struct wi_engine *e, struct wi_join *j)
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
    limit_attempt(e, j);
    wi_engine_kick(e);
    return true;
}

static void say_join(struct wi_engine *e, struct wi_join *j)
{
    union wi_msg m;
    wi_join_fill_self(e, &m.member);
    (void)wi_ep_say(j->ep, &m);
    (void)j->ep->transport->ops->kick(j->ep);
}

static void knock(struct wi_engine *e, struct wi_join *j)
{
    union wi_msg m;
    struct weir_error err;
    weir_err rc = wi_prove_begin(e, j->ep, &m, &err);
    if (rc != WEIR_OK) {
        wi_join_finish(j, rc, err.message);
        return;
    }
    (void)wi_ep_say(j->ep, &m);
    (void)j->ep->transport->ops->kick(j->ep);
}

/* The seed's list of members is believed: it has to be the seed. */
static void greet_seed(struct wi_engine *e, struct wi_join *j)
{
    struct weir_error err;
    const char *name = j->server_name[0] != '\0' ? j->server_name : NULL;
    weir_err rc = wi_prove_server(j->ep, name, &err);
    if (rc != WEIR_OK) {
        wi_join_finish(j, rc, err.message);
    } else if (wi_prove_wanted(e)) {
        knock(e, j);
    } else {
        say_join(e, j);
    }
}

static void joiner_packet(struct wi_engine *e, struct wi_join *j,
                          const struct wi_event *ev)
{
    union wi_msg m;
    struct weir_error err;
    uint32_t at = 0;
    bool proved = wi_prove_done(j->ep);
    weir_err rc = WEIR_OK;
    while (j->code == WEIR_AGAIN && j->ep != NULL &&
           (rc = wi_ep_hear(e, ev, &at, &m, &err)) == WEIR_OK) {
        if (m.head.type == WI_MSG_MEMBER) {
            take_member(e, j, &m.member);
        } else if (m.head.type == WI_MSG_REFUSE) {
            on_refuse(e, j, &m.refuse);
        }
    }
    if (rc < 0) {
        wi_join_finish(j, rc, err.message);
    } else if (!proved && j->ep != NULL && wi_prove_done(j->ep)) {
        say_join(e, j);
    }
}

static void joiner_event(struct wi_engine *e, struct wi_join *j,
                         const struct wi_event *ev)
{
    if (j->code != WEIR_AGAIN) {
        return; /* it has its answer: no other way is tried */
    }
    if (ev->kind == WI_EV_CONNECTED) {
        j->up = true;
        j->patience_ns = UINT64_MAX; /* wait for the others, however long */
        greet_seed(e, j);
    } else if (ev->kind == WI_EV_MESSAGE) {
        joiner_packet(e, j, ev);
    } else if (ev->kind == WI_EV_CLOSED && ev->refused) {
        wi_join_finish(j, WEIR_ERR_PEER_REFUSED, ev->reason);
    } else if (ev->kind == WI_EV_CLOSED) {
        /* Perhaps not there yet: try until the caller's timeout. */
        wi_log(&e->log, WI_LOG_INFO, "seed %s: %s", j->address, ev->reason);
        if (!try_next(e, j)) {
            retry(e, j);
        }
    }
}

/* ---- both ---------------------------------------------------------------- */

void wi_join_event(struct wi_engine *e, const struct wi_event *ev)
{
    struct wi_join *j = e->join;
    if (j != NULL && j->ep == ev->ep) {
        joiner_event(e, j, ev);
    } else if (j != NULL && j->seed) {
        wi_seed_event(e, j, ev);
    }
    wi_newcomer_event(e, ev);
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
            j->patience_ns = UINT64_MAX; /* the last way has no time limit */
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
        limit_attempt(e, j);
    }
}

/* What may be said of a seed before there is a join. */
static weir_err check_seed(const struct wi_engine *e,
                           const struct weir_seed *seed, struct weir_error *err)
{
    struct weir_error why;
    if (e->ops->check(e->transport, seed->address, &why) < 0) {
        return wi_fail(err, WEIR_ERR_ARG, "seed_address: %.300s", why.message);
    }
    return wi_prove_may_expect(e, seed->server_name, err);
}

static struct wi_join *make_join(const struct wi_engine *e,
                                 const struct weir_seed *seed, uint32_t n,
                                 struct weir_error *err)
{
    struct wi_join *j = calloc(1, sizeof(*j));
    bool any = n == 0 && seed != NULL;
    uint32_t room = any ? e->cfg.max_members : n;
    struct wi_join_entry *entries = calloc(room, sizeof(*entries));
    if (j == NULL || entries == NULL) {
        free(j);
        free(entries);
        (void)wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u members",
                      room);
        return NULL;
    }
    j->entries = entries;
    j->n = n;
    j->any = any;
    j->seed = seed == NULL;
    j->code = WEIR_AGAIN;
    j->retry_ns = e->now_ns;
    if (seed != NULL) {
        const char *name = seed->server_name;
        wi_text_put(j->address, sizeof(j->address), seed->address);
        wi_text_put(j->server_name, sizeof(j->server_name),
                    name != NULL ? name : "");
    }
    return j;
}

weir_err wi_join_start(struct wi_engine *e, const struct weir_seed *seed,
                       uint32_t n, struct weir_error *err)
{
    bool any = n == 0 && seed != NULL;
    if (e->n_members != 0 || e->join != NULL || (n == 0 && !any) ||
        n > e->cfg.max_members) {
        return wi_fail(err, WEIR_ERR_STATE,
                       "cannot join a cluster of %u: joined already, or "
                       "max_members = %u is too small",
                       n, e->cfg.max_members);
    }
    weir_err rc = seed != NULL ? check_seed(e, seed, err) : WEIR_OK;
    struct wi_join *j = rc == WEIR_OK ? make_join(e, seed, n, err) : NULL;
    if (j == NULL) {
        return rc != WEIR_OK ? rc : WEIR_ERR_NO_MEMORY;
    }
    e->join = j;
    if (j->seed) {
        wi_join_fill_self(e, &j->entries[0].m);
        j->entries[0].known = true;
        j->n_known = 1;
        if (n == 1) {
            wi_join_complete(e, j);
        }
    } else {
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
    if (j->any) {
        return wi_fail(err, WEIR_ERR_TIMEOUT,
                       "no member list from the seed at %s: does its cluster "
                       "run, or does it still wait for members?",
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
    if (ok && j->seed && !wi_seed_all_told(j) && !e->closing) {
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
