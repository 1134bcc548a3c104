/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows for benches that partition in memory, column by column.
 *
 *   narrow   key int64
 *   mixed    key int64, number int32, amount decimal128, text utf8 of 20 bytes
 *
 * Keys are distinct, everything else follows from the key. No nulls.
 */
#ifndef WB_ROWS_H
#define WB_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

enum { WB_ROWS_COLUMNS = 4, WB_ROWS_TEXT = 20 };

/** Columns of n rows; all but `key` are NULL for narrow ones. Row i's text is
 *  bytes[ends[i]] up to bytes[ends[i + 1]]. */
struct wb_columns {
    int64_t *key;
    int32_t *number;
    uint64_t *amount; /* two words each */
    int32_t *ends;
    uint8_t *bytes;
};

struct wb_rows {
    struct wb_columns columns;
    uint64_t n;
    bool mixed;
};

/**
 * Make n rows in memory of huge pages.
 *
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     while pages are made
 * Threads:    any
 * Ownership:  wb_rows_close
 */
weir_err wb_rows_open(struct wb_rows *rows, uint64_t n, bool mixed,
                      struct weir_error *err);
void wb_rows_close(struct wb_rows *rows);

/** Columns in the form of weir_schema_build(); returns how many.
 *  Errors: none. Blocks: never. Threads: any. Ownership: static. */
uint32_t wb_rows_fields(bool mixed, const struct weir_field **fields_out);

/** Sum over n rows that does not depend on their order.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
uint64_t wb_rows_sum(const struct wb_columns *c, uint64_t n);

/** A batch that borrows rows, to be moved along them. */
struct wb_batch {
    struct ArrowArray array;
    struct ArrowArray children[WB_ROWS_COLUMNS];
    struct ArrowArray *pointers[WB_ROWS_COLUMNS];
    const void *buffers[WB_ROWS_COLUMNS][3];
    const void *none[1];
};

/** Make the batch show rows [first, first + n). The batch must stay where it
 *  is. Errors: none. Blocks: never. Threads: any. Ownership: rows are
 *  borrowed. */
void wb_batch_set(struct wb_batch *b, const struct wb_rows *rows,
                  uint64_t first, uint32_t n);

/** The columns of a batch with offset 0, as weir_reader_next() gives them.
 *  Errors: none. Blocks: never. Threads: any. Ownership: borrowed. */
struct wb_columns wb_batch_columns(const struct ArrowArray *batch);

/** Memory of huge pages, or NULL; all zero, and touched.
 *  Errors: none. Blocks: while pages are made. Threads: any.
 *  Ownership: free(3). */
void *wb_pages_alloc(uint64_t bytes);

#endif /* WB_ROWS_H */
