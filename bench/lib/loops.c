/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lib/loops.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <weir/shuffle.h>

#include "core/base/cc.h"
#include "core/base/err.h"

enum { ROWS = WB_LOOPS_ROWS };

static const struct weir_field fields[WB_LOOPS_COLUMNS] = {
    {"k", "l", 0}, {"n", "i", 0}, {"s", "u", 0}};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33 ^ *state << 31;
}

static void *take_memory(size_t bytes)
{
    bytes = wi_align_up(bytes, WI_CACHE_LINE);
    void *mem = aligned_alloc(WI_CACHE_LINE, bytes);
    if (mem != NULL) {
        memset(mem, 0, bytes);
    }
    return mem;
}

/* ---- batches ------------------------------------------------------------- */

static bool fill_texts(struct wi_view *v, uint64_t *state)
{
    int32_t *offsets = take_memory((ROWS + 1) * sizeof(*offsets));
    v->values = offsets;
    v->bytes = take_memory((size_t)ROWS * WB_LOOPS_TEXT);
    for (uint32_t i = 0; offsets != NULL && i < ROWS; i++) {
        uint32_t len = (uint32_t)(next_random(state) % (WB_LOOPS_TEXT + 1));
        offsets[i + 1] = offsets[i] + (int32_t)len;
    }
    return offsets != NULL && v->bytes != NULL;
}

static bool fill_words(struct wi_view *v, uint64_t *state)
{
    uint64_t *values = take_memory(ROWS * sizeof(*values));
    v->values = values;
    for (uint32_t i = 0; values != NULL && i < ROWS; i++) {
        values[i] = next_random(state);
    }
    return values != NULL;
}

static bool fill_batch(struct wb_loops *b, uint32_t n, uint64_t *state)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        uint64_t random = next_random(state) & UINT32_MAX;
        b->dest[n][i] = (uint32_t)(random * b->n_dest >> 32);
    }
    return fill_words(&b->views[n][0], state) &&
           fill_words(&b->views[n][1], state) &&
           fill_texts(&b->views[n][2], state);
}

static bool fill_batches(struct wb_loops *b)
{
    uint64_t state = 1;
    bool ok = true;
    for (uint32_t n = 0; n < WB_LOOPS_BATCHES && ok; n++) {
        ok = fill_batch(b, n, &state);
    }
    b->bits = take_memory(ROWS / 8 + 8);
    for (uint32_t i = 0; b->bits != NULL && i < ROWS / 8 + 8; i++) {
        b->bits[i] = (uint8_t)next_random(&state);
    }
    for (int32_t i = 0; i <= ROWS; i++) {
        b->steps[i] = i / 64;
    }
    b->out = take_memory((size_t)ROWS * (WB_LOOPS_TEXT + 8));
    return ok && b->bits != NULL && b->out != NULL;
}

/* ---- lists --------------------------------------------------------------- */

/* A batch's lists: those of the partition are gone with the next split. */
static bool keep_lists(struct wb_loops *b, uint32_t n)
{
    struct wi_split s;
    uint32_t *idx = take_memory(ROWS * sizeof(*idx));
    uint32_t *begin = take_memory(b->n_dest * sizeof(*begin));
    uint32_t *count = take_memory(b->n_dest * sizeof(*count));
    uint32_t next = 0;
    b->split[n] = (struct wi_split){idx, begin, count, 0, ROWS};
    if (idx == NULL || begin == NULL || count == NULL) {
        return false;
    }
    wi_partition_split(b->vector, b->views[n], 0, ROWS, b->dest[n], &s);
    for (uint32_t d = 0; d < b->n_dest; d++) {
        memcpy(idx + next, s.idx + s.begin[d], s.count[d] * sizeof(*idx));
        begin[d] = next;
        count[d] = s.count[d];
        next += s.count[d];
    }
    return true;
}

static weir_err open_partition(const struct wb_loops *b, weir_partitioning kind,
                               uint32_t n_keys, struct wi_partition **out,
                               struct weir_error *err)
{
    static const char *const keys[] = {"k", "n"};
    struct wi_partition_params params = {
        .kind = kind, .n_dest = b->n_dest, .keys = keys, .n_keys = n_keys};
    return wi_partition_open(b->schema, &params, out, err);
}

static weir_err open_partitions(struct wb_loops *b, struct weir_error *err)
{
    struct ArrowSchema schema;
    weir_err rc = weir_schema_build(fields, WB_LOOPS_COLUMNS, &schema, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = wi_schema_open(&schema, &b->schema, err);
    schema.release(&schema);
    rc = rc == WEIR_OK ? open_partition(b, WEIR_HASH, 1, &b->hash, err) : rc;
    rc = rc == WEIR_OK ? open_partition(b, WEIR_HASH, 2, &b->several, err) : rc;
    return rc == WEIR_OK ? open_partition(b, WEIR_VECTOR, 0, &b->vector, err)
                         : rc;
}

weir_err wb_loops_open(struct wb_loops *b, uint32_t n_dest,
                       struct weir_error *err)
{
    memset(b, 0, sizeof(*b));
    b->n_dest = n_dest;
    if (n_dest < 2) {
        return wi_fail(err, WEIR_ERR_ARG, "lists of %u destinations", n_dest);
    }
    weir_err rc = open_partitions(b, err);
    bool ok = rc == WEIR_OK && fill_batches(b);
    for (uint32_t n = 0; n < WB_LOOPS_BATCHES && ok; n++) {
        ok = keep_lists(b, n);
    }
    if (rc == WEIR_OK && !ok) {
        rc = wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for batches");
    }
    if (rc != WEIR_OK) {
        wb_loops_close(b);
    }
    return rc;
}

static void drop(const void *memory)
{
    free((void *)(uintptr_t)memory);
}

void wb_loops_close(struct wb_loops *b)
{
    for (uint32_t n = 0; n < WB_LOOPS_BATCHES; n++) {
        for (uint32_t c = 0; c < WB_LOOPS_COLUMNS; c++) {
            drop(b->views[n][c].values);
            drop(b->views[n][c].bytes);
        }
        drop(b->split[n].idx);
        drop(b->split[n].begin);
        drop(b->split[n].count);
    }
    free(b->bits);
    free(b->out);
    wi_partition_close(b->hash);
    wi_partition_close(b->several);
    wi_partition_close(b->vector);
    if (b->schema != NULL) {
        wi_schema_close(b->schema);
    }
}
