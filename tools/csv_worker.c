/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/csv_worker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/row.h>

#include "cli/fail.h"
#include "operators/base/value_read.h"
#include "operators/base/value_text.h"
#include "tools/csv_out.h"

enum { ROWS_PER_STEP = 256 };

/* The sending half; each state ends with the next. */
enum sending { READING, FLUSHING, FINISHING, SENT };

struct csv_worker {
    struct csv_worker_params p;
    weir_writer *writer;
    weir_reader *reader;
    weir_row_writer *rows;
    struct wi_csv_scan *scan;
    struct csv_out *out;
    int fd;
    _Atomic uint64_t *shown; /* rows written, for the progress display */
    enum sending sending;
    bool held; /* a batch of ours found a ring full */
    bool received;
};

/* ---- opening and closing ------------------------------------------------------ */

static void write_header(struct csv_worker *w)
{
    const struct csv_plan *plan = w->p.job->plan;
    for (uint32_t i = 0; i < plan->n_columns; i++) {
        const struct csv_column *c = &plan->columns[i];
        csv_out_field(w->out, c->name_len == 0 ? NULL : c->name, c->name_len);
    }
    csv_out_end(w->out);
}

static weir_err open_ends(struct csv_worker *w, struct weir_error *err)
{
    weir_err rc = weir_writer_open(w->p.shuffle, w->p.worker, &w->writer, err);
    if (rc == WEIR_OK) {
        rc = weir_reader_open(w->p.shuffle, w->p.worker, &w->reader, err);
    }
    if (rc == WEIR_OK) {
        rc = weir_row_writer_open(w->writer, w->p.schema, 0, &w->rows, err);
    }
    return rc;
}

static weir_err open_files(struct csv_worker *w, struct weir_error *err)
{
    const struct csv_plan *plan = w->p.job->plan;
    const struct csv_part *part = &plan->parts[w->p.id];
    const struct wi_csv_file file = {plan->fd, plan->path, plan->bytes, ','};
    weir_err rc = wi_csv_scan_open(&file, plan->n_columns, &w->scan, err);
    if (rc == WEIR_OK) {
        wi_csv_scan_range(w->scan, part->begin, part->end, part->line);
        rc = csv_dir_part_open(w->p.job->dir, w->p.id, &w->fd, err);
    }
    if (rc == WEIR_OK) {
        csv_out_init(w->out, w->fd);
        write_header(w);
    }
    return rc;
}

weir_err csv_worker_open(const struct csv_worker_params *params,
                         struct csv_worker **out, struct weir_error *err)
{
    struct csv_worker *w = calloc(1, sizeof(*w));
    struct csv_out *file = malloc(sizeof(*file));
    if (w == NULL || file == NULL) {
        free(w);
        free(file);
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a worker");
    }
    w->p = *params;
    w->fd = -1;
    w->out = file;
    w->shown = &progress_counters(params->job->progress)[params->id].rows;
    *out = w;
    weir_err rc = open_ends(w, err);
    return rc == WEIR_OK ? open_files(w, err) : rc;
}

void csv_worker_close(struct csv_worker *w)
{
    if (w == NULL) {
        return;
    }
    weir_row_writer_close(w->rows);
    weir_writer_close(w->writer);
    weir_reader_close(w->reader);
    wi_csv_scan_close(w->scan);
    if (w->fd >= 0) {
        (void)close(w->fd);
    }
    free(w->out);
    free(w);
}

/* ---- sending -------------------------------------------------------------------- */

static weir_err set_field(struct csv_worker *w, uint32_t column,
                          const struct wi_csv_field *f)
{
    const struct wi_type *type = &w->p.job->plan->columns[column].type;
    const struct wi_str text = {f->text, f->len};
    struct wi_value value;
    wi_i128 exact;
    if (wi_csv_is_empty(f)) {
        return WEIR_OK; /* what is not set is null */
    }
    if (type->kind == WI_TYPE_UTF8) {
        return weir_row_set_bytes(w->rows, column, f->text, f->len);
    }
    if (wi_value_read(text, type, &value) != WI_READ_OK) {
        return WEIR_ERR_DATA;
    }
    switch (wi_type_rep(type)) {
    case WI_F64:
        return weir_row_set_double(w->rows, column, value.f);
    case WI_BOOL:
        return weir_row_set_int64(w->rows, column, value.b);
    default:
        exact = wi_type_rep(type) == WI_I128 ? value.w : value.i;
        return type->kind == WI_TYPE_DECIMAL
                   ? weir_row_set_bytes(w->rows, column, &exact, sizeof(exact))
                   : weir_row_set_int64(w->rows, column, value.i);
    }
}

static weir_err say_changed(struct csv_worker *w, uint64_t line,
                            struct weir_error *err)
{
    return tool_fail(err, WEIR_ERR_DATA,
                     "%s:%" PRIu64 ": the file was changed while it was read",
                     w->p.job->plan->path, line);
}

/* The first pass has seen every field, so none can be of another type now. */
static weir_err send_row(struct csv_worker *w, const struct wi_csv_record *r,
                         struct weir_error *err)
{
    for (uint32_t i = 0; i < r->n_fields; i++) {
        weir_err rc = set_field(w, i, &r->fields[i]);
        if (rc == WEIR_ERR_DATA) {
            return say_changed(w, r->line, err);
        }
        if (rc != WEIR_OK) {
            return tool_fail(err, rc, "%s:%" PRIu64 ": field %u: %s",
                             w->p.job->plan->path, r->line, i + 1,
                             weir_err_text(rc));
        }
    }
    weir_err rc = weir_row_end(w->rows);
    if (rc == WEIR_ERR_DATA) {
        return say_changed(w, r->line, err);
    }
    w->p.tally->rows_read++;
    return rc;
}

static weir_err send_rows(struct csv_worker *w, struct weir_error *err)
{
    struct wi_csv_record record;
    for (int i = 0; i < ROWS_PER_STEP; i++) {
        weir_err rc = wi_csv_scan_next(w->scan, &record, err);
        if (rc == WEIR_DONE) {
            const struct csv_part *part = &w->p.job->plan->parts[w->p.id];
            w->sending = FLUSHING;
            return w->p.tally->rows_read == part->rows
                       ? WEIR_OK
                       : say_changed(w, part->line, err);
        }
        if (rc == WEIR_OK) {
            rc = send_row(w, &record, err);
        }
        if (rc == WEIR_AGAIN) {
            w->held = true;
            return WEIR_OK;
        }
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    return WEIR_OK;
}

static weir_err step_send(struct csv_worker *w, struct weir_error *err)
{
    weir_err rc = WEIR_AGAIN;
    if (w->held || w->sending == FLUSHING) {
        rc = weir_row_writer_flush(w->rows);
        w->held = rc == WEIR_AGAIN;
        if (rc == WEIR_OK && w->sending == FLUSHING) {
            w->sending = FINISHING;
        }
    } else if (w->sending == READING) {
        rc = send_rows(w, err);
    } else if (w->sending == FINISHING) {
        rc = weir_writer_finish(w->writer);
        w->sending = rc == WEIR_OK ? SENT : FINISHING;
    }
    return rc == WEIR_DONE ? WEIR_ERR_STATE : rc; /* no reader stops */
}

/* ---- receiving ------------------------------------------------------------------ */

/* Anything but a text; returns its length. */
static uint32_t print_value(const struct wi_type *type,
                            const struct weir_row_cursor *c, uint32_t column,
                            char text[WI_VALUE_TEXT_BYTES])
{
    wi_i128 exact;
    uint64_t len;
    switch (type->kind) {
    case WI_TYPE_INT64:
        return wi_exact_text(weir_row_int64(c, column), 0, text);
    case WI_TYPE_BOOL:
        return wi_bool_text(weir_row_int64(c, column) != 0, text);
    case WI_TYPE_DATE32:
        return wi_date_text(weir_row_int64(c, column), text);
    case WI_TYPE_TIMESTAMP:
        return wi_timestamp_text(weir_row_int64(c, column), type->unit, text);
    case WI_TYPE_DECIMAL:
        memcpy(&exact, weir_row_bytes(c, column, &len), sizeof(exact));
        return wi_exact_text(exact, type->scale, text);
    default:
        return wi_float_text(weir_row_double(c, column), false, text);
    }
}

static void write_field(struct csv_worker *w, const struct weir_row_cursor *c,
                        uint32_t column)
{
    const struct wi_type *type = &w->p.job->plan->columns[column].type;
    char value[WI_VALUE_TEXT_BYTES];
    const char *text = value;
    uint64_t len = 0;
    if (weir_row_is_null(c, column)) {
        csv_out_field(w->out, NULL, 0);
        return;
    }
    if (type->kind == WI_TYPE_UTF8) {
        text = weir_row_bytes(c, column, &len);
    } else {
        len = print_value(type, c, column, value);
    }
    csv_out_field(w->out, text, (size_t)len);
}

static void write_batch(struct csv_worker *w, const struct ArrowArray *batch)
{
    struct weir_row_cursor c = weir_row_cursor_at(batch, w->p.schema);
    while (weir_row_next(&c)) {
        for (uint32_t i = 0; i < w->p.job->plan->n_columns; i++) {
            write_field(w, &c, i);
        }
        csv_out_end(w->out);
    }
    w->p.tally->rows_written += (uint64_t)batch->length;
    *w->shown = w->p.tally->rows_written;
}

static weir_err end_file(struct csv_worker *w, struct weir_error *err)
{
    char name[CSV_PART_NAME_BYTES];
    csv_dir_part_name(w->p.id, name);
    w->received = true;
    w->p.tally->bytes_written = w->out->bytes;
    return csv_out_sync(w->out, name, err);
}

static weir_err step_receive(struct csv_worker *w, struct weir_error *err)
{
    struct ArrowArray batch;
    if (w->received) {
        return WEIR_AGAIN;
    }
    weir_err rc = weir_reader_next(w->reader, &batch);
    if (rc == WEIR_DONE) {
        return end_file(w, err);
    }
    if (rc == WEIR_OK) {
        write_batch(w, &batch);
        batch.release(&batch);
        if (csv_out_failed(w->out) != 0) {
            return end_file(w, err);
        }
    }
    return rc;
}

weir_err csv_worker_step(struct csv_worker *w, struct weir_error *err)
{
    weir_err received = step_receive(w, err);
    if (received < 0) {
        return received;
    }
    weir_err sent = step_send(w, err);
    if (sent < 0) {
        return sent;
    }
    if (w->received && w->sending == SENT) {
        return WEIR_DONE;
    }
    return received == WEIR_OK || sent == WEIR_OK ? WEIR_OK : WEIR_AGAIN;
}
