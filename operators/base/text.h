/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Text: bytes of strings that are kept, in blocks that never move.
 *
 *   blocks -> [next|bytes....used..room] -> [next|bytes.....] -> NULL
 *
 * Pieces are given back all together, by fini.
 */
#ifndef WI_OPERATORS_TEXT_H
#define WI_OPERATORS_TEXT_H

#include "operators/base/mem.h"

struct wi_text_block;

/* written by: the worker. A zeroed one with mem set is empty. */
struct wi_text {
    struct wi_op_mem *mem;
    struct wi_text_block *blocks; /* the newest first */
    uint64_t n_bytes;             /* in pieces */
};

/** A piece of n bytes, not aligned. Errors: as wi_mem_take. Blocks: never.
 *  Threads: the worker's. Ownership: the text's. */
weir_err wi_text_take(struct wi_text *text, size_t n, char **out,
                      struct weir_error *err);

/** Free all pieces; the text is then empty. */
void wi_text_fini(struct wi_text *text);

#endif /* WI_OPERATORS_TEXT_H */
