/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "tools/scan/plan_engine.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nanoarrow/nanoarrow.h>

#include "cli/fail.h"
#include "operators/base/below.h"
#include "tools/plan_file.h"

struct plan_engine {
    struct plan_stream_params run;
    char folder[];
};

static weir_err no_memory(struct weir_error *err)
{
    return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a statement");
}

/* ---- statements ---------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Of something in a folder: it leads to no other one. */
static bool is_name(const char *text)
{
    return text[0] != '\0' && text[0] != '.' && strchr(text, '/') == NULL;
}

/* A folder in the folder, and no link that leads out of it. */
static bool is_dataset(const struct plan_engine *e, const char *name)
{
    const int fd = is_name(name)
                       ? wi_open_below(e->folder, name, O_PATH | O_DIRECTORY)
                       : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

/* Free *folder_out. */
static weir_err find_folder(const struct plan_engine *e, const char *dataset,
                            char **folder_out, struct weir_error *err)
{
    const bool whole = dataset[0] == '\0';
    char *folder = NULL;
    if (!whole && !is_dataset(e, dataset)) {
        return tool_fail(err, WEIR_ERR_NOT_FOUND,
                         "no data set '%s': it would be a folder in %s",
                         dataset, e->folder);
    }
    if (asprintf(&folder, "%s%s%s", e->folder, whole ? "" : "/", dataset) < 0) {
        return no_memory(err);
    }
    *folder_out = folder;
    return WEIR_OK;
}

static weir_err read_file(const char *folder, const char *name,
                          weir_plan **plan_out, struct weir_error *err)
{
    static const char *const endings[] = {"", ".json"};
    weir_err rc = WEIR_DONE;
    for (size_t i = 0; is_name(name) && rc == WEIR_DONE && i < 2; i++) {
        char *file = NULL;
        if (asprintf(&file, "%s%s", name, endings[i]) < 0) {
            return no_memory(err);
        }
        rc = plan_file_read_below(folder, file, plan_out, err);
        free(file);
    }
    return rc != WEIR_DONE
               ? rc
               : tool_fail(
                     err, WEIR_ERR_NOT_FOUND,
                     "no plan '%.100s': a statement is a plan in JSON, or the "
                     "name of a plan's file in %s",
                     name, folder);
}

/* Is it a plan itself? A byte order mark may stand in front. */
static bool is_json(const char *text)
{
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
    }
    return text[strspn(text, " \t\r\n")] == '{';
}

static weir_err read_plan(const char *folder, const char *text,
                          weir_plan **plan_out, struct weir_error *err)
{
    return is_json(text)
               ? plan_text_read_below(text, strlen(text), folder, plan_out, err)
               : read_file(folder, text, plan_out, err);
}

/* A file that it names and cannot be read is the plan's mistake, not the
 * server's. */
static weir_err check_plan(weir_err code, struct weir_error *err)
{
    if (code == WEIR_ERR_SYSTEM) {
        err->code = WEIR_ERR_DATA;
        return WEIR_ERR_DATA;
    }
    return code;
}

/* ---- schemas ------------------------------------------------------------- */

/* As a struct of the answer's columns, and one of no parameters. */
static int both_schemas(const struct ArrowSchema *result,
                        struct ArrowSchema *both)
{
    ArrowSchemaInit(both);
    NANOARROW_RETURN_NOT_OK(ArrowSchemaSetTypeStruct(both, 2));
    ArrowSchemaRelease(both->children[0]);
    NANOARROW_RETURN_NOT_OK(ArrowSchemaDeepCopy(result, both->children[0]));
    NANOARROW_RETURN_NOT_OK(ArrowSchemaSetName(both->children[0], "result"));
    NANOARROW_RETURN_NOT_OK(ArrowSchemaSetTypeStruct(both->children[1], 0));
    return ArrowSchemaSetName(both->children[1], "parameters");
}

static weir_err give_schemas(const weir_plan *plan,
                             struct ArrowArrayStream *stream_out,
                             struct weir_error *err)
{
    struct ArrowSchema result;
    struct ArrowSchema both;
    weir_err rc = weir_plan_schema(plan, NULL, &result, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    int bad = both_schemas(&result, &both);
    result.release(&result);
    bad = bad != 0 ? bad : ArrowBasicArrayStreamInit(stream_out, &both, 0);
    if (bad != 0) {
        ArrowSchemaRelease(&both);
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a schema");
    }
    return WEIR_OK;
}

/* ---- the engine ---------------------------------------------------------- */

static weir_err check_request(const struct weir_scan_request *r,
                              struct weir_error *err)
{
    if (r->kind != WEIR_SCAN_QUERY && r->kind != WEIR_SCAN_SCHEMA) {
        return tool_fail(err, WEIR_ERR_UNSUPPORTED,
                         "plans are queries: they change nothing, and there "
                         "is no catalog of tables");
    }
    if (r->bind != NULL) {
        return tool_fail(err, WEIR_ERR_UNSUPPORTED, "plans take no parameters");
    }
    return r->n_options == 0
               ? WEIR_OK
               : tool_fail(err, WEIR_ERR_UNSUPPORTED, "no option '%.100s'",
                           r->options[0].key);
}

static weir_err open_plan(const struct plan_engine *e,
                          const struct weir_scan_request *request,
                          weir_plan **plan_out, struct weir_error *err)
{
    char *folder = NULL;
    weir_err rc = check_request(request, err);
    if (rc == WEIR_OK) {
        rc = find_folder(e, request->dataset, &folder, err);
    }
    if (rc == WEIR_OK) {
        rc = check_plan(read_plan(folder, request->text, plan_out, err), err);
        free(folder);
    }
    return rc;
}

static weir_err engine_open(void *arg, const struct weir_scan_request *request,
                            weir_scan_job *job,
                            struct ArrowArrayStream *stream_out,
                            int64_t *rows_out,
                            struct weir_scan_fault *fault_out,
                            struct weir_error *err)
{
    const struct plan_engine *e = arg;
    weir_plan *plan = NULL;
    (void)rows_out, (void)fault_out;
    weir_err rc = open_plan(e, request, &plan, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (request->kind == WEIR_SCAN_SCHEMA) {
        rc = give_schemas(plan, stream_out, err);
        weir_plan_close(plan);
        return rc;
    }
    return plan_stream_open(plan, &e->run, job, stream_out, err);
}

weir_err plan_engine_open(const char *folder,
                          const struct plan_stream_params *run,
                          struct weir_scan_engine *engine_out,
                          struct weir_error *err)
{
    const size_t bytes = strlen(folder) + 1;
    if (!is_folder(folder)) {
        return tool_fail(err, WEIR_ERR_DATA,
                         "%s: a folder of plans and their files was expected",
                         folder);
    }
    struct plan_engine *e = malloc(sizeof(*e) + bytes);
    if (e == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an engine");
    }
    e->run = *run;
    memcpy(e->folder, folder, bytes);
    *engine_out = (struct weir_scan_engine){engine_open, free, e};
    return WEIR_OK;
}
