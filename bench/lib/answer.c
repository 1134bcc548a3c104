/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing answers: lines sorted as text, then field by field. */
#define _GNU_SOURCE 1
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/query.h"
#include "core/base/err.h"

#define TOLERANCE 1e-6L
#define NUMBER_BYTES 64

struct lines {
    char *text;  /* a copy; line ends are NULs */
    char **line; /* sorted */
    size_t n;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void close_lines(struct lines *l)
{
    free(l->text);
    free(l->line);
}

static weir_err open_lines(struct lines *l, const char *text,
                           struct weir_error *err)
{
    size_t most = 1;
    for (const char *p = text; *p != '\0'; p++) {
        most += *p == '\n';
    }
    *l = (struct lines){.text = strdup(text),
                        .line = calloc(most, sizeof(*l->line))};
    if (l->text == NULL || l->line == NULL) {
        close_lines(l);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an answer");
    }
    char *rest = l->text;
    while (*rest != '\0') { /* an empty line is one, too: a null */
        char *line = strsep(&rest, "\n");
        line[strcspn(line, "\r")] = '\0';
        l->line[l->n] = line;
        l->n++;
        rest = rest != NULL ? rest : line + strlen(line);
    }
    qsort(l->line, l->n, sizeof(*l->line), by_text);
    return WEIR_OK;
}

/* A number: its value, and whether it is written as a float. */
static bool number(const char *text, size_t len, long double *out,
                   bool *is_float)
{
    char copy[NUMBER_BYTES];
    char *end = NULL;
    if (len == 0 || len >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    *out = strtold(copy, &end);
    *is_float = strpbrk(copy, "eE") != NULL;
    return *end == '\0';
}

/* Without the zeros at the end of a fraction. */
static size_t trimmed(const char *text, size_t len)
{
    if (memchr(text, '.', len) == NULL) {
        return len;
    }
    while (text[len - 1] == '0') {
        len--;
    }
    return text[len - 1] == '.' ? len - 1 : len;
}

/* Opponents differ in what they quote besides fields with commas. */
static const char *unquoted(const char *text, size_t *len)
{
    if (*len < 2 || text[0] != '"') {
        return text;
    }
    *len -= 2;
    return text + 1;
}

static bool same_field(const char *a, size_t len_a, const char *b, size_t len_b)
{
    long double x = 0;
    long double y = 0;
    bool float_a = false;
    bool float_b = false;
    a = unquoted(a, &len_a);
    b = unquoted(b, &len_b);
    if (len_a == len_b && memcmp(a, b, len_a) == 0) {
        return true;
    }
    if (!number(a, len_a, &x, &float_a) || !number(b, len_b, &y, &float_b)) {
        return false;
    }
    if (float_a || float_b) {
        return fabsl(x - y) <= TOLERANCE * fmaxl(1, fabsl(x));
    }
    len_a = trimmed(a, len_a);
    len_b = trimmed(b, len_b);
    return len_a == len_b && memcmp(a, b, len_a) == 0;
}

/* A field's bytes, up to the comma or the end; quoted ones may hold commas. */
static size_t field_bytes(const char *text)
{
    size_t n = 0;
    bool quoted = false;
    for (; text[n] != '\0' && (quoted || text[n] != ','); n++) {
        quoted ^= text[n] == '"';
    }
    return n;
}

static bool same_line(const char *a, const char *b)
{
    for (;;) {
        size_t len_a = field_bytes(a);
        size_t len_b = field_bytes(b);
        if (!same_field(a, len_a, b, len_b) || a[len_a] != b[len_b]) {
            return false;
        }
        if (a[len_a] == '\0') {
            return true;
        }
        a += len_a + 1;
        b += len_b + 1;
    }
}

static weir_err compare(const struct lines *a, const struct lines *b,
                        struct weir_error *err)
{
    if (a->n != b->n) {
        return wi_fail(err, WEIR_ERR_INTEGRITY,
                       "the answers have %zu and %zu rows", a->n, b->n);
    }
    for (size_t i = 0; i < a->n; i++) {
        if (!same_line(a->line[i], b->line[i])) {
            return wi_fail(err, WEIR_ERR_INTEGRITY,
                           "the answers differ: \"%s\" and \"%s\"", a->line[i],
                           b->line[i]);
        }
    }
    return WEIR_OK;
}

weir_err wb_answer_compare(const char *a, const char *b, struct weir_error *err)
{
    struct lines left = {0};
    struct lines right = {0};
    weir_err rc = open_lines(&left, a, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = open_lines(&right, b, err);
    if (rc == WEIR_OK) {
        rc = compare(&left, &right, err);
        close_lines(&right);
    }
    close_lines(&left);
    return rc;
}
