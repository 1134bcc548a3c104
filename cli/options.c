/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_0 = 256, /* and up: keys of options without a letter */
    OPERANDS_BYTES = 64,
};

const char *const option_transports[] = {"shm", "tcp", "verbs", "auto", NULL};

struct parse {
    const struct options *options;
    char *args;
};

static int key_of(const struct option_row *rows, size_t i)
{
    return rows[i].letter != 0 ? rows[i].letter : KEY_0 + (int)i;
}

static uint64_t number(struct argp_state *state, const struct option_row *row,
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

static uint64_t bytes(struct argp_state *state, const char *name,
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

static uint32_t find(struct argp_state *state, const char *name,
                     const char *const *words, const char *text, size_t len)
{
    char known[128] = "";
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strlen(words[i]) == len && memcmp(words[i], text, len) == 0) {
            return i;
        }
        (void)snprintf(known + strlen(known), sizeof(known) - strlen(known),
                       "%s%s", i == 0 ? "" : ", ", words[i]);
    }
    /* The library has a transport that is no option: say why. */
    const bool sim = words == option_transports && strcmp(text, "sim") == 0;
    argp_error(state, "--%s: \"%.*s\" must be one of %s%s", name, (int)len,
               text, known,
               sim ? "; the simulator runs inside of a program that embeds "
                     "the library (weir/sim.h)"
                   : "");
    return 0;
}

uint32_t option_word(struct argp_state *state, const char *name,
                     const char *const *words, const char *text)
{
    return find(state, name, words, text, strlen(text));
}

uint32_t option_next_word(struct argp_state *state, const char *name,
                          const char *const *words, const char **list)
{
    const char *text = *list;
    const size_t len = strcspn(text, ",");
    *list = text[len] == ',' ? text + len + 1 : NULL;
    return find(state, name, words, text, len);
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
    case OPTION_IS_WORD:
        *(const char **)at =
            row->words[option_word(state, row->name, row->words, text)];
        break;
    case OPTION_IS_U32:
        *(uint32_t *)at = (uint32_t)number(state, row, text);
        break;
    case OPTION_IS_U64:
        *(uint64_t *)at = number(state, row, text);
        break;
    case OPTION_IS_BYTES:
        *(uint64_t *)at = bytes(state, row->name, text);
        break;
    case OPTION_IS_SECONDS:
        *(uint64_t *)at = number(state, row, text) * 1000000000u;
        break;
    case OPTION_IS_OWN:
        row->take(state, args, text);
    }
}

static const char **value_at(const struct parse *p, size_t at)
{
    return (const char **)(void *)(p->args + at);
}

static void take_operand(const struct parse *p, struct argp_state *state,
                         const char *text)
{
    const struct options *o = p->options;
    if (o->operand == NULL) {
        argp_error(state, "unexpected argument \"%s\"", text);
        return;
    }
    const char **at = value_at(p, o->operand_at);
    const char *what = o->operand;
    if (*at != NULL && o->second != NULL) {
        at = value_at(p, o->second_at);
        what = o->second;
    }
    if (*at != NULL) {
        argp_error(state, "one %s only; \"%s\" is a second", what, text);
    }
    *at = text;
}

static void check_all(const struct parse *p, struct argp_state *state)
{
    const struct options *o = p->options;
    if (o->operand != NULL && *value_at(p, o->operand_at) == NULL) {
        argp_error(state, "no %s given", o->operand);
    }
    if (o->second != NULL && *value_at(p, o->second_at) == NULL) {
        argp_error(state, "no %s given", o->second);
    }
    if (o->check != NULL) {
        o->check(state, p->args);
    }
}

static error_t parse_one(int key, char *text, struct argp_state *state)
{
    const struct parse *p = state->input;
    const struct option_row *rows = p->options->rows;
    if (key == ARGP_KEY_ARG) {
        take_operand(p, state, text);
        return 0;
    }
    if (key == ARGP_KEY_END) {
        check_all(p, state);
        return 0;
    }
    for (size_t i = 0; rows[i].name != NULL; i++) {
        if (key_of(rows, i) == key) {
            take(&rows[i], state, p->args, text);
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

void options_parse(const struct options *o, int argc, char **argv, void *args)
{
    char operands[OPERANDS_BYTES];
    struct argp_option options[OPTION_MAX + 1] = {{.name = NULL}};
    const struct argp argp = {.options = options,
                              .parser = parse_one,
                              .args_doc = o->operand == NULL ? NULL : operands,
                              .doc = o->doc};
    struct parse parse = {.options = o, .args = args};
    (void)snprintf(operands, sizeof(operands), "%s %s",
                   o->operand != NULL ? o->operand : "",
                   o->second != NULL ? o->second : "");
    for (size_t i = 0; o->rows[i].name != NULL; i++) {
        assert(i < OPTION_MAX);
        options[i] = (struct argp_option){.name = o->rows[i].name,
                                          .key = key_of(o->rows, i),
                                          .arg = o->rows[i].value,
                                          .doc = o->rows[i].doc};
    }
    /* It ends the program itself if there is something wrong. */
    (void)argp_parse(&argp, argc, argv, 0, NULL, &parse);
}
