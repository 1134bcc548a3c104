/* SPDX-License-Identifier: Apache-2.0 */
/* Findings and facts of `weir doctor`. */
#define _GNU_SOURCE 1
#include "tools/doctor.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

/* ---- findings ------------------------------------------------------------ */

static const char *const levels[] = {"ok", "note", "problem"};

static void keep(struct doctor *d, enum doctor_level level, const char *check,
                 const char *fix, json_t *data, const char *text)
{
    json_t *f = json_pack("{s:s, s:s, s:s}", "level", levels[level], "check",
                          check, "found", text);
    if (fix != NULL) {
        (void)json_object_set_new(f, "fix", json_string(fix));
    }
    if (data != NULL) {
        (void)json_object_set(f, "data", data);
    }
    (void)json_array_append_new(d->findings, f);
}

/* Names of devices and what peers say may hold any byte. None may control the
 * terminal, or keep a finding out of JSON, which is UTF-8. */
static void make_plain(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < ' ' || *text > '~') {
            *text = '?';
        }
    }
}

void doctor_say_data(struct doctor *d, enum doctor_level level,
                     const char *check, const char *fix, json_t *data,
                     const char *fmt, ...)
{
    char text[DOCTOR_TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    make_plain(text);
    d->problems += level == DOCTOR_PROBLEM;
    if (d->findings != NULL) {
        keep(d, level, check, fix, data, text);
    } else {
        (void)fprintf(d->out, "%-8s %-11s %s\n", levels[level], check, text);
        if (fix != NULL) {
            (void)fprintf(d->out, "%-8s %-11s %s\n", "",
                          level == DOCTOR_PROBLEM ? "fix:" : "to change:", fix);
        }
        (void)fflush(d->out);
    }
    json_decref(data);
}

int doctor_end(struct doctor *d)
{
    if (d->findings != NULL) {
        json_t *all = json_pack("{s:i, s:o}", "problems", (int)d->problems,
                                "findings", d->findings);
        (void)json_dumpf(all, d->out, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
        (void)fputc('\n', d->out);
        json_decref(all);
    } else {
        (void)fprintf(d->out, "%u problem%s\n", d->problems,
                      d->problems == 1 ? "" : "s");
    }
    return d->problems == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- facts --------------------------------------------------------------- */

static bool make_path(const struct doctor *d, char *path, const char *fmt,
                      va_list args)
{
    int n = snprintf(path, PATH_BYTES, "%s", d->root);
    if (n < 0 || n >= PATH_BYTES) {
        return false;
    }
    int m = vsnprintf(path + n, (size_t)(PATH_BYTES - n), fmt, args);
    return m >= 0 && m < PATH_BYTES - n;
}

static void trim(char *text)
{
    text[strcspn(text, "\n")] = '\0';
    size_t len = strlen(text);
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t')) {
        text[--len] = '\0';
    }
    size_t skip = strspn(text, " \t");
    memmove(text, text + skip, len - skip + 1);
}

bool doctor_read(const struct doctor *d, char *text, size_t bytes,
                 const char *fmt, ...)
{
    char path[PATH_BYTES];
    va_list args;
    va_start(args, fmt);
    bool fits = make_path(d, path, fmt, args);
    va_end(args);
    text[0] = '\0';
    int fd = fits ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, text, bytes - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    trim(text);
    return n >= 0;
}

void doctor_list(const struct doctor *d, struct doctor_names *names,
                 const char *fmt, ...)
{
    char path[PATH_BYTES];
    struct dirent **list = NULL;
    va_list args;
    va_start(args, fmt);
    bool fits = make_path(d, path, fmt, args);
    va_end(args);
    names->n = 0;
    int n = fits ? scandir(path, &list, NULL, versionsort) : -1;
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        if (name[0] != '.' && names->n < DOCTOR_NAMES &&
            strlen(name) < DOCTOR_NAME_BYTES) {
            (void)strcpy(names->name[names->n++], name);
        }
        free(list[i]);
    }
    free(list);
}

bool doctor_may_use(const struct doctor *d, bool *exists_out, const char *fmt,
                    ...)
{
    char path[PATH_BYTES];
    va_list args;
    va_start(args, fmt);
    bool fits = make_path(d, path, fmt, args);
    va_end(args);
    *exists_out = fits && access(path, F_OK) == 0;
    return fits && faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0;
}
