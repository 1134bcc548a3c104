/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a shuffle: options are checked and copied, destinations counted. */
#include <weir/shuffle.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/link/common_rings.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/partition/partition.h"
#include "core/partition/partition_impl.h"
#include "core/query/agree.h"
#include "core/query/query.h"
#include "core/query/reader.h"
#include "core/query/shuffle.h"
#include "core/query/writer.h"

/* ---- the fingerprint: FNV-1a over what all members must agree on --------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    for (int i = 0; i < 8; i++) {
        h = (h ^ (v & 0xff)) * 0x100000001b3ull;
        v >>= 8;
    }
    return h;
}

static uint64_t mix_list(uint64_t h, const uint32_t *v, uint32_t n)
{
    h = mix(h, n);
    for (uint32_t i = 0; i < n; i++) {
        h = mix(h, v[i]);
    }
    return h;
}

static uint64_t mix_bytes(uint64_t h, const uint8_t *p, uint64_t n)
{
    h = mix(h, n);
    for (uint64_t i = 0; i < n; i++) {
        h = (h ^ p[i]) * 0x100000001b3ull;
    }
    return h;
}

static uint64_t mix_value(uint64_t h, const struct wi_column *c,
                          const struct ArrowArray *col, uint64_t row)
{
    const uint8_t *values = col->buffers[1];
    if (c->kind == WI_KIND_FIXED) {
        return mix_bytes(h, values + row * c->width, c->width);
    }
    if (c->kind == WI_KIND_BITS) {
        return mix(h, values[row / 8] >> (row % 8) & 1);
    }
    int32_t at[2];
    memcpy(at, values + row * 4, sizeof(at));
    const uint8_t *bytes = col->buffers[2];
    return mix_bytes(h, bytes + at[0], (uint64_t)(at[1] - at[0]));
}

/* The values of the bounds, which the partition has checked. Of null values
 * only the validity counts. */
static uint64_t mix_bounds(uint64_t h, const struct wi_schema *s,
                           const struct weir_shuffle_params *p)
{
    const struct ArrowArray *b =
        p->partitioning == WEIR_RANGE ? p->bounds : NULL;
    for (int64_t k = 0; b != NULL && k < b->n_children; k++) {
        const struct wi_column *c = &s->columns[wi_schema_find(s, p->keys[k])];
        const struct ArrowArray *col = b->children[k];
        const uint8_t *valid = col->buffers[0];
        for (int64_t i = 0; i < b->length; i++) {
            uint64_t row = (uint64_t)(b->offset + col->offset + i);
            bool null = valid != NULL && (valid[row / 8] >> (row % 8) & 1) == 0;
            h = mix(h, null);
            h = null ? h : mix_value(h, c, col, row);
        }
    }
    return h;
}

static uint64_t fingerprint(const struct weir_shuffle *s,
                            const struct weir_shuffle_params *p)
{
    uint64_t h = mix(0xcbf29ce484222325ull, s->schema->fingerprint);
    h = mix(h, (uint64_t)s->kind);
    h = mix(h, p->seed);
    h = mix(h, s->n_dest);
    h = mix(h, s->n_sources);
    h = mix(h, s->producer_workers);
    h = mix(h, s->consumer_workers);
    h = s->to_node ? mix(h, 1) : h; /* older versions know no other */
    h = mix_bounds(h, s->schema, p);
    h = mix_list(h, s->producers, s->n_producers);
    h = mix_list(h, s->consumers, s->n_consumers);
    for (uint32_t i = 0; i < p->n_keys; i++) {
        h = mix(h, (uint64_t)wi_schema_find(s->schema, p->keys[i]));
    }
    return h;
}

/* ---- opening ------------------------------------------------------------- */

/* The given list of members, checked; else all members of the query. */
static weir_err copy_members(const struct weir_query *q, const uint32_t *list,
                             uint32_t n, uint32_t **out, uint32_t *n_out,
                             struct weir_error *err)
{
    const uint32_t *from = n != 0 ? list : q->members;
    uint32_t count = n != 0 ? n : q->n_members;
    *out = calloc(count, sizeof(**out));
    if (*out == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u members",
                       count);
    }
    *n_out = count;
    for (uint32_t i = 0; i < count; i++) {
        bool known = false;
        for (uint32_t k = 0; k < q->n_members; k++) {
            known = known || q->members[k] == from[i];
        }
        for (uint32_t k = 0; k < i; k++) {
            known = known && (*out)[k] != from[i];
        }
        if (!known) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "member %u is not in query %" PRIu64
                           ", or is listed twice",
                           from[i], q->id);
        }
        (*out)[i] = from[i];
    }
    return WEIR_OK;
}

static void count_ends(struct weir_shuffle *s)
{
    uint32_t self = s->query->engine->self;
    for (uint32_t i = 0; i < s->n_consumers; i++) {
        if (s->consumers[i] == self) {
            s->self_consumes = true;
            s->first_dest = s->n_dest;
        }
        s->n_dest += wi_shuffle_dests(s, s->consumers[i]);
    }
    for (uint32_t i = 0; i < s->n_producers; i++) {
        s->self_produces = s->self_produces || s->producers[i] == self;
        s->n_sources +=
            wi_shuffle_workers(s, s->producers[i], s->producer_workers);
    }
}

static weir_err open_common(struct weir_shuffle *s, struct weir_error *err)
{
    struct wi_engine *e = s->query->engine;
    if (!s->to_node || !s->self_consumes) {
        return WEIR_OK;
    }
    s->common = wi_common_open(
        e, s->n_sources, wi_shuffle_workers(s, e->self, s->consumer_workers));
    return s->common != NULL
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a shuffle");
}

static weir_err open_partitions(struct weir_shuffle *s,
                                const struct weir_shuffle_params *p,
                                struct weir_error *err)
{
    uint32_t workers = s->query->engine->cfg.workers;
    struct wi_partition_params pp = {
        .kind = s->kind,
        .n_dest = s->n_dest,
        .keys = p->keys,
        .n_keys = p->n_keys,
        .seed = p->seed,
        .bounds = p->bounds,
    };
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < workers; i++) {
        rc = wi_partition_open(s->schema, &pp, &s->partitions[i], err);
    }
    return rc;
}

/* The partitions have checked that they are there. */
static weir_err keep_keys(struct weir_shuffle *s,
                          const struct weir_shuffle_params *p,
                          struct weir_error *err)
{
    if (s->kind != WEIR_HASH) {
        return WEIR_OK;
    }
    s->key_columns = calloc(p->n_keys, sizeof(*s->key_columns));
    if (s->key_columns == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a shuffle");
    }
    s->n_keys = p->n_keys;
    for (uint32_t i = 0; i < p->n_keys; i++) {
        s->key_columns[i] = (uint32_t)wi_schema_find(s->schema, p->keys[i]);
    }
    return WEIR_OK;
}

static void name_keys(struct weir_shuffle *s,
                      const struct weir_shuffle_params *p)
{
    size_t at = 0;
    for (uint32_t i = 0; i < p->n_keys && at < sizeof(s->keys); i++) {
        at += (size_t)snprintf(s->keys + at, sizeof(s->keys) - at, "%s%s",
                               i == 0 ? " by " : ",", p->keys[i]);
    }
}

static weir_err fill(struct weir_shuffle *s,
                     const struct weir_shuffle_params *p,
                     struct weir_error *err)
{
    uint32_t workers = s->query->engine->cfg.workers;
    bool gather = p->partitioning == WEIR_GATHER;
    s->id = p->id;
    s->to_node = p->to == WEIR_TO_NODE;
    s->kind = p->partitioning;
    s->seed = p->seed;
    s->producer_workers = p->producer_workers;
    s->consumer_workers = gather ? 1 : p->consumer_workers;
    s->partitions = calloc(workers, sizeof(struct wi_partition *));
    s->writers = calloc(workers, sizeof(struct weir_writer *));
    s->readers = calloc(workers, sizeof(struct weir_reader *));
    if (s->partitions == NULL || s->writers == NULL || s->readers == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a shuffle");
    }
    weir_err rc = wi_schema_open(p->schema, &s->schema, err);
    if (rc == WEIR_OK) {
        rc = copy_members(s->query, p->producers, p->n_producers, &s->producers,
                          &s->n_producers, err);
    }
    if (rc == WEIR_OK) {
        rc = copy_members(s->query, p->consumers, p->n_consumers, &s->consumers,
                          &s->n_consumers, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    s->n_consumers = gather ? 1 : s->n_consumers;
    count_ends(s);
    rc = open_common(s, err);
    rc = rc == WEIR_OK ? open_partitions(s, p, err) : rc;
    rc = rc == WEIR_OK ? keep_keys(s, p, err) : rc;
    if (rc == WEIR_OK) { /* the keys are there */
        s->fingerprint = fingerprint(s, p);
        name_keys(s, p);
    }
    if (p->name != NULL && p->name[0] != '\0') {
        (void)snprintf(s->name, sizeof(s->name), " \"%.63s\"", p->name);
    }
    return rc;
}

static weir_err check_room(struct weir_query *q, uint32_t id,
                           struct weir_error *err)
{
    struct wi_engine *e = q->engine;
    weir_err rc = weir_query_status(q, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (wi_shuffle_find(q, id) != NULL) {
        return wi_fail(err, WEIR_ERR_DUPLICATE,
                       "shuffle %u of query %" PRIu64 " is open already", id,
                       q->id);
    }
    uint32_t *opened =
        realloc(q->opened, (q->n_opened + 1) * sizeof(*q->opened));
    if (opened == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a shuffle");
    }
    q->opened = opened;
    if (e->open_shuffles >= e->cfg.max_shuffles && !e->unlimited) {
        return wi_fail(err, WEIR_ERR_BUDGET,
                       "%u shuffles are open on %s, the memory plan is for "
                       "max_shuffles = %u: raise it",
                       e->open_shuffles, e->name, e->cfg.max_shuffles);
    }
    return WEIR_OK;
}

static weir_err check_params(const struct weir_shuffle_params *p,
                             struct weir_error *err)
{
    if (wi_partitioning_name(p->partitioning) == NULL) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "shuffle %u: partitioning = %d is not one of "
                       "weir/shuffle.h",
                       p->id, (int)p->partitioning);
    }
    if (p->to != WEIR_TO_WORKER && p->to != WEIR_TO_NODE) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "shuffle %u: to = %d is not one of weir/shuffle.h",
                       p->id, (int)p->to);
    }
    weir_err rc = p->schema != NULL ? WEIR_OK : wi_fail_null(err, "schema");
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = wi_check_list(err, p->keys, p->n_keys, "keys");
    if (rc == WEIR_OK) {
        rc = wi_check_list(err, p->producers, p->n_producers, "producers");
    }
    if (rc == WEIR_OK) {
        rc = wi_check_list(err, p->consumers, p->n_consumers, "consumers");
    }
    for (size_t i = 0; i < WI_ARRAY_LEN(p->reserved); i++) {
        if (p->reserved[i] != 0 || p->reserved_to != 0) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "shuffle %u: reserved[%zu] is not zero", p->id, i);
        }
    }
    return rc;
}

/* Writers and readers that this node is to open. */
static uint32_t ends_here(const struct weir_shuffle *s)
{
    uint32_t self = s->query->engine->self;
    uint32_t n = 0;
    if (s->self_produces) {
        n += wi_shuffle_workers(s, self, s->producer_workers);
    }
    if (s->self_consumes) {
        n += wi_shuffle_workers(s, self, s->consumer_workers);
    }
    return n;
}

weir_err weir_shuffle_open(weir_query *query,
                           const struct weir_shuffle_params *params,
                           weir_shuffle **shuffle_out, struct weir_error *err)
{
    struct weir_error why; /* for the other members */
    weir_err rc =
        wi_check_args(err, WI_ARG(query), WI_ARG(params), WI_ARG(shuffle_out));
    rc = rc == WEIR_OK ? wi_engine_check_own(query->engine, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    err = err != NULL ? err : &why;
    wi_node_lock(query->node);
    struct weir_shuffle *s = NULL;
    rc = check_params(params, err);
    if (rc == WEIR_OK) {
        rc = check_room(query, params->id, err);
    }
    if (rc == WEIR_OK) {
        s = calloc(1, sizeof(*s));
        rc =
            s != NULL ? WEIR_OK : wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory");
    }
    if (rc == WEIR_OK) {
        s->query = query;
        s->opened_ns = query->engine->now_ns;
        wi_list_init(&s->on_query);
        rc = fill(s, params, err);
    }
    if (rc == WEIR_OK) {
        wi_list_push_back(&query->shuffles, &s->on_query);
        s->counted = true;
        query->engine->open_shuffles++;
        query->opened[query->n_opened++] = s->id;
        query->unopened += ends_here(s);
        wi_shuffle_announce(s);
        wi_query_opened(query, WI_PART_SHUFFLE, s->id, 0);
        *shuffle_out = s;
    } else if (s != NULL) {
        wi_shuffle_free(s);
    }
    if (rc != WEIR_OK && wi_shuffle_find(query, params->id) == NULL) {
        wi_query_refused(query, WI_PART_SHUFFLE, params->id, 0, err);
    }
    wi_node_unlock(query->node);
    return rc;
}
