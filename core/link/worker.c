/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/worker.h"

#include "core/link/engine.h"
#include "core/transport.h"

uint64_t wi_worker_now(const struct wi_worker *w)
{
    return wi_engine_coarse_ns(w->engine) - w->run.lost_ns;
}

void wi_worker_look(struct wi_worker *w, uint64_t least_ns)
{
    const struct wi_engine *e = w->engine;
    if (!e->cfg.manual && (e->ops->caps & WI_CAP_MAP) == 0) {
        wi_run_clock_look(&w->run, least_ns);
    }
}

void wi_worker_notify(struct wi_worker *w, uint32_t attn)
{
    if (wi_bell_attention(w->bell, attn) == WI_WAKE_FD) {
        w->engine->ring_fn(w->engine->hook_arg, w->idx);
    }
}

void wi_worker_mark(struct wi_worker *w, uint32_t id)
{
    if (wi_bell_mark(w->bell, w->engine->n_ids, id) == WI_WAKE_FD) {
        w->engine->ring_fn(w->engine->hook_arg, w->idx);
    }
}

void wi_workers_rouse(struct wi_engine *e)
{
    for (uint32_t i = 0; i < e->cfg.workers; i++) {
        wi_bell_rouse(e->workers[i].bell, WI_ATTN_EVENT);
        e->ring_fn(e->hook_arg, i);
    }
}
