/* SPDX-License-Identifier: Apache-2.0 */
/* Room for a whole row is made at once. */
#include "tools/gen_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/value_text.h"

enum {
    VALUE_BYTES = WI_VALUE_TEXT_BYTES + 1, /* and its delimiter */
    FIRST_BYTES = 1 << 16,
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

/* ---- values -------------------------------------------------------------- */

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
        return to + wi_exact_text(((const int32_t *)v->values)[at], 0, to);
    case WI_TYPE_TIMESTAMP:
        return to + wi_timestamp_text(((const int64_t *)v->values)[at],
                                      v->type.unit, to);
    case WI_TYPE_DECIMAL:
        return to + wi_exact_text(((const wi_i128 *)v->values)[at],
                                  v->type.scale, to);
    default:
        assert(v->type.kind == WI_TYPE_UTF8);
        return put_text(to, v, at);
    }
}

/* ---- rows ---------------------------------------------------------------- */

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
