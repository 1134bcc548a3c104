/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partitions: opening, and splits by what no key decides.
 */
#include "core/partition/partition.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/partition/partition_hash.h"
#include "core/partition/partition_impl.h"
#include "core/partition/partition_lists.h"
#include "core/partition/partition_range.h"

enum { MAX_DEST = 65536 };

#define GOLDEN 0x9e3779b97f4a7c15u /* splitmix64's step */

/* ---- opening ------------------------------------------------------------- */

const char *wi_partitioning_name(weir_partitioning kind)
{
    switch (kind) { /* no default: the compiler finds a missing one */
    case WEIR_HASH:
        return "hash";
    case WEIR_RANGE:
        return "range";
    case WEIR_ROUND_ROBIN:
        return "round robin";
    case WEIR_RANDOM:
        return "random";
    case WEIR_BROADCAST:
        return "broadcast";
    case WEIR_GATHER:
        return "gather";
    case WEIR_VECTOR:
        return "vector";
    }
    return NULL;
}

static bool has_keys(weir_partitioning kind)
{
    return kind == WEIR_HASH || kind == WEIR_RANGE;
}

/* One list of all rows serves every destination. */
static bool is_whole(const struct wi_partition *p)
{
    return p->n_dest == 1 || p->kind == WEIR_BROADCAST ||
           p->kind == WEIR_GATHER;
}

static weir_err check_params(const struct wi_partition_params *params,
                             struct weir_error *err)
{
    if (params->n_dest < 1 || params->n_dest > MAX_DEST) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "partitioning: %u destinations; 1 to %d are supported",
                       params->n_dest, (int)MAX_DEST);
    }
    if (wi_partitioning_name(params->kind) == NULL) {
        return wi_fail(err, WEIR_ERR_ARG, "partitioning: unknown kind %d",
                       (int)params->kind);
    }
    if (has_keys(params->kind) &&
        (params->n_keys == 0 || params->keys == NULL)) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "partitioning: hash and range need key columns");
    }
    return WEIR_OK;
}

static weir_err find_keys(struct wi_partition *p,
                          const struct wi_partition_params *params,
                          struct weir_error *err)
{
    p->key_columns = calloc(params->n_keys, sizeof(uint32_t));
    if (p->key_columns == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "partitioning: no memory");
    }
    p->n_keys = params->n_keys;
    for (uint32_t k = 0; k < p->n_keys; k++) {
        const char *name = params->keys[k] == NULL ? "" : params->keys[k];
        int column = wi_schema_find(p->schema, name);
        if (column < 0) {
            char text[256];
            wi_schema_text(p->schema, text, sizeof(text));
            return wi_fail(err, WEIR_ERR_NOT_FOUND,
                           "partitioning: no key column \"%s\" among %s", name,
                           text);
        }
        if (p->schema->columns[column].order == WI_ORDER_NONE) {
            return wi_fail(err, WEIR_ERR_SCHEMA,
                           "partitioning: column \"%s\" has format \"%s\", "
                           "which cannot be a key",
                           name, p->schema->columns[column].format);
        }
        p->key_columns[k] = (uint32_t)column;
    }
    return WEIR_OK;
}

static weir_err open_lists(struct wi_partition *p, struct weir_error *err)
{
    size_t n_idx = is_whole(p) ? 1 : wi_lists_room(p->n_dest);
    p->idx = malloc(n_idx * sizeof(uint32_t));
    p->begin = calloc(p->n_dest, sizeof(uint32_t));
    p->count = calloc(p->n_dest, sizeof(uint32_t));
    if (p->idx == NULL || p->begin == NULL || p->count == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "partitioning: no memory for %u destinations",
                       p->n_dest);
    }
    for (uint32_t d = 0; !is_whole(p) && d < p->n_dest; d++) {
        p->begin[d] = p->n_dest <= WI_LISTS_DIRECT ? d * WI_LIST_STRIDE : 0;
    }
    return WEIR_OK;
}

weir_err wi_partition_open(const struct wi_schema *s,
                           const struct wi_partition_params *params,
                           struct wi_partition **out, struct weir_error *err)
{
    weir_err rc = check_params(params, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wi_partition *p =
        aligned_alloc(WI_CACHE_LINE, wi_align_up(sizeof(*p), WI_CACHE_LINE));
    if (p == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "partitioning: no memory");
    }
    memset(p, 0, sizeof(*p));
    p->schema = s;
    p->kind = params->kind;
    p->n_dest = params->n_dest;
    wi_partition_set_isa(p, wi_isa_best());
    p->seed = params->seed;
    p->k0 = wi_splitmix(p->seed);
    p->k1 = wi_splitmix(p->seed + 1) | 1;
    p->run_dest = (uint32_t)(p->seed % p->n_dest);
    p->run_left = WI_RUN_ROWS;

    rc = has_keys(p->kind) ? find_keys(p, params, err) : WEIR_OK;
    if (rc == WEIR_OK && p->kind == WEIR_RANGE) {
        rc = wi_bounds_open(s, p->key_columns, p->n_keys, p->n_dest,
                            params->bounds, &p->bounds, err);
    }
    rc = rc == WEIR_OK ? open_lists(p, err) : rc;
    if (rc != WEIR_OK) {
        wi_partition_close(p);
        return rc;
    }
    *out = p;
    return WEIR_OK;
}

void wi_partition_close(struct wi_partition *p)
{
    if (p == NULL) {
        return;
    }
    wi_bounds_close(p->bounds);
    free(p->key_columns);
    free(p->idx);
    free(p->begin);
    free(p->count);
    free(p);
}

void wi_partition_keep_hashes(struct wi_partition *p, uint64_t *hashes_out)
{
    p->hashes_out = hashes_out;
}

void wi_partition_set_isa(struct wi_partition *p, enum wi_isa isa)
{
    p->isa = isa;
    p->way = wi_way_of(isa, p->n_dest);
}

/* ---- destinations that no key decides ------------------------------------ */

static void random_split(struct wi_partition *p, uint32_t n)
{
    uint64_t state = p->k0;
    for (uint32_t i = 0; i < n; i += WI_KEY_BLOCK) {
        uint32_t rows = wi_min_u32(n - i, WI_KEY_BLOCK);
        for (uint32_t j = 0; j < rows; j++) {
            p->hashes[j] = wi_splitmix(state + p->counter++ * GOLDEN);
        }
        wi_hash_reduce(p, p->hashes, rows, p->dest + i);
    }
}

static void vector_split(struct wi_partition *p, const uint32_t *dest,
                         uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        p->dest[i] = (uint16_t)dest[i];
    }
}

/* Runs go straight to the lists. With more destinations than lists of full
 * length, no destination gets two runs of one split. */
static void round_robin_split(struct wi_partition *p, uint32_t first,
                              uint32_t n)
{
    _Static_assert(WI_SPLIT_ROWS / WI_RUN_ROWS + 1 < WI_LISTS_DIRECT, "runs");
    bool direct = p->n_dest <= WI_LISTS_DIRECT;
    uint32_t done = 0;

    memset(p->count, 0, p->n_dest * sizeof(uint32_t));
    while (done < n) {
        uint32_t d = p->run_dest;
        uint32_t rows = wi_min_u32(p->run_left, n - done);
        if (!direct) {
            p->begin[d] = done;
        }
        uint32_t *list = p->idx + p->begin[d] + p->count[d];
        for (uint32_t i = 0; i < rows; i++) {
            list[i] = first + done + i;
        }
        p->count[d] += rows;
        done += rows;
        p->run_left -= rows;
        if (p->run_left == 0 || done == n) {
            p->run_left = WI_RUN_ROWS;
            p->run_dest = d + 1 == p->n_dest ? 0 : d + 1;
        }
    }
}

/* ---- splits -------------------------------------------------------------- */

static void whole_split(struct wi_partition *p, uint32_t n)
{
    p->count[0] = n;
    for (uint32_t d = 1; d < p->n_dest; d++) {
        p->count[d] = p->kind == WEIR_BROADCAST ? n : 0;
    }
}

/* Destinations of rows to p->dest. False: of a kind that has none. */
static bool find_dest(struct wi_partition *p, const struct wi_view *views,
                      uint32_t first, uint32_t n, const uint32_t *dest)
{
    switch (p->kind) {
    case WEIR_HASH:
        if (p->hashes_out != NULL) {
            wi_partition_hashes(p, views, first, n, p->hashes_out);
            wi_hash_reduce(p, p->hashes_out, n, p->dest);
            return true;
        }
        wi_hash_split(p, views, first, n);
        return true;
    case WEIR_RANGE:
        wi_range_split(p, views, first, n);
        return true;
    case WEIR_RANDOM:
        random_split(p, n);
        return true;
    case WEIR_VECTOR:
        assert(dest != NULL);
        vector_split(p, dest + first, n);
        return true;
    case WEIR_ROUND_ROBIN:
    case WEIR_BROADCAST:
    case WEIR_GATHER:
        break;
    }
    return false;
}

static void make_split(struct wi_partition *p, const struct wi_view *views,
                       uint32_t first, uint32_t n, const uint32_t *dest)
{
    if (p->kind == WEIR_HASH && p->hashes_out == NULL &&
        wi_hash_lists(p, views, first, n)) {
        return;
    }
    if (find_dest(p, views, first, n, dest)) {
        p->way->lists(p, first, n);
    } else {
        round_robin_split(p, first, n);
    }
}

void wi_partition_split(struct wi_partition *p, const struct wi_view *views,
                        uint32_t first, uint32_t n, const uint32_t *dest,
                        struct wi_split *out)
{
    assert(n <= WI_SPLIT_ROWS);
    if (is_whole(p)) {
        whole_split(p, n);
        out->idx = NULL;
    } else {
        make_split(p, views, first, n, dest);
        out->idx = p->idx;
    }
    out->begin = p->begin;
    out->count = p->count;
    out->first = first;
    out->n = n;
}

const uint16_t *wi_partition_dest(struct wi_partition *p,
                                  const struct wi_view *views, uint32_t first,
                                  uint32_t n, const uint32_t *dest)
{
    assert(n <= WI_SPLIT_ROWS);
    return !is_whole(p) && find_dest(p, views, first, n, dest) ? p->dest : NULL;
}

void wi_partition_lists(struct wi_partition *p, uint32_t first, uint32_t n,
                        uint32_t skip, struct wi_split *out)
{
    assert(skip <= n);
    memmove(p->dest, p->dest + skip, (n - skip) * sizeof(p->dest[0]));
    p->way->lists(p, first + skip, n - skip);
    *out = (struct wi_split){.idx = p->idx,
                             .begin = p->begin,
                             .count = p->count,
                             .first = first + skip,
                             .n = n - skip};
}
