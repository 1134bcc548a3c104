/* SPDX-License-Identifier: Apache-2.0 */
/* One line per call, to the node's sink or to stderr. */
#include "core/base/log.h"

#include <stdarg.h>
#include <stdio.h>

static void write_stderr(int level, const char *line)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    const char *word = level >= 0 && level <= WI_LOG_DEBUG ? names[level] : "?";
    (void)fprintf(stderr, "weir: %s: %s\n", word, line);
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
        (void)vsnprintf(line + at, sizeof(line) - at, fmt, args);
        va_end(args);
    }
    if (log->fn != NULL) {
        log->fn(log->arg, level, line);
    } else {
        write_stderr(level, line);
    }
}
