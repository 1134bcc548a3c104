/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: set-up, one step, housekeeping. */
#include "core/link/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/guest.h"
#include "core/link/join.h"
#include "core/link/warn.h"

#define EVENTS_PER_POLL 64u
#define POLLS_PER_STEP 16u

/* ---- set-up ----------------------------------------------------------------------- */

static weir_err open_transport(struct wi_engine *e, struct weir_error *err)
{
    const char *name = e->cfg.transport;
    e->ops = wi_transport_find(name);
    if (e->ops == NULL) {
        return wi_fail(err, WEIR_ERR_NOT_FOUND,
                       "no transport \"%s\"; there are: %s", name,
                       wi_transport_names());
    }
    struct wi_transport_params p = {
        .listen = e->cfg.listen,
        .advertise = e->cfg.advertise,
        .name = e->name,
        /* Old ones may still be dying, and strangers have places too. */
        .max_links = 2 * e->cfg.max_members + WI_GUESTS,
        .arg = e->cfg.transport_arg,
        .log = &e->log,
    };
    weir_err rc = e->ops->open(&p, &e->transport, err);
    if (rc == WEIR_OK) {
        e->ops->address(e->transport, e->address);
    }
    return rc;
}

static weir_err open_budget(struct wi_engine *e, struct weir_error *err)
{
    struct wi_budget_params p = {
        .workers = e->cfg.workers,
        .max_members = e->cfg.max_members,
        .max_shuffles = e->cfg.max_shuffles,
        .frame_bytes = e->cfg.frame_bytes,
        .ring_frames = e->cfg.ring_frames,
        .cap_bytes = e->cfg.memory_bytes,
        /* A composite's links may be of either kind: plan for the larger. */
        .mapped = (e->ops->caps & (WI_CAP_MAP | WI_CAP_WRITE)) == WI_CAP_MAP,
    };
    return wi_budget_make(&p, &e->budget, err);
}

static weir_err open_bells(struct wi_engine *e, struct weir_error *err)
{
    e->n_ids = e->cfg.max_members * e->budget.n_units;
    e->bell_stride = (uint32_t)wi_bell_bytes(e->n_ids);
    size_t bytes =
        wi_align_up((size_t)e->bell_stride * e->cfg.workers, WI_PAGE);
    e->bells_mapped = (e->ops->caps & WI_CAP_MAP) != 0;
    if (e->bells_mapped) {
        weir_err rc = e->ops->mem_open(e->transport, bytes, &e->bell_mem, err);
        if (rc != WEIR_OK) {
            return rc;
        }
    } else {
        e->bell_mem.base = aligned_alloc(WI_PAGE, bytes);
        e->bell_mem.bytes = bytes;
        if (e->bell_mem.base == NULL) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %zu bytes",
                           bytes);
        }
        memset(e->bell_mem.base, 0, bytes);
    }
    e->mem_bytes += bytes;
    return WEIR_OK;
}

static weir_err open_workers(struct wi_engine *e, struct weir_error *err)
{
    uint32_t n = e->cfg.workers;
    e->workers = aligned_alloc(WI_CACHE_LINE, n * sizeof(*e->workers));
    if (e->workers == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u workers", n);
    }
    memset(e->workers, 0, n * sizeof(*e->workers));
    for (uint32_t i = 0; i < n; i++) {
        struct wi_worker *w = &e->workers[i];
        w->engine = e;
        w->idx = i;
        w->keep_ns = WI_KEEP_NS;
        wi_store_rlx(&w->fd, -1); /* rlx: no other thread yet */
        wi_list_init(&w->writers);
        wi_list_init(&w->readers);
        wi_lq_init(&w->local);
    }
    weir_err rc = open_bells(e, err);
    for (uint32_t i = 0; rc == WEIR_OK && i < n; i++) {
        e->workers[i].bell =
            (struct wi_bell *)(void *)((char *)e->bell_mem.base +
                                       (size_t)i * e->bell_stride);
    }
    return rc;
}

static weir_err open_tables(struct wi_engine *e, struct weir_error *err)
{
    e->n_slots = e->cfg.max_members;
    e->slots = calloc(e->n_slots, sizeof(*e->slots));
    e->tombs = calloc(WI_TOMBS, sizeof(*e->tombs));
    if (e->slots == NULL || e->tombs == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for tables");
    }
    return WEIR_OK;
}

weir_err wi_engine_init(struct wi_engine *e, const struct weir_node_params *cfg,
                        struct weir_error *err)
{
    e->cfg = *cfg;
    e->tick_ns = UINT64_MAX;
    e->nudge_ns = UINT64_MAX;
    e->watch_ns = UINT64_MAX;
    e->self = UINT32_MAX;
    wi_list_init(&e->dead);
    wi_list_init(&e->limbo);
    wi_list_init(&e->strays);
    wi_list_init(&e->queries);
    wi_list_init(&e->greeting);
    wi_lq_init(&e->self_msgs);
    wi_lq_init(&e->inbox);
    wi_lq_init(&e->failures);
    wi_text_put(e->name, WI_NAME_BYTES, cfg->name);
    weir_err rc = open_transport(e, err);
    if (rc == WEIR_OK) {
        rc = open_budget(e, err);
    }
    if (rc == WEIR_OK) {
        rc = open_tables(e, err);
    }
    if (rc == WEIR_OK) {
        rc = open_workers(e, err);
    }
    return rc;
}

static void close_bells(struct wi_engine *e)
{
    if (e->bells_mapped && e->bell_mem.base != NULL) {
        e->ops->mem_close(e->transport, &e->bell_mem);
    } else {
        free(e->bell_mem.base);
    }
}

void wi_engine_fini(struct wi_engine *e)
{
    wi_tombs_fini(e);
    for (uint32_t i = 0; i < e->n_members; i++) {
        free(e->members[i].name);
        free(e->members[i].address);
    }
    free(e->members);
    wi_edges_strays(e, true);
    wi_guests_close(e);
    wi_join_end(e, false);
    for (uint32_t i = 0; i < WI_ARENAS && e->arenas[i] != NULL; i++) {
        wi_arena_close(e->arenas[i]);
    }
    if (e->transport != NULL) {
        close_bells(e);
        e->ops->close(e->transport);
    }
    free(e->workers);
    free(e->slots);
}

/* ---- memory ------------------------------------------------------------------------- */

weir_err wi_engine_area_open(struct wi_engine *e, struct wi_transport *t,
                             struct wi_mem *mem, struct weir_error *err)
{
    uint64_t bytes = e->budget.area_bytes;
    if (e->mem_bytes + bytes > e->budget.cap_bytes) {
        return wi_fail(err, WEIR_ERR_BUDGET,
                       "%llu bytes for a link, on top of %llu held (some by "
                       "links that are being closed), pass memory_bytes = %llu",
                       (unsigned long long)bytes,
                       (unsigned long long)e->mem_bytes,
                       (unsigned long long)e->budget.cap_bytes);
    }
    weir_err rc = t->ops->mem_open(t, bytes, mem, err);
    if (rc == WEIR_OK) {
        e->mem_bytes += bytes;
        e->mem_peak = wi_max_u64(e->mem_peak, e->mem_bytes);
    }
    return rc;
}

void wi_engine_area_close(struct wi_engine *e, struct wi_transport *t,
                          struct wi_mem *mem)
{
    e->mem_bytes -= mem->bytes;
    t->ops->mem_close(t, mem);
    mem->base = NULL;
}

struct wi_arena *wi_engine_arena(struct wi_engine *e, struct wi_transport *t)
{
    uint32_t i = 0;
    while (e->arenas[i] != NULL && wi_arena_transport(e->arenas[i]) != t) {
        i++;
        assert(i < WI_ARENAS);
    }
    if (e->arenas[i] == NULL &&
        wi_arena_open(t, e->budget.cap_bytes, &e->mem_bytes, &e->arenas[i],
                      NULL) == WEIR_OK) {
        wi_arena_plan(e->arenas[i], &e->budget, e->cfg.max_members - 1);
    }
    return e->arenas[i];
}

/* ---- members -------------------------------------------------------------------------- */

const char *wi_engine_member_name(const struct wi_engine *e, uint32_t idx)
{
    return idx < e->n_members ? e->members[idx].name : "?";
}

static weir_err check_member(const struct wi_engine *e,
                             const struct weir_member *members, uint32_t i,
                             struct weir_error *err)
{
    const struct weir_member *m = &members[i];
    struct weir_error why;
    if (m->name == NULL || m->address == NULL || m->workers == 0 ||
        m->workers > WI_WORKERS_MAX || m->name[0] == '\0' ||
        strlen(m->name) >= WI_NAME_BYTES ||
        strlen(m->address) >= WI_ADDRESS_BYTES) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "member %u (name %.70s, address %.100s, %u workers): "
                       "needs a name (< %u bytes), an address (< %u) and 1 to "
                       "%u workers",
                       i, m->name != NULL ? m->name : "NULL",
                       m->address != NULL ? m->address : "NULL", m->workers,
                       WI_NAME_BYTES, WI_ADDRESS_BYTES, WI_WORKERS_MAX);
    }
    for (uint32_t k = 0; k < i; k++) {
        if (strcmp(members[k].name, m->name) == 0) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "members %u and %u are both called %s", k, i,
                           m->name);
        }
    }
    if (e->ops->check(e->transport, m->address, &why) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_ARG, "member %u (%s): %.300s", i, m->name,
                       why.message);
    }
    return WEIR_OK;
}

static weir_err check_members(const struct wi_engine *e,
                              const struct weir_member *members, uint32_t n,
                              uint32_t *self_out, struct weir_error *err)
{
    if (e->n_members != 0) {
        return wi_fail(err, WEIR_ERR_STATE, "%s has joined already", e->name);
    }
    if (n > e->cfg.max_members) {
        return wi_fail(err, WEIR_ERR_BUDGET,
                       "%u members, the memory plan is for max_members = %u: "
                       "raise it",
                       n, e->cfg.max_members);
    }
    uint32_t self = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        weir_err rc = check_member(e, members, i, err);
        if (rc != WEIR_OK) {
            return rc;
        }
        if (strcmp(members[i].name, e->name) == 0) {
            self = i;
        }
    }
    if (self == UINT32_MAX) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "none of the %u members is called %s, which is this "
                       "node: the list has what weir_node_name says of each",
                       n, e->name);
    }
    if (members[self].workers != e->cfg.workers) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "member %u is this node, %s: the list says %u workers, "
                       "it was opened with %u",
                       self, e->name, members[self].workers, e->cfg.workers);
    }
    *self_out = self;
    return WEIR_OK;
}

weir_err wi_engine_join(struct wi_engine *e, const struct weir_member *members,
                        uint32_t n, struct weir_error *err)
{
    uint32_t self = 0;
    weir_err rc = check_members(e, members, n, &self, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    e->members = calloc(n, sizeof(*e->members));
    if (e->members == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u members", n);
    }
    for (uint32_t i = 0; i < n; i++) {
        e->members[i].name = strdup(members[i].name);
        e->members[i].address = strdup(members[i].address);
        e->members[i].workers = members[i].workers;
    }
    e->self = self;
    e->n_members = n;
    wi_guests_greet(e);
    return WEIR_OK;
}

/* ---- workers ---------------------------------------------------------------------------- */

void wi_worker_notify(struct wi_worker *w, uint32_t attn)
{
    if (wi_bell_attention(w->bell, attn) == WI_WAKE_FD) {
        w->engine->ring_fn(w->engine->hook_arg, w->idx);
    }
}

void wi_engine_rouse(struct wi_engine *e)
{
    for (uint32_t i = 0; i < e->cfg.workers; i++) {
        wi_bell_rouse(e->workers[i].bell, WI_ATTN_EVENT);
        e->ring_fn(e->hook_arg, i);
    }
}

void wi_engine_kick(struct wi_engine *e)
{
    /* E11 sc: what was left, then the flag; pairs with E11 sc in
     * wi_engine_step() and in the loop of netthread.c before it sleeps */
    if (wi_xchg_sc(&e->kick, 1) == 0) {
        e->wake_fn(e->hook_arg);
    }
}

/* ---- one step ----------------------------------------------------------------------------- */

void wi_engine_disconnect(struct wi_engine *e, struct wi_ep *ep)
{
    for (uint32_t i = 0; i < e->n_events; i++) {
        if (e->events[i].ep == ep) {
            e->events[i].ep = NULL;
        }
    }
    ep->transport->ops->disconnect(ep);
}

static uint32_t take_events(struct wi_engine *e)
{
    struct wi_event events[EVENTS_PER_POLL];
    uint32_t total = 0;
    for (uint32_t k = 0; k < POLLS_PER_STEP; k++) {
        uint32_t n =
            e->ops->poll(e->transport, e->now_ns, events, EVENTS_PER_POLL);
        e->events = events;
        e->n_events = n;
        for (uint32_t i = 0; i < n; i++) {
            if (events[i].ep != NULL) {
                wi_link_event(e, &events[i]);
            }
        }
        e->n_events = 0;
        total += n;
        if (n < EVENTS_PER_POLL) {
            break;
        }
    }
    return total;
}

static uint32_t take_failures(struct wi_engine *e)
{
    uint32_t n = 0;
    struct wi_lq_node *node;
    while ((node = wi_lq_take(&e->failures)) != NULL) {
        wi_in_failed(wi_container_of(node, struct wi_in, failed));
        n++;
    }
    return n;
}

static uint32_t take_inbox(struct wi_engine *e)
{
    uint32_t n = 0;
    struct wi_lq_node *node;
    while ((node = wi_lq_take(&e->inbox)) != NULL) {
        wi_in_finish(wi_container_of(node, struct wi_in, inbox));
        n++;
    }
    return n;
}

static uint32_t take_self_msgs(struct wi_engine *e)
{
    uint32_t n = 0;
    struct wi_lq_node *node;
    while ((node = wi_lq_take(&e->self_msgs)) != NULL) {
        struct wi_ctl_msg *c = wi_container_of(node, struct wi_ctl_msg, node);
        struct wi_link *l = e->members[e->self].link;
        struct weir_error err;
        union wi_msg m;
        memcpy(&m, c->bytes, c->len);
        free(c);
        e->n_self_msgs--;
        n++;
        if (l != NULL && m.head.type == WI_MSG_FAIL) {
            wi_query_message(l, &m.fail);
        } else if (l != NULL && wi_edge_message(l, &m, &err) < 0) {
            wi_link_down(l, false, err.code, err.message);
        }
    }
    return n;
}

static void housekeeping(struct wi_engine *e)
{
    e->tick_ns = UINT64_MAX;
    for (uint32_t i = 0; i < e->n_members; i++) {
        if (e->members[i].link != NULL) {
            wi_link_tick(e->members[i].link, e->now_ns);
        }
    }
    wi_guests_tick(e, e->now_ns);
    wi_join_tick(e);
    wi_warn_tick(e);
    wi_watch_tick(e);
    wi_engine_due(e, wi_query_deadlines(e, e->now_ns));
}

/* Workers that wait elsewhere (a descriptor, a simulator) and hold back partly
 * filled frames of dense streams: time to publish them after all. */
static void nudge(struct wi_engine *e)
{
    e->nudge_ns = UINT64_MAX;
    for (uint32_t i = 0; i < e->cfg.workers; i++) {
        wi_worker_notify(&e->workers[i], WI_ATTN_EVENT);
    }
}

uint32_t wi_engine_step(struct wi_engine *e, uint64_t now_ns)
{
    e->now_ns = wi_max_u64(e->now_ns, now_ns);
    /* E11 sc: cleared before the queues are looked at; pairs with E11 sc in
     * wi_engine_kick() */
    bool kicked = wi_xchg_sc(&e->kick, 0) != 0;
    uint32_t n = take_events(e);
    if (kicked || n != 0) {
        n += take_failures(e) + take_inbox(e) + take_self_msgs(e);
        wi_links_flush(e);
        wi_edges_limbo(e);
        wi_edges_strays(e, false);
        wi_list_each(d, &e->dead)
        {
            (void)wi_link_bury(wi_container_of(d, struct wi_link, on_engine));
        }
        wi_guests_greet(e);
    }
    if (e->now_ns >= e->nudge_ns) {
        nudge(e);
        n++;
    }
    if (e->now_ns >= e->tick_ns) {
        housekeeping(e);
        n++;
    }
    return n + (kicked ? 1 : 0);
}

uint64_t wi_engine_next(const struct wi_engine *e)
{
    /* E11 sc: as above */
    return wi_load_sc(&e->kick) != 0 ? e->now_ns
                                     : wi_min_u64(e->tick_ns, e->nudge_ns);
}
