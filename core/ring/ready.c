/* SPDX-License-Identifier: Apache-2.0 */
/* ready.h says why no wake-up is lost. */
#include "core/ring/ready.h"

#include "core/base/futex.h"

static uint32_t words_of(uint32_t n_ids)
{
    return (n_ids + 63) / 64;
}

size_t wi_bell_bytes(uint32_t n_ids)
{
    uint32_t words = words_of(n_ids);
    size_t bits = (size_t)(words + words_of(words)) * 8;
    return wi_align_up(sizeof(struct wi_bell) + bits, WI_CACHE_LINE);
}

enum wi_wake wi_bell_wake(struct wi_bell *b)
{
    /* E3 sc: the read half of the marker; pairs with E3 sc in announce() */
    if (wi_likely(wi_load_sc(&b->parked) == WI_AWAKE)) {
        return WI_WAKE_NONE;
    }
    /* E3 sc: only one waker gets the old value and pays for the system call;
     * pairs with E3 sc in announce() */
    uint32_t old = wi_xchg_sc(&b->parked, WI_AWAKE);
    if (old == WI_PARKED) {
        wi_futex_wake(&b->parked);
        return WI_WAKE_DONE;
    }
    return old != WI_AWAKE ? WI_WAKE_FD : WI_WAKE_NONE;
}

enum wi_wake wi_bell_mark(struct wi_bell *b, uint32_t n_ids, uint32_t id)
{
    uint32_t word = id / 64;
    uint32_t n_summary = words_of(words_of(n_ids));
    if (wi_unlikely(id >= n_ids)) {
        return WI_WAKE_NONE;
    }
    _Atomic uint64_t *summary = &b->bits[word / 64];
    uint64_t bit = 1ull << (word % 64);
    /* E3 sc: bit before the read of parked; pairs with E3 sc in wi_bell_take()
     * and wi_bell_pending(). Releases what was published before (E1). */
    (void)wi_or_sc(&b->bits[n_summary + word], 1ull << (id % 64));
    /* E3 sc: as above, the summary after its word */
    if ((wi_load_sc(summary) & bit) == 0) {
        (void)wi_or_sc(summary, bit); /* E3 sc: as above */
    }
    return wi_bell_wake(b);
}

enum wi_wake wi_bell_attention(struct wi_bell *b, uint32_t bits)
{
    /* E3 sc: as wi_bell_mark(); pairs with E3 sc in wi_bell_take_attn() */
    (void)wi_or_sc(&b->attn, bits);
    return wi_bell_wake(b);
}

void wi_bell_rouse(struct wi_bell *b, uint32_t bits)
{
    /* E3 sc: as wi_bell_attention(), then as wi_bell_wake(); a worker that had
     * not gone to sleep yet finds `parked` changed, or the bits */
    (void)wi_or_sc(&b->attn, bits);
    (void)wi_xchg_sc(&b->parked, WI_AWAKE); /* E3 sc: as above */
    wi_futex_wake(&b->parked);
}

bool wi_bell_pending(struct wi_bell *b, uint32_t n_ids)
{
    uint32_t n_summary = words_of(words_of(n_ids));
    /* E3 sc: the read half of the worker; pairs with E3 sc in wi_bell_mark() */
    if (wi_load_sc(&b->attn) != 0) {
        return true;
    }
    for (uint32_t i = 0; i < n_summary; i++) {
        /* E3 sc: as above */
        if (wi_load_sc(&b->bits[i]) != 0) {
            return true;
        }
    }
    return false;
}

uint32_t wi_bell_take_attn(struct wi_bell *b)
{
    /* rlx: a look first, so that a spinning worker does not own the line */
    if (wi_load_rlx(&b->attn) == 0) {
        return 0;
    }
    /* E3 sc: pairs with E3 sc in wi_bell_attention() */
    return wi_xchg_sc(&b->attn, 0);
}

static uint32_t take_word(_Atomic uint64_t *bits, uint32_t word, wi_bell_fn fn,
                          void *arg)
{
    uint32_t n = 0;
    /* E3 sc: pairs with E3 sc in wi_bell_mark() */
    uint64_t ids = wi_xchg_sc(&bits[word], 0);
    for (; ids != 0; ids &= ids - 1) {
        fn(arg, word * 64 + (uint32_t)__builtin_ctzll(ids));
        n++;
    }
    return n;
}

uint32_t wi_bell_take(struct wi_bell *b, uint32_t n_ids, wi_bell_fn fn,
                      void *arg)
{
    uint32_t n = 0;
    uint32_t n_words = words_of(n_ids);
    uint32_t n_summary = words_of(n_words);
    for (uint32_t i = 0; i < n_summary; i++) {
        /* rlx: a look first, as in wi_bell_take_attn() */
        if (wi_load_rlx(&b->bits[i]) == 0) {
            continue;
        }
        /* E3 sc: pairs with E3 sc in wi_bell_mark() */
        uint64_t words = wi_xchg_sc(&b->bits[i], 0);
        for (; words != 0; words &= words - 1) {
            uint32_t word = i * 64 + (uint32_t)__builtin_ctzll(words);
            if (word < n_words) {
                n += take_word(b->bits + n_summary, word, fn, arg);
            }
        }
    }
    return n;
}

/* The write half of the worker: say that it is going to sleep, then look. */
static bool announce(struct wi_bell *b, uint32_t n_ids, uint32_t how)
{
    /* E3 sc: before the look in wi_bell_pending(); pairs with E3 sc in
     * wi_bell_wake() */
    wi_store_sc(&b->parked, how);
    if (wi_bell_pending(b, n_ids)) {
        /* E3 sc: taken back; a waker that saw it woke us for nothing */
        wi_store_sc(&b->parked, WI_AWAKE);
        return false;
    }
    return true;
}

bool wi_bell_lie_down(struct wi_bell *b, uint32_t n_ids)
{
    return announce(b, n_ids, WI_PARKED);
}

bool wi_bell_sleep(struct wi_bell *b, uint32_t n_ids, uint64_t timeout_ns)
{
    wi_futex_wait(&b->parked, WI_PARKED, timeout_ns);
    /* E3 sc: awake again; pairs with E3 sc in wi_bell_wake() */
    wi_store_sc(&b->parked, WI_AWAKE);
    return wi_bell_pending(b, n_ids);
}

bool wi_bell_park(struct wi_bell *b, uint32_t n_ids, uint64_t timeout_ns)
{
    return !wi_bell_lie_down(b, n_ids) || wi_bell_sleep(b, n_ids, timeout_ns);
}

bool wi_bell_arm(struct wi_bell *b, uint32_t n_ids)
{
    return announce(b, n_ids, WI_ARMED);
}

bool wi_bell_doze(struct wi_bell *b, uint32_t n_ids)
{
    return announce(b, n_ids, WI_DOZING);
}

void wi_bell_rise(struct wi_bell *b)
{
    /* E3 sc: awake again; pairs with E3 sc in wi_bell_wake() */
    wi_store_sc(&b->parked, WI_AWAKE);
}
