/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which instructions the inner loops may use.
 *
 * Each level has what the one before it has. Every loop exists in a portable
 * form; the wider ones are compiled for their instructions by function
 * attributes and chosen here at run time, so one binary serves every machine.
 * All forms give the same result, bit for bit: tests run each of them through
 * the `_isa` parameters.
 */
#ifndef WI_ISA_H
#define WI_ISA_H

#include <stdbool.h>

enum wi_isa {
    WI_ISA_SCALAR,
    WI_ISA_AVX2,
    WI_ISA_AVX512, /* F, DQ, BW, VL */
    WI_ISA_VBMI2,  /* the same with VBMI and VBMI2 */
    WI_ISA_GATHER, /* the same, and a gather costs less than single loads */
};

#if defined(__x86_64__) && defined(__GNUC__)
#define WI_X86 1
#define WI_TARGET_AVX2 __attribute__((target("avx2")))
#define WI_TARGET_AVX512                                                       \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi,bmi2,"       \
                          "popcnt")))
#define WI_TARGET_VBMI2                                                        \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512vbmi,"     \
                          "avx512vbmi2,bmi,bmi2,popcnt")))
#else
#define WI_X86 0
#endif

#if WI_X86
/**
 * Are AVX-512's gathers faster than loads one by one? Yes on Intel processors
 * that need no microcode against Gather Data Sampling (asked of the kernel,
 * once). No on others: not measured.
 *
 * Errors: none.  Blocks: the first call reads a file of the kernel's
 * Threads: any.  Ownership: nothing is handed out
 */
bool wi_isa_gathers(void);
#endif

/** Best of this machine. Cheap enough to call once per frame. */
static inline enum wi_isa wi_isa_best(void)
{
#if WI_X86
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2")) {
        if (!__builtin_cpu_supports("avx512vbmi") ||
            !__builtin_cpu_supports("avx512vbmi2")) {
            return WI_ISA_AVX512;
        }
        return wi_isa_gathers() ? WI_ISA_GATHER : WI_ISA_VBMI2;
    }
    if (__builtin_cpu_supports("avx2")) {
        return WI_ISA_AVX2;
    }
#endif
    return WI_ISA_SCALAR;
}

#endif /* WI_ISA_H */
