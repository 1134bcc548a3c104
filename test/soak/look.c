/* SPDX-License-Identifier: Apache-2.0 */
#include "test/soak/look.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/soak/crew.h"

enum { PATH = 64, LINE = 512, KB = 1024 };

static FILE *proc_file(pid_t pid, const char *name)
{
    char path[PATH];
    (void)snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        wt_soak_violation("cannot read %s", path);
    }
    return f;
}

/* Entries of a folder whose names begin with this. */
static uint64_t entries(const char *path, const char *prefix)
{
    uint64_t n = 0;
    const struct dirent *entry;
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return 0;
    }
    while ((entry = readdir(dir)) != NULL) {
        n += entry->d_name[0] != '.' &&
             strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    }
    (void)closedir(dir);
    return n;
}

static uint64_t lines_with(FILE *f, const char *text)
{
    char line[LINE];
    uint64_t n = 0;
    while (fgets(line, sizeof(line), f) != NULL) {
        n += strstr(line, text) != NULL;
    }
    (void)fclose(f);
    return n;
}

/* Of /proc/PID/status: "VmRSS:", in kB, or "Threads:". */
static uint64_t status_of(pid_t pid, const char *key)
{
    char line[LINE];
    uint64_t value = 0;
    FILE *f = proc_file(pid, "status");
    while (fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            value = strtoull(line + strlen(key), NULL, 10);
        }
    }
    (void)fclose(f);
    return value;
}

static uint64_t *next(struct wt_looks *l)
{
    if (l->n == l->cap) {
        l->cap = l->cap == 0 ? 64 : 2 * l->cap;
        l->value = realloc(l->value, l->cap * sizeof(*l->value));
        if (l->value == NULL) {
            wt_soak_violation("no memory for what was looked at");
        }
    }
    memset(l->value[l->n], 0, sizeof(l->value[0]));
    return l->value[l->n++];
}

void wt_look(struct wt_looks *l, pid_t pid, uint64_t heap_bytes)
{
    char path[PATH];
    uint64_t *v = next(l);
    (void)snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
    v[WT_LOOK_heap] = heap_bytes / KB;
    v[WT_LOOK_rss] = status_of(pid, "VmRSS:");
    v[WT_LOOK_threads] = status_of(pid, "Threads:");
    v[WT_LOOK_descriptors] = entries(path, "");
    v[WT_LOOK_mappings] = lines_with(proc_file(pid, "maps"), "");
}

void wt_look_run(struct wt_looks *l, const char *run)
{
    uint64_t *v = next(l);
    v[WT_LOOK_sockets] = lines_with(proc_file(getpid(), "net/unix"), run);
    v[WT_LOOK_dev_shm] = entries("/dev/shm", run);
}

/* ---- growth -------------------------------------------------------------- */

static uint64_t least(const struct wt_looks *l, uint32_t value, uint32_t first,
                      uint32_t n)
{
    uint64_t min = UINT64_MAX;
    for (uint32_t i = first; i < first + n; i++) {
        min = l->value[i][value] < min ? l->value[i][value] : min;
    }
    return min;
}

bool wt_look_flat(const struct wt_looks *l, const char *who)
{
    static const struct {
        const char *name;
        const char *unit;
        uint64_t slack;
    } values[] = {
#define WT_LOOK_ROW(name, unit, slack) {#name, unit, slack},
        WT_LOOK_VALUES(WT_LOOK_ROW)
#undef WT_LOOK_ROW
    };
    uint32_t warm = l->n / 10;
    uint32_t quarter = (l->n - warm) / 4;
    bool flat = true;
    if (quarter < 3) {
        (void)printf("%s: %u looks, too few to compare\n", who, l->n);
        return true;
    }
    for (uint32_t i = 0; i < WT_LOOK_N; i++) {
        uint64_t from = least(l, i, warm, quarter);
        uint64_t to = least(l, i, l->n - quarter, quarter);
        bool grown = to > from + values[i].slack;
        if (from != 0 || to != 0) {
            (void)printf("%s: %-11s %6" PRIu64 " -> %6" PRIu64 " %-2s (slack "
                         "%" PRIu64 ")%s\n",
                         who, values[i].name, from, to, values[i].unit,
                         values[i].slack, grown ? "  GROWS" : "");
        }
        flat = flat && !grown;
    }
    return flat;
}

void wt_look_close(struct wt_looks *l)
{
    free(l->value);
    *l = (struct wt_looks){0};
}
