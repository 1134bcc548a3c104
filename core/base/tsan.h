/* SPDX-License-Identifier: Apache-2.0 */
/**
 * ThreadSanitizer does not see the atomics inside liburcu (inline assembly and
 * membarrier); these two tell it of the order that liburcu gives.
 */
#ifndef WI_BASE_TSAN_H
#define WI_BASE_TSAN_H

#if defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#define wi_tsan_acquire(p) __tsan_acquire(p)
#define wi_tsan_release(p) __tsan_release(p)
#else
#define wi_tsan_acquire(p) ((void)(p))
#define wi_tsan_release(p) ((void)(p))
#endif

#endif /* WI_BASE_TSAN_H */
