/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/client.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "services/scan/client_call.h"
#include "services/scan/client_lend.h"
#include "services/scan/client_stream.h"
#include "services/scan/fail.h"

enum { AHEAD = 4, AHEAD_MAX = 16 };

#define MAX_BYTES ((uint64_t)64 << 20)

/* ---- waiting ------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool wi_scan_client_inherited(const struct weir_scan_client *c)
{
    return c->pid != getpid();
}

static uint32_t cancels_of(struct weir_scan_client *c)
{
    (void)pthread_mutex_lock(&c->lock);
    uint32_t n = c->cancels;
    (void)pthread_mutex_unlock(&c->lock);
    return n;
}

struct wi_scan_wait wi_scan_wait_begin(struct weir_scan_client *c)
{
    struct wi_scan_wait w = {c, cancels_of(c), WEIR_FOREVER};
    if (c->p.timeout_ns != WEIR_FOREVER) {
        w.until_ns = now_ns() + c->p.timeout_ns;
    }
    return w;
}

bool wi_scan_wait_cancelled(const struct wi_scan_wait *w)
{
    return cancels_of(w->client) != w->cancels;
}

weir_err wi_scan_wait_for(const struct wi_scan_wait *w, struct weir_error *err)
{
    uint64_t left_ns = WEIR_FOREVER;
    if (wi_scan_wait_cancelled(w)) {
        return wi_scan_fail(err, WEIR_ERR_CANCELLED, "the scan was cancelled");
    }
    if (w->until_ns != WEIR_FOREVER) {
        uint64_t now = now_ns();
        if (now >= w->until_ns) {
            return wi_scan_fail(err, WEIR_ERR_TIMEOUT,
                                "no answer from the server in %.1f s",
                                (double)w->client->p.timeout_ns / 1e9);
        }
        left_ns = w->until_ns - now;
    }
    (void)weir_worker_wait(w->client->node, w->client->p.worker, left_ns);
    return WEIR_OK;
}

void weir_scan_cancel(weir_scan_client *client)
{
    if (client != NULL && !wi_scan_client_inherited(client)) {
        (void)pthread_mutex_lock(&client->lock);
        client->cancels++;
        (void)pthread_mutex_unlock(&client->lock);
        (void)weir_worker_wake(client->node, client->p.worker);
    }
}

/* ---- faults -------------------------------------------------------------- */

void wi_scan_client_fault(struct weir_scan_client *c, const char *text,
                          const struct weir_scan_fault *fault)
{
    static const struct weir_scan_fault none;
    char *copy = text != NULL ? strdup(text) : NULL;
    free(c->fault.text);
    c->fault = fault != NULL ? *fault : none;
    c->fault.text = copy;
}

const struct weir_scan_fault *
weir_scan_last_fault(const weir_scan_client *client)
{
    static const struct weir_scan_fault none;
    return client != NULL ? &client->fault : &none;
}

/* ---- connecting ---------------------------------------------------------- */

static weir_err check(const struct weir_scan_client_params *p,
                      struct weir_error *err)
{
    if (p->address == NULL) {
        return wi_scan_fail(err, WEIR_ERR_ARG, "address is NULL");
    }
    if (p->ahead > AHEAD_MAX) {
        return wi_scan_fail(err, WEIR_ERR_ARG, "ahead = %u, of at most %d",
                            p->ahead, AHEAD_MAX);
    }
    for (size_t i = 0; i < sizeof(p->reserved) / sizeof(p->reserved[0]); i++) {
        if (p->reserved[i] != 0) {
            return wi_scan_fail(err, WEIR_ERR_ARG, "reserved[%zu] is not zero",
                                i);
        }
    }
    return WEIR_OK;
}

static struct weir_scan_client *make(weir_node *node,
                                     const struct weir_scan_client_params *p)
{
    struct weir_scan_client *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return NULL;
    }
    c->pid = getpid();
    c->node = node;
    c->p = *p;
    c->p.address = NULL;
    c->p.server_name = NULL;
    c->p.ahead = p->ahead != 0 ? p->ahead : AHEAD;
    c->p.space = p->space != 0 ? p->space : WEIR_SCAN_SPACE;
    c->p.max_bytes = p->max_bytes != 0 ? p->max_bytes : MAX_BYTES;
    c->p.timeout_ns = p->timeout_ns != 0 ? p->timeout_ns : WEIR_FOREVER;
    c->holds = 1;
    (void)pthread_mutex_init(&c->lock, NULL);
    TAILQ_INIT(&c->calls);
    TAILQ_INIT(&c->to_get);
    TAILQ_INIT(&c->streams);
    TAILQ_INIT(&c->lent);
    TAILQ_INIT(&c->given);
    TAILQ_INIT(&c->free);
    return c;
}

/* How much is under way and lent, the client bounds; the HOLD waits forever. */
static weir_err open_fetch(struct weir_scan_client *c,
                           const struct weir_scan_client_params *to,
                           struct weir_error *err)
{
    const struct weir_fetch_params p = {.worker = c->p.worker,
                                        .max_bytes = UINT64_MAX / 2,
                                        .timeout_ns = WEIR_FOREVER};
    weir_err code = weir_fetch_open(c->node, &p, &c->fetch, err);
    if (code == WEIR_OK) {
        code = weir_peer_open_named(c->node, to->address, to->server_name,
                                    &c->peer, err);
    }
    return code;
}

weir_err weir_scan_connect(weir_node *node,
                           const struct weir_scan_client_params *params,
                           weir_scan_client **client_out,
                           struct weir_error *err)
{
    if (node == NULL || params == NULL || client_out == NULL) {
        return wi_scan_fail(err, WEIR_ERR_ARG, "%s is NULL",
                            node == NULL     ? "node"
                            : params == NULL ? "params"
                                             : "client_out");
    }
    weir_err code = check(params, err);
    if (code != WEIR_OK) {
        return code;
    }
    struct weir_scan_client *c = make(node, params);
    if (c == NULL) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a client");
    }
    code = open_fetch(c, params, err);
    if (code != WEIR_OK) {
        c->p.freed = NULL;
        weir_scan_disconnect(c);
        return code;
    }
    *client_out = c;
    return WEIR_OK;
}

/* ---- giving up ----------------------------------------------------------- */

void wi_scan_client_drop(struct weir_scan_client *c)
{
    void (*freed)(void *arg) = c->p.freed;
    void *arg = c->p.freed_arg;
    (void)pthread_mutex_lock(&c->lock);
    bool last = --c->holds == 0;
    (void)pthread_mutex_unlock(&c->lock);
    if (last) {
        (void)pthread_mutex_destroy(&c->lock);
        free(c);
        if (freed != NULL) {
            freed(arg);
        }
    }
}

/* Nobody writes to what they point to any more. */
static void drop_calls(struct wi_scan_calls *calls)
{
    struct wi_scan_call *call;
    while ((call = TAILQ_FIRST(calls)) != NULL) {
        TAILQ_REMOVE(calls, call, next);
        call->state = WI_SCAN_CALL_OVER;
        wi_scan_call_drop(call);
    }
}

void weir_scan_disconnect(weir_scan_client *client)
{
    struct weir_scan_client *c = client;
    if (c == NULL || wi_scan_client_inherited(c)) {
        return;
    }
    wi_scan_streams_leave(c);
    (void)pthread_mutex_lock(&c->lock);
    c->closed = true;
    (void)pthread_mutex_unlock(&c->lock);
    weir_fetch_close(c->fetch);
    drop_calls(&c->calls);
    drop_calls(&c->to_get);
    weir_peer_close(c->peer);
    (void)pthread_mutex_lock(&c->lock);
    wi_scan_lend_fini(c);
    (void)pthread_mutex_unlock(&c->lock);
    free(c->fault.text);
    wi_scan_client_drop(c);
}
