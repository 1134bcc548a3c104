/* SPDX-License-Identifier: Apache-2.0 */
/* Checks for UTF-8, compared with iconv of the C library. */
#include "operators/base/utf8.h"

#include <criterion/criterion.h>
#include <iconv.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 80, ROUNDS = 400000 };

/* Bytes that iconv takes. */
static size_t judge(iconv_t to, const char *text, size_t n)
{
    char in[BYTES];
    char out[4 * BYTES];
    char *from = in;
    char *at = out;
    size_t left = n;
    size_t room = sizeof(out);
    memcpy(in, text, n);
    (void)iconv(to, NULL, NULL, NULL, NULL);
    (void)iconv(to, &from, &left, &at, &room);
    return n - left;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Mostly bytes that begin or continue characters near the limits. */
static char odd_byte(uint64_t *state)
{
    static const unsigned char odd[] = {
        0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0,
        0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0,
        0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xfc, 0xff, 0xfe};
    const uint32_t x = next_random(state);
    return (char)(x % 4 == 0 ? (x >> 8) & 0xff : odd[(x >> 8) % sizeof(odd)]);
}

Test(utf8, is_what_the_c_library_takes)
{
    iconv_t to = iconv_open("UTF-32LE", "UTF-8");
    uint64_t state = 1;
    cr_assert_neq(to, (iconv_t)-1);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        char text[BYTES];
        const size_t n = next_random(&state) % (BYTES + 1);
        const size_t ascii = next_random(&state) % (BYTES + 1);
        for (size_t k = 0; k < n; k++) {
            text[k] = k < ascii ? 'a' : odd_byte(&state);
        }
        const size_t expected = judge(to, text, n);
        cr_assert_eq(wi_utf8_span(text, n), expected, "round %u", i);
        cr_assert_eq(wi_utf8_check(text, n), expected == n);
    }
    (void)iconv_close(to);
}

Test(utf8, ascii_is_found_wherever_the_other_byte_is)
{
    char text[100];
    memset(text, 'x', sizeof(text));
    for (size_t n = 0; n <= sizeof(text); n++) {
        cr_assert(wi_utf8_is_ascii(text, n));
        for (size_t at = 0; at < n; at++) {
            text[at] = (char)0x80;
            cr_assert_not(wi_utf8_is_ascii(text, n), "%zu of %zu", at, n);
            text[at] = 'x';
        }
    }
}

Test(utf8, a_message_is_one_line_of_text)
{
    char text[] = "a\nb\tc\x7f \xc3\xa4 \xff\xfe \xc3";
    wi_utf8_clean(text);
    cr_assert_str_eq(text, "a?b?c? \xc3\xa4 ?? ?");
}
