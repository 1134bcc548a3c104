/* SPDX-License-Identifier: Apache-2.0 */
/* Typed access to JSON, with messages that say where. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/base/neutral.h"
#include "operators/base/value_text.h"
#include "operators/plan/draft.h"
#include "operators/plan/json.h"

/* ---- path and messages --------------------------------------------------- */

size_t wi_json_enter(struct wi_json *j, const char *fmt, ...)
{
    const size_t length = strlen(j->path);
    va_list args;
    va_start(args, fmt);
    (void)wi_neutral_vformat(j->path + length, sizeof(j->path) - length, fmt,
                             args);
    va_end(args);
    return length;
}

void wi_json_leave(struct wi_json *j, size_t length)
{
    j->path[length] = '\0';
}

weir_err wi_json_fail_in(struct wi_json *j, weir_err code)
{
    if (j->err != NULL && code != WEIR_ERR_NO_MEMORY) {
        char text[WEIR_ERROR_MESSAGE_BYTES];
        (void)snprintf(text, sizeof(text), "%s", j->err->message);
        (void)wi_exec_fail(j->err, code, "%s: %s", j->path, text);
    }
    return code;
}

weir_err wi_json_fail(struct wi_json *j, weir_err code, const char *fmt, ...)
{
    char text[WEIR_ERROR_MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    (void)wi_neutral_vformat(text, sizeof(text), fmt, args);
    va_end(args);
    (void)wi_exec_fail(j->err, code, "%s", text);
    return wi_json_fail_in(j, code);
}

#define FOUND_BYTES 80

/* With a point or an exponent, as it is no integer. */
static const char *real_text(double v, char text[FOUND_BYTES])
{
    const uint32_t n = wi_float_text(v, false, text);
    if (strpbrk(text, ".e") == NULL) {
        memcpy(text + n, ".0", 3);
    }
    return text;
}

static const char *found_text(const json_t *found, char text[FOUND_BYTES])
{
    switch (json_typeof(found)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        return "null";
    case JSON_INTEGER:
        (void)snprintf(text, FOUND_BYTES, "%" JSON_INTEGER_FORMAT,
                       json_integer_value(found));
        return text;
    case JSON_REAL:
        return real_text(json_real_value(found), text);
    default:
        (void)snprintf(text, FOUND_BYTES, "\"%.60s\"",
                       json_string_value(found));
        return text;
    }
}

weir_err wi_json_fail_type(struct wi_json *j, const char *expected,
                           const json_t *found)
{
    char text[FOUND_BYTES];
    return wi_json_fail(j, WEIR_ERR_DATA, "%s was expected, found %s", expected,
                        found_text(found, text));
}

weir_err wi_json_missing(struct wi_json *j, const char *what, const char *name)
{
    return wi_json_fail(j, WEIR_ERR_DATA, "%s needs \"%s\"", what, name);
}

static uint32_t count(const char *const *words)
{
    uint32_t n = 0;
    while (words[n] != NULL) {
        n++;
    }
    return n;
}

static bool has(const char *const *words, const char *word, uint32_t *idx_out)
{
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            *idx_out = i;
            return true;
        }
    }
    return false;
}

weir_err wi_json_check(struct wi_json *j, const json_t *at, const char *what,
                       const char *const *fields)
{
    char list[WI_DRAFT_LIST_BYTES];
    const char *name;
    json_t *value;
    uint32_t idx;
    if (!json_is_object(at)) {
        return wi_json_fail_type(j, "an object", at);
    }
    json_object_foreach((json_t *)(uintptr_t)at, name, value)
    {
        if (!has(fields, name, &idx)) {
            return wi_json_fail(j, WEIR_ERR_DATA,
                                "unknown field \"%s\"; %s has %s", name, what,
                                wi_draft_list(fields, count(fields), list));
        }
    }
    return WEIR_OK;
}

/* ---- getters ------------------------------------------------------------- */

static weir_err fail_field(struct wi_json *j, const char *name,
                           const char *expected, const json_t *found)
{
    const size_t length = wi_json_enter(j, ".%s", name);
    weir_err rc = wi_json_fail_type(j, expected, found);
    wi_json_leave(j, length);
    return rc;
}

weir_err wi_json_text(struct wi_json *j, const json_t *object, const char *name,
                      const char **out)
{
    const json_t *value = json_object_get(object, name);
    if (value == NULL) {
        return WEIR_OK;
    }
    if (!json_is_string(value)) {
        return fail_field(j, name, "a string", value);
    }
    *out = json_string_value(value);
    return WEIR_OK;
}

weir_err wi_json_i64(struct wi_json *j, const json_t *object, const char *name,
                     int64_t *out)
{
    const json_t *value = json_object_get(object, name);
    if (value == NULL) {
        return WEIR_OK;
    }
    if (!json_is_integer(value)) {
        return fail_field(j, name, "an integer", value);
    }
    *out = json_integer_value(value);
    return WEIR_OK;
}

weir_err wi_json_u64(struct wi_json *j, const json_t *object, const char *name,
                     uint64_t *out)
{
    const json_t *value = json_object_get(object, name);
    if (value == NULL) {
        return WEIR_OK;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        return fail_field(j, name, "an integer, 0 or greater,", value);
    }
    *out = (uint64_t)json_integer_value(value);
    return WEIR_OK;
}

weir_err wi_json_array(struct wi_json *j, const json_t *object,
                       const char *name, const json_t **out)
{
    const json_t *value = json_object_get(object, name);
    if (value == NULL) {
        return WEIR_OK;
    }
    if (!json_is_array(value)) {
        return fail_field(j, name, "an array", value);
    }
    *out = value;
    return WEIR_OK;
}

weir_err wi_json_word(struct wi_json *j, const json_t *object, const char *name,
                      const char *const *words, uint32_t *out)
{
    char list[WI_DRAFT_LIST_BYTES];
    char expected[WI_DRAFT_LIST_BYTES + 32];
    const json_t *value = json_object_get(object, name);
    if (value == NULL ||
        (json_is_string(value) && has(words, json_string_value(value), out))) {
        return WEIR_OK;
    }
    (void)snprintf(expected, sizeof(expected), "one of %s",
                   wi_draft_list(words, count(words), list));
    return fail_field(j, name, expected, value);
}

static weir_err fill_texts(struct wi_json *j, const json_t *array,
                           const char *name, struct wi_json_texts *out)
{
    const size_t n = json_array_size(array);
    out->at = calloc(n + 1, sizeof(*out->at));
    if (out->at == NULL) {
        return wi_exec_no_memory(j->err, n * sizeof(*out->at));
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_string(value)) {
            const size_t length = wi_json_enter(j, ".%s[%zu]", name, i);
            weir_err rc = wi_json_fail_type(j, "a string", value);
            wi_json_leave(j, length);
            return rc;
        }
        out->at[out->n++] = json_string_value(value);
    }
    return WEIR_OK;
}

weir_err wi_json_texts(struct wi_json *j, const json_t *object,
                       const char *name, struct wi_json_texts *out)
{
    const json_t *array = NULL;
    weir_err rc = wi_json_array(j, object, name, &array);
    return rc == WEIR_OK && array != NULL ? fill_texts(j, array, name, out)
                                          : rc;
}

weir_err wi_json_need(struct wi_json *j, const json_t *object, const char *what,
                      const char *const *fields)
{
    for (uint32_t i = 0; fields[i] != NULL; i++) {
        if (json_object_get(object, fields[i]) == NULL) {
            return wi_json_missing(j, what, fields[i]);
        }
    }
    return WEIR_OK;
}

weir_err wi_json_scalar(struct wi_json *j, const json_t *value,
                        char text[WI_JSON_SCALAR_BYTES], const char **out)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        *out = json_string_value(value);
        return WEIR_OK;
    case JSON_INTEGER:
        (void)snprintf(text, WI_JSON_SCALAR_BYTES, "%" JSON_INTEGER_FORMAT,
                       json_integer_value(value));
        *out = text;
        return WEIR_OK;
    case JSON_TRUE:
        *out = "true";
        return WEIR_OK;
    case JSON_FALSE:
        *out = "false";
        return WEIR_OK;
    case JSON_NULL:
        *out = NULL;
        return WEIR_OK;
    case JSON_REAL:
        return wi_json_fail_type(j,
                                 "a string (numbers with a point are "
                                 "written \"1.50\", so that nothing rounds "
                                 "them)",
                                 value);
    default:
        return wi_json_fail_type(j, "a string, an integer, true, false or null",
                                 value);
    }
}
