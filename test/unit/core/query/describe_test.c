/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <string.h>

#include "core/format/schema.h"
#include "core/query/describe.h"
#include "core/query/shuffle.h"

Test(describe, parts_that_differ_are_named)
{
    char text[WI_TEXT_BYTES];
    wi_shuffle_difference("n0", "hash by a; seed 1; columns a l", "n1",
                          "hash by a; seed 2; columns a l", text, sizeof(text));
    cr_assert_str_eq(text, "seed 1 on n0, seed 2 on n1");
}

/* Bounds are in the fingerprint and in no description. */
Test(describe, equal_descriptions_are_shown)
{
    char text[WI_TEXT_BYTES];
    wi_shuffle_difference("n0", "range by a; seed 1; columns a l", "n1",
                          "range by a; seed 1; columns a l", text,
                          sizeof(text));
    cr_assert_str_eq(text, "n0 and n1, in the bounds or beyond what is shown "
                           "of both: range by a; seed 1; columns a l");
}

/* A long part is shown from the word on that differs. */
Test(describe, long_parts_begin_where_they_differ)
{
    static const char a[] =
        "seed 1; columns alpha l, beta u, gamma i, delta g, "
        "epsilon s, eta f, zeta b";
    static const char b[] =
        "seed 1; columns alpha l, beta u, gamma i, delta g, "
        "epsilon s, eta f, theta b";
    char text[WI_TEXT_BYTES];
    wi_shuffle_difference("n0", a, "n1", b, text, sizeof(text));
    cr_assert_str_eq(text, ".. zeta b on n0, .. theta b on n1");
}

/* Numbers that follow one another are said by the first and the last. */
Test(describe, members_are_listed_shortly)
{
    static const struct weir_field field = {"a", "l", 0};
    static uint32_t from[] = {0, 1, 2, 3, 7};
    static uint32_t to[] = {2, 4, 5};
    struct ArrowSchema schema;
    struct weir_shuffle s = {.producers = from,
                             .n_producers = 5,
                             .consumers = to,
                             .n_consumers = 3,
                             .consumer_workers = 2};
    char text[WI_SIDE_BYTES];
    cr_assert_eq(weir_schema_build(&field, 1, &schema, NULL), WEIR_OK);
    cr_assert_eq(wi_schema_open(&schema, &s.schema, NULL), WEIR_OK);
    schema.release(&schema);
    s.kind = WEIR_RANDOM;
    wi_shuffle_describe(&s, text);
    cr_expect_not_null(strstr(text, "members 0-3,7 produce with all workers"),
                       "%s", text);
    cr_expect_not_null(strstr(text, "members 2,4-5 consume with 2 workers"),
                       "%s", text);
    wi_schema_close(s.schema);
}
