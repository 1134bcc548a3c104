/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lib/fan_series.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "bench/opponents/radix.h"

static struct wb_fan_series small(bool mixed, uint64_t memory_bytes)
{
    return (struct wb_fan_series){
        .params = {.workers = 4,
                   .batch_rows = 700,
                   .frame_bytes = 2048,
                   .memory_bytes = memory_bytes,
                   .mixed = mixed},
        .rows = 20000,
        .repeat = 2,
        .n = 2,
        .points = {{.destinations = 8}, {.destinations = 72}}};
}

static void run(struct wb_fan_series s)
{
    struct weir_error err;
    cr_assert_eq(wb_fan_series_run(&s, &err), WEIR_OK, "%s", err.message);
    for (uint32_t i = 0; i < s.n; i++) {
        cr_assert(s.points[i].weir.median > 0 && s.points[i].radix.median > 0);
        cr_assert(s.points[i].rows_per_frame >= 1.0);
    }
}

/* A run fails if a destination does not get the rows of its part. */
Test(fan, of_narrow_rows_agrees_with_the_partition_in_memory)
{
    run(small(false, 64u << 20));
}

Test(fan, of_mixed_rows_agrees_with_the_partition_in_memory)
{
    run(small(true, 64u << 20));
}

Test(fan, over_rings_of_nodes_agrees_with_the_partition_in_memory)
{
    run(small(true, 3u << 20));
}

Test(fan, refuses_part_of_a_node)
{
    struct weir_error err;
    struct wb_fan_series s = small(false, 64u << 20);
    s.points[0].destinations = 9;
    cr_assert_eq(wb_fan_series_run(&s, &err), WEIR_ERR_ARG);
}

Test(rows, sums_know_which_values_belong_together)
{
    struct wb_rows rows;
    cr_assert_eq(wb_rows_open(&rows, 100, true, NULL), WEIR_OK);
    uint64_t sum = wb_rows_sum(&rows.columns, rows.n);
    int32_t *number = rows.columns.number;
    int32_t first = number[0];
    number[0] = number[1];
    number[1] = first;
    cr_assert_neq(wb_rows_sum(&rows.columns, rows.n), sum);
    wb_rows_close(&rows);
}
