/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an instruction is worth using, where having it does not tell.
 *
 * Sources: Linux, Documentation/admin-guide/hw-vuln/gather_data_sampling.rst
 * (which processors, and what the file says); docs/rationale.md (figures).
 */
#include "core/base/isa.h"

#if WI_X86

#include <stdio.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/cc.h"

#define GDS_FILE "/sys/devices/system/cpu/vulnerabilities/gather_data_sampling"

enum { UNKNOWN, FAST, SLOW };

/* No file: the kernel is too old to tell. */
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

bool wi_isa_gathers(void)
{
    static _Atomic uint32_t known;
    uint32_t state = wi_load_rlx(&known); /* rlx: all find the same */
    if (wi_unlikely(state == UNKNOWN)) {
        state = __builtin_cpu_is("intel") && is_not_affected() ? FAST : SLOW;
        wi_store_rlx(&known, state); /* rlx: as above */
    }
    return state == FAST;
}

#endif /* WI_X86 */
