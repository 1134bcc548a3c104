/* SPDX-License-Identifier: Apache-2.0 */
/* What all tables have in common. */
#include "operators/table/table.h"

#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/base/utf8.h"
#include "operators/table/kept.h"

static weir_err check_names(const struct wi_columns *columns,
                            struct weir_error *err)
{
    for (uint32_t i = 0; i < columns->n; i++) {
        const char *name = columns->at[i].name;
        const uint32_t first = (uint32_t)wi_columns_find(columns, name);
        if (name[0] == '\0' || !wi_utf8_check(name, strlen(name))) {
            return wi_exec_fail(err, WEIR_ERR_SCHEMA,
                                "the name of column %u, \"%s\", is %s", i + 1,
                                name, name[0] == '\0' ? "empty" : "not UTF-8");
        }
        if (first != i) {
            return wi_exec_fail(err, WEIR_ERR_SCHEMA,
                                "columns %u and %u are both named \"%s\"",
                                first + 1, i + 1, name);
        }
    }
    return WEIR_OK;
}

weir_err wi_table_open(struct wi_columns *columns,
                       const struct weir_table_ops *ops, void *arg,
                       weir_table **table_out, struct weir_error *err)
{
    weir_err rc = check_names(columns, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_table *table = malloc(sizeof(*table));
    if (table == NULL) {
        return wi_exec_no_memory(err, sizeof(*table));
    }
    *table = (struct weir_table){.ops = *ops, .arg = arg, .columns = *columns};
    *columns = (struct wi_columns){0};
    *table_out = table;
    return WEIR_OK;
}

struct wi_row_range wi_table_cut(uint64_t n, uint32_t part, uint32_t n_parts)
{
    const wi_u128 rows = n;
    return (struct wi_row_range){
        .first = (uint64_t)(rows * part / n_parts),
        .end = (uint64_t)(rows * (part + 1) / n_parts),
    };
}

weir_err weir_table_open(const struct ArrowSchema *schema,
                         const struct weir_table_ops *ops, void *arg,
                         weir_table **table_out, struct weir_error *err)
{
    struct wi_columns columns = {0};
    weir_err rc = wi_exec_check_args(err, WI_EXEC_ARG(schema), WI_EXEC_ARG(ops),
                                     WI_EXEC_ARG(table_out));
    if (rc != WEIR_OK) {
        return rc;
    }
    if (ops->open == NULL || ops->next == NULL || ops->close == NULL ||
        ops->free == NULL) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "ops: open, next, close and free are all needed");
    }
    rc = wi_columns_from_arrow(schema, &columns, err);
    if (rc == WEIR_OK) {
        rc = wi_table_open(&columns, ops, arg, table_out, err);
    }
    if (rc == WEIR_OK) {
        (*table_out)->foreign = true;
    }
    wi_columns_fini(&columns);
    return rc;
}

void weir_table_close(weir_table *table)
{
    if (table != NULL) {
        wi_kept_close(table->kept);
        table->ops.free(table->arg);
        wi_columns_fini(&table->columns);
        free(table);
    }
}

weir_err weir_table_keep(weir_table *table, struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(table));
    if (given != WEIR_OK) {
        return given;
    }
    return table->kept != NULL ? WEIR_OK : wi_kept_open(&table->kept, err);
}

weir_err weir_table_schema(const weir_table *table,
                           struct ArrowSchema *schema_out,
                           struct weir_error *err)
{
    weir_err given =
        wi_exec_check_args(err, WI_EXEC_ARG(table), WI_EXEC_ARG(schema_out));
    if (given != WEIR_OK) {
        return given;
    }
    return wi_columns_to_arrow(&table->columns, schema_out, err);
}
