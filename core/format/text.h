/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Texts that do not lie one behind the other: where each one is, row by row.
 * What views of utf8 and binary, 64-bit offsets and dictionaries become when a
 * batch is taken in (intake.h); a column has either these or int32 offsets.
 *
 *   texts[i] --> at: len bytes of row i; of these and what follows, `room`
 *                bytes may be read
 */
#ifndef WI_TEXT_H
#define WI_TEXT_H

#include <stdint.h>
#include <string.h>

#include "core/format/frame_copy.h"
#include "core/format/schema.h"

struct wi_text {
    const uint8_t *at; /* never NULL */
    uint32_t len;      /* at most INT32_MAX; 0 under a null */
    uint32_t room;     /* at least len */
};

/** Bytes of the VAR value of a row.
 *  Errors: none. Blocks: never. Threads: any. Ownership: caller's. */
uint32_t wi_text_len(const struct wi_view *v, uint64_t row);

/** Where the VAR value of a row is, and its bytes.
 *  Errors: none. Blocks: never. Threads: any. Ownership: the batch's. */
const uint8_t *wi_text_at(const struct wi_view *v, uint64_t row,
                          uint32_t *len_out);

/** Bytes of the VAR values of rows [0, n) of a batch.
 *  Errors: none. Blocks: never; O(n) with texts. Threads: any.
 *  Ownership: nothing. */
uint64_t wi_text_sum(const struct wi_view *v, uint64_t n);

/** Move a text to where `room` bytes may be written, at least its len.
 *  Errors: none. Blocks: never. Threads: any. Ownership: caller's. */
static inline void wi_text_move(uint8_t *to, uint32_t room,
                                const struct wi_text *t)
{
    if (t->len <= 32 && t->room >= 32 && room >= 32) {
        memcpy(to, t->at, 32);
    } else {
        memcpy(to, t->at, t->len);
    }
}

/** wi_copy_texts() and wi_var_bytes() (frame_copy.h) of a view with texts.
 *  Errors: none. Blocks: never. Threads: any. Ownership: caller's. */
uint32_t wi_text_gather(int32_t *ends, uint8_t *dst, struct wi_var *var,
                        const struct wi_text *texts,
                        const struct wi_rows *rows);
uint32_t wi_text_bytes(const struct wi_text *texts, const struct wi_rows *rows);

#endif /* WI_TEXT_H */
