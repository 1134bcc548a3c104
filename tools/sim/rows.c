/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/rows.h"

#include <stdlib.h>
#include <string.h>

#include "tools/sim/random.h"

uint64_t ws_row_key(const struct ws_rows *rows, uint64_t id)
{
    return ws_mix(id) % rows->keys;
}

void ws_sums_add(struct ws_sums *sums, uint64_t id)
{
    sums->rows++;
    sums->sum += ws_mix(id ^ 0x5eed);
}

static uint32_t text_bytes(const struct ws_rows *rows, uint64_t id)
{
    uint64_t x = ws_mix(id + 1);
    if (rows->big_bytes != 0 && x / WS_SMALL_TEXT % rows->big_every == 0) {
        return rows->big_bytes;
    }
    return (uint32_t)(x % WS_SMALL_TEXT);
}

static char letter(uint64_t id, uint32_t i)
{
    return (char)('a' + (id * 7 + i * 5 + i / 26) % 26);
}

weir_err ws_rows_schema(struct ArrowSchema *schema, struct weir_error *err)
{
    static const struct weir_field fields[WS_COLUMNS] = {
        {"id", "l", 0}, {"k", "l", 0}, {"t", "u", 0}};
    return weir_schema_build(fields, WS_COLUMNS, schema, err);
}

/* ---- batches to push ----------------------------------------------------- */

static void keep(struct ArrowArray *a)
{
    (void)a; /* the batch is its owner's */
}

void ws_batch_init(struct ws_batch *b)
{
    memset(b, 0, sizeof(*b));
    const void **at = b->buffers + 1;
    for (uint32_t i = 0; i < WS_COLUMNS; i++) {
        const int64_t n = i + 1 < WS_COLUMNS ? 2 : 3;
        b->column[i] =
            (struct ArrowArray){.n_buffers = n, .buffers = at, .release = keep};
        b->children[i] = &b->column[i];
        at += n;
    }
    b->buffers[2] = b->id;
    b->buffers[4] = b->key;
    b->buffers[6] = b->offset;
    b->array = (struct ArrowArray){.n_buffers = 1,
                                   .n_children = WS_COLUMNS,
                                   .buffers = b->buffers,
                                   .children = b->children,
                                   .release = keep};
}

void ws_batch_fini(struct ws_batch *b)
{
    free(b->text);
    b->text = NULL;
}

void ws_batch_clear(struct ws_batch *b)
{
    b->array.length = 0;
    for (uint32_t i = 0; i < WS_COLUMNS; i++) {
        b->column[i].length = 0;
    }
}

static bool make_room(struct ws_batch *b, uint32_t bytes)
{
    if (bytes <= b->room) {
        return true;
    }
    char *p = realloc(b->text, 2 * (size_t)bytes);
    if (p == NULL) {
        return false;
    }
    b->text = p;
    b->room = 2 * bytes;
    return true;
}

bool ws_batch_add(struct ws_batch *b, const struct ws_rows *rows, uint64_t id)
{
    const int64_t i = b->array.length;
    const uint32_t used = (uint32_t)b->offset[i];
    const uint32_t n = text_bytes(rows, id);
    if (!make_room(b, used + n + 1)) {
        return false;
    }
    for (uint32_t at = 0; at < n; at++) {
        b->text[used + at] = letter(id, at);
    }
    b->buffers[7] = b->text;
    b->id[i] = (int64_t)id;
    b->key[i] = (int64_t)ws_row_key(rows, id);
    b->offset[i + 1] = (int32_t)(used + n);
    b->array.length = i + 1;
    for (uint32_t c = 0; c < WS_COLUMNS; c++) {
        b->column[c].length = i + 1;
    }
    return true;
}

/* ---- batches that came --------------------------------------------------- */

static const int64_t *numbers(const struct ArrowArray *b, uint32_t column)
{
    const struct ArrowArray *c = b->children[column];
    return (const int64_t *)c->buffers[1] + c->offset + b->offset;
}

uint64_t ws_batch_id(const struct ArrowArray *b, int64_t i)
{
    return (uint64_t)numbers(b, 0)[i];
}

static bool text_is(const struct ws_rows *rows, const struct ArrowArray *b,
                    int64_t i, uint64_t id)
{
    const struct ArrowArray *c = b->children[2];
    const int32_t *at = (const int32_t *)c->buffers[1] + c->offset + b->offset;
    const char *text = (const char *)c->buffers[2] + at[i];
    const uint32_t n = text_bytes(rows, id);
    if ((uint32_t)(at[i + 1] - at[i]) != n) {
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        if (text[k] != letter(id, k)) {
            return false;
        }
    }
    return true;
}

bool ws_batch_check(const struct ws_rows *rows, const struct ArrowArray *b,
                    struct ws_sums *sums)
{
    for (int64_t i = 0; i < b->length; i++) {
        const uint64_t id = ws_batch_id(b, i);
        if ((uint64_t)numbers(b, 1)[i] != ws_row_key(rows, id) ||
            !text_is(rows, b, i, id)) {
            return false;
        }
        ws_sums_add(sums, id);
    }
    return true;
}
