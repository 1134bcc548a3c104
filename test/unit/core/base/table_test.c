/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/table.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "core/base/cc.h"

enum { N = 5000 };

struct thing {
    uint64_t a;
    uint64_t b;
    struct wi_entry by_words;
};

static struct thing things[N];

static struct thing *find(const struct wi_table *t, uint64_t a, uint64_t b)
{
    wi_list_each(n, wi_table_chain(t, wi_hash_words(a, b)))
    {
        struct thing *x = wi_container_of(n, struct thing, by_words.chain);
        if (x->a == a && x->b == b) {
            return x;
        }
    }
    return NULL;
}

static void put(struct wi_table *t, struct thing *x, uint64_t a, uint64_t b)
{
    x->a = a;
    x->b = b;
    wi_table_put(t, &x->by_words, wi_hash_words(a, b));
}

static uint32_t longest(const struct wi_table *t)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i <= t->mask; i++) {
        uint32_t n = 0;
        wi_list_each(k, &t->chains[i])
        {
            n++;
        }
        most = n > most ? n : most;
    }
    return most;
}

Test(table, what_is_put_is_found_until_it_is_dropped)
{
    struct wi_table t;
    wi_table_init(&t);
    cr_assert_null(find(&t, 1, 2));
    for (uint64_t i = 0; i < N; i++) {
        put(&t, &things[i], i % 7, i / 7);
        cr_assert_eq(find(&t, 0, 0), &things[0], "after %u", (unsigned)i);
    }
    for (uint64_t i = 0; i < N; i++) {
        cr_assert_eq(find(&t, i % 7, i / 7), &things[i]);
        cr_assert_null(find(&t, i % 7, i / 7 + N));
    }
    for (uint64_t i = 0; i < N; i += 2) {
        wi_table_drop(&t, &things[i].by_words);
    }
    for (uint64_t i = 0; i < N; i++) {
        cr_assert_eq(find(&t, i % 7, i / 7), i % 2 != 0 ? &things[i] : NULL);
    }
    cr_assert_eq(t.n, N / 2);
    wi_table_fini(&t);
}

/* As programs choose names: numbers in a row, shifted, of few spaces. */
Test(table, chains_stay_short)
{
    for (uint64_t shift = 0; shift < 48; shift++) {
        struct wi_table t;
        wi_table_init(&t);
        for (uint64_t i = 0; i < N; i++) {
            put(&t, &things[i], 7 + (shift & 1), i << shift >> 1);
        }
        cr_assert_leq(longest(&t), 14, "%u of %u", longest(&t), N);
        wi_table_fini(&t);
        wi_table_init(&t);
        for (uint64_t i = 0; i < N; i++) {
            put(&t, &things[i], i << shift >> 1, 0);
        }
        cr_assert_leq(longest(&t), 14, "%u of %u", longest(&t), N);
        wi_table_fini(&t);
    }
}

Test(table, many_with_one_hash_are_all_there)
{
    struct wi_table t;
    wi_table_init(&t);
    for (uint64_t i = 0; i < N; i++) {
        things[i].a = i;
        wi_table_put(&t, &things[i].by_words, 42);
    }
    uint64_t sum = 0;
    wi_list_each(n, wi_table_chain(&t, 42))
    {
        sum += wi_container_of(n, struct thing, by_words.chain)->a;
    }
    cr_assert_eq(sum, (uint64_t)N * (N - 1) / 2);
    wi_table_fini(&t);
}
