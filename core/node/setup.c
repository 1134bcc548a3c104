/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: set-up and end. */
#include "core/node/setup.h"

#include <stdlib.h>
#include <string.h>
#include <weir/identity.h>

#include "core/base/err.h"
#include "core/base/pages.h"
#include "core/identity/psk.h"
#include "core/link/engine.h"
#include "core/link/guest.h"
#include "core/link/in_end.h"
#include "core/link/join.h"
#include "core/link/members.h"
#include "core/link/newcomer.h"
#include "core/link/worker.h"
#include "core/query/query_upcalls.h"
#include "core/query/tomb.h"
#include "core/region/regions.h"
#include "core/transport.h"

static weir_err open_transport(struct wi_engine *e, struct weir_error *err)
{
    const char *name = e->cfg.transport;
    e->ops = wi_transport_find(name);
    if (e->ops == NULL) {
        return wi_fail(err, WEIR_ERR_NOT_FOUND,
                       "no transport \"%s\"; there are: %s", name,
                       wi_transport_names());
    }
    const struct weir_identity *id = e->cfg.identity;
    bool psk = e->keys != NULL && e->keys->psks.n != 0;
    struct wi_tls_params tls = {.psks = psk ? &e->keys->psks : NULL};
    if (id != NULL) {
        tls.strict = id->tls_psk || id->tls_cert_file != NULL;
        tls.cert = id->tls_cert_file;
        tls.key = id->tls_key_file;
        tls.ca = id->tls_ca_file;
    }
    e->certified = tls.cert != NULL;
    struct wi_transport_params p = {
        .listen = e->cfg.listen,
        .advertise = e->cfg.advertise,
        .name = e->name,
        /* Old ones may still be dying, and strangers have places too. */
        .max_links = e->cfg.max_members + wi_engine_entries(e) + WI_GUESTS,
        .tls = tls.cert != NULL || tls.psks != NULL ? &tls : NULL,
        .proved = e->keys != NULL,
        .silent_ns = e->cfg.detect_ns,
        .arg = e->cfg.transport_arg,
        .log = &e->log,
    };
    weir_err rc = e->ops->open(&p, &e->transport, err);
    if (rc == WEIR_OK) {
        e->ops->address(e->transport, e->address);
    }
    return rc;
}

/* A quarter of the memory, for the rest may be asked for by regions; an eighth
 * where it is registered with a device, used or not. */
static uint64_t spare_bytes(const struct wi_engine *e)
{
    uint32_t caps = e->ops->caps;
    uint32_t both = WI_CAP_MAP | WI_CAP_WRITE; /* a composite, of any links */
    bool lazy = (caps & WI_CAP_LAZY) != 0 && (caps & both) != both;
    if (!e->unlimited || (caps & WI_CAP_VIRTUAL) != 0 ||
        !wi_pages_can_populate()) {
        return 0;
    }
    return e->cfg.memory_bytes / (lazy ? 4 : 8);
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
        .flexible = e->flexible,
        /* A composite may have links of both kinds: plan for the larger. */
        .mapped = (e->ops->caps & (WI_CAP_MAP | WI_CAP_WRITE)) == WI_CAP_MAP,
        .spare_bytes = spare_bytes(e),
    };
    weir_err rc = wi_budget_make(&p, &e->budget, err);
    /* Open frames of rings thread-to-node are planned one by one. */
    e->unlimited = e->unlimited && !e->budget.per_node;
    return rc;
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
        wi_run_clock_ask(&w->run);
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
    if (e->slots == NULL || wi_members_open(e) != WEIR_OK ||
        wi_tombs_init(e) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for tables");
    }
    return WEIR_OK;
}

weir_err wi_engine_init(struct wi_engine *e, const struct weir_node_params *cfg,
                        struct weir_error *err)
{
    e->cfg = *cfg;
    e->up = &wi_query_upcalls;
    e->tick_ns = UINT64_MAX;
    e->nudge_ns = UINT64_MAX;
    e->watch_ns = UINT64_MAX;
    e->self = UINT32_MAX;
    wi_list_init(&e->dead);
    wi_list_init(&e->limbo);
    wi_list_init(&e->strays);
    wi_list_init(&e->unsent_to[0]);
    wi_list_init(&e->unsent_to[1]);
    wi_list_init(&e->queries);
    for (uint32_t i = 0; i < WI_QUERY_LISTS; i++) {
        wi_list_init(&e->queries_of[i]);
        wi_list_init(&e->ins_of[i]);
    }
    wi_list_init(&e->greeting);
    wi_list_init(&e->newcomers);
    e->news_ns = UINT64_MAX;
    wi_lq_init(&e->self_msgs);
    wi_lq_init(&e->inbox);
    wi_lq_init(&e->failures);
    if (wi_regions_init(wi_container_of(e, struct weir_node, engine)) !=
        WEIR_OK) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for regions");
    }
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
    wi_regions_fini(e);
    wi_tombs_fini(e);
    wi_edges_strays(e, true);
    wi_guests_close(e);
    wi_newcomers_close(e);
    wi_join_end(e, false);
    for (uint32_t i = 0; i < WI_ARENAS && e->arenas[i] != NULL; i++) {
        wi_arena_close(e->arenas[i]);
    }
    if (e->transport != NULL) {
        close_bells(e);
        e->ops->close(e->transport);
    }
    wi_members_close(e);
    free(e->workers);
    free(e->slots);
}
