/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bells: how a worker learns that rings have data, and how it sleeps.
 *
 *   producer / network thread                      worker
 *   publish frame (ring tail)
 *   wi_bell_mark(ring id)      summary -> words    wi_bell_take() -> ring ids
 *   parked?  futex wake                            wi_bell_park()
 *
 * One bell per worker. Mapped peers see it too (it lies in memory that was
 * granted to them), so that no network thread is on the path between them; a
 * broken peer can ring it for nothing, and that is all it can do with it.
 *
 * The ready set is a bitmap with one level of summary. Marking sets the word's
 * bit, then the summary's; taking clears the summary's bit, then the word. Both
 * are idempotent, so a marker that dies half-way loses nothing for the others,
 * except that it may take a wake-up with it: wi_bell_rouse() makes up for that
 * when the loss of the peer is found.
 *
 * Which calls may meet: mark, attention, wake from any thread and process, with
 * each other and with everything; take, park, arm by the worker only.
 *
 * Why no wake-up is lost (edge E3): the marker sets the bit and then reads
 * `parked`; the worker sets `parked` and then reads the bits. All four are
 * sequentially consistent, so at least one of the two sees the other.
 */
#ifndef WI_READY_H
#define WI_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/atomic.h"
#include "core/base/cc.h"

enum {
    WI_AWAKE = 0,  /* the worker runs */
    WI_PARKED = 1, /* it sleeps on the futex */
    WI_ARMED = 2,  /* it sleeps on its descriptor */
    WI_DOZING = 3, /* it sleeps on the transport */
};

/* Bits of attn. */
enum {
    WI_ATTN_SPACE = 1u << 0, /* a ring that was full has room */
    WI_ATTN_EVENT = 1u << 1, /* a query ended, a link opened, a local row */
};

struct wi_bell {
    /* written by: the worker and whoever wakes it */
    alignas(WI_CACHE_LINE) _Atomic uint32_t parked;
    _Atomic uint32_t attn;
    /* written by: markers and the worker; the summary, then the words. How
     * many there are is never read from here: a peer can write it. */
    alignas(WI_CACHE_LINE) _Atomic uint64_t bits[];
};

/** Bytes of a bell for ids 0 .. n_ids-1, a multiple of a cache line. */
size_t wi_bell_bytes(uint32_t n_ids);

/* Zeroed memory is a bell. n_ids is what the memory was sized for. */

/** What a waker has to do about a descriptor (WI_ARMED, WI_DOZING) it may not
 *  reach. */
enum wi_wake { WI_WAKE_NONE, WI_WAKE_DONE, WI_WAKE_FD };

/** Wake the worker if it sleeps. */
enum wi_wake wi_bell_wake(struct wi_bell *b);

/** Mark ring `id` and wake the worker if it sleeps. Out of range: ignored. */
enum wi_wake wi_bell_mark(struct wi_bell *b, uint32_t n_ids, uint32_t id);

/** Set bits of attn and wake the worker if it sleeps. */
enum wi_wake wi_bell_attention(struct wi_bell *b, uint32_t bits);

/** As wi_bell_attention, for rare events: wakes the worker even if a process
 *  that wanted to wake it died after it had cleared `parked` and before its
 *  system call. The caller rings the descriptor, if there is one. */
void wi_bell_rouse(struct wi_bell *b, uint32_t bits);

/** True while a mark or attention is there to take. */
bool wi_bell_pending(struct wi_bell *b, uint32_t n_ids);

/** Is the worker asleep? A hint for early flushing. */
static inline bool wi_bell_asleep(struct wi_bell *b)
{
    return wi_load_rlx(&b->parked) != WI_AWAKE; /* rlx: a hint only */
}

/** Take all bits of attn. */
uint32_t wi_bell_take_attn(struct wi_bell *b);

typedef void (*wi_bell_fn)(void *arg, uint32_t id);

/** Take every marked id, calling fn for each. Returns how many. */
uint32_t wi_bell_take(struct wi_bell *b, uint32_t n_ids, wi_bell_fn fn,
                      void *arg);

/** Sleep until woken, at most timeout_ns, unless something is pending.
 *  Returns false if it timed out or woke for nothing. */
bool wi_bell_park(struct wi_bell *b, uint32_t n_ids, uint64_t timeout_ns);

/** The same in two parts, for a last look at something else in between:
 *  announce the sleep, false if something is pending; and sleep. Instead of
 *  the second, wi_bell_rise() takes it back. */
bool wi_bell_lie_down(struct wi_bell *b, uint32_t n_ids);
bool wi_bell_sleep(struct wi_bell *b, uint32_t n_ids, uint64_t timeout_ns);

/** Announce a sleep on the descriptor; false if something is pending. */
bool wi_bell_arm(struct wi_bell *b, uint32_t n_ids);

/** Announce a sleep on the transport; false if something is pending. */
bool wi_bell_doze(struct wi_bell *b, uint32_t n_ids);

/** The sleep on the transport is over, or does not take place. */
void wi_bell_rise(struct wi_bell *b);

#endif /* WI_READY_H */
