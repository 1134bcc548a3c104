/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "core/base/isa.h"

/* The level is found once in a process; Criterion gives each test its own. */

Test(isa, environment_lowers_the_level)
{
    setenv("WEIR_ISA", "scalar", 1);
    cr_assert_eq(wi_isa_best(), WI_ISA_SCALAR);
    cr_assert_null(wi_isa_unknown());
    setenv("WEIR_ISA", "gather", 1);
    cr_assert_eq(wi_isa_best(), WI_ISA_SCALAR, "found once");
}

Test(isa, environment_never_raises_the_level)
{
    unsetenv("WEIR_ISA");
    enum wi_isa best = wi_isa_best();
    cr_assert_lt(best, WI_ISA_LEVELS);
    cr_assert_null(wi_isa_unknown());
}

Test(isa, best_that_is_asked_for_is_the_machine_s)
{
    setenv("WEIR_ISA", "gather", 1);
    cr_assert_leq(wi_isa_best(), WI_ISA_GATHER);
    __builtin_cpu_init();
    cr_assert(__builtin_cpu_supports("avx512f") ||
              wi_isa_best() <= WI_ISA_AVX2);
}

Test(isa, unknown_names_are_told)
{
    setenv("WEIR_ISA", "sse9", 1);
    cr_assert_str_eq(wi_isa_unknown(), "sse9");
    cr_assert_lt(wi_isa_best(), WI_ISA_LEVELS);
}
