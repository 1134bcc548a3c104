/* SPDX-License-Identifier: Apache-2.0 */
/** Kinds of runs of `weir bench`: what each takes, how it is called and
 *  printed. */
#ifndef WEIR_BENCH_KIND_H
#define WEIR_BENCH_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

#include "cli/options.h"

/** What the arguments of any kind begin with; results follow them. */
struct bench_common {
    bool json;
};

struct bench_kind {
    const char *name;
    const char *what; /* in a few words, doc: in a few lines */
    const char *doc;
    const struct option_row *options;
    size_t args_bytes;
    void (*init)(void *args); /* defaults that are not zero */
    weir_err (*run)(void *args, struct weir_error *err);
    void (*print)(const void *args);
    weir_err (*print_json)(const void *args, struct weir_error *err);
};

#define MOST_ROWS (UINT64_C(1) << 39)

/** Rows that several tables have. */
#define JSON_ROW(type)                                                         \
    {                                                                          \
        "json", 0, NULL, "Print one JSON object",                              \
            OPTION_FLAG(type, common.json)                                     \
    }
#define FRAME_ROW(type, member, doc)                                           \
    {                                                                          \
        "frame-bytes", 0, "B", doc, OPTION_U32(type, member, 1024, 1048576)    \
    }
#define RING_ROW(type, member, doc)                                            \
    {                                                                          \
        "ring-frames", 0, "F", doc, OPTION_U32(type, member, 2, 64)            \
    }
#define LISTEN_ROW(type, member)                                               \
    {                                                                          \
        "listen", 0, "IP", "Where nodes on tcp, verbs, auto listen",           \
            OPTION_TEXT(type, member)                                          \
    }
#define TRANSPORT_ROW(type, member, doc)                                       \
    {                                                                          \
        "transport", 't', "NAME", doc, OPTION_TEXT(type, member)               \
    }
#define ROWS_ROW(type, member, doc)                                            \
    {                                                                          \
        "rows", 'r', "R", doc, OPTION_U64(type, member, 1, MOST_ROWS)          \
    }

extern const struct bench_kind bench_gen;
extern const struct bench_kind bench_get;
extern const struct bench_kind bench_partition;
extern const struct bench_kind bench_query;
extern const struct bench_kind bench_scan; /* with libweir-scan */
extern const struct bench_kind bench_two_stage;

#endif /* WEIR_BENCH_KIND_H */
