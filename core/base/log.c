/* SPDX-License-Identifier: Apache-2.0 */
/* One line per call, to the node's sink or to stderr. */
#include "core/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/neutral.h"

/* Descriptor 2 when this library was loaded; st_ino 0: it was closed. */
static struct stat at_load;

__attribute__((constructor)) static void look_at_stderr(void)
{
    if (fstat(STDERR_FILENO, &at_load) != 0) {
        at_load.st_ino = 0;
    }
}

/* A program that has closed descriptor 2 gets it again for a file or a socket
 * of its own, which no line of ours may reach. What it has put there for
 * messages is a terminal, a pipe, or a file that is appended to. */
static bool takes_messages(void)
{
    struct stat now;
    if (fstat(STDERR_FILENO, &now) != 0) {
        return false;
    }
    if (at_load.st_ino != 0 && now.st_dev == at_load.st_dev &&
        now.st_ino == at_load.st_ino) {
        return true;
    }
    return S_ISCHR(now.st_mode) || S_ISFIFO(now.st_mode) ||
           (S_ISREG(now.st_mode) &&
            (fcntl(STDERR_FILENO, F_GETFL) & O_APPEND) != 0);
}

static void write_stderr(int level, const char *line)
{
    int before = errno;
    if (!takes_messages()) {
        errno = before;
        return;
    }
    static const char *const names[] = {"error", "warning", "info", "debug"};
    const char *word = level >= 0 && level <= WI_LOG_DEBUG ? names[level] : "?";
    (void)fprintf(stderr, "weir: %s: %s\n", word, line);
    errno = before;
}

void wi_log(const struct wi_log *log, int level, const char *fmt, ...)
{
    if (log == NULL || level > log->level) {
        return;
    }
    char line[768];
    int used = snprintf(line, sizeof(line), "%s: ", log->name);
    size_t at = used < 0 ? 0 : (size_t)used;
    if (at < sizeof(line)) {
        va_list args;
        va_start(args, fmt);
        (void)wi_neutral_vformat(line + at, sizeof(line) - at, fmt, args);
        va_end(args);
    }
    if (log->fn != NULL) {
        log->fn(log->arg, level, line);
    } else {
        write_stderr(level, line);
    }
}
