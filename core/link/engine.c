/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/engine.h"

#include <assert.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/prove.h"
#include "core/ring/ring.h"

void wi_engine_kick(struct wi_engine *e)
{
    /* E11 sc: what was left, then the flag; pairs with E11 sc in
     * wi_engine_step() and in wi_duty_sleep() */
    if (wi_xchg_sc(&e->kick, 1) == 0) {
        e->wake_fn(e->hook_arg);
    }
}

void wi_engine_disconnect(struct wi_engine *e, struct wi_ep *ep)
{
    for (uint32_t i = 0; i < e->n_events; i++) {
        if (e->events[i].ep == ep) {
            e->events[i].ep = NULL;
        }
    }
    wi_prove_end(ep);
    ep->transport->ops->disconnect(ep);
}

weir_err wi_engine_check_own(const struct wi_engine *e, struct weir_error *err)
{
    return wi_likely(!wi_engine_inherited(e))
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_STATE,
                         "%s was opened before this process was forked: a "
                         "child opens nodes of its own",
                         e->name);
}

uint32_t wi_engine_caps(const struct wi_engine *e)
{
    return WI_WIRE_CAP_FILTER | WI_WIRE_CAP_REGION | WI_WIRE_CAP_GROW |
           WI_WIRE_CAP_FILE | WI_WIRE_CAP_TALLY |
           (e->cfg.no_checksum ? 0 : WI_WIRE_CAP_CHECKSUM);
}

uint64_t wi_engine_coarse_ns(const struct wi_engine *e)
{
    return e->cfg.manual ? e->now_ns : wi_clock_coarse();
}

/* ---- memory -------------------------------------------------------------- */

weir_err wi_engine_area_open(struct wi_engine *e, struct wi_transport *t,
                             struct wi_mem *mem, struct weir_error *err)
{
    uint64_t bytes = e->budget.area_bytes;
    if (e->mem_bytes + bytes > e->budget.rings_cap_bytes) {
        return wi_fail(err, WEIR_ERR_BUDGET,
                       "%llu bytes for a link, on top of %llu held (some by "
                       "links that are being closed), pass the %llu that "
                       "memory_bytes has for rings",
                       (unsigned long long)bytes,
                       (unsigned long long)e->mem_bytes,
                       (unsigned long long)e->budget.rings_cap_bytes);
    }
    weir_err rc = t->ops->mem_reserve(t, bytes, mem, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    e->mem_bytes += bytes;
    e->mem_peak = wi_max_u64(e->mem_peak, e->mem_bytes);
    /* Of the rings only what controls them: producers take the rest. */
    const struct wi_mem_part ctl = {
        .base = mem->base,
        .bytes = bytes,
        .to = e->budget.n_units * sizeof(struct wi_ring_ctl),
    };
    rc = t->ops->mem_take(t, &ctl, err);
    if (rc != WEIR_OK) {
        wi_engine_area_close(e, t, mem);
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
        wi_arena_open(t, e->budget.rings_cap_bytes, &e->mem_bytes,
                      &e->arenas[i], NULL) == WEIR_OK) {
        wi_arena_plan(e->arenas[i], &e->budget, e->cfg.max_members - 1);
    }
    return e->arenas[i];
}
