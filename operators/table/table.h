/* SPDX-License-Identifier: Apache-2.0 */
/** The inside of weir_table: what scan and plan need of it. */
#ifndef WI_OPERATORS_TABLE_H
#define WI_OPERATORS_TABLE_H

#include <weir/table.h>

#include "operators/base/type.h"

struct weir_table {
    struct weir_table_ops ops;
    void *arg;
    struct wi_columns columns;
};

#endif /* WI_OPERATORS_TABLE_H */
