/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of scans (libweir-scan). */
#include <stdlib.h>
#include <weir/scan.h>

#include "test/unit/args/args.h"

static weir_err make_nothing(void *arg, void **kept_out, struct weir_error *err)
{
    (void)arg, (void)err;
    *kept_out = NULL;
    return WEIR_OK;
}

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
    const struct weir_scan_keeper keeper = {NULL, NULL, NULL};
    void *kept;
    static const struct weir_scan_keeper whole = {make_nothing, free, NULL};
    ALLOWS(weir_scan_job_keep, job,
           weir_scan_job_keep(NULL, &whole, &kept, &w->err) == WEIR_OK &&
               kept == NULL);
    REFUSES(weir_scan_job_keep, keeper, NULL, NULL, &kept, &w->err);
    REFUSES(weir_scan_job_keep, kept_out, NULL, &keeper, NULL, &w->err);
    wt_args_close(w);
}

Test(args, scan_server)
{
    struct wt_args world;
    struct wt_args *w = &world;
    weir_scan_server *server;
    const struct weir_scan_server_params p = {0};
    struct weir_scan_stats stats = {.clients = 7};
    wt_args_open(w);
    REFUSES(weir_scan_server_open, node, NULL, &p, &server, &w->err);
    REFUSES(weir_scan_server_open, params, w->node, NULL, &server, &w->err);
    REFUSES(weir_scan_server_open, server_out, w->node, &p, NULL, &w->err);
    weir_scan_server_stats(NULL, &stats);
    ANSWERS(weir_scan_server_stats, server, stats.clients == 0);
    ANSWERS(weir_scan_server_stats, stats_out,
            DONE(weir_scan_server_stats(NULL, NULL)));
    ALLOWS(weir_scan_server_close, server, DONE(weir_scan_server_close(NULL)));
    wt_args_close(w);
}

Test(args, scan_client)
{
    struct wt_args world;
    struct wt_args *w = &world;
    weir_scan_client *client;
    struct weir_scan_client_params p = {0};
    const struct weir_scan_request request = {0};
    const struct weir_scan_id id = {{0}};
    struct weir_scan_id id_out;
    struct ArrowArrayStream out;
    int64_t rows;
    wt_args_open(w);
    REFUSES(weir_scan_connect, node, NULL, &p, &client, &w->err);
    REFUSES(weir_scan_connect, params, w->node, NULL, &client, &w->err);
    REFUSES(weir_scan_connect, client_out, w->node, &p, NULL, &w->err);
    REFUSES(weir_scan_open, client, NULL, &request, &out, &rows, &w->err);
    REFUSES(weir_scan_share, client, NULL, &request, 1, &id_out, NULL, &w->err);
    REFUSES(weir_scan_open_range, client, NULL, &id, 0, &out, &w->err);
    weir_scan_client *c = NULL;
    p.address = weir_node_address(w->node); /* whose network nobody steps */
    p.timeout_ns = 1;
    cr_assert_eq(weir_scan_connect(w->node, &p, &c, &w->err), WEIR_OK, "%s",
                 w->err.message);
    REFUSES(weir_scan_open, request, c, NULL, &out, &rows, &w->err);
    ALLOWS(weir_scan_open, stream_out,
           weir_scan_open(c, &request, NULL, &rows, NULL) != WEIR_ERR_ARG);
    ALLOWS(weir_scan_open, rows_out,
           weir_scan_open(c, &request, &out, NULL, NULL) != WEIR_ERR_ARG);
    REFUSES(weir_scan_share, request, c, NULL, 1, &id_out, NULL, &w->err);
    REFUSES(weir_scan_share, id_out, c, &request, 1, NULL, NULL, &w->err);
    ALLOWS(weir_scan_share, schema_out,
           weir_scan_share(c, &request, 1, &id_out, NULL, NULL) !=
               WEIR_ERR_ARG);
    REFUSES(weir_scan_open_range, id, c, NULL, 0, &out, &w->err);
    REFUSES(weir_scan_open_range, stream_out, c, &id, 0, NULL, &w->err);
    ANSWERS(weir_scan_last_fault, client,
            weir_scan_last_fault(NULL)->text == NULL);
    ANSWERS(weir_scan_cancel, client, DONE(weir_scan_cancel(NULL)));
    ALLOWS(weir_scan_disconnect, client, DONE(weir_scan_disconnect(NULL)));
    weir_scan_disconnect(c);
    wt_args_close(w);
}

Test(args, scan_job)
{
    struct wt_args world;
    struct wt_args *w = &world;
    wt_args_open(w);
    ALLOWS(weir_scan_job_on_cancel, job,
           DONE(weir_scan_job_on_cancel(NULL, NULL, NULL)));
    ALLOWS(weir_scan_job_on_cancel, fn,
           DONE(weir_scan_job_on_cancel(NULL, NULL, w)));
    ALLOWS(weir_scan_job_cancelled, job, weir_scan_job_cancelled(NULL) == 0);
    wt_args_close(w);
}
