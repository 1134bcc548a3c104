/* SPDX-License-Identifier: Apache-2.0 */
/* Jansson does not keep where values are. The text is well-formed here, so a
 * walk over it only has to know brackets and strings. */
#include "operators/plan/json_where.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct text {
    const char *at;
    const char *end;
};

static bool more(const struct text *t)
{
    return t->at < t->end;
}

/* Spaces, commas and colons: what stands between values. */
static void skip_between(struct text *t)
{
    while (more(t) && strchr(" \t\r\n,:", *t->at) != NULL && *t->at != '\0') {
        t->at++;
    }
}

static void skip_string(struct text *t)
{
    for (t->at++; more(t) && *t->at != '"'; t->at++) {
        t->at += *t->at == '\\';
    }
    t->at++;
}

static void skip_value(struct text *t)
{
    uint32_t depth = 0;
    do {
        if (*t->at == '"') {
            skip_string(t);
        } else {
            depth += *t->at == '{' || *t->at == '[';
            depth -= depth > 0 && (*t->at == '}' || *t->at == ']');
            t->at++;
        }
    } while (more(t) && (depth > 0 || strchr(" \t\r\n,:}]", *t->at) == NULL));
}

/* Bytes of the path that this name matches, with the dot; 0: no match. */
static size_t takes(const char *path, const char *name, size_t n)
{
    return strncmp(path + 1, name, n) == 0 &&
                   strchr(".[: ", path[1 + n]) != NULL
               ? 1 + n
               : 0;
}

/* Move from a brace to the member that comes next in the path, the longest if
 * several match. Returns the bytes of the path that it matches. */
static size_t into_object(struct text *t, const char *path)
{
    struct text at = {t->at + 1, t->end};
    size_t most = 0;
    for (skip_between(&at); more(&at) && *at.at == '"'; skip_between(&at)) {
        const char *name = at.at + 1;
        skip_string(&at);
        const size_t taken = takes(path, name, (size_t)(at.at - name) - 1);
        skip_between(&at);
        if (taken > most) {
            most = taken;
            t->at = at.at;
        }
        skip_value(&at);
    }
    return most;
}

/* The same for an entry of an array. */
static size_t into_array(struct text *t, const char *path)
{
    char *end;
    struct text at = {t->at + 1, t->end};
    unsigned long left = strtoul(path + 1, &end, 10);
    skip_between(&at);
    for (; left > 0 && more(&at) && *at.at != ']'; left--) {
        skip_value(&at);
        skip_between(&at);
    }
    if (*end != ']' || !more(&at) || *at.at == ']') {
        return 0;
    }
    t->at = at.at;
    return (size_t)(end - path) + 1;
}

static size_t step(struct text *t, const char *path)
{
    if (!more(t)) {
        return 0;
    }
    return path[0] == '.' && *t->at == '{'   ? into_object(t, path)
           : path[0] == '[' && *t->at == '[' ? into_array(t, path)
                                             : 0;
}

struct wi_json_where wi_json_where(const char *json, size_t n_bytes,
                                   const char *path)
{
    struct text t = {json, json + n_bytes};
    struct wi_json_where where = {.line = 1, .column = 1};
    size_t taken = path[0] == '$';
    skip_between(&t);
    do {
        where.path_bytes += taken;
        taken = step(&t, path + where.path_bytes);
    } while (taken > 0);
    for (const char *c = json; c < t.at; c++) {
        where.line += *c == '\n';
        where.column = *c == '\n'                           ? 1
                       : ((unsigned char)*c & 0xc0) != 0x80 ? where.column + 1
                                                            : where.column;
    }
    return where;
}
