/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/server.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/stats.h>

#include "services/scan/fail.h"
#include "services/scan/scan.h"
#include "services/scan/serve.h"
#include "services/scan/session.h"

uint64_t wi_scan_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- options ------------------------------------------------------------- */

enum { SOURCES_MAX = 1024, THREADS_MAX = 256, READERS_MAX = 65536 };

static weir_err check_range(struct weir_error *err, const char *name,
                            uint32_t value, uint32_t most)
{
    return value <= most
               ? WEIR_OK
               : wi_scan_fail(err, WEIR_ERR_ARG, "%s = %u, allowed is 1 to %u",
                              name, value, most);
}

static weir_err check_sources(const struct weir_scan_server_params *p,
                              struct weir_error *err)
{
    if (p->sources == NULL) {
        return wi_scan_fail(err, WEIR_ERR_ARG, "sources is NULL");
    }
    if (p->n_sources == 0 || p->n_sources > SOURCES_MAX) {
        return wi_scan_fail(err, WEIR_ERR_ARG,
                            "n_sources = %u, allowed is 1 to %d", p->n_sources,
                            SOURCES_MAX);
    }
    for (uint32_t i = 0; i < p->n_sources; i++) {
        if (p->sources[i].engine.open == NULL) {
            return wi_scan_fail(err, WEIR_ERR_ARG,
                                "sources[%u] has no engine.open", i);
        }
    }
    return WEIR_OK;
}

static weir_err check(const struct weir_scan_server_params *p,
                      struct weir_error *err)
{
    weir_err code = check_sources(p, err);
    if (code == WEIR_OK) {
        code = check_range(err, "threads", p->threads, THREADS_MAX);
    }
    if (code == WEIR_OK) {
        code =
            check_range(err, "client_threads", p->client_threads, THREADS_MAX);
    }
    if (code == WEIR_OK) {
        code = check_range(err, "max_readers", p->max_readers, READERS_MAX);
    }
    if (code == WEIR_OK && p->unused != 0) {
        code = wi_scan_fail(err, WEIR_ERR_ARG, "unused is not zero");
    }
    for (size_t i = 0; i < sizeof(p->reserved) / sizeof(p->reserved[0]); i++) {
        if (code == WEIR_OK && p->reserved[i] != 0) {
            code =
                wi_scan_fail(err, WEIR_ERR_ARG, "reserved[%zu] is not zero", i);
        }
    }
    return code;
}

static void set_defaults(struct weir_scan_server_params *p, weir_node *node)
{
    struct weir_node_stats stats;
    weir_node_stats_get(node, &stats);
    p->threads = p->threads != 0 ? p->threads : 16;
    p->max_readers = p->max_readers != 0 ? p->max_readers : 1024;
    p->space = p->space != 0 ? p->space : WEIR_SCAN_SPACE;
    p->max_bytes =
        p->max_bytes != 0 ? p->max_bytes : stats.memory_cap_bytes / 2;
    if (p->batch_bytes == 0) {
        const uint64_t usual = 2 * 1024 * 1024;
        p->batch_bytes = p->max_bytes < usual ? p->max_bytes : usual;
    }
    if (p->client_threads == 0) {
        p->client_threads = p->threads / 4 > 2 ? p->threads / 4 : 2;
    }
    p->client_bytes = p->client_bytes != 0 ? p->client_bytes : p->max_bytes;
    p->statement_ns = p->statement_ns != 0 ? p->statement_ns : WEIR_FOREVER;
    p->idle_ns = p->idle_ns != 0 ? p->idle_ns : 600 * 1000000000ull;
}

static weir_err copy_sources(struct weir_scan_server *s,
                             const struct weir_scan_server_params *p,
                             struct weir_error *err)
{
    s->sources = calloc(p->n_sources, sizeof(*s->sources));
    for (uint32_t i = 0; s->sources != NULL && i < p->n_sources; i++) {
        s->sources[i] = p->sources[i];
        if (p->sources[i].name == NULL) {
            continue;
        }
        s->sources[i].name = strdup(p->sources[i].name);
        if (s->sources[i].name == NULL) {
            return wi_scan_fail(err, WEIR_ERR_NO_MEMORY,
                                "no memory for the name of a data set");
        }
    }
    return s->sources != NULL ? WEIR_OK
                              : wi_scan_fail(err, WEIR_ERR_NO_MEMORY,
                                             "no memory for data sets");
}

/* ---- open and close ------------------------------------------------------ */

static void free_server(struct weir_scan_server *s)
{
    for (uint32_t i = 0; s->sources != NULL && i < s->p.n_sources; i++) {
        free((void *)(uintptr_t)s->sources[i].name);
    }
    free(s->sources);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

static weir_err start(struct weir_scan_server *s, struct weir_error *err)
{
    weir_err code =
        weir_asks_open(s->node, s->p.space, s->p.worker, &s->asks, err);
    if (code == WEIR_OK) {
        code = wi_scan_work_start(&s->work, &s->lock, s->p.threads,
                                  s->p.client_threads, wi_scan_lead, s, err);
    }
    return code;
}

weir_err weir_scan_server_open(weir_node *node,
                               const struct weir_scan_server_params *params,
                               weir_scan_server **server_out,
                               struct weir_error *err)
{
    if (node == NULL || params == NULL || server_out == NULL) {
        return wi_scan_fail(err, WEIR_ERR_ARG, "%s is NULL",
                            node == NULL     ? "node"
                            : params == NULL ? "params"
                                             : "server_out");
    }
    weir_err code = check(params, err);
    if (code != WEIR_OK) {
        return code;
    }
    struct weir_scan_server *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a server");
    }
    s->pid = getpid();
    s->node = node;
    s->p = *params;
    set_defaults(&s->p, node);
    TAILQ_INIT(&s->sessions);
    TAILQ_INIT(&s->shared);
    (void)pthread_mutex_init(&s->lock, NULL);
    code = copy_sources(s, params, err);
    if (code == WEIR_OK) {
        code = start(s, err);
    }
    if (code != WEIR_OK) {
        weir_asks_close(s->asks);
        free_server(s);
        return code;
    }
    *server_out = s;
    return WEIR_OK;
}

void weir_scan_server_stats(weir_scan_server *server,
                            struct weir_scan_stats *stats_out)
{
    if (stats_out == NULL) {
        return;
    }
    *stats_out = (struct weir_scan_stats){0};
    if (server != NULL && server->pid == getpid()) {
        (void)pthread_mutex_lock(&server->lock);
        *stats_out = server->stats;
        (void)pthread_mutex_unlock(&server->lock);
    }
}

/* All clients leave; what engines still work at is cancelled. */
static void leave_all(struct weir_scan_server *s)
{
    struct wi_scan_session *c = TAILQ_FIRST(&s->sessions);
    while (c != NULL) {
        if (c->gone) {
            c = TAILQ_NEXT(c, on_server);
        } else {
            wi_scan_session_leave(s, c);
            c = TAILQ_FIRST(&s->sessions); /* the lock was let go */
        }
    }
    while (!TAILQ_EMPTY(&s->shared)) {
        wi_scan_scan_unlist(TAILQ_FIRST(&s->shared));
    }
}

void weir_scan_server_close(weir_scan_server *server)
{
    if (server == NULL || server->pid != getpid()) {
        return;
    }
    (void)pthread_mutex_lock(&server->lock);
    server->stopping = true; /* no ask is taken any more */
    leave_all(server);
    wi_scan_work_end(&server->work);
    (void)pthread_mutex_unlock(&server->lock);
    (void)weir_worker_wake(server->node, server->p.worker);
    wi_scan_work_stop(&server->work);
    weir_asks_close(server->asks);
    free_server(server);
}
