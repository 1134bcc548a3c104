/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tables of the CH-benCHmark, computed: for `weir gen`, for plans of the weir
 * command and of the benches, and for tests.
 *
 *   ch_open("orders", 10, 1, ...)                    a table
 *   weir_plan_read, params.kinds = &ch_kind          the same in JSON:
 *       {"chbench": "orders", "warehouses": 10, "seed": 1}
 */
#ifndef CHBENCH_CHBENCH_H
#define CHBENCH_CHBENCH_H

#include <weir/plan.h>

/**
 * A table, computed: the same rows as in the files of `weir gen chbench` with
 * these parameters.
 *
 * @param name        "customer", "orders", "new_order", "order_line"
 * @param warehouses  1..100000
 *
 * Errors:     WEIR_ERR_NOT_FOUND (lists the tables), WEIR_ERR_ARG,
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  weir_table_close, or weir_plan_table
 * Source:     TPC Benchmark C, revision 5.11, clauses 1.3, 4.3.3;
 *             docs/chbench.md
 */
weir_err ch_open(const char *name, uint32_t warehouses, uint64_t seed,
                 weir_table **table_out, struct weir_error *err);

/** "chbench" as a kind of table in plans. */
extern const struct weir_table_kind ch_kind;

/** Options of weir_plan_read with that kind, and nothing else. */
extern const struct weir_plan_read_params ch_params;

#endif /* CHBENCH_CHBENCH_H */
