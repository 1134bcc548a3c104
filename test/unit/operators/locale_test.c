/* SPDX-License-Identifier: Apache-2.0 */
/* A host program that has set a locale with a decimal comma, or one in which i
 * is not the small letter of I: everything reads and says the same. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "operators/base/fail.h"
#include "operators/base/value_read.h"
#include "operators/base/value_text.h"
#include "operators/plan/agg_text.h"
#include "test/support/expr.h"

static char dir[] = "/tmp/weir-locale-XXXXXX";
static const char *const one[][2] = {{"x", "float64"}, {"id", "int64"}};
static struct wt_expr_rows rows;

/* The locale is made for the test: few systems have it. */
static void take(const char *name)
{
    char command[160];
    char full[32];
    cr_assert_not_null(mkdtemp(dir));
    (void)snprintf(full, sizeof(full), "%s.UTF-8", name);
    (void)snprintf(command, sizeof(command),
                   "localedef -c -i %s -f UTF-8 %s/%s >/dev/null 2>&1", name,
                   dir, full);
    (void)!system(command); /* warnings are a status, too */
    cr_assert_eq(setenv("LOCPATH", dir, 1), 0);
    cr_assert_not_null(setlocale(LC_ALL, full), "no %s: package locales", full);
    wt_expr_rows_open(&rows, one, 2, 1);
    wt_expr_rows_put(&rows, "x", 0, "1.5");
    wt_expr_rows_put(&rows, "id", 0, "7");
}

static void drop(void)
{
    char command[64];
    wt_expr_rows_close(&rows);
    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    cr_assert_eq(system(command), 0);
}

static void shows(const char *expr, const char *expected)
{
    char text[WT_VALUE_BYTES];
    cr_assert_str_eq(wt_expr_show(&rows, expr, 0, text), expected, "%s: %s",
                     expr, text);
}

static void is_neutral(void)
{
    shows("cast(cast(1 as float64) / 3 as utf8)", "'0.3333333333333333': utf8");
    shows("cast(cast('1.5e30' as float64) as utf8)", "'1.5e+30': utf8");
    shows("cast('2.5e3' as float64) + x", "2501.5: float64");
    shows("cast('0.1' as float32)", "0.1: float32");
    shows("cast('INFINITY' as float64)", "inf: float64");
    shows("cast('TRUE' as bool)", "true: bool");
    shows("ID IN (1, 7)",
          "error: character 1: there is no column `ID`: there are x, id; "
          "names are matched exactly, as in `id`");
    shows("x IS NOT NULL AND id IN (1, 7)", "true: bool");
    shows("CASE WHEN id IN (7) THEN x ELSE x END", "1.5: float64");
    struct weir_error err;
    (void)wi_exec_fail(&err, WEIR_ERR_ARG, "%.1f of %g", 1.5, 0.25);
    cr_assert_str_eq(err.message, "1.5 of 0.25");
    struct wi_agg_text agg;
    cr_assert(wi_agg_read("MIN(id)", &agg));
}

Test(locale, a_decimal_comma_changes_nothing, .timeout = 60)
{
    char text[16];
    take("de_DE");
    (void)snprintf(text, sizeof(text), "%.1f", 1.5);
    cr_assert_str_eq(text, "1,5", "the locale is not what the test is about");
    is_neutral();
    drop();
}

Test(locale, a_dotless_i_changes_nothing, .timeout = 60)
{
    volatile int big =
        'I'; /* not strcasecmp(3): AddressSanitizer has its own */
    take("tr_TR");
    cr_assert_neq(tolower(big), 'i',
                  "the locale is not what the test is about");
    is_neutral();
    drop();
}
