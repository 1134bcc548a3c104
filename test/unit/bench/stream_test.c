/* SPDX-License-Identifier: Apache-2.0 */
/* One node's rows to another: all arrive, in order, and are timed. */
#include "bench/lib/stream.h"

#include <criterion/criterion.h>
#include <string.h>

static void check_stream(const char *transport)
{
    struct wb_stream_params params = {
        .transport = transport, .frame_bytes = 16384, .mib = 3};
    struct wb_stream result = {.seconds = -1.0};
    struct weir_error err = {.code = WEIR_OK};
    cr_assert_eq(wb_stream_run(&params, &result, &err), WEIR_OK, "%s: %s",
                 transport, err.message);
    cr_assert_gt(result.seconds, 0.0);
    cr_assert_float_eq(result.mb_per_s * result.seconds, 3.145728, 1e-6);
    cr_assert_gt(result.usage.user_s + result.usage.sys_s, 0.0);
}

Test(stream, carries_every_row_over_shm, .timeout = 60)
{
    check_stream("shm");
}

Test(stream, carries_every_row_over_tcp, .timeout = 60)
{
    check_stream("tcp");
}

Test(stream, names_what_cannot_be_run, .timeout = 60)
{
    struct wb_stream result;
    struct weir_error err = {.code = WEIR_OK};
    struct wb_stream_params params = {.mib = 1048577};
    cr_assert_eq(wb_stream_run(&params, &result, &err), WEIR_ERR_ARG);
    cr_assert(strstr(err.message, "1048577") != NULL, "%s", err.message);
    params = (struct wb_stream_params){.transport = "pigeon"};
    cr_assert_eq(wb_stream_run(&params, &result, &err), WEIR_ERR_NOT_FOUND);
}
