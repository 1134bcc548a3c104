/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "tools/plan_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chbench/chbench.h"
#include "cli/fail.h"
#include "operators/base/below.h"

enum { READ_BYTES = 1 << 16 };

/* The whole stream; free() it. */
static weir_err read_all(FILE *from, char **text_out, size_t *n_out,
                         struct weir_error *err)
{
    char *text = NULL;
    size_t used = 0;
    size_t room = 0;
    size_t n;
    do {
        if (room - used < READ_BYTES) {
            room = 2 * room + READ_BYTES;
            char *more = realloc(text, room);
            if (more == NULL) {
                free(text);
                return tool_fail(err, WEIR_ERR_NO_MEMORY,
                                 "no memory for the plan");
            }
            text = more;
        }
        n = fread(text + used, 1, room - used, from);
        used += n;
    } while (n > 0);
    if (ferror(from) != 0) {
        free(text);
        return tool_fail_errno(err, "read the plan");
    }
    *text_out = text;
    *n_out = used;
    return WEIR_OK;
}

/* fopen() would wait forever for a pipe that nobody writes to; opened without
 * waiting, the pipe is at its end at once. */
static const int open_flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/* `fd` is the path's, and taken over; or -1 and errno. */
static FILE *open_plan(int fd, const char *path, struct stat *st,
                       struct weir_error *err)
{
    const bool ready =
        fd >= 0 && fstat(fd, st) == 0 &&
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0;
    FILE *from = ready ? fdopen(fd, "r") : NULL;
    if (from == NULL) {
        const bool lacks = errno == EMFILE || errno == ENFILE;
        (void)tool_fail(err, lacks ? WEIR_ERR_NO_MEMORY : WEIR_ERR_SYSTEM,
                        "%s: %s", path, wi_below_why(errno));
        if (fd >= 0) {
            (void)close(fd);
        }
        return NULL;
    }
    if (S_ISDIR(st->st_mode)) {
        (void)tool_fail(err, WEIR_ERR_DATA,
                        "%s: a directory; the file of a plan was expected",
                        path);
        (void)fclose(from);
        return NULL;
    }
    return from;
}

/* fd as in open_plan. */
static weir_err read_opened(int fd, const char *path, char **text_out,
                            size_t *n_out, struct weir_error *err)
{
    struct stat st;
    FILE *from = open_plan(fd, path, &st, err);
    if (from == NULL) {
        return err->code;
    }
    weir_err rc = read_all(from, text_out, n_out, err);
    (void)fclose(from);
    if (rc == WEIR_OK && *n_out == 0 && S_ISFIFO(st.st_mode)) {
        free(*text_out);
        return tool_fail(err, WEIR_ERR_DATA,
                         "%s: a pipe that nobody writes to; start the writer "
                         "first, or give the plan on standard input",
                         path);
    }
    return rc;
}

static weir_err read_file(const char *path, char **text_out, size_t *n_out,
                          struct weir_error *err)
{
    return strcmp(path, "-") == 0 ? read_all(stdin, text_out, n_out, err)
                                  : read_opened(open(path, open_flags), path,
                                                text_out, n_out, err);
}

/* Where the files are that a plan names. */
struct place {
    const char *data_dir;
    bool only_below;
};

static weir_err read_text(const struct place *place, const char *text,
                          size_t n_bytes, weir_plan **plan_out,
                          struct weir_error *err)
{
    const struct weir_plan_read_params params = {.data_dir = place->data_dir,
                                                 .kinds = &ch_kind,
                                                 .n_kinds = 1,
                                                 .only_below =
                                                     place->only_below};
    return weir_plan_read(text, n_bytes, &params, plan_out, err);
}

/* The text of the file `path`. */
static weir_err read_file_text(const struct place *place, const char *path,
                               const char *text, size_t n, weir_plan **plan_out,
                               struct weir_error *err)
{
    weir_err rc = read_text(place, text, n, plan_out, err);
    if (rc != WEIR_OK) {
        const struct weir_error cause = *err;
        (void)tool_fail(err, rc, "%s: %s", path, cause.message);
    }
    return rc;
}

weir_err plan_file_read(const char *path, const char *data_dir,
                        weir_plan **plan_out, struct weir_error *err)
{
    const struct place place = {data_dir, false};
    char *text;
    size_t n;
    weir_err rc = read_file(path, &text, &n, err);
    if (rc == WEIR_OK) {
        rc = read_file_text(&place, path, text, n, plan_out, err);
        free(text);
    }
    return rc;
}

weir_err plan_text_read_below(const char *text, size_t n_bytes,
                              const char *folder, weir_plan **plan_out,
                              struct weir_error *err)
{
    const struct place place = {folder, true};
    return read_text(&place, text, n_bytes, plan_out, err);
}

weir_err plan_file_read_below(const char *folder, const char *name,
                              weir_plan **plan_out, struct weir_error *err)
{
    const struct place place = {folder, true};
    char *text;
    char *path;
    size_t n;
    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a plan");
    }
    const int fd = wi_open_below(folder, name, open_flags);
    weir_err rc = fd < 0 && errno == ENOENT
                      ? WEIR_DONE
                      : read_opened(fd, path, &text, &n, err);
    if (rc == WEIR_OK) {
        rc = read_file_text(&place, path, text, n, plan_out, err);
        free(text);
    }
    free(path);
    return rc;
}
