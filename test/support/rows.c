/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FIXED, BIT, VAR };

struct cell {
    bool null;
    uint32_t len;
    uint64_t seed; /* of its bytes, unless it is a number */
    bool is_number;
    uint64_t number;
};

/* What an array of ours frees. */
struct owned {
    struct ArrowArray columns[WT_MAX_FIELDS];
    struct ArrowArray *children[WT_MAX_FIELDS];
    const void *buffers[WT_MAX_FIELDS][3];
    const void *none[1];
    uint32_t n_flat; /* of the columns; the others free themselves */
};

uint64_t wt_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static enum kind kind_of(const char *format, uint32_t *width)
{
    *width = 0;
    switch (format[0]) {
    case 'u':
    case 'z':
        return VAR;
    case 'b':
        return BIT;
    case 'c':
    case 'C':
        *width = 1;
        return FIXED;
    case 's':
    case 'S':
        *width = 2;
        return FIXED;
    case 'i':
    case 'I':
    case 'f':
        *width = 4;
        return FIXED;
    case 'w':
        *width = (uint32_t)strtoul(format + 2, NULL, 10);
        return FIXED;
    case 'd':
        format = strrchr(format, ',') + 1; /* bits, or the scale */
        *width = (uint32_t)strtoul(format, NULL, 10) / 8;
        *width = *width < 4 ? 16 : *width;
        return FIXED;
    case 'e':
        *width = 2;
        return FIXED;
    case 't':
        *width = strcmp(format, "tin") == 0 ? 16 : 8;
        *width = strstr("tdD tts ttm tiM", format) != NULL ? 4 : *width;
        return FIXED;
    default:
        *width = 8;
        return FIXED;
    }
}

uint64_t wt_rows_key(const struct wt_rows *spec, uint64_t id)
{
    uint64_t h = wt_mix(id, 77);
    return spec->keys != 0 ? h % spec->keys : h;
}

static uint32_t var_len(const struct wt_rows *spec, uint64_t id, uint64_t h)
{
    uint32_t most = spec->var_bytes != 0 ? spec->var_bytes : 24;
    if (spec->big_every != 0 && id % spec->big_every == 0) {
        return spec->big_bytes;
    }
    return h % 5 == 0 ? 0 : (uint32_t)(h / 5 % (most + 1));
}

static struct cell cell_of(const struct wt_rows *spec, uint64_t id, uint32_t c)
{
    const struct weir_field *f = &spec->fields[c];
    uint64_t h = wt_mix(id, c + 1);
    struct cell cell = {.seed = h};
    enum kind kind = kind_of(f->format, &cell.len);
    cell.null = f->nullable && (spec->all_null || (h >> 40) % 4 == 0);
    if (c == 0 || strcmp(f->name, "k") == 0) {
        cell.is_number = true;
        cell.number = c == 0 ? id : wt_rows_key(spec, id);
    }
    if (kind == VAR) {
        cell.len = cell.null ? 0 : var_len(spec, id, h);
    } else if (kind == BIT) {
        cell.is_number = true;
        cell.number = h & 1;
        cell.len = 1;
    }
    return cell;
}

static void put_cell(const struct cell *cell, uint8_t *to)
{
    if (cell->is_number) {
        memcpy(to, &cell->number, cell->len);
        return;
    }
    for (uint32_t at = 0; at < cell->len; at += 8) {
        uint64_t word = wt_mix(cell->seed, at) & 0x3f3f3f3f3f3f3f3fu;
        word |= 0x4040404040404040u; /* printable enough for text */
        uint32_t n = cell->len - at < 8 ? cell->len - at : 8;
        memcpy(to + at, &word, n);
    }
}

static bool cell_is(const struct cell *cell, const uint8_t *from)
{
    uint8_t small[64];
    uint8_t *want = cell->len <= sizeof(small) ? small : malloc(cell->len);
    assert(want != NULL);
    put_cell(cell, want);
    bool same = memcmp(want, from, cell->len) == 0;
    if (want != small) {
        free(want);
    }
    return same;
}

/* ---- making -------------------------------------------------------------- */

static void set_bit(uint8_t *bits, uint64_t i, bool on)
{
    uint8_t mask = (uint8_t)(1u << (i % 8));
    bits[i / 8] = (uint8_t)(on ? bits[i / 8] | mask : bits[i / 8] & ~mask);
}

static bool get_bit(const uint8_t *bits, uint64_t i)
{
    return (bits[i / 8] >> (i % 8) & 1) != 0;
}

static void *fresh(size_t bytes)
{
    uint8_t *p = malloc(bytes != 0 ? bytes : 1);
    assert(p != NULL);
    memset(p, 0xa5, bytes); /* what lies outside the rows is not zero */
    return p;
}

static void make_var(const struct wt_rows *spec, uint32_t c, uint64_t first,
                     uint32_t n, uint32_t skip, const void **buffers)
{
    size_t total = skip; /* one byte for each row that is not ours */
    for (uint32_t i = 0; i < n; i++) {
        total += cell_of(spec, first + i, c).len;
    }
    int32_t *offsets = fresh((skip + n + 1) * sizeof(*offsets));
    uint8_t *bytes = fresh(total);
    int32_t end = 0;
    for (uint32_t i = 0; i < skip + n; i++) {
        offsets[i] = end;
        if (i < skip) {
            end++;
            continue;
        }
        struct cell cell = cell_of(spec, first + i - skip, c);
        put_cell(&cell, bytes + end);
        end += (int32_t)cell.len;
    }
    offsets[skip + n] = end;
    buffers[1] = offsets;
    buffers[2] = bytes;
}

static void make_plain(const struct wt_rows *spec, uint32_t c, uint64_t first,
                       uint32_t n, uint32_t skip, const void **buffers)
{
    uint32_t width;
    enum kind kind = kind_of(spec->fields[c].format, &width);
    uint8_t *values =
        fresh(kind == BIT ? (skip + n + 7) / 8 : (size_t)(skip + n) * width);
    for (uint32_t i = 0; i < n; i++) {
        struct cell cell = cell_of(spec, first + i, c);
        if (kind == BIT) {
            set_bit(values, skip + i, cell.number != 0);
        } else {
            put_cell(&cell, values + (size_t)(skip + i) * width);
        }
    }
    buffers[1] = values;
}

static void make_column(const struct wt_rows *spec, uint32_t c, uint64_t first,
                        uint32_t n, struct ArrowArray *a, const void **buffers)
{
    uint32_t width;
    uint32_t skip = spec->offset + spec->outer_offset;
    *a = (struct ArrowArray){.length = spec->outer_offset + n,
                             .offset = spec->offset,
                             .n_buffers = 2,
                             .buffers = buffers};
    if (kind_of(spec->fields[c].format, &width) == VAR) {
        a->n_buffers = 3;
        make_var(spec, c, first, n, skip, buffers);
    } else {
        make_plain(spec, c, first, n, skip, buffers);
    }
    if (spec->fields[c].nullable) {
        uint8_t *valid = fresh((skip + n + 7) / 8);
        for (uint32_t i = 0; i < n; i++) {
            set_bit(valid, skip + i, !cell_of(spec, first + i, c).null);
        }
        buffers[0] = valid;
        a->null_count = -1; /* not computed */
    }
}

static void release_child(struct ArrowArray *a)
{
    a->release = NULL;
}

static void release_rows(struct ArrowArray *a)
{
    struct owned *o = a->private_data;
    for (int64_t c = 0; c < a->n_children; c++) {
        for (int i = 0; c < o->n_flat && i < 3; i++) {
            free((void *)(uintptr_t)o->buffers[c][i]);
        }
        if (c >= o->n_flat) {
            o->columns[c].release(&o->columns[c]);
        }
    }
    free(o);
    a->release = NULL;
}

static uint64_t nested_seed(uint64_t id, uint32_t c)
{
    return wt_mix(id, 1000 + c);
}

static void make_nested(const struct wt_rows *spec, uint32_t c, uint64_t first,
                        uint32_t n, struct ArrowArray *out)
{
    uint32_t skip = spec->offset;
    uint32_t ahead = skip + spec->outer_offset;
    uint64_t *seeds = fresh((ahead + n) * sizeof(*seeds));
    for (uint32_t i = 0; i < n; i++) {
        seeds[ahead + i] = nested_seed(first + i, c);
    }
    wt_nest_make(&spec->nested[c], &spec->nested_size, seeds, skip,
                 spec->outer_offset + n, out);
    free(seeds);
}

void wt_rows_schema(const struct wt_rows *spec, bool pushed,
                    struct ArrowSchema *out)
{
    struct wt_nest columns[WT_MAX_FIELDS] = {{0}};
    for (uint32_t c = 0; c < spec->n_fields; c++) {
        const struct weir_field *f = &spec->fields[c];
        columns[c] = (struct wt_nest){
            .name = f->name, .format = f->format, .nullable = f->nullable};
    }
    for (uint32_t c = 0; c < spec->n_nested; c++) {
        columns[spec->n_fields + c] = spec->nested[c];
    }
    wt_nest_schema(columns, spec->n_fields + spec->n_nested, pushed, out);
}

void wt_rows_make(const struct wt_rows *spec, uint64_t first, uint32_t n,
                  struct ArrowArray *out)
{
    struct owned *o = calloc(1, sizeof(*o));
    uint32_t all = spec->n_fields + spec->n_nested;
    assert(o != NULL && all <= WT_MAX_FIELDS);
    o->n_flat = spec->n_fields;
    for (uint32_t c = spec->n_fields; c < all; c++) {
        make_nested(spec, c - spec->n_fields, first, n, &o->columns[c]);
        o->children[c] = &o->columns[c];
    }
    for (uint32_t c = 0; c < spec->n_fields; c++) {
        make_column(spec, c, first, n, &o->columns[c], o->buffers[c]);
        o->columns[c].release = release_child;
        o->children[c] = &o->columns[c];
    }
    *out = (struct ArrowArray){.length = n,
                               .offset = spec->outer_offset,
                               .n_buffers = 1,
                               .buffers = o->none,
                               .n_children = all,
                               .children = o->children,
                               .release = release_rows,
                               .private_data = o};
}

/* ---- checking ------------------------------------------------------------ */

uint64_t wt_rows_id(const struct ArrowArray *batch, int64_t row)
{
    const struct ArrowArray *a = batch->children[0];
    const uint64_t *values = a->buffers[1];
    return values[batch->offset + a->offset + row];
}

static bool value_is(const struct ArrowArray *a, enum kind kind, uint32_t width,
                     uint64_t at, const struct cell *cell)
{
    if (kind == VAR) {
        const int32_t *offsets = a->buffers[1];
        const uint8_t *bytes = a->buffers[2];
        return (uint32_t)(offsets[at + 1] - offsets[at]) == cell->len &&
               (cell->len == 0 || cell_is(cell, bytes + offsets[at]));
    }
    if (kind == BIT) {
        return get_bit(a->buffers[1], at) == (cell->number != 0);
    }
    return cell_is(cell, (const uint8_t *)a->buffers[1] + at * width);
}

static bool check_nested(const struct wt_rows *spec,
                         const struct ArrowArray *batch, int64_t row, char *why)
{
    uint64_t id = wt_rows_id(batch, row);
    for (uint32_t c = 0; c < spec->n_nested; c++) {
        if (!wt_nest_check(&spec->nested[c], &spec->nested_size,
                           batch->children[spec->n_fields + c],
                           (uint64_t)(batch->offset + row),
                           nested_seed(id, c))) {
            (void)snprintf(why, WT_WHY_BYTES,
                           "row %lld, id %llu: column %s (%s) is another value",
                           (long long)row, (unsigned long long)id,
                           spec->nested[c].name, spec->nested[c].format);
            return false;
        }
    }
    return true;
}

bool wt_rows_check(const struct wt_rows *spec, const struct ArrowArray *batch,
                   int64_t row, char *why)
{
    uint64_t id = wt_rows_id(batch, row);
    if (batch->n_children != spec->n_fields + spec->n_nested) {
        (void)snprintf(why, WT_WHY_BYTES, "%lld columns, not %u",
                       (long long)batch->n_children,
                       spec->n_fields + spec->n_nested);
        return false;
    }
    for (uint32_t c = 0; c < spec->n_fields; c++) {
        const struct ArrowArray *a = batch->children[c];
        uint64_t at = (uint64_t)(batch->offset + a->offset + row);
        struct cell cell = cell_of(spec, id, c);
        uint32_t width;
        enum kind kind = kind_of(spec->fields[c].format, &width);
        bool null = a->buffers[0] != NULL && !get_bit(a->buffers[0], at);
        if (null != cell.null ||
            (!null && !value_is(a, kind, width, at, &cell))) {
            (void)snprintf(why, WT_WHY_BYTES,
                           "row %lld, id %llu: column %s (%s) is %s",
                           (long long)row, (unsigned long long)id,
                           spec->fields[c].name, spec->fields[c].format,
                           null == cell.null ? "another value"
                           : null            ? "null"
                                             : "not null");
            return false;
        }
    }
    return check_nested(spec, batch, row, why);
}
