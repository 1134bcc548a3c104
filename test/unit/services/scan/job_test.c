/* SPDX-License-Identifier: Apache-2.0 */
/* A request that is not wanted any more tells its engine once. */
#include <stddef.h>

#include <criterion/criterion.h>

#include "services/scan/job.h"

static void count(void *arg)
{
    ++*(int *)arg;
}

Test(scan_job, tells_its_engine_once)
{
    struct weir_scan_job job;
    int calls = 0;
    wi_scan_job_init(&job);
    weir_scan_job_on_cancel(&job, count, &calls);
    cr_assert_not(weir_scan_job_cancelled(&job));
    wi_scan_job_cancel(&job);
    wi_scan_job_cancel(&job);
    cr_assert_eq(calls, 1);
    cr_assert(weir_scan_job_cancelled(&job));
    wi_scan_job_fini(&job);
}

Test(scan_job, tells_an_engine_that_comes_late_at_once)
{
    struct weir_scan_job job;
    int calls = 0;
    wi_scan_job_init(&job);
    wi_scan_job_cancel(&job);
    weir_scan_job_on_cancel(&job, count, &calls);
    cr_assert_eq(calls, 1);
    wi_scan_job_fini(&job);
}

Test(scan_job, does_not_tell_an_engine_that_has_gone)
{
    struct weir_scan_job job;
    int calls = 0;
    wi_scan_job_init(&job);
    weir_scan_job_on_cancel(&job, count, &calls);
    weir_scan_job_on_cancel(&job, NULL, NULL);
    wi_scan_job_cancel(&job);
    cr_assert_eq(calls, 0);
    wi_scan_job_fini(&job);
}

Test(scan_job, of_nobody_is_never_cancelled)
{
    int calls = 0;
    weir_scan_job_on_cancel(NULL, count, &calls);
    cr_assert_eq(weir_scan_job_cancelled(NULL), 0);
    cr_assert_eq(calls, 0);
}
