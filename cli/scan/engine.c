/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/scan/engine.h"

#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"

static weir_err ask(const struct weir_scan_engine *engine,
                    const struct weir_scan_request *request,
                    struct ArrowArrayStream *stream_out, struct weir_error *err)
{
    struct weir_scan_fault fault = {.text = NULL};
    int64_t rows = -1;
    weir_err rc = engine->open(engine->arg, request, NULL, stream_out, &rows,
                               &fault, err);
    free(fault.text);
    return rc;
}

weir_err engine_query(const struct weir_scan_engine *engine, const char *text,
                      struct ArrowArrayStream *stream_out,
                      struct weir_error *err)
{
    const struct weir_scan_request request = {.dataset = "", .text = text};
    return ask(engine, &request, stream_out, err);
}

/* To its end: some engines do what is asked for as it is read. */
static weir_err drain(struct ArrowArrayStream *stream, struct weir_error *err)
{
    for (;;) {
        struct ArrowArray batch = {.release = NULL};
        int code = stream->get_next(stream, &batch);
        if (code != 0) {
            const char *why = stream->get_last_error(stream);
            return tool_fail(err, WEIR_ERR_DATA, "%s",
                             why != NULL ? why : strerror(code));
        }
        if (batch.release == NULL) {
            return WEIR_OK;
        }
        batch.release(&batch);
    }
}

static weir_err ask_and_drain(const struct weir_scan_engine *engine,
                              const struct weir_scan_request *request,
                              struct weir_error *err)
{
    struct ArrowArrayStream stream = {.release = NULL};
    weir_err rc = ask(engine, request, &stream, err);
    if (rc == WEIR_OK && stream.release != NULL) {
        rc = drain(&stream, err);
        stream.release(&stream);
    }
    return rc;
}

weir_err engine_run(const struct weir_scan_engine *engine, const char *text,
                    struct weir_error *err)
{
    const struct weir_scan_request request = {.dataset = "", .text = text};
    return ask_and_drain(engine, &request, err);
}

weir_err engine_ingest(const struct weir_scan_engine *engine, const char *table,
                       struct ArrowArrayStream *rows, struct weir_error *err)
{
    static const struct weir_scan_option mode = {"adbc.ingest.mode",
                                                 "adbc.ingest.mode.create"};
    const struct weir_scan_request request = {.kind = WEIR_SCAN_INGEST,
                                              .n_options = 1,
                                              .options = &mode,
                                              .dataset = "",
                                              .text = table,
                                              .bind = rows};
    weir_err rc = ask_and_drain(engine, &request, err);
    if (rows->release != NULL) {
        rows->release(rows);
    }
    return rc;
}
