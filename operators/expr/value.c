/* SPDX-License-Identifier: Apache-2.0 */
/* Values in messages, and types of literals. */
#include "operators/expr/value.h"

#include <stdio.h>
#include <string.h>

struct wi_digits wi_digits_of(struct wi_str text)
{
    struct wi_digits d = {0, 0};
    bool after = false;
    bool leading = true;
    for (uint32_t i = 0; i < text.n_bytes; i++) {
        char c = text.data[i];
        if (c == '.') {
            after = true;
        } else if (c >= '0' && c <= '9') {
            d.scale += after;
            leading = leading && c == '0' && !after;
            d.precision += !leading;
        }
    }
    d.precision = d.precision == 0 ? 1 : d.precision;
    return d;
}

uint8_t wi_unit_of(struct wi_str text)
{
    const char *point = memchr(text.data, '.', text.n_bytes);
    if (point == NULL) {
        return WI_SECOND;
    }
    const char *at = point + 1;
    while (at < text.data + text.n_bytes && *at >= '0' && *at <= '9') {
        at++;
    }
    size_t n = (size_t)(at - point) - 1;
    return n == 0 ? WI_SECOND : n <= 3 ? WI_MILLI : n <= 6 ? WI_MICRO : WI_NANO;
}

static const char *show_string(struct wi_str s, bool text_type,
                               char text[WI_VALUE_TEXT_BYTES])
{
    enum { MOST = 24 };
    uint32_t most = s.n_bytes < MOST ? s.n_bytes : MOST;
    const char *more = most < s.n_bytes ? "..." : "";
    if (text_type) {
        while (most > 0 && most < s.n_bytes &&
               ((unsigned char)s.data[most] & 0xc0) == 0x80) {
            most--;
        }
        (void)snprintf(text, WI_VALUE_TEXT_BYTES, "'%.*s%s'", (int)most,
                       most == 0 ? "" : s.data, more);
        return text;
    }
    int n = snprintf(text, WI_VALUE_TEXT_BYTES, "x'");
    for (uint32_t i = 0; i < most; i++) {
        n += snprintf(text + n, WI_VALUE_TEXT_BYTES - (size_t)n, "%02x",
                      (unsigned char)s.data[i]);
    }
    (void)snprintf(text + n, WI_VALUE_TEXT_BYTES - (size_t)n, "%s'", more);
    return text;
}

const char *wi_value_show(const struct wi_type *type,
                          const struct wi_value *value,
                          char text[WI_VALUE_TEXT_BYTES])
{
    if (value->null) {
        (void)snprintf(text, WI_VALUE_TEXT_BYTES, "null");
        return text;
    }
    if (wi_type_rep(type) == WI_STR) {
        return show_string(value->s, type->kind == WI_TYPE_UTF8, text);
    }
    (void)wi_value_text(type, value, text);
    return text;
}

int wi_hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}
