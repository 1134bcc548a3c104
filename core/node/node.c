/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes: options, opening, closing. */
#include <weir/node.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/forks.h"
#include "core/base/isa.h"
#include "core/identity/mac.h"
#include "core/identity/psk.h"
#include "core/link/engine.h"
#include "core/link/life.h"
#include "core/link/lock.h"
#include "core/link/worker.h"
#include "core/node/duty.h"
#include "core/node/netthread.h"
#include "core/node/node_os.h"
#include "core/node/secret_source.h"
#include "core/node/setup.h"
#include "core/node/stager.h"
#include "core/node/step.h"
#include "core/query/judge.h"
#include "core/query/lost.h"
#include "core/query/query.h"
#include "core/region/regions.h"
#include "core/transport.h"

#define SECOND 1000000000ull

/* ---- options ------------------------------------------------------------- */

struct range {
    const char *name;
    uint64_t value;
    uint64_t low;
    uint64_t high;
};

static void fill_u32(uint32_t *v, uint32_t preset)
{
    *v = *v != 0 ? *v : preset;
}

static void fill_u64(uint64_t *v, uint64_t preset)
{
    *v = *v != 0 ? *v : preset;
}

/* Must be the same on all nodes of a cluster, so only the transport's name
 * decides. */
static uint32_t usual_frame_bytes(const char *transport)
{
    const struct wi_transport_ops *ops = wi_transport_find(transport);
    return ops == NULL ? WI_USUAL_FRAME_BYTES
                       : ops->usual_frame_bytes; /* refused later */
}

/* HOST-PID, with a number from the second node of a process on. */
static void name_node(char *name)
{
    static _Atomic uint32_t nodes;
    char host[48] = "node";
    (void)gethostname(host, sizeof(host) - 1);
    int n = snprintf(name, WI_NAME_BYTES, "%.38s-%ld", host, (long)getpid());
    uint32_t before = wi_add_rlx(&nodes, 1); /* rlx: only a number */
    if (before != 0) {
        (void)snprintf(name + n, WI_NAME_BYTES - (size_t)n, "-%u", before + 1);
    }
}

static void fill_defaults(struct weir_node_params *p, char *name)
{
    if (p->name == NULL) {
        name_node(name);
        p->name = name;
    }
    if (p->transport == NULL) {
        p->transport = "shm";
    }
    fill_u32(&p->workers, 1);
    fill_u32(&p->max_members, 8);
    fill_u64(&p->max_peers, 16);
    fill_u32(&p->max_shuffles, 8);
    fill_u32(&p->frame_bytes, usual_frame_bytes(p->transport));
    fill_u32(&p->ring_frames, 4);
    fill_u64(&p->memory_bytes, 512ull << 20);
    fill_u64(&p->max_row_bytes, 64ull << 20);
    fill_u64(&p->detect_ns, 5 * SECOND);
    fill_u64(&p->connect_ns, 5 * SECOND);
    fill_u64(&p->idle_close_ns, 30 * SECOND);
    fill_u64(&p->stall_ns, 30 * SECOND);
}

static weir_err check_ranges(const struct weir_node_params *p,
                             struct weir_error *err)
{
    const struct range ranges[] = {
        {"workers", p->workers, 1, WI_WORKERS_MAX},
        {"max_members", p->max_members, 1, 4096},
        {"max_peers", p->max_peers, 1, 4096},
        {"max_shuffles", p->max_shuffles, 1, 1024},
        {"frame_bytes", p->frame_bytes, 1024, 1 << 20},
        {"ring_frames", p->ring_frames, 2, 64},
        {"max_row_bytes", p->max_row_bytes, 1, 1ull << 30},
        {"detect_ns", p->detect_ns, 1000, UINT64_MAX / 4},
        {"connect_ns", p->connect_ns, 1000, UINT64_MAX / 4},
        {"idle_close_ns", p->idle_close_ns, 1000, UINT64_MAX / 4},
        {"stall_ns", p->stall_ns, 1000, UINT64_MAX},
    };
    for (size_t i = 0; i < WI_ARRAY_LEN(ranges); i++) {
        const struct range *r = &ranges[i];
        if (r->value < r->low || r->value > r->high) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "%s = %" PRIu64 ", allowed is %" PRIu64
                           " to %" PRIu64,
                           r->name, r->value, r->low, r->high);
        }
    }
    if (p->frame_bytes % 64 != 0 || p->ring_frames % 2 != 0) {
        return wi_fail(
            err, WEIR_ERR_ARG,
            "frame_bytes = %u must be a multiple of 64, ring_frames = %u even",
            p->frame_bytes, p->ring_frames);
    }
    if (p->name[0] == '\0' || strlen(p->name) >= WI_NAME_BYTES) {
        return wi_fail(err, WEIR_ERR_ARG, "name must have 1 to %u bytes",
                       WI_NAME_BYTES - 1);
    }
    if ((unsigned)p->log_level > WEIR_LOG_DEBUG) {
        return wi_fail(err, WEIR_ERR_ARG, "log_level = %d, allowed is 0 to %d",
                       (int)p->log_level, (int)WEIR_LOG_DEBUG);
    }
    for (size_t i = 0; i < WI_ARRAY_LEN(p->reserved); i++) {
        if (p->reserved[i] != 0) {
            return wi_fail(err, WEIR_ERR_ARG, "reserved[%zu] is not zero", i);
        }
    }
    return WEIR_OK;
}

/* ---- opening ------------------------------------------------------------- */

static weir_err open_os(struct weir_node *n, struct weir_error *err)
{
    n->os = calloc(1, sizeof(*n->os));
    if (n->os == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a node");
    }
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&n->os->moved, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_cond_init(&n->os->fill, NULL);
    (void)pthread_mutex_init(&n->lock, NULL);
    n->os->thread.fd = wi_fd_open(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    n->os->worker.fd = wi_fd_open(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    wi_store_rlx(&n->os->on_duty, UINT32_MAX); /* rlx: no worker yet */
    if (n->os->thread.fd < 0 || n->os->worker.fd < 0) {
        return wi_fail_errno(err, errno,
                             "eventfd (out of descriptors? raise ulimit -n)");
    }
    return WEIR_OK;
}

static void close_os(struct weir_node *n)
{
    if (n->os == NULL) {
        return;
    }
    wi_keys_close(n->engine.keys);
    wi_secret_source_close(&n->os->secret);
    wi_fd_close(n->os->thread.fd);
    wi_fd_close(n->os->worker.fd);
    (void)pthread_cond_destroy(&n->os->moved);
    (void)pthread_cond_destroy(&n->os->fill);
    (void)pthread_mutex_destroy(&n->lock);
    free(n->os);
}

static weir_err open_identity(struct weir_node *n,
                              const struct weir_node_params *p,
                              struct weir_error *err)
{
    n->engine.draw_fn = wi_secret_draw;
    weir_err rc = wi_tls_check(p, err);
    rc = rc == WEIR_OK ? wi_secret_source_open(&n->os->secret, p, err) : rc;
    if (rc == WEIR_OK && wi_secret_source_any(&n->os->secret)) {
        rc = wi_secret_source_read(&n->os->secret, &n->engine.keys, err);
    }
    if (rc == WEIR_OK && wi_tls_by_secret(p)) {
        struct wi_keys *keys = n->engine.keys;
        rc = wi_psks_make(&keys->secrets, &keys->psks, err);
    }
    return rc;
}

/* Whoever reaches an address of another machine can be a peer. */
static void warn_of_strangers(const struct wi_engine *e)
{
    if (e->keys == NULL && !wi_tls_files(&e->cfg) && e->transport->networked) {
        wi_log(&e->log, WI_LOG_WARN,
               "%s takes peers from the network without asking who they are: "
               "give all nodes a secret_file",
               e->address);
    }
}

static uint64_t new_incarnation(const struct weir_node *n)
{
    uint64_t id = 0;
    if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id) || id == 0) {
        id = wi_clock_now() ^ (uint64_t)(uintptr_t)n;
    }
    return id;
}

static weir_err open_node(struct weir_node *n, struct weir_node_params *p,
                          struct weir_error *err)
{
    struct wi_engine *e = &n->engine;
    e->forks = wi_forks;
    e->log = (struct wi_log){
        .arg = p->log_arg, .level = (int)p->log_level, .name = e->name};
    /* The enum is an int in the ABI of every platform that Weir builds on. */
    e->log.fn = (void (*)(void *, int, const char *))(void (*)(void))p->log;
    e->wake_fn = wi_duty_wake;
    e->ring_fn = wi_duty_ring;
    e->fill_fn = wi_stager_fill;
    e->hook_arg = n;
    weir_err rc = wi_rcu_start(err);
    if (rc == WEIR_OK) {
        rc = open_os(n, err);
    }
    if (rc == WEIR_OK) {
        rc = open_identity(n, p, err);
    }
    if (rc == WEIR_OK) {
        rc = wi_engine_init(e, p, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    e->incarnation = new_incarnation(n);
    e->now_ns = p->manual ? 0 : wi_clock_now();
    if (!p->manual && (e->ops->caps & WI_CAP_FD) == 0) {
        return wi_fail(err, WEIR_ERR_UNSUPPORTED,
                       "transport %s needs a node opened with `manual`",
                       e->ops->name);
    }
    wi_log(&e->log, WI_LOG_INFO, "%s; buffers from %s; instructions: %s",
           e->budget.text, wi_arena_kind(), wi_isa_name(wi_isa_best()));
    if (wi_isa_unknown() != NULL) {
        wi_log(&e->log, WI_LOG_WARN,
               "WEIR_ISA=%.40s is ignored; it may be portable, avx2, avx512, "
               "vbmi2 or gather",
               wi_isa_unknown());
    }
    char why[WI_REASON_BYTES];
    e->ops->why(e->transport, NULL, NULL, why);
    wi_log(&e->log, WI_LOG_INFO, "%s", why);
    warn_of_strangers(e);
    e->cfg.identity = NULL; /* the caller's, until now */
    e->cfg.secret_file = NULL;
    return p->manual ? WEIR_OK : wi_netthread_start(n, err);
}

weir_err weir_node_open(const struct weir_node_params *params,
                        weir_node **node_out, struct weir_error *err)
{
    struct weir_node_params p = {0};
    char name[WI_NAME_BYTES];
    if (node_out == NULL) {
        return wi_fail_null(err, "node_out");
    }
    if (params != NULL) {
        p = *params;
    }
    fill_defaults(&p, name);
    weir_err rc = check_ranges(&p, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_node *n =
        aligned_alloc(WI_CACHE_LINE, wi_align_up(sizeof(*n), WI_CACHE_LINE));
    if (n == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a node");
    }
    memset(n, 0, sizeof(*n));
    n->engine.flexible = params == NULL || params->memory_bytes == 0;
    n->engine.unlimited = params == NULL || params->max_shuffles == 0;
    rc = open_node(n, &p, err);
    if (rc != WEIR_OK) {
        if (n->engine.ops != NULL) {
            wi_engine_fini(&n->engine);
        }
        close_os(n);
        free(n);
        return rc;
    }
    *node_out = n;
    return WEIR_OK;
}

/* ---- closing ------------------------------------------------------------- */

static void abort_queries(struct weir_node *n)
{
    for (;;) {
        wi_node_lock(n);
        struct weir_query *q = NULL;
        if (!wi_list_empty(&n->engine.queries)) {
            q = wi_container_of(n->engine.queries.next, struct weir_query,
                                on_engine);
            wi_log(&n->engine.log, WI_LOG_ERROR,
                   "node closed with query %" PRIu64 " open, which ends it: "
                   "close queries before their node",
                   q->id);
        }
        wi_node_unlock(n);
        if (q == NULL) {
            return;
        }
        weir_query_close(q);
    }
}

/* Say BYE where nothing is left to deliver; true when no link is left. */
static bool links_gone(struct wi_engine *e)
{
    bool gone = wi_list_empty(&e->dead) && wi_list_empty(&e->limbo);
    wi_each_link(e, l)
    {
        wi_link_bye(l);
        gone = false;
    }
    return gone;
}

/* What failed a closed query is decided by another member, soon. */
static void await_judges(struct weir_node *n)
{
    struct wi_engine *e = &n->engine;
    uint64_t until = wi_time_add(wi_clock_now(), e->cfg.detect_ns / 2);
    struct timespec ts = {.tv_sec = (time_t)(until / SECOND),
                          .tv_nsec = (long)(until % SECOND)};
    bool late = false;
    n->os->waiters++;
    while (e->tombs->n_asking != 0 && n->os->thread_runs && !late) {
        late = pthread_cond_timedwait(&n->os->moved, &n->lock, &ts) != 0;
    }
    n->os->waiters--;
    wi_judge_close(e);
}

static void drain_links(struct weir_node *n)
{
    struct wi_engine *e = &n->engine;
    struct wi_node_os *os = n->os;
    uint64_t until = wi_time_add(wi_clock_now(), e->cfg.detect_ns);
    struct timespec ts = {.tv_sec = (time_t)(until / SECOND),
                          .tv_nsec = (long)(until % SECOND)};
    wi_node_lock(n);
    await_judges(n);
    e->closing = true;
    for (uint32_t i = 0; i < e->n_members; i++) {
        if (e->members[i].link != NULL) {
            wi_query_decline(e->members[i].link);
        }
    }
    os->waiters++;
    wi_engine_kick(e);
    while (!links_gone(e) && os->thread_runs) {
        if (pthread_cond_timedwait(&os->moved, &n->lock, &ts) != 0) {
            wi_log(&e->log, WI_LOG_WARN,
                   "closing although peers have not taken everything");
            break;
        }
    }
    os->waiters--;
    wi_node_unlock(n);
}

/* No thread runs any more: close whatever is left. */
static void force_links(struct wi_engine *e)
{
    /* First what it has said to itself, which may give something back. */
    (void)wi_engine_step(e, e->now_ns);
    wi_each_link(e, l)
    {
        wi_link_down(l, true, WEIR_OK, "closed");
    }
    for (int round = 0; round < 4 && !wi_list_empty(&e->dead); round++) {
        (void)wi_engine_step(e, e->now_ns);
    }
    if (!wi_list_empty(&e->dead)) {
        wi_log(&e->log, WI_LOG_ERROR,
               "closed while batches were held: their memory is not freed");
    }
}

void weir_node_close(weir_node *node)
{
    if (node == NULL || wi_engine_inherited(&node->engine)) {
        return;
    }
    abort_queries(node);
    wi_regions_abort(node);
    drain_links(node);
    wi_netthread_stop(node);
    wi_stager_stop(node);
    force_links(&node->engine);
    for (uint32_t i = 0; i < node->engine.cfg.workers; i++) {
        wi_fd_close(wi_load_rlx(&node->engine.workers[i].fd)); /* rlx: alone */
    }
    wi_engine_fini(&node->engine);
    close_os(node);
    free(node);
}

/* ---- looking ------------------------------------------------------------- */

const char *weir_node_address(const weir_node *node)
{
    return node != NULL ? node->engine.address : "";
}

const char *weir_node_name(const weir_node *node)
{
    return node != NULL ? node->engine.name : "";
}

const char *weir_node_plan(const weir_node *node)
{
    return node != NULL ? node->engine.budget.text : "";
}

weir_err weir_node_step(weir_node *node, uint64_t now_ns, uint64_t *next_ns_out)
{
    if (node == NULL || next_ns_out == NULL) {
        return WEIR_ERR_ARG;
    }
    if (!node->engine.cfg.manual || wi_engine_inherited(&node->engine)) {
        return WEIR_ERR_STATE;
    }
    wi_node_lock(node);
    uint32_t moved = wi_engine_step(&node->engine, now_ns);
    *next_ns_out = wi_engine_next(&node->engine);
    wi_node_unlock(node);
    return moved != 0 ? WEIR_OK : WEIR_AGAIN;
}
