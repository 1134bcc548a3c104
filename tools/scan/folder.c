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

/* NULL: no memory. */
static char *statement(const char *folder, const char *file)
{
    const char *read = NULL;
    char *path = NULL;
    char *text = NULL;
    char *name = sql_quote(file, view_name(file, &read), '"');
    if (asprintf(&path, "%s/%s", folder, file) < 0) {
        path = NULL;
    }
    char *from = path == NULL ? NULL : sql_quote(path, strlen(path), '\'');
    if (name == NULL || from == NULL ||
        asprintf(&text, "create view %s as from %s(%s)", name, read, from) <
            0) {
        text = NULL;
    }
    free(from);
    free(path);
    free(name);
    return text;
}

static weir_err add_view(const char *folder, const char *file,
                         const struct weir_scan_engine *engine,
                         struct weir_error *err)
{
    struct weir_error why = {.message = ""};
    char *text = statement(folder, file);
    if (text == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a view");
    }
    weir_err rc = engine_run(engine, text, &why);
    free(text);
    return rc == WEIR_OK ? rc
                         : tool_fail(err, WEIR_ERR_DATA, "%s/%s: %s", folder,
                                     file, why.message);
}

weir_err folder_views(const char *folder, const struct weir_scan_engine *engine,
                      uint32_t *views_out, struct weir_error *err)
{
    struct dirent **files = NULL;
    int n = scandir(folder, &files, is_table, alphasort);
    if (n < 0) {
        return tool_fail_errno(err, "%s", folder);
    }
    weir_err rc =
        n > 0 ? WEIR_OK
              : tool_fail(err, WEIR_ERR_DATA,
                          "%s has no .parquet, .csv, .csv.gz or .json file",
                          folder);
    for (int i = 0; i < n; i++) {
        if (rc == WEIR_OK) {
            rc = add_view(folder, files[i]->d_name, engine, err);
        }
        free(files[i]);
    }
    free(files);
    *views_out = rc == WEIR_OK ? (uint32_t)n : 0;
    return rc;
}
