/* SPDX-License-Identifier: Apache-2.0 */
/* Stores. Each column is one array that doubles, so that rows are gathered by
 * number alone; strings lie in blocks of their own and never move. */
#include "operators/base/store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"

enum { FIRST_ROWS = 256 };

weir_err wi_store_init(struct wi_store *store, const struct wi_columns *columns,
                       struct wi_op_mem *mem, struct weir_error *err)
{
    memset(store, 0, sizeof(*store));
    store->mem = mem;
    store->text.mem = mem;
    store->n_cols = columns->n;
    store->col = calloc(columns->n + 1, sizeof(*store->col));
    store->room = calloc(columns->n + 1, sizeof(*store->room));
    if (store->col == NULL || store->room == NULL) {
        wi_store_fini(store);
        return wi_exec_no_memory(err, columns->n * sizeof(*store->col));
    }
    for (uint32_t c = 0; c < columns->n; c++) {
        store->col[c].rep = wi_type_rep(&columns->at[c].type);
    }
    return WEIR_OK;
}

void wi_store_trim(struct wi_store *store)
{
    for (uint32_t c = 0; c < store->n_cols; c++) {
        struct wi_vec *col = &store->col[c];
        struct wi_store_room *room = &store->room[c];
        if (room->values > 0) {
            wi_mem_put(store->mem, col->values,
                       room->values * wi_rep_bytes(col->rep));
        }
        if (room->nulls > 0) {
            wi_mem_put(store->mem, col->null, room->nulls);
        }
        *col = (struct wi_vec){.rep = col->rep};
        *room = (struct wi_store_room){0};
    }
}

void wi_store_fini(struct wi_store *store)
{
    if (store->col != NULL && store->room != NULL) {
        wi_text_fini(&store->text);
        wi_store_trim(store);
    }
    free(store->col);
    free(store->room);
    memset(store, 0, sizeof(*store));
}

void wi_store_clear(struct wi_store *store)
{
    store->n = 0;
    wi_text_fini(&store->text);
}

/* ---- append -------------------------------------------------------------- */

static weir_err grow(struct wi_store *store, void **at, uint64_t *room,
                     uint32_t bytes, uint64_t rows, struct weir_error *err)
{
    uint64_t wanted = *room == 0 ? FIRST_ROWS : *room;
    while (wanted < rows) {
        wanted *= 2;
    }
    if (wanted == *room) {
        return WEIR_OK;
    }
    weir_err code =
        wi_mem_grow(store->mem, at, *room * bytes, wanted * bytes, err);
    if (code == WEIR_OK) {
        *room = wanted;
    }
    return code;
}

static bool any_null(const uint8_t *null, const struct wi_chunk *chunk)
{
    uint8_t any = 0;
    for (uint32_t i = 0; i < chunk->n; i++) {
        any |= null[wi_chunk_pos(chunk, i)];
    }
    return any != 0;
}

/* Memory for `rows` rows of a column, and for their nulls once it has one. */
static weir_err reserve(struct wi_store *store, uint32_t c, uint64_t rows,
                        bool nulls, struct weir_error *err)
{
    struct wi_vec *col = &store->col[c];
    struct wi_store_room *room = &store->room[c];
    weir_err code = grow(store, &col->values, &room->values,
                         wi_rep_bytes(col->rep), rows, err);
    if (code != WEIR_OK || (!nulls && col->null == NULL)) {
        return code;
    }
    bool first = col->null == NULL;
    void *at = col->null;
    code = grow(store, &at, &room->nulls, 1, rows, err);
    col->null = at;
    if (code == WEIR_OK && first) {
        memset(at, 0, store->n);
    }
    return code;
}

/* `bytes` is a constant wherever this is inlined. */
static inline __attribute__((always_inline)) void
copy_rows(char *out, const char *in, const struct wi_chunk *chunk, size_t bytes)
{
    if (chunk->sel == NULL) {
        memcpy(out, in, chunk->n * bytes);
        return;
    }
    for (uint32_t i = 0; i < chunk->n; i++) {
        memcpy(out + i * bytes, in + chunk->sel[i] * bytes, bytes);
    }
}

static weir_err copy_strings(struct wi_store *store, uint32_t c,
                             const struct wi_chunk *chunk,
                             struct weir_error *err)
{
    const struct wi_str *in = wi_vec_str(&chunk->col[c]);
    struct wi_str *out = (struct wi_str *)store->col[c].values + store->n;
    size_t n_bytes = 0;
    for (uint32_t i = 0; i < chunk->n; i++) {
        n_bytes += in[wi_chunk_pos(chunk, i)].n_bytes;
    }
    char *at = NULL;
    weir_err code = wi_text_take(&store->text, n_bytes, &at, err);
    if (code != WEIR_OK) {
        return code;
    }
    for (uint32_t i = 0; i < chunk->n; i++) {
        const struct wi_str *s = &in[wi_chunk_pos(chunk, i)];
        out[i].data = at;
        out[i].n_bytes = s->n_bytes;
        if (s->n_bytes > 0) {
            memcpy(at, s->data, s->n_bytes);
        }
        at += s->n_bytes;
    }
    return WEIR_OK;
}

static void copy_nulls(struct wi_store *store, uint32_t c,
                       const struct wi_chunk *chunk)
{
    uint8_t *out = store->col[c].null;
    const uint8_t *in = chunk->col[c].null;
    if (out == NULL) {
        return;
    }
    if (in == NULL) {
        memset(out + store->n, 0, chunk->n);
        return;
    }
    copy_rows((char *)out + store->n, (const char *)in, chunk, 1);
}

static weir_err append_column(struct wi_store *store, uint32_t c,
                              const struct wi_chunk *chunk,
                              struct weir_error *err)
{
    const struct wi_vec *in = &chunk->col[c];
    bool nulls = in->null != NULL && any_null(in->null, chunk);
    weir_err code = reserve(store, c, store->n + chunk->n, nulls, err);
    if (code != WEIR_OK) {
        return code;
    }
    copy_nulls(store, c, chunk);
    uint32_t bytes = wi_rep_bytes(in->rep);
    char *out = (char *)store->col[c].values + store->n * bytes;
    if (in->rep == WI_STR) {
        return copy_strings(store, c, chunk, err);
    }
    switch (bytes) {
    case 1:
        copy_rows(out, in->values, chunk, 1);
        break;
    case 8:
        copy_rows(out, in->values, chunk, 8);
        break;
    default:
        copy_rows(out, in->values, chunk, 16);
    }
    return WEIR_OK;
}

weir_err wi_store_append(struct wi_store *store, const struct wi_chunk *chunk,
                         struct weir_error *err)
{
    if (store->n + chunk->n > WI_STORE_ROWS) {
        return wi_exec_fail(err, WEIR_ERR_QUERY_MEMORY,
                            "an operator keeps more than %" PRIu32
                            " rows on one worker; use more nodes or workers",
                            WI_STORE_ROWS);
    }
    for (uint32_t c = 0; c < store->n_cols; c++) {
        weir_err code = append_column(store, c, chunk, err);
        if (code != WEIR_OK) {
            return code;
        }
    }
    store->n += chunk->n;
    return WEIR_OK;
}

/* ---- gather -------------------------------------------------------------- */

struct pick {
    const uint32_t *rows;
    const uint32_t *at;
    uint32_t n;
    bool nowhere; /* some row is WI_NOWHERE */
};

static inline __attribute__((always_inline)) void
pick_values(char *out, const char *in, const struct pick *p, size_t bytes)
{
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t row = p->rows[i];
        size_t pos = p->at == NULL ? i : p->at[i];
        if (p->nowhere && row == WI_NOWHERE) {
            memset(out + pos * bytes, 0, bytes);
        } else {
            memcpy(out + pos * bytes, in + row * bytes, bytes);
        }
    }
}

static void pick_nulls(uint8_t *out, const uint8_t *in, const struct pick *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t row = p->rows[i];
        size_t pos = p->at == NULL ? i : p->at[i];
        out[pos] = row == WI_NOWHERE ? 1 : in != NULL && in[row];
    }
}

static bool any_nowhere(const uint32_t *rows, uint32_t n)
{
    uint32_t any = 0;
    for (uint32_t i = 0; i < n; i++) {
        any |= rows[i] == WI_NOWHERE;
    }
    return any != 0;
}

void wi_store_gather_at(const struct wi_store *store, uint32_t col,
                        const uint32_t *rows, uint32_t n, const uint32_t *at,
                        struct wi_vec *out)
{
    const struct wi_vec *in = &store->col[col];
    const struct pick p = {rows, at, n, any_nowhere(rows, n)};
    if (in->null == NULL && !p.nowhere) {
        out->null = NULL;
    } else {
        pick_nulls(out->null, in->null, &p);
    }
    switch (wi_rep_bytes(in->rep)) {
    case 1:
        pick_values(out->values, in->values, &p, 1);
        break;
    case 8:
        pick_values(out->values, in->values, &p, 8);
        break;
    default:
        pick_values(out->values, in->values, &p, 16);
    }
}

void wi_store_gather(const struct wi_store *store, uint32_t col,
                     const uint32_t *rows, uint32_t n, struct wi_vec *out)
{
    wi_store_gather_at(store, col, rows, n, NULL, out);
}

void wi_store_slice(const struct wi_store *store, uint64_t first, uint32_t n,
                    struct wi_vec *col_out, struct wi_chunk *out)
{
    for (uint32_t c = 0; c < store->n_cols; c++) {
        const struct wi_vec *col = &store->col[c];
        col_out[c] = *col;
        col_out[c].values =
            (char *)col->values + first * wi_rep_bytes(col->rep);
        col_out[c].null = col->null == NULL ? NULL : col->null + first;
    }
    *out = (struct wi_chunk){n, store->n_cols, NULL, col_out};
}
