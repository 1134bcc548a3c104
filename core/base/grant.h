/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a peer was granted, for transports that look after it themselves: a
 * table of pieces of memory, each under a key.
 *
 *   63          32 31           0
 *   +-------------+--------------+   noise: a key that was never given, or was
 *   |    noise    |    index     |   taken back, names nothing, but for one
 *   +-------------+--------------+   chance in 2^31
 *
 * It grows with the grants that stand at a time; places are used again.
 */
#ifndef WI_BASE_GRANT_H
#define WI_BASE_GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

/**
 * May a peer write to [off, off + bytes) of granted memory now? A transport
 * with WI_CAP_GUARD places each write itself and asks first: when the write
 * begins, and again for the rest of it whenever messages that came before it
 * may have been handled meanwhile. NULL: always.
 *
 * Blocks: never.  Called by: poll.  Ownership: arg lives as long as the grant
 */
struct wi_guard {
    bool (*may_write)(void *arg, uint64_t off, uint64_t bytes);
    void *arg;
};

/** One grant. */
struct wi_granted {
    uint8_t *base;
    uint64_t bytes;
    struct wi_guard guard;
    uint64_t key;    /* written by wi_grants_add(); 0: the place is free */
    uint32_t access; /* bits of WI_ACCESS_; not 0 */
    uint32_t next;   /* of a free place: the next one, plus 1 */
};

/** All zero: empty. */
struct wi_grants {
    struct wi_granted *slots;
    uint32_t n;    /* places in use or free */
    uint32_t room; /* places in `slots` */
    uint32_t free; /* the first free one, plus 1 */
};

/**
 * Add a grant.
 *
 * @param noise  anything, best unguessable
 *
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     never.  Threads: one per table
 * Ownership:  what is copied; its memory must outlive it
 */
weir_err wi_grants_add(struct wi_grants *g, const struct wi_granted *what,
                       uint32_t noise, uint64_t *key_out,
                       struct weir_error *err);

/** The grant that allows this access to [off, off + bytes); NULL: none does.
 *  Errors: none. Blocks: never. Threads: one. Ownership: until the next add. */
const struct wi_granted *wi_grants_find(const struct wi_grants *g, uint64_t key,
                                        uint32_t access, uint64_t off,
                                        uint64_t bytes);

/** Where the grant of a key is in `slots`, as long as it stands. */
static inline uint32_t wi_grant_index(uint64_t key)
{
    return (uint32_t)key;
}

/** Take a grant back; nothing if the key names none. */
void wi_grants_drop(struct wi_grants *g, uint64_t key);

/** Free the table. */
void wi_grants_fini(struct wi_grants *g);

#endif /* WI_BASE_GRANT_H */
