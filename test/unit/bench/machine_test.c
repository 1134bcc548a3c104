/* SPDX-License-Identifier: Apache-2.0 */
/* The processor's name from what the kernel says. */
#include "bench/lib/machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <criterion/criterion.h>

/* What wb_processor() makes of this text of /proc/cpuinfo. */
static void processor_of(const char *info, char *text)
{
    char root[] = "/tmp/weir-machine-XXXXXX";
    char dir[64];
    char path[80];
    cr_assert_not_null(mkdtemp(root));
    (void)snprintf(dir, sizeof(dir), "%s/proc", root);
    (void)snprintf(path, sizeof(path), "%s/cpuinfo", dir);
    cr_assert_eq(mkdir(dir, 0700), 0);
    FILE *f = fopen(path, "we");
    cr_assert_not_null(f);
    cr_assert(fputs(info, f) >= 0);
    cr_assert_eq(fclose(f), 0);
    wb_processor(text, root);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rmdir(dir), 0);
    cr_assert_eq(rmdir(root), 0);
}

Test(machine, processor_has_name_family_and_model)
{
    char text[WB_PROCESSOR_TEXT];
    processor_of("processor\t: 0\nvendor_id\t: AuthenticAMD\n"
                 "cpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n"
                 "stepping\t: 1\n\nprocessor\t: 1\n",
                 text);
    cr_assert_str_eq(text, "AMD EPYC, family 25, model 1");
}

Test(machine, processor_without_a_name_is_the_kernel_s_kind)
{
    char text[WB_PROCESSOR_TEXT];
    struct utsname kernel;
    cr_assert_eq(uname(&kernel), 0);
    processor_of("processor\t: 0\nBogoMIPS\t: 50.00\nCPU part\t: 0xd0c\n",
                 text);
    cr_assert_str_eq(text, kernel.machine);
}

Test(machine, long_names_are_cut)
{
    char text[WB_PROCESSOR_TEXT];
    char info[512] = "model name\t: ";
    memset(info + strlen(info), 'x', 400);
    processor_of(info, text);
    cr_assert_eq(strlen(text), WB_PROCESSOR_TEXT - 1);
}
