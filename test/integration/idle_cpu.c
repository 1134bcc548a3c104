/* SPDX-License-Identifier: Apache-2.0 */
/* Eight connected nodes that have nothing to do use no CPU: the bar is half a
 * percent of one core for all of them together. */
#include <criterion/criterion.h>

#include "bench/lib/idle.h"

static void check(const char *transport)
{
    struct wb_idle_params p = {.transport = transport, .sleep_ns = 3000000000u};
    struct wb_idle r;
    struct weir_error err = {0};
    cr_assert_eq(wb_idle_run(&p, &r, &err), WEIR_OK, "%s", err.message);
    cr_assert_lt(r.cpu_pct, 0.5, "%s: %.3f %% of one core, %llu switches",
                 transport, r.cpu_pct, (unsigned long long)r.switches);
}

Test(idle_cpu, shm, .timeout = 90)
{
    check("shm");
}

Test(idle_cpu, tcp, .timeout = 90)
{
    check("tcp");
}
