/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of a region: every size and way has figures, over each transport. */
#include "bench/lib/get.h"

#include <criterion/criterion.h>
#include <string.h>

static void check_get(const char *transport, bool attend)
{
    const struct wb_get_params params = {
        .transport = transport,
        .sizes = {8, 65544},
        .n_sizes = 2,
        .region_bytes = 1 << 20,
        .in_flight = 3,
        .repeat = 2,
        .ms = 1,
        .attend = attend,
    };
    struct wb_get result = {.params = {.transport = NULL}};
    struct weir_error err = {.code = WEIR_OK};
    cr_assert_eq(wb_get_run(&params, &result, &err), WEIR_OK, "%s: %s",
                 transport, err.message);
    cr_assert_eq(result.params.span, 1u << 20);
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t way = 0; way < WB_GET_WAYS; way++) {
            const struct wb_get_figures *f = &result.figures[i][way];
            cr_assert_gt(f->mean_ns, 0.0);
            cr_assert_gt(f->median_ns, 0.0);
            cr_assert_geq(f->p99_ns, f->median_ns / 2.0); /* of other runs */
            cr_assert_gt(f->mb_per_s, 0.0);
        }
    }
}

Test(get, reads_known_bytes_over_shm, .timeout = 60)
{
    check_get("shm", false);
}

Test(get, reads_known_bytes_over_tcp, .timeout = 60)
{
    check_get("tcp", false);
}

Test(get, reads_of_an_owner_that_waits_over_tcp, .timeout = 60)
{
    check_get("tcp", true);
}

Test(get, names_what_cannot_be_run, .timeout = 60)
{
    struct wb_get result;
    struct weir_error err = {.code = WEIR_OK};
    struct wb_get_params params = {.sizes = {12}, .n_sizes = 1};
    cr_assert_eq(wb_get_run(&params, &result, &err), WEIR_ERR_ARG);
    cr_assert(strstr(err.message, "12 bytes") != NULL, "%s", err.message);
    params = (struct wb_get_params){.region_bytes = 65536};
    cr_assert_eq(wb_get_run(&params, &result, &err), WEIR_ERR_ARG);
    cr_assert(strstr(err.message, "1048576") != NULL, "%s", err.message);
    params = (struct wb_get_params){.in_flight = 257};
    cr_assert_eq(wb_get_run(&params, &result, &err), WEIR_ERR_ARG);
    cr_assert(strstr(err.message, "257") != NULL, "%s", err.message);
    params = (struct wb_get_params){.transport = "pigeon"};
    cr_assert_eq(wb_get_run(&params, &result, &err), WEIR_ERR_NOT_FOUND);
}
