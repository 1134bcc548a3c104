/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which level this machine has, and whether an instruction is worth using where
 * having it does not tell.
 *
 * Sources: Linux, Documentation/admin-guide/hw-vuln/gather_data_sampling.rst
 * (which processors, and what the file says); docs/rationale.md (figures).
 */
#include "core/base/isa.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/cc.h"

#define GDS_FILE "/sys/devices/system/cpu/vulnerabilities/gather_data_sampling"

static const char *const names[WI_ISA_LEVELS] = {
    [WI_ISA_PORTABLE] = "portable", [WI_ISA_AVX2] = "avx2",
    [WI_ISA_AVX512] = "avx512",     [WI_ISA_VBMI2] = "vbmi2",
    [WI_ISA_GATHER] = "gather",
};

#if WI_X86

/* No file: a kernel older than the finding, and no answer. */
static WI_COLD bool is_not_affected(void)
{
    static const char good[] = "Not affected";
    char text[sizeof(good)] = "";
    FILE *f = fopen(GDS_FILE, "re");
    if (f == NULL) {
        return false;
    }
    bool read = fgets(text, sizeof(text), f) != NULL;
    (void)fclose(f);
    return read && strcmp(text, good) == 0;
}

/* AVX-512's gathers are faster than loads one by one on Intel's processors that
 * need no microcode against Gather Data Sampling: the kernel knows. They are
 * slower on AMD's (Zen 4 and 5). */
static WI_COLD enum wi_isa of_machine(void)
{
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2")) {
        if (!__builtin_cpu_supports("avx512vbmi") ||
            !__builtin_cpu_supports("avx512vbmi2")) {
            return WI_ISA_AVX512;
        }
        return __builtin_cpu_is("intel") && is_not_affected() ? WI_ISA_GATHER
                                                              : WI_ISA_VBMI2;
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")
               ? WI_ISA_AVX2
               : WI_ISA_PORTABLE;
}

/* Of AMD's processors, Zen 4 is the first with AVX-512. */
bool wi_isa_around(void)
{
    return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f");
}

#else

static enum wi_isa of_machine(void)
{
    return WI_ISA_PORTABLE;
}

bool wi_isa_around(void)
{
    return false;
}

#endif /* WI_X86 */

/* The level that WEIR_ISA names; WI_ISA_LEVELS: none. */
static enum wi_isa asked_for(void)
{
    const char *asked = getenv("WEIR_ISA");
    int isa = asked != NULL ? 0 : WI_ISA_LEVELS;
    while (isa < WI_ISA_LEVELS && strcmp(asked, names[isa]) != 0) {
        isa++;
    }
    return (enum wi_isa)isa;
}

static WI_COLD enum wi_isa find_best(void)
{
    enum wi_isa best = of_machine();
    enum wi_isa asked = asked_for();
    return asked < best ? asked : best;
}

enum wi_isa wi_isa_best(void)
{
    static _Atomic uint32_t known;      /* 1 more than the level; 0: not yet */
    uint32_t isa = wi_load_rlx(&known); /* rlx: all find the same */
    if (wi_unlikely(isa == 0)) {
        isa = (uint32_t)find_best() + 1;
        wi_store_rlx(&known, isa); /* rlx: as above */
    }
    return (enum wi_isa)(isa - 1);
}

const char *wi_isa_name(enum wi_isa isa)
{
    return names[isa];
}

const char *wi_isa_unknown(void)
{
    return asked_for() == WI_ISA_LEVELS ? getenv("WEIR_ISA") : NULL;
}
