/* SPDX-License-Identifier: Apache-2.0 */
/* The right side of a join. It is indexed once, when all its rows are there and
 * their number and the ranges of their keys are known. */
#include "operators/op/join_table.h"

#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"

enum {
    BUILD_CHUNKS = 16, /* built by one call */
    /* An array takes 4 bytes per code, an index 16 to 32 bytes per row: up to
     * 8 codes per row the array is no larger. */
    CODES_PER_ROW = 8,
    CODES_AT_LEAST = 1 << 16, /* below it the size does not matter */
    CODES_AT_MOST = 1 << 30,
};

/* The columns that are kept, named as the store has them. */
static weir_err init_store(struct wi_join_table *t, struct weir_error *err)
{
    const struct wi_join_params *p = t->p;
    struct wi_columns kept = {0};
    kept.n = p->n_keys + p->n_right_out;
    kept.at = calloc(kept.n, sizeof(*kept.at));
    if (kept.at == NULL) {
        return wi_exec_no_memory(err, kept.n * sizeof(*kept.at));
    }
    for (uint32_t k = 0; k < p->n_keys; k++) {
        kept.at[k] = p->right->at[p->right_keys[k]];
    }
    for (uint32_t c = 0; c < p->n_right_out; c++) {
        kept.at[p->n_keys + c] = p->right->at[p->right_out[c]];
    }
    weir_err code = wi_store_init(&t->store, &kept, t->mem, err);
    free(kept.at);
    return code;
}

weir_err wi_join_table_init(struct wi_join_table *table,
                            const struct wi_join_params *p,
                            struct wi_op_mem *mem, struct weir_error *err)
{
    uint32_t n_cols = p->n_keys + p->n_right_out;
    table->p = p;
    table->mem = mem;
    table->index.mem = mem;
    table->suits_dense = wi_dense_suits(p->right, p->right_keys, p->n_keys);
    table->cols = calloc(n_cols, sizeof(*table->cols));
    table->key_cols = calloc(p->n_keys, sizeof(*table->key_cols));
    if (table->cols == NULL || table->key_cols == NULL) {
        return wi_exec_no_memory(err, n_cols * sizeof(*table->cols));
    }
    for (uint32_t k = 0; k < p->n_keys; k++) {
        table->key_cols[k] = k;
    }
    return init_store(table, err);
}

void wi_join_table_fini(struct wi_join_table *table)
{
    if (table->heads != NULL) {
        wi_mem_put(table->mem, table->heads,
                   (table->dense.n_codes + 1) * sizeof(*table->heads));
        table->heads = NULL;
    }
    if (table->next != NULL) {
        wi_mem_put(table->mem, table->next,
                   table->n_next * sizeof(*table->next));
        table->next = NULL;
    }
    wi_index_fini(&table->index);
    wi_store_fini(&table->store);
    free(table->cols);
    free(table->key_cols);
    table->cols = NULL;
    table->key_cols = NULL;
}

/* ---- add ----------------------------------------------------------------- */

/* Rows without a null key: their numbers and positions. Returns how many. */
static uint32_t rows_with_keys(const struct wi_chunk *chunk,
                               const uint32_t *keys, uint32_t n_keys,
                               uint32_t *rows_out, bool positions)
{
    uint32_t n = chunk->n;
    for (uint32_t i = 0; i < n; i++) {
        rows_out[i] = i;
    }
    for (uint32_t k = 0; k < n_keys; k++) {
        const uint8_t *null = chunk->col[keys[k]].null;
        uint32_t kept = 0;
        for (uint32_t i = 0; null != NULL && i < n; i++) {
            uint32_t row = rows_out[i];
            rows_out[kept] = row;
            kept += !null[wi_chunk_pos(chunk, row)];
        }
        n = null != NULL ? kept : n;
    }
    for (uint32_t i = 0; positions && i < n; i++) {
        rows_out[i] = wi_chunk_pos(chunk, rows_out[i]);
    }
    return n;
}

static bool any_null_vector(const struct wi_chunk *chunk, const uint32_t *keys,
                            uint32_t n_keys)
{
    for (uint32_t k = 0; k < n_keys; k++) {
        if (chunk->col[keys[k]].null != NULL) {
            return true;
        }
    }
    return false;
}

weir_err wi_join_table_add(struct wi_join_table *table,
                           const struct wi_chunk *chunk, struct weir_error *err)
{
    const struct wi_join_params *p = table->p;
    struct wi_chunk kept = {chunk->n, p->n_keys + p->n_right_out, chunk->sel,
                            table->cols};
    for (uint32_t k = 0; k < p->n_keys; k++) {
        kept.col[k] = chunk->col[p->right_keys[k]];
    }
    for (uint32_t c = 0; c < p->n_right_out; c++) {
        kept.col[p->n_keys + c] = chunk->col[p->right_out[c]];
    }
    if (any_null_vector(&kept, table->key_cols, p->n_keys)) {
        kept.n =
            rows_with_keys(chunk, p->right_keys, p->n_keys, table->rows, true);
        kept.sel = table->rows;
    }
    for (uint32_t k = 0; k < p->n_keys; k++) {
        kept.col[k].null = NULL;
    }
    if (table->suits_dense) {
        wi_dense_widen(table->range, &kept, table->key_cols, p->n_keys);
    }
    return wi_store_append(&table->store, &kept, err);
}

/* ---- build --------------------------------------------------------------- */

static weir_err take_rows(struct wi_join_table *t, uint64_t n, uint32_t **out,
                          struct weir_error *err)
{
    void *at = NULL;
    weir_err code = wi_mem_take(t->mem, n * sizeof(**out), &at, err);
    if (code == WEIR_OK) {
        memset(at, 0xff, n * sizeof(**out)); /* WI_NOWHERE */
        *out = at;
    }
    return code;
}

static weir_err begin_build(struct wi_join_table *t, struct weir_error *err)
{
    uint64_t most = CODES_PER_ROW * t->store.n;
    most = most < CODES_AT_LEAST ? CODES_AT_LEAST : most;
    most = most > CODES_AT_MOST ? CODES_AT_MOST : most;
    t->is_dense = t->suits_dense &&
                  wi_dense_init(&t->dense, t->range, t->p->n_keys, most);
    if (!t->is_dense) {
        return wi_index_reserve(&t->index, t->store.n, err);
    }
    return take_rows(t, t->dense.n_codes + 1, &t->heads, err);
}

/* Put `row` into the list of `head`, which has the same key. */
static weir_err chain(struct wi_join_table *t, uint32_t head, uint32_t row,
                      struct weir_error *err)
{
    if (t->next == NULL) {
        t->n_next = t->store.n;
        weir_err code = take_rows(t, t->n_next, &t->next, err);
        if (code != WEIR_OK) {
            return code;
        }
    }
    t->next[row] = t->next[head];
    t->next[head] = row;
    return WEIR_OK;
}

static void find_heads_dense(struct wi_join_table *t,
                             const struct wi_chunk *chunk, uint32_t first)
{
    uint32_t *code = t->rows;
    (void)wi_dense_codes(&t->dense, chunk, t->key_cols, false, code);
    for (uint32_t i = 0; i < chunk->n; i++) {
        uint32_t head = t->heads[code[i]];
        head = head == WI_NOWHERE ? first + i : head;
        t->heads[code[i]] = head;
        t->number[i] = head;
    }
}

static void find_heads_hash(struct wi_join_table *t,
                            const struct wi_chunk *chunk, uint32_t first)
{
    const struct wi_match match = {.chunk = chunk,
                                   .store = &t->store,
                                   .chunk_cols = t->key_cols,
                                   .store_cols = t->key_cols,
                                   .n_cols = t->p->n_keys};
    wi_hash_rows(chunk, t->key_cols, t->p->n_keys, t->probe.hash);
    wi_probe_begin(&t->index, &t->probe, NULL, chunk->n);
    do {
        wi_index_walk(&t->index, &t->probe, WI_CLAIM_BY_ROW, first, t->number);
    } while (wi_probe_settle(&t->probe, &match, t->number));
}

static weir_err build_chunk(struct wi_join_table *t, struct weir_error *err)
{
    struct wi_chunk chunk;
    uint32_t first = (uint32_t)t->n_built;
    uint64_t left = t->store.n - t->n_built;
    uint32_t n = left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS;
    wi_store_slice(&t->store, first, n, t->cols, &chunk);
    if (t->is_dense) {
        find_heads_dense(t, &chunk, first);
    } else {
        find_heads_hash(t, &chunk, first);
    }
    /* These only ask whether there is a row with the key. */
    bool once = t->p->where == NULL &&
                (t->p->kind == WEIR_JOIN_SEMI || t->p->kind == WEIR_JOIN_ANTI);
    for (uint32_t i = 0; !once && i < n; i++) {
        if (t->number[i] != first + i) {
            weir_err code = chain(t, t->number[i], first + i, err);
            if (code != WEIR_OK) {
                return code;
            }
        }
    }
    t->n_built += n;
    return WEIR_OK;
}

weir_err wi_join_table_build(struct wi_join_table *table,
                             struct weir_error *err)
{
    weir_err code = WEIR_OK;
    if (table->n_built == 0 && table->store.n > 0) {
        code = begin_build(table, err);
    }
    for (uint32_t i = 0;
         i < BUILD_CHUNKS && code == WEIR_OK && table->n_built < table->store.n;
         i++) {
        code = build_chunk(table, err);
    }
    return code;
}

/* ---- find ---------------------------------------------------------------- */

static void find_by_hash(struct wi_join_table *t, const struct wi_chunk *chunk,
                         uint32_t *head_out)
{
    const struct wi_join_params *p = t->p;
    const struct wi_match match = {.chunk = chunk,
                                   .store = &t->store,
                                   .chunk_cols = p->left_keys,
                                   .store_cols = t->key_cols,
                                   .n_cols = p->n_keys};
    uint32_t n = chunk->n;
    const uint32_t *rows = NULL;
    if (any_null_vector(chunk, p->left_keys, p->n_keys)) {
        n = rows_with_keys(chunk, p->left_keys, p->n_keys, t->rows, false);
        rows = t->rows;
        memset(head_out, 0xff, chunk->n * sizeof(*head_out));
    }
    wi_hash_rows(chunk, p->left_keys, p->n_keys, t->probe.hash);
    wi_probe_begin(&t->index, &t->probe, rows, n);
    wi_index_find(&t->index, &t->probe, &match, head_out);
}

static void find_by_runs(struct wi_join_table *t, const struct wi_chunk *chunk,
                         uint32_t *head_out)
{
    struct wi_chunk first;
    if (!wi_runs_take(&t->runs, chunk, t->p->left_keys, t->p->n_keys, &first)) {
        find_by_hash(t, chunk, head_out);
        return;
    }
    find_by_hash(t, &first, t->runs.number);
    wi_runs_spread(&t->runs, head_out);
}

/* The commonest join: one key, never null, whose code is its distance from the
 * least one. What lies outside has the code that no row has. */
static void find_by_distance(const struct wi_join_table *t,
                             const struct wi_chunk *chunk, uint32_t *head_out)
{
    const int64_t *v = wi_vec_i64(&chunk->col[t->p->left_keys[0]]);
    const uint32_t *heads = t->heads;
    const uint32_t *sel = chunk->sel;
    uint64_t least = (uint64_t)t->dense.range[0].least;
    uint64_t outside = t->dense.n_codes;
    for (uint32_t i = 0; i < chunk->n; i++) {
        uint64_t code = (uint64_t)v[sel == NULL ? i : sel[i]] - least;
        head_out[i] = heads[code < outside ? code : outside];
    }
}

void wi_join_table_find(struct wi_join_table *table,
                        const struct wi_chunk *chunk, uint32_t *head_out)
{
    if (table->store.n == 0) {
        memset(head_out, 0xff, chunk->n * sizeof(*head_out));
        return;
    }
    if (!table->is_dense) {
        find_by_runs(table, chunk, head_out);
        return;
    }
    if (table->p->n_keys == 1 &&
        chunk->col[table->p->left_keys[0]].null == NULL) {
        find_by_distance(table, chunk, head_out);
        return;
    }
    (void)wi_dense_codes(&table->dense, chunk, table->p->left_keys, false,
                         table->rows);
    for (uint32_t i = 0; i < chunk->n; i++) {
        head_out[i] = table->heads[table->rows[i]];
    }
}
