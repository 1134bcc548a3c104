/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The rows of simulated runs: every value is a function of the row's number, so
 * that any batch can be checked by itself, and what a query should give is
 * known beforehand.
 *
 *   id   its number     k   a key, below `keys`     t   a text
 */
#ifndef WS_ROWS_H
#define WS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/batch.h>

enum {
    WS_BATCH_ROWS = 64,
    WS_COLUMNS = 3,
    WS_SMALL_TEXT = 24,
    WS_DEST_ROWS = 512
};

/** What rows are like. */
struct ws_rows {
    uint32_t keys;
    uint32_t big_every; /* every so many rows, on average, has a text of ... */
    uint32_t big_bytes; /* ... so many bytes; 0: none has */
};

/** Rows added up; the order does not matter. */
struct ws_sums {
    uint64_t rows;
    uint64_t sum;
};

/** A batch to be pushed. */
struct ws_batch {
    struct ArrowArray array;
    struct ArrowArray column[WS_COLUMNS];
    struct ArrowArray *children[WS_COLUMNS];
    const void *buffers[1 + 2 + 2 + 3];
    int64_t id[WS_BATCH_ROWS];
    int64_t key[WS_BATCH_ROWS];
    int32_t offset[WS_BATCH_ROWS + 1];
    uint32_t dest[WS_DEST_ROWS]; /* of it, or of a batch that is sent on */
    char *text;
    uint32_t room;
};

/** Number of the n-th row that a worker makes of a stage of a query. */
static inline uint64_t ws_row_id(uint32_t query, uint32_t stage, uint32_t node,
                                 uint32_t worker, uint32_t n)
{
    return (uint64_t)query << 48 | (uint64_t)stage << 44 |
           (uint64_t)node << 36 | (uint64_t)worker << 32 | n;
}

uint64_t ws_row_key(const struct ws_rows *rows, uint64_t id);
void ws_sums_add(struct ws_sums *sums, uint64_t id);

weir_err ws_rows_schema(struct ArrowSchema *schema, struct weir_error *err);

/** An empty batch. Ownership: ws_batch_fini. */
void ws_batch_init(struct ws_batch *b);
void ws_batch_fini(struct ws_batch *b);
void ws_batch_clear(struct ws_batch *b);

/** Add a row; there is room for WS_BATCH_ROWS. False: no memory. */
bool ws_batch_add(struct ws_batch *b, const struct ws_rows *rows, uint64_t id);

/** Number of row i of a batch that came. */
uint64_t ws_batch_id(const struct ArrowArray *b, int64_t i);

/** Add up the rows of a batch that came. False: a value is not what its row's
 *  number says. */
bool ws_batch_check(const struct ws_rows *rows, const struct ArrowArray *b,
                    struct ws_sums *sums);

#endif /* WS_ROWS_H */
