/* SPDX-License-Identifier: Apache-2.0 */
/* Sort and top-k, against insertion. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/op/order.h"
#include "test/support/operators.h"

TestSuite(sort, .timeout = 60);

struct trial {
    struct wi_ctx ctx;
    struct wt_op_rows in;
    struct wt_op_rows got;
    struct wt_op_rows expected;
    struct wi_sort_params p;
};

static void open_trial(struct trial *t, const char *columns,
                       const struct wi_sort_key *keys, uint32_t n_keys)
{
    memset(t, 0, sizeof(*t));
    wt_ctx_init(&t->ctx, 0);
    wt_op_rows_init(&t->in, columns);
    wt_op_rows_init(&t->got, columns);
    wt_op_rows_init(&t->expected, columns);
    t->p = (struct wi_sort_params){
        .columns = &t->in.columns, .n_keys = n_keys, .keys = keys};
}

static void close_trial(struct trial *t)
{
    wt_op_rows_fini(&t->in);
    wt_op_rows_fini(&t->got);
    wt_op_rows_fini(&t->expected);
}

static struct wi_op *open_sort(struct trial *t, uint64_t seed)
{
    struct wi_op *op = NULL;
    struct wi_op *input = wt_source(&t->ctx, &t->in, seed);
    cr_assert_eq(wi_sort_open(&t->ctx, &t->p, input, &op), WEIR_OK, "%s",
                 t->ctx.err.message);
    return op;
}

static void run_sort(struct trial *t, uint64_t seed, weir_err code)
{
    wt_op_rows_clear(&t->got);
    wt_run_op(&t->ctx, open_sort(t, seed), code, &t->got);
}

static void expect_sorted(struct trial *t, uint64_t seed)
{
    run_sort(t, seed, WEIR_OK);
    wt_op_rows_expect(&t->got, &t->expected, true);
}

/* ---- the reference ------------------------------------------------------- */

static int compare_values(enum wi_rep rep, const struct wt_value *a,
                          const struct wt_value *b)
{
    if (rep == WI_STR) {
        return strcmp(a->s, b->s);
    }
    if (rep == WI_F64) {
        return (a->f > b->f) - (a->f < b->f);
    }
    return (a->i > b->i) - (a->i < b->i);
}

static int compare_rows(const struct trial *t, const struct wt_value *a,
                        const struct wt_value *b)
{
    for (uint32_t k = 0; k < t->p.n_keys; k++) {
        const struct wi_sort_key *key = &t->p.keys[k];
        const struct wt_value *x = &a[key->col];
        const struct wt_value *y = &b[key->col];
        int order = 0;
        if (x->null || y->null) {
            order = x->null - y->null;
            order = key->nulls_first ? -order : order;
        } else {
            order = compare_values(
                wi_type_rep(&t->in.columns.at[key->col].type), x, y);
            order = key->descending ? -order : order;
        }
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

/* Numbers of the rows in order; equal ones as they came. */
static uint32_t *sorted_rows(const struct trial *t)
{
    uint32_t *rows = calloc(t->in.n + 1, sizeof(*rows));
    for (uint32_t i = 0; i < t->in.n; i++) {
        uint32_t low = 0;
        uint32_t high = i;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (compare_rows(t, wt_op_rows_at(&t->in, i),
                             wt_op_rows_at(&t->in, rows[middle])) < 0) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        memmove(&rows[low + 1], &rows[low], (i - low) * sizeof(*rows));
        rows[low] = i;
    }
    return rows;
}

static void expect_insertion(struct trial *t)
{
    uint32_t *rows = sorted_rows(t);
    uint32_t n = t->in.n;
    if (t->p.rows > 0 && t->p.rows < n) {
        n = (uint32_t)t->p.rows;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct wt_value *row = wt_op_rows_new(&t->expected);
        const struct wt_value *from = wt_op_rows_at(&t->in, rows[i]);
        for (uint32_t c = 0; c < t->in.columns.n; c++) {
            row[c] = from[c];
            row[c].s = from[c].s == NULL ? NULL : strdup(from[c].s);
        }
    }
    free(rows);
}

/* ---- by hand ------------------------------------------------------------- */

Test(sort, keys_have_directions_and_places_for_nulls_of_their_own)
{
    const struct wi_sort_key keys[] = {{1, true, true}, {0, false, false}};
    struct trial t;
    open_trial(&t, "k:int64? s:utf8?", keys, 2);
    const char *const in[] = {"3 a", "- b",          "1 b", "2 -",
                              "1 a", "5 abcdefghij", "- -", "4 abcdefghik"};
    const char *const out[] = {"2 -",          "- -",          "1 b", "- b",
                               "4 abcdefghik", "5 abcdefghij", "1 a", "3 a"};
    for (size_t i = 0; i < sizeof(in) / sizeof(*in); i++) {
        wt_op_rows_add(&t.in, in[i]);
        wt_op_rows_add(&t.expected, out[i]);
    }
    expect_sorted(&t, 0);
    close_trial(&t);
}

Test(sort, numbers_at_the_ends_of_their_range_are_not_nulls)
{
    const struct wi_sort_key last[] = {{0, false, false}};
    const struct wi_sort_key first[] = {{0, true, true}};
    struct trial t;
    open_trial(&t, "k:int64?", last, 1);
    wt_op_rows_add_all(&t.in, "-\n"
                              "9223372036854775807\n"
                              "0\n"
                              "-9223372036854775808");
    wt_op_rows_add_all(&t.expected, "-9223372036854775808\n"
                                    "0\n"
                                    "9223372036854775807\n"
                                    "-");
    expect_sorted(&t, 0);
    wt_op_rows_clear(&t.expected);
    t.p.keys = first;
    wt_op_rows_add_all(&t.expected, "-\n"
                                    "9223372036854775807\n"
                                    "0\n"
                                    "-9223372036854775808");
    expect_sorted(&t, 0);
    close_trial(&t);
}

Test(sort, floats_have_one_zero_and_end_with_not_a_number)
{
    const struct wi_sort_key keys[] = {{0, false, false}, {1, false, false}};
    struct trial t;
    open_trial(&t, "k:float64 l:int64", keys, 2);
    wt_op_rows_add_all(&t.in, "nan 1\n"
                              "0 3\n"
                              "-0 2\n"
                              "inf 1\n"
                              "-inf 1\n"
                              "-2.5 1");
    wt_op_rows_add_all(&t.expected, "-inf 1\n"
                                    "-2.5 1\n"
                                    "-0 2\n"
                                    "0 3\n"
                                    "inf 1\n"
                                    "nan 1");
    expect_sorted(&t, 0);
    close_trial(&t);
}

Test(sort, no_rows_give_none)
{
    const struct wi_sort_key keys[] = {{0, false, false}};
    struct trial t;
    open_trial(&t, "k:utf8?", keys, 1);
    expect_sorted(&t, 0);
    t.p.rows = 5;
    expect_sorted(&t, 0);
    close_trial(&t);
}

/* ---- memory -------------------------------------------------------------- */

static void fill_numbers(struct trial *t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct wt_value *row = wt_op_rows_new(&t->in);
        row[0].i = (int64_t)((uint64_t)i * 2654435761u % n);
        cr_assert_gt(asprintf(&row[1].s, "row %u", i), 0);
    }
}

Test(sort, top_k_keeps_no_more_than_it_needs)
{
    const struct wi_sort_key keys[] = {{0, true, false}};
    struct trial t;
    open_trial(&t, "k:int64 s:utf8", keys, 1);
    fill_numbers(&t, 50021);
    t.p.rows = 10;
    t.ctx.mem.limit_bytes = 1 << 20; /* all rows take four times that */
    expect_insertion(&t);
    expect_sorted(&t, 4);
    t.p.rows = 0;
    run_sort(&t, 4, WEIR_ERR_QUERY_MEMORY);
    close_trial(&t);
}

Test(sort, over_its_memory_it_fails_and_leaks_nothing)
{
    const struct wi_sort_key keys[] = {{0, false, false}};
    struct trial t;
    open_trial(&t, "k:int64 s:utf8", keys, 1);
    fill_numbers(&t, 20011);
    t.p.rows = 9000;
    for (uint64_t limit = 1 << 17; limit <= 1 << 20; limit += 1 << 15) {
        t.ctx.mem.limit_bytes = limit;
        run_sort(&t, 0, WEIR_ERR_QUERY_MEMORY);
    }
    close_trial(&t);
}

Test(sort, stop_ends_it_at_any_time)
{
    const struct wi_sort_key keys[] = {{0, false, false}};
    struct trial t;
    open_trial(&t, "k:int64 s:utf8", keys, 1);
    fill_numbers(&t, 10007);
    for (uint32_t steps = 0; steps < 12; steps++) {
        wt_stop_op(&t.ctx, open_sort(&t, 0), steps);
    }
    close_trial(&t);
}

/* ---- random -------------------------------------------------------------- */

static const char *const shapes[] = {
    "k:int64? l:utf8? v:int64",
    "k:utf8? l:int64 v:uint64",
    "k:decimal(38,3)? l:float64? v:utf8",
    "k:float64? l:decimal(9,1)? v:bool",
    "k:bool? l:date? v:int8?",
};

static void random_sort(const char *shape, uint64_t spread, uint64_t rows,
                        uint64_t seed)
{
    struct wi_sort_key keys[2];
    struct trial t;
    uint64_t state = seed;
    for (uint32_t k = 0; k < 2; k++) {
        keys[k].col = k;
        keys[k].descending = wt_next_random(&state) % 2 != 0;
        keys[k].nulls_first = wt_next_random(&state) % 2 != 0;
    }
    open_trial(&t, shape, keys, 1 + (uint32_t)(wt_next_random(&state) % 2));
    wt_op_rows_random(&t.in, 7000, &state, spread);
    t.p.rows = rows;
    expect_insertion(&t);
    expect_sorted(&t, seed);
    close_trial(&t);
}

static void random_sorts(uint64_t rows)
{
    static const uint64_t spreads[] = {2, 300, 1000000};
    for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
        for (size_t i = 0; i < sizeof(spreads) / sizeof(*spreads); i++) {
            random_sort(shapes[s], spreads[i], rows, 1 + 10 * s + i);
        }
    }
}

Test(sort, random_rows_are_sorted_and_equal_ones_stay_as_they_came)
{
    random_sorts(0);
}

Test(sort, random_rows_have_the_first_of_them)
{
    random_sorts(1);
    random_sorts(100);
    random_sorts(3000);
    random_sorts(UINT64_MAX);
}
