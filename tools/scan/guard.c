/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/scan/guard.h"

#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"
#include "tools/scan/parser.h"

struct guard {
    struct statement_may may;
    struct weir_scan_engine engine;
    struct parser *parser;
};

/* A driver runs those before the last when it is given the text, also where
 * only a schema was asked for. */
static weir_err check_one(const struct guard *g, const char *text,
                          struct weir_error *err)
{
    uint64_t n = 0;
    if (!statement_may_be_many(text)) {
        return WEIR_OK;
    }
    weir_err rc = parser_count(g->parser, text, &n, err);
    if (rc != WEIR_OK || n == 1) {
        return rc;
    }
    return tool_fail(err, WEIR_ERR_UNSUPPORTED,
                     "%llu statements: send one at a time",
                     (unsigned long long)n);
}

static bool is_statement(const struct weir_scan_request *request)
{
    return request->kind == WEIR_SCAN_QUERY ||
           request->kind == WEIR_SCAN_UPDATE ||
           request->kind == WEIR_SCAN_SCHEMA;
}

static weir_err
guard_request(void *arg, const struct weir_scan_request *request,
              weir_scan_job *job, struct ArrowArrayStream *stream_out,
              int64_t *rows_out, struct weir_scan_fault *fault_out,
              struct weir_error *err)
{
    /* Of SQL:2003, insufficient privilege. */
    static const char sqlstate[sizeof(fault_out->sqlstate)] = "42501";
    const struct guard *g = arg;
    if (is_statement(request)) {
        weir_err rc = check_one(g, request->text, err);
        if (rc == WEIR_OK) {
            rc = statement_check(request->text, &g->may, err);
        }
        if (rc == WEIR_ERR_UNSUPPORTED) {
            memcpy(fault_out->sqlstate, sqlstate, sizeof(sqlstate));
        }
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    return g->engine.open(g->engine.arg, request, job, stream_out, rows_out,
                          fault_out, err);
}

static void guard_close(void *arg)
{
    struct guard *g = arg;
    g->engine.close(g->engine.arg);
    parser_close(g->parser);
    free(g);
}

weir_err guard_open(const char *driver, const struct statement_may *may,
                    struct weir_scan_engine *engine, struct weir_error *err)
{
    struct guard *g = malloc(sizeof(*g));
    if (g == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an engine");
    }
    *g = (struct guard){.may = *may, .engine = *engine};
    weir_err rc = parser_open(driver, &g->parser, err);
    if (rc != WEIR_OK) {
        free(g);
        return rc;
    }
    *engine = (struct weir_scan_engine){guard_request, guard_close, g};
    return WEIR_OK;
}
