/* SPDX-License-Identifier: Apache-2.0 */
/* Values of Arrow columns as text. */
#include "tools/arrow_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

enum { DAY_SECONDS = 86400 };

static bool decimal_init(struct arrow_column *c, const char *format)
{
    unsigned int precision;
    unsigned int scale;
    if (sscanf(format, "d:%3u,%3u", &precision, &scale) != 2) {
        return false;
    }
    c->scale = scale;
    c->number = true;
    return true;
}

static bool time_init(struct arrow_column *c, const char *format)
{
    static const char units[] = "smun";
    if (strcmp(format, "tdD") == 0) {
        c->kind = 'D';
        return true;
    }
    const char *unit =
        format[1] == 's' && format[2] != '\0' ? strchr(units, format[2]) : NULL;
    c->unit = unit == NULL ? 0 : 3 * (uint32_t)(unit - units);
    return unit != NULL;
}

bool arrow_column_init(struct arrow_column *c, const struct ArrowSchema *schema,
                       const struct ArrowArray *batch, int64_t idx)
{
    const char *format = schema->children[idx]->format;
    *c = (struct arrow_column){
        .array = batch->children[idx],
        .first = batch->offset + batch->children[idx]->offset,
        .kind = format[0],
    };
    switch (format[0]) {
    case 'd':
        return decimal_init(c, format);
    case 't':
        return time_init(c, format);
    case 'w':
        return sscanf(format, "w:%" SCNu32, &c->width) == 1;
    case 'u':
    case 'z':
        return format[1] == '\0';
    default:
        c->number = true;
        return format[0] != '\0' && format[1] == '\0' &&
               strchr("bcCsSiIlLfg", format[0]) != NULL;
    }
}

/* ---- kinds of values ----------------------------------------------------- */

/* Digits of |v|, with a point before the last `scale` of them. */
static size_t print_exact(i128 v, uint32_t scale, char *text)
{
    char turned[ARROW_TEXT_BYTES];
    size_t n = 0;
    size_t at = 0;
    u128 rest = v < 0 ? -(u128)v : (u128)v;
    for (uint32_t digits = 0; rest > 0 || digits <= scale; digits++) {
        if (digits == scale && scale > 0) {
            turned[n++] = '.';
        }
        turned[n++] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    }
    if (v < 0) {
        text[at++] = '-';
    }
    while (n > 0) {
        text[at++] = turned[--n];
    }
    return at;
}

static size_t print_float(double v, bool single, char *text)
{
    const int most = single ? 9 : 17;
    int n = 0;
    if (isnan(v)) {
        return (size_t)snprintf(text, ARROW_TEXT_BYTES, "nan");
    }
    for (int digits = single ? 6 : 15; digits <= most; digits++) {
        n = snprintf(text, ARROW_TEXT_BYTES, "%.*g", digits, v);
        if ((single ? (double)strtof(text, NULL) : strtod(text, NULL)) == v) {
            break;
        }
    }
    return (size_t)n;
}

static size_t print_time(int64_t seconds, const char *format, char *text)
{
    const time_t when = seconds;
    struct tm tm;
    if (gmtime_r(&when, &tm) == NULL) { /* a year beyond an int */
        return print_exact(seconds, 0, text);
    }
    const int year = tm.tm_year + 1900;
    size_t n = (size_t)snprintf(text, ARROW_TEXT_BYTES, "%04d", year);
    return n + strftime(text + n, ARROW_TEXT_BYTES - n, format, &tm);
}

static size_t print_timestamp(int64_t v, uint32_t unit, char *text)
{
    int64_t ticks = 1;
    for (uint32_t i = 0; i < unit; i++) {
        ticks *= 10;
    }
    const int64_t rest = (v % ticks + ticks) % ticks;
    const int64_t seconds = v / ticks - (v % ticks < 0);
    size_t n = print_time(seconds, "-%m-%d %H:%M:%S", text);
    if (rest != 0) {
        n += (size_t)snprintf(text + n, ARROW_TEXT_BYTES - n, ".%0*" PRId64,
                              (int)unit, rest);
    }
    return n;
}

/* ---- values -------------------------------------------------------------- */

#define INTEGER(letter, type)                                                  \
    case letter:                                                               \
        return ((const type *)values)[at]

static i128 integer(char kind, const void *values, int64_t at)
{
    switch (kind) {
        INTEGER('c', int8_t);
        INTEGER('C', uint8_t);
        INTEGER('s', int16_t);
        INTEGER('S', uint16_t);
        INTEGER('i', int32_t);
        INTEGER('I', uint32_t);
        INTEGER('L', uint64_t);
        INTEGER('D', int32_t);
        INTEGER('d', i128);
    default:
        return ((const int64_t *)values)[at];
    }
}

static size_t print_fixed(const struct arrow_column *c, int64_t at, char *text)
{
    const void *values = c->array->buffers[1];
    switch (c->kind) {
    case 'b': {
        const bool set =
            (((const uint8_t *)values)[at / 8] >> (at % 8) & 1) != 0;
        return (size_t)snprintf(text, ARROW_TEXT_BYTES, "%s",
                                set ? "true" : "false");
    }
    case 'f':
        return print_float((double)((const float *)values)[at], true, text);
    case 'g':
        return print_float(((const double *)values)[at], false, text);
    case 'D':
        return print_time((int64_t)integer('D', values, at) * DAY_SECONDS,
                          "-%m-%d", text);
    case 't':
        return print_timestamp((int64_t)integer('l', values, at), c->unit,
                               text);
    default:
        return print_exact(integer(c->kind, values, at), c->scale, text);
    }
}

static bool is_null(const struct ArrowArray *a, int64_t at)
{
    const uint8_t *valid = a->buffers[0];
    return valid != NULL && (valid[at / 8] >> (at % 8) & 1) == 0;
}

void arrow_text(const struct arrow_column *c, int64_t row,
                struct arrow_text *out)
{
    const int64_t at = c->first + row;
    const char *bytes = c->array->buffers[1];
    out->bytes = c->kind == 'z' || c->kind == 'w';
    out->n_bytes = 0;
    if (is_null(c->array, at)) {
        out->text = NULL;
    } else if (c->kind == 'w') {
        out->text = bytes + at * (int64_t)c->width;
        out->n_bytes = c->width;
    } else if (c->kind == 'u' || c->kind == 'z') {
        const int32_t *offsets = c->array->buffers[1];
        const char *data = c->array->buffers[2];
        out->text = data == NULL ? "" : data + offsets[at];
        out->n_bytes = (size_t)(offsets[at + 1] - offsets[at]);
    } else {
        out->text = out->memory;
        out->n_bytes = print_fixed(c, at, out->memory);
    }
}

void arrow_text_hex(const char *bytes, size_t n, char *hex_out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        hex_out[2 * i] = digits[byte >> 4];
        hex_out[2 * i + 1] = digits[byte & 15];
    }
}
