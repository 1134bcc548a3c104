/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "tools/csv_plan.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fail.h"
#include "operators/table/csv.h"
#include "operators/table/csv_file.h"
#include "operators/table/csv_part.h"

enum { MAX_COLUMNS = 1024 };

static weir_err take_name(struct csv_column *c, const struct wi_csv_field *f,
                          struct weir_error *err)
{
    c->name = calloc(1, f->len + 1);
    if (c->name == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a name");
    }
    if (f->len > 0) {
        memcpy(c->name, f->text, f->len);
    }
    c->name_len = f->len;
    return WEIR_OK;
}

static weir_err take_header(struct csv_plan *plan,
                            const struct wi_csv_record *r,
                            struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    if (r->n_fields > MAX_COLUMNS) {
        return tool_fail(err, WEIR_ERR_DATA,
                         "%s:%" PRIu64 ": %u columns, at most %d are possible",
                         plan->path, r->line, r->n_fields, (int)MAX_COLUMNS);
    }
    plan->columns = calloc(r->n_fields, sizeof(*plan->columns));
    if (plan->columns == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u columns",
                         r->n_fields);
    }
    plan->n_columns = r->n_fields;
    for (uint32_t i = 0; rc == WEIR_OK && i < r->n_fields; i++) {
        rc = take_name(&plan->columns[i], &r->fields[i], err);
    }
    return rc;
}

static weir_err read_header(struct csv_plan *plan, struct weir_error *err)
{
    struct wi_csv_record record;
    wi_csv_scan_range(plan->scan, wi_csv_first_byte(plan->fd), plan->bytes, 1);
    weir_err rc = wi_csv_scan_next(plan->scan, &record, err);
    if (rc == WEIR_DONE) {
        return tool_fail(err, WEIR_ERR_DATA,
                         "%s: no header line, the file is empty", plan->path);
    }
    if (rc == WEIR_OK) {
        rc = take_header(plan, &record, err);
        wi_csv_scan_columns(plan->scan, record.n_fields);
    }
    return rc;
}

weir_err csv_plan_open(struct csv_plan *plan, const char *path,
                       uint32_t n_parts, struct weir_error *err)
{
    *plan = (struct csv_plan){.path = path, .fd = -1};
    plan->begins = calloc(n_parts, sizeof(*plan->begins));
    if (plan->begins == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u parts",
                         n_parts);
    }
    plan->n_parts = n_parts;
    const struct wi_csv_place place = {path, NULL, path};
    weir_err rc = wi_csv_file_open(&place, &plan->fd, &plan->bytes, err);
    if (rc == WEIR_OK) {
        const struct wi_csv_file file = {plan->fd, path, plan->bytes, ','};
        rc = wi_csv_scan_open(&file, 0, &plan->scan, err);
    }
    return rc == WEIR_OK ? read_header(plan, err) : rc;
}

void csv_plan_close(struct csv_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_columns; i++) {
        free(plan->columns[i].name);
    }
    free(plan->columns);
    free(plan->begins);
    wi_csv_scan_close(plan->scan);
    if (plan->fd >= 0) {
        (void)close(plan->fd);
    }
}

/* ---- the scan ------------------------------------------------------------ */

/* Part k of n begins with the first record at or after k/n of the file. */
static uint32_t cut(struct csv_plan *plan, uint32_t begun,
                    const struct wi_csv_record *r)
{
    if (begun == 0) {
        plan->first_line = r->line;
    }
    while (begun < plan->n_parts &&
           r->begin >= plan->bytes * begun / plan->n_parts) {
        plan->begins[begun++] = r->begin;
    }
    return begun;
}

weir_err csv_plan_scan(struct csv_plan *plan, _Atomic uint64_t *done_bytes,
                       struct weir_error *err)
{
    struct wi_csv_record r;
    uint32_t begun = 0;
    weir_err rc;
    while ((rc = wi_csv_scan_next(plan->scan, &r, err)) == WEIR_OK) {
        begun = cut(plan, begun, &r);
        for (uint32_t i = 0; i < plan->n_columns; i++) {
            const struct wi_csv_field *f = &r.fields[i];
            wi_csv_guess_add(&plan->columns[i].guess,
                             wi_csv_is_empty(f) ? NULL : f->text, f->len);
        }
        if (plan->rows++ % 1024 == 0) {
            *done_bytes = r.end;
        }
    }
    if (rc != WEIR_DONE) {
        return rc;
    }
    *done_bytes = plan->bytes;
    for (; begun < plan->n_parts; begun++) {
        plan->begins[begun] = plan->bytes;
    }
    for (uint32_t i = 0; i < plan->n_columns; i++) {
        plan->columns[i].type = wi_csv_guess_type(&plan->columns[i].guess);
    }
    return WEIR_OK;
}

/* ---- columns ------------------------------------------------------------- */

static weir_err say_not_found(const struct csv_plan *plan, const char *name,
                              struct weir_error *err)
{
    char list[WEIR_ERROR_MESSAGE_BYTES / 2];
    size_t used = 0;
    for (uint32_t i = 0; i < plan->n_columns && used < sizeof(list); i++) {
        int n = snprintf(list + used, sizeof(list) - used, "%s%s",
                         i == 0 ? "" : ", ", plan->columns[i].name);
        used += n < 0 ? 0 : (size_t)n;
    }
    return tool_fail(err, WEIR_ERR_NOT_FOUND,
                     "%s has no column \"%s\"; its columns are: %s%s",
                     plan->path, name, list, used < sizeof(list) ? "" : " ...");
}

weir_err csv_plan_find(const struct csv_plan *plan, const char *name,
                       uint32_t *column_out, struct weir_error *err)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < plan->n_columns; i++) {
        const struct csv_column *c = &plan->columns[i];
        if (strlen(name) != c->name_len ||
            memcmp(name, c->name, c->name_len) != 0) {
            continue;
        }
        if (found != UINT32_MAX) {
            return tool_fail(err, WEIR_ERR_ARG,
                             "%s: columns %u and %u are both named \"%s\"",
                             plan->path, found + 1, i + 1, name);
        }
        found = i;
    }
    if (found == UINT32_MAX) {
        return say_not_found(plan, name, err);
    }
    *column_out = found;
    return WEIR_OK;
}

void csv_plan_column_name(uint32_t column, char name[CSV_COLUMN_NAME_BYTES])
{
    (void)snprintf(name, CSV_COLUMN_NAME_BYTES, "c%u", column);
}

/* ---- the table ----------------------------------------------------------- */

static weir_err add_columns(const struct csv_plan *plan, struct wi_csv *csv)
{
    char name[CSV_COLUMN_NAME_BYTES];
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < plan->n_columns; i++) {
        struct wi_type type = plan->columns[i].type;
        type.kind = type.kind == WI_TYPE_UTF8 ? WI_TYPE_BINARY : type.kind;
        csv_plan_column_name(i, name);
        csv->field_of[i] = i;
        rc = wi_columns_add(&csv->columns, name, &type);
    }
    return rc;
}

/* Fill in what the scans of the table need. */
static weir_err fill(const struct csv_plan *plan, struct wi_csv *csv,
                     struct weir_error *err)
{
    csv->path = strdup(plan->path);
    csv->null_text = strdup("");
    csv->field_of = calloc(plan->n_columns, sizeof(*csv->field_of));
    csv->begins = calloc(plan->n_parts, sizeof(*csv->begins));
    if (csv->path == NULL || csv->null_text == NULL || csv->field_of == NULL ||
        csv->begins == NULL || add_columns(plan, csv) != WEIR_OK) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for the columns");
    }
    memcpy(csv->begins, plan->begins, plan->n_parts * sizeof(*csv->begins));
    csv->n_begins = plan->n_parts;
    csv->n_fields = plan->n_columns;
    csv->data = plan->begins[0];
    csv->data_line = plan->first_line;
    csv->seen = true;
    csv->file = (struct wi_csv_file){fcntl(plan->fd, F_DUPFD_CLOEXEC, 0),
                                     csv->path, plan->bytes, ','};
    return csv->file.fd >= 0 ? WEIR_OK : tool_fail_errno(err, "%s", csv->path);
}

weir_err csv_plan_table(const struct csv_plan *plan, weir_table **table_out,
                        struct weir_error *err)
{
    struct wi_csv *csv = calloc(1, sizeof(*csv));
    if (csv == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a table");
    }
    csv->file.fd = -1;
    weir_err rc = fill(plan, csv, err);
    struct wi_columns columns = csv->columns;
    if (rc == WEIR_OK) {
        rc = wi_table_open(&columns, &wi_csv_ops, csv, table_out, err);
    }
    if (rc != WEIR_OK) {
        wi_columns_fini(&columns);
        wi_csv_ops.free(csv);
    }
    return rc;
}
