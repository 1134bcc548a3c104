/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bytes that grow while a message is written, and a cursor over bytes that came
 * from a peer: what lies beyond their end is never read.
 */
#ifndef WI_SCAN_BUF_H
#define WI_SCAN_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers in messages are little-endian");

/** Writing. Once memory was refused, failed stays set and nothing is added. */
struct wi_scan_buf {
    uint8_t *bytes;
    size_t len;
    size_t cap;
    bool failed;
};

static inline void wi_scan_buf_put(struct wi_scan_buf *b, const void *bytes,
                                   size_t n)
{
    if (b->failed || n == 0) {
        return;
    }
    if (n > b->cap - b->len) {
        size_t cap = (b->cap + n) * 2;
        uint8_t *more = realloc(b->bytes, cap);
        if (more == NULL) {
            b->failed = true;
            return;
        }
        b->bytes = more;
        b->cap = cap;
    }
    memcpy(b->bytes + b->len, bytes, n);
    b->len += n;
}

static inline void wi_scan_buf_put_u32(struct wi_scan_buf *b, uint32_t x)
{
    wi_scan_buf_put(b, &x, sizeof(x));
}

static inline void wi_scan_buf_put_u64(struct wi_scan_buf *b, uint64_t x)
{
    wi_scan_buf_put(b, &x, sizeof(x));
}

/** Reading. */
struct wi_scan_cursor {
    const uint8_t *at;
    size_t left;
};

/** The next n bytes, or NULL if there are fewer. */
static inline const uint8_t *wi_scan_take(struct wi_scan_cursor *c, size_t n)
{
    if (n > c->left) {
        return NULL;
    }
    const uint8_t *at = c->at;
    c->at += n;
    c->left -= n;
    return at;
}

static inline bool wi_scan_take_u32(struct wi_scan_cursor *c, uint32_t *out)
{
    const uint8_t *at = wi_scan_take(c, sizeof(*out));
    if (at != NULL) {
        memcpy(out, at, sizeof(*out));
    }
    return at != NULL;
}

static inline bool wi_scan_take_u64(struct wi_scan_cursor *c, uint64_t *out)
{
    const uint8_t *at = wi_scan_take(c, sizeof(*out));
    if (at != NULL) {
        memcpy(out, at, sizeof(*out));
    }
    return at != NULL;
}

#endif /* WI_SCAN_BUF_H */
