/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and folders of benchmarks. */
#define _GNU_SOURCE 1
#include "bench/commands/bench_files.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/fail.h"
#include "launch/clock.h"

enum { OPEN_FILES = 16, NOT_STARTED = 127 };

weir_err bench_dir_make(const char *parent, char dir_out[BENCH_DIR_BYTES],
                        struct weir_error *err)
{
    char dir[BENCH_DIR_BYTES];
    int n = snprintf(dir, sizeof(dir), "%s/weir-bench-XXXXXX", parent);
    if (n < 0 || (size_t)n >= sizeof(dir)) {
        return tool_fail(err, WEIR_ERR_ARG, "%s: the path is too long", parent);
    }
    if (mkdtemp(dir) == NULL) {
        return tool_fail_errno(err, "a folder for files, %s", dir);
    }
    (void)snprintf(dir_out, BENCH_DIR_BYTES, "%s", dir);
    return WEIR_OK;
}

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

void bench_dir_remove(const char *dir)
{
    if (dir[0] != '\0') {
        (void)nftw(dir, remove_one, OPEN_FILES, FTW_DEPTH | FTW_PHYS);
    }
}

static double seconds_of(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

static void become(const char *const *argv, const char *out)
    __attribute__((noreturn));

static void become(const char *const *argv, const char *out)
{
    int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0) {
        (void)execv(argv[0], (char *const *)(uintptr_t)argv);
    }
    perror(fd < 0 ? out : argv[0]);
    _exit(NOT_STARTED);
}

weir_err bench_program(const char *const *argv, const char *out,
                       struct bench_usage *usage_out, struct weir_error *err)
{
    struct rusage usage = {.ru_maxrss = 0};
    int status = 0;
    const uint64_t begin_ns = wl_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        become(argv, out == NULL ? "/dev/null" : out);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
        return tool_fail_errno(err, "run %s", argv[0]);
    }
    if (status != 0) {
        return tool_fail(err, WEIR_ERR_SYSTEM, "%s %s failed", argv[0],
                         argv[1]);
    }
    if (usage_out != NULL) {
        *usage_out = (struct bench_usage){
            .seconds = (double)(wl_now_ns() - begin_ns) * 1e-9,
            .cpu_s = seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime),
            .peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024};
    }
    return WEIR_OK;
}

weir_err bench_generate(const char *dir, uint32_t warehouses,
                        struct bench_usage *usage_out, struct weir_error *err)
{
    char number[16];
    (void)snprintf(number, sizeof(number), "%" PRIu32, warehouses);
    const char *const argv[] = {"/proc/self/exe",
                                "gen",
                                "chbench",
                                "--warehouses",
                                number,
                                "--seed",
                                "1",
                                "-j",
                                "1",
                                "--force",
                                "--out",
                                dir,
                                NULL};
    return bench_program(argv, NULL, usage_out, err);
}
