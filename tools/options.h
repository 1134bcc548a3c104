/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Options of a command as a table that says where each value goes and what is
 * allowed, on top of argp:
 *
 *   static const struct option_row rows[] = {
 *       {"nodes", 'n', "N", "Processes [8]",
 *        OPTION_U32(struct args, nodes, 1, 256)},
 *       {NULL},
 *   };
 */
#ifndef WEIR_OPTIONS_H
#define WEIR_OPTIONS_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_IS_FLAG,    /* bool, set to true; takes no value */
    OPTION_IS_TEXT,    /* const char *, borrowed from argv */
    OPTION_IS_U32,     /* min..max */
    OPTION_IS_U64,     /* min..max */
    OPTION_IS_SECONDS, /* min..max, kept as uint64_t in nanoseconds */
    OPTION_IS_OWN,     /* `take` does it */
};

/** Refuses by argp_error. */
typedef void (*option_take_fn)(struct argp_state *state, void *args,
                               const char *text);

struct option_row {
    const char *name;  /* NULL: end of the table */
    int letter;        /* 0: none */
    const char *value; /* NULL: takes none */
    const char *doc;
    enum option_kind kind;
    size_t at; /* of the value in the arguments */
    uint64_t min;
    uint64_t max;
    option_take_fn take;
};

#define OPTION_FLAG(type, member)                                              \
    OPTION_IS_FLAG, offsetof(type, member), 0, 0, 0
#define OPTION_TEXT(type, member)                                              \
    OPTION_IS_TEXT, offsetof(type, member), 0, 0, 0
#define OPTION_U32(type, member, min, max)                                     \
    OPTION_IS_U32, offsetof(type, member), min, max, 0
#define OPTION_U64(type, member, min, max)                                     \
    OPTION_IS_U64, offsetof(type, member), min, max, 0
#define OPTION_SECONDS(type, member, min, max)                                 \
    OPTION_IS_SECONDS, offsetof(type, member), min, max, 0
#define OPTION_OWN(fn) OPTION_IS_OWN, 0, 0, 0, fn

/** Most rows of a table. */
#define OPTION_MAX 31

/** The number in `text`, min..max of the row; ends the program by argp_error if
 *  it is none. Blocks: never. Threads: one. Ownership: nothing. */
uint64_t option_number(struct argp_state *state, const struct option_row *row,
                       const char *text);

/** The number of bytes in `text`, 1 or more, with K, M or G behind it for 2^10,
 *  2^20, 2^30; ends the program by argp_error if it is none. Blocks: never.
 *  Threads: one. Ownership: nothing. */
uint64_t option_bytes(struct argp_state *state, const char *name,
                      const char *text);

/**
 * Parse a command line into `args`, which holds the defaults.
 *
 * Errors:     ends the program with argp's status and a message
 * Blocks:     never
 * Threads:    one
 * Ownership:  texts stay those of argv
 */
void options_parse(const struct option_row *rows, const char *doc, int argc,
                   char **argv, void *args);

#endif /* WEIR_OPTIONS_H */
