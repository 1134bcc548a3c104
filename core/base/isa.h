/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which instructions the inner loops may use.
 *
 * Each level has what the one before it has. Every loop exists in a portable
 * form; the wider ones are compiled for their
 * instructions by function attributes and chosen here at run time, so one
 * binary serves every machine. All forms give the same result, bit for bit:
 * tests run each of them through the `_isa` parameters, and WEIR_ISA lowers the
 * level of a whole process, to measure one where a better one is there.
 */
#ifndef WI_ISA_H
#define WI_ISA_H

#include <stdbool.h>

enum wi_isa {
    WI_ISA_PORTABLE, /* plain C, and GCC's vectors of 128 bits */
    WI_ISA_AVX2,
    WI_ISA_AVX512, /* F, DQ, BW, VL */
    WI_ISA_VBMI2,  /* the same with VBMI and VBMI2 */
    WI_ISA_GATHER, /* the same, and a gather costs less than its loads */
    WI_ISA_LEVELS,
};

#if defined(__x86_64__) && defined(__GNUC__)
#define WI_X86 1
#define WI_TARGET_AVX2 __attribute__((target("avx2,popcnt")))
#define WI_TARGET_AVX512                                                       \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi,bmi2,"       \
                          "popcnt")))
#define WI_TARGET_VBMI2                                                        \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512vbmi,"     \
                          "avx512vbmi2,bmi,bmi2,popcnt")))
#else
#define WI_X86 0
#endif

/**
 * The level of this process: the best of the machine, or the one that the
 * environment variable WEIR_ISA names if that is lower. Found once, at the
 * first call.
 *
 * Errors: none (an unknown name counts as none, see wi_isa_unknown)
 * Blocks: the first call reads a file of the kernel's
 * Threads: any.  Ownership: nothing is handed out
 */
enum wi_isa wi_isa_best(void);

/**
 * Does it pay to write around the cache what another core reads next? Measured
 * on AMD's Zen 4 and 5 (docs/rationale.md), which is where this says so; an
 * Intel processor may have to fetch such lines from memory.
 *
 * Errors: none.  Blocks: never.  Threads: any
 */
bool wi_isa_around(void);

/** "portable", "avx2", "avx512", "vbmi2", "gather". Errors: none. Blocks:
 *  never. Threads: any. Ownership: static. */
const char *wi_isa_name(enum wi_isa isa);

/** What WEIR_ISA says, if that is no level; NULL: it is one, or not set.
 *  Errors: none. Blocks: never. Threads: any. Ownership: the environment's. */
const char *wi_isa_unknown(void);

#endif /* WI_ISA_H */
