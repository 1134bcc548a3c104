/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "bench/lib/rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/lib/keys.h"
#include "core/base/bytes.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/base/pages.h"

/* ---- memory -------------------------------------------------------------- */

void *wb_pages_alloc(uint64_t bytes)
{
    bytes = wi_align_up(bytes, WI_HUGE_PAGE);
    void *mem = aligned_alloc(WI_HUGE_PAGE, bytes);
    if (mem != NULL) {
        (void)madvise(mem, bytes, MADV_HUGEPAGE);
        memset(mem, 0, bytes);
    }
    return mem;
}

/* ---- rows ---------------------------------------------------------------- */

uint32_t wb_rows_fields(bool mixed, const struct weir_field **fields_out)
{
    static const struct weir_field fields[WB_ROWS_COLUMNS] = {
        {"key", "l", 0},
        {"number", "i", 0},
        {"amount", "d:38,2", 0},
        {"text", "u", 0}};
    *fields_out = fields;
    return mixed ? WB_ROWS_COLUMNS : 1;
}

static void fill_text(uint8_t *text, uint64_t key)
{
    for (uint32_t i = 0; i < WB_ROWS_TEXT; i++) {
        text[i] = (uint8_t)('a' + ((key >> (i % 16)) & 15));
    }
}

static void fill_mixed(struct wb_rows *rows)
{
    struct wb_columns *c = &rows->columns;
    for (uint64_t i = 0; i < rows->n; i++) {
        uint64_t key = (uint64_t)c->key[i];
        c->number[i] = (int32_t)(key >> 7);
        c->amount[2 * i] = key * 3;
        c->amount[2 * i + 1] = 0;
        c->ends[i] = (int32_t)(i * WB_ROWS_TEXT);
        fill_text(c->bytes + i * WB_ROWS_TEXT, key);
    }
    c->ends[rows->n] = (int32_t)(rows->n * WB_ROWS_TEXT);
}

weir_err wb_rows_open(struct wb_rows *rows, uint64_t n, bool mixed,
                      struct weir_error *err)
{
    struct wb_columns *c = &rows->columns;
    *rows = (struct wb_rows){.n = n, .mixed = mixed};
    c->key = wb_pages_alloc(n * 8);
    bool ok = c->key != NULL;
    if (mixed) {
        c->number = wb_pages_alloc(n * 4);
        c->amount = wb_pages_alloc(n * 16);
        c->ends = wb_pages_alloc((n + 1) * 4);
        c->bytes = wb_pages_alloc(n * WB_ROWS_TEXT);
        ok = ok && c->number != NULL && c->amount != NULL && c->ends != NULL &&
             c->bytes != NULL;
    }
    if (!ok) {
        wb_rows_close(rows);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for the rows");
    }
    for (uint64_t i = 0; i < n; i += WB_BATCH_ROWS) {
        uint64_t left = wi_min_u64(n - i, WB_BATCH_ROWS);
        (void)wb_keys_make(c->key + i, i, (uint32_t)left);
    }
    if (mixed) {
        fill_mixed(rows);
    }
    return WEIR_OK;
}

void wb_rows_close(struct wb_rows *rows)
{
    struct wb_columns *c = &rows->columns;
    free(c->key);
    free(c->number);
    free(c->amount);
    free(c->ends);
    free(c->bytes);
    *c = (struct wb_columns){.key = NULL};
}

static uint64_t sum_text(const struct wb_columns *c, uint64_t i)
{
    uint64_t sum = 0;
    for (int32_t at = c->ends[i]; at < c->ends[i + 1]; at++) {
        sum = sum * 31 + c->bytes[at];
    }
    return sum;
}

uint64_t wb_rows_sum(const struct wb_columns *c, uint64_t n)
{
    uint64_t sum = 0;
    if (c->number == NULL) {
        return wb_keys_sum(c->key, n);
    }
    for (uint64_t i = 0; i < n; i++) { /* the columns of one row belong */
        uint64_t amount = c->amount[2 * i] + c->amount[2 * i + 1];
        uint64_t x = (uint64_t)c->key[i] * 5 + (uint64_t)c->number[i] * 7;
        x = (x ^ amount) * UINT64_C(0xd1342543de82ef95) + sum_text(c, i);
        sum += x ^ (x >> 31);
    }
    return sum;
}

/* ---- batches ------------------------------------------------------------- */

static void keep(struct ArrowArray *array)
{
    array->release = NULL;
}

static void set_child(struct wb_batch *b, uint32_t i, uint64_t first,
                      const void *values, const void *bytes)
{
    struct ArrowArray *a = &b->children[i];
    b->buffers[i][1] = values;
    b->buffers[i][2] = bytes;
    *a = (struct ArrowArray){.n_buffers = bytes != NULL ? 3 : 2,
                             .buffers = b->buffers[i],
                             .length = b->array.length,
                             .offset = (int64_t)first,
                             .release = keep};
    b->pointers[i] = a;
}

void wb_batch_set(struct wb_batch *b, const struct wb_rows *rows,
                  uint64_t first, uint32_t n)
{
    const struct wb_columns *c = &rows->columns;
    memset(b, 0, sizeof(*b));
    b->array = (struct ArrowArray){.length = n,
                                   .n_buffers = 1,
                                   .buffers = b->none,
                                   .n_children = rows->mixed ? 4 : 1,
                                   .children = b->pointers,
                                   .release = keep};
    set_child(b, 0, first, c->key, NULL);
    set_child(b, 1, first, c->number, NULL);
    set_child(b, 2, first, c->amount, NULL);
    set_child(b, 3, first, c->ends, c->bytes);
}

struct wb_columns wb_batch_columns(const struct ArrowArray *batch)
{
    struct ArrowArray **child = batch->children;
    struct wb_columns c = {.key = (int64_t *)child[0]->buffers[1]};
    if (batch->n_children == WB_ROWS_COLUMNS) {
        c.number = (int32_t *)child[1]->buffers[1];
        c.amount = (uint64_t *)child[2]->buffers[1];
        c.ends = (int32_t *)child[3]->buffers[1];
        c.bytes = (uint8_t *)child[3]->buffers[2];
    }
    return c;
}
