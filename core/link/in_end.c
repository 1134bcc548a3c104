/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/in_end.h"

#include <stdlib.h>

#include "core/base/bitmap.h"
#include "core/format/frame_check.h"
#include "core/link/engine.h"
#include "core/link/in_ring.h"
#include "core/link/in_use.h"
#include "core/link/send.h"

bool wi_in_released(const struct wi_in *in)
{
    return in->empty && !wi_in_has_readers(in);
}

void wi_in_stop(struct wi_in *in)
{
    union wi_msg m;
    if (in->stop_sent || in->closed) {
        return;
    }
    in->stop_sent = true;
    wi_msg_init(&m, WI_MSG_EDGE_STOP);
    m.edge.edge = in->edge;
    m.edge.epoch = in->epoch;
    m.edge.arg = WI_ANY_WORKER;
    wi_link_send(in->link, &m);
}

/* The producer frees its side, and may open another ring there. */
static void tell_closed(struct wi_in *in)
{
    struct wi_link *l = in->link;
    union wi_msg m;
    wi_edge_fill(&m, WI_MSG_EDGE_CLOSED, in->edge, in->epoch);
    l->late_units += in->units;
    if (wi_in_may_wait(in)) {
        wi_link_send_late(l, &m);
    } else {
        wi_link_send_soon(l, &m);
    }
}

/* An in that is empty: CLOSED once the producer has ended, limbo once no reader
 * points to it. */
void wi_in_over(struct wi_in *in)
{
    struct wi_link *l = in->link;
    /* rlx: only the engine sets it, under the node's lock */
    if (wi_load_rlx(&in->dead) != 0) {
        wi_engine_kick(l->engine); /* freed with the link */
        return;
    }
    if (!in->abandoned &&
        wi_load_acq(&in->n_ended) != in->n_streams) { /* E10: ends */
        /* ABANDON is still to come. Of a node ring the last stream may have
         * ended after others were stopped, of which the producer heard when it
         * had written all ends: then it abandons nothing by itself. */
        wi_in_stop(in);
        return;
    }
    if (!in->closed) {
        in->closed = true;
        if (in->mapped) {
            /* rlx: CLOSED orders it: the next ring there starts at 0 */
            wi_store_rlx(&in->ctl->head, 0);
        }
        wi_store_rel(&l->in[in->edge], NULL); /* E9: freed after RCU */
        wi_bitmap_mark(l->used, in->edge, in->units, false);
        tell_closed(in);
    }
    if (!wi_in_has_readers(in)) {
        wi_list_remove(&in->item.on_link);
        wi_list_remove(&in->on_query);
        wi_list_push_back(&l->engine->limbo, &in->item.on_link);
        wi_link_rest(l);
    }
}

void wi_in_finish(struct wi_in *in)
{
    in->empty = true;
    wi_in_over(in);
}

/* ---- freeing ------------------------------------------------------------- */

static void free_parts(struct wi_in *in)
{
    for (uint32_t i = 0; i < WI_HELD_MAX; i++) {
        if (in->held[i].export_ != NULL) {
            wi_export_close(in->held[i].export_);
        }
    }
    for (uint32_t i = 0; i < in->n_streams; i++) {
        free(in->streams[i].image);
    }
    if (wi_load_rlx(&in->query) != NULL) { /* rlx: engine's */
        in->link->engine->up->edge_freed(in);
    }
}

/* Is it still on a worker's local queue, or on the engine's queue of failures?
 * The worker finds no reader then, but has to take it off. A dispatcher that
 * began before the last stream ended may put it on the latter; one that begins
 * now finds no live stream and looks at nothing. */
static bool is_stray(const struct wi_in *in)
{
    /* E10 sc: the lock, then what its holder has left; pairs with E10 sc in
     * wi_in_dispatch() and fail_later() */
    if (wi_load_sc(&in->dispatching) != 0 ||
        wi_load_sc(&in->fail_queued) == 1) { /* E10 sc: as above */
        return true;
    }
    for (uint32_t i = 0; i < in->n_streams; i++) {
        /* E12 sc: pairs with E12 sc in collect_local(), after which RCU keeps
         * it */
        if (wi_load_sc(&in->streams[i].queued) != 0) {
            return true;
        }
    }
    return false;
}

void wi_in_free(struct wi_in *in)
{
    wi_list_remove(&in->item.on_link);
    wi_list_remove(&in->on_query);
    free_parts(in);
    if (is_stray(in)) {
        in->stray = true;
        wi_list_push_back(&in->link->engine->strays, &in->item.on_link);
    } else {
        wi_rcu_free(&in->rcu, in);
    }
}

void wi_edges_strays(struct wi_engine *e, bool all)
{
    wi_list_each(n, &e->strays)
    {
        struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
        if (all || !is_stray(in)) {
            wi_list_remove(&in->item.on_link);
            wi_rcu_free(&in->rcu, in);
        }
    }
}

void wi_edges_dead(struct wi_link *l)
{
    wi_list_each(n, &l->ins)
    {
        struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
        wi_store_rel(&in->dead, 1); /* E7: read by move_head() */
        if (!wi_in_has_readers(in)) {
            wi_in_finish_when_empty(in);
        }
    }
}
