/* SPDX-License-Identifier: Apache-2.0 */
/* Hash aggregate of random rows, against a list of groups that is searched from
 * its start. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/agg_trial.h"

TestSuite(agg_random, .timeout = 60);

enum { RANDOM_ROWS = 4000 };

/* Groups of the reference: the first input row of each, and the group
 * of each row. */
struct naive {
    uint32_t first[RANDOM_ROWS];
    uint32_t n;
    uint32_t group[RANDOM_ROWS];
    uint64_t count[RANDOM_ROWS]; /* of the aggregate under way */
};

static bool same_group(const struct wt_agg_trial *t, uint32_t a, uint32_t b)
{
    const struct wt_value *x = wt_op_rows_at(&t->in, a);
    const struct wt_value *y = wt_op_rows_at(&t->in, b);
    for (uint32_t g = 0; g < t->n_groups; g++) {
        if (x[g].null != y[g].null) {
            return false;
        }
        if (!x[g].null && (x[g].i != y[g].i || x[g].f != y[g].f ||
                           (x[g].s != NULL && strcmp(x[g].s, y[g].s) != 0))) {
            return false;
        }
    }
    return true;
}

static uint32_t group_of(const struct wt_agg_trial *t, struct naive *naive,
                         uint32_t row)
{
    for (uint32_t g = 0; g < naive->n; g++) {
        if (same_group(t, naive->first[g], row)) {
            return g;
        }
    }
    naive->first[naive->n] = row;
    return naive->n++;
}

static int compare_values(const struct wt_value *a, const struct wt_value *b)
{
    if (a->s != NULL) {
        return strcmp(a->s, b->s);
    }
    if (a->f != b->f) {
        return a->f < b->f ? -1 : 1;
    }
    return (a->i > b->i) - (a->i < b->i);
}

static void take(enum wi_agg_fn fn, struct wt_value *out, uint64_t *count,
                 const struct wt_value *v)
{
    *count += fn == WI_AGG_COUNT_ROWS || !v->null;
    if (v->null || fn <= WI_AGG_COUNT) {
        return;
    }
    if (fn == WI_AGG_SUM || fn == WI_AGG_AVG) {
        out->i += v->i;
        out->f += v->f;
        return;
    }
    int order = *count == 1 ? 1 : compare_values(v, out);
    if (*count == 1 || (fn == WI_AGG_MIN ? order < 0 : order > 0)) {
        free(out->s);
        *out = *v;
        out->s = v->s == NULL ? NULL : strdup(v->s);
    }
}

static void finish(const struct wi_agg *agg, struct wt_value *out,
                   uint64_t count)
{
    if (agg->fn <= WI_AGG_COUNT) {
        out->i = (wi_i128)count;
    } else if (count == 0) {
        out->null = true;
    } else if (agg->fn == WI_AGG_AVG && agg->type.kind != WI_TYPE_DECIMAL) {
        out->f = (out->f + (double)out->i) / (double)count;
    } else if (agg->fn == WI_AGG_AVG) {
        wi_i128 n = (wi_i128)count;
        for (uint8_t s = agg->type.scale; s < 6; s++) {
            out->i *= 10;
        }
        out->i = (2 * out->i + (out->i < 0 ? -n : n)) / (2 * n);
    }
}

static void expect_agg(struct wt_agg_trial *t, struct naive *naive, uint32_t a)
{
    const struct wi_agg *agg = &t->aggs[a];
    memset(naive->count, 0, sizeof(naive->count));
    for (uint32_t i = 0; i < t->in.n; i++) {
        uint32_t g = naive->group[i];
        take(agg->fn, &wt_op_rows_at(&t->expected, g)[t->n_groups + a],
             &naive->count[g], &wt_op_rows_at(&t->in, i)[agg->col]);
    }
    for (uint32_t g = 0; g < naive->n; g++) {
        finish(agg, &wt_op_rows_at(&t->expected, g)[t->n_groups + a],
               naive->count[g]);
    }
}

static void expect_naive(struct wt_agg_trial *t)
{
    struct naive naive = {.n = 0};
    for (uint32_t i = 0; i < t->in.n; i++) {
        naive.group[i] = group_of(t, &naive, i);
    }
    for (uint32_t g = 0; g < naive.n; g++) {
        struct wt_value *row = wt_op_rows_new(&t->expected);
        const struct wt_value *key = wt_op_rows_at(&t->in, naive.first[g]);
        for (uint32_t k = 0; k < t->n_groups; k++) {
            row[k] = key[k];
            row[k].s = key[k].s == NULL ? NULL : strdup(key[k].s);
        }
    }
    for (uint32_t a = 0; a < t->n_aggs; a++) {
        expect_agg(t, &naive, a);
    }
}

struct shape {
    uint32_t n_groups;
    const char *in;
};

static const struct shape shapes[] = {
    {1, "k:int64? v:int64? w:float64? x:utf8?"},
    {1, "k:utf8? v:decimal(12,2)? w:bool? x:uint64?"},
    {2, "k:int32? l:date? v:decimal(25,3)? w:binary"},
    {2, "k:decimal(30,1)? l:float64? v:int8 w:timestamp(us)?"},
    {0, "v:decimal(12,7)? w:int64? x:utf8?"},
};

static void random_agg(const struct shape *shape, uint64_t spread,
                       uint64_t seed)
{
    struct wt_agg_trial t;
    uint64_t state = seed;
    wt_agg_open(&t, shape->n_groups, shape->in);
    for (uint32_t c = t.n_groups; c < t.in.columns.n; c++) {
        for (int fn = WI_AGG_COUNT_ROWS; fn <= WI_AGG_MAX; fn++) {
            bool number = wi_type_is_number(&t.in.columns.at[c].type);
            bool sums = fn == WI_AGG_SUM || fn == WI_AGG_AVG;
            if (t.n_aggs < WT_AGG_COLUMNS - 4 && (number || !sums)) {
                wt_agg_add(&t, (enum wi_agg_fn)fn, c);
            }
        }
    }
    wt_op_rows_random(&t.in, RANDOM_ROWS, &state, spread);
    expect_naive(&t);
    wt_agg_expect(&t, seed);
}

Test(agg_random, random_aggregates_are_those_of_a_search)
{
    static const uint64_t spreads[] = {3, 20, 200};
    for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
        for (size_t i = 0; i < sizeof(spreads) / sizeof(*spreads); i++) {
            random_agg(&shapes[s], spreads[i], 1 + 10 * s + i);
        }
    }
}

/* Codes of whole numbers: keys that stay, that grow, that leave. */
Test(agg_random, keys_that_spread_out_keep_their_groups)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:int64? v:int64");
    wt_agg_add(&t, WI_AGG_COUNT_ROWS, 1);
    wt_agg_add(&t, WI_AGG_SUM, 1);
    const uint32_t n = 250000;
    for (uint32_t i = 0; i < n; i++) {
        struct wt_value *row = wt_op_rows_new(&t.in);
        row[0].null = i % 1000 == 0;
        row[0].i = i % 1000 == 0 ? 0 : i / 2;
        row[1].i = 1;
    }
    for (uint32_t k = 0; k < n / 2; k++) {
        int64_t nulls = (2 * k % 1000 == 0) + ((2 * k + 1) % 1000 == 0);
        struct wt_value *row = wt_op_rows_new(&t.expected);
        row[0].i = k;
        row[1].i = 2 - nulls;
        row[2].i = 2 - nulls;
    }
    struct wt_value *row = wt_op_rows_new(&t.expected);
    row[0].null = true;
    row[1].i = n / 1000;
    row[2].i = n / 1000;
    wt_agg_expect(&t, 9);
}
