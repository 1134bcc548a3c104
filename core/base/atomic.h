/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The only file that spells memory orders and fences.
 *
 * Sites that use the functions below carry the label of their edge and its
 * other end; every label is a row of docs/concurrency.md. `rlx` needs a reason
 * in a comment, `sc` says why less is not enough.
 *
 *   wi_load_{rlx,acq,sc}(p)         wi_store_{rlx,rel,sc}(p, v)
 *   wi_xchg_{ar,sc}(p, v)           wi_add_{rlx,ar,sc}(p, v)  -> old value
 *   wi_or_sc(p, v)  wi_and_sc(p, v) -> old value
 *   wi_cas_ar(p, &expected, v)      wi_cpu_relax()
 */
#ifndef WI_BASE_ATOMIC_H
#define WI_BASE_ATOMIC_H

#include <stdatomic.h>

#include "core/base/preempt.h"

#define wi_load_rlx(p) WI_ATOMIC(load, (p), memory_order_relaxed)
#define wi_load_acq(p) WI_ATOMIC(load, (p), memory_order_acquire)
#define wi_load_sc(p) WI_ATOMIC(load, (p), memory_order_seq_cst)
#define wi_store_rlx(p, v) WI_ATOMIC(store, (p), (v), memory_order_relaxed)
#define wi_store_rel(p, v) WI_ATOMIC(store, (p), (v), memory_order_release)
#define wi_store_sc(p, v) WI_ATOMIC(store, (p), (v), memory_order_seq_cst)
#define wi_xchg_ar(p, v) WI_ATOMIC(exchange, (p), (v), memory_order_acq_rel)
#define wi_xchg_sc(p, v) WI_ATOMIC(exchange, (p), (v), memory_order_seq_cst)
#define wi_add_rlx(p, v) WI_ATOMIC(fetch_add, (p), (v), memory_order_relaxed)
#define wi_add_ar(p, v) WI_ATOMIC(fetch_add, (p), (v), memory_order_acq_rel)
#define wi_add_sc(p, v) WI_ATOMIC(fetch_add, (p), (v), memory_order_seq_cst)
#define wi_or_sc(p, v) WI_ATOMIC(fetch_or, (p), (v), memory_order_seq_cst)
#define wi_and_sc(p, v) WI_ATOMIC(fetch_and, (p), (v), memory_order_seq_cst)
#define wi_cas_ar(p, expected, v)                                              \
    WI_ATOMIC(compare_exchange_strong, (p), (expected), (v),                   \
              memory_order_acq_rel, memory_order_acquire)
#define WI_ATOMIC(what, ...)                                                   \
    (wi_preempt(), atomic_##what##_explicit(__VA_ARGS__))
#if defined(__x86_64__) || defined(__i386__)
#define wi_cpu_relax() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define wi_cpu_relax() __asm__ __volatile__("yield")
#else
#define wi_cpu_relax() ((void)0)
#endif

/* Stores around the cache are not ordered by a release store: they are visible
 * before any store that follows this. */
#if defined(__x86_64__)
#define wi_flush_stores() __builtin_ia32_sfence()
#else
#define wi_flush_stores() ((void)0)
#endif

#endif /* WI_BASE_ATOMIC_H */
