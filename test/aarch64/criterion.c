/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libcriterion that test/sanitizer/runner.c leaves to the
 * library. With both, tests link where the library is not there: for another
 * machine it would bring a dozen packages of that machine's.
 */
#include <criterion/criterion.h>
#include <criterion/options.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct criterion_options criterion_options;

/* What was asserted, as it stands in the source; the values are not shown. */
char *cr_translate_assert_msg(int msg_index, ...)
{
    va_list args;
    (void)msg_index;
    va_start(args, msg_index);
    char *text = strdup(va_arg(args, const char *));
    va_end(args);
    return text;
}

int cr_asprintf(char **strp, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(strp, fmt, args);
    va_end(args);
    return n;
}

void cr_asprintf_free(char *strp)
{
    free(strp);
}
