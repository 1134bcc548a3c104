/* SPDX-License-Identifier: Apache-2.0 */
/** Files for benchmarks: the tables of the CH-benCHmark, by `weir gen`. */
#ifndef WEIR_BENCH_FILES_H
#define WEIR_BENCH_FILES_H

#include <stdint.h>
#include <sys/types.h>

#include <weir/error.h>

enum { BENCH_DIR_BYTES = 256 };

/** What a program that has ended used. */
struct bench_usage {
    double seconds; /* from its start to its end */
    double cpu_s;   /* of its threads, user and system */
    uint64_t peak_rss_bytes;
};

/** Make an empty folder of its own below `parent`. @param dir_out  its path
 *  Errors: WEIR_ERR_SYSTEM, WEIR_ERR_ARG (too long). Blocks: no. Threads: any.
 *  Ownership: bench_dir_remove. */
weir_err bench_dir_make(const char *parent, char dir_out[BENCH_DIR_BYTES],
                        struct weir_error *err);

/** Remove it and what it holds. An empty name is allowed. Errors: none. */
void bench_dir_remove(const char *dir);

/**
 * Run a program to its end; its standard output goes to a file.
 *
 * @param argv       as of execv; argv[0] is the file
 * @param out        [/dev/null]
 * @param usage_out  NULL is allowed
 *
 * Errors:     WEIR_ERR_SYSTEM: it could not start, or failed
 * Blocks:     until it has ended
 * Threads:    one
 * Ownership:  nothing
 */
weir_err bench_program(const char *const *argv, const char *out,
                       struct bench_usage *usage_out, struct weir_error *err);

/** `weir gen chbench --seed 1` with a thread, into a folder. As
 *  bench_program. */
weir_err bench_generate(const char *dir, uint32_t warehouses,
                        struct bench_usage *usage_out, struct weir_error *err);

#endif /* WEIR_BENCH_FILES_H */
