/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for a whole row is made at once, numbers become text two digits at a
 * time, and nothing goes through printf.
 */
#include "tools/gen_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "operators/table/csv_type.h"

enum {
    VALUE_BYTES = 48, /* most of a value that is no text, and its delimiter */
    NUMBER_BYTES = 24,
    FIRST_BYTES = 1 << 16,
    DAY_SECONDS = 86400,
    MICROS = 1000000,
};

/* A column of the batch under way. */
struct view {
    struct wi_type type;
    const uint8_t *valid; /* NULL: no nulls */
    const void *values;   /* or offsets */
    const char *bytes;
    size_t first;
};

static bool make_room(struct gen_text *text, size_t n)
{
    if (text->room - text->len >= n) {
        return true;
    }
    size_t room = text->room == 0 ? FIRST_BYTES : text->room;
    while (room - text->len < n) {
        room *= 2;
    }
    char *data = realloc(text->data, room);
    if (data == NULL) {
        return false;
    }
    text->data = data;
    text->room = room;
    return true;
}

/* ---- values ---------------------------------------------------------------- */

static const char pairs[] = "00010203040506070809"
                            "10111213141516171819"
                            "20212223242526272829"
                            "30313233343536373839"
                            "40414243444546474849"
                            "50515253545556575859"
                            "60616263646566676869"
                            "70717273747576777879"
                            "80818283848586878889"
                            "90919293949596979899";

static char *put_two(char *to, uint64_t value)
{
    memcpy(to, pairs + 2 * value, 2);
    return to + 2;
}

static char *put_unsigned(char *to, uint64_t value)
{
    char text[2 * NUMBER_BYTES]; /* the second half is only copied */
    char *end = text + NUMBER_BYTES;
    char *at = end;
    while (value >= 100) {
        at -= 2;
        (void)put_two(at, value % 100);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        (void)put_two(at, value);
    } else {
        *--at = (char)('0' + value);
    }
    memcpy(to, at, NUMBER_BYTES); /* one move, whatever the length */
    return to + (end - at);
}

static char *put_signed(char *to, int64_t value)
{
    if (value < 0) {
        *to++ = '-';
        return put_unsigned(to, 0 - (uint64_t)value);
    }
    return put_unsigned(to, (uint64_t)value);
}

static char *put_decimal(char *to, int64_t value, uint32_t scale)
{
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t power = 1;
    for (uint32_t i = 0; i < scale; i++) {
        power *= 10;
    }
    if (value < 0) {
        *to++ = '-';
    }
    to = put_unsigned(to, size / power);
    if (scale > 0) {
        *to = '.';
        size %= power;
        for (uint32_t i = scale; i > 0; i--) {
            to[i] = (char)('0' + size % 10);
            size /= 10;
        }
        to += scale + 1;
    }
    return to;
}

static char *put_timestamp(char *to, int64_t value)
{
    const int64_t seconds = value / MICROS;
    assert(value >= 0 && value % MICROS == 0); /* generated ones are */
    const uint64_t of_day = (uint64_t)(seconds % DAY_SECONDS);
    to += wi_csv_print_date32(seconds / DAY_SECONDS, to);
    *to++ = ' ';
    to = put_two(to, of_day / 3600);
    *to++ = ':';
    to = put_two(to, of_day / 60 % 60);
    *to++ = ':';
    return put_two(to, of_day % 60);
}

static size_t text_bytes(const struct view *v, size_t at)
{
    const int32_t *offsets = v->values;
    return (size_t)(offsets[at + 1] - offsets[at]);
}

static char *put_text(char *to, const struct view *v, size_t at)
{
    const int32_t *offsets = v->values;
    const size_t len = text_bytes(v, at);
    memcpy(to, v->bytes + offsets[at], len);
    return to + len;
}

static char *put_value(char *to, const struct view *v, size_t at)
{
    switch (v->type.kind) {
    case WI_TYPE_INT32:
        return put_signed(to, ((const int32_t *)v->values)[at]);
    case WI_TYPE_TIMESTAMP:
        return put_timestamp(to, ((const int64_t *)v->values)[at]);
    case WI_TYPE_DECIMAL:
        return put_decimal(to, (int64_t)((const wi_i128 *)v->values)[at],
                           v->type.scale);
    default:
        assert(v->type.kind == WI_TYPE_UTF8);
        return put_text(to, v, at);
    }
}

/* ---- rows ------------------------------------------------------------------ */

static bool is_null(const struct view *v, size_t at)
{
    return v->valid != NULL && ((v->valid[at / 8] >> (at % 8)) & 1) == 0;
}

/* Most bytes that the row may take. */
static size_t row_bytes(const struct view *views, uint32_t n, size_t row)
{
    size_t bytes = 1;
    for (uint32_t c = 0; c < n; c++) {
        const struct view *v = &views[c];
        bytes +=
            VALUE_BYTES +
            (v->type.kind == WI_TYPE_UTF8 ? text_bytes(v, v->first + row) : 0);
    }
    return bytes;
}

static char *put_row(char *to, const struct view *views, uint32_t n, size_t row)
{
    for (uint32_t c = 0; c < n; c++) {
        const struct view *v = &views[c];
        if (!is_null(v, v->first + row)) {
            to = put_value(to, v, v->first + row);
        }
        *to++ = c + 1 < n ? ',' : '\n';
    }
    return to;
}

static void look(const struct wi_columns *columns,
                 const struct ArrowArray *batch, struct view *views)
{
    for (uint32_t c = 0; c < columns->n; c++) {
        const struct ArrowArray *a = batch->children[c];
        const bool text = columns->at[c].type.kind == WI_TYPE_UTF8;
        views[c] = (struct view){
            .type = columns->at[c].type,
            .valid = a->null_count == 0 ? NULL : a->buffers[0],
            .values = a->buffers[1],
            .bytes = text ? a->buffers[2] : NULL,
            .first = (size_t)(batch->offset + a->offset),
        };
    }
}

bool gen_text_names(const struct wi_columns *columns, struct gen_text *text)
{
    for (uint32_t c = 0; c < columns->n; c++) {
        const char *name = columns->at[c].name;
        const size_t len = strlen(name);
        if (!make_room(text, len + 1)) {
            return false;
        }
        memcpy(text->data + text->len, name, len);
        text->len += len;
        text->data[text->len++] = c + 1 < columns->n ? ',' : '\n';
    }
    return true;
}

bool gen_text_rows(const struct wi_columns *columns,
                   const struct ArrowArray *batch, struct gen_text *text)
{
    struct view *views = calloc(columns->n + 1, sizeof(*views));
    bool ok = views != NULL;
    if (ok) {
        look(columns, batch, views);
    }
    for (size_t row = 0; ok && row < (size_t)batch->length; row++) {
        ok = make_room(text, row_bytes(views, columns->n, row));
        if (ok) {
            char *to = put_row(text->data + text->len, views, columns->n, row);
            text->len = (size_t)(to - text->data);
        }
    }
    free(views);
    return ok;
}
