/* SPDX-License-Identifier: Apache-2.0 */
/* LIKE, IN and = of random texts, against a matcher that tries everything and
 * against memcmp. Few letters, so that pieces nearly match everywhere; lengths
 * around 4, 8, 16 and 32, where the ways to compare change. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/expr.h"

enum { MOST_BYTES = 80, N_TEXTS = 1024, N_PATTERNS = 400, N_SETS = 200 };

static const char *const columns[][2] = {{"s", "utf8"}};

static struct wt_expr_rows rows;
static char bytes[N_TEXTS][MOST_BYTES];
static unsigned seed = 1;

static uint32_t below(uint32_t n)
{
    return (uint32_t)rand_r(&seed) % n;
}

/* Letters of `from`, a third of them an e with an accent, if it fits. */
static uint32_t make(char *to, uint32_t n, const char *from)
{
    uint32_t at = 0;
    while (at < n) {
        uint32_t letter = below((uint32_t)strlen(from));
        if (from[letter] == 'e' && at + 2 <= n) {
            memcpy(to + at, "\xc3\xa9", 2);
            at += 2;
        } else {
            to[at++] = from[letter] == 'e' ? 'a' : from[letter];
        }
    }
    to[at] = '\0';
    return at;
}

static void open_rows(void)
{
    wt_expr_rows_open(&rows, columns, 1, N_TEXTS);
    struct wi_str *s = rows.vecs[0].values;
    rows.vecs[0].null = NULL;
    for (uint32_t i = 0; i < N_TEXTS; i++) {
        uint32_t n = below(4) == 0 ? below(MOST_BYTES - 1) : below(24);
        s[i] = (struct wi_str){bytes[i], make(bytes[i], n, "abe")};
    }
}

static void close_rows(void)
{
    wt_expr_rows_close(&rows);
}

TestSuite(text_random, .init = open_rows, .fini = close_rows);

static const char *next_character(const char *s)
{
    do {
        s++;
    } while (((unsigned char)*s & 0xc0) == 0x80);
    return s;
}

/* What LIKE means, in the words of the standard. */
static bool is_like(const char *s, const char *pattern)
{
    if (*pattern == '\0') {
        return *s == '\0';
    }
    if (*pattern == '%') {
        while (*s != '\0' && !is_like(s, pattern + 1)) {
            s = next_character(s);
        }
        return is_like(s, pattern + 1);
    }
    if (*s == '\0') {
        return false;
    }
    if (*pattern == '_') {
        return is_like(next_character(s), pattern + 1);
    }
    return *s == *pattern && is_like(s + 1, pattern + 1);
}

/* 1 or 0 per row. */
static void run(const char *text, uint8_t *out)
{
    struct weir_error err = {.message = ""};
    struct wi_op_mem mem = {0};
    struct wi_expr *expr = NULL;
    struct wi_eval *eval = NULL;
    static uint32_t sel[WI_CHUNK_ROWS];
    uint32_t n = 0;
    cr_assert_eq(wi_expr_open(text, &rows.columns, &expr, &err), WEIR_OK,
                 "%s: %s", text, err.message);
    cr_assert_eq(wi_eval_open(expr, &mem, &eval, &err), WEIR_OK);
    cr_assert_eq(wi_eval_select(eval, &rows.chunk, sel, &n, &err), WEIR_OK);
    memset(out, 0, N_TEXTS);
    for (uint32_t i = 0; i < n; i++) {
        out[sel[i]] = 1;
    }
    wi_eval_close(eval);
    wi_expr_close(expr);
}

Test(text_random, like_is_what_a_matcher_says_that_tries_everything)
{
    static const char *const letters[] = {"ab%", "abe%%", "abe%_"};
    static uint8_t out[N_TEXTS];
    uint32_t n_true = 0;
    for (uint32_t k = 0; k < N_PATTERNS; k++) {
        char pattern[32];
        char text[64];
        make(pattern, below(10), letters[k % 3]);
        (void)snprintf(text, sizeof(text), "s like '%s'", pattern);
        run(text, out);
        for (uint32_t i = 0; i < N_TEXTS; i++) {
            cr_assert_eq(out[i], is_like(bytes[i], pattern), "'%s' like '%s'",
                         bytes[i], pattern);
            n_true += out[i];
        }
    }
    cr_assert_gt(n_true, N_TEXTS * 10);
}

/* Long pieces, cut out of the texts themselves or changed in one byte. */
Test(text_random, like_finds_long_pieces)
{
    static uint8_t out[N_TEXTS];
    for (uint32_t k = 0; k < N_PATTERNS; k++) {
        const char *from = bytes[below(N_TEXTS)];
        uint32_t n = (uint32_t)strlen(from);
        uint32_t first = below(n / 2 + 1);
        char piece[MOST_BYTES];
        char pattern[2 * MOST_BYTES];
        char text[3 * MOST_BYTES];
        (void)snprintf(piece, sizeof(piece), "%s", from + first);
        piece[below(n - first + 1)] = '\0';
        char *change = strpbrk(piece, "ab");
        if (k % 2 == 0 && change != NULL) {
            *change = 'b';
        }
        if (((unsigned char)piece[0] & 0xc0) == 0x80 ||
            ((unsigned char)from[first + strlen(piece)] & 0xc0) == 0x80) {
            continue; /* half a character */
        }
        (void)snprintf(pattern, sizeof(pattern), "%%%s%%%.*s%%", piece,
                       (int)below(2), "a");
        (void)snprintf(text, sizeof(text), "s like '%s'", pattern);
        run(text, out);
        for (uint32_t i = 0; i < N_TEXTS; i++) {
            cr_assert_eq(out[i], is_like(bytes[i], pattern), "'%s' like '%s'",
                         bytes[i], pattern);
        }
    }
}

static bool is_in(const char *s, const uint32_t *set, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(s, bytes[set[i]]) == 0) {
            return true;
        }
    }
    return false;
}

Test(text_random, in_finds_the_texts_that_are_the_same)
{
    static uint8_t out[N_TEXTS];
    for (uint32_t k = 0; k < N_SETS; k++) {
        uint32_t set[12];
        uint32_t n = 1 + below(12);
        char text[12 * (MOST_BYTES + 4) + 16] = "s in (";
        for (uint32_t i = 0; i < n; i++) {
            set[i] = below(N_TEXTS);
            (void)sprintf(text + strlen(text), "%s'%s'", i == 0 ? "" : ", ",
                          bytes[set[i]]);
        }
        (void)strcat(text, ")");
        run(text, out);
        for (uint32_t i = 0; i < N_TEXTS; i++) {
            cr_assert_eq(out[i], is_in(bytes[i], set, n), "'%s', %s", bytes[i],
                         text);
        }
    }
}
