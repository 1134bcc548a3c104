/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/attach.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/bitmap.h"
#include "core/link/common_rings.h"
#include "core/link/engine.h"
#include "core/link/in_ring.h"
#include "core/link/link.h"
#include "core/link/members.h"
#include "core/link/stream.h"
#include "core/link/worker.h"
#include "core/query/agree.h"
#include "core/query/query.h"
#include "core/query/query_fail.h"
#include "core/query/reader.h"
#include "core/query/shuffle.h"
#include "core/transport.h"

/* Frames of a node ring may have been delivered before this reader was open;
 * the worker then found no reader for them. */
static void find_local(struct wi_stream *st, struct wi_worker *w)
{
    /* E12 sc: the reader, then queued; pairs with E12 sc in collect_local(),
     * which clears it and then looks for the reader */
    if (wi_xchg_sc(&st->queued, 1) == 0) {
        wi_lq_put(&w->local, &st->local);
        wi_worker_notify(w, WI_ATTN_EVENT);
    }
}

static void add_stream(struct wi_stream *st, struct weir_reader *r)
{
    uint32_t n = wi_load_rlx(&r->n_streams); /* rlx: only the engine adds */
    r->streams[n] = st;
    /* E9 release: streams[n], and the in's fields; pairs with E9 acquire in
     * the reader */
    wi_store_rel(&r->n_streams, n + 1);
}

static void attach_stream(struct wi_stream *st, struct weir_reader *r)
{
    struct wi_worker *w = r->worker;
    /* E9 release: the in's fields; pairs with E9 acquire in collect_stream() */
    wi_store_rel(&st->reader, r);
    add_stream(st, r);
    if (r->stopped) {
        wi_stream_stop(st);
        return;
    }
    if (st->in->consumer_worker == WI_ANY_WORKER) {
        find_local(st, w);
    }
    wi_in_mark(st->in, w->idx);
}

/* A node ring has a stream per worker: drop those of workers without a part. */
static void drop_spare_streams(struct wi_in *in, const struct weir_shuffle *s)
{
    uint32_t n =
        wi_shuffle_workers(s, s->query->engine->self, s->consumer_workers);
    n = s->to_node ? 1 : n;
    if (in->consumer_worker == WI_ANY_WORKER && in->n_streams > n) {
        (void)wi_add_ar(&in->live, n - in->n_streams); /* E10: none has begun */
        in->n_streams = n;
    }
}

/* The sender has a part in the query, but not the one it claims. */
static WI_COLD bool fail_pretender(const struct wi_in *in,
                                   struct weir_shuffle *s, const char *what)
{
    char text[WI_TEXT_BYTES];
    uint32_t member = in->link->member;
    (void)snprintf(
        text, sizeof(text),
        "%s (member %u) opened an edge of shuffle %u from its worker %u, %s",
        wi_member_name(s->query->engine, member), member, s->id,
        in->producer_worker, what);
    wi_query_fail(s->query, WEIR_ERR_PEER_PROTOCOL, text);
    return false;
}

/* Are both ends of the edge in the shuffle, and where they say they are? */
static bool check_ends(const struct wi_in *in, struct weir_shuffle *s)
{
    uint32_t member = in->link->member;
    uint32_t n =
        wi_shuffle_workers(s, s->query->engine->self, s->consumer_workers);
    if (in->fingerprint != s->fingerprint) {
        wi_shuffle_differ(in->link, s);
        return false;
    }
    if (wi_shuffle_source(s, member, in->producer_worker) == UINT32_MAX) {
        return fail_pretender(in, s, "which does not produce");
    }
    if (!s->self_consumes ||
        (in->consumer_worker >= n && in->consumer_worker != WI_ANY_WORKER) ||
        (s->to_node && in->consumer_worker != WI_ANY_WORKER)) {
        return fail_pretender(in, s, "to one that does not consume");
    }
    return true;
}

/* Is this the first ring of its source? */
static bool is_new(const struct wi_in *in, const struct weir_shuffle *s,
                   uint64_t *came)
{
    uint32_t source =
        wi_shuffle_source(s, in->link->member, in->producer_worker);
    if (wi_bitmap_test(came, source)) {
        return false;
    }
    wi_bitmap_mark(came, source, 1, true);
    return true;
}

/* Memory where offsets of texts are copied before they are checked, unless the
 * peer cannot change them later. One block for all rings of the link, made with
 * the first that needs it. No cap counts it: only pages with offsets are
 * touched. */
static bool hide_offsets(struct wi_in *in, const struct wi_schema *s)
{
    struct wi_link *l = in->link;
    if (s->n_var == 0 || l->self || (l->home->ops->caps & WI_CAP_GUARD) != 0) {
        return true;
    }
    if (l->offsets == NULL) {
        l->offsets = aligned_alloc(WI_PAGE, l->area.bytes);
    }
    if (l->offsets != NULL) {
        in->offsets = l->offsets + (in->mem - (const uint8_t *)l->area.base);
    }
    return l->offsets != NULL;
}

static bool bind(struct wi_in *in, struct weir_shuffle *s)
{
    if (wi_load_rlx(&in->query) != NULL) { /* rlx: engine's */
        return true;
    }
    if (!check_ends(in, s)) {
        return false;
    }
    if (!hide_offsets(in, s->schema)) {
        wi_query_fail(s->query, WEIR_ERR_QUERY_MEMORY,
                      "no memory for the offsets of texts");
        return false;
    }
    if (s->to_node && !is_new(in, s, s->common->came)) {
        return fail_pretender(in, s, "which has one to this node");
    }
    drop_spare_streams(in, s);
    in->schema = s->schema;
    s->query->holds++;
    if (s->to_node) {
        wi_common_add(s->common, in);
    }
    /* E9 release: pairs with E9 acquire in wi_in_dispatch() and wi_in_came() */
    wi_store_rel(&in->query, s->query);
    if (s->to_node) {
        wi_common_start(s->common, in);
    }
    return true;
}

static WI_COLD void turn_away(struct wi_in *in, const struct weir_query *q)
{
    /* rlx: only the engine sets it, under the node's lock */
    if (wi_load_rlx(&in->streams[0].gone) == 0) {
        wi_query_turn_away(in->link, q->id);
        wi_in_refuse(in);
    }
}

/* The readers of a node have its rings in common; each lists those that came,
 * for who asks and for reports. */
static void list_stream(struct wi_in *in, const struct weir_shuffle *s)
{
    for (uint32_t i = 0; i < s->query->engine->cfg.workers; i++) {
        struct weir_reader *r = s->readers[i];
        if (r != NULL && is_new(in, s, r->came)) {
            add_stream(&in->streams[0], r);
        }
    }
}

void wi_query_attach(struct wi_in *in, struct weir_query *q)
{
    if (!wi_query_has(q, in->link->member)) {
        turn_away(in, q);
        return;
    }
    struct weir_shuffle *s = wi_shuffle_find(q, in->shuffle_id);
    if (s != NULL && s->to_node && s->self_consumes && s->common == NULL) {
        wi_in_refuse(in); /* all its readers were closed */
        return;
    }
    if (s == NULL || !bind(in, s)) {
        return; /* not open here yet; weir_reader_open attaches it */
    }
    if (s->to_node) {
        list_stream(in, s);
        return;
    }
    for (uint32_t i = 0; i < in->n_streams; i++) {
        struct wi_stream *st = &in->streams[i];
        struct weir_reader *r = s->readers[st->worker];
        if ((s->was_read >> st->worker & 1) != 0) {
            wi_stream_stop(st); /* nobody will ever read it */
            continue;
        }
        /* rlx: only the engine sets them, under the node's lock */
        if (r == NULL || wi_load_rlx(&st->reader) != NULL ||
            wi_load_rlx(&st->gone) != 0) { /* rlx: as above */
            continue;
        }
        /* A reader that has ended counts different sources: none may end for
         * another. */
        if (!is_new(in, s, r->came)) {
            (void)fail_pretender(in, s, "which has one to the same worker");
            return;
        }
        attach_stream(st, r);
    }
}
