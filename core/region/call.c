/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers take turns: each ask has a round, one more than the last one of its
 * peer, and not before that of the ask taken last. A flood from one peer lies
 * in later and later rounds, and what others ask meanwhile comes before it.
 */
#include "core/region/call.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/link/life.h"
#include "core/link/send.h"
#include "core/link/worker.h"
#include "core/region/owner.h"

static struct wi_call *call_on(struct wi_list *n)
{
    return wi_container_of(n, struct wi_call, on_list);
}

static struct weir_asks *asks_of(const struct wi_engine *e, uint64_t space)
{
    const struct wi_regions *rs = e->regions;
    wi_list_each(n, &rs->asks)
    {
        struct weir_asks *a = wi_container_of(n, struct weir_asks, on_regions);
        if (a->space == space) {
            return a;
        }
    }
    return NULL;
}

static void send_answer(struct wi_share *s, uint32_t call, weir_err code,
                        const void *bytes, uint32_t len)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_ANSWER);
    m.answer.call = call;
    m.answer.code = (int32_t)code;
    m.answer.len = len;
    if (len != 0) {
        memcpy(m.answer.bytes, bytes, len);
    }
    wi_link_send(s->link, &m);
}

static uint32_t number(const struct wi_call *c)
{
    return c->kind == WI_CALL_FIND ? c->m.find.call : c->m.ask.call;
}

/* Nobody waits for it any more. */
static void leave_share(struct wi_call *c)
{
    struct wi_share *s = c->share;
    if (s != NULL) {
        wi_list_remove(&c->on_share);
        if (c->kind == WI_CALL_FIND) {
            s->n_finds--;
        } else {
            s->ask_bytes -= wi_ask_charge(c->m.ask.len);
        }
        c->share = NULL;
        wi_link_rest(s->link);
    }
}

static void free_call(struct wi_call *c)
{
    leave_share(c);
    wi_list_remove(&c->on_list);
    free(c);
}

/* The same, and its answer is dropped; who has taken it may want to know. */
static void abandon(struct wi_call *c)
{
    if (c->taken) {
        leave_share(c);
        wi_worker_notify(c->asks->worker, WI_ATTN_EVENT);
    } else {
        free_call(c);
    }
}

/* With room for so much of its message. */
static struct wi_call *make_call(struct wi_share *s, enum wi_call_kind kind,
                                 size_t bytes)
{
    struct wi_regions *rs = s->link->engine->regions;
    struct wi_call *c = calloc(1, offsetof(struct wi_call, m) + bytes);
    if (c != NULL) {
        c->kind = kind;
        c->share = s;
        c->member = s->link->member;
        c->incarnation = s->link->peer_incarnation;
        c->id = ++rs->last_id;
        wi_list_init(&c->on_list);
        wi_list_push_back(&s->calls, &c->on_share);
    }
    return c;
}

static struct wi_call *make_find(struct wi_share *s,
                                 const struct wi_msg_find *m)
{
    struct wi_call *c = make_call(s, WI_CALL_FIND, sizeof(*m));
    if (c != NULL) {
        c->m.find = *m;
        s->n_finds++;
    }
    return c;
}

static struct wi_call *make_ask(struct wi_share *s, const struct wi_msg_ask *m)
{
    size_t bytes = offsetof(struct wi_msg_ask, bytes) + m->len;
    struct wi_call *c = make_call(s, WI_CALL_ASK, bytes);
    if (c != NULL) {
        memcpy(&c->m.ask, m, bytes);
        s->ask_bytes += wi_ask_charge(m->len);
    }
    return c;
}

/* Into its round, see above. */
static void put_in_round(struct weir_asks *a, struct wi_call *c)
{
    struct wi_share *s = c->share;
    c->asks = a;
    c->round = wi_max_u64(s->round, a->round) + 1;
    s->round = c->round;
    struct wi_list *at = a->waiting.prev;
    while (at != &a->waiting && call_on(at)->round > c->round) {
        at = at->prev;
    }
    wi_list_push_back(at->next, &c->on_list); /* before what comes later */
    wi_worker_notify(a->worker, WI_ATTN_EVENT);
}

weir_err wi_call_on_find(struct wi_share *s, const struct wi_msg_find *m,
                         struct weir_error *err)
{
    struct wi_engine *e = s->link->engine;
    struct weir_name name = {m->space, m->id};
    if (m->access != WI_ACCESS_READ && m->access != WI_ACCESS_WRITE) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL, "FIND with access %u",
                       m->access);
    }
    if (s->n_finds >= WI_CALLS_MAX) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "more than %d FINDs at a time", WI_CALLS_MAX);
    }
    struct weir_asks *a =
        wi_region_by_name(e, &name) == NULL ? asks_of(e, m->space) : NULL;
    uint64_t since = e->regions->last_id + 1; /* as it is, if it waits */
    if (a == NULL && wi_owner_find(s, m, since) != WEIR_AGAIN) {
        return WEIR_OK;
    }
    struct wi_call *c = make_find(s, m);
    if (c == NULL) {
        wi_owner_refuse(s, m->call, WEIR_ERR_NO_MEMORY, "no memory for a call");
        return WEIR_OK;
    }
    if (a != NULL) {
        put_in_round(a, c);
    } else {
        wi_list_push_back(&e->regions->waiting, &c->on_list);
    }
    return WEIR_OK;
}

weir_err wi_call_on_ask(struct wi_share *s, const struct wi_msg_ask *m,
                        struct weir_error *err)
{
    static const char nobody[] = "nobody answers for this space there";
    if (m->len > WI_ASK_BYTES) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL, "ASK of %u bytes", m->len);
    }
    struct weir_asks *a = asks_of(s->link->engine, m->space);
    if (a == NULL) {
        send_answer(s, m->call, WEIR_ERR_NOT_FOUND, nobody, sizeof(nobody) - 1);
        return WEIR_OK;
    }
    struct wi_call *c = NULL;
    if (wi_ask_charge(m->len) <= WI_ASKED_MAX - s->ask_bytes) {
        c = make_ask(s, m);
    }
    if (c == NULL) {
        send_answer(s, m->call, WEIR_AGAIN, NULL, 0);
        return WEIR_OK;
    }
    put_in_round(a, c);
    return WEIR_OK;
}

void wi_call_on_leave(struct wi_share *s, uint32_t call)
{
    wi_list_each(n, &s->calls)
    {
        struct wi_call *c = wi_container_of(n, struct wi_call, on_share);
        if (number(c) == call) {
            abandon(c);
            return;
        }
    }
}

uint32_t wi_calls_retry(struct wi_engine *e)
{
    uint32_t n = 0;
    wi_list_each(k, &e->regions->waiting)
    {
        struct wi_call *c = call_on(k);
        if (wi_owner_find(c->share, &c->m.find, c->id) != WEIR_AGAIN) {
            free_call(c);
            n++;
        }
    }
    return n;
}

void wi_calls_forget(struct wi_share *s)
{
    while (!wi_list_empty(&s->calls)) {
        struct wi_call *c =
            wi_container_of(s->calls.next, struct wi_call, on_share);
        abandon(c);
    }
}

/* ---- the program's side -------------------------------------------------- */

weir_err weir_asks_open(weir_node *node, uint64_t space, uint32_t worker,
                        weir_asks **asks_out, struct weir_error *err)
{
    weir_err rc = wi_check_args(err, WI_ARG(node), WI_ARG(asks_out));
    rc = rc == WEIR_OK ? wi_engine_check_own(&node->engine, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    if (worker >= node->engine.cfg.workers) {
        return wi_fail(err, WEIR_ERR_ARG, "worker = %u of %u", worker,
                       node->engine.cfg.workers);
    }
    struct weir_asks *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for asks");
    }
    a->node = node;
    a->space = space;
    a->worker = &node->engine.workers[worker];
    wi_list_init(&a->on_regions);
    wi_list_init(&a->waiting);
    wi_list_init(&a->taken);
    wi_node_lock(node);
    if (asks_of(&node->engine, space) != NULL) {
        rc = wi_fail(err, WEIR_ERR_DUPLICATE,
                     "space %llu has somebody who answers already",
                     (unsigned long long)space);
    } else {
        wi_list_push_back(&node->engine.regions->asks, &a->on_regions);
    }
    wi_node_unlock(node);
    if (rc != WEIR_OK) {
        free(a);
        return rc;
    }
    *asks_out = a;
    return WEIR_OK;
}

static void show(struct weir_asks *a, struct wi_call *c, struct weir_ask *out)
{
    bool find = c->kind == WI_CALL_FIND;
    wi_text_put(c->peer, sizeof(c->peer),
                wi_member_name(&a->node->engine, c->member));
    *out = (struct weir_ask){
        .name = {find ? c->m.find.space : c->m.ask.space,
                 find ? c->m.find.id : c->m.ask.id},
        .bytes = c->m.ask.bytes,
        .len = find ? 0 : c->m.ask.len,
        .wants_region = find ? 1 : 0,
        .peer = c->peer,
        .peer_incarnation = c->incarnation,
        .id = c->id,
        .asks = a,
    };
}

weir_err weir_asks_next(weir_asks *asks, struct weir_ask *ask_out)
{
    if (asks == NULL || ask_out == NULL) {
        return WEIR_ERR_ARG;
    }
    if (wi_engine_inherited(&asks->node->engine)) {
        return WEIR_ERR_STATE;
    }
    wi_node_lock(asks->node);
    struct wi_list *n = wi_list_take(&asks->waiting);
    if (n != NULL) {
        struct wi_call *c = call_on(n);
        asks->round = c->round;
        c->taken = true;
        wi_list_push_back(&asks->taken, n);
        show(asks, c, ask_out);
    }
    wi_node_unlock(asks->node);
    return n != NULL ? WEIR_OK : WEIR_AGAIN;
}

/* A get waits for a region: it is there now, or it is not. */
static void answer_find(struct wi_call *c, weir_err code, const void *bytes,
                        uint32_t len)
{
    struct wi_share *s = c->share;
    char text[WI_TEXT_BYTES] = "";
    if (s == NULL) {
        return;
    }
    if (code != WEIR_OK) {
        if (len != 0) {
            memcpy(text, bytes, wi_min_u32(len, WI_TEXT_BYTES - 1));
        }
        wi_owner_refuse(s, c->m.find.call, code, text);
    } else if (wi_owner_find(s, &c->m.find, c->id) == WEIR_AGAIN) {
        struct wi_call *later = make_find(s, &c->m.find);
        if (later == NULL) {
            wi_owner_refuse(s, c->m.find.call, WEIR_ERR_NO_MEMORY,
                            "no memory for a call");
            return;
        }
        wi_list_push_back(&s->link->engine->regions->waiting, &later->on_list);
    }
}

static void answer(struct wi_call *c, weir_err code, const void *bytes,
                   uint32_t len)
{
    if (c->kind == WI_CALL_FIND) {
        answer_find(c, code, bytes, len);
    } else if (c->share != NULL) {
        send_answer(c->share, c->m.ask.call, code, bytes, len);
    }
    free_call(c);
}

int weir_ask_waits(const struct weir_ask *ask)
{
    int waits = 0;
    if (ask == NULL || ask->asks == NULL) {
        return 0;
    }
    struct weir_asks *a = ask->asks;
    if (wi_engine_inherited(&a->node->engine)) {
        return 0;
    }
    wi_node_lock(a->node);
    wi_list_each(n, &a->taken)
    {
        if (call_on(n)->id == ask->id) {
            waits = call_on(n)->share != NULL ? 1 : 0;
            break;
        }
    }
    wi_node_unlock(a->node);
    return waits;
}

weir_err weir_ask_answer(const struct weir_ask *ask, weir_err code,
                         const void *bytes, uint32_t len)
{
    if (ask == NULL || ask->asks == NULL || (bytes == NULL && len != 0) ||
        code > 0 || len > WI_ASK_BYTES) {
        return WEIR_ERR_ARG;
    }
    struct weir_asks *a = ask->asks;
    weir_err rc = WEIR_ERR_STATE;
    if (wi_engine_inherited(&a->node->engine)) {
        return rc;
    }
    wi_node_lock(a->node);
    wi_list_each(n, &a->taken)
    {
        if (call_on(n)->id == ask->id) {
            answer(call_on(n), code, bytes, len);
            rc = WEIR_OK;
            break;
        }
    }
    wi_node_unlock(a->node);
    return rc;
}

void wi_asks_free(struct weir_asks *asks)
{
    static const char closed[] = "who answered for this space has stopped";
    struct wi_list *n;
    wi_list_remove(&asks->on_regions);
    while (!wi_list_empty(&asks->waiting) || !wi_list_empty(&asks->taken)) {
        n = wi_list_empty(&asks->waiting) ? asks->taken.next
                                          : asks->waiting.next;
        answer(call_on(n), WEIR_ERR_NOT_FOUND, closed, sizeof(closed) - 1);
    }
    free(asks);
}

void weir_asks_close(weir_asks *asks)
{
    if (asks != NULL && !wi_engine_inherited(&asks->node->engine)) {
        struct weir_node *n = asks->node;
        wi_node_lock(n);
        wi_asks_free(asks);
        wi_node_unlock(n);
    }
}
