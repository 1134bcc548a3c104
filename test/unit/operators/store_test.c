/* SPDX-License-Identifier: Apache-2.0 */
/* Stores. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "operators/base/store.h"
#include "test/support/operators.h"

TestSuite(store, .timeout = 60);

static const char *const all_kinds =
    "a:int8? b:uint64 c:float32? d:bool d2:bool? e:utf8? f:binary "
    "g:decimal(5,1)? h:decimal(38,0)? i:date j:timestamp(ns)?";

/* All rows of a source, in chunks of all sizes. */
static void append_all(struct wi_store *store, struct wi_ctx *ctx,
                       const struct wt_op_rows *rows, uint64_t seed)
{
    struct wi_op *op = wt_source(ctx, rows, seed);
    struct wi_chunk chunk = {0};
    while (wi_op_step(op, &chunk) != WI_DONE) {
        if (chunk.n > 0) {
            cr_assert_eq(wi_store_append(store, &chunk, &ctx->err), WEIR_OK);
        }
    }
    wi_op_close(op);
}

static void read_slices(const struct wi_store *store, struct wt_op_rows *out)
{
    struct wi_vec *cols = calloc(store->n_cols, sizeof(*cols));
    for (uint64_t first = 0; first < store->n; first += 1000) {
        uint64_t left = store->n - first;
        struct wi_chunk chunk;
        wi_store_slice(store, first, left < 1000 ? (uint32_t)left : 1000, cols,
                       &chunk);
        wt_op_rows_add_chunk(out, &chunk);
    }
    free(cols);
}

Test(store, gives_back_what_was_appended)
{
    struct wi_ctx ctx;
    struct wi_store store;
    struct wt_op_rows in;
    struct wt_op_rows out;
    uint64_t state = 7;
    wt_ctx_init(&ctx, 0);
    wt_op_rows_init(&in, all_kinds);
    wt_op_rows_init(&out, all_kinds);
    wt_op_rows_random(&in, 20000, &state, 100000);
    cr_assert_eq(wi_store_init(&store, &in.columns, &ctx.mem, NULL), WEIR_OK);
    append_all(&store, &ctx, &in, 3);
    read_slices(&store, &out);
    wt_op_rows_expect(&out, &in, true);
    wi_store_clear(&store);
    wt_op_rows_clear(&out);
    append_all(&store, &ctx, &in, 4);
    read_slices(&store, &out);
    wt_op_rows_expect(&out, &in, true);
    wi_store_fini(&store);
    wi_store_fini(&store);
    cr_assert_eq(ctx.mem.held_bytes, 0);
    wt_op_rows_fini(&in);
    wt_op_rows_fini(&out);
}

/* Gather rows into the positions `at` and read them as a chunk. */
static void gather(const struct wi_store *store, const uint32_t *rows,
                   uint32_t n, const uint32_t *at, struct wt_op_rows *out)
{
    struct wi_vec *vecs = NULL;
    struct wi_vec *cols = calloc(store->n_cols, sizeof(*cols));
    cr_assert_eq(wi_vecs_open(&out->columns, NULL, &vecs, NULL), WEIR_OK);
    for (uint32_t c = 0; c < store->n_cols; c++) {
        cols[c] = vecs[c];
        if (at == NULL) {
            wi_store_gather(store, c, rows, n, &cols[c]);
        } else {
            wi_store_gather_at(store, c, rows, n, at, &cols[c]);
        }
    }
    const struct wi_chunk chunk = {n, store->n_cols, at, cols};
    wt_op_rows_add_chunk(out, &chunk);
    wi_vecs_close(vecs, store->n_cols, NULL);
    free(cols);
}

Test(store, gathers_rows_in_any_order_and_nulls_for_nowhere)
{
    struct wi_ctx ctx;
    struct wi_store store;
    struct wt_op_rows in;
    struct wt_op_rows out;
    struct wt_op_rows expected;
    wt_ctx_init(&ctx, 0);
    wt_op_rows_init(&in, "k:int64 s:utf8? b:bool w:uint64");
    wt_op_rows_init(&out, "k:int64 s:utf8? b:bool w:uint64");
    wt_op_rows_init(&expected, "k:int64 s:utf8? b:bool w:uint64");
    wt_op_rows_add_all(&in, "1 a 0 18446744073709551615\n"
                            "2 - 1 7\n"
                            "3 ccc 1 8");
    cr_assert_eq(wi_store_init(&store, &in.columns, &ctx.mem, NULL), WEIR_OK);
    append_all(&store, &ctx, &in, 0);
    const uint32_t rows[] = {2, 0, WI_NOWHERE, 1, 2};
    const uint32_t at[] = {3, 4, 700, 900, WI_CHUNK_ROWS - 1};
    for (uint32_t i = 0; i < 2; i++) {
        wt_op_rows_add_all(&expected, "3 ccc 1 8\n"
                                      "1 a 0 18446744073709551615\n"
                                      "- - - -\n"
                                      "2 - 1 7\n"
                                      "3 ccc 1 8");
    }
    gather(&store, rows, 5, NULL, &out);
    gather(&store, rows, 5, at, &out);
    wt_op_rows_expect(&out, &expected, true);
    wi_store_fini(&store);
    wt_op_rows_fini(&in);
    wt_op_rows_fini(&out);
    wt_op_rows_fini(&expected);
}

Test(store, over_its_memory_it_has_the_rows_it_had)
{
    struct wi_ctx ctx;
    struct wi_store store;
    struct wt_op_rows in;
    struct wt_op_rows out;
    uint64_t state = 7;
    wt_ctx_init(&ctx, 1 << 18);
    wt_op_rows_init(&in, "k:int64? s:utf8? w:uint64");
    wt_op_rows_init(&out, "k:int64? s:utf8? w:uint64");
    wt_op_rows_random(&in, 20000, &state, 100000);
    cr_assert_eq(wi_store_init(&store, &in.columns, &ctx.mem, NULL), WEIR_OK);
    struct wi_op *op = wt_source(&ctx, &in, 0);
    struct wi_chunk chunk = {0};
    weir_err code = WEIR_OK;
    while (code == WEIR_OK && wi_op_step(op, &chunk) == WI_MOVED) {
        code = wi_store_append(&store, &chunk, &ctx.err);
    }
    cr_assert_eq(code, WEIR_ERR_QUERY_MEMORY);
    cr_assert_leq(ctx.mem.peak_bytes, 1 << 18);
    cr_assert_gt(store.n, 0);
    read_slices(&store, &out);
    in.n = out.n;
    wt_op_rows_expect(&out, &in, true);
    in.n = 20000;
    wi_op_close(op);
    wi_store_fini(&store);
    cr_assert_eq(ctx.mem.held_bytes, 0);
    wt_op_rows_fini(&in);
    wt_op_rows_fini(&out);
}
