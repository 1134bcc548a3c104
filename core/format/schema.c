/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schemas: Arrow format strings become four physical kinds.
 *
 * Source: Apache Arrow, "The Arrow C data interface", format strings.
 */
#include "core/format/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

enum {
    MAX_COLUMNS = 1024,  /* as weir_schema_build() */
    MAX_WIDTH = 4096,    /* w:N */
    MAX_ITEMS = 1 << 24, /* +w:N */
};

#define SUPPORTED                                                              \
    "c C s S i I l L e f g b tdD tdm tts ttm ttu ttn tss: tsm: tsu: tsn: tDs " \
    "tDm tDu tDn tiM tiD tin d:P,S d:P,S,B (B: 32, 64, 128, 256) u z w:N (N "  \
    "<= 4096) +s +l +L +m +w:N (N <= 2^24)"

/* ---- formats ------------------------------------------------------------- */

struct simple_format {
    const char *format;
    enum wi_kind kind;
    enum wi_order order;
    uint32_t width;
};

static const struct simple_format simple_formats[] = {
    {"c", WI_KIND_FIXED, WI_ORDER_SIGNED, 1},
    {"C", WI_KIND_FIXED, WI_ORDER_UNSIGNED, 1},
    {"s", WI_KIND_FIXED, WI_ORDER_SIGNED, 2},
    {"S", WI_KIND_FIXED, WI_ORDER_UNSIGNED, 2},
    {"i", WI_KIND_FIXED, WI_ORDER_SIGNED, 4},
    {"I", WI_KIND_FIXED, WI_ORDER_UNSIGNED, 4},
    {"l", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
    {"L", WI_KIND_FIXED, WI_ORDER_UNSIGNED, 8},
    {"e", WI_KIND_FIXED, WI_ORDER_NONE, 2},
    {"f", WI_KIND_FIXED, WI_ORDER_FLOAT, 4},
    {"g", WI_KIND_FIXED, WI_ORDER_FLOAT, 8},
    {"b", WI_KIND_BITS, WI_ORDER_UNSIGNED, 0},
    {"tdD", WI_KIND_FIXED, WI_ORDER_SIGNED, 4},
    {"tdm", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
    {"tts", WI_KIND_FIXED, WI_ORDER_SIGNED, 4},
    {"ttm", WI_KIND_FIXED, WI_ORDER_SIGNED, 4},
    {"ttu", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
    {"ttn", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
    {"tDs", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
    {"tDm", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
    {"tDu", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
    {"tDn", WI_KIND_FIXED, WI_ORDER_SIGNED, 8},
    {"tiM", WI_KIND_FIXED, WI_ORDER_SIGNED, 4},
    {"tiD", WI_KIND_FIXED, WI_ORDER_NONE, 8},
    {"tin", WI_KIND_FIXED, WI_ORDER_NONE, 16},
    {"u", WI_KIND_VAR, WI_ORDER_BYTES, 0},
    {"z", WI_KIND_VAR, WI_ORDER_BYTES, 0},
};

static void set_kind(struct wi_column *c, enum wi_kind kind,
                     enum wi_order order, uint32_t width)
{
    c->kind = kind;
    c->order = order;
    c->width = width;
}

static bool parse_simple(const char *format, struct wi_column *c)
{
    for (size_t i = 0; i < WI_ARRAY_LEN(simple_formats); i++) {
        const struct simple_format *f = &simple_formats[i];
        if (strcmp(format, f->format) == 0) {
            set_kind(c, f->kind, f->order, f->width);
            return true;
        }
    }
    return false;
}

/* A decimal number without sign or space, at most `max`; NULL if none. */
static const char *parse_number(const char *text, uint32_t max,
                                uint32_t *value_out)
{
    const char *p = text;
    uint32_t v = 0;
    while (*p >= '0' && *p <= '9') {
        v = v * 10 + (uint32_t)(*p - '0');
        if (v > max) {
            return NULL;
        }
        p++;
    }
    *value_out = v;
    return p == text ? NULL : p;
}

static bool parse_timestamp(const char *format, struct wi_column *c)
{
    if (strncmp(format, "ts", 2) != 0 || format[2] == '\0' ||
        strchr("smun", format[2]) == NULL || format[3] != ':') {
        return false;
    }
    set_kind(c, WI_KIND_FIXED, WI_ORDER_SIGNED, 8);
    return true;
}

/* Most digits of a decimal of so many bits; 0: there is none. */
static uint32_t most_digits(uint32_t bits)
{
    switch (bits) {
    case 32:
        return 9;
    case 64:
        return 18;
    case 128:
        return 38;
    case 256:
        return 76;
    default:
        return 0;
    }
}

/* d:precision,scale[,bits]; a scale may be negative. */
static bool parse_decimal(const char *format, struct wi_column *c)
{
    uint32_t precision;
    uint32_t scale;
    uint32_t bits = 128;
    if (strncmp(format, "d:", 2) != 0) {
        return false;
    }
    const char *p = parse_number(format + 2, most_digits(256), &precision);
    if (p == NULL || precision == 0 || *p != ',') {
        return false;
    }
    p++;
    p = parse_number(*p == '-' ? p + 1 : p, most_digits(256), &scale);
    if (p != NULL && *p == ',') {
        p = parse_number(p + 1, 256, &bits);
    }
    if (p == NULL || *p != '\0' || precision > most_digits(bits) ||
        scale > most_digits(bits)) {
        return false;
    }
    set_kind(c, WI_KIND_FIXED, WI_ORDER_SIGNED, bits / 8);
    return true;
}

static bool parse_binary(const char *format, struct wi_column *c)
{
    uint32_t width;
    if (strncmp(format, "w:", 2) != 0) {
        return false;
    }
    const char *p = parse_number(format + 2, MAX_WIDTH, &width);
    if (p == NULL || *p != '\0' || width == 0) {
        return false;
    }
    set_kind(c, WI_KIND_FIXED, WI_ORDER_BYTES, width);
    return true;
}

static bool parse_format(const char *format, struct wi_column *c)
{
    return parse_simple(format, c) || parse_timestamp(format, c) ||
           parse_decimal(format, c) || parse_binary(format, c);
}

/* ---- opening ------------------------------------------------------------- */

static bool is_struct(const struct ArrowSchema *schema)
{
    return strcmp(schema->format, "+s") == 0;
}

/* Fields are named with their struct. */
static char *name_of(const struct ArrowSchema *child,
                     const struct wi_column *parent)
{
    const char *own = child->name == NULL ? "" : child->name;
    if (parent == NULL) {
        return strdup(own);
    }
    size_t bytes = strlen(parent->name) + strlen(own) + 2;
    char *name = malloc(bytes);
    if (name != NULL) {
        (void)snprintf(name, bytes, "%s.%s", parent->name, own);
    }
    return name;
}

static bool is_map(const struct ArrowSchema *schema)
{
    return strcmp(schema->format, "+m") == 0;
}

/* How many items, and how they are counted; NONE: it is no list. */
static enum wi_list_kind parse_list(const char *format, uint32_t *n_items)
{
    if (strncmp(format, "+w:", 3) == 0) {
        const char *p = parse_number(format + 3, MAX_ITEMS, n_items);
        return p != NULL && *p == '\0' && *n_items > 0 ? WI_LIST_FIXED
                                                       : WI_LIST_NONE;
    }
    if (strcmp(format, "+l") == 0 || strcmp(format, "+m") == 0) {
        return WI_LIST_32;
    }
    return strcmp(format, "+L") == 0 ? WI_LIST_64 : WI_LIST_NONE;
}

static bool has_items(const struct ArrowSchema *schema)
{
    uint32_t n;
    return parse_list(schema->format, &n) != WI_LIST_NONE;
}

static weir_err open_items(const struct ArrowSchema *schema,
                           struct wi_column *c, struct weir_error *err);

static weir_err set_type(const struct ArrowSchema *child, uint32_t idx,
                         struct wi_column *c, struct weir_error *err)
{
    if (child->dictionary != NULL) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "schema: column %u (%s) is dictionary encoded: give the "
                       "type of its values here, and push it with "
                       "weir_writer_layout",
                       idx, c->name);
    }
    if (is_struct(child)) {
        set_kind(c, WI_KIND_STRUCT, WI_ORDER_NONE, 0);
        c->n_fields = (uint32_t)child->n_children;
        return WEIR_OK;
    }
    c->list = parse_list(child->format, &c->n_items);
    if (c->list != WI_LIST_NONE) {
        set_kind(c, WI_KIND_VAR, WI_ORDER_NONE, 0);
        return open_items(child, c, err);
    }
    if (child->n_children != 0 || !parse_format(child->format, c)) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "schema: column %u (%s) has format \"%s\"; supported "
                       "are " SUPPORTED,
                       idx, c->name, child->format);
    }
    return WEIR_OK;
}

static weir_err open_column(const struct ArrowSchema *child,
                            const struct wi_column *parent, uint32_t idx,
                            struct wi_column *c, struct weir_error *err)
{
    c->nullable = (child->flags & ARROW_FLAG_NULLABLE) != 0;
    c->name = name_of(child, parent);
    c->format = strdup(child->format);
    if (c->name == NULL || c->format == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "schema: no memory");
    }
    return set_type(child, idx, c, err);
}

/* The children of a struct, and theirs. `parent` is NULL for the batch. */
static weir_err open_fields(struct wi_schema *s,
                            const struct ArrowSchema *schema,
                            const struct wi_column *parent,
                            struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    for (int64_t i = 0; rc == WEIR_OK && i < schema->n_children; i++) {
        const struct ArrowSchema *child = schema->children[i];
        uint32_t idx = s->n_columns++;
        struct wi_column *c = &s->columns[idx];
        rc = open_column(child, parent, idx, c, err);
        if (rc == WEIR_OK && c->kind == WI_KIND_STRUCT) {
            rc = open_fields(s, child, c, err);
            c->n_below = s->n_columns - idx - 1;
        }
    }
    return rc;
}

/* FNV-1a with 64 bits (G. Fowler, L. Noll, K.-P. Vo), NUL included so that
 * neighbouring texts cannot run into each other. */
static uint64_t fnv1a(uint64_t h, const char *text)
{
    const char *p = text;
    do {
        h = (h ^ (uint8_t)*p) * 0x100000001b3u;
    } while (*p++ != '\0');
    return h;
}

static void sum_up(struct wi_schema *s)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < s->n_columns; i++) {
        const struct wi_column *c = &s->columns[i];
        bool var = c->kind == WI_KIND_VAR;
        s->n_var += var;
        s->n_lists += c->items != NULL;
        s->n_buffers += c->kind == WI_KIND_STRUCT ? 0u : 1u + var;
        s->n_buffers += c->nullable;
        s->fixed_bits += c->nullable;
        s->fixed_bits += var ? 32 : c->kind == WI_KIND_BITS ? 1 : c->width * 8;
        h = fnv1a(h, c->name);
        h = fnv1a(h, c->format);
        h = fnv1a(h, c->nullable ? "?" : "");
        if (c->kind == WI_KIND_STRUCT) {
            char fields[16];
            (void)snprintf(fields, sizeof(fields), "%u", c->n_fields);
            h = fnv1a(h, fields);
        }
        if (c->items != NULL) {
            char items[24];
            (void)snprintf(items, sizeof(items), "%016llx",
                           (unsigned long long)c->items->fingerprint);
            h = fnv1a(h, items);
        }
    }
    s->fingerprint = h;
}

/* How many columns these are, and those below them; are they there at all? */
static weir_err count_fields(const struct ArrowSchema *schema, uint32_t depth,
                             uint32_t *n, struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    if (schema->n_children < 1 || schema->n_children > MAX_COLUMNS ||
        *n + schema->n_children > MAX_COLUMNS || depth > WI_SCHEMA_DEPTH ||
        schema->children == NULL) {
        return wi_fail(
            err, WEIR_ERR_SCHEMA,
            "schema: %s%s has %lld columns, after %u others and in "
            "%u structs; 1 to %d columns in all, in structs %d deep, "
            "are supported",
            depth == 0 ? "it" : "column ",
            depth == 0 || schema->name == NULL ? "" : schema->name,
            (long long)schema->n_children, *n, depth, (int)MAX_COLUMNS,
            (int)WI_SCHEMA_DEPTH);
    }
    *n += (uint32_t)schema->n_children;
    for (int64_t i = 0; rc == WEIR_OK && i < schema->n_children; i++) {
        const struct ArrowSchema *child = schema->children[i];
        if (child == NULL || child->release == NULL || child->format == NULL) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "schema: column %lld is missing or released",
                           (long long)i);
        }
        if (child->dictionary == NULL &&
            (is_struct(child) || has_items(child))) {
            rc = count_fields(child, depth + 1, n, err);
        }
    }
    return rc;
}

/* The schema of columns that are there; `parent`: they are its items. */
static weir_err open_schema(const struct ArrowSchema *schema, uint32_t n,
                            const struct wi_column *parent,
                            struct wi_schema **out, struct weir_error *err)
{
    struct wi_schema *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "schema: no memory");
    }
    s->columns = calloc(n, sizeof(*s->columns));
    if (s->columns == NULL) {
        wi_schema_close(s);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "schema: no memory");
    }
    s->n_top = (uint32_t)schema->n_children;
    weir_err rc = open_fields(s, schema, parent, err);
    if (rc != WEIR_OK) {
        wi_schema_close(s);
        return rc;
    }
    sum_up(s);
    *out = s;
    return WEIR_OK;
}

/* A list has items of one type; those of a map are pairs. */
static weir_err open_items(const struct ArrowSchema *schema,
                           struct wi_column *c, struct weir_error *err)
{
    uint32_t n = 0;
    const struct ArrowSchema *item = schema->children[0];
    if (schema->n_children != 1 ||
        (is_map(schema) && (!is_struct(item) || item->n_children != 2))) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "schema: column %s has format \"%s\" and %lld children: "
                       "a list has one, which of a map is a struct of two",
                       c->name, c->format, (long long)schema->n_children);
    }
    weir_err rc = count_fields(schema, 0, &n, err);
    return rc == WEIR_OK ? open_schema(schema, n, c, &c->items, err) : rc;
}

static weir_err check_struct(const struct ArrowSchema *schema, uint32_t *n_out,
                             struct weir_error *err)
{
    if (schema == NULL || schema->release == NULL || schema->format == NULL) {
        return wi_fail(err, WEIR_ERR_ARG, "schema is missing or released");
    }
    if (!is_struct(schema)) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "schema has format \"%s\"; a struct (\"+s\") of columns "
                       "is needed",
                       schema->format);
    }
    return count_fields(schema, 0, n_out, err);
}

weir_err wi_schema_open(const struct ArrowSchema *schema,
                        struct wi_schema **out, struct weir_error *err)
{
    uint32_t n = 0;
    weir_err rc = check_struct(schema, &n, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    return open_schema(schema, n, NULL, out, err);
}

weir_err wi_schema_pick(const struct wi_schema *s, const uint32_t *columns,
                        uint32_t n, struct wi_schema **out,
                        struct weir_error *err)
{
    struct wi_schema *picked = calloc(1, sizeof(*picked));
    struct wi_column *cols = calloc(n, sizeof(*cols));
    bool full = picked != NULL && cols != NULL;
    for (uint32_t i = 0; full && i < n; i++) {
        cols[i] = s->columns[columns[i]];
        cols[i].nullable = true;
        cols[i].name = strdup(cols[i].name);
        cols[i].format = strdup(cols[i].format);
        picked->n_columns++;
        full = cols[i].name != NULL && cols[i].format != NULL;
    }
    if (picked == NULL || cols == NULL) {
        free(picked);
        free(cols);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "schema: no memory");
    }
    picked->columns = cols;
    picked->n_top = picked->n_columns;
    if (!full) {
        wi_schema_close(picked);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "schema: no memory");
    }
    sum_up(picked);
    *out = picked;
    return WEIR_OK;
}

void wi_schema_close(struct wi_schema *s)
{
    if (s == NULL) {
        return;
    }
    for (uint32_t i = 0; i < s->n_columns; i++) {
        free(s->columns[i].name);
        free(s->columns[i].format);
        wi_schema_close(s->columns[i].items);
    }
    free(s->columns);
    free(s);
}

int wi_schema_find(const struct wi_schema *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_columns; i += 1 + s->columns[i].n_below) {
        if (strcmp(s->columns[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

void wi_schema_text(const struct wi_schema *s, char *text, size_t bytes)
{
    size_t used = 0;
    if (bytes > 0) {
        text[0] = '\0';
    }
    for (uint32_t i = 0; i < s->n_columns && used < bytes; i++) {
        const struct wi_column *c = &s->columns[i];
        int n =
            snprintf(text + used, bytes - used, "%s%s:%s%s", i == 0 ? "" : ", ",
                     c->name, c->format, c->nullable ? "?" : "");
        used += n < 0 ? 0 : (size_t)n;
    }
}
