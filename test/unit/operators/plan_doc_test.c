/* SPDX-License-Identifier: Apache-2.0 */
/* docs/plan.md: every plan in it is read, and every mistake gives the code and
 * the message written below it. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chbench/chbench.h"

/* Blocks of the document: ```KIND\nTEXT```. Those of kind "csv FILE" become
 * files in the folder that the test works in. */
struct doc {
    char *text;
    const char *at;
    char dir[64];
    char kind[64];
    char block[1 << 14];
};

static void open_doc(struct doc *d)
{
    FILE *from = fopen(WEIR_SOURCE_DIR "/docs/plan.md", "re");
    size_t n = 0;
    cr_assert_not_null(from);
    cr_assert_gt(getdelim(&d->text, &n, '\0', from), 0);
    (void)fclose(from);
    d->at = d->text;
    (void)snprintf(d->dir, sizeof(d->dir), "/tmp/weir-plan-doc-XXXXXX");
    cr_assert_not_null(mkdtemp(d->dir));
    cr_assert_eq(chdir(d->dir), 0);
}

static void leave_file(const struct doc *d, const char *name)
{
    FILE *to = fopen(name, "we");
    cr_assert_not_null(to);
    cr_assert_gt(fprintf(to, "%s\n", d->block), 0);
    cr_assert_eq(fclose(to), 0);
}

/* The next block that is not a file. */
static bool next_block(struct doc *d)
{
    const char *begin = strstr(d->at, "\n```");
    if (begin == NULL) {
        return false;
    }
    const char *line = strchr(begin + 4, '\n');
    const char *end = strstr(line, "\n```");
    cr_assert_not_null(end);
    (void)snprintf(d->kind, sizeof(d->kind), "%.*s", (int)(line - begin - 4),
                   begin + 4);
    cr_assert_lt((size_t)(end - line), sizeof(d->block));
    (void)snprintf(d->block, sizeof(d->block), "%.*s", (int)(end - line - 1),
                   line + 1);
    d->at = end + 4;
    if (strncmp(d->kind, "csv ", 4) == 0) {
        leave_file(d, d->kind + 4);
        return next_block(d);
    }
    return true;
}

static void close_doc(struct doc *d)
{
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -r %s", d->dir);
    cr_assert_eq(system(command), 0);
    free(d->text);
}

/* The first document with a block's operators after its own. */
static char *framed(const char *frame, const char *operators)
{
    json_error_t err;
    json_t *root = json_loads(frame, 0, &err);
    json_t *more = json_loads(operators, 0, &err);
    cr_assert_not_null(root);
    cr_assert_not_null(more, "line %d: %s\n%s", err.line, err.text, operators);
    const json_t *last = json_array_get(more, json_array_size(more) - 1);
    json_t *name = json_object_get(last, "name");
    cr_assert_eq(json_object_set(root, "result", name), 0);
    cr_assert_eq(json_array_extend(json_object_get(root, "operators"), more),
                 0);
    char *text = json_dumps(root, 0);
    json_decref(root);
    json_decref(more);
    return text;
}

static const char *code_name(weir_err code)
{
#define CODE_NAME(name, value, text)                                           \
    if (code == name) {                                                        \
        return #name;                                                          \
    }
    WEIR_ERROR_CODES(CODE_NAME)
#undef CODE_NAME
    return "no code";
}

/* A path has its line and column in front, which the document leaves out. */
static const char *without_place(const char *message)
{
    const char *path = strstr(message, ": $");
    unsigned line;
    unsigned column;
    return path != NULL &&
                   sscanf(message, "line %u, column %u: $", &line, &column) == 2
               ? path + 2
               : message;
}

/* @param failure  the name of the code, a line end, the message; NULL: none */
static void expect(const char *json, const char *failure)
{
    char got[sizeof(struct weir_error) + 64];
    struct weir_error err = {.code = WEIR_OK};
    weir_plan *plan = NULL;
    weir_err rc = weir_plan_read(json, strlen(json), &ch_params, &plan, &err);
    weir_plan_close(plan);
    if (failure == NULL) {
        cr_expect_eq(rc, WEIR_OK, "%s\n%s", err.message, json);
        return;
    }
    cr_expect_neq(rc, WEIR_OK, "should fail: %s", json);
    cr_expect_eq(err.code, rc);
    (void)snprintf(got, sizeof(got), "%s\n%s", code_name(rc),
                   without_place(err.message));
    cr_expect_str_eq(got, failure, "%s\n%s", got, json);
}

Test(plan_doc, every_example_is_read_and_every_mistake_says_what_it_should)
{
    struct doc d = {0};
    char frame[sizeof(d.block)] = "";
    uint32_t good = 0;
    uint32_t bad = 0;
    open_doc(&d);
    while (next_block(&d)) {
        char *json;
        const bool fails = strstr(d.kind, "fails") != NULL;
        if (strncmp(d.kind, "json", 4) != 0) {
            continue;
        }
        if (strcmp(d.kind, "json frame") == 0) {
            memcpy(frame, d.block, sizeof(frame));
        }
        json = strncmp(d.kind, "json operators", 14) == 0
                   ? framed(frame, d.block)
                   : strdup(d.block);
        if (fails) {
            cr_assert(next_block(&d) && strcmp(d.kind, "text") == 0,
                      "no message below %s", json);
        }
        expect(json, fails ? d.block : NULL);
        good += !fails;
        bad += fails;
        free(json);
    }
    cr_assert_geq(good, 18u);
    cr_assert_geq(bad, 65u);
    close_doc(&d);
}

/* ---- documents with something wrong in them ------------------------------ */

enum { MUTATIONS = 40, NODES = 4096 };

/* A value of a document: member `key` of an object, or entry idx of an array.
 */
struct spot {
    json_t *in;
    const char *key;
    size_t idx;
};

static struct spot spots[NODES];
static size_t n_spots;

static void find_spots(json_t *at)
{
    const char *key;
    json_t *value;
    size_t idx;
    json_object_foreach(at, key, value)
    {
        cr_assert_lt(n_spots, NODES);
        spots[n_spots++] = (struct spot){.in = at, .key = key};
        find_spots(value);
    }
    json_array_foreach(at, idx, value)
    {
        cr_assert_lt(n_spots, NODES);
        spots[n_spots++] = (struct spot){.in = at, .idx = idx};
        find_spots(value);
    }
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u; /* Numerical Recipes, 7.1 */
    return *state >> 8;
}

static json_t *odd_value(uint32_t *state)
{
    static const char *const odd[] = {
        "null", "-1", "1.5",   "\"\"", "\"s\"",         "\"id\"",
        "[]",   "{}", "[[1]]", "true", "9000000000000", "\"sum(id)\"",
    };
    const size_t n = sizeof(odd) / sizeof(odd[0]);
    return json_loads(odd[next_random(state) % n], JSON_DECODE_ANY, NULL);
}

static void mutate(json_t *root, uint32_t *state)
{
    n_spots = 0;
    find_spots(root);
    const struct spot *s = &spots[next_random(state) % n_spots];
    const bool drop = next_random(state) % 3 == 0;
    if (s->key != NULL) {
        drop ? json_object_del(s->in, s->key)
             : json_object_set_new(s->in, s->key, odd_value(state));
    } else {
        drop ? json_array_remove(s->in, s->idx)
             : json_array_set_new(s->in, s->idx, odd_value(state));
    }
}

/* Read, or refused with a message that begins with a path. */
static void expect_path(const char *json, uint32_t seed)
{
    struct weir_error err = {.code = WEIR_OK};
    weir_plan *plan = NULL;
    weir_err rc = weir_plan_read(json, strlen(json), &ch_params, &plan, &err);
    if (rc == WEIR_OK) {
        weir_plan_close(plan);
        return;
    }
    cr_assert_eq(rc, err.code);
    cr_assert_eq(without_place(err.message)[0], '$', "seed %u: %s\n%s", seed,
                 err.message, json);
}

Test(plan_doc, every_mistake_names_a_path)
{
    struct doc d = {0};
    char frame[sizeof(d.block)] = "";
    open_doc(&d);
    while (next_block(&d)) {
        if (strncmp(d.kind, "json", 4) != 0 || strstr(d.kind, "fails")) {
            continue;
        }
        if (strcmp(d.kind, "json frame") == 0) {
            memcpy(frame, d.block, sizeof(frame));
        }
        char *text = strcmp(d.kind, "json operators") == 0
                         ? framed(frame, d.block)
                         : strdup(d.block);
        for (uint32_t seed = 1; seed <= MUTATIONS; seed++) {
            uint32_t state = seed;
            json_t *root = json_loads(text, 0, NULL);
            mutate(root, &state);
            char *json = json_dumps(root, 0);
            expect_path(json, seed);
            free(json);
            json_decref(root);
        }
        free(text);
    }
    close_doc(&d);
}
