/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of CSV files from JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/plan/json.h"

static const char *const column_fields[] = {"name", "type", NULL};

/* data_dir/path, or path if it is absolute, or begins there in any case.
 * Ownership: free. */
static char *full_path(const struct wi_json *j, const char *path)
{
    bool as_it_is = path[0] == '/' || j->data_dir == NULL || j->only_below;
    size_t bytes = strlen(path) + (as_it_is ? 0 : strlen(j->data_dir)) + 2;
    char *full = malloc(bytes);
    if (full != NULL) {
        (void)snprintf(full, bytes, "%s%s%s", as_it_is ? "" : j->data_dir,
                       as_it_is ? "" : "/", path);
    }
    return full;
}

static weir_err read_options(struct wi_json *j, const json_t *at,
                             struct weir_csv_params *p)
{
    const char *delimiter = ",";
    const json_t *header = json_object_get(at, "header");
    weir_err rc = wi_json_text(j, at, "delimiter", &delimiter);
    if (rc == WEIR_OK) {
        rc = wi_json_text(j, at, "null", &p->null_text);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    if (strlen(delimiter) != 1) {
        (void)wi_json_enter(j, ".delimiter");
        return wi_json_fail(j, WEIR_ERR_DATA,
                            "one character was expected, found \"%s\"",
                            delimiter);
    }
    if (header != NULL && !json_is_boolean(header)) {
        (void)wi_json_enter(j, ".header");
        return wi_json_fail_type(j, "true or false", header);
    }
    p->delimiter = delimiter[0];
    p->no_header = json_is_false(header);
    return WEIR_OK;
}

/* With the columns that the plan names, or those that the file has. */
static weir_err open_table(struct wi_json *j, const struct wi_columns *columns,
                           struct weir_csv_params *p, weir_table **out)
{
    struct ArrowSchema schema = {0};
    struct weir_field *fields = NULL;
    weir_err rc = WEIR_OK;
    if (columns->n > 0) {
        fields = calloc(columns->n, sizeof(*fields));
        rc = fields == NULL ? wi_exec_no_memory(j->err, sizeof(*fields))
                            : wi_columns_to_arrow(columns, &schema, j->err);
    }
    for (uint32_t i = 0; i < columns->n && rc == WEIR_OK; i++) {
        fields[i] =
            (struct weir_field){.name = schema.children[i]->name,
                                .format = schema.children[i]->format,
                                .nullable = columns->at[i].type.nullable};
    }
    p->fields = fields;
    p->n_fields = columns->n;
    if (rc == WEIR_OK) {
        rc = weir_table_csv_open(p, out, j->err);
        rc = rc == WEIR_OK ? rc : wi_json_fail_in(j, rc);
    }
    if (schema.release != NULL) {
        schema.release(&schema);
    }
    free(fields);
    return rc;
}

weir_err wi_json_csv(struct wi_json *j, const json_t *at, weir_table **out)
{
    struct weir_csv_params params = {0};
    struct wi_columns columns = {0};
    const char *path = NULL;
    weir_err rc = wi_json_text(j, at, "csv", &path);
    if (rc == WEIR_OK) {
        rc = wi_json_columns(j, at, column_fields, &columns);
    }
    if (rc == WEIR_OK) {
        rc = read_options(j, at, &params);
    }
    if (rc == WEIR_OK) {
        char *full = full_path(j, path);
        params.path = full;
        params.below = j->only_below ? j->data_dir : NULL;
        rc = full == NULL ? wi_exec_no_memory(j->err, strlen(path))
                          : open_table(j, &columns, &params, out);
        free(full);
    }
    wi_columns_fini(&columns);
    return rc;
}
