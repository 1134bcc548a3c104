/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/client_call.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "services/scan/client_lend.h"
#include "services/scan/fail.h"

/* ---- coming and going ---------------------------------------------------- */

struct wi_scan_call *wi_scan_call_make(struct weir_scan_client *c)
{
    struct wi_scan_call *call = calloc(1, sizeof(*call));
    if (call != NULL) {
        call->client = c;
        TAILQ_INIT(&call->given);
    }
    return call;
}

static void free_call(struct wi_scan_call *call)
{
    if (call->payload != NULL) {
        wi_scan_payload_drop(call->payload);
    }
    wi_scan_givens_free(&call->given);
    free(call->src);
    free(call);
}

void wi_scan_call_drop(struct wi_scan_call *call)
{
    if (call->state == WI_SCAN_CALL_WAITING) {
        TAILQ_REMOVE(&call->client->to_get, call, next);
    }
    if (call->state == WI_SCAN_CALL_NEW || call->state == WI_SCAN_CALL_OVER ||
        call->state == WI_SCAN_CALL_WAITING) {
        free_call(call);
        return;
    }
    call->abandoned = true;
    call->over = NULL;
}

static void end(struct wi_scan_call *call)
{
    call->state = WI_SCAN_CALL_OVER;
    if (call->abandoned) {
        free_call(call);
    } else if (call->over != NULL) {
        call->over(call);
    }
}

static void fail(struct wi_scan_call *call, weir_err code, const char *text)
{
    (void)wi_scan_fail(&call->err, code, "%s", text);
    end(call);
}

/* ---- sending ------------------------------------------------------------- */

weir_err wi_scan_call_ask(struct wi_scan_call *call,
                          const struct wi_scan_ask *ask, const void *bytes)
{
    struct weir_scan_client *c = call->client;
    const struct weir_name name = {c->p.space, WI_SCAN_ASKS};
    uint8_t message[WEIR_ASK_BYTES];
    struct wi_scan_ask a = *ask;
    uint32_t n = bytes != NULL ? (uint32_t)a.n_bytes : 0;
    a.version = WI_SCAN_VERSION;
    memcpy(a.client, c->number, sizeof(a.client));
    memcpy(message, &a, sizeof(a));
    if (n != 0) {
        memcpy(message + sizeof(a), bytes, n);
    }
    weir_err code =
        weir_fetch_ask(c->fetch, c->peer, &name, message,
                       (uint32_t)sizeof(a) + n, (uint64_t)(uintptr_t)call);
    if (code == WEIR_OK) {
        call->state = WI_SCAN_CALL_ASKING;
        TAILQ_INSERT_TAIL(&c->calls, call, next);
    }
    return code;
}

/* The numbers of slots. Returns how many. */
static uint32_t list_slots(const struct wi_scan_givens *list, uint64_t *out)
{
    const struct wi_scan_given *given;
    uint32_t n = 0;
    TAILQ_FOREACH(given, list, next)
    {
        out[n++] = given->slot;
    }
    return n;
}

enum { SLOTS = WI_SCAN_ASK_INLINE / (int)sizeof(uint64_t) };

weir_err wi_scan_call_ask_giving(struct wi_scan_call *call,
                                 const struct wi_scan_ask *ask)
{
    struct weir_scan_client *c = call->client;
    struct wi_scan_ask a = *ask;
    uint64_t slots[SLOTS];
    uint32_t n = wi_scan_givens_take(c, SLOTS, &call->given);
    (void)list_slots(&call->given, slots);
    a.n_bytes = n * sizeof(uint64_t);
    weir_err code = wi_scan_call_ask(call, &a, slots);
    if (code != WEIR_OK) {
        wi_scan_givens_return(c, &call->given);
        return code;
    }
    c->n_gives += n > 0;
    return WEIR_OK;
}

weir_err wi_scan_call_put(struct wi_scan_call *call, uint64_t room, void *src,
                          uint64_t bytes)
{
    struct weir_scan_client *c = call->client;
    const struct weir_put put = {.name = {c->p.space, room},
                                 .bytes = bytes,
                                 .src = src,
                                 .tag = (uint64_t)(uintptr_t)call};
    uint32_t taken;
    weir_err code = weir_fetch_put(c->fetch, c->peer, &put, 1, &taken);
    if (code == WEIR_OK) {
        call->src = src;
        call->state = WI_SCAN_CALL_PUTTING;
        TAILQ_INSERT_TAIL(&c->calls, call, next);
    }
    return code;
}

void wi_scan_send_giving(struct weir_scan_client *c,
                         const struct wi_scan_ask *ask)
{
    struct wi_scan_call *call = wi_scan_call_make(c);
    if (call == NULL) {
        return; /* the server frees all with the client, at last */
    }
    call->abandoned = true;
    if (wi_scan_call_ask_giving(call, ask) != WEIR_OK) {
        free_call(call);
    }
}

void wi_scan_send_gives(struct weir_scan_client *c)
{
    const struct wi_scan_ask ask = {.kind = WI_SCAN_ASK_GIVE};
    (void)pthread_mutex_lock(&c->lock);
    bool any = !TAILQ_EMPTY(&c->given);
    (void)pthread_mutex_unlock(&c->lock);
    if (any) {
        wi_scan_send_giving(c, &ask);
    }
}

/* Under the lock all the while: a slot is given back, or kept, not both. */
bool wi_scan_send_keeping(struct weir_scan_client *c, uint64_t number)
{
    struct wi_scan_ask ask = {.kind = WI_SCAN_ASK_GIVE, .flags = WI_SCAN_KEPT};
    uint64_t slots[SLOTS];
    struct wi_scan_call *call = wi_scan_call_make(c);
    if (call == NULL) {
        return false;
    }
    weir_err code = WEIR_OK;
    (void)pthread_mutex_lock(&c->lock);
    uint32_t n = wi_scan_lent_list(c, number, SLOTS, slots);
    ask.n_bytes = n * sizeof(uint64_t);
    if (n > 0) {
        code = wi_scan_call_ask(call, &ask, slots);
    }
    if (n > 0 && code == WEIR_OK) {
        wi_scan_lent_keep(c, number, n);
    }
    (void)pthread_mutex_unlock(&c->lock);
    wi_scan_call_drop(call);
    return code == WEIR_OK && n < SLOTS;
}

static void hold_ended(struct wi_scan_call *call)
{
    struct weir_scan_client *c = call->client;
    c->hold = NULL;
    c->hold_err = call->err;
    free_call(call);
}

/* What was the old server's is no business of the new one. */
static void forget(struct weir_scan_client *c)
{
    struct wi_scan_calls *const lists[] = {&c->calls, &c->to_get};
    struct wi_scan_call *call;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        TAILQ_FOREACH(call, lists[i], next)
        {
            wi_scan_givens_free(&call->given);
            if (call->payload != NULL) {
                free(call->payload->slot);
                call->payload->slot = NULL;
            }
        }
    }
    wi_scan_lent_forget(c);
    memset(c->rooms, 0, sizeof(c->rooms));
}

weir_err wi_scan_hold(struct weir_scan_client *c)
{
    const struct wi_scan_ask ask = {.kind = WI_SCAN_ASK_HOLD};
    if (c->hold != NULL) {
        return WEIR_OK;
    }
    struct wi_scan_call *call = wi_scan_call_make(c);
    if (call == NULL ||
        getrandom(c->number, sizeof(c->number), 0) != sizeof(c->number)) {
        free(call);
        return WEIR_ERR_NO_MEMORY;
    }
    forget(c);
    call->over = hold_ended;
    weir_err code = wi_scan_call_ask(call, &ask, NULL);
    if (code == WEIR_OK) {
        c->hold = call;
        c->hold_err.code = WEIR_OK;
    } else {
        free_call(call);
    }
    return code;
}

/* ---- what comes ---------------------------------------------------------- */

/* A payload that follows, or lies in a slot. */
static void announce(struct wi_scan_call *call, const void *bytes, uint64_t n)
{
    const struct wi_scan_answer *a = &call->answer;
    struct weir_scan_client *c = call->client;
    if (!call->brings || (a->region == 0 && a->n_bytes == 0 && n == 0)) {
        end(call);
        return;
    }
    if (a->region == 0 ? a->n_bytes != n : a->n_bytes == 0 || n != 0) {
        fail(call, WEIR_ERR_PEER_PROTOCOL, "an answer of another length");
        return;
    }
    call->payload =
        a->region == 0
            ? wi_scan_payload_copy(c, bytes, n)
            : wi_scan_payload_make(c, call->number, a->region, a->n_bytes);
    if (call->payload == NULL) {
        fail(call, WEIR_ERR_NO_MEMORY, "no memory for rows");
    } else if (a->region == 0 || call->abandoned) {
        end(call);
    } else {
        call->state = WI_SCAN_CALL_WAITING;
        TAILQ_INSERT_TAIL(&c->to_get, call, next);
    }
}

static void take_answer(struct wi_scan_call *call, const struct weir_got *got)
{
    struct wi_scan_answer *a = &call->answer;
    if (got->bytes < sizeof(*a)) {
        fail(call, WEIR_ERR_PEER_PROTOCOL, "an answer that is none");
        return;
    }
    memcpy(a, got->ptr, sizeof(*a));
    announce(call, (const uint8_t *)got->ptr + sizeof(*a),
             got->bytes - sizeof(*a));
}

static void take(struct weir_scan_client *c, const struct weir_got *got)
{
    struct wi_scan_call *call = (struct wi_scan_call *)(uintptr_t)got->tag;
    bool getting = call->state == WI_SCAN_CALL_GETTING;
    TAILQ_REMOVE(&c->calls, call, next);
    if (getting) {
        c->getting_bytes -= call->payload->bytes;
    }
    if (got->code == WEIR_ERR_NOT_FOUND) { /* a NEXT of a reader that is over */
        wi_scan_givens_return(c, &call->given);
    }
    if (got->code != WEIR_OK) {
        fail(call, got->code, weir_fetch_error(c->fetch));
    } else if (getting) {
        wi_scan_payload_came(call->payload, got);
        end(call);
    } else if (call->state == WI_SCAN_CALL_ASKING) {
        take_answer(call, got);
    } else {
        end(call);
    }
}

/* ---- gets ---------------------------------------------------------------- */

/* What is under way and lent stays below max_bytes, but for one at a time. */
static bool may_get(struct weir_scan_client *c, uint64_t bytes)
{
    (void)pthread_mutex_lock(&c->lock);
    uint64_t used = c->lent_bytes + c->getting_bytes;
    (void)pthread_mutex_unlock(&c->lock);
    return c->getting_bytes == 0 ||
           (used <= c->p.max_bytes && bytes <= c->p.max_bytes - used);
}

/* Returns WEIR_AGAIN if it has to wait. */
static weir_err get(struct weir_scan_client *c, struct wi_scan_call *call)
{
    struct weir_get g = {.name = {c->p.space, call->answer.region},
                         .bytes = call->payload->bytes,
                         .tag = (uint64_t)(uintptr_t)call};
    uint32_t taken;
    if (!wi_scan_payload_place(call->payload, &g.dst)) {
        return WEIR_ERR_NO_MEMORY;
    }
    weir_err code = weir_fetch_get(c->fetch, c->peer, &g, 1, &taken);
    if (code == WEIR_OK) {
        c->getting_bytes += g.bytes;
        call->state = WI_SCAN_CALL_GETTING;
        TAILQ_REMOVE(&c->to_get, call, next);
        TAILQ_INSERT_TAIL(&c->calls, call, next);
    }
    return code;
}

/* True: some were started, and may have ended already. */
static bool start_gets(struct weir_scan_client *c)
{
    bool any = false;
    while (!TAILQ_EMPTY(&c->to_get)) {
        struct wi_scan_call *call = TAILQ_FIRST(&c->to_get);
        weir_err code =
            may_get(c, call->payload->bytes) ? get(c, call) : WEIR_AGAIN;
        if (code == WEIR_AGAIN) {
            break;
        }
        any = true;
        if (code != WEIR_OK) {
            TAILQ_REMOVE(&c->to_get, call, next);
            fail(call, code, "no memory for rows");
        }
    }
    return any;
}

void wi_scan_pump(struct weir_scan_client *c)
{
    do {
        struct weir_got got;
        while (weir_fetch_next(c->fetch, &got) == WEIR_OK) {
            take(c, &got);
        }
    } while (start_gets(c));
}

/* ---- waiting ------------------------------------------------------------- */

weir_err wi_scan_call_wait(const struct wi_scan_wait *w,
                           struct wi_scan_call *call, struct weir_error *err)
{
    weir_err code = WEIR_OK;
    while (code == WEIR_OK) {
        wi_scan_pump(w->client);
        if (call->state == WI_SCAN_CALL_OVER) {
            *err = call->err;
            return call->err.code;
        }
        code = wi_scan_wait_for(w, err);
    }
    return code;
}

weir_err wi_scan_call_post(const struct wi_scan_wait *w,
                           struct wi_scan_call *call,
                           const struct wi_scan_ask *ask, const void *bytes,
                           struct weir_error *err)
{
    for (;;) {
        weir_err code = wi_scan_call_ask(call, ask, bytes);
        if (code < 0) {
            return wi_scan_fail(err, code, "an ask was not sent");
        }
        if (code == WEIR_OK) {
            return WEIR_OK;
        }
        wi_scan_pump(w->client);
        code = wi_scan_wait_for(w, err);
        if (code != WEIR_OK) {
            return code;
        }
    }
}

weir_err wi_scan_call_say(const struct wi_scan_wait *w,
                          struct wi_scan_call *call,
                          const struct wi_scan_ask *ask, const void *bytes,
                          struct weir_error *err)
{
    weir_err code = wi_scan_call_post(w, call, ask, bytes, err);
    return code == WEIR_OK ? wi_scan_call_wait(w, call, err) : code;
}
