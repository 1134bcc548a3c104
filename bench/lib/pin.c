/* SPDX-License-Identifier: Apache-2.0 */
/* Affinity: only cores that the process was given count (taskset, cgroups). */
#define _GNU_SOURCE 1
#include "bench/lib/pin.h"

#include <errno.h>
#include <sched.h>

#include "core/base/err.h"

uint32_t wb_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0) {
        return 1;
    }
    int n = CPU_COUNT(&set);
    return n > 0 ? (uint32_t)n : 1;
}

weir_err wb_pin(uint32_t nth, struct weir_error *err)
{
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof(all), &all) != 0) {
        return wi_fail_errno(err, errno, "sched_getaffinity");
    }
    uint32_t skip = nth % (uint32_t)CPU_COUNT(&all);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all) || skip-- > 0) {
            continue;
        }
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof(one), &one) != 0) {
            return wi_fail_errno(err, errno, "bind to core %zu", cpu);
        }
        return WEIR_OK;
    }
    return wi_fail(err, WEIR_ERR_SYSTEM, "no core is allowed to this process");
}
