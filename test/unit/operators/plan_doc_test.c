/* SPDX-License-Identifier: Apache-2.0 */
/* docs/plan.md: every plan in it is read, and every mistake gives the message
 * that stands below it. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/plan.h>

/* Blocks of the document: ```KIND\nTEXT``` */
struct doc {
    char *text;
    const char *at;
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
}

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
    return true;
}

/* The first document with a block's operators behind its own. */
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

static void expect(const char *json, const char *message)
{
    struct weir_error err = {.code = WEIR_OK};
    weir_plan *plan = NULL;
    weir_err rc = weir_plan_read(json, strlen(json), NULL, &plan, &err);
    if (message == NULL) {
        cr_expect_eq(rc, WEIR_OK, "%s\n%s", err.message, json);
        weir_plan_close(plan);
        return;
    }
    cr_expect_neq(rc, WEIR_OK, "should fail: %s", json);
    cr_expect_eq(err.code, rc);
    cr_expect_str_eq(err.message, message, "%s\n%s", err.message, json);
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
    cr_assert_geq(good, 12u);
    cr_assert_geq(bad, 20u);
    free(d.text);
}
