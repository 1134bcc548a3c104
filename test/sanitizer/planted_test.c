/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that a sanitizer has to find: all tests of this program must fail, or
 * a clean run of the others would mean nothing. */
#include <criterion/criterion.h>

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#if defined(__SANITIZE_THREAD__)

static int shared;

static void *count(void *arg)
{
    shared++;
    return arg;
}

Test(planted, a_race)
{
    pthread_t other;
    cr_assert_eq(pthread_create(&other, NULL, count, NULL), 0);
    (void)count(NULL);
    cr_assert_eq(pthread_join(other, NULL), 0);
}

#else

Test(planted, an_overflow)
{
    volatile int most = INT_MAX;
    most = most + 1;
}

#endif

#if defined(__SANITIZE_ADDRESS__)

Test(planted, a_leak)
{
    char *volatile lost = malloc(100);
    lost = NULL;
    cr_assert_null(lost);
}

Test(planted, a_use_after_free)
{
    volatile char *volatile gone = malloc(100);
    free((void *)gone);
    gone[3] = 1;
}

#endif
