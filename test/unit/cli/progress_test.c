/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *figure(double value)
{
    static char text[PROGRESS_TEXT_BYTES];
    return progress_figure(value, text);
}

Test(progress, figures_have_three_digits_and_a_prefix)
{
    cr_expect_str_eq(figure(0), "0");
    cr_expect_str_eq(figure(17), "17");
    cr_expect_str_eq(figure(999.4), "999");
    cr_expect_str_eq(figure(999.6), "1.0 k");
    cr_expect_str_eq(figure(12345), "12.3 k");
    cr_expect_str_eq(figure(123456789), "123 M");
    cr_expect_str_eq(figure(99.96e6), "100 M");
    cr_expect_str_eq(figure(5e15), "5000 T");
}

Test(progress, bars_are_as_wide_as_asked_whatever_the_part)
{
    char bar[PROGRESS_BAR_BYTES];
    cr_expect_str_eq(progress_bar(0.5, 8, '#', '-', bar), "####----");
    cr_expect_str_eq(progress_bar(0, 4, '#', ' ', bar), "    ");
    cr_expect_str_eq(progress_bar(1, 4, '#', ' ', bar), "####");
    cr_expect_str_eq(progress_bar(-3, 4, '#', '-', bar), "----");
    cr_expect_str_eq(progress_bar(7, 4, '#', '-', bar), "####");
    cr_expect_eq(strlen(progress_bar(1, 1000, '#', '-', bar)),
                 PROGRESS_BAR_BYTES - 1);
}

static const struct progress_phase phases[] = {{"work", " rows"},
                                               {"more", NULL}};

Test(progress, nothing_is_painted_where_there_is_no_terminal)
{
    struct progress *p;
    int ends[2];
    char c;
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(progress_open(ends[1], 2, phases, &p, NULL), WEIR_OK);
    progress_begin(p, 0, 10);
    progress_counters(p)[1].rows = 5;
    progress_close(p);
    (void)close(ends[1]);
    cr_assert_eq(read(ends[0], &c, 1), 0, "the pipe holds something");
    (void)close(ends[0]);
}

Test(progress, a_terminal_sees_the_phase_and_a_wiped_line)
{
    struct progress *p;
    char text[4096] = "";
    size_t used = 0;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    cr_assert_geq(master, 0);
    cr_assert_eq(grantpt(master), 0);
    cr_assert_eq(unlockpt(master), 0);
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    cr_assert_geq(terminal, 0);
    cr_assert_eq(progress_open(terminal, 2, phases, &p, NULL), WEIR_OK);
    progress_begin(p, 0, 10);
    progress_counters(p)[0].rows = 1;
    progress_counters(p)[1].rows = 4;
    while (strstr(text, " 50 %") == NULL && used < sizeof(text) - 1) {
        ssize_t n = read(master, text + used, sizeof(text) - 1 - used);
        cr_assert_gt(n, 0);
        used += (size_t)n;
    }
    cr_assert(strstr(text, "work") != NULL, "%s", text);
    cr_assert(strstr(text, "############------------") != NULL, "%s", text);
    cr_assert(strstr(text, " rows/s") != NULL, "%s", text);
    progress_begin(p, 1, 10);
    progress_close(p);
    used = 0;
    memset(text, 0, sizeof(text));
    while (strstr(text, "\r\033[K") == NULL && used < sizeof(text) - 1) {
        ssize_t n = read(master, text + used, sizeof(text) - 1 - used);
        cr_assert_gt(n, 0);
        used += (size_t)n;
    }
    (void)close(terminal);
    (void)close(master);
}

Test(progress, counters_of_children_are_seen_and_begin_at_zero)
{
    struct progress *p;
    cr_assert_eq(progress_open(-1, 3, phases, &p, NULL), WEIR_OK);
    progress_begin(p, 0, 10);
    pid_t child = fork();
    if (child == 0) {
        progress_counters(p)[2].rows = 9;
        _exit(0);
    }
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_assert_eq(progress_counters(p)[2].rows, 9);
    progress_begin(p, 1, 10);
    cr_assert_eq(progress_counters(p)[2].rows, 0);
    progress_close(p);
}
