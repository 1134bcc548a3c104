/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of scans (libweir-scan). */
#include <weir/scan.h>

#include "test/unit/args/args.h"

Test(args, scan)
{
    struct wt_args world;
    struct wt_args *w = &world;
    struct weir_scan_engine engine;
    const struct weir_scan_adbc_params adbc = {.driver = "/nowhere"};
    const struct weir_scan_adbc_params none = {0};
    const struct weir_scan_adbc_params list = {.driver = "/nowhere",
                                               .n_options = 1};
    const struct weir_scan_adbc_params more = {.driver = "/nowhere",
                                               .reserved = {0, 1}};
    wt_args_open(w);
    REFUSES(weir_scan_adbc_open, params, NULL, &engine, &w->err);
    REFUSES(weir_scan_adbc_open, engine_out, &adbc, NULL, &w->err);
    REFUSES(weir_scan_adbc_open, driver, &none, &engine, &w->err);
    REFUSES(weir_scan_adbc_open, options, &list, &engine, &w->err);
    REFUSES(weir_scan_adbc_open, reserved, &more, &engine, &w->err);
    wt_args_close(w);
}
