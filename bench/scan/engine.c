/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "bench/scan/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/lib/embedded.h"
#include "cli/scan/engine.h"
#include "core/base/err.h"
#include "launch/group.h"

enum { PATH_ROOM = 4096 };
#define MAKE_NS UINT64_C(600000000000)

struct make {
    const char *driver;
    const char *database; /* the file that is renamed in the end */
    uint64_t rows;
};

weir_err wb_engine_open(const char *driver, const char *database, bool writes,
                        struct weir_scan_engine *engine_out,
                        struct weir_error *err)
{
    const struct weir_scan_option options[] = {
        {"path", database},
        {"access_mode", writes ? "READ_WRITE" : "READ_ONLY"}};
    const struct weir_scan_adbc_params params = {
        .driver = driver,
        .entry = "duckdb_adbc_init",
        .options = options,
        .n_options = sizeof(options) / sizeof(options[0])};
    return weir_scan_adbc_open(&params, engine_out, err);
}

/* The statement that makes the table; NULL: no memory. */
static char *statement(uint64_t rows)
{
    static const char mark[] = ":rows)";
    const char *sql = wb_embedded("scan/lineitem.sql");
    const char *at = strstr(sql, mark);
    while (strstr(at + 1, mark) != NULL) {
        at = strstr(at + 1, mark);
    }
    char *text = NULL;
    return asprintf(&text, "%.*s%" PRIu64 ")%s", (int)(at - sql), sql, rows,
                    at + strlen(mark)) < 0
               ? NULL
               : text;
}

static weir_err make(struct wl_group *group, uint32_t self, void *arg,
                     struct weir_error *err)
{
    const struct make *m = arg;
    struct weir_scan_engine engine;
    (void)group;
    (void)self;
    char *text = statement(m->rows);
    if (text == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a statement");
    }
    weir_err rc = wb_engine_open(m->driver, m->database, true, &engine, err);
    if (rc == WEIR_OK) {
        rc = engine_run(&engine, text, err);
        engine.close(engine.arg); /* writes what it has */
    }
    free(text);
    return rc;
}

static weir_err make_apart(struct make *m, struct weir_error *err)
{
    const struct wl_group_params params = {.members = 1, .timeout_ns = MAKE_NS};
    struct wl_group *group = NULL;
    weir_err rc = wl_group_open(&params, &group, err);
    if (rc == WEIR_OK) {
        rc = wl_group_run(group, make, m, err);
        wl_group_close(group);
    }
    return rc;
}

weir_err wb_engine_make(const char *driver, const char *database, uint64_t rows,
                        struct weir_error *err)
{
    char part[PATH_ROOM];
    if (access(database, R_OK) == 0) {
        return WEIR_OK;
    }
    (void)snprintf(part, sizeof(part), "%s.%d.part", database, (int)getpid());
    struct make m = {.driver = driver, .database = part, .rows = rows};
    weir_err rc = make_apart(&m, err);
    if (rc == WEIR_OK && rename(part, database) != 0) {
        rc = wi_fail_errno(err, errno, "rename to %s", database);
    }
    if (rc != WEIR_OK) {
        (void)unlink(part);
    }
    return rc;
}
