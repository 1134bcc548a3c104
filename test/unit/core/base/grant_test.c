/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/grant.h"

#include <criterion/criterion.h>

enum { READ = 1, WRITE = 2, MANY = 100000 };

static uint8_t memory[64];

static uint64_t add(struct wi_grants *g, uint32_t access, uint32_t noise)
{
    const struct wi_granted what = {
        .base = memory, .bytes = sizeof(memory), .access = access};
    struct weir_error err = {0};
    uint64_t key = 0;
    cr_assert_eq(wi_grants_add(g, &what, noise, &key, &err), WEIR_OK, "%s",
                 err.message);
    return key;
}

Test(grant, allows_what_was_granted_and_no_more)
{
    struct wi_grants g = {0};
    uint64_t key = add(&g, READ, 6);
    cr_assert_not_null(wi_grants_find(&g, key, READ, 0, 64));
    cr_assert_not_null(wi_grants_find(&g, key, READ, 63, 1));
    cr_assert_null(wi_grants_find(&g, key, WRITE, 0, 1));
    cr_assert_null(wi_grants_find(&g, key, READ | WRITE, 0, 1));
    cr_assert_null(wi_grants_find(&g, key, READ, 1, 64));
    cr_assert_null(wi_grants_find(&g, key, READ, UINT64_MAX, 2));
    cr_assert_null(wi_grants_find(&g, key, READ, 2, UINT64_MAX));
    cr_assert_null(wi_grants_find(&g, key ^ 1, READ, 0, 1));
    cr_assert_null(wi_grants_find(&g, key ^ UINT64_C(1) << 40, READ, 0, 1));
    cr_assert_null(wi_grants_find(&g, 0, READ, 0, 1));
    wi_grants_fini(&g);
}

Test(grant, places_are_used_again_under_other_keys)
{
    struct wi_grants g = {0};
    uint64_t first = add(&g, READ, 2);
    uint64_t kept = add(&g, WRITE, 4);
    wi_grants_drop(&g, first);
    wi_grants_drop(&g, first); /* names nothing any more */
    wi_grants_drop(&g, 0);
    cr_assert_null(wi_grants_find(&g, first, READ, 0, 1));
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t key = add(&g, READ, 2 * i + 6);
        cr_assert_neq(key, first);
        wi_grants_drop(&g, key);
    }
    cr_assert_eq(g.n, 2);
    cr_assert_not_null(wi_grants_find(&g, kept, WRITE, 0, 1));
    wi_grants_fini(&g);
}

Test(grant, as_many_stand_as_there_is_memory_for)
{
    static uint64_t keys[MANY];
    struct wi_grants g = {0};
    for (uint32_t i = 0; i < MANY; i++) {
        keys[i] = add(&g, i % 2 + 1, i);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        cr_assert_not_null(wi_grants_find(&g, keys[i], i % 2 + 1, 0, 64));
    }
    wi_grants_fini(&g);
}
