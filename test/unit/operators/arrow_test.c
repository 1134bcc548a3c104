/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of every type survive chunk -> Arrow -> chunk. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "operators/base/arrow.h"

static const char *const types[] = {
    "bool",    "int8",   "int16",         "int32",         "int64",
    "uint8",   "uint16", "uint32",        "uint64",        "float32",
    "float64", "date",   "timestamp(us)", "decimal(18,2)", "decimal(38,4)",
    "utf8",    "binary", "fixed(5)",
};
enum { N_TYPES = sizeof(types) / sizeof(types[0]), TEXT_BYTES = 8 };

/* A cluster of one: columns, the rows of a chunk, and both converters. */
struct trip {
    uint64_t random;
    struct wi_columns columns;
    struct wi_op_mem mem;
    struct wi_vec *vecs;
    struct wi_vec shown[N_TYPES];
    char text[WI_CHUNK_ROWS][TEXT_BYTES];
    uint32_t sel[WI_CHUNK_ROWS];
    struct wi_chunk chunk;
    struct wi_arrow_in *in;
    struct wi_arrow_out *out;
};

static uint64_t draw(struct trip *t)
{
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    return t->random >> 24;
}

static void open_trip(struct trip *t, uint64_t seed)
{
    struct weir_error err = {0};
    memset(t, 0, sizeof(*t));
    t->random = seed;
    for (uint32_t i = 0; i < N_TYPES; i++) {
        struct wi_type type;
        cr_assert(wi_type_parse(types[i], &type));
        type.nullable = true;
        cr_assert_eq(wi_columns_add(&t->columns, types[i], &type), WEIR_OK);
    }
    cr_assert_eq(wi_vecs_open(&t->columns, &t->mem, &t->vecs, &err), WEIR_OK);
    cr_assert_eq(wi_arrow_in_open(&t->columns, &t->mem, &t->in, &err), WEIR_OK);
    cr_assert_eq(wi_arrow_out_open(&t->columns, &t->mem, &t->out, &err),
                 WEIR_OK);
}

static void close_trip(struct trip *t)
{
    wi_arrow_in_close(t->in);
    wi_arrow_out_close(t->out);
    wi_vecs_close(t->vecs, N_TYPES, &t->mem);
    wi_columns_fini(&t->columns);
    cr_assert_eq(t->mem.held_bytes, 0);
}

/* Any value that a column of this type can hold. */
static void fill_value(struct trip *t, uint32_t c, uint32_t pos)
{
    const struct wi_type *type = &t->columns.at[c].type;
    struct wi_vec *v = &t->vecs[c];
    int64_t x = (int64_t)draw(t) - (1 << 30);
    switch (v->rep) {
    case WI_BOOL:
        ((uint8_t *)v->values)[pos] = x & 1;
        break;
    case WI_I64:
        ((int64_t *)v->values)[pos] =
            type->kind == WI_TYPE_INT64 || type->kind == WI_TYPE_TIMESTAMP
                ? x
                : x & 127;
        break;
    case WI_I128:
        ((wi_i128 *)v->values)[pos] = type->kind == WI_TYPE_UINT64
                                          ? (wi_i128)(uint64_t)x
                                          : (wi_i128)x * INT64_MAX;
        break;
    case WI_F64:
        ((double *)v->values)[pos] = (double)(x & 0xffff) / 4;
        break;
    case WI_STR:
        (void)snprintf(t->text[pos], TEXT_BYTES, "%05" PRId64, x & 0xffff);
        ((struct wi_str *)v->values)[pos] = (struct wi_str){
            .data = t->text[pos],
            .n_bytes = type->kind == WI_TYPE_FIXED ? 5 : (uint32_t)(x & 3)};
        break;
    }
}

static void fill_nulls(struct trip *t, uint32_t c, uint32_t pct)
{
    struct wi_vec *v = &t->vecs[c];
    for (uint32_t pos = 0; pos < WI_CHUNK_ROWS; pos++) {
        v->null[pos] = draw(t) % 100 < pct;
        if (v->null[pos] && v->rep == WI_STR) {
            ((struct wi_str *)v->values)[pos].n_bytes = 0;
        }
    }
}

/* Rows: some or all positions, in order. */
static void fill_trip(struct trip *t)
{
    uint32_t null_pct = (uint32_t)(draw(t) % 3) * 50;
    uint32_t keep_pct = 1 + (uint32_t)(draw(t) % 100);
    uint32_t n = 0;
    for (uint32_t c = 0; c < N_TYPES; c++) {
        for (uint32_t pos = 0; pos < WI_CHUNK_ROWS; pos++) {
            fill_value(t, c, pos);
        }
        fill_nulls(t, c, null_pct);
        t->shown[c] = t->vecs[c];
        if (null_pct == 0) {
            t->shown[c].null = NULL;
        }
    }
    for (uint32_t pos = 0; pos < WI_CHUNK_ROWS; pos++) {
        if (draw(t) % 100 < keep_pct || (n == 0 && pos == 5)) {
            t->sel[n] = pos;
            n++;
        }
    }
    t->chunk = (struct wi_chunk){
        .n = n, .n_cols = N_TYPES, .sel = t->sel, .col = t->shown};
    if (keep_pct > 90) {
        t->chunk.sel = NULL;
    }
}

static bool is_null(const struct wi_vec *v, uint32_t pos)
{
    return v->null != NULL && v->null[pos];
}

static void expect_same(const struct wi_vec *a, uint32_t pos_a,
                        const struct wi_vec *b, uint32_t pos_b)
{
    cr_assert_eq(is_null(a, pos_a), is_null(b, pos_b));
    if (a->rep == WI_STR) {
        const struct wi_str *s = &wi_vec_str(a)[pos_a];
        const struct wi_str *r = &wi_vec_str(b)[pos_b];
        uint32_t len = is_null(a, pos_a) ? 0 : s->n_bytes;
        cr_assert_eq(r->n_bytes, len);
        cr_assert(len == 0 || memcmp(s->data, r->data, len) == 0);
    } else if (!is_null(a, pos_a)) {
        size_t w = wi_rep_bytes(a->rep);
        cr_assert_eq(memcmp((const char *)a->values + pos_a * w,
                            (const char *)b->values + pos_b * w, w),
                     0);
    }
}

/* Rows first .. first+n-1 of what went out, as they come back. */
static void expect_slice(struct trip *t, const struct ArrowArray *batch,
                         uint32_t first, uint32_t n)
{
    struct wi_chunk back;
    wi_arrow_in_slice(t->in, batch, first, n, &back);
    cr_assert_eq(back.n, n);
    cr_assert_null(back.sel);
    for (uint32_t c = 0; c < N_TYPES; c++) {
        for (uint32_t i = 0; i < n; i++) {
            expect_same(&t->shown[c], wi_chunk_pos(&t->chunk, first + i),
                        &back.col[c], i);
        }
    }
}

Test(arrow, rows_of_every_type_come_back)
{
    static struct trip t;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const struct ArrowArray *batch = NULL;
        struct weir_error err = {0};
        open_trip(&t, seed);
        fill_trip(&t);
        cr_assert_eq(wi_arrow_out_put(t.out, &t.chunk, &batch, &err), WEIR_OK);
        cr_assert_eq(batch->length, t.chunk.n);
        expect_slice(&t, batch, 0, t.chunk.n);
        uint32_t first = t.chunk.n / 3;
        expect_slice(&t, batch, first, t.chunk.n - first);
        close_trip(&t);
    }
}

Test(arrow, no_nulls_means_no_buffer_and_no_bytes)
{
    static struct trip t;
    const struct ArrowArray *batch = NULL;
    struct weir_error err = {0};
    struct wi_chunk back;
    open_trip(&t, 1);
    fill_trip(&t);
    for (uint32_t c = 0; c < N_TYPES; c++) {
        memset(t.vecs[c].null, 0, WI_CHUNK_ROWS);
        t.shown[c].null = t.vecs[c].null;
    }
    cr_assert_eq(wi_arrow_out_put(t.out, &t.chunk, &batch, &err), WEIR_OK);
    wi_arrow_in_slice(t.in, batch, 0, t.chunk.n, &back);
    for (uint32_t c = 0; c < N_TYPES; c++) {
        cr_assert_null(batch->children[c]->buffers[0]);
        cr_assert_null(back.col[c].null);
    }
    close_trip(&t);
}

Test(arrow, offsets_of_batch_and_column_count)
{
    /* Bits and values at 5 + 3: rows 0..9 hold 8..17, every third is null. */
    uint8_t valid[3] = {0};
    int64_t values[20];
    for (int i = 0; i < 20; i++) {
        values[i] = i;
        valid[i / 8] |= (uint8_t)((i % 3 != 0) << (i % 8));
    }
    const void *buffers[] = {valid, values};
    struct ArrowArray child = {.length = 15,
                               .null_count = -1,
                               .offset = 5,
                               .n_buffers = 2,
                               .buffers = buffers};
    struct ArrowArray *children[] = {&child};
    struct ArrowArray batch = {
        .length = 10, .offset = 3, .n_children = 1, .children = children};
    struct wi_columns columns = {0};
    struct wi_type type;
    struct wi_op_mem mem = {0};
    struct wi_arrow_in *in = NULL;
    struct weir_error err = {0};
    struct wi_chunk chunk;
    cr_assert(wi_type_parse("int64?", &type));
    cr_assert_eq(wi_columns_add(&columns, "x", &type), WEIR_OK);
    cr_assert_eq(wi_arrow_in_open(&columns, &mem, &in, &err), WEIR_OK);
    wi_arrow_in_slice(in, &batch, 0, 10, &chunk);
    for (uint32_t i = 0; i < 10; i++) {
        cr_assert_eq(chunk.col[0].null[i], (i + 8) % 3 == 0);
        cr_assert_eq(wi_vec_i64(&chunk.col[0])[i], i + 8);
    }
    wi_arrow_in_close(in);
    wi_columns_fini(&columns);
}

Test(arrow, a_limit_is_an_error_and_leaves_nothing)
{
    static struct trip t;
    struct weir_error err = {0};
    open_trip(&t, 1);
    for (uint64_t limit = 1; limit < 3000000; limit += 50000) {
        struct wi_op_mem mem = {.limit_bytes = limit};
        struct wi_arrow_out *out = NULL;
        struct wi_vec *vecs = NULL;
        if (wi_arrow_out_open(&t.columns, &mem, &out, &err) == WEIR_OK) {
            wi_arrow_out_close(out);
        }
        if (wi_vecs_open(&t.columns, &mem, &vecs, &err) == WEIR_OK) {
            wi_vecs_close(vecs, N_TYPES, &mem);
        }
        cr_assert_eq(mem.held_bytes, 0);
    }
    cr_assert_eq(err.code, WEIR_ERR_QUERY_MEMORY);
    close_trip(&t);
}
