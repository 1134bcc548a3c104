/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV files as tables. A part is a range of bytes, and has the records that
 * begin in it (csv_part.h). Fields are parsed straight into column buffers, and
 * only those of columns that were asked for.
 *
 * A part does not know the number of its first line. So whoever finds a fault
 * reads the file again from its beginning, up to the first fault: messages have
 * line numbers, and do not depend on which worker was faster.
 */
#include "operators/table/csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "operators/base/fail.h"
#include "operators/table/csv_part.h"
#include "operators/table/csv_put.h"

enum { LONG_RECORD_BYTES = 1 << 16, ROWS_BETWEEN_LOOKS = 64 };

struct scan {
    const struct wi_csv *csv;
    struct weir_table_part part;
    struct wi_csv_put *puts; /* what to do with fields */
    struct wi_build build;
    struct wi_csv_scan *records; /* NULL: not begun */
};

/* ---- scans --------------------------------------------------------------- */

static void scan_close(void *arg)
{
    struct scan *s = arg;
    wi_csv_scan_close(s->records);
    wi_build_fini(&s->build);
    free(s->puts);
    free(s);
}

static weir_err open_scan(const struct wi_csv *csv,
                          const struct weir_table_part *part, struct scan **out,
                          struct weir_error *err)
{
    const uint32_t n = part->n_columns;
    struct scan *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return wi_exec_no_memory(err, sizeof(*s));
    }
    s->csv = csv;
    s->part = *part;
    s->puts = calloc(n + 1, sizeof(*s->puts));
    weir_err rc = s->puts == NULL ? wi_exec_no_memory(err, n * sizeof(*s->puts))
                                  : wi_build_init(&s->build, &csv->columns,
                                                  part->columns, n, err);
    if (rc != WEIR_OK) {
        scan_close(s);
        return rc;
    }
    for (uint32_t i = 0; i < n; i++) {
        s->puts[i] =
            wi_csv_put_of(csv->field_of[part->columns[i]], &s->build.col[i]);
    }
    s->part.columns = s->build.which;
    *out = s;
    return WEIR_OK;
}

static weir_err scan_open(void *table, const struct weir_table_part *part,
                          void **scan_out, struct weir_error *err)
{
    struct scan *s;
    weir_err rc = open_scan(table, part, &s, err);
    if (rc == WEIR_OK) {
        *scan_out = s;
    }
    return rc;
}

/* The last record known to begin before `at`: the search begins there. */
static uint64_t known_begin(const struct wi_csv *csv, uint64_t at)
{
    uint64_t known = csv->data;
    for (uint32_t i = 0; i < csv->n_begins && csv->begins[i] < at; i++) {
        known = csv->begins[i];
    }
    return known;
}

/* Not in open: this reads the file, and each worker does so for its part. */
static weir_err begin(struct scan *s, struct weir_error *err)
{
    const struct wi_csv *csv = s->csv;
    const struct wi_row_range bytes = wi_table_cut(
        csv->file.bytes - csv->data, s->part.part, s->part.n_parts);
    const uint64_t at = csv->data + bytes.first;
    uint64_t first;
    weir_err rc = wi_csv_scan_open(&csv->file, csv->n_fields, &s->records, err);
    if (rc == WEIR_OK) {
        rc = wi_csv_find(&csv->file, known_begin(csv, at), at, &first, err);
    }
    if (rc == WEIR_OK) {
        wi_csv_scan_range(s->records, first, csv->data + bytes.end,
                          csv->data_line);
    }
    return rc;
}

/* A value at fault, as messages show it. */
struct shown {
    const char *column;
    int bytes;
    const char *text;
    const char *more;
    char type[WI_TYPE_TEXT_BYTES];
};

static struct shown show(const struct wi_named_type *c,
                         const struct wi_csv_field *f)
{
    enum { SHOWN_BYTES = 40 };
    struct shown v = {.column = c->name,
                      .bytes = f->len > SHOWN_BYTES ? SHOWN_BYTES : (int)f->len,
                      .text = f->text,
                      .more = f->len > SHOWN_BYTES ? "..." : ""};
    (void)wi_type_text(&c->type, v.type);
    return v;
}

static weir_err say_value(const struct scan *s,
                          const struct wi_csv_record *record, uint32_t column,
                          struct weir_error *err)
{
    const struct wi_csv_put *put = &s->puts[column];
    const struct wi_csv_field *f = &record->fields[put->field];
    const struct wi_named_type *c = &s->csv->columns.at[s->build.which[column]];
    const struct shown v = show(c, f);
    if (s->csv->seen) {
        return wi_exec_fail(err, WEIR_ERR_DATA,
                            "%s:%" PRIu64 ": the file was changed while it was "
                            "read",
                            s->csv->path, record->line);
    }
    if (put->utf8) {
        return wi_csv_fail_text(s->csv, record->line, c->name, f, err);
    }
    if (wi_csv_is_null(s->csv, f)) {
        return wi_exec_fail(err, WEIR_ERR_DATA,
                            "%s:%" PRIu64 ": column \"%s\": a null (\"%s\"), "
                            "which %s cannot be: give the column the type %s?",
                            s->csv->path, record->line, v.column,
                            s->csv->null_text, v.type, v.type);
    }
    return wi_exec_fail(err, WEIR_ERR_DATA,
                        "%s:%" PRIu64 ": column \"%s\": \"%.*s%s\" is no %s",
                        s->csv->path, record->line, v.column, v.bytes, v.text,
                        v.more, v.type);
}

static weir_err put_record(struct scan *s, const struct wi_csv_record *record,
                           uint32_t row, struct weir_error *err)
{
    for (uint32_t i = 0; i < s->build.n_cols; i++) {
        const struct wi_csv_put *put = &s->puts[i];
        const struct wi_csv_field *f = &record->fields[put->field];
        if (put->col->valid != NULL && wi_csv_is_null(s->csv, f)) {
            wi_csv_put_null(put, row);
            continue;
        }
        weir_err rc = wi_csv_put_value(put, row, f, record->ascii);
        if (rc != WEIR_OK) {
            return rc == WEIR_ERR_DATA ? say_value(s, record, i, err)
                                       : wi_exec_no_memory(err, f->len);
        }
    }
    return WEIR_OK;
}

static bool texts_are_long(const struct wi_build *build)
{
    for (uint32_t i = 0; i < build->n_cols; i++) {
        if (build->col[i].text_bytes > WI_BUILD_TEXT_BYTES) {
            return true;
        }
    }
    return false;
}

/* Put a batch of records; *rows is how many. WEIR_DONE: there are no more. */
static weir_err put_records(struct scan *s, uint32_t *rows,
                            struct weir_error *err)
{
    struct wi_csv_record record;
    weir_err rc = WEIR_OK;
    wi_build_begin(&s->build);
    *rows = 0;
    while (*rows < WI_BUILD_ROWS) {
        rc = wi_csv_scan_next(s->records, &record, err);
        if (rc == WEIR_OK) {
            rc = put_record(s, &record, *rows, err);
        }
        if (rc != WEIR_OK) {
            return rc;
        }
        (*rows)++;
        if ((*rows % ROWS_BETWEEN_LOOKS == 0 ||
             record.end - record.begin > LONG_RECORD_BYTES) &&
            texts_are_long(&s->build)) {
            return WEIR_OK;
        }
    }
    return WEIR_OK;
}

/* ---- the first fault of the file ----------------------------------------- */

static weir_err read_all(struct scan *s, struct weir_error *err)
{
    const struct wi_csv *csv = s->csv;
    uint32_t rows;
    weir_err rc = wi_csv_scan_open(&csv->file, csv->n_fields, &s->records, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_csv_scan_range(s->records, csv->data, csv->file.bytes, csv->data_line);
    do {
        rc = put_records(s, &rows, err);
    } while (rc == WEIR_OK);
    return rc;
}

static weir_err say_first(const struct scan *s, struct weir_error *err)
{
    struct scan *again;
    weir_err rc = open_scan(s->csv, &s->part, &again, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = read_all(again, err);
    scan_close(again);
    return rc != WEIR_DONE
               ? rc
               : wi_exec_fail(err, WEIR_ERR_DATA,
                              "%s: the file was changed while it was read",
                              s->csv->path);
}

static weir_err scan_next(void *scan, struct ArrowArray *batch_out,
                          struct weir_error *err)
{
    struct scan *s = scan;
    uint32_t rows = 0;
    weir_err rc = s->records == NULL ? begin(s, err) : WEIR_OK;
    if (rc == WEIR_OK) {
        rc = put_records(s, &rows, err);
    }
    if (rc == WEIR_ERR_DATA) {
        return say_first(s, err);
    }
    if (rc < 0 || rows == 0) {
        return rc;
    }
    wi_build_end(&s->build, rows, batch_out);
    return WEIR_OK;
}

static void csv_free(void *arg)
{
    struct wi_csv *csv = arg;
    if (csv->file.fd >= 0) {
        (void)close(csv->file.fd);
    }
    free(csv->path);
    free(csv->null_text);
    free(csv->field_of);
    free(csv->begins);
    free(csv);
}

const struct weir_table_ops wi_csv_ops = {
    .open = scan_open,
    .next = scan_next,
    .close = scan_close,
    .free = csv_free,
};
