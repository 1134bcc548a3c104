/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the system and of this process. */
#define _GNU_SOURCE 1
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "tools/doctor.h"

enum {
    CAP_IPC_LOCK_BIT = 14, /* capabilities(7) */
    LEAST_FILES = 256,     /* a default node with all its links */
    LEAST_MAPS = 65530,    /* what kernels come with */
};

static const char *size_text(char *text, size_t bytes, uint64_t value)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)value;
    unsigned u = 0;
    for (; v >= 1024 && u < 4; u++) {
        v /= 1024;
    }
    (void)snprintf(text, bytes, "%.*f %s", v < 10 && u > 0 ? 1 : 0, v,
                   units[u]);
    return text;
}

static const char *limit_text(char *text, size_t bytes, rlim_t limit)
{
    if (limit == RLIM_INFINITY) {
        (void)snprintf(text, bytes, "unlimited");
        return text;
    }
    return size_text(text, bytes, limit);
}

/* ---- locked memory ------------------------------------------------------- */

static bool may_lock_all(void)
{
    char line[128];
    unsigned long long caps = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        (void)sscanf(line, "CapEff: %llx", &caps);
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return (caps >> CAP_IPC_LOCK_BIT & 1) != 0;
}

static void check_memlock(struct doctor *d)
{
    struct rlimit lim = {0};
    char soft[32];
    char hard[32];
    char need[32];
    (void)getrlimit(RLIMIT_MEMLOCK, &lim);
    limit_text(soft, sizeof(soft), lim.rlim_cur);
    limit_text(hard, sizeof(hard), lim.rlim_max);
    size_text(need, sizeof(need), d->need_bytes);
    if (d->need_bytes == 0) {
        doctor_say(d, DOCTOR_NOTE, "memlock", NULL,
                   "soft limit %s, hard limit %s; what a node needs is not "
                   "known, as none opens",
                   soft, hard);
        return;
    }
    bool all = may_lock_all();
    bool enough =
        all || lim.rlim_cur == RLIM_INFINITY || lim.rlim_cur >= d->need_bytes;
    if (enough || d->devices == 0) {
        doctor_say(d, enough ? DOCTOR_OK : DOCTOR_NOTE, "memlock", NULL,
                   "soft limit %s, hard limit %s%s; a default node registers "
                   "up to %s with an RDMA device%s",
                   soft, hard, all ? " (this process may pass them)" : "", need,
                   d->devices == 0 ? "; shm and tcp register nothing" : "");
        return;
    }
    bool raise = lim.rlim_max == RLIM_INFINITY || lim.rlim_max >= d->need_bytes;
    doctor_say(d, DOCTOR_PROBLEM, "memlock",
               raise
                   ? "ulimit -l $(ulimit -H -l)"
                   : "echo '* - memlock unlimited' | sudo tee "
                     "/etc/security/limits.d/weir.conf   # then log in again; "
                     "containers: --ulimit memlock=-1",
               "soft limit %s, hard limit %s; a default node registers up to "
               "%s: it must use less, or fails",
               soft, hard, need);
}

/* ---- pages --------------------------------------------------------------- */

static uint64_t meminfo(const struct doctor *d, const char *key)
{
    char path[512];
    char line[128];
    uint64_t value = 0;
    size_t len = strlen(key);
    (void)snprintf(path, sizeof(path), "%s/proc/meminfo", d->root);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, key, len) == 0 && line[len] == ':') {
            value = strtoull(line + len + 1, NULL, 10);
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return value;
}

static void check_huge_pages(struct doctor *d)
{
    uint64_t total = meminfo(d, "HugePages_Total");
    uint64_t left = meminfo(d, "HugePages_Free");
    uint64_t kib = meminfo(d, "Hugepagesize");
    char size[32];
    size_text(size, sizeof(size), kib * 1024);
    if (kib == 0) {
        doctor_say(d, DOCTOR_NOTE, "huge pages", NULL,
                   "this kernel has none: normal pages are used");
    } else if (left > 0) {
        doctor_say(d, DOCTOR_OK, "huge pages", NULL,
                   "%" PRIu64 " of %s, %" PRIu64 " free", total, size, left);
    } else {
        char fix[64];
        uint64_t page = kib * 1024;
        (void)snprintf(fix, sizeof(fix), "sysctl -w vm.nr_hugepages=%" PRIu64,
                       total + (d->need_bytes + page - 1) / page);
        doctor_say(
            d, DOCTOR_NOTE, "huge pages", d->need_bytes != 0 ? fix : NULL,
            "%" PRIu64 " of %s, none free: normal pages are used", total, size);
    }
}

static void check_dev_shm(struct doctor *d)
{
    char path[512];
    char all[32];
    char left[32];
    struct statvfs fs;
    (void)snprintf(path, sizeof(path), "%s/dev/shm", d->root);
    if (statvfs(path, &fs) != 0) {
        doctor_say(d, DOCTOR_NOTE, "/dev/shm", NULL,
                   "not there; Weir's shared memory does not need it (memfd)");
        return;
    }
    doctor_say(
        d, DOCTOR_OK, "/dev/shm", NULL,
        "%s, %s free; Weir's shared memory does not count against it "
        "(memfd)",
        size_text(all, sizeof(all), (uint64_t)fs.f_blocks * fs.f_frsize),
        size_text(left, sizeof(left), (uint64_t)fs.f_bavail * fs.f_frsize));
}

/* ---- mappings ------------------------------------------------------------ */

static void check_maps(struct doctor *d)
{
    char path[512];
    unsigned long long limit = 0;
    (void)snprintf(path, sizeof(path), "%s/proc/sys/vm/max_map_count", d->root);
    FILE *f = fopen(path, "re");
    bool known = f != NULL && fscanf(f, "%llu", &limit) == 1;
    if (f != NULL) {
        (void)fclose(f);
    }
    if (known) {
        bool few = limit < LEAST_MAPS;
        doctor_say(d, few ? DOCTOR_NOTE : DOCTOR_OK, "mappings",
                   few ? "sysctl -w vm.max_map_count=262144" : NULL,
                   "%llu of a process; a region that is mapped takes one, and "
                   "so does a map output of Spark that is sent from its file",
                   limit);
    }
}

/* ---- descriptors --------------------------------------------------------- */

static void check_files(struct doctor *d)
{
    struct rlimit lim = {0};
    (void)getrlimit(RLIMIT_NOFILE, &lim);
    if (lim.rlim_cur >= LEAST_FILES) {
        doctor_say(d, DOCTOR_OK, "open files", NULL,
                   "limit %llu; a default node with all its links needs fewer "
                   "than %d",
                   (unsigned long long)lim.rlim_cur, LEAST_FILES);
        return;
    }
    doctor_say(d, DOCTOR_PROBLEM, "open files",
               lim.rlim_max >= LEAST_FILES
                   ? "ulimit -n $(ulimit -H -n)"
                   : "echo '* - nofile 4096' | sudo tee "
                     "/etc/security/limits.d/weir.conf   # then log in again",
               "limit %llu, hard limit %llu; a default node with all its links "
               "needs up to %d",
               (unsigned long long)lim.rlim_cur,
               (unsigned long long)lim.rlim_max, LEAST_FILES);
}

void doctor_system(struct doctor *d)
{
    check_memlock(d);
    check_huge_pages(d);
    check_dev_shm(d);
    check_maps(d);
    check_files(d);
}
