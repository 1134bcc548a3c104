/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/scan/sum.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* All of it in this file: it is a library of its own, too. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)
#define NULL_VALUE UINT64_C(0x6e756c6c)

/* A column of a batch. */
struct column {
    const struct ArrowArray *array;
    uint64_t salt; /* tells columns apart */
    int64_t first; /* of its values */
    int64_t rows;
};

static inline uint64_t mix(uint64_t value, uint64_t salt)
{
    value = (value ^ salt) * MULTIPLIER;
    value ^= value >> 32;
    return value * MULTIPLIER;
}

static inline int bit(const uint8_t *bits, int64_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}

static inline int is_null(const struct column *c, int64_t i)
{
    const uint8_t *valid = c->array->buffers[0];
    return valid != NULL && !bit(valid, c->first + i);
}

static inline uint64_t load(const char *from, size_t width)
{
    uint64_t value = 0;
    memcpy(&value, from, width);
    return value;
}

/* One loop per width, without a test of nulls where there are none. */
#define SUM_WIDTH(name, width, value)                                          \
    static uint64_t name(const struct column *c)                               \
    {                                                                          \
        const char *at =                                                       \
            (const char *)c->array->buffers[1] + c->first * (width);           \
        const int nulls = c->array->buffers[0] != NULL;                        \
        uint64_t sum = 0;                                                      \
        for (int64_t i = 0; i < c->rows; i++, at += (width)) {                 \
            uint64_t v = nulls && is_null(c, i) ? NULL_VALUE : (value);        \
            sum += mix(v, c->salt);                                            \
        }                                                                      \
        return sum;                                                            \
    }

SUM_WIDTH(sum_1, 1, load(at, 1))
SUM_WIDTH(sum_2, 2, load(at, 2))
SUM_WIDTH(sum_4, 4, load(at, 4))
SUM_WIDTH(sum_8, 8, load(at, 8))
SUM_WIDTH(sum_16, 16, load(at, 8) + mix(load(at + 8, 8), 1))

static uint64_t sum_bool(const struct column *c)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < c->rows; i++) {
        uint64_t v = is_null(c, i)
                         ? NULL_VALUE
                         : (uint64_t)bit(c->array->buffers[1], c->first + i);
        sum += mix(v, c->salt);
    }
    return sum;
}

static uint64_t sum_text(const struct column *c)
{
    const int32_t *offset = (const int32_t *)c->array->buffers[1] + c->first;
    const char *bytes = c->array->buffers[2];
    uint64_t sum = 0;
    for (int64_t i = 0; i < c->rows; i++) {
        size_t n = (size_t)(offset[i + 1] - offset[i]);
        uint64_t v = is_null(c, i)
                         ? NULL_VALUE
                         : XXH3_64bits(n == 0 ? "" : bytes + offset[i], n);
        sum += mix(v, c->salt);
    }
    return sum;
}

struct kind {
    const char *begins; /* a format */
    uint64_t (*sum)(const struct column *c);
    uint64_t bits; /* of a value; texts: 0 */
};

static const struct kind *kind_of(const char *format)
{
    static const struct kind kinds[] = {
        {"b", sum_bool, 1}, {"c", sum_1, 8},    {"C", sum_1, 8},
        {"s", sum_2, 16},   {"S", sum_2, 16},   {"i", sum_4, 32},
        {"I", sum_4, 32},   {"f", sum_4, 32},   {"l", sum_8, 64},
        {"L", sum_8, 64},   {"g", sum_8, 64},   {"tdD", sum_4, 32},
        {"tdm", sum_8, 64}, {"ts", sum_8, 64},  {"ttu", sum_8, 64},
        {"u", sum_text, 0}, {"z", sum_text, 0}, {"d:", sum_16, 128}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strncmp(format, kinds[i].begins, strlen(kinds[i].begins)) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* d:15,2 and d:15,2,128 have 128 bits. */
static int is_known(const struct ArrowSchema *column)
{
    const char *comma = strchr(column->format, ',');
    const char *bits = comma != NULL ? strchr(comma + 1, ',') : NULL;
    return column->dictionary == NULL && kind_of(column->format) != NULL &&
           (column->format[0] != 'd' || bits == NULL ||
            strcmp(bits, ",128") == 0);
}

static void add_column(const struct kind *kind, const struct column *c,
                       struct wb_scan_sum *sum)
{
    if (c->rows == 0) {
        return;
    }
    sum->sum += kind->sum(c);
    if (kind->bits != 0) {
        sum->bytes += ((uint64_t)c->rows * kind->bits + 7) / 8;
    } else {
        const int32_t *offset = (const int32_t *)c->array->buffers[1];
        sum->bytes += (uint64_t)c->rows * sizeof(*offset) +
                      (uint64_t)(offset[c->first + c->rows] - offset[c->first]);
    }
}

int wb_scan_sum(const struct ArrowSchema *schema,
                const struct ArrowArray *array, struct wb_scan_sum *sum)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (!is_known(schema->children[i])) {
            return -1;
        }
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowArray *child = array->children[i];
        const struct column c = {.array = child,
                                 .salt = mix((uint64_t)i + 1, 0),
                                 .first = child->offset + array->offset,
                                 .rows = array->length};
        add_column(kind_of(schema->children[i]->format), &c, sum);
    }
    return 0;
}

int wb_scan_sum_take(const struct ArrowSchema *schema, struct ArrowArray *array,
                     struct wb_scan_sum *sum)
{
    int code = wb_scan_sum(schema, array, sum);
    array->release(array);
    return code;
}
