/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What this machine's kernel, or its user's rights, do not have for a test. The
 * test is skipped, and run_tests.sh prints one line that says so: Criterion
 * names what it skips only if asked for everything.
 */
#ifndef WEIR_TEST_LACKS_H
#define WEIR_TEST_LACKS_H

#include <criterion/criterion.h>
#include <stdio.h>

/** Leave a test, in its own process. `fmt` and what follows are its reason. */
#define WT_LACKS(...)                                                          \
    do {                                                                       \
        (void)fprintf(stderr, "lacking, %s: ", __FILE__);                      \
        (void)fprintf(stderr, __VA_ARGS__);                                    \
        (void)fputc('\n', stderr);                                             \
        cr_skip_test(__VA_ARGS__);                                             \
    } while (0)

#endif /* WEIR_TEST_LACKS_H */
