/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "tools/options.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_0 = 256 }; /* of options without a letter, by their row */

struct parse {
    const struct option_row *rows;
    char *args;
};

static int key_of(const struct option_row *rows, size_t i)
{
    return rows[i].letter != 0 ? rows[i].letter : KEY_0 + (int)i;
}

uint64_t option_number(struct argp_state *state, const struct option_row *row,
                       const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || text[0] < '0' || text[0] > '9' ||
        v < row->min || v > row->max) {
        argp_error(state, "--%s is \"%s\"; must be a number, %llu..%llu",
                   row->name, text, (unsigned long long)row->min,
                   (unsigned long long)row->max);
    }
    return v;
}

uint64_t option_bytes(struct argp_state *state, const char *name,
                      const char *text)
{
    static const char units[] = "KMG";
    char *end = NULL;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    const char *unit = *end == '\0' ? NULL : strchr(units, *end);
    unsigned int shift =
        unit == NULL ? 0 : 10 * (unsigned int)(unit - units + 1);
    if (errno != 0 || text[0] < '0' || text[0] > '9' || v == 0 ||
        (*end != '\0' && (unit == NULL || end[1] != '\0')) ||
        v > UINT64_MAX >> 1 >> shift) {
        argp_error(state,
                   "--%s is \"%s\"; must be a number of bytes, or one with "
                   "K, M or G",
                   name, text);
    }
    return (uint64_t)v << shift;
}

static void take(const struct option_row *row, struct argp_state *state,
                 char *args, const char *text)
{
    void *at = args + row->at;
    switch (row->kind) {
    case OPTION_IS_FLAG:
        *(bool *)at = true;
        break;
    case OPTION_IS_TEXT:
        *(const char **)at = text;
        break;
    case OPTION_IS_U32:
        *(uint32_t *)at = (uint32_t)option_number(state, row, text);
        break;
    case OPTION_IS_U64:
        *(uint64_t *)at = option_number(state, row, text);
        break;
    case OPTION_IS_SECONDS:
        *(uint64_t *)at = option_number(state, row, text) * 1000000000u;
        break;
    case OPTION_IS_OWN:
        row->take(state, args, text);
    }
}

static error_t parse_one(int key, char *text, struct argp_state *state)
{
    const struct parse *p = state->input;
    if (key == ARGP_KEY_ARG) {
        argp_error(state, "unexpected argument \"%s\"", text);
    }
    for (size_t i = 0; p->rows[i].name != NULL; i++) {
        if (key_of(p->rows, i) == key) {
            take(&p->rows[i], state, p->args, text);
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

void options_parse(const struct option_row *rows, const char *doc, int argc,
                   char **argv, void *args)
{
    struct argp_option options[OPTION_MAX + 1] = {{.name = NULL}};
    const struct argp argp = {
        .options = options, .parser = parse_one, .doc = doc};
    struct parse parse = {.rows = rows, .args = args};
    for (size_t i = 0; rows[i].name != NULL; i++) {
        assert(i < OPTION_MAX);
        options[i] = (struct argp_option){.name = rows[i].name,
                                          .key = key_of(rows, i),
                                          .arg = rows[i].value,
                                          .doc = rows[i].doc};
    }
    /* It ends the program itself if there is something wrong. */
    (void)argp_parse(&argp, argc, argv, 0, NULL, &parse);
}
