/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "tools/scan/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/scan_engine.h>

#include "cli/fail.h"
#include "cli/rows_out.h"
#include "cli/scan/duckdb.h"
#include "cli/scan/engine.h"
#include "tools/scan/counted.h"
#include "tools/scan/part.h"
#include "tools/scan/quote.h"
#include "tools/scan/spill.h"

bool out_kind_of(const char *file, enum out_kind *kind_out)
{
    static const char *const endings[] = {
        [OUT_CSV] = ".csv", [OUT_PARQUET] = ".parquet", [OUT_ARROW] = ".arrow"};
    *kind_out = OUT_TABLE;
    if (file == NULL) {
        return true;
    }
    for (size_t i = OUT_CSV; i < sizeof(endings) / sizeof(endings[0]); i++) {
        const size_t n = strlen(file);
        const size_t ending = strlen(endings[i]);
        if (n > ending && strcmp(file + n - ending, endings[i]) == 0) {
            *kind_out = (enum out_kind)i;
            return true;
        }
    }
    return false;
}

/* ---- a table ------------------------------------------------------------- */

static weir_err stream_failed(struct ArrowArrayStream *stream, int code,
                              struct weir_error *err)
{
    const char *why = stream->get_last_error(stream);
    return tool_fail(err, WEIR_ERR_DATA, "%s",
                     why != NULL ? why : strerror(code));
}

static weir_err put_all(struct rows_out *out, struct ArrowArrayStream *stream,
                        struct weir_error *err)
{
    for (;;) {
        struct ArrowArray batch = {.release = NULL};
        int code = stream->get_next(stream, &batch);
        if (code != 0) {
            return stream_failed(stream, code, err);
        }
        if (batch.release == NULL) {
            return rows_out_end(out, err);
        }
        weir_err rc = rows_out_put(out, &batch, err);
        batch.release(&batch);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
}

static weir_err print_table(struct ArrowArrayStream *stream,
                            struct weir_error *err)
{
    struct ArrowSchema schema;
    struct rows_out *out = NULL;
    int code = stream->get_schema(stream, &schema);
    if (code != 0) {
        return stream_failed(stream, code, err);
    }
    weir_err rc = rows_out_open(stdout, ROWS_TABLE, &schema, &out, err);
    schema.release(&schema);
    if (rc == WEIR_OK) {
        rc = put_all(out, stream, err);
    }
    rows_out_close(out);
    return rc;
}

/* ---- DuckDB -------------------------------------------------------------- */

static char *copy_statement(enum out_kind kind, const char *file)
{
    char *text = NULL;
    char *to = sql_quote(file, strlen(file), '\'');
    if (to == NULL ||
        asprintf(&text, "copy weir_scan to %s (format %s)", to,
                 kind == OUT_CSV ? "csv, header" : "parquet") < 0) {
        text = NULL;
    }
    free(to);
    return text;
}

/* DuckDB 1.5.6 takes a stream that fails for one that ends. */
static weir_err ingest(const struct weir_scan_engine *engine,
                       struct ArrowArrayStream *stream, struct weir_error *err)
{
    struct wl_counter rows = {.rows = 0};
    struct counted counted = {.counter = &rows};
    struct ArrowArrayStream watched;
    weir_err rc = counted_open(stream, &counted, &watched, err);
    if (rc == WEIR_OK) {
        rc = engine_ingest(engine, "weir_scan", &watched, err);
    }
    return counted.failed == 0
               ? rc
               : tool_fail(err, WEIR_ERR_DATA, "%s", counted.why);
}

static weir_err copy(const struct weir_scan_engine *engine, enum out_kind kind,
                     const char *file, struct ArrowArrayStream *stream,
                     struct weir_error *err)
{
    char *text = copy_statement(kind, file);
    if (text == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a statement");
    }
    weir_err rc = ingest(engine, stream, err);
    if (rc == WEIR_OK) {
        rc = engine_run(engine, "reset threads", err);
    }
    if (rc == WEIR_OK) {
        rc = engine_run(engine, text, err);
    }
    free(text);
    return rc;
}

/* With one thread as long as it reads the stream, which is of one thread. */
static weir_err write_by_duckdb(enum out_kind kind, const char *file,
                                struct ArrowArrayStream *stream,
                                struct weir_error *err)
{
    weir_err rc = spill_make(file, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    const struct weir_scan_option options[] = {
        {"path", ":memory:"},
        {"threads", "1"},
        {"temp_directory", spill_path()}};
    const struct weir_scan_adbc_params params = {
        .driver = duckdb_driver(),
        .entry = "duckdb_adbc_init",
        .options = options,
        .n_options = sizeof(options) / sizeof(options[0])};
    struct weir_scan_engine engine;
    rc = weir_scan_adbc_open(&params, &engine, err);
    if (rc == WEIR_OK) {
        rc = copy(&engine, kind, file, stream, err);
        engine.close(engine.arg);
    }
    spill_drop();
    return rc;
}

/* ---- all of them --------------------------------------------------------- */

static weir_err write_file(enum out_kind kind, const char *file,
                           struct ArrowArrayStream *stream,
                           struct weir_error *err)
{
    weir_err rc = part_begin(file, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = kind == OUT_ARROW ? out_arrow(part_path(), stream, err)
                           : write_by_duckdb(kind, part_path(), stream, err);
    if (rc != WEIR_OK) {
        part_drop();
        return rc;
    }
    return part_keep(err);
}

weir_err out_take(enum out_kind kind, const char *file,
                  struct ArrowArrayStream *stream, struct weir_error *err)
{
    weir_err rc = kind == OUT_TABLE ? print_table(stream, err)
                                    : write_file(kind, file, stream, err);
    if (stream->release != NULL) {
        stream->release(stream);
    }
    return rc;
}
