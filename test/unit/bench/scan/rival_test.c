/* SPDX-License-Identifier: Apache-2.0 */
/* Contestants that are scripts. */
#include <criterion/criterion.h>
#include <string.h>

#include "bench/scan/rival.h"

TestSuite(scan_rival, .timeout = 60);

static weir_err open_script(const char *script, struct wb_rival **out,
                            struct weir_error *err)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    const struct wb_rival_params params = {.name = "script", .argv = argv};
    return wb_rival_open(&params, out, err);
}

Test(scan_rival, is_asked_and_answers)
{
    struct wb_rival *rival;
    struct wb_scan_pass pass;
    cr_assert_eq(open_script("echo ready version 1; read a b; "
                             "echo rows $b bytes 2 sum "
                             "18446744073709551615 seconds 0.5; read a",
                             &rival, NULL),
                 WEIR_OK);
    cr_assert_str_eq(wb_rival_version(rival), "version 1");
    cr_assert_eq(wb_rival_ask(rival, "read 7", &pass, NULL), WEIR_OK);
    cr_assert_eq(pass.rows, 7);
    cr_assert_eq(pass.bytes, 2);
    cr_assert_eq(pass.sum, UINT64_MAX);
    cr_assert_float_eq(pass.seconds, 0.5, 1e-9);
    wb_rival_close(rival);
}

Test(scan_rival, says_why_it_failed)
{
    struct wb_rival *rival;
    struct wb_scan_pass pass;
    struct weir_error err;
    cr_assert_eq(open_script("echo ready 1; read a; echo failed no columns",
                             &rival, NULL),
                 WEIR_OK);
    cr_assert_eq(wb_rival_ask(rival, "read 7", &pass, &err), WEIR_ERR_DATA);
    cr_assert_not_null(strstr(err.message, "no columns"));
    cr_assert_eq(wb_rival_ask(rival, "read 7", &pass, &err),
                 WEIR_ERR_PEER_LOST);
    wb_rival_close(rival);
}

Test(scan_rival, that_does_not_start_is_an_error)
{
    struct wb_rival *rival = NULL;
    struct weir_error err;
    cr_assert_eq(open_script("exit 3", &rival, &err), WEIR_ERR_PEER_LOST);
    cr_assert_not_null(strstr(err.message, "script has ended"));
    cr_assert_eq(open_script("echo hello", &rival, &err), WEIR_ERR_DATA);
    cr_assert_null(rival);
}
