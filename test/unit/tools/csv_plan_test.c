/* SPDX-License-Identifier: Apache-2.0 */
/* The table that weir shuffle makes of a file that it has read once. */
#include "tools/csv_plan.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/operators/table_fixture.h"

static void put(const char *path, const char *text)
{
    FILE *to = fopen(path, "r+"); /* the same file */
    cr_assert_not_null(to);
    cr_assert_geq(fputs(text, to), 0);
    cr_assert_eq(fclose(to), 0);
}

static weir_table *open_table(const char *path, uint32_t n_parts)
{
    struct csv_plan plan;
    struct weir_error err = {0};
    _Atomic uint64_t done = 0;
    weir_table *table = NULL;
    cr_assert_eq(csv_plan_open(&plan, path, n_parts, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(csv_plan_scan(&plan, &done, &err), WEIR_OK, "%s", err.message);
    cr_assert_eq(csv_plan_table(&plan, &table, &err), WEIR_OK, "%s",
                 err.message);
    csv_plan_close(&plan);
    return table;
}

/* Names that no table could have, and texts of another encoding. */
Test(csv_plan, any_file_is_a_table)
{
    char path[] = "/tmp/csv-plan-XXXXXX";
    struct wt_op_rows got;
    struct wt_op_rows expected;
    (void)close(mkstemp(path));
    put(path, "a,,a\n1,gr\374n,\"\"\n2,\"b\nc\",\n3,x,y\n");
    wt_op_rows_init(&expected, "c0:int64 c1:binary c2:binary?");
    struct wt_value *row = wt_op_rows_new(&expected);
    row[0].i = 1;
    row[1].s = strdup("gr\374n");
    row[2].s = strdup("");
    row = wt_op_rows_new(&expected);
    row[0].i = 2;
    row[1].s = strdup("b\nc");
    row[2].null = true;
    row = wt_op_rows_new(&expected);
    row[0].i = 3;
    row[1].s = strdup("x");
    row[2].s = strdup("y");
    for (uint32_t parts = 1; parts < 40; parts += 3) {
        weir_table *table = open_table(path, parts);
        wt_scan(table, "c0:int64 c1:binary c2:binary?", parts, &got);
        wt_op_rows_expect(&got, &expected, true);
        wt_op_rows_fini(&got);
        weir_table_close(table);
    }
    wt_op_rows_fini(&expected);
    (void)unlink(path);
}

/* Its types were found over all values: what is of another type now is new. */
Test(csv_plan, a_file_that_changed_is_told_with_the_line)
{
    char path[] = "/tmp/csv-plan-XXXXXX";
    char expected[100];
    (void)close(mkstemp(path));
    put(path, "a,b\n1,x\n2,y\n");
    weir_table *table = open_table(path, 2);
    put(path, "a,b\n1,x\nz,y\n");
    const struct weir_error err = wt_scan_error(table, "c0:int64 c1:binary", 2);
    (void)snprintf(expected, sizeof(expected),
                   "%s:3: the file was changed while it was read", path);
    cr_expect_str_eq(err.message, expected);
    cr_expect_eq(err.code, WEIR_ERR_DATA);
    weir_table_close(table);
    (void)unlink(path);
}
