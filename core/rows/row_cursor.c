/* SPDX-License-Identifier: Apache-2.0 */
/* Rows one at a time out of batches: reads a batch where it lies. */
#include <weir/row.h>

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/cc.h"

struct weir_row_cursor weir_row_cursor_at(const struct ArrowArray *batch,
                                          const struct ArrowSchema *schema)
{
    return (struct weir_row_cursor){batch, schema, -1};
}

int weir_row_next(struct weir_row_cursor *cursor)
{
    if (cursor == NULL || cursor->batch == NULL ||
        cursor->row + 1 >= cursor->batch->length) {
        return 0;
    }
    cursor->row++;
    return 1;
}

static const struct ArrowArray *column_of(const struct weir_row_cursor *c,
                                          uint32_t column)
{
    assert(c != NULL && c->batch != NULL);
    assert(column < c->batch->n_children);
    assert(c->row >= 0 && c->row < c->batch->length);
    return c->batch->children[column];
}

static const char *format_of(const struct weir_row_cursor *c, uint32_t column)
{
    assert(c->schema != NULL && column < c->schema->n_children);
    return c->schema->children[column]->format;
}

static uint64_t index_of(const struct weir_row_cursor *c,
                         const struct ArrowArray *a)
{
    return (uint64_t)(c->batch->offset + a->offset + c->row);
}

int weir_row_is_null(const struct weir_row_cursor *c, uint32_t column)
{
    const struct ArrowArray *a = column_of(c, column);
    const void *validity = a->buffers[0];
    return validity != NULL && wi_bit(validity, index_of(c, a)) == 0;
}

/* An integer of `width` bytes, sign extended unless `is_unsigned`. */
static int64_t load_int(const void *values, uint64_t at, uint32_t width,
                        bool is_unsigned)
{
    uint64_t v = 0;
    uint32_t unused = 64 - width * 8;
    memcpy(&v, (const uint8_t *)values + at * width, width);
    return is_unsigned ? (int64_t)v : (int64_t)(v << unused) >> unused;
}

/* Bytes of a value of "t..": date32, times of seconds and milliseconds and
 * intervals of months have 4, intervals of three parts 16. */
static uint32_t time_width(const char *format)
{
    static const char *const four[] = {"tdD", "tts", "ttm", "tiM"};
    for (size_t i = 0; i < WI_ARRAY_LEN(four); i++) {
        if (strcmp(format, four[i]) == 0) {
            return 4;
        }
    }
    return strcmp(format, "tin") == 0 ? 16 : 8;
}

/* Bytes of a value of "d:precision,scale[,bits]". */
static uint32_t decimal_width(const char *format)
{
    const char *bits = strchr(strchr(format, ',') + 1, ',');
    return bits == NULL ? 16 : (uint32_t)strtoul(bits + 1, NULL, 10) / 8;
}

/* Bytes of a value that is of fixed width and no number here; 0: it is. */
static uint32_t bytes_width(const char *format)
{
    switch (format[0]) {
    case 'w':
        return (uint32_t)strtoul(format + 2, NULL, 10);
    case 'd':
        return decimal_width(format);
    case 'e':
        return 2;
    case 't':
        return time_width(format);
    default:
        return 0;
    }
}

int64_t weir_row_int64(const struct weir_row_cursor *c, uint32_t column)
{
    const struct ArrowArray *a = column_of(c, column);
    const void *values = a->buffers[1];
    uint64_t at = index_of(c, a);
    switch (format_of(c, column)[0]) {
    case 'b':
        return wi_bit(values, at);
    case 'c':
        return load_int(values, at, 1, false);
    case 'C':
        return load_int(values, at, 1, true);
    case 's':
        return load_int(values, at, 2, false);
    case 'S':
        return load_int(values, at, 2, true);
    case 'i':
        return load_int(values, at, 4, false);
    case 'I':
        return load_int(values, at, 4, true);
    case 't': /* date, time, timestamp, duration, months */
        return load_int(values, at, time_width(format_of(c, column)), false);
    case 'd':
        return load_int(values, at, decimal_width(format_of(c, column)), false);
    default:
        assert(strchr("lL", format_of(c, column)[0]) != NULL);
        return load_int(values, at, 8, false);
    }
}

double weir_row_double(const struct weir_row_cursor *c, uint32_t column)
{
    const struct ArrowArray *a = column_of(c, column);
    const uint8_t *values = a->buffers[1];
    uint64_t at = index_of(c, a);
    if (format_of(c, column)[0] == 'f') {
        float narrow;
        memcpy(&narrow, values + at * sizeof(narrow), sizeof(narrow));
        return (double)narrow;
    }
    assert(format_of(c, column)[0] == 'g');
    double value;
    memcpy(&value, values + at * sizeof(value), sizeof(value));
    return value;
}

const void *weir_row_bytes(const struct weir_row_cursor *c, uint32_t column,
                           uint64_t *len_out)
{
    assert(len_out != NULL);
    const struct ArrowArray *a = column_of(c, column);
    const char *format = format_of(c, column);
    const uint8_t *values = a->buffers[1];
    uint64_t at = index_of(c, a);
    uint32_t width = bytes_width(format);
    if (width != 0) {
        *len_out = width;
        return values + at * width;
    }
    assert(format[0] == 'u' || format[0] == 'z');
    uint32_t begin = wi_load_u32(values + at * sizeof(int32_t));
    *len_out = wi_load_u32(values + (at + 1) * sizeof(int32_t)) - begin;
    /* An empty column may have no bytes at all. */
    return a->buffers[2] == NULL ? "" : (const char *)a->buffers[2] + begin;
}
