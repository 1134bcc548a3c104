/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: DuckDB, "Securing DuckDB" (enable_external_access, allowed_paths,
 * allowed_directories, lock_configuration). Paths that are allowed may be
 * written, too, and so may the database's own file and its folder for spilling:
 * what statements do with them is the guard's to look at.
 */
#define _GNU_SOURCE 1
#include "tools/scan/duck.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/fail.h"
#include "cli/scan/duckdb.h"
#include "cli/scan/engine.h"
#include "tools/scan/folder.h"
#include "tools/scan/guard.h"
#include "tools/scan/quote.h"

enum { OPTIONS_MAX = 2 }; /* of ours */

static const char spill_option[] = "temp_directory";

static weir_err no_memory(struct weir_error *err)
{
    return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a database");
}

/* ---- a folder of ours ---------------------------------------------------- */

/* Nobody else may enter it. */
static weir_err make_folder(struct duck *d, const char *before,
                            const char *after, struct weir_error *err)
{
    if (asprintf(&d->scratch, "%s%s-XXXXXX", before, after) < 0) {
        d->scratch = NULL;
        return no_memory(err);
    }
    if (mkdtemp(d->scratch) == NULL) {
        weir_err rc = tool_fail_errno(err, "%s", d->scratch);
        free(d->scratch);
        d->scratch = NULL;
        return rc;
    }
    return WEIR_OK;
}

static weir_err make_scratch(struct duck *d, struct weir_error *err)
{
    const char *tmp = getenv("TMPDIR");
    return make_folder(d, tmp != NULL && tmp[0] == '/' ? tmp : "/tmp",
                       "/weir-serve", err);
}

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    (void)remove(path);
    return 0;
}

void duck_close(struct duck *d)
{
    if (d->engine.close != NULL) {
        d->engine.close(d->engine.arg);
    }
    if (d->scratch != NULL) {
        (void)nftw(d->scratch, remove_one, 4, FTW_DEPTH | FTW_PHYS);
        free(d->scratch);
    }
    *d = (struct duck){.n_views = 0};
}

/* ---- opening ------------------------------------------------------------- */

static weir_err open_at(const struct duck_params *p, const char *path,
                        bool write, struct weir_scan_engine *engine_out,
                        struct weir_error *err)
{
    struct weir_scan_option *all = calloc(p->n_set + OPTIONS_MAX, sizeof(*all));
    if (all == NULL) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < p->n_set; i++) {
        all[i] = p->set[i];
    }
    all[p->n_set] = (struct weir_scan_option){"path", path};
    all[p->n_set + 1] = (struct weir_scan_option){"access_mode", "READ_ONLY"};
    const struct weir_scan_adbc_params params = {.driver = duckdb_driver(),
                                                 .entry = "duckdb_adbc_init",
                                                 .options = all,
                                                 .n_options = p->n_set +
                                                              (write ? 1 : 2)};
    weir_err rc = weir_scan_adbc_open(&params, engine_out, err);
    free(all);
    return rc;
}

static bool has_set(const struct duck_params *p, const char *key)
{
    for (uint32_t i = 0; i < p->n_set; i++) {
        if (strcmp(p->set[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

/* DuckDB would spill to FILE.tmp, which others may enter. The file may lie
 * where no folder can be made. */
static weir_err open_file(const struct duck_params *p, struct duck *d,
                          struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    if (!has_set(p, spill_option)) {
        rc = make_folder(d, p->database, ".spill", err);
        rc = rc != WEIR_OK ? make_scratch(d, err) : rc;
    }
    return rc == WEIR_OK ? open_at(p, p->database, p->write, &d->engine, err)
                         : rc;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static weir_err check_there(const struct duck_params *p, struct weir_error *err)
{
    if (p->create && !p->write) {
        return tool_fail(err, WEIR_ERR_ARG, "--create needs --write");
    }
    if (p->create || access(p->database, F_OK) == 0) {
        return WEIR_OK;
    }
    return tool_fail(err, WEIR_ERR_NOT_FOUND,
                     "%s: there is no such file or folder (--create --write "
                     "makes a database)",
                     p->database);
}

/* Views are made by one engine; another one cannot change them. */
static weir_err open_folder(const struct duck_params *p, struct duck *d,
                            char **paths_out, struct weir_error *err)
{
    char *path = NULL;
    weir_err rc = make_scratch(d, err);
    if (rc == WEIR_OK && asprintf(&path, "%s/folder.db", d->scratch) < 0) {
        path = NULL;
        rc = no_memory(err);
    }
    if (rc == WEIR_OK) {
        rc = open_at(p, path, true, &d->engine, err);
    }
    if (rc == WEIR_OK) {
        rc = folder_views(p->database, &d->engine, &d->n_views, paths_out, err);
    }
    if (rc == WEIR_OK && !p->write) {
        d->engine.close(d->engine.arg);
        d->engine.close = NULL;
        rc = open_at(p, path, false, &d->engine, err);
    }
    free(path);
    return rc;
}

/* ---- what statements may reach ------------------------------------------- */

/* 'a', 'b': of folders that are there. Ownership: free. */
static weir_err list_allowed(const struct duck_params *p, char **list_out,
                             struct weir_error *err)
{
    char *list = strdup("");
    for (uint32_t i = 0; list != NULL && i < p->n_allow; i++) {
        char *whole = realpath(p->allow[i], NULL);
        if (whole == NULL || !is_folder(whole)) {
            free(whole);
            free(list);
            return tool_fail(err, WEIR_ERR_NOT_FOUND,
                             "--allow-files %s: there is no such folder",
                             p->allow[i]);
        }
        char *quoted = sql_quote(whole, strlen(whole), '\'');
        char *more = NULL;
        if (quoted == NULL ||
            asprintf(&more, "%s%s%s", list, i > 0 ? ", " : "", quoted) < 0) {
            more = NULL;
        }
        free(quoted);
        free(whole);
        free(list);
        list = more;
    }
    *list_out = list;
    return list != NULL ? WEIR_OK : no_memory(err);
}

/* set global NAME = BEFORE VALUE AFTER */
static weir_err set(const struct duck *d, const char *name, const char *before,
                    const char *value, const char *after,
                    struct weir_error *err)
{
    char *text = NULL;
    if (asprintf(&text, "set global %s = %s%s%s", name, before, value, after) <
        0) {
        return no_memory(err);
    }
    weir_err rc = engine_run(&d->engine, text, err);
    free(text);
    return rc;
}

static weir_err set_spill(const struct duck_params *p, const struct duck *d,
                          struct weir_error *err)
{
    if (has_set(p, spill_option)) {
        return WEIR_OK;
    }
    char *quoted = sql_quote(d->scratch, strlen(d->scratch), '\'');
    if (quoted == NULL) {
        return no_memory(err);
    }
    weir_err rc = set(d, spill_option, quoted, " || '/spill'", "", err);
    free(quoted);
    return rc;
}

/* Once files are out of reach, these three cannot be set any more. */
static weir_err close_off(const struct duck_params *p, const struct duck *d,
                          const char *allowed, const char *paths,
                          struct weir_error *err)
{
    static const char *const last[][2] = {
        {"autoinstall_known_extensions", "false"},
        {"autoload_known_extensions", "false"},
        {"allow_persistent_secrets", "false"},
        {"enable_external_access", "false"},
        {"lock_configuration", "true"},
    };
    weir_err rc = set_spill(p, d, err);
    if (rc == WEIR_OK) {
        rc = set(d, "allowed_directories", "[", allowed, "]", err);
    }
    if (rc == WEIR_OK && paths != NULL) {
        rc = set(d, "allowed_paths", "[", paths, "]", err);
    }
    for (size_t i = 0; rc == WEIR_OK && i < sizeof(last) / sizeof(last[0]);
         i++) {
        rc = set(d, last[i][0], last[i][1], "", "", err);
    }
    return rc;
}

static weir_err open_all(const struct duck_params *p, struct duck *d,
                         struct weir_error *err)
{
    const struct statement_may may = {.read_files = p->n_allow > 0,
                                      .write_files =
                                          p->n_allow > 0 && p->write};
    char *paths = NULL;
    char *allowed = NULL;
    weir_err rc = is_folder(p->database) ? open_folder(p, d, &paths, err)
                                         : open_file(p, d, err);
    if (rc == WEIR_OK) {
        rc = list_allowed(p, &allowed, err);
    }
    if (rc == WEIR_OK) {
        rc = close_off(p, d, allowed, paths, err);
    }
    if (rc == WEIR_OK) {
        rc = guard_open(duckdb_driver(), &may, &d->engine, err);
    }
    free(allowed);
    free(paths);
    return rc;
}

weir_err duck_open(const struct duck_params *params, struct duck *duck_out,
                   struct weir_error *err)
{
    struct duck d = {.n_views = 0};
    weir_err rc = check_there(params, err);
    if (rc == WEIR_OK) {
        rc = open_all(params, &d, err);
    }
    if (rc != WEIR_OK) {
        duck_close(&d);
        return rc;
    }
    *duck_out = d;
    return WEIR_OK;
}
