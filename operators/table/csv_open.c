/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a CSV table: where the records begin, and which columns they have. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/base/utf8.h"
#include "operators/table/csv.h"
#include "operators/table/csv_file.h"
#include "operators/table/csv_part.h"
#include "operators/table/csv_type.h"

enum { MAX_COLUMNS = 1024 }; /* as weir_schema_build() */

/* What the file itself says: its header, and the guesses of its types. */
struct header {
    uint32_t n;
    uint64_t line;
    char **names;
    struct wi_csv_guess *guesses;
};

static void header_fini(struct header *h)
{
    for (uint32_t i = 0; h->names != NULL && i < h->n; i++) {
        free(h->names[i]);
    }
    free(h->names);
    free(h->guesses);
}

weir_err wi_csv_fail_text(const struct wi_csv *csv, uint64_t line,
                          const char *column, const struct wi_csv_field *f,
                          struct weir_error *err)
{
    const size_t at = wi_utf8_span(f->text, f->len);
    return wi_exec_fail(err, WEIR_ERR_DATA,
                        "%s:%" PRIu64 ": column \"%s\": byte %zu of the "
                        "field, 0x%02x, is not UTF-8: convert the file (iconv "
                        "-t UTF-8), or give the column the type binary",
                        csv->path, line, column, at + 1,
                        (unsigned char)f->text[at]);
}

static weir_err open_file(struct wi_csv *csv, const struct weir_csv_params *p,
                          struct weir_error *err)
{
    const struct wi_csv_place place = {p->path, p->below, csv->path};
    weir_err rc =
        wi_csv_file_open(&place, &csv->file.fd, &csv->file.bytes, err);
    if (rc == WEIR_OK) {
        csv->file.name = csv->path;
        csv->data = wi_csv_first_byte(csv->file.fd);
        csv->data_line = 1;
    }
    return rc;
}

static weir_err say_twice(const struct wi_csv *csv, const struct header *h,
                          uint32_t first, uint32_t second,
                          struct weir_error *err)
{
    return wi_exec_fail(err, WEIR_ERR_DATA,
                        "%s:%" PRIu64 ": columns %u and %u are both named "
                        "\"%s\"",
                        csv->path, h->line, first + 1, second + 1,
                        h->names[first]);
}

/* The first column from `from` on that has this name; h->n if none has. */
static uint32_t find_name(const struct header *h, const char *name,
                          uint32_t from)
{
    while (from < h->n && strcmp(h->names[from], name) != 0) {
        from++;
    }
    return from;
}

/* Each becomes a column: it needs a name in UTF-8 that no other has. */
static weir_err check_names(const struct wi_csv *csv, const struct header *h,
                            struct weir_error *err)
{
    for (uint32_t i = 0; i < h->n; i++) {
        const char *name = h->names[i];
        const uint32_t first = find_name(h, name, 0);
        if (name[0] == '\0') {
            return wi_exec_fail(err, WEIR_ERR_DATA,
                                "%s:%" PRIu64 ": column %u has no name: put "
                                "one into the header, or give the columns that "
                                "are wanted (fields)",
                                csv->path, h->line, i + 1);
        }
        if (!wi_utf8_check(name, strlen(name))) {
            return wi_exec_fail(err, WEIR_ERR_DATA,
                                "%s:%" PRIu64 ": the name of column %u, "
                                "\"%.40s\", is not UTF-8: convert the file "
                                "(iconv -t UTF-8)",
                                csv->path, h->line, i + 1, name);
        }
        if (first != i) {
            return say_twice(csv, h, first, i, err);
        }
    }
    return WEIR_OK;
}

/* A zero byte would end a C string: different names could look alike. */
static weir_err say_nul(const struct wi_csv *csv, const struct header *h,
                        uint32_t i, struct weir_error *err)
{
    return wi_exec_fail(err, WEIR_ERR_DATA,
                        "%s:%" PRIu64 ": the name of column %u has a zero byte "
                        "in it: convert the file (iconv -t UTF-8)",
                        csv->path, h->line, i + 1);
}

static weir_err take_header(struct wi_csv *csv,
                            const struct wi_csv_record *record,
                            struct header *h, struct weir_error *err)
{
    h->names = calloc(record->n_fields, sizeof(*h->names));
    h->guesses = calloc(record->n_fields, sizeof(*h->guesses));
    bool ok = h->names != NULL && h->guesses != NULL;
    h->n = record->n_fields;
    h->line = record->line;
    for (uint32_t i = 0; ok && i < h->n; i++) {
        const struct wi_csv_field *f = &record->fields[i];
        if (memchr(f->text, '\0', f->len) != NULL) {
            return say_nul(csv, h, i, err);
        }
        h->names[i] = strndup(f->text, f->len);
        ok = h->names[i] != NULL;
    }
    return ok ? WEIR_OK : wi_exec_no_memory(err, h->n * sizeof(*h->guesses));
}

static weir_err read_header(struct wi_csv *csv, struct header *h,
                            struct weir_error *err)
{
    struct wi_csv_scan *scan;
    struct wi_csv_record record;
    weir_err rc = wi_csv_scan_open(&csv->file, 0, &scan, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_csv_scan_range(scan, csv->data, csv->file.bytes, 1);
    rc = wi_csv_scan_next(scan, &record, err);
    if (rc == WEIR_DONE) {
        rc = wi_exec_fail(err, WEIR_ERR_DATA,
                          "%s: no header line, the file is empty", csv->path);
    }
    if (rc == WEIR_OK) {
        rc = take_header(csv, &record, h, err);
    }
    if (rc == WEIR_OK) {
        rc = wi_csv_find(&csv->file, csv->data, record.end, &csv->data, err);
        csv->data_line = record.next_line;
        csv->n_fields = h->n;
    }
    wi_csv_scan_close(scan);
    return rc;
}

static weir_err guess_record(const struct wi_csv *csv, struct header *h,
                             const struct wi_csv_record *record,
                             struct weir_error *err)
{
    for (uint32_t i = 0; i < h->n; i++) {
        const struct wi_csv_field *f = &record->fields[i];
        if (!record->ascii && !wi_utf8_check(f->text, f->len)) {
            return wi_csv_fail_text(csv, record->line, h->names[i], f, err);
        }
        wi_csv_guess_add(&h->guesses[i],
                         wi_csv_is_null(csv, f) ? NULL : f->text, f->len);
    }
    return WEIR_OK;
}

/* Types of the whole file's values. */
static weir_err guess_types(const struct wi_csv *csv, struct header *h,
                            struct weir_error *err)
{
    struct wi_csv_scan *scan;
    struct wi_csv_record record;
    weir_err rc = wi_csv_scan_open(&csv->file, h->n, &scan, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_csv_scan_range(scan, csv->data, csv->file.bytes, csv->data_line);
    while (rc == WEIR_OK) {
        rc = wi_csv_scan_next(scan, &record, err);
        if (rc == WEIR_OK) {
            rc = guess_record(csv, h, &record, err);
        }
    }
    wi_csv_scan_close(scan);
    return rc == WEIR_DONE ? WEIR_OK : rc;
}

/* ---- columns ------------------------------------------------------------- */

static weir_err build_columns(const struct weir_field *fields, uint32_t n,
                              struct wi_columns *out, struct weir_error *err)
{
    struct ArrowSchema schema;
    weir_err rc = weir_schema_build(fields, n, &schema, err);
    if (rc == WEIR_OK) {
        rc = wi_columns_from_arrow(&schema, out, err);
        schema.release(&schema);
    }
    return rc;
}

static weir_err columns_of_guess(struct wi_csv *csv, struct header *h,
                                 struct wi_columns *out, struct weir_error *err)
{
    if (h->n > MAX_COLUMNS) {
        return wi_exec_fail(err, WEIR_ERR_DATA,
                            "%s:%" PRIu64 ": %u columns, a table has at most "
                            "%d: give the columns that are wanted (fields)",
                            csv->path, h->line, h->n, (int)MAX_COLUMNS);
    }
    weir_err rc = check_names(csv, h, err);
    if (rc == WEIR_OK) {
        rc = guess_types(csv, h, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    for (uint32_t i = 0; rc == WEIR_OK && i < h->n; i++) {
        const struct wi_type type = wi_csv_guess_type(&h->guesses[i]);
        rc = wi_columns_add(out, h->names[i], &type);
        csv->field_of[i] = i;
    }
    return rc == WEIR_OK ? rc : wi_exec_no_memory(err, h->n * sizeof(*out->at));
}

static weir_err say_not_found(const struct wi_csv *csv, const struct header *h,
                              const char *name, struct weir_error *err)
{
    char list[WEIR_ERROR_MESSAGE_BYTES / 2];
    size_t used = 0;
    for (uint32_t i = 0; i < h->n && used < sizeof(list); i++) {
        int n = snprintf(list + used, sizeof(list) - used, "%s%s",
                         i == 0 ? "" : ", ", h->names[i]);
        used += n < 0 ? 0 : (size_t)n;
    }
    return wi_exec_fail(err, WEIR_ERR_NOT_FOUND,
                        "%s has no column \"%s\"; its columns are: %s%s",
                        csv->path, name, list,
                        used < sizeof(list) ? "" : " ...");
}

/* Find the columns that the program names. */
static weir_err find_columns(struct wi_csv *csv, const struct header *h,
                             const struct wi_columns *columns,
                             struct weir_error *err)
{
    for (uint32_t c = 0; c < columns->n; c++) {
        const char *name = columns->at[c].name;
        const uint32_t i = find_name(h, name, 0);
        if (i == h->n) {
            return say_not_found(csv, h, name, err);
        }
        const uint32_t again = find_name(h, name, i + 1);
        if (again != h->n) {
            return say_twice(csv, h, i, again, err);
        }
        csv->field_of[c] = i;
    }
    return WEIR_OK;
}

static weir_err columns_of_header(struct wi_csv *csv,
                                  const struct weir_csv_params *p,
                                  struct wi_columns *out,
                                  struct weir_error *err)
{
    struct header h = {0};
    weir_err rc = read_header(csv, &h, err);
    if (rc == WEIR_OK) {
        csv->field_of = calloc(h.n + p->n_fields, sizeof(*csv->field_of));
        rc = csv->field_of == NULL ? wi_exec_no_memory(err, h.n)
             : p->n_fields == 0
                 ? columns_of_guess(csv, &h, out, err)
                 : build_columns(p->fields, p->n_fields, out, err);
    }
    if (rc == WEIR_OK && p->n_fields > 0) {
        rc = find_columns(csv, &h, out, err);
    }
    header_fini(&h);
    return rc;
}

static weir_err columns_of_fields(struct wi_csv *csv,
                                  const struct weir_csv_params *p,
                                  struct wi_columns *out,
                                  struct weir_error *err)
{
    csv->field_of = calloc(p->n_fields, sizeof(*csv->field_of));
    if (csv->field_of == NULL) {
        return wi_exec_no_memory(err, p->n_fields * sizeof(*csv->field_of));
    }
    csv->n_fields = p->n_fields;
    for (uint32_t i = 0; i < p->n_fields; i++) {
        csv->field_of[i] = i;
    }
    return build_columns(p->fields, p->n_fields, out, err);
}

/* ---- opening ------------------------------------------------------------- */

static weir_err check_params(const struct weir_csv_params *p,
                             struct weir_error *err)
{
    if (p->path == NULL) {
        return wi_exec_fail(err, WEIR_ERR_ARG, "a CSV table needs a path");
    }
    weir_err rc = wi_exec_check_list(err, p->fields, p->n_fields, "fields");
    if (rc != WEIR_OK) {
        return rc;
    }
    for (size_t i = 0; i < sizeof(p->reserved) / sizeof(p->reserved[0]); i++) {
        if (p->reserved[i] != 0) {
            return wi_exec_fail(err, WEIR_ERR_ARG,
                                "reserved members of weir_csv_params must be "
                                "zero");
        }
    }
    if (p->no_header && p->n_fields == 0) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "%s: without a header line the columns must be "
                            "given (fields)",
                            p->path);
    }
    if (p->delimiter == '"' || p->delimiter == '\n' || p->delimiter == '\r') {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "%s: the delimiter cannot be a quote or a line end",
                            p->path);
    }
    return WEIR_OK;
}

/* For messages. NULL: no memory. */
static char *full_name(const struct weir_csv_params *p)
{
    const char *folder = p->below != NULL ? p->below : "";
    const size_t bytes = strlen(folder) + strlen(p->path) + 2;
    char *name = malloc(bytes);
    if (name != NULL) {
        (void)snprintf(name, bytes, "%s%s%s", folder,
                       p->below != NULL ? "/" : "", p->path);
    }
    return name;
}

static weir_err open_csv(const struct weir_csv_params *p, struct wi_csv *csv,
                         struct wi_columns *columns, struct weir_error *err)
{
    csv->path = full_name(p);
    csv->null_text = strdup(p->null_text == NULL ? "" : p->null_text);
    csv->file.delimiter = p->delimiter == '\0' ? ',' : p->delimiter;
    if (csv->path == NULL || csv->null_text == NULL) {
        return wi_exec_no_memory(err, strlen(p->path));
    }
    csv->null_bytes = (uint32_t)strlen(csv->null_text);
    weir_err rc = open_file(csv, p, err);
    if (rc == WEIR_OK) {
        rc = p->no_header ? columns_of_fields(csv, p, columns, err)
                          : columns_of_header(csv, p, columns, err);
    }
    return rc;
}

weir_err weir_table_csv_open(const struct weir_csv_params *params,
                             weir_table **table_out, struct weir_error *err)
{
    weir_err given =
        wi_exec_check_args(err, WI_EXEC_ARG(params), WI_EXEC_ARG(table_out));
    if (given != WEIR_OK) {
        return given;
    }
    struct wi_columns columns = {0};
    weir_err rc = check_params(params, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wi_csv *csv = calloc(1, sizeof(*csv));
    if (csv == NULL) {
        return wi_exec_no_memory(err, sizeof(*csv));
    }
    csv->file.fd = -1;
    rc = open_csv(params, csv, &columns, err);
    csv->columns = columns;
    if (rc == WEIR_OK) {
        rc = wi_table_open(&columns, &wi_csv_ops, csv, table_out, err);
    }
    if (rc != WEIR_OK) {
        wi_csv_ops.free(csv);
    }
    wi_columns_fini(&columns);
    return rc;
}
