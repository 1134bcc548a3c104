/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/common_rings.h"

#include <stdlib.h>
#include <string.h>

#include "core/link/engine.h"
#include "core/link/in_end.h"
#include "core/link/stream.h"

struct wi_common *wi_common_open(struct wi_engine *e, uint32_t n_expected,
                                 uint32_t workers)
{
    /* One block, freed at once: the bits, the streams, and what came. */
    uint32_t words = (n_expected + 63) / 64;
    size_t bits = 3 * words * sizeof(uint64_t);
    size_t bytes = sizeof(struct wi_common) + bits +
                   n_expected * sizeof(struct wi_stream *);
    bytes = wi_align_up(bytes, WI_CACHE_LINE);
    struct wi_common *c = aligned_alloc(WI_CACHE_LINE, bytes);
    if (c == NULL) {
        return NULL;
    }
    memset(c, 0, bytes);
    c->engine = e;
    c->n_expected = n_expected;
    c->n_words = words;
    c->takers = workers < 64 ? (1ull << workers) - 1 : UINT64_MAX;
    c->came = (uint64_t *)(void *)(c->ready + 2 * (size_t)words);
    c->streams = (struct wi_stream **)(void *)(c->came + words);
    return c;
}

void wi_common_add(struct wi_common *c, struct wi_in *in)
{
    uint32_t n = wi_load_rlx(&c->n_streams); /* rlx: only the engine adds */
    in->number = n;
    c->streams[n] = &in->streams[0];
    /* E9 release: `number`; pairs with E9 acquire in wi_in_came(), which looks
     * at `query` first */
    wi_store_rel(&in->common, c);
}

void wi_common_start(struct wi_common *c, struct wi_in *in)
{
    /* E9 release: streams[n], and the in's fields; pairs with E9 acquire in
     * wi_common_look(). rlx: only the engine adds */
    wi_store_rel(&c->n_streams, wi_load_rlx(&c->n_streams) + 1);
    if (c->takers == 0) {
        wi_stream_stop(&in->streams[0]);
        return;
    }
    wi_common_mark(c, in);
    (void)wi_common_share(c, WI_ANY_WORKER);
}

void wi_common_enough(struct wi_common *c, uint32_t worker)
{
    uint64_t had = c->takers;
    c->takers &= ~(1ull << worker);
    if (!wi_common_forget(c, worker)) { /* perhaps woken: another one then */
        (void)wi_common_share(c, WI_ANY_WORKER);
    }
    uint32_t n = wi_load_rlx(&c->n_streams); /* rlx: under the lock */
    for (uint32_t i = 0; had != 0 && c->takers == 0 && i < n; i++) {
        wi_stream_stop(c->streams[i]);
    }
}

void wi_common_close(struct wi_common *c)
{
    uint32_t n = wi_load_rlx(&c->n_streams); /* rlx: under the lock */
    for (uint32_t i = 0; i < n; i++) {
        struct wi_in *in = c->streams[i]->in;
        wi_stream_stop(c->streams[i]);
        /* E9: workers under RCU may still hold it; freed after them */
        wi_store_rel(&in->common, NULL);
        if (in->empty) {
            wi_in_finish(in);
        }
    }
    wi_rcu_free(&c->rcu, c);
}
