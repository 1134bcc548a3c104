/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "bench/scan/scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/embedded.h"
#include "bench/scan/engine.h"
#include "core/base/cc.h"
#include "core/base/err.h"

enum { LINE_BYTES = 512, NUMBER_BYTES = 16 };

static const char *const transports[] = {"shm", "tcp", "verbs", "auto"};

/* The columns as TPC-H has them. */
static const char *const columns[WB_SCAN_COLUMNS] = {
    "l_orderkey",    "l_partkey",       "l_suppkey",  "l_linenumber",
    "l_quantity",    "l_extendedprice", "l_discount", "l_tax",
    "l_returnflag",  "l_linestatus",    "l_shipdate", "l_commitdate",
    "l_receiptdate", "l_shipinstruct",  "l_shipmode", "l_comment"};

/* A run of the bench. */
struct run {
    const struct wb_scan_params *params;
    struct wb_rival *rivals[WB_SCAN_RIVALS];
    FILE *note;
    uint64_t bytes[WB_SCAN_SETS];
    double seconds[WB_SCAN_RIVALS][WB_SCAN_SETS][WB_SCAN_FIGURES]
                  [WB_SCAN_REPEAT];
    double one_us[WB_SCAN_RIVALS][WB_SCAN_REPEAT];
};

bool wb_scan_is_weir(const char *rival)
{
    for (size_t i = 0; i < WI_ARRAY_LEN(transports); i++) {
        if (strcmp(rival, transports[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Its streams have batches of their own: it cannot be asked for one row. */
static bool has_parts(const char *rival)
{
    return strchr(rival, '-') != NULL && strcmp(rival, "serialized-unix") != 0;
}

/* ---- rivals -------------------------------------------------------------- */

static weir_err open_python(const struct wb_scan_params *p, const char *name,
                            struct wb_rival **out, struct weir_error *err)
{
    char batch_rows[NUMBER_BYTES];
    (void)snprintf(batch_rows, sizeof(batch_rows), "%u", p->batch_rows);
    const char *const argv[] = {p->python,
                                "-c",
                                wb_embedded("opponents/scan.py"),
                                name,
                                p->memory ? "memory" : "duckdb",
                                p->database,
                                p->sum_library,
                                batch_rows,
                                NULL};
    const struct wb_rival_params params = {.name = name, .argv = argv};
    weir_err rc = wb_rival_open(&params, out, err);
    return rc != WEIR_ERR_PEER_LOST
               ? rc
               : wi_fail(err, rc,
                         "%s did not start; %s needs the packages pyarrow, "
                         "numpy and duckdb (make bench-scan gets them)",
                         name, p->python);
}

static weir_err open_rival(const struct wb_scan_params *p, uint32_t i,
                           struct wb_rival **out, struct weir_error *err)
{
    const char *name = p->rivals[i];
    struct wb_contest_params contest = {.driver = p->driver,
                                        .database = p->database,
                                        .memory = p->memory,
                                        .transport = name,
                                        .listen = p->listen,
                                        .memory_bytes = p->memory_bytes,
                                        .batch_bytes = p->batch_bytes,
                                        .ahead = p->ahead,
                                        .run = i};
    struct wb_rival_params params = {.name = name, .arg = &contest};
    if (wb_scan_is_weir(name)) {
        params.run = wb_contest_weir;
    } else if (strcmp(name, "duckdb") == 0) {
        params.run = wb_contest_own;
    } else {
        return open_python(p, name, out, err);
    }
    return wb_rival_open(&params, out, err);
}

/* ---- one run ------------------------------------------------------------- */

/* What to ask for: the first n columns, of all rows or one. */
static void set_text(const struct wb_scan_params *p, uint32_t n, bool one,
                     char text[LINE_BYTES])
{
    if (p->memory) {
        (void)snprintf(text, LINE_BYTES, "%u%s", n, one ? " one" : "");
        return;
    }
    size_t at = (size_t)snprintf(text, LINE_BYTES, "select %s", columns[0]);
    for (uint32_t i = 1; i < n; i++) {
        at += (size_t)snprintf(text + at, LINE_BYTES - at, ", %s", columns[i]);
    }
    (void)snprintf(text + at, LINE_BYTES - at, " from lineitem%s",
                   one ? " limit 1" : "");
}

static weir_err ask(struct run *r, uint32_t rival, const char *word,
                    uint32_t set, struct wb_scan_pass *out,
                    struct weir_error *err)
{
    char text[LINE_BYTES];
    char line[LINE_BYTES + NUMBER_BYTES];
    const struct wb_scan_params *p = r->params;
    bool one = strncmp(word, "one", 3) == 0;
    set_text(p, one ? WB_SCAN_COLUMNS : p->columns[set], one, text);
    (void)snprintf(line, sizeof(line), "%s %s", word, text);
    weir_err rc = wb_rival_ask(r->rivals[rival], line, out, err);
    if (rc == WEIR_OK && r->note != NULL) {
        (void)fprintf(r->note, "%-15s %-8s %2u columns %9.6f s\n",
                      p->rivals[rival], word,
                      one ? WB_SCAN_COLUMNS : p->columns[set], out->seconds);
    }
    return rc;
}

/* Rows, and for what was read its sum, are the first rival's. */
static weir_err compare(const char *name, const struct wb_scan_pass *first,
                        const struct wb_scan_pass *pass, struct weir_error *err)
{
    if (pass->rows == first->rows && pass->sum == first->sum &&
        pass->bytes == first->bytes) {
        return WEIR_OK;
    }
    return wi_fail(err, WEIR_ERR_INTEGRITY,
                   "%s: %" PRIu64 " rows, %" PRIu64 " bytes, sum %016" PRIx64
                   "; must be %" PRIu64 ", %" PRIu64 ", %016" PRIx64,
                   name, pass->rows, pass->bytes, pass->sum, first->rows,
                   first->bytes, first->sum);
}

static weir_err run_set(struct run *r, uint32_t set, uint32_t round,
                        struct weir_error *err)
{
    static const char *const words[WB_SCAN_FIGURES] = {"take", "read"};
    const struct wb_scan_params *p = r->params;
    struct wb_scan_pass first[WB_SCAN_FIGURES];
    for (uint32_t i = 0; i < p->n_rivals; i++) {
        for (uint32_t f = 0; f < WB_SCAN_FIGURES; f++) {
            struct wb_scan_pass pass;
            weir_err rc = ask(r, i, words[f], set, &pass, err);
            if (rc != WEIR_OK) {
                return rc;
            }
            first[f] = i == 0 ? pass : first[f];
            rc = compare(p->rivals[i], &first[f], &pass, err);
            if (rc == WEIR_OK && pass.rows != p->rows) {
                rc = wi_fail(err, WEIR_ERR_INTEGRITY,
                             "%" PRIu64 " rows came; must be %" PRIu64,
                             pass.rows, p->rows);
            }
            if (rc != WEIR_OK) {
                return rc;
            }
            r->seconds[i][set][f][round] = pass.seconds;
            r->bytes[set] = pass.bytes;
        }
    }
    return WEIR_OK;
}

static weir_err run_ones(struct run *r, uint32_t round, struct weir_error *err)
{
    char word[NUMBER_BYTES];
    struct wb_scan_pass first = {.rows = 0};
    const struct wb_scan_params *p = r->params;
    (void)snprintf(word, sizeof(word), "one %u", p->ones);
    for (uint32_t i = 0; i < p->n_rivals; i++) {
        struct wb_scan_pass pass;
        if (has_parts(p->rivals[i])) {
            continue;
        }
        weir_err rc = ask(r, i, word, 0, &pass, err);
        if (rc != WEIR_OK) {
            return rc;
        }
        first = first.rows == 0 ? pass : first;
        rc = compare(p->rivals[i], &first, &pass, err);
        if (rc != WEIR_OK) {
            return rc;
        }
        r->one_us[i][round] = pass.seconds * 1e6 / p->ones;
    }
    return WEIR_OK;
}

static weir_err run_all(struct run *r, struct weir_error *err)
{
    const struct wb_scan_params *p = r->params;
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < p->n_rivals; i++) {
        rc = open_rival(p, i, &r->rivals[i], err);
    }
    if (rc == WEIR_OK) { /* not counted: pages, connections, caches */
        rc = run_set(r, p->n_sets - 1, 0, err);
    }
    for (uint32_t k = 0; k < p->repeat; k++) {
        for (uint32_t set = 0; rc == WEIR_OK && set < p->n_sets; set++) {
            rc = run_set(r, set, k, err);
        }
        rc = rc == WEIR_OK ? run_ones(r, k, err) : rc;
    }
    return rc;
}

/* ---- all of them --------------------------------------------------------- */

static void summarise(struct run *r, struct wb_scan *out)
{
    const struct wb_scan_params *p = r->params;
    out->params = *p;
    memcpy(out->bytes, r->bytes, sizeof(out->bytes));
    for (uint32_t i = 0; i < p->n_rivals; i++) {
        struct wb_scan_result *to = &out->results[i];
        to->name = p->rivals[i];
        (void)snprintf(to->version, sizeof(to->version), "%s",
                       wb_rival_version(r->rivals[i]));
        for (uint32_t set = 0; set < p->n_sets; set++) {
            for (uint32_t f = 0; f < WB_SCAN_FIGURES; f++) {
                to->seconds[set][f] =
                    wb_spread_of(r->seconds[i][set][f], p->repeat);
            }
        }
        to->one_us = wb_spread_of(r->one_us[i], p->repeat);
    }
}

static void set_defaults(struct wb_scan_params *p)
{
    static const uint32_t sets[] = {1, 2, 4, 8, 16};
    if (p->n_sets == 0) {
        memcpy(p->columns, sets, sizeof(sets));
        p->n_sets = WI_ARRAY_LEN(sets);
    }
    p->rows = p->rows != 0 ? p->rows : WB_SCAN_ROWS;
    p->batch_rows = p->batch_rows != 0 ? p->batch_rows : 16384;
    p->repeat = p->repeat != 0 ? p->repeat : 5;
    p->ones = p->ones != 0 ? p->ones : 100;
}

static weir_err check_params(const struct wb_scan_params *p,
                             struct weir_error *err)
{
    if (p->driver == NULL || p->database == NULL || p->n_rivals == 0 ||
        p->n_rivals > WB_SCAN_RIVALS || p->n_sets > WB_SCAN_SETS ||
        p->repeat > WB_SCAN_REPEAT) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "a driver, a database, %u contestants, %u sets, %u runs;"
                       " at most %u, %u, %u",
                       p->n_rivals, p->n_sets, p->repeat, WB_SCAN_RIVALS,
                       WB_SCAN_SETS, WB_SCAN_REPEAT);
    }
    for (uint32_t i = 0; i < p->n_sets; i++) {
        if (p->columns[i] == 0 || p->columns[i] > WB_SCAN_COLUMNS) {
            return wi_fail(err, WEIR_ERR_ARG, "%u columns; must be 1..%u",
                           p->columns[i], WB_SCAN_COLUMNS);
        }
    }
    return WEIR_OK;
}

weir_err wb_scan_run(const struct wb_scan_params *params, struct wb_scan *out,
                     FILE *note, struct weir_error *err)
{
    struct wb_scan_params p = *params;
    set_defaults(&p);
    weir_err rc = check_params(&p, err);
    if (rc == WEIR_OK) {
        rc = wb_engine_make(p.driver, p.database, p.rows, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    struct run *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for samples");
    }
    r->params = &p;
    r->note = note;
    rc = run_all(r, err);
    if (rc == WEIR_OK) {
        summarise(r, out);
    }
    for (uint32_t i = 0; i < p.n_rivals; i++) {
        wb_rival_close(r->rivals[i]);
    }
    free(r);
    return rc;
}
