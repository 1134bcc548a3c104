/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "tools/scan/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"
#include "cli/scan/engine.h"
#include "tools/scan/quote.h"

/* What a view of a file begins with. */
static const struct {
    const char *ending;
    const char *read;
} kinds[] = {{".parquet", "read_parquet"},
             {".csv", "read_csv"},
             {".csv.gz", "read_csv"},
             {".json", "read_json"}};

/* Length of the view's name, and how the file is read; 0: it is no table. */
static size_t view_name(const char *file, const char **read_out)
{
    const size_t n = strlen(file);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const size_t ending = strlen(kinds[i].ending);
        if (n > ending && strcmp(file + n - ending, kinds[i].ending) == 0) {
            *read_out = kinds[i].read;
            return file[0] == '.' ? 0 : n - ending;
        }
    }
    return 0;
}

static int is_table(const struct dirent *entry)
{
    const char *read;
    return view_name(entry->d_name, &read) > 0;
}

/* Views that are being made. */
struct making {
    const char *folder; /* as it was given */
    char *whole;        /* from the root on */
    const struct weir_scan_engine *engine;
    char *paths;
};

static weir_err no_memory(struct weir_error *err)
{
    return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a view");
}

/* A text of SQL; NULL: no memory. */
static char *path_of(const struct making *m, const char *file)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", m->whole, file) < 0) {
        return NULL;
    }
    char *quoted = sql_quote(path, strlen(path), '\'');
    free(path);
    return quoted;
}

/* NULL: no memory. */
static char *statement(const char *file, const char *path)
{
    const char *read = NULL;
    char *text = NULL;
    char *name = sql_quote(file, view_name(file, &read), '"');
    if (name == NULL || asprintf(&text, "create view %s as from %s(%s)", name,
                                 read, path) < 0) {
        text = NULL;
    }
    free(name);
    return text;
}

static weir_err add_path(struct making *m, const char *path,
                         struct weir_error *err)
{
    char *more = NULL;
    if (asprintf(&more, "%s%s%s", m->paths != NULL ? m->paths : "",
                 m->paths != NULL ? ", " : "", path) < 0) {
        return no_memory(err);
    }
    free(m->paths);
    m->paths = more;
    return WEIR_OK;
}

static weir_err add_view(struct making *m, const char *file,
                         struct weir_error *err)
{
    struct weir_error why = {.message = ""};
    char *path = path_of(m, file);
    char *text = path != NULL ? statement(file, path) : NULL;
    weir_err rc = text == NULL ? no_memory(err) : add_path(m, path, err);
    if (rc == WEIR_OK && engine_run(m->engine, text, &why) != WEIR_OK) {
        rc = tool_fail(err, WEIR_ERR_DATA, "%s/%s: %s", m->folder, file,
                       why.message);
    }
    free(text);
    free(path);
    return rc;
}

weir_err folder_views(const char *folder, const struct weir_scan_engine *engine,
                      uint32_t *views_out, char **paths_out,
                      struct weir_error *err)
{
    struct making m = {
        .folder = folder, .whole = realpath(folder, NULL), .engine = engine};
    struct dirent **files = NULL;
    int n = m.whole != NULL ? scandir(folder, &files, is_table, alphasort) : -1;
    if (n < 0) {
        weir_err rc = tool_fail_errno(err, "%s", folder);
        free(m.whole);
        return rc;
    }
    weir_err rc =
        n > 0 ? WEIR_OK
              : tool_fail(err, WEIR_ERR_DATA,
                          "%s has no .parquet, .csv, .csv.gz or .json file",
                          folder);
    for (int i = 0; i < n; i++) {
        if (rc == WEIR_OK) {
            rc = add_view(&m, files[i]->d_name, err);
        }
        free(files[i]);
    }
    free(files);
    free(m.whole);
    if (rc != WEIR_OK) {
        free(m.paths);
        return rc;
    }
    *views_out = (uint32_t)n;
    *paths_out = m.paths;
    return WEIR_OK;
}
