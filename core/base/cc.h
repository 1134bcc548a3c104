/* SPDX-License-Identifier: Apache-2.0 */
/** Compiler helpers: alignment, hints, sizes. No behaviour. */
#ifndef WI_BASE_CC_H
#define WI_BASE_CC_H

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#define WI_CACHE_LINE 64
#define WI_PAGE 4096u

#define wi_likely(x) __builtin_expect(!!(x), 1)
#define wi_unlikely(x) __builtin_expect(!!(x), 0)
#define WI_COLD __attribute__((cold, noinline))
#define WI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define WI_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define wi_container_of(ptr, type, member)                                     \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/** Round up to a power of two `a`. */
static inline uint64_t wi_align_up(uint64_t v, uint64_t a)
{
    return (v + a - 1) & ~(a - 1);
}

static inline uint64_t wi_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t wi_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint32_t wi_min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t wi_max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/** Prefetch a line in order to write it. Never faults, whatever `p` is. */
static inline void wi_prefetch_write(uintptr_t p)
{
#if defined(__x86_64__)
    /* The builtin asks for a shared line unless all code is compiled for
     * processors with prefetchw; on others, prefetchw is a no-op. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
    __builtin_prefetch((const void *)p, 1);
#endif
}

/** Move a written line to the cache that all cores share: another core is about
 *  to read it. Only a hint (CLDEMOTE): processors without it ignore it.
 *  Source: Intel 64 and IA-32 Architectures Software Developer's Manual. */
static inline void wi_demote(uintptr_t p)
{
#if defined(__x86_64__)
    __asm__ volatile("cldemote %0" : : "m"(*(const char *)p));
#else
    (void)p;
#endif
}

#endif /* WI_BASE_CC_H */
