/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The command line of a command as a table that says where each value goes and
 * what is allowed, on top of argp:
 *
 *   static const struct option_row rows[] = {
 *       {"nodes", 'n', "N", "Processes [8]",
 *        OPTION_U32(struct args, nodes, 1, 256)},
 *       {NULL},
 *   };
 *   static const struct options options = {
 *       .rows = rows, .doc = "...", OPTION_OPERAND("FILE", struct args, file),
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
    OPTION_IS_WORD,    /* the same, one of `words` */
    OPTION_IS_U32,     /* min..max */
    OPTION_IS_U64,     /* min..max */
    OPTION_IS_BYTES,   /* uint64_t, 1 or more; K, M, G may follow */
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
    const char *const *words; /* ends with NULL */
    option_take_fn take;
};

#define OPTION_FLAG(type, member)                                              \
    .kind = OPTION_IS_FLAG, .at = offsetof(type, member)
#define OPTION_TEXT(type, member)                                              \
    .kind = OPTION_IS_TEXT, .at = offsetof(type, member)
#define OPTION_WORD(type, member, list)                                        \
    .kind = OPTION_IS_WORD, .at = offsetof(type, member), .words = (list)
#define OPTION_BYTES(type, member)                                             \
    .kind = OPTION_IS_BYTES, .at = offsetof(type, member)
#define OPTION_OWN(fn) .kind = OPTION_IS_OWN, .take = (fn)
#define OPTION_RANGE(is, type, member, least, most)                            \
    .kind = (is), .at = offsetof(type, member), .min = (least), .max = (most)
#define OPTION_U32(type, member, min, max)                                     \
    OPTION_RANGE(OPTION_IS_U32, type, member, min, max)
#define OPTION_U64(type, member, min, max)                                     \
    OPTION_RANGE(OPTION_IS_U64, type, member, min, max)
#define OPTION_SECONDS(type, member, min, max)                                 \
    OPTION_RANGE(OPTION_IS_SECONDS, type, member, min, max)

/** Most rows of a table. */
#define OPTION_MAX 31

/** Names of the transports between processes; whether this machine has them is
 *  found when the nodes open. */
extern const char *const option_transports[];

struct options {
    const struct option_row *rows;
    const char *doc;     /* of argp */
    const char *operand; /* what a command works on, given once; NULL: none */
    size_t operand_at;   /* const char *, borrowed from argv */
    const char *second;  /* another one that follows it; NULL: none */
    size_t second_at;
    /** After all values are in; refuses by argp_error. NULL: nothing to do. */
    void (*check)(struct argp_state *state, void *args);
};

#define OPTION_OPERAND(text, type, member)                                     \
    .operand = (text), .operand_at = offsetof(type, member)
#define OPTION_SECOND(text, type, member)                                      \
    .second = (text), .second_at = offsetof(type, member)

/** Place of `text` in `words`, which end with NULL; ends the program by
 *  argp_error if it is not there. Blocks: never. Threads: one. Ownership:
 *  nothing. */
uint32_t option_word(struct argp_state *state, const char *name,
                     const char *const *words, const char *text);

/** The same for the first of a list with commas; *list moves to the rest, and
 *  is NULL after the last. */
uint32_t option_next_word(struct argp_state *state, const char *name,
                          const char *const *words, const char **list);

/**
 * Parse a command line into `args`, which holds the defaults.
 *
 * Errors:     ends the program with argp's status and a message
 * Blocks:     never
 * Threads:    one
 * Ownership:  texts stay those of argv
 */
void options_parse(const struct options *options, int argc, char **argv,
                   void *args);

#endif /* WEIR_OPTIONS_H */
