/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is there memory? The kernel answers a fallocate that it cannot satisfy by
 * killing processes, not by ENOMEM (overcommit is judged page by page, and a
 * control group has no other answer), so the question is put first. Others
 * may take the memory in between: this makes the kill unlikely, not impossible.
 *
 * Sources: Linux Documentation/filesystems/proc.rst (MemAvailable) and
 * Documentation/admin-guide/cgroup-v2.rst (memory.max, .current, .stat).
 */
#include "transport/shm/shm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 4096, PATH_BYTES = 1024 };

/* A small text file; empty if it cannot be read or its name is too long. */
static void slurp(char *text, const char *dir, const char *file)
{
    char path[2 * PATH_BYTES];
    int n = snprintf(path, sizeof(path), "%s/%s", dir, file);
    size_t used = 0;
    if (n > 0 && (size_t)n < sizeof(path)) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = 1;
        while (fd >= 0 && got > 0 && used < TEXT_BYTES - 1) {
            got = read(fd, text + used, TEXT_BYTES - 1 - used);
            used += got > 0 ? (size_t)got : 0;
        }
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    text[used] = '\0';
}

/* The number after a word at the start of a line. false: not there. */
static bool field(const char *text, const char *word, uint64_t *value)
{
    size_t len = strlen(word);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + len;
        if (strncmp(line, word, len) == 0) {
            char *end;
            *value = strtoull(at, &end, 10);
            return end != at;
        }
        if (*line == '\0') {
            break;
        }
    }
    return false;
}

/* What one control group leaves. Its page cache would be given up first. */
static uint64_t group_room(const char *dir)
{
    char text[TEXT_BYTES];
    uint64_t most, used, cache = 0, part;
    slurp(text, dir, "memory.max");
    if (!field(text, "", &most)) {
        return UINT64_MAX; /* "max", or no such file */
    }
    slurp(text, dir, "memory.current");
    if (!field(text, "", &used)) {
        return UINT64_MAX;
    }
    slurp(text, dir, "memory.stat");
    cache += field(text, "inactive_file ", &part) ? part : 0;
    cache += field(text, "active_file ", &part) ? part : 0;
    used -= wi_min_u64(used, cache);
    return most - wi_min_u64(most, used);
}

/* This process's group and all above it. */
static uint64_t groups_room(const char *root)
{
    char text[TEXT_BYTES];
    char dir[PATH_BYTES];
    slurp(text, root, "proc/self/cgroup");
    char *path = strstr(text, "0::/");
    if (path == NULL) {
        return UINT64_MAX;
    }
    path += 3;
    path[strcspn(path, "\n")] = '\0';
    int n = snprintf(dir, sizeof(dir), "%s/sys/fs/cgroup", root);
    size_t top = n > 0 ? (size_t)n : 0;
    if (top + strlen(path) >= sizeof(dir)) {
        return UINT64_MAX;
    }
    memcpy(dir + top, path, strlen(path) + 1);
    uint64_t room = UINT64_MAX;
    for (char *cut = dir + strlen(dir); cut >= dir + top; cut--) {
        if (*cut == '/' || *cut == '\0') {
            *cut = '\0';
            room = wi_min_u64(room, group_room(dir));
        }
    }
    return room;
}

uint64_t wi_shm_room(const char *root, const char **limit)
{
    char text[TEXT_BYTES];
    uint64_t room = UINT64_MAX, free_kb, swap_kb = 0;
    *limit = "nothing";
    slurp(text, root, "proc/meminfo");
    if (field(text, "MemAvailable:", &free_kb)) {
        (void)field(text, "SwapFree:", &swap_kb);
        room = (free_kb + swap_kb) * 1024;
        *limit = "the host's memory (MemAvailable + SwapFree)";
    }
    uint64_t group = groups_room(root);
    if (group < room) {
        room = group;
        *limit = "the memory limit of the container (memory.max)";
    }
    return room;
}
