/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing answers: lines sorted as text, then field by field. */
#define _GNU_SOURCE 1
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/query.h"
#include "core/base/err.h"

#define TOLERANCE 1e-6
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
    char *rest = NULL;
    for (char *line = strtok_r(l->text, "\r\n", &rest); line != NULL;
         line = strtok_r(NULL, "\r\n", &rest)) {
        l->line[l->n] = line;
        l->n++;
    }
    qsort(l->line, l->n, sizeof(*l->line), by_text);
    return WEIR_OK;
}

static bool number(const char *text, size_t len, double *out)
{
    char copy[NUMBER_BYTES];
    char *end = NULL;
    if (len == 0 || len >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    *out = strtod(copy, &end);
    return *end == '\0';
}

static bool same_field(const char *a, size_t len_a, const char *b, size_t len_b)
{
    double x = 0;
    double y = 0;
    if (len_a == len_b && memcmp(a, b, len_a) == 0) {
        return true;
    }
    bool point = memchr(a, '.', len_a) != NULL || memchr(b, '.', len_b) != NULL;
    return point && number(a, len_a, &x) && number(b, len_b, &y) &&
           fabs(x - y) <= TOLERANCE * fmax(1, fabs(x));
}

static bool same_line(const char *a, const char *b)
{
    for (;;) {
        size_t len_a = strcspn(a, ",");
        size_t len_b = strcspn(b, ",");
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
