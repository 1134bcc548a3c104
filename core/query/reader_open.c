/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/reader_open.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/link/common_rings.h"
#include "core/link/engine.h"
#include "core/link/life.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/link/stream.h"
#include "core/link/worker.h"
#include "core/query/attach.h"
#include "core/query/query.h"
#include "core/query/reader.h"
#include "core/query/reader_filter.h"
#include "core/query/shuffle.h"

/* Find the producers: links to them, so that their loss is noticed, and edges
 * that came before this reader was open. */
static void find_producers(struct weir_reader *r)
{
    struct weir_shuffle *s = r->shuffle;
    struct wi_engine *e = s->query->engine;
    for (uint32_t i = 0; i < s->n_producers; i++) {
        (void)wi_link_need(e, s->producers[i]);
    }
    wi_list_each(n, &e->ins_of[wi_query_list(s->query->id)])
    {
        struct wi_in *in = wi_container_of(n, struct wi_in, on_query);
        bool alive = in->link == e->members[in->link->member].link;
        if (in->query_id == s->query->id && in->shuffle_id == s->id && alive) {
            wi_query_attach(in, s->query);
        }
    }
}

static void count_common(const struct weir_reader *r, uint32_t n)
{
    if (r->common != NULL) {
        /* rlx: its worker looks under the lock */
        (void)wi_add_rlx(&r->worker->n_commons, n);
    }
}

static weir_err open_locked(struct weir_shuffle *s, uint32_t worker,
                            struct weir_reader **out, struct weir_error *err)
{
    struct wi_engine *e = s->query->engine;
    uint32_t n = s->self_consumes
                     ? wi_shuffle_workers(s, e->self, s->consumer_workers)
                     : 0;
    if (worker >= n) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "worker %u of %s does not consume from shuffle %u: "
                       "%u of its workers do, from 0 on (consumers, "
                       "consumer_workers)",
                       worker, e->name, s->id, n);
    }
    if (s->readers[worker] != NULL) {
        return wi_fail(err, WEIR_ERR_DUPLICATE,
                       "worker %u has a reader of shuffle %u", worker, s->id);
    }
    if ((s->was_read >> worker & 1) != 0) {
        return wi_fail(err, WEIR_ERR_STATE,
                       "worker %u has closed its reader of shuffle %u: one "
                       "reader for each worker and shuffle",
                       worker, s->id);
    }
    struct weir_reader *r = calloc(1, sizeof(*r));
    struct wi_stream **streams =
        calloc(s->n_sources, sizeof(struct wi_stream *));
    uint64_t *came = calloc((s->n_sources + 63) / 64, sizeof(*came));
    if (r == NULL || streams == NULL || came == NULL) {
        free(r);
        free(streams);
        free(came);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a reader");
    }
    r->streams = streams;
    r->came = came;
    r->shuffle = s;
    r->worker = &e->workers[worker];
    r->n_expected = s->n_sources;
    r->common = s->common;
    r->turn = worker;
    r->opened_ns = e->now_ns;
    count_common(r, 1);
    wi_list_init(&r->ready);
    wi_list_init(&r->owing);
    wi_list_init(&r->full);
    wi_list_push_back(&r->worker->readers, &r->on_worker);
    s->readers[worker] = r;
    find_producers(r);
    *out = r;
    return weir_query_status(s->query, err);
}

weir_err weir_reader_open(weir_shuffle *shuffle, uint32_t worker,
                          weir_reader **reader_out, struct weir_error *err)
{
    struct weir_error why; /* for the other members */
    weir_err rc = wi_check_args(err, WI_ARG(shuffle), WI_ARG(reader_out));
    rc = rc == WEIR_OK ? wi_engine_check_own(shuffle->query->engine, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_reader *r = NULL;
    struct weir_query *q = shuffle->query;
    err = err != NULL ? err : &why;
    wi_node_lock(q->node);
    rc = weir_query_status(q, err);
    if (rc == WEIR_OK) {
        rc = open_locked(shuffle, worker, &r, err);
    }
    if (rc == WEIR_OK) {
        wi_query_opened(q, WI_PART_READER, shuffle->id, worker);
        *reader_out = r;
    } else {
        wi_query_refused(q, WI_PART_READER, shuffle->id, worker, err);
    }
    if (rc != WEIR_OK && r != NULL) {
        wi_reader_free(r);
    }
    wi_node_unlock(q->node);
    return rc;
}

void weir_reader_stop(weir_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    struct weir_query *q = reader->shuffle->query;
    if (wi_engine_inherited(q->engine) || reader->stopped ||
        wi_reader_complete(reader)) {
        return;
    }
    wi_node_lock(q->node);
    reader->stopped = true;
    if (reader->common != NULL) {
        wi_common_enough(reader->common, reader->worker->idx);
        wi_node_unlock(q->node);
        return;
    }
    uint32_t n = wi_load_rlx(&reader->n_streams); /* rlx: under the lock */
    for (uint32_t i = 0; i < n; i++) {
        wi_stream_stop(reader->streams[i]);
    }
    wi_node_unlock(q->node);
}

/* The last reader of this node lets go of the rings. */
static void leave_common(struct weir_reader *r)
{
    struct weir_shuffle *s = r->shuffle;
    uint32_t n =
        wi_shuffle_workers(s, s->query->engine->self, s->consumer_workers);
    wi_common_enough(r->common, r->worker->idx);
    if (s->was_read == (n < 64 ? (1ull << n) - 1 : UINT64_MAX)) {
        wi_shuffle_let_go(s);
    }
}

void wi_reader_free(struct weir_reader *r)
{
    uint32_t n = wi_load_rlx(&r->n_streams); /* rlx: under the lock */
    r->shuffle->readers[r->worker->idx] = NULL;
    r->shuffle->was_read |= 1ull << r->worker->idx;
    if (r->common != NULL) {
        count_common(r, -1u);
        leave_common(r);
    }
    for (uint32_t i = 0; r->common == NULL && i < n; i++) {
        wi_stream_detach(r->streams[i]);
    }
    wi_list_remove(&r->on_worker);
    free(r->streams);
    free(r->came);
    wi_reader_filter_free(r);
    wi_rcu_free(&r->rcu, r); /* a collecting worker may be looking at it */
}

void weir_reader_close(weir_reader *reader)
{
    if (reader == NULL || wi_engine_inherited(reader->shuffle->query->engine)) {
        return;
    }
    weir_node *node = reader->shuffle->query->node;
    wi_node_lock(node);
    wi_reader_free(reader);
    wi_node_unlock(node);
}
