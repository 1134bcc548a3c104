/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/isa.h"

/* The level is found once in a process; Criterion gives each test its own. */

Test(isa, environment_lowers_the_level)
{
    setenv("WEIR_ISA", "portable", 1);
    cr_assert_eq(wi_isa_best(), WI_ISA_PORTABLE);
    cr_assert_null(wi_isa_unknown());
    setenv("WEIR_ISA", "gather", 1);
    cr_assert_eq(wi_isa_best(), WI_ISA_PORTABLE, "found once");
}

Test(isa, environment_never_raises_the_level)
{
    setenv("WEIR_ISA", "gather", 1);
    enum wi_isa best = wi_isa_best();
    cr_assert_null(wi_isa_unknown());
#if WI_X86
    __builtin_cpu_init();
    cr_assert(best < WI_ISA_VBMI2 || __builtin_cpu_supports("avx512vbmi2"));
    cr_assert(best < WI_ISA_AVX512 || __builtin_cpu_supports("avx512bw"));
    cr_assert(best < WI_ISA_AVX2 || __builtin_cpu_supports("avx2"));
#else
    cr_assert_lt(best, WI_ISA_AVX2);
#endif
}

/* Child processes: the level is found once in each. */
static enum wi_isa best_when(const char *asked)
{
    int status = 0;
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        _exit((asked != NULL ? setenv("WEIR_ISA", asked, 1)
                             : unsetenv("WEIR_ISA")) != 0
                  ? 255
                  : (int)wi_isa_best());
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status));
    return (enum wi_isa)WEXITSTATUS(status);
}

Test(isa, every_level_up_to_the_machine_s_can_be_asked_for)
{
    enum wi_isa best = best_when(NULL);
    for (int isa = 0; isa < WI_ISA_LEVELS; isa++) {
        enum wi_isa want = isa < (int)best ? (enum wi_isa)isa : best;
        cr_assert_eq(best_when(wi_isa_name((enum wi_isa)isa)), want);
    }
    cr_assert_eq(best_when("sse9"), best);
}

Test(isa, unknown_names_are_told)
{
    setenv("WEIR_ISA", "sse9", 1);
    cr_assert_str_eq(wi_isa_unknown(), "sse9");
}
