/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What ThreadSanitizer cannot see by itself.
 *
 * It does not see the atomics inside liburcu (inline assembly and membarrier);
 * acquire and release tell it of the order that liburcu gives.
 *
 * It takes what sendmsg(2) sends for read when the call returns. By then a peer
 * may have the bytes, and whoever heard of that may write there again. So the
 * read is told before the call, and reads are not heeded while it lasts.
 */
#ifndef WI_BASE_TSAN_H
#define WI_BASE_TSAN_H

#if defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
void __tsan_read_range(void *addr, long size);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#define wi_tsan_acquire(p) __tsan_acquire(p)
#define wi_tsan_release(p) __tsan_release(p)
#define wi_tsan_read(p, bytes) __tsan_read_range(p, (long)(bytes))
#define wi_tsan_reads_off() AnnotateIgnoreReadsBegin(__FILE__, __LINE__)
#define wi_tsan_reads_on() AnnotateIgnoreReadsEnd(__FILE__, __LINE__)
#else
#define wi_tsan_acquire(p) ((void)(p))
#define wi_tsan_release(p) ((void)(p))
#define wi_tsan_read(p, bytes) ((void)(p), (void)(bytes))
#define wi_tsan_reads_off() ((void)0)
#define wi_tsan_reads_on() ((void)0)
#endif

#endif /* WI_BASE_TSAN_H */
