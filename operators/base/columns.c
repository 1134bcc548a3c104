/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of columns, to and from Arrow schemas. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/base/type.h"

/* Formats of one letter, and their types in the same order. */
static const char letters[] = "bcsilCSILfguz";
static const enum wi_type_kind letter_kinds[] = {
    WI_TYPE_BOOL,   WI_TYPE_INT8,    WI_TYPE_INT16,   WI_TYPE_INT32,
    WI_TYPE_INT64,  WI_TYPE_UINT8,   WI_TYPE_UINT16,  WI_TYPE_UINT32,
    WI_TYPE_UINT64, WI_TYPE_FLOAT32, WI_TYPE_FLOAT64, WI_TYPE_UTF8,
    WI_TYPE_BINARY,
};
static const char unit_letters[] = "smun"; /* by enum wi_unit */
#define FORMAT_BYTES 32

static bool decimal_from(const char *format, struct wi_type *type)
{
    unsigned precision = 0;
    unsigned scale = 0;
    unsigned bits = 128;
    char rest = 0;
    int n = sscanf(format, "d:%3u,%3u,%4u%c", &precision, &scale, &bits, &rest);
    if ((n != 2 && n != 3) || precision < 1 || precision > WI_DECIMAL_MOST ||
        scale > precision || bits != 128) {
        return false;
    }
    type->kind = WI_TYPE_DECIMAL;
    type->precision = (uint8_t)precision;
    type->scale = (uint8_t)scale;
    return true;
}

static bool type_from(const char *format, struct wi_type *type)
{
    const char *letter = format[0] == '\0' ? NULL : strchr(letters, format[0]);
    if (letter != NULL && format[1] == '\0') {
        type->kind = letter_kinds[letter - letters];
        return true;
    }
    if (strcmp(format, "tdD") == 0) {
        type->kind = WI_TYPE_DATE32;
        return true;
    }
    if (strncmp(format, "ts", 2) == 0 && format[2] != '\0' &&
        format[3] == ':') {
        const char *unit = strchr(unit_letters, format[2]);
        type->kind = WI_TYPE_TIMESTAMP;
        type->unit = unit == NULL ? 0 : (uint8_t)(unit - unit_letters);
        return unit != NULL;
    }
    if (strncmp(format, "w:", 2) == 0) {
        char rest = 0;
        type->kind = WI_TYPE_FIXED;
        return sscanf(format, "w:%5" SCNu32 "%c", &type->n_bytes, &rest) == 1 &&
               type->n_bytes >= 1 && type->n_bytes <= 4096;
    }
    return decimal_from(format, type);
}

static void format_of(const struct wi_type *type, char format[FORMAT_BYTES])
{
    for (size_t i = 0; i < sizeof(letters) - 1; i++) {
        if (letter_kinds[i] == type->kind) {
            (void)snprintf(format, FORMAT_BYTES, "%c", letters[i]);
            return;
        }
    }
    if (type->kind == WI_TYPE_DATE32) {
        (void)snprintf(format, FORMAT_BYTES, "tdD");
    } else if (type->kind == WI_TYPE_TIMESTAMP) {
        (void)snprintf(format, FORMAT_BYTES, "ts%c:", unit_letters[type->unit]);
    } else if (type->kind == WI_TYPE_FIXED) {
        (void)snprintf(format, FORMAT_BYTES, "w:%" PRIu32, type->n_bytes);
    } else {
        (void)snprintf(format, FORMAT_BYTES, "d:%u,%u", type->precision,
                       type->scale);
    }
}

weir_err wi_columns_add(struct wi_columns *columns, const char *name,
                        const struct wi_type *type)
{
    struct wi_named_type *at =
        realloc(columns->at, (columns->n + 1) * sizeof(*columns->at));
    if (at == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    columns->at = at;
    char *copy = strdup(name);
    if (copy == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    at[columns->n] = (struct wi_named_type){.name = copy, .type = *type};
    columns->n++;
    return WEIR_OK;
}

void wi_columns_fini(struct wi_columns *columns)
{
    for (uint32_t i = 0; i < columns->n; i++) {
        free(columns->at[i].name);
    }
    free(columns->at);
    *columns = (struct wi_columns){0};
}

int wi_columns_find(const struct wi_columns *columns, const char *name)
{
    for (uint32_t i = 0; i < columns->n; i++) {
        if (strcmp(columns->at[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static weir_err add_child(struct wi_columns *columns,
                          const struct ArrowSchema *child,
                          struct weir_error *err)
{
    const char *name = child->name == NULL ? "" : child->name;
    struct wi_type type = {.nullable =
                               (child->flags & ARROW_FLAG_NULLABLE) != 0};
    if (child->dictionary != NULL || !type_from(child->format, &type)) {
        return wi_exec_fail(err, WEIR_ERR_SCHEMA,
                            "column \"%s\": Arrow format \"%s\"%s is not "
                            "supported (weir/batch.h lists those that are)",
                            name, child->format,
                            child->dictionary != NULL ? " with a dictionary"
                                                      : "");
    }
    weir_err code = wi_columns_add(columns, name, &type);
    return code == WEIR_OK ? code : wi_exec_no_memory(err, sizeof(type));
}

weir_err wi_columns_from_arrow(const struct ArrowSchema *schema,
                               struct wi_columns *out, struct weir_error *err)
{
    if (schema == NULL || strcmp(schema->format, "+s") != 0) {
        return wi_exec_fail(err, WEIR_ERR_SCHEMA,
                            "a struct of columns (Arrow format \"+s\") was "
                            "expected");
    }
    struct wi_columns columns = {0};
    for (int64_t i = 0; i < schema->n_children; i++) {
        weir_err code = add_child(&columns, schema->children[i], err);
        if (code != WEIR_OK) {
            wi_columns_fini(&columns);
            return code;
        }
    }
    *out = columns;
    return WEIR_OK;
}

weir_err wi_columns_to_arrow(const struct wi_columns *columns,
                             struct ArrowSchema *out, struct weir_error *err)
{
    struct weir_field *fields = calloc(columns->n, sizeof(*fields));
    char(*formats)[FORMAT_BYTES] = calloc(columns->n, sizeof(*formats));
    weir_err code = WEIR_ERR_NO_MEMORY;
    if (fields != NULL && formats != NULL) {
        for (uint32_t i = 0; i < columns->n; i++) {
            const struct wi_named_type *c = &columns->at[i];
            format_of(&c->type, formats[i]);
            fields[i] = (struct weir_field){.name = c->name,
                                            .format = formats[i],
                                            .nullable = c->type.nullable};
        }
        code = weir_schema_build(fields, columns->n, out, err);
    } else {
        code = wi_exec_no_memory(err, columns->n * sizeof(*fields));
    }
    free(fields);
    free(formats);
    return code;
}
