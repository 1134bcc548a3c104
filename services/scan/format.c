/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats. nanoarrow reads numbers with strtol and cuts them to 32 bits, so
 * "w:4294967300" is 4 bytes to it, and another length to the program that gets
 * the batch. Numbers are therefore looked at first: digits alone, few of them.
 *
 * Source: Apache Arrow, "The Arrow C data interface", format strings.
 */
#include "services/scan/format.h"

#include <stdbool.h>
#include <string.h>

#include "services/scan/fail.h"
#include "services/scan/schema_bytes.h"

enum { DIGITS_MAX = 9, TYPE_IDS_MAX = 128, FORMAT_MAX = 4096 };

/* A number of 1 to 9 digits, without sign, and without a zero before others;
 * -1: none. *at goes on behind it. */
static int64_t take_number(const char **at)
{
    const char *c = *at;
    int64_t n = 0;
    int digits = 0;
    while (*c >= '0' && *c <= '9' && digits < DIGITS_MAX) {
        n = n * 10 + (*c++ - '0');
        digits++;
    }
    if (digits == 0 || (digits > 1 && **at == '0') ||
        (*c >= '0' && *c <= '9')) {
        return -1;
    }
    *at = c;
    return n;
}

static bool number_alone(const char *at)
{
    return take_number(&at) >= 0 && *at == '\0';
}

/* precision,scale[,bits]; a scale may be negative. */
static bool decimal_ok(const char *at)
{
    if (take_number(&at) < 1 || *at++ != ',') {
        return false;
    }
    at += *at == '-';
    if (take_number(&at) < 0) {
        return false;
    }
    if (*at == ',') {
        at++;
        int64_t bits = take_number(&at);
        if (bits != 32 && bits != 64 && bits != 128 && bits != 256) {
            return false;
        }
    }
    return *at == '\0';
}

/* As many type ids as children, each once, 0 .. 127. */
static bool union_ok(const char *ids, int64_t n_children)
{
    bool seen[TYPE_IDS_MAX] = {false};
    int64_t n = 0;
    while (*ids != '\0') {
        if (n > 0 && *ids++ != ',') {
            return false;
        }
        int64_t id = take_number(&ids);
        if (id < 0 || id >= TYPE_IDS_MAX || seen[id]) {
            return false;
        }
        seen[id] = true;
        n++;
    }
    return n == n_children;
}

static bool starts(const char *format, const char *with)
{
    return strncmp(format, with, strlen(with)) == 0;
}

static bool runs_ok(const struct ArrowSchema *s)
{
    const struct ArrowSchema *ends = s->n_children == 2 ? s->children[0] : NULL;
    return ends != NULL && ends->dictionary == NULL &&
           (strcmp(ends->format, "s") == 0 || strcmp(ends->format, "i") == 0 ||
            strcmp(ends->format, "l") == 0);
}

static bool map_ok(const struct ArrowSchema *s)
{
    return s->n_children == 1 && strcmp(s->children[0]->format, "+s") == 0 &&
           s->children[0]->n_children == 2 &&
           s->children[0]->dictionary == NULL;
}

static bool nested_ok(const struct ArrowSchema *s)
{
    const char *f = s->format;
    if (strcmp(f, "+s") == 0) {
        return true;
    }
    if (starts(f, "+w:")) {
        return s->n_children == 1 && number_alone(f + 3);
    }
    if (starts(f, "+us:") || starts(f, "+ud:")) {
        return union_ok(f + 4, s->n_children);
    }
    if (strcmp(f, "+m") == 0) {
        return map_ok(s);
    }
    if (strcmp(f, "+r") == 0) {
        return runs_ok(s);
    }
    return s->n_children == 1; /* lists and their like */
}

/* An index of a dictionary is an integer. */
static bool index_ok(const char *f)
{
    return f[0] != '\0' && f[1] == '\0' && strchr("cCsSiIlL", f[0]) != NULL;
}

static bool field_ok(const struct ArrowSchema *s)
{
    const char *f = s->format;
    if (strlen(f) > FORMAT_MAX || (s->dictionary != NULL && !index_ok(f))) {
        return false;
    }
    if (f[0] == '+') {
        return nested_ok(s);
    }
    if (s->n_children != 0) {
        return false;
    }
    if (starts(f, "w:")) {
        return number_alone(f + 2);
    }
    return !starts(f, "d:") || decimal_ok(f + 2);
}

static weir_err check(const struct ArrowSchema *s, int depth,
                      struct weir_error *err)
{
    if (s == NULL || s->release == NULL || s->format == NULL ||
        s->n_children < 0 || (s->n_children > 0 && s->children == NULL) ||
        depth > WI_SCAN_DEPTH_MAX) {
        return wi_scan_fail(err, WEIR_ERR_SCHEMA,
                            "a field without format, released, or more than %d "
                            "levels deep",
                            WI_SCAN_DEPTH_MAX);
    }
    weir_err code = WEIR_OK;
    for (int64_t i = 0; code == WEIR_OK && i < s->n_children; i++) {
        code = check(s->children[i], depth + 1, err);
    }
    if (code == WEIR_OK && s->dictionary != NULL) {
        code = check(s->dictionary, depth + 1, err);
    }
    if (code == WEIR_OK && !field_ok(s)) {
        code = wi_scan_fail(err, WEIR_ERR_SCHEMA,
                            "field '%s': format '%.60s' is malformed, or has "
                            "not the children that it needs",
                            s->name != NULL ? s->name : "", s->format);
    }
    return code;
}

weir_err wi_scan_format_check(const struct ArrowSchema *schema,
                              struct weir_error *err)
{
    return check(schema, 1, err);
}
