/* SPDX-License-Identifier: Apache-2.0 */
/* Hash join, against nested loops. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/op/ops.h"
#include "test/support/operators.h"

TestSuite(join, .timeout = 60);

enum { MAX_COLUMNS = 8 };

/* A join and what it takes. Columns: keys first on both sides; all others of
 * the right side are given out. */
struct trial {
    struct wi_ctx ctx;
    struct wt_op_rows left;
    struct wt_op_rows right;
    struct wt_op_rows got;
    struct wt_op_rows expected;
    struct wi_join_params p;
    uint32_t keys[MAX_COLUMNS];
    uint32_t right_out[MAX_COLUMNS];
    struct wi_op *op;
    struct wi_columns pairs;
    struct wi_expr *where; /* "a < b", columns 1 of both sides; or NULL */
};

static void open_trial(struct trial *t, weir_join_kind kind, uint32_t n_keys,
                       const char *left, const char *right)
{
    memset(t, 0, sizeof(*t));
    wt_ctx_init(&t->ctx, 0);
    wt_op_rows_init(&t->left, left);
    wt_op_rows_init(&t->right, right);
    t->p = (struct wi_join_params){.columns = &t->got.columns,
                                   .left = &t->left.columns,
                                   .right = &t->right.columns,
                                   .kind = kind,
                                   .n_keys = n_keys,
                                   .left_keys = t->keys,
                                   .right_keys = t->keys,
                                   .right_out = t->right_out};
    struct wt_op_rows *outs[] = {&t->got, &t->expected};
    for (uint32_t k = 0; k < n_keys; k++) {
        t->keys[k] = k;
    }
    bool with_right = kind == WEIR_JOIN_INNER || kind == WEIR_JOIN_LEFT;
    for (uint32_t c = n_keys; with_right && c < t->right.columns.n; c++) {
        t->right_out[t->p.n_right_out++] = c;
    }
    for (uint32_t i = 0; i < 2; i++) {
        wt_op_rows_init(outs[i], left);
        for (uint32_t c = 0; c < t->p.n_right_out; c++) {
            const struct wi_named_type *col =
                &t->right.columns.at[t->right_out[c]];
            cr_assert_eq(
                wi_columns_add(&outs[i]->columns, col->name, &col->type),
                WEIR_OK);
        }
    }
}

/* The condition a < b, of columns 1. */
static void add_where(struct trial *t)
{
    struct weir_error err = {.message = ""};
    for (uint32_t c = 0; c < t->left.columns.n; c++) {
        const struct wi_named_type *col = &t->left.columns.at[c];
        cr_assert_eq(wi_columns_add(&t->pairs, col->name, &col->type), WEIR_OK);
    }
    t->p.n_right_out = 0;
    for (uint32_t c = t->p.n_keys; c < t->right.columns.n; c++) {
        const struct wi_named_type *col = &t->right.columns.at[c];
        t->right_out[t->p.n_right_out++] = c;
        cr_assert_eq(wi_columns_add(&t->pairs, col->name, &col->type), WEIR_OK);
    }
    cr_assert_eq(wi_expr_open("a < b", &t->pairs, &t->where, &err), WEIR_OK,
                 "%s", err.message);
    t->p.where = t->where;
    t->p.pairs = &t->pairs;
}

static void open_join(struct trial *t, uint64_t seed)
{
    struct wi_op *left = wt_source(&t->ctx, &t->left, seed);
    struct wi_op *right =
        wt_source(&t->ctx, &t->right, seed == 0 ? 0 : seed + 1);
    cr_assert_eq(wi_join_open(&t->ctx, &t->p, left, right, &t->op), WEIR_OK,
                 "%s", t->ctx.err.message);
}

static void run_trial(struct trial *t, uint64_t seed)
{
    open_join(t, seed);
    wt_run_op(&t->ctx, t->op, WEIR_OK, &t->got);
}

static void close_trial(struct trial *t)
{
    wt_op_rows_fini(&t->left);
    wt_op_rows_fini(&t->right);
    wt_op_rows_fini(&t->got);
    wt_op_rows_fini(&t->expected);
    wi_expr_close(t->where);
    wi_columns_fini(&t->pairs);
}

static void expect_and_close(struct trial *t)
{
    wt_op_rows_expect(&t->got, &t->expected, false);
    close_trial(t);
}

/* ---- the reference ------------------------------------------------------- */

static bool same_value(const struct wt_value *a, const struct wt_value *b)
{
    if (a->null || b->null) {
        return false;
    }
    if (a->s != NULL) {
        return strcmp(a->s, b->s) == 0;
    }
    return a->i == b->i && a->f == b->f;
}

static void copy_value(struct wt_value *to, const struct wt_value *from)
{
    *to = *from;
    to->s = from->s == NULL ? NULL : strdup(from->s);
}

static void expect_row(struct trial *t, const struct wt_value *left,
                       const struct wt_value *right)
{
    struct wt_value *row = wt_op_rows_new(&t->expected);
    uint32_t n_left = t->left.columns.n;
    for (uint32_t c = 0; c < n_left; c++) {
        copy_value(&row[c], &left[c]);
    }
    for (uint32_t c = 0; n_left + c < t->expected.columns.n; c++) {
        if (right == NULL) {
            row[n_left + c].null = true;
        } else {
            copy_value(&row[n_left + c], &right[t->right_out[c]]);
        }
    }
}

static void nested_loops(struct trial *t)
{
    for (uint32_t i = 0; i < t->left.n; i++) {
        const struct wt_value *left = wt_op_rows_at(&t->left, i);
        uint32_t n_matches = 0;
        for (uint32_t r = 0; r < t->right.n; r++) {
            const struct wt_value *right = wt_op_rows_at(&t->right, r);
            bool match = true;
            for (uint32_t k = 0; k < t->p.n_keys; k++) {
                match = match && same_value(&left[k], &right[k]);
            }
            if (t->where != NULL) {
                match = match && !left[1].null && !right[1].null &&
                        left[1].i < right[1].i;
            }
            n_matches += match;
            if (match && (t->p.kind <= WEIR_JOIN_LEFT ||
                          (t->p.kind == WEIR_JOIN_SEMI && n_matches == 1))) {
                expect_row(t, left, right);
            }
        }
        if (n_matches == 0 &&
            (t->p.kind == WEIR_JOIN_LEFT || t->p.kind == WEIR_JOIN_ANTI)) {
            expect_row(t, left, NULL);
        }
    }
}

/* ---- by hand ------------------------------------------------------------- */

static void add_small(struct trial *t)
{
    wt_op_rows_add_all(&t->left, "1 a\n"
                                 "2 b\n"
                                 "- c\n"
                                 "1 d\n"
                                 "4 e");
    wt_op_rows_add_all(&t->right, "1 x\n"
                                  "- y\n"
                                  "1 z\n"
                                  "4 \"\"");
}

static void open_small(struct trial *t, weir_join_kind kind)
{
    open_trial(t, kind, 1, "k:int64? l:utf8", "k:int64? r:utf8?");
    add_small(t);
}

Test(join, inner_gives_each_pair_and_no_null_keys)
{
    struct trial t;
    open_small(&t, WEIR_JOIN_INNER);
    wt_op_rows_add_all(&t.expected, "1 a x\n"
                                    "1 a z\n"
                                    "1 d x\n"
                                    "1 d z\n"
                                    "4 e \"\"");
    run_trial(&t, 0);
    expect_and_close(&t);
}

Test(join, left_fills_up_with_nulls)
{
    struct trial t;
    open_small(&t, WEIR_JOIN_LEFT);
    wt_op_rows_add_all(&t.expected, "1 a x\n"
                                    "1 a z\n"
                                    "2 b -\n"
                                    "- c -\n"
                                    "1 d x\n"
                                    "1 d z\n"
                                    "4 e \"\"");
    run_trial(&t, 0);
    expect_and_close(&t);
}

Test(join, semi_gives_a_row_once)
{
    struct trial t;
    open_small(&t, WEIR_JOIN_SEMI);
    wt_op_rows_add_all(&t.expected, "1 a\n"
                                    "1 d\n"
                                    "4 e");
    run_trial(&t, 0);
    expect_and_close(&t);
}

Test(join, anti_keeps_null_keys)
{
    struct trial t;
    open_small(&t, WEIR_JOIN_ANTI);
    wt_op_rows_add_all(&t.expected, "2 b\n"
                                    "- c");
    run_trial(&t, 0);
    expect_and_close(&t);
}

/* ---- a condition --------------------------------------------------------- */

Test(join, a_condition_decides_which_pairs_match)
{
    for (int kind = WEIR_JOIN_INNER; kind <= WEIR_JOIN_ANTI; kind++) {
        struct trial t;
        open_trial(&t, (weir_join_kind)kind, 1, "k:int64? a:int64? c:utf8",
                   "k:int64? b:int64? d:utf8?");
        add_where(&t);
        wt_op_rows_add_all(&t.left, "1 5 matches_the_second\n"
                                    "1 9 none\n"
                                    "1 - null\n"
                                    "2 0 no_key\n"
                                    "- 0 null_key");
        wt_op_rows_add_all(&t.right, "1 3 x\n"
                                     "1 7 y\n"
                                     "1 - z\n"
                                     "- 9 w");
        nested_loops(&t);
        cr_assert_eq(t.expected.n, kind == WEIR_JOIN_LEFT   ? 5u
                                   : kind == WEIR_JOIN_ANTI ? 4u
                                                            : 1u);
        run_trial(&t, 0);
        expect_and_close(&t);
    }
}

/* Keys that the right side has once are found without lists of rows; with few
 * keys, a left chunk has more pairs than fit one. */
static void random_condition(weir_join_kind kind, uint32_t n_right,
                             int64_t n_keys, unsigned seed)
{
    struct trial t;
    open_trial(&t, kind, 1, "k:int64? a:int64? c:utf8",
               "k:int64? b:int64? d:utf8?");
    add_where(&t);
    for (uint32_t i = 0; i < 300; i++) {
        struct wt_value *row = wt_op_rows_new(&t.left);
        row[0].i = rand_r(&seed) % (2 * n_keys);
        row[0].null = rand_r(&seed) % 20 == 0;
        row[1].i = rand_r(&seed) % 1000;
        row[1].null = rand_r(&seed) % 20 == 0;
        cr_assert_gt(asprintf(&row[2].s, "%u", i), 0);
    }
    for (uint32_t i = 0; i < n_right; i++) {
        struct wt_value *row = wt_op_rows_new(&t.right);
        row[0].i = i % n_keys;
        row[1].i = rand_r(&seed) % 1000;
        row[1].null = rand_r(&seed) % 20 == 0;
        row[2].null = rand_r(&seed) % 2 == 0;
        row[2].s = row[2].null ? NULL : strdup("text");
    }
    nested_loops(&t);
    cr_assert_gt(t.expected.n, 0);
    run_trial(&t, seed);
    expect_and_close(&t);
}

Test(join, a_condition_is_asked_of_every_pair)
{
    for (int kind = WEIR_JOIN_INNER; kind <= WEIR_JOIN_ANTI; kind++) {
        random_condition((weir_join_kind)kind, 100, 100, 1);
        random_condition((weir_join_kind)kind, 500, 3, 2);
        random_condition((weir_join_kind)kind, 3000, 2, 3);
    }
}

/* ---- many matches, nothing, ends ----------------------------------------- */

Test(join, a_row_with_more_matches_than_a_chunk_has_rows)
{
    struct trial t;
    open_trial(&t, WEIR_JOIN_INNER, 1, "k:int64", "k:int64 r:int64");
    for (uint32_t i = 0; i < 3 * WI_CHUNK_ROWS + 5; i++) {
        struct wt_value *row = wt_op_rows_new(&t.right);
        row[0].i = 7;
        row[1].i = i;
    }
    for (uint32_t i = 0; i < 40; i++) {
        wt_op_rows_new(&t.left)[0].i = 7;
    }
    uint64_t sum = 0;
    uint64_t peak_bytes = 0;
    uint64_t rows = 0;
    open_join(&t, 3);
    struct wi_chunk chunk = {0};
    for (enum wi_state state = WI_MOVED; state != WI_DONE;
         state = wi_op_step(t.op, &chunk)) {
        cr_assert_neq(state, WI_FAILED);
        cr_assert_leq(chunk.n, WI_CHUNK_ROWS);
        for (uint32_t i = 0; i < chunk.n; i++) {
            sum += (uint64_t)wi_vec_i64(&chunk.col[1])[wi_chunk_pos(&chunk, i)];
        }
        rows += chunk.n;
        if (peak_bytes == 0 && rows > 0) {
            peak_bytes = t.ctx.mem.peak_bytes;
        }
    }
    cr_assert_eq(t.ctx.mem.peak_bytes, peak_bytes, "memory grew with matches");
    wi_op_close(t.op);
    uint64_t n = 3 * WI_CHUNK_ROWS + 5;
    cr_assert_eq(rows, 40 * n);
    cr_assert_eq(sum, 40 * (n * (n - 1) / 2));
    close_trial(&t);
}

Test(join, an_empty_right_side_stops_the_left_one)
{
    for (int kind = WEIR_JOIN_INNER; kind <= WEIR_JOIN_ANTI; kind++) {
        struct trial t;
        bool needs_match = kind == WEIR_JOIN_INNER || kind == WEIR_JOIN_SEMI;
        open_trial(&t, (weir_join_kind)kind, 1, "k:int64?", "k:int64? r:bool");
        wt_op_rows_add(&t.left, "5");
        wt_op_rows_add(&t.right, "- 1"); /* never matches: as good as empty */
        nested_loops(&t);
        open_join(&t, 0);
        cr_assert_eq(wt_collect(t.op, &t.got), WI_DONE);
        cr_assert_eq(((const struct wt_op_source *)t.op->input[0])->stopped,
                     needs_match);
        wi_op_close(t.op);
        expect_and_close(&t);
    }
}

Test(join, empty_inputs_give_nothing)
{
    for (int kind = WEIR_JOIN_INNER; kind <= WEIR_JOIN_ANTI; kind++) {
        struct trial t;
        open_trial(&t, (weir_join_kind)kind, 1, "k:utf8", "k:utf8 r:utf8");
        run_trial(&t, 0);
        expect_and_close(&t);
    }
}

Test(join, stop_passes_to_both_inputs_and_ends_it)
{
    struct trial t;
    open_small(&t, WEIR_JOIN_INNER);
    for (uint32_t steps = 0; steps < 6; steps++) {
        open_join(&t, 0);
        wt_stop_op(&t.ctx, t.op, steps);
    }
    close_trial(&t);
}

Test(join, over_its_memory_it_fails_and_leaks_nothing)
{
    struct trial t;
    open_trial(&t, WEIR_JOIN_INNER, 1, "k:utf8", "k:utf8 r:utf8");
    for (uint32_t i = 0; i < 20000; i++) {
        struct wt_value *row = wt_op_rows_new(&t.right);
        cr_assert_gt(asprintf(&row[0].s, "key %u", i), 0);
        row[1].s = strdup("some text that takes memory");
    }
    wt_op_rows_add(&t.left, "x");
    uint64_t limits[] = {1 << 18, 1 << 19, 1 << 20, 3 << 19, 1 << 21};
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        t.ctx.mem.limit_bytes = limits[i];
        open_join(&t, i);
        wt_run_op(&t.ctx, t.op, WEIR_ERR_QUERY_MEMORY, &t.got);
    }
    close_trial(&t);
}

Test(join, left_rows_in_runs_match_as_each_alone_would)
{
    for (int kind = WEIR_JOIN_INNER; kind <= WEIR_JOIN_ANTI; kind++) {
        struct trial t;
        open_trial(&t, (weir_join_kind)kind, 2, "k:int64? l:utf8? v:int64",
                   "k:int64? l:utf8? w:int64");
        for (int64_t i = 0; i < 5000; i++) {
            struct wt_value *row = wt_op_rows_new(&t.left);
            row[0].i = i / 10 * 1000003; /* far apart: by hash */
            row[0].null = i / 10 % 7 == 0;
            row[1].s = strdup(i / 5 % 2 == 0 ? "even" : "odd");
            row[2].i = i;
        }
        for (int64_t i = 0; i < 500; i += 3) {
            struct wt_value *row = wt_op_rows_new(&t.right);
            row[0].i = i * 1000003;
            row[1].s = strdup("odd");
            row[2].i = i;
        }
        nested_loops(&t);
        run_trial(&t, (uint64_t)kind);
        expect_and_close(&t);
    }
}

/* ---- random -------------------------------------------------------------- */

struct shape {
    uint32_t n_keys;
    const char *left;
    const char *right;
};

static const struct shape shapes[] = {
    {1, "k:int64 v:utf8?", "k:int64 w:float64?"},
    {1, "k:int32? v:decimal(30,2)?", "k:int32? w:utf8"},
    {1, "k:utf8?", "k:utf8? w:bool? x:uint64"},
    {2, "k:int64? l:date? v:int8", "k:int64? l:date? w:binary"},
    {2, "k:decimal(38,4) l:utf8", "k:decimal(38,4) l:utf8 w:int64?"},
    {3, "k:bool? l:float64? m:uint64?", "k:bool? l:float64? m:uint64? w:int64"},
};

static void random_join(weir_join_kind kind, const struct shape *shape,
                        uint64_t spread, uint64_t seed)
{
    struct trial t;
    uint64_t state = seed;
    open_trial(&t, kind, shape->n_keys, shape->left, shape->right);
    wt_op_rows_random(&t.left, (uint32_t)(wt_next_random(&state) % 3000),
                      &state, spread);
    wt_op_rows_random(&t.right, (uint32_t)(wt_next_random(&state) % 1500),
                      &state, spread);
    nested_loops(&t);
    run_trial(&t, seed);
    expect_and_close(&t);
}

static void random_joins(weir_join_kind kind)
{
    static const uint64_t spreads[] = {40, 1000, 1000000};
    for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
        for (size_t i = 0; i < sizeof(spreads) / sizeof(*spreads); i++) {
            random_join(kind, &shapes[s], spreads[i], 1 + 10 * s + i);
        }
    }
}

Test(join, random_inner_joins_are_those_of_nested_loops)
{
    random_joins(WEIR_JOIN_INNER);
}

Test(join, random_left_joins_are_those_of_nested_loops)
{
    random_joins(WEIR_JOIN_LEFT);
}

Test(join, random_semi_joins_are_those_of_nested_loops)
{
    random_joins(WEIR_JOIN_SEMI);
}

Test(join, random_anti_joins_are_those_of_nested_loops)
{
    random_joins(WEIR_JOIN_ANTI);
}
