/* SPDX-License-Identifier: Apache-2.0 */
/* Sources: Linux Documentation/filesystems/proc.rst and
 * Documentation/admin-guide/cgroup-v2.rst. */
#include "core/base/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

void wi_proc_read(char *text, const char *dir, const char *file)
{
    char path[2 * PATH_BYTES];
    int n = snprintf(path, sizeof(path), "%s/%s", dir, file);
    size_t used = 0;
    if (n > 0 && (size_t)n < sizeof(path)) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = 1;
        while (fd >= 0 && got > 0 && used < WI_PROC_TEXT - 1) {
            got = read(fd, text + used, WI_PROC_TEXT - 1 - used);
            used += got > 0 ? (size_t)got : 0;
        }
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    text[used] = '\0';
}

bool wi_proc_number(const char *text, const char *word, uint64_t *out)
{
    size_t len = strlen(word);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + len;
        if (strncmp(line, word, len) == 0) {
            char *end;
            *out = strtoull(at, &end, 10);
            return end != at;
        }
        if (*line == '\0') {
            break;
        }
    }
    return false;
}

void wi_proc_groups(const char *root, void (*fn)(void *arg, const char *dir),
                    void *arg)
{
    char text[WI_PROC_TEXT];
    char dir[PATH_BYTES];
    wi_proc_read(text, root, "proc/self/cgroup");
    char *path = strstr(text, "0::/");
    if (path == NULL) {
        return;
    }
    path += 3;
    path[strcspn(path, "\n")] = '\0';
    int n = snprintf(dir, sizeof(dir), "%s/sys/fs/cgroup", root);
    size_t top = n > 0 ? (size_t)n : 0;
    if (top + strlen(path) >= sizeof(dir)) {
        return;
    }
    memcpy(dir + top, path, strlen(path) + 1);
    for (char *cut = dir + strlen(dir); cut >= dir + top; cut--) {
        if (*cut == '/' || *cut == '\0') {
            *cut = '\0';
            fn(arg, dir);
        }
    }
}
