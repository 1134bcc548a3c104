/* SPDX-License-Identifier: Apache-2.0 */
/* How large the numbers of a batch may be: at each bound, and one beyond. */
#include "core/format/import.h"

#include <criterion/criterion.h>

#include "core/format/intake.h"
#include "test/unit/core/format/batch_fixture.h"

static const struct weir_field one[] = {{"id", "l", 0}};

static weir_err check(int64_t length, int64_t offset)
{
    struct wt_batch t;
    wt_open_schema(&t, 1, one, 1);
    wt_random_batch(&t, 1, 1);
    t.array.length = length;
    t.array.offset = offset;
    weir_err rc = wi_batch_check(t.schema, &t.array, NULL);
    wt_close(&t);
    return rc;
}

Test(import, rows_of_a_batch_have_bounds)
{
    const int64_t most = INT64_MAX / 4;
    cr_expect_eq(check(0, 0), WEIR_OK);
    cr_expect_eq(check(-1, 0), WEIR_ERR_SCHEMA);
    cr_expect_eq(check(0, -1), WEIR_ERR_SCHEMA);
    cr_expect_eq(check(INT32_MAX, most), WEIR_OK);
    cr_expect_eq(check(INT32_MAX + 1ll, 0), WEIR_ERR_SCHEMA);
    cr_expect_eq(check(0, most + 1), WEIR_ERR_SCHEMA);
}

Test(import, rows_of_a_column_have_bounds)
{
    const int64_t most = INT64_MAX / 4;
    const struct wi_column c = {.name = "id"};
    const struct wi_slice in = {.first = 3, .n = 4};
    struct ArrowArray a = {.length = 7, .offset = most};
    cr_expect_eq(wi_column_check_rows(&c, &a, &in, NULL), WEIR_OK);
    a.offset = most + 1;
    cr_expect_eq(wi_column_check_rows(&c, &a, &in, NULL), WEIR_ERR_SCHEMA);
    a.offset = -1;
    cr_expect_eq(wi_column_check_rows(&c, &a, &in, NULL), WEIR_ERR_SCHEMA);
    a.offset = 0;
    a.length = 6;
    cr_expect_eq(wi_column_check_rows(&c, &a, &in, NULL), WEIR_ERR_SCHEMA);
}

/* A layout of its own does not spare a batch what any other has to be. */
Test(import, a_batch_in_another_layout_is_checked_too)
{
    static const struct weir_field text = {"t", "u", 0};
    struct wt_batch t;
    struct wi_view view;
    struct ArrowSchema given;
    struct wi_intake *in = NULL;
    wt_open_schema(&t, 1, &text, 1);
    wt_random_batch(&t, 5, 9);
    cr_assert_eq(weir_schema_build(&text, 1, &given, NULL), WEIR_OK);
    given.children[0]->format = "U";
    cr_assert_eq(wi_intake_open(t.schema, &given, &in, NULL), WEIR_OK);
    given.release(&given);
    t.array.length = 0;
    t.array.n_children = 2;
    cr_expect_eq(wi_intake_import(in, &t.array, &view, NULL), WEIR_ERR_SCHEMA);
    t.array.n_children = 1;
    t.array.release = NULL;
    cr_expect_eq(wi_intake_import(in, &t.array, &view, NULL), WEIR_ERR_ARG);
    wi_intake_close(in);
    wt_close(&t);
}
