/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows of a table that scans keep in memory, by part.
 *
 *   scan of part 3, columns {0, 4}:   take --> nothing there: fill the store,
 *                                     then keep
 *   the same again:                   take --> whole: read the store
 *
 * Rule: a part is used by one worker at a time, and one worker is one thread;
 * so nothing is locked. While a part is being filled, or others read it with
 * other columns, a scan reads the table itself.
 */
#ifndef WI_OPERATORS_KEPT_H
#define WI_OPERATORS_KEPT_H

#include "operators/base/store.h"

/** Parts from this number on are not kept. */
#define WI_KEPT_PARTS 1024u

enum wi_kept_state { WI_KEPT_EMPTY, WI_KEPT_FILLING, WI_KEPT_WHOLE };

/** One part. written by: the worker that scans it */
struct wi_kept_part {
    enum wi_kept_state state;
    uint32_t n_readers; /* scans that read it now: it must not be dropped */
    uint32_t n_parts;
    uint32_t n_cols;
    uint32_t *cols; /* of the table */
    struct wi_store store;
    struct wi_op_mem mem; /* without a limit: it outlives every run */
};

struct wi_kept;

/** Errors: WEIR_ERR_NO_MEMORY. Ownership: wi_kept_close; NULL allowed. */
weir_err wi_kept_open(struct wi_kept **out, struct weir_error *err);
void wi_kept_close(struct wi_kept *kept);

/** The place of a part's rows, or NULL if the part has none. */
struct wi_kept_part *wi_kept_part(struct wi_kept *kept, uint32_t part);

/** Does it hold all its rows, of these columns, for n_parts parts? */
bool wi_kept_has(const struct wi_kept_part *p, uint32_t n_parts,
                 const uint32_t *cols, uint32_t n_cols);

/** Drop what is there and begin to fill. Errors: WEIR_ERR_NO_MEMORY. */
weir_err wi_kept_begin(struct wi_kept_part *p, uint32_t n_parts,
                       const uint32_t *cols, const struct wi_columns *columns,
                       struct weir_error *err);

/** Back to empty. */
void wi_kept_drop(struct wi_kept_part *p);

#endif /* WI_OPERATORS_KEPT_H */
