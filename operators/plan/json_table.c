/* SPDX-License-Identifier: Apache-2.0 */
/* Tables from JSON. A table has one field that says its kind: csv, series,
 * rows, or a kind of the program's own. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/plan/draft.h"
#include "operators/plan/json.h"
#include "operators/plan/literal.h"

#define TYPES "a type (int64, utf8?, decimal(12,2), date, timestamp(us), ...)"

/* ---- columns ------------------------------------------------------------- */

static weir_err read_type(struct wi_json *j, const json_t *at,
                          struct wi_type *out)
{
    const json_t *value = json_object_get(at, "type");
    if (json_is_string(value) && wi_type_parse(json_string_value(value), out)) {
        return WEIR_OK;
    }
    (void)wi_json_enter(j, ".type");
    return wi_json_fail_type(j, TYPES, value);
}

static weir_err add_column(struct wi_json *j, const json_t *at,
                           struct wi_columns *columns)
{
    static const char *const needed[] = {"name", "type", NULL};
    const char *name = NULL;
    struct wi_type type = {0};
    weir_err rc = wi_json_need(j, at, "a column", needed);
    if (rc == WEIR_OK) {
        rc = wi_json_text(j, at, "name", &name);
    }
    if (rc == WEIR_OK) {
        rc = read_type(j, at, &type);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    if (name[0] == '\0') {
        (void)wi_json_enter(j, ".name");
        return wi_json_fail_type(j, "a name", json_object_get(at, "name"));
    }
    if (wi_columns_find(columns, name) >= 0) {
        (void)wi_json_enter(j, ".name");
        return wi_json_fail(j, WEIR_ERR_DUPLICATE,
                            "another column is called \"%s\"", name);
    }
    return wi_columns_add(columns, name, &type) == WEIR_OK
               ? WEIR_OK
               : wi_exec_no_memory(j->err, sizeof(type));
}

weir_err wi_json_columns(struct wi_json *j, const json_t *at,
                         const char *const *fields, struct wi_columns *columns)
{
    const json_t *array = NULL;
    weir_err rc = wi_json_array(j, at, "columns", &array);
    const size_t n = json_array_size(array);
    if (rc == WEIR_OK && array != NULL && (n == 0 || n > WI_PLAN_COLUMNS)) {
        (void)wi_json_enter(j, ".columns");
        return wi_json_fail(j, WEIR_ERR_DATA,
                            "1..%u columns were expected, found %zu",
                            WI_PLAN_COLUMNS, n);
    }
    for (size_t i = 0; rc == WEIR_OK && i < n; i++) {
        const size_t length = wi_json_enter(j, ".columns[%zu]", i);
        const json_t *column = json_array_get(array, i);
        rc = wi_json_check(j, column, "a column", fields);
        if (rc == WEIR_OK) {
            rc = add_column(j, column, columns);
        }
        wi_json_leave(j, length);
    }
    return rc;
}

static const char *const column_fields[] = {"name", "type", NULL};

/* ---- series -------------------------------------------------------------- */

static const char *const series_fields[] = {"name", "type", "kind",     "first",
                                            "last", "step", "null_pct", NULL};

static weir_err series_column(struct wi_json *j, const json_t *at,
                              struct weir_series_column *out)
{
    static const char *const kinds[] = {[WEIR_SERIES_SEQUENCE] = "sequence",
                                        [WEIR_SERIES_UNIFORM] = "uniform",
                                        [WEIR_SERIES_CONSTANT] = "constant",
                                        NULL};
    uint32_t kind = WEIR_SERIES_SEQUENCE;
    uint64_t null_pct = 0;
    out->step = 1;
    weir_err rc = wi_json_word(j, at, "kind", kinds, &kind);
    if (rc == WEIR_OK) {
        rc = wi_json_i64(j, at, "first", &out->first);
    }
    if (rc == WEIR_OK) {
        rc = wi_json_i64(j, at, "last", &out->last);
    }
    if (rc == WEIR_OK) {
        rc = wi_json_i64(j, at, "step", &out->step);
    }
    if (rc == WEIR_OK) {
        rc = wi_json_u64(j, at, "null_pct", &null_pct);
    }
    out->kind = (weir_series_kind)kind;
    out->null_pct = null_pct > 100 ? UINT32_MAX : (uint32_t)null_pct;
    return rc;
}

static weir_err series_open(struct wi_json *j, const json_t *at,
                            const struct ArrowSchema *schema, weir_table **out)
{
    const json_t *array = json_object_get(at, "columns");
    const uint32_t n = (uint32_t)json_array_size(array);
    uint64_t rows = 0;
    uint64_t seed = 0;
    struct weir_series_column *columns = calloc(n + 1u, sizeof(*columns));
    weir_err rc = columns == NULL ? wi_exec_no_memory(j->err, sizeof(*columns))
                                  : wi_json_u64(j, at, "rows", &rows);
    if (rc == WEIR_OK) {
        rc = wi_json_u64(j, at, "seed", &seed);
    }
    for (uint32_t i = 0; rc == WEIR_OK && i < n; i++) {
        const size_t length = wi_json_enter(j, ".columns[%" PRIu32 "]", i);
        columns[i].name = schema->children[i]->name;
        columns[i].format = schema->children[i]->format;
        rc = series_column(j, json_array_get(array, i), &columns[i]);
        wi_json_leave(j, length);
    }
    if (rc == WEIR_OK) {
        rc = weir_table_series_open(columns, n, rows, seed, out, j->err);
        rc = rc == WEIR_OK ? rc : wi_json_fail_in(j, rc);
    }
    free(columns);
    return rc;
}

static weir_err read_series(struct wi_json *j, const json_t *at,
                            weir_table **out)
{
    static const char *const fields[] = {"rows", "seed", "columns", NULL};
    static const char *const needed[] = {"rows", "columns", NULL};
    struct wi_columns columns = {0};
    struct ArrowSchema schema = {0};
    const json_t *series = json_object_get(at, "series");
    (void)wi_json_enter(j, ".series");
    weir_err rc = wi_json_check(j, series, "a series", fields);
    if (rc == WEIR_OK) {
        rc = wi_json_need(j, series, "a series", needed);
    }
    if (rc == WEIR_OK) {
        rc = wi_json_columns(j, series, series_fields, &columns);
    }
    if (rc == WEIR_OK) {
        rc = wi_columns_to_arrow(&columns, &schema, j->err);
    }
    if (rc == WEIR_OK) {
        rc = series_open(j, series, &schema, out);
        schema.release(&schema);
    }
    wi_columns_fini(&columns);
    return rc;
}

/* ---- rows ---------------------------------------------------------------- */

static weir_err put_value(struct wi_json *j, const json_t *value,
                          struct wi_literals *lit, uint32_t col)
{
    char number[WI_JSON_SCALAR_BYTES];
    const char *text = NULL;
    weir_err rc = wi_json_scalar(j, value, number, &text);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (text == NULL) {
        return lit->columns->at[col].type.nullable
                   ? WEIR_OK
                   : wi_json_fail(j, WEIR_ERR_DATA,
                                  "column \"%s\" holds no nulls: its type has "
                                  "no ? at its end",
                                  lit->columns->at[col].name);
    }
    const struct wi_str str = {.data = text, .n_bytes = (uint32_t)strlen(text)};
    rc = wi_literals_put(lit, col, str, j->err);
    return rc == WEIR_OK ? rc : wi_json_fail_in(j, rc);
}

static weir_err put_row(struct wi_json *j, const json_t *row,
                        struct wi_literals *lit)
{
    const uint32_t n = lit->columns->n;
    if (!json_is_array(row) || json_array_size(row) != n) {
        return wi_json_fail(j, WEIR_ERR_DATA,
                            "an array of %" PRIu32 " values, one per column, "
                            "was expected",
                            n);
    }
    weir_err rc = wi_literals_row(lit, j->err);
    for (uint32_t c = 0; rc == WEIR_OK && c < n; c++) {
        const size_t length = wi_json_enter(j, "[%" PRIu32 "]", c);
        rc = put_value(j, json_array_get(row, c), lit, c);
        wi_json_leave(j, length);
    }
    return rc;
}

static weir_err fill_rows(struct wi_json *j, const json_t *at,
                          struct wi_literals *lit)
{
    const json_t *array = NULL;
    weir_err rc = wi_json_array(j, at, "rows", &array);
    for (size_t i = 0; rc == WEIR_OK && i < json_array_size(array); i++) {
        const size_t length = wi_json_enter(j, ".rows[%zu]", i);
        rc = put_row(j, json_array_get(array, i), lit);
        wi_json_leave(j, length);
    }
    return rc;
}

static weir_err read_rows(struct wi_json *j, const json_t *at, weir_table **out)
{
    static const char *const needed[] = {"columns", NULL};
    struct wi_columns columns = {0};
    struct wi_literals lit = {0};
    weir_err rc = wi_json_need(j, at, "a table of rows", needed);
    if (rc == WEIR_OK) {
        rc = wi_json_columns(j, at, column_fields, &columns);
    }
    if (rc == WEIR_OK) {
        rc = wi_literals_init(&lit, &columns, j->err);
    }
    if (rc == WEIR_OK) {
        rc = fill_rows(j, at, &lit);
    }
    if (rc == WEIR_OK) {
        rc = wi_literals_table(&lit, &columns, out, j->err);
    }
    wi_literals_fini(&lit);
    wi_columns_fini(&columns);
    return rc;
}

/* ---- all of them --------------------------------------------------------- */

enum { FIELDS = 8 };

/* Any table may have "keep". */
static weir_err keep(struct wi_json *j, const json_t *at, weir_table *table)
{
    const json_t *value = json_object_get(at, "keep");
    if (value != NULL && !json_is_boolean(value)) {
        (void)wi_json_enter(j, ".keep");
        return wi_json_fail_type(j, "true or false", value);
    }
    return json_is_true(value) ? weir_table_keep(table, j->err) : WEIR_OK;
}

static const struct kind {
    const char *field;
    const char *what;
    weir_err (*read)(struct wi_json *j, const json_t *at, weir_table **out);
    const char *fields[FIELDS];
} kinds[] = {
    {"csv",
     "a table of a CSV file",
     wi_json_csv,
     {"csv", "columns", "delimiter", "header", "null", "keep"}},
    {"series", "a series table", read_series, {"series", "keep"}},
    {"rows", "a table of rows", read_rows, {"rows", "columns", "keep"}},
};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- kinds of the program ------------------------------------------------ */

static weir_err read_own(struct wi_json *j, const json_t *at,
                         const struct weir_table_kind *kind, weir_table **out)
{
    const char *fields[WEIR_TABLE_NUMBERS + 3] = {kind->field};
    uint64_t numbers[WEIR_TABLE_NUMBERS + 1];
    const char *text = NULL;
    for (uint32_t i = 0; i < kind->n_numbers; i++) {
        fields[i + 1] = kind->numbers[i].name;
        numbers[i] = kind->numbers[i].value;
    }
    fields[kind->n_numbers + 1] = "keep";
    weir_err rc = wi_json_check(j, at, kind->what, fields);
    if (rc == WEIR_OK) {
        rc = wi_json_text(j, at, kind->field, &text);
    }
    for (uint32_t i = 0; rc == WEIR_OK && i < kind->n_numbers; i++) {
        rc = wi_json_u64(j, at, kind->numbers[i].name, &numbers[i]);
    }
    if (rc == WEIR_OK) {
        rc = kind->open(kind->arg, text, numbers, out, j->err);
        rc = rc == WEIR_OK ? rc : wi_json_fail_in(j, rc);
    }
    return rc;
}

static weir_err fail_no_kind(struct wi_json *j)
{
    char text[WEIR_ERROR_MESSAGE_BYTES] = "";
    size_t used = 0;
    for (size_t i = 0; i < N_KINDS + j->n_kinds && used < sizeof(text); i++) {
        used += (size_t)snprintf(
            text + used, sizeof(text) - used, "%s\"%s\"", i == 0 ? "" : ", ",
            i < N_KINDS ? kinds[i].field : j->kinds[i - N_KINDS].field);
    }
    return wi_json_fail(j, WEIR_ERR_DATA, "a table needs one of %s", text);
}

static weir_err read_table(struct wi_json *j, const json_t *at,
                           weir_table **out)
{
    if (!json_is_object(at)) {
        return wi_json_fail_type(j, "an object", at);
    }
    for (size_t i = 0; i < N_KINDS; i++) {
        if (json_object_get(at, kinds[i].field) != NULL) {
            weir_err rc = wi_json_check(j, at, kinds[i].what, kinds[i].fields);
            return rc == WEIR_OK ? kinds[i].read(j, at, out) : rc;
        }
    }
    for (uint32_t i = 0; i < j->n_kinds; i++) {
        if (json_object_get(at, j->kinds[i].field) != NULL) {
            return read_own(j, at, &j->kinds[i], out);
        }
    }
    return fail_no_kind(j);
}

static weir_err add_table(struct wi_json *j, const char *name, const json_t *at)
{
    weir_table *table = NULL;
    weir_err rc = read_table(j, at, &table);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = keep(j, at, table);
    if (rc == WEIR_OK) {
        rc = weir_plan_table(j->plan, name, table, j->err);
        rc = rc == WEIR_OK ? rc : wi_json_fail_in(j, rc);
    }
    if (rc != WEIR_OK) {
        weir_table_close(table);
    }
    return rc;
}

weir_err wi_json_tables(struct wi_json *j, const json_t *tables)
{
    const char *name;
    json_t *value;
    weir_err rc = WEIR_OK;
    if (!json_is_object(tables)) {
        (void)wi_json_enter(j, ".tables");
        return wi_json_fail_type(j, "an object", tables);
    }
    json_object_foreach((json_t *)(uintptr_t)tables, name, value)
    {
        const size_t length = wi_json_enter(j, ".tables.%.64s", name);
        rc = add_table(j, name, value);
        if (rc != WEIR_OK) {
            return rc;
        }
        wi_json_leave(j, length);
    }
    return rc;
}
