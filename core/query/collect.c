/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/collect.h"

#include "core/link/common.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/scan.h"
#include "core/link/worker.h"
#include "core/query/reader.h"

struct collect {
    struct wi_worker *worker;
    const struct weir_reader *reader;
    bool others;
};

static void collect_stream(struct collect *c, struct wi_stream *st)
{
    /* E9 acquire: pairs with E9 release in attach_stream(). RCU keeps the
     * reader while we look. */
    struct weir_reader *r = wi_load_acq(&st->reader);
    if (r != NULL) {
        wi_reader_make_ready(r, st);
        c->others = c->others || r != c->reader;
    }
}

/* A ring of several workers. If it is the reader's that asks, that one takes
 * from it and then passes on what is left. */
static void collect_any(struct collect *c, struct wi_in *in)
{
    /* E9 acquire: as in wi_in_came(). Looked at once: before a query it is not
     * known whose ring it is */
    if (wi_load_acq(&in->query) == NULL) {
        return; /* attach marks it again */
    }
    struct wi_common *common = wi_load_acq(&in->common); /* E9: as above */
    if (common == NULL) {
        wi_in_dispatch(in);
        return;
    }
    wi_common_mark(common, in);
    if (c->reader == NULL || c->reader->common != common) {
        c->others = wi_common_share(common, c->worker->idx) || c->others;
    }
}

static void collect_one(void *arg, uint32_t id)
{
    struct collect *c = arg;
    struct wi_engine *e = c->worker->engine;
    uint32_t slot = id / e->budget.n_units;
    if (slot >= e->n_slots) {
        return;
    }
    /* E9 acquire: link and in as published; pairs with E9 release in
     * wi_link_make(), open_in(). RCU keeps them while we look. */
    struct wi_link *l = wi_load_acq(&e->slots[slot]);
    struct wi_in *in =
        l == NULL ? NULL : wi_load_acq(&l->in[id % e->budget.n_units]);
    if (in == NULL) {
        return;
    }
    if (in->consumer_worker == WI_ANY_WORKER) {
        collect_any(c, in);
    } else if (in->consumer_worker == c->worker->idx) {
        collect_stream(c, &in->streams[0]);
    }
}

/* The local queue: streams of node rings that got frames. */
static void collect_local(struct collect *c)
{
    struct wi_lq_node *n;
    while ((n = wi_lq_take(&c->worker->local)) != NULL) {
        struct wi_stream *st = wi_container_of(n, struct wi_stream, local);
        /* E12 sc: cleared before its frames are taken; pairs with E12 sc in
         * deliver() */
        (void)wi_xchg_sc(&st->queued, 0);
        collect_stream(c, st);
    }
}

void wi_worker_collect(struct wi_worker *w, const struct weir_reader *reader)
{
    struct collect c = {.worker = w, .reader = reader};
    wi_rcu_lock();
    (void)wi_bell_take(w->bell, w->engine->n_ids, collect_one, &c);
    collect_local(&c);
    wi_rcu_unlock();
    w->happened = w->happened || c.others;
}
