/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting row numbers: distributed by the bytes of their prefixes, highest
 * first, into parts that fit the caches; small parts, and rows whose prefixes
 * are equal but whose keys may differ, by merging. Both are stable. Source:
 * Knuth, The Art of Computer Programming, volume 3, 5.2.5 and 5.2.4. */
#include "operators/op/sort_rows.h"

#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"

enum { RUN = 16, RADIX_LEAST = 48, VALUES = 256, TOP_SHIFT = 56 };

struct sort {
    const struct wi_store *store;
    const struct wi_sort_key *keys; /* those that prefixes do not decide */
    uint32_t n_keys;
    struct wi_sort_row *spare; /* as many as are sorted */
};

static inline bool is_after(const struct sort *s, const struct wi_sort_row *a,
                            const struct wi_sort_row *b)
{
    if (a->prefix != b->prefix) {
        return a->prefix > b->prefix;
    }
    return s->n_keys > 0 && wi_order_rows(s->keys, s->n_keys, s->store->col,
                                          a->row, s->store->col, b->row) > 0;
}

/* ---- merging ------------------------------------------------------------- */

static void insert_sort(const struct sort *s, struct wi_sort_row *rows,
                        uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        struct wi_sort_row row = rows[i];
        uint64_t at = i;
        while (at > 0 && is_after(s, &rows[at - 1], &row)) {
            rows[at] = rows[at - 1];
            at--;
        }
        rows[at] = row;
    }
}

/* rows[0..middle) and rows[middle..n) are in order. */
static void merge(const struct sort *s, struct wi_sort_row *rows,
                  uint64_t middle, uint64_t n)
{
    struct wi_sort_row *left = s->spare;
    uint64_t i = 0;
    uint64_t k = middle;
    uint64_t out = 0;
    if (!is_after(s, &rows[middle - 1], &rows[middle])) {
        return;
    }
    memcpy(left, rows, middle * sizeof(*rows));
    while (i < middle && k < n) {
        bool take_right = is_after(s, &left[i], &rows[k]);
        rows[out++] = take_right ? rows[k] : left[i];
        k += take_right;
        i += !take_right;
    }
    memcpy(&rows[out], &left[i], (middle - i) * sizeof(*rows));
}

static void merge_sort(const struct sort *s, struct wi_sort_row *rows,
                       uint64_t n)
{
    for (uint64_t i = 0; i < n; i += RUN) {
        insert_sort(s, &rows[i], n - i < RUN ? n - i : RUN);
    }
    for (uint64_t width = RUN; width < n; width *= 2) {
        for (uint64_t i = 0; i + width < n; i += 2 * width) {
            uint64_t both = n - i < 2 * width ? n - i : 2 * width;
            merge(s, &rows[i], width, both);
        }
    }
}

/* ---- by bytes ------------------------------------------------------------ */

static inline unsigned byte_of(const struct wi_sort_row *row, unsigned shift)
{
    return row->prefix >> shift & 0xff;
}

/* Distribute rows by one byte of their prefixes. start_out[v] is where those
 * with byte v begin. Returns false, and moves nothing, if all have the same. */
static bool distribute(const struct sort *s, struct wi_sort_row *rows,
                       uint64_t n, unsigned shift, uint64_t *start_out)
{
    uint64_t at[VALUES] = {0};
    uint64_t start = 0;
    for (uint64_t i = 0; i < n; i++) {
        at[byte_of(&rows[i], shift)]++;
    }
    if (at[byte_of(&rows[0], shift)] == n) {
        return false;
    }
    for (unsigned v = 0; v < VALUES; v++) {
        uint64_t n_rows = at[v];
        start_out[v] = at[v] = start;
        start += n_rows;
    }
    start_out[VALUES] = n;
    for (uint64_t i = 0; i < n; i++) {
        s->spare[at[byte_of(&rows[i], shift)]++] = rows[i];
    }
    memcpy(rows, s->spare, n * sizeof(*rows));
    return true;
}

/* Highest byte first; few rows, and those with equal prefixes, by merging.
 * Recurses once per byte at most. */
static void radix_sort(const struct sort *s, struct wi_sort_row *rows,
                       uint64_t n, unsigned shift)
{
    uint64_t start[VALUES + 1];
    if (n < RADIX_LEAST) {
        merge_sort(s, rows, n);
        return;
    }
    while (!distribute(s, rows, n, shift, start)) {
        if (shift == 0) {
            if (s->n_keys > 0) {
                merge_sort(s, rows, n);
            }
            return;
        }
        shift -= 8;
    }
    for (unsigned v = 0; v < VALUES; v++) {
        uint64_t n_rows = start[v + 1] - start[v];
        if (n_rows > 1 && (shift > 0 || s->n_keys > 0)) {
            radix_sort(s, &rows[start[v]], n_rows, shift > 0 ? shift - 8 : 0);
        }
    }
}

/* ---- rows ---------------------------------------------------------------- */

static weir_err fill(struct wi_sorted *sorted, const struct wi_store *store,
                     const struct wi_sort_key *key, struct weir_error *err)
{
    uint64_t prefix[WI_CHUNK_ROWS];
    struct wi_vec *cols = calloc(store->n_cols, sizeof(*cols));
    if (cols == NULL) {
        return wi_exec_no_memory(err, store->n_cols * sizeof(*cols));
    }
    for (uint64_t first = 0; first < store->n; first += WI_CHUNK_ROWS) {
        uint64_t left = store->n - first;
        struct wi_chunk slice;
        wi_store_slice(store, first,
                       left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS,
                       cols, &slice);
        wi_order_prefix(key, &slice, prefix);
        for (uint32_t i = 0; i < slice.n; i++) {
            sorted->at[first + i] =
                (struct wi_sort_row){prefix[i], (uint32_t)first + i};
        }
    }
    free(cols);
    return WEIR_OK;
}

static weir_err take_rows(struct wi_sorted *sorted, struct sort *s,
                          struct weir_error *err)
{
    size_t n_bytes = sorted->n * sizeof(*sorted->at);
    void *at = NULL;
    void *spare = NULL;
    weir_err code = wi_mem_take(sorted->mem, n_bytes, &at, err);
    if (code != WEIR_OK) {
        return code;
    }
    code = wi_mem_take(sorted->mem, n_bytes, &spare, err);
    if (code != WEIR_OK) {
        wi_mem_put(sorted->mem, at, n_bytes);
        return code;
    }
    sorted->at = at;
    s->spare = spare;
    return WEIR_OK;
}

weir_err wi_sorted_init(struct wi_sorted *sorted, const struct wi_store *store,
                        const struct wi_sort_key *keys, uint32_t n_keys,
                        struct weir_error *err)
{
    bool whole = wi_order_prefix_is_all(&store->col[keys[0].col]);
    struct sort s = {store, keys + whole, n_keys - whole, NULL};
    *sorted = (struct wi_sorted){.mem = store->mem, .n = store->n};
    weir_err code = take_rows(sorted, &s, err);
    if (code != WEIR_OK) {
        return code;
    }
    code = fill(sorted, store, keys, err);
    if (code == WEIR_OK) {
        radix_sort(&s, sorted->at, sorted->n, TOP_SHIFT);
    }
    wi_mem_put(sorted->mem, s.spare, sorted->n * sizeof(*s.spare));
    return code;
}

void wi_sorted_fini(struct wi_sorted *sorted)
{
    if (sorted->at != NULL) {
        wi_mem_put(sorted->mem, sorted->at, sorted->n * sizeof(*sorted->at));
    }
    sorted->at = NULL;
    sorted->n = 0;
}
