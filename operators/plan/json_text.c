/* SPDX-License-Identifier: Apache-2.0 */
/* Jansson's messages are those of a parser; here they are made for people. */
#include "operators/plan/json_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/plan/json_where.h"
#include "operators/plan/node.h"

/* UTF-8 may begin with a byte order mark. UTF-16 is known by its own mark, or
 * by a 0 in the first two bytes, as a plan begins with ASCII. */
static weir_err take_text(struct wi_json_text *doc, struct weir_error *err)
{
    static const char mark[] = {'\xef', '\xbb', '\xbf'};
    const char *text = doc->at;
    if (doc->n_bytes >= sizeof(mark) && memcmp(text, mark, sizeof(mark)) == 0) {
        doc->at += sizeof(mark);
        doc->n_bytes -= sizeof(mark);
    }
    if (doc->n_bytes >= 2 && (text[0] == '\0' || text[1] == '\0' ||
                              memcmp(text, "\xff\xfe", 2) == 0 ||
                              memcmp(text, "\xfe\xff", 2) == 0)) {
        return wi_exec_fail(err, WEIR_ERR_DATA,
                            "a plan in UTF-8 was expected, this is UTF-16 or "
                            "no text: convert it (iconv -t UTF-8)");
    }
    return WEIR_OK;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The last character before a place that is no space; 0: none. */
static char before(const struct wi_json_text *doc, int place)
{
    size_t i = place < 0 ? 0 : (size_t)place;
    i = i < doc->n_bytes ? i : doc->n_bytes;
    while (i > 0 && strchr(" \t\r\n", doc->at[i - 1]) != NULL) {
        i--;
    }
    return i == 0 ? '\0' : doc->at[i - 1];
}

/* What Jansson does not say: the likely mistake. */
static const char *hint(const struct wi_json_text *doc, const json_error_t *at,
                        const char *near)
{
    if (begins(near, " near '/") || begins(near, " near '#")) {
        return "; JSON has no comments";
    }
    if (begins(near, " near '\''")) {
        return "; names and texts stand in \"\"";
    }
    return near[0] != '\0' && before(doc, at->position - 1) == ','
               ? "; no ',' follows the last one"
               : "";
}

/* Jansson's own words stay where they help. */
static weir_err fail_parse(const struct wi_json_text *doc,
                           const json_error_t *at, struct weir_error *err)
{
    const weir_err code = json_error_code(at) == json_error_duplicate_key
                              ? WEIR_ERR_DUPLICATE
                              : WEIR_ERR_DATA;
    const char *found = strstr(at->text, " near ");
    const char *near = found == NULL ? "" : found;
    const bool in_list =
        begins(at->text, "'}' expected") || begins(at->text, "']' expected");
    switch (json_error_code(at)) {
    case json_error_null_character:
        return wi_exec_fail(err, code,
                            "line %d, column %d: the character \\u0000, which "
                            "texts of a plan cannot have",
                            at->line, at->column);
    case json_error_invalid_utf8:
        return wi_exec_fail(err, code,
                            "line %d, column %d: not UTF-8: convert the plan "
                            "(iconv -t UTF-8)",
                            at->line, at->column);
    default:
        return wi_exec_fail(err, code, "line %d, column %d: %s%s%s", at->line,
                            at->column, in_list ? "',' or " : "", at->text,
                            hint(doc, at, near));
    }
}

weir_err wi_json_parse(struct wi_json_text *doc, json_t **root_out,
                       struct weir_error *err)
{
    json_error_t at;
    weir_err rc = take_text(doc, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    json_t *root =
        json_loadb(doc->at, doc->n_bytes, JSON_REJECT_DUPLICATES, &at);
    if (root != NULL) {
        *root_out = root;
        return WEIR_OK;
    }
    return before(doc, (int)doc->n_bytes) == '\0'
               ? wi_exec_fail(err, WEIR_ERR_DATA, "the plan is empty")
               : fail_parse(doc, &at, err);
}

void wi_json_add_place(const struct wi_json_text *doc, const json_t *root,
                       struct weir_error *err)
{
    uint32_t idx;
    char text[WEIR_ERROR_MESSAGE_BYTES];
    char of[WI_PLAN_NAME_BYTES + 8] = "";
    if (err->message[0] != '$') {
        return;
    }
    (void)snprintf(text, sizeof(text), "%s", err->message);
    const struct wi_json_where where =
        wi_json_where(doc->at, doc->n_bytes, text);
    const char *rest = strstr(text + where.path_bytes, ": ");
    rest = rest == NULL ? text + strlen(text) : rest;
    if (sscanf(text, "$.operators[%" SCNu32 "]", &idx) == 1) {
        const char *name = json_string_value(json_object_get(
            json_array_get(json_object_get(root, "operators"), idx), "name"));
        if (name != NULL && name[0] != '\0') {
            (void)snprintf(of, sizeof(of), " of \"%.63s\"", name);
        }
    }
    (void)wi_exec_fail(
        err, err->code, "line %" PRIu32 ", column %" PRIu32 ": %.*s%s%s",
        where.line, where.column, (int)(rest - text), text, of, rest);
}
