/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "core/identity/secret.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct wi_secrets s;
static struct weir_error err;

static weir_err parse(const char *text)
{
    err = (struct weir_error){0};
    return wi_secrets_parse(&s, text, strlen(text), &err);
}

static bool is(const struct wi_secret *it, const char *text)
{
    return it->bytes == strlen(text) && memcmp(it->at, text, it->bytes) == 0;
}

Test(secret, one_line_is_current_and_previous)
{
    const char *texts[] = {A, A "\n", A "\r\n", "\n" A "\n\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        weir_err rc = parse(texts[i]);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
        cr_assert_eq(s.n, 1);
        cr_assert(is(&s.of[0], A) && is(&s.of[1], A));
    }
}

Test(secret, the_first_of_two_lines_is_the_current_one)
{
    weir_err rc = parse(A "\n" B "\n");
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    cr_assert_eq(s.n, 2);
    cr_assert(is(&s.of[0], A) && is(&s.of[1], B));
}

static void refused(const char *text, const char *why)
{
    weir_err rc = parse(text);
    cr_assert_eq(rc, WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, why), "%s", err.message);
    cr_assert_null(strstr(err.message, "aaaa"), "%s", err.message);
}

Test(secret, what_is_none_is_refused_and_not_repeated)
{
    char text[WI_SECRET_MAX + 2];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    refused("", "no secret");
    refused("\n\r\n", "no secret");
    refused(text, "257 bytes");
    text[WI_SECRET_MIN - 1] = '\0';
    refused(text, "31 bytes");
    refused(A "\n" A "\n" A, "more than");
}
