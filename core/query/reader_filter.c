/* SPDX-License-Identifier: Apache-2.0 */
/* The consuming end of filters: keys to bits, bits to the producers. */
#include "core/query/reader_filter.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/format/import.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/link/send.h"
#include "core/link/worker.h"
#include "core/partition/partition_hash.h"
#include "core/query/filter.h"
#include "core/query/query.h"
#include "core/query/query_fail.h"
#include "core/query/reader.h"
#include "core/query/shuffle.h"

/* Keys on their way into a filter. written by: the worker */
struct wi_reader_filter {
    struct wi_schema *schema; /* of the keys alone */
    struct wi_partition *partition;
    struct wi_view *views;
    struct wi_bloom *filter; /* NULL: sent */
    uint64_t hashes[WI_SPLIT_ROWS];
};

void wi_reader_filter_free(struct weir_reader *r)
{
    struct wi_reader_filter *k = r->filter;
    if (k != NULL) {
        wi_partition_close(k->partition);
        wi_schema_close(k->schema);
        free(k->views);
        free(k->filter);
        free(k);
        r->filter = NULL;
    }
}

/* ---- keys ---------------------------------------------------------------- */

static weir_err open_keys(struct weir_reader *r, uint32_t n_words)
{
    const struct weir_shuffle *s = r->shuffle;
    struct wi_reader_filter *k = calloc(1, sizeof(*k));
    const char **names = calloc(s->n_keys, sizeof(*names));
    weir_err rc = WEIR_ERR_NO_MEMORY;
    r->filter = k;
    if (k != NULL && names != NULL) {
        k->filter = wi_bloom_open(n_words);
        k->views = calloc(s->n_keys, sizeof(*k->views));
        rc = wi_schema_pick(s->schema, s->key_columns, s->n_keys, &k->schema,
                            &r->error);
    }
    for (uint32_t i = 0; rc == WEIR_OK && i < s->n_keys; i++) {
        names[i] = k->schema->columns[i].name;
    }
    if (rc == WEIR_OK) { /* of one destination: only the hash is needed */
        const struct wi_partition_params params = {.kind = WEIR_HASH,
                                                   .n_dest = 1,
                                                   .keys = names,
                                                   .n_keys = s->n_keys,
                                                   .seed = s->seed};
        rc = wi_partition_open(k->schema, &params, &k->partition, &r->error);
    }
    free(names);
    if (rc == WEIR_OK && k->filter != NULL && k->views != NULL) {
        return WEIR_OK;
    }
    wi_reader_filter_free(r);
    return wi_fail(&r->error, WEIR_ERR_NO_MEMORY, "no memory for a filter");
}

weir_err weir_reader_filter_open(weir_reader *reader, uint64_t n_keys)
{
    if (reader == NULL) {
        return WEIR_ERR_ARG;
    }
    const struct weir_shuffle *s = reader->shuffle;
    weir_err rc = weir_query_status(s->query, NULL);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (s->kind != WEIR_HASH) {
        return wi_fail(&reader->error, WEIR_ERR_ARG,
                       "shuffle %u is by %s: only those by hash have filters",
                       s->id, wi_partitioning_name(s->kind));
    }
    if (s->to_node) {
        return wi_fail(&reader->error, WEIR_ERR_ARG,
                       "shuffle %u is to nodes: a row may go to any worker, so "
                       "none has a filter",
                       s->id);
    }
    if (reader->filter != NULL) {
        return wi_fail(&reader->error, WEIR_ERR_STATE,
                       "this reader has a filter: one each");
    }
    uint32_t most = wi_filter_most_words(s);
    uint32_t n_words = wi_bloom_words(n_keys, most);
    if (n_words == 0) {
        return wi_fail(&reader->error, WEIR_ERR_BUDGET,
                       "a filter of %llu keys: no more than %u bytes are sent, "
                       "which would let most rows pass",
                       (unsigned long long)n_keys, most * 8);
    }
    return open_keys(reader, n_words);
}

static weir_err check_begun(struct weir_reader *r)
{
    weir_err rc = wi_engine_check_own(r->worker->engine, &r->error);
    if (rc != WEIR_OK || (r->filter != NULL && r->filter->filter != NULL)) {
        return rc;
    }
    return wi_fail(&r->error, WEIR_ERR_STATE,
                   "weir_reader_filter_open comes first, "
                   "weir_reader_filter_send last");
}

weir_err weir_reader_filter_add(weir_reader *reader,
                                const struct ArrowArray *keys)
{
    if (reader == NULL || keys == NULL) {
        return WEIR_ERR_ARG;
    }
    struct wi_reader_filter *k = reader->filter;
    weir_err rc = check_begun(reader);
    if (rc == WEIR_OK) {
        rc = wi_schema_import(k->schema, keys, k->views, &reader->error);
    }
    if (rc == WEIR_OK) {
        rc = wi_schema_check_offsets(k->schema, k->views,
                                     (uint64_t)keys->length, &reader->error);
    }
    uint64_t n = rc == WEIR_OK ? (uint64_t)keys->length : 0;
    for (uint64_t at = 0; at < n; at += WI_SPLIT_ROWS) {
        uint32_t rows = (uint32_t)wi_min_u64(n - at, WI_SPLIT_ROWS);
        wi_partition_hashes(k->partition, k->views, at, rows, k->hashes);
        wi_bloom_add(k->filter, k->hashes, rows);
    }
    return rc;
}

/* ---- to the producers ---------------------------------------------------- */

/* The link to a producing member, if a filter may be sent over it. */
static struct wi_link *link_to(struct wi_engine *e, uint32_t member,
                               uint32_t pieces)
{
    struct wi_link *l =
        member == e->self ? e->members[member].link : wi_query_link(e, member);
    return l != NULL && (l->caps & WI_WIRE_CAP_FILTER) != 0 &&
                   wi_link_takes_hints(l, pieces)
               ? l
               : NULL;
}

static void send_to(struct wi_link *l, const struct weir_reader *r)
{
    const struct wi_bloom *f = r->filter->filter;
    union wi_msg m;
    bool sent = true; /* a producer takes no piece after one that is missing */
    for (uint32_t at = 0; sent && at < f->n_words; at += WI_FILTER_PIECE) {
        uint32_t n = wi_min_u32(f->n_words - at, WI_FILTER_PIECE);
        wi_msg_init(&m, WI_MSG_FILTER);
        m.filter.shuffle = r->shuffle->id;
        m.filter.query = r->shuffle->query->id;
        m.filter.n_words = f->n_words;
        m.filter.first = at;
        m.filter.worker = r->worker->idx;
        memcpy(m.filter.words, f->words + at, n * sizeof(uint64_t));
        sent = wi_link_hint(l, &m);
    }
}

weir_err weir_reader_filter_send(weir_reader *reader)
{
    if (reader == NULL) {
        return WEIR_ERR_ARG;
    }
    const struct weir_shuffle *s = reader->shuffle;
    weir_err rc = check_begun(reader);
    if (rc != WEIR_OK) {
        return rc;
    }
    uint32_t pieces = reader->filter->filter->n_words / WI_FILTER_PIECE + 1;
    wi_node_lock(s->query->node);
    for (uint32_t i = 0; i < s->n_producers && !reader->stopped; i++) {
        struct wi_link *l = link_to(s->query->engine, s->producers[i], pieces);
        if (l != NULL) {
            send_to(l, reader);
        }
    }
    wi_node_unlock(s->query->node);
    free(reader->filter->filter);
    reader->filter->filter = NULL;
    return weir_query_status(s->query, NULL);
}
