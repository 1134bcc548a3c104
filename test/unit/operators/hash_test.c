/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of rows, comparisons of pairs, and indexes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/dense.h"
#include "operators/base/index.h"
#include "test/support/operators.h"

TestSuite(hash, .timeout = 60);

static const uint32_t key_0[] = {0};

static struct wi_chunk chunk_of(struct wi_vec *col, enum wi_rep rep,
                                void *values, uint32_t n)
{
    *col = (struct wi_vec){rep, values, NULL};
    return (struct wi_chunk){n, 1, NULL, col};
}

Test(hash, zeros_are_alike_and_so_are_all_not_a_numbers)
{
    double values[] = {0.0, -0.0, NAN, -NAN, 1.0};
    uint64_t hash[5];
    struct wi_vec col;
    const struct wi_chunk chunk = chunk_of(&col, WI_F64, values, 5);
    wi_hash_rows(&chunk, key_0, 1, hash);
    cr_assert_eq(hash[0], hash[1]);
    cr_assert_eq(hash[2], hash[3]);
    cr_assert_neq(hash[0], hash[2]);
    cr_assert_neq(hash[0], hash[4]);
}

Test(hash, nulls_are_alike_whatever_lies_below)
{
    int64_t values[] = {5, 6, 7, 7};
    uint8_t null[] = {1, 1, 0, 1};
    uint64_t hash[4];
    struct wi_vec col;
    const struct wi_chunk chunk = chunk_of(&col, WI_I64, values, 4);
    col.null = null;
    wi_hash_rows(&chunk, key_0, 1, hash);
    cr_assert_eq(hash[0], hash[1]);
    cr_assert_eq(hash[0], hash[3]);
    cr_assert_neq(hash[0], hash[2]);
}

Test(hash, a_selection_hashes_as_the_rows_alone)
{
    int64_t values[] = {5, 6, 7, 8};
    const uint32_t sel[] = {1, 3};
    uint64_t all[4];
    uint64_t some[2];
    struct wi_vec col;
    struct wi_chunk chunk = chunk_of(&col, WI_I64, values, 4);
    wi_hash_rows(&chunk, key_0, 1, all);
    chunk.n = 2;
    chunk.sel = sel;
    wi_hash_rows(&chunk, key_0, 1, some);
    cr_assert_eq(some[0], all[1]);
    cr_assert_eq(some[1], all[3]);
}

Test(hash, strings_differ_by_length_and_by_each_byte)
{
    const struct wi_str values[] = {
        {"", 0},           {"\0", 1},       {"\0\0", 2},     {"abcdefgh", 8},
        {"abcdefgh\0", 9}, {"abcdefgi", 8}, {"abcdefghi", 9}};
    uint64_t hash[7];
    struct wi_vec col;
    const struct wi_chunk chunk =
        chunk_of(&col, WI_STR, (void *)(uintptr_t)values, 7);
    wi_hash_rows(&chunk, key_0, 1, hash);
    for (uint32_t i = 0; i < 7; i++) {
        for (uint32_t k = 0; k < i; k++) {
            cr_assert_neq(hash[i], hash[k], "strings %u and %u", i, k);
        }
    }
}

Test(hash, pairs_agree_in_all_columns_and_null_equals_null_if_asked)
{
    struct wi_ctx ctx;
    struct wi_store store;
    struct wt_op_rows rows;
    wt_ctx_init(&ctx, 0);
    wt_op_rows_init(&rows, "k:int64? s:utf8?");
    wt_op_rows_add_all(&rows, "1 a\n"
                              "1 b\n"
                              "- a\n"
                              "- -");
    cr_assert_eq(wi_store_init(&store, &rows.columns, &ctx.mem, NULL), WEIR_OK);
    struct wi_op *op = wt_source(&ctx, &rows, 0);
    struct wi_chunk chunk = {0};
    cr_assert_eq(wi_op_step(op, &chunk), WI_MOVED);
    cr_assert_eq(wi_store_append(&store, &chunk, NULL), WEIR_OK);
    const uint32_t cols[] = {0, 1};
    struct wi_match match = {.chunk = &chunk,
                             .store = &store,
                             .chunk_cols = cols,
                             .store_cols = cols,
                             .n_cols = 2};
    for (uint32_t equal = 0; equal < 2; equal++) {
        uint32_t row[] = {0, 0, 1, 2, 2, 3, 3};
        uint32_t at[] = {0, 1, 1, 2, 0, 3, 2};
        match.nulls_equal = equal != 0;
        uint32_t n = wi_match_pairs(&match, row, at, 7);
        cr_assert_eq(n, equal != 0 ? 4 : 2);
        for (uint32_t i = 0; i < n; i++) {
            cr_assert_eq(row[i], i);
            cr_assert_eq(at[i], i);
        }
    }
    wi_op_close(op);
    wi_store_fini(&store);
    wt_op_rows_fini(&rows);
}

Test(hash, runs_end_where_a_key_differs)
{
    struct wi_ctx ctx;
    struct wt_op_rows rows;
    uint8_t differs[8];
    const uint32_t cols[] = {0, 1};
    wt_ctx_init(&ctx, 0);
    wt_op_rows_init(&rows, "k:int64? s:utf8?");
    const char *const lines[] = {"1 a", "1 a", "1 b", "- b",
                                 "- b", "- -", "- -", "0 -"};
    const uint8_t expected[] = {1, 0, 1, 1, 0, 1, 0, 1};
    for (uint32_t i = 0; i < 8; i++) {
        wt_op_rows_add(&rows, lines[i]);
    }
    struct wi_op *op = wt_source(&ctx, &rows, 0);
    struct wi_chunk chunk = {0};
    cr_assert_eq(wi_op_step(op, &chunk), WI_MOVED);
    cr_assert_eq(wi_find_runs(&chunk, cols, 2, differs), 5);
    cr_assert_arr_eq(differs, expected, 8);
    const uint32_t sel[] = {0, 2, 6};
    chunk.sel = sel;
    chunk.n = 3;
    cr_assert_eq(wi_find_runs(&chunk, cols, 1, differs), 2);
    wi_op_close(op);
    wt_op_rows_fini(&rows);
}

/* ---- index --------------------------------------------------------------- */

/* Keys are their row numbers, but all hashes are the same: every look-up goes
 * through all rounds. */
Test(index, keys_whose_hashes_collide_are_told_apart)
{
    enum { KEYS = 40 };
    struct wi_index index = {0};
    struct wi_store store;
    struct wi_probe *probe = calloc(1, sizeof(*probe));
    struct wt_op_rows rows;
    struct wi_vec col;
    int64_t values[2 * KEYS];
    uint32_t number[2 * KEYS];
    wt_op_rows_init(&rows, "k:int64");
    cr_assert_eq(wi_store_init(&store, &rows.columns, NULL, NULL), WEIR_OK);
    for (int64_t i = 0; i < 2 * KEYS; i++) {
        values[i] = i % KEYS;
    }
    const struct wi_chunk chunk = chunk_of(&col, WI_I64, values, 2 * KEYS);
    const struct wi_match match = {&chunk, &store, key_0, key_0, 1, true};
    cr_assert_eq(wi_index_reserve(&index, 2 * KEYS, NULL), WEIR_OK);
    memset(probe->hash, 0x5a, sizeof(probe->hash));
    wi_probe_begin(&index, probe, NULL, chunk.n);
    do {
        wi_index_walk(&index, probe, WI_CLAIM_NEXT, (uint32_t)store.n, number);
        struct wi_chunk fresh = {probe->n_claimed, 1, probe->claimed, &col};
        if (fresh.n > 0) {
            cr_assert_eq(wi_store_append(&store, &fresh, NULL), WEIR_OK);
        }
    } while (wi_probe_settle(probe, &match, number));
    cr_assert_eq(store.n, KEYS);
    for (uint32_t i = 0; i < chunk.n; i++) {
        cr_assert_eq(wi_vec_i64(&store.col[0])[number[i]], values[i]);
    }
    values[0] = KEYS; /* not there */
    cr_assert_eq(wi_index_reserve(&index, 100000, NULL), WEIR_OK);
    wi_probe_begin(&index, probe, NULL, chunk.n);
    wi_index_find(&index, probe, &match, number);
    cr_assert_eq(number[0], WI_NOWHERE);
    for (uint32_t i = 1; i < chunk.n; i++) {
        cr_assert_eq(wi_vec_i64(&store.col[0])[number[i]], values[i]);
    }
    wi_index_fini(&index);
    wi_store_fini(&store);
    wt_op_rows_fini(&rows);
    free(probe);
}

/* ---- dense --------------------------------------------------------------- */

Test(dense, codes_are_distinct_and_tell_what_lies_outside)
{
    int64_t a[] = {3, 6, 4, 7, 3, INT64_MIN};
    int64_t b[] = {-1, 1, 0, 0, 2, INT64_MAX};
    uint8_t null[] = {0, 0, 1, 0, 0, 0};
    struct wi_vec cols[] = {{WI_I64, a, NULL}, {WI_I64, b, null}};
    const uint32_t keys[] = {0, 1};
    struct wi_chunk chunk = {3, 2, NULL, cols};
    struct wi_key_range range[2] = {{0}};
    struct wi_dense dense;
    uint32_t code[6];
    wi_dense_widen(range, &chunk, keys, 2);
    cr_assert_eq(range[0].least, 3);
    cr_assert_eq(range[0].n_values, 4);
    cr_assert_eq(range[1].least, -1);
    cr_assert_eq(range[1].n_values, 3);
    cr_assert_not(wi_dense_init(&dense, range, 2, 19));
    cr_assert(wi_dense_init(&dense, range, 2, 20));
    cr_assert(wi_dense_codes(&dense, &chunk, keys, true, code));
    cr_assert_eq(code[0], 0);
    cr_assert_eq(code[1], 14);
    cr_assert_eq(code[2], 7);
    chunk.n = 6;
    cr_assert_not(wi_dense_codes(&dense, &chunk, keys, false, code));
    cr_assert_eq(code[0], 0);
    for (uint32_t i = 2; i < 6; i++) {
        cr_assert_eq(code[i], dense.n_codes, "row %u", i);
    }
}

Test(dense, ranges_may_span_all_of_int64)
{
    int64_t a[] = {INT64_MIN, INT64_MAX, 0};
    struct wi_vec col;
    const struct wi_chunk chunk = chunk_of(&col, WI_I64, a, 3);
    struct wi_key_range range[1] = {{0}};
    struct wi_dense dense;
    wi_dense_widen(range, &chunk, key_0, 1);
    cr_assert_eq(range[0].n_values, UINT64_MAX);
    cr_assert_not(wi_dense_init(&dense, range, 1, 1u << 31));
}
