/* SPDX-License-Identifier: Apache-2.0 */
/* Groups. */
#include "operators/op/groups.h"

#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"

/* The array of codes fits a core's level 2 cache. */
enum { CODES_AT_MOST = 1 << 16 };

static weir_err init_store(struct wi_groups *g, const struct wi_columns *in,
                           struct weir_error *err)
{
    struct wi_columns kept = {0};
    kept.n = g->n_keys;
    kept.at = calloc(g->n_keys, sizeof(*kept.at));
    if (kept.at == NULL) {
        return wi_exec_no_memory(err, g->n_keys * sizeof(*kept.at));
    }
    for (uint32_t k = 0; k < g->n_keys; k++) {
        kept.at[k] = in->at[g->keys[k]];
    }
    weir_err code = wi_store_init(&g->store, &kept, g->mem, err);
    free(kept.at);
    return code;
}

weir_err wi_groups_init(struct wi_groups *groups, const struct wi_columns *in,
                        const uint32_t *keys, uint32_t n_keys,
                        struct wi_op_mem *mem, struct weir_error *err)
{
    groups->mem = mem;
    groups->index.mem = mem;
    groups->keys = keys;
    groups->n_keys = n_keys;
    groups->suits_dense = wi_dense_suits(in, keys, n_keys);
    groups->is_dense = groups->suits_dense;
    groups->cols = calloc(n_keys, sizeof(*groups->cols));
    groups->store_cols = calloc(n_keys, sizeof(*groups->store_cols));
    if (groups->cols == NULL || groups->store_cols == NULL) {
        return wi_exec_no_memory(err, n_keys * sizeof(*groups->cols));
    }
    for (uint32_t k = 0; k < n_keys; k++) {
        groups->store_cols[k] = k;
    }
    return init_store(groups, in, err);
}

static void drop_map(struct wi_groups *g)
{
    if (g->map != NULL) {
        wi_mem_put(g->mem, g->map, g->dense.n_codes * sizeof(*g->map));
        g->map = NULL;
    }
}

void wi_groups_fini(struct wi_groups *groups)
{
    drop_map(groups);
    wi_index_fini(&groups->index);
    wi_store_fini(&groups->store);
    free(groups->cols);
    free(groups->store_cols);
    groups->cols = NULL;
    groups->store_cols = NULL;
}

void wi_groups_clear(struct wi_groups *groups, bool free_memory)
{
    wi_store_clear(&groups->store);
    if (free_memory) {
        wi_store_trim(&groups->store);
        wi_index_fini(&groups->index);
        drop_map(groups);
        groups->is_dense = groups->suits_dense;
        memset(groups->range, 0, sizeof(groups->range));
        return;
    }
    wi_index_clear(&groups->index);
    if (groups->map != NULL) {
        memset(groups->map, 0xff, groups->dense.n_codes * sizeof(*groups->map));
    }
}

/* Of the numbers that are one key, which comes first is chance: keep 0 of 0 and
 * -0, and one NaN. */
static void settle_floats(struct wi_groups *g, uint64_t first)
{
    for (uint32_t k = 0; k < g->n_keys; k++) {
        if (g->store.col[k].rep == WI_F64) {
            wi_f64_settle((double *)g->store.col[k].values + first,
                          g->store.n - first);
        }
    }
}

/* Keep the keys of these rows as the next groups. */
static weir_err add_groups(struct wi_groups *g, const struct wi_chunk *chunk,
                           const uint32_t *rows, uint32_t n,
                           struct weir_error *err)
{
    struct wi_chunk kept = {n, g->n_keys, g->pos, g->cols};
    for (uint32_t k = 0; k < g->n_keys; k++) {
        kept.col[k] = chunk->col[g->keys[k]];
    }
    for (uint32_t i = 0; i < n; i++) {
        g->pos[i] = wi_chunk_pos(chunk, rows[i]);
    }
    const uint64_t first = g->store.n;
    weir_err code = n == 0 ? WEIR_OK : wi_store_append(&g->store, &kept, err);
    if (code == WEIR_OK) {
        settle_floats(g, first);
    }
    return code;
}

/* ---- by code ------------------------------------------------------------- */

/* Some room above, so that keys that grow do not need a new array each time. */
static bool init_wider(struct wi_dense *dense,
                       const struct wi_key_range *ranges, uint32_t n_keys)
{
    struct wi_key_range wider[WI_DENSE_KEYS];
    for (uint32_t k = 0; k < n_keys; k++) {
        uint64_t n = 1;
        while (n < ranges[k].n_values && n < CODES_AT_MOST) {
            n = 2 * n + 1;
        }
        wider[k] = ranges[k];
        wider[k].n_values = n < ranges[k].n_values ? ranges[k].n_values : n;
    }
    return wi_dense_init(dense, wider, n_keys, CODES_AT_MOST);
}

static void map_groups(struct wi_groups *g)
{
    for (uint64_t first = 0; first < g->store.n; first += WI_CHUNK_ROWS) {
        uint64_t left = g->store.n - first;
        struct wi_chunk slice;
        wi_store_slice(&g->store, first,
                       left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS,
                       g->cols, &slice);
        (void)wi_dense_codes(&g->dense, &slice, g->store_cols, true, g->code);
        for (uint32_t i = 0; i < slice.n; i++) {
            g->map[g->code[i]] = (uint32_t)first + i;
        }
    }
}

/* Widen the codes to this chunk's keys; is_dense becomes false if there would
 * be too many. */
static weir_err widen_codes(struct wi_groups *g, const struct wi_chunk *chunk,
                            struct weir_error *err)
{
    struct wi_dense dense;
    wi_dense_widen(g->range, chunk, g->keys, g->n_keys);
    g->is_dense = init_wider(&dense, g->range, g->n_keys) ||
                  wi_dense_init(&dense, g->range, g->n_keys, CODES_AT_MOST);
    drop_map(g);
    if (!g->is_dense) {
        return WEIR_OK;
    }
    void *at = NULL;
    size_t n_bytes = dense.n_codes * sizeof(*g->map);
    weir_err code = wi_mem_take(g->mem, n_bytes, &at, err);
    if (code != WEIR_OK) {
        return code;
    }
    memset(at, 0xff, n_bytes); /* WI_NOWHERE */
    g->map = at;
    g->dense = dense;
    map_groups(g);
    return WEIR_OK;
}

static weir_err find_by_code(struct wi_groups *g, const struct wi_chunk *chunk,
                             uint32_t *number_out, struct weir_error *err)
{
    uint32_t *map = g->map;
    uint32_t *fresh = g->probe.claimed;
    uint32_t n_fresh = 0;
    uint32_t first = (uint32_t)g->store.n;
    for (uint32_t i = 0; i < chunk->n; i++) {
        uint32_t number = map[g->code[i]];
        if (number == WI_NOWHERE) {
            number = first + n_fresh;
            map[g->code[i]] = number;
            fresh[n_fresh++] = i;
        }
        number_out[i] = number;
    }
    return add_groups(g, chunk, fresh, n_fresh, err);
}

/* ---- by hash ------------------------------------------------------------- */

static weir_err find_by_hash(struct wi_groups *g, const struct wi_chunk *chunk,
                             uint32_t *number_out, struct weir_error *err)
{
    const struct wi_match match = {.chunk = chunk,
                                   .store = &g->store,
                                   .chunk_cols = g->keys,
                                   .store_cols = g->store_cols,
                                   .n_cols = g->n_keys,
                                   .nulls_equal = true};
    weir_err code = wi_index_reserve(&g->index, g->store.n + chunk->n, err);
    if (code != WEIR_OK) {
        return code;
    }
    wi_hash_rows(chunk, g->keys, g->n_keys, g->probe.hash);
    wi_probe_begin(&g->index, &g->probe, NULL, chunk->n);
    do {
        wi_index_walk(&g->index, &g->probe, WI_CLAIM_NEXT, (uint32_t)g->store.n,
                      number_out);
        code = add_groups(g, chunk, g->probe.claimed, g->probe.n_claimed, err);
        if (code != WEIR_OK) {
            return code;
        }
    } while (wi_probe_settle(&g->probe, &match, number_out));
    return WEIR_OK;
}

static weir_err find_by_runs(struct wi_groups *g, const struct wi_chunk *chunk,
                             uint32_t *number_out, struct weir_error *err)
{
    struct wi_chunk first;
    if (!wi_runs_take(&g->runs, chunk, g->keys, g->n_keys, &first)) {
        return find_by_hash(g, chunk, number_out, err);
    }
    weir_err code = find_by_hash(g, &first, g->runs.number, err);
    if (code == WEIR_OK) {
        wi_runs_spread(&g->runs, number_out);
    }
    return code;
}

/* Change from codes to an index, with all groups so far. */
static weir_err index_groups(struct wi_groups *g, struct weir_error *err)
{
    weir_err code = wi_index_reserve(&g->index, g->store.n, err);
    for (uint64_t first = 0; code == WEIR_OK && first < g->store.n;
         first += WI_CHUNK_ROWS) {
        uint64_t left = g->store.n - first;
        struct wi_chunk slice;
        wi_store_slice(&g->store, first,
                       left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS,
                       g->cols, &slice);
        const struct wi_match match = {.chunk = &slice,
                                       .store = &g->store,
                                       .chunk_cols = g->store_cols,
                                       .store_cols = g->store_cols,
                                       .n_cols = g->n_keys,
                                       .nulls_equal = true};
        wi_hash_rows(&slice, g->store_cols, g->n_keys, g->probe.hash);
        wi_probe_begin(&g->index, &g->probe, NULL, slice.n);
        do {
            wi_index_walk(&g->index, &g->probe, WI_CLAIM_BY_ROW,
                          (uint32_t)first, g->code);
        } while (wi_probe_settle(&g->probe, &match, g->code));
    }
    return code;
}

weir_err wi_groups_find(struct wi_groups *groups, const struct wi_chunk *chunk,
                        uint32_t *number_out, struct weir_error *err)
{
    if (!groups->is_dense) {
        return find_by_runs(groups, chunk, number_out, err);
    }
    if (groups->map == NULL ||
        !wi_dense_codes(&groups->dense, chunk, groups->keys, true,
                        groups->code)) {
        weir_err code = widen_codes(groups, chunk, err);
        if (code == WEIR_OK && !groups->is_dense) {
            code = index_groups(groups, err);
        }
        if (code != WEIR_OK) {
            return code;
        }
        return wi_groups_find(groups, chunk, number_out, err);
    }
    return find_by_code(groups, chunk, number_out, err);
}
