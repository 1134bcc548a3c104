/* SPDX-License-Identifier: Apache-2.0 */
/* Servers and clients: what their calls refuse. They do no more yet. */
#include <weir/scan.h>

#include <stddef.h>

#include "services/scan/fail.h"

static weir_err refuse(struct weir_error *err, const char *what)
{
    return wi_scan_fail(err, WEIR_ERR_ARG, "%s is NULL", what);
}

static weir_err not_yet(struct weir_error *err)
{
    return wi_scan_fail(err, WEIR_ERR_UNSUPPORTED, "not there yet");
}

weir_err weir_scan_server_open(weir_node *node,
                               const struct weir_scan_server_params *params,
                               weir_scan_server **server_out,
                               struct weir_error *err)
{
    if (node == NULL || params == NULL || server_out == NULL) {
        return refuse(err, node == NULL     ? "node"
                           : params == NULL ? "params"
                                            : "server_out");
    }
    return not_yet(err);
}

void weir_scan_server_stats(weir_scan_server *server,
                            struct weir_scan_stats *stats_out)
{
    if (stats_out != NULL) {
        *stats_out = (struct weir_scan_stats){0};
    }
    (void)server;
}

void weir_scan_server_close(weir_scan_server *server)
{
    (void)server;
}

weir_err weir_scan_connect(weir_node *node,
                           const struct weir_scan_client_params *params,
                           weir_scan_client **client_out,
                           struct weir_error *err)
{
    if (node == NULL || params == NULL || client_out == NULL) {
        return refuse(err, node == NULL     ? "node"
                           : params == NULL ? "params"
                                            : "client_out");
    }
    return not_yet(err);
}

weir_err weir_scan_open(weir_scan_client *client,
                        const struct weir_scan_request *request,
                        struct ArrowArrayStream *stream_out, int64_t *rows_out,
                        struct weir_error *err)
{
    if (client == NULL || request == NULL) {
        return refuse(err, client == NULL ? "client" : "request");
    }
    (void)stream_out;
    (void)rows_out;
    return not_yet(err);
}

weir_err weir_scan_share(weir_scan_client *client,
                         const struct weir_scan_request *request,
                         uint32_t n_ranges, struct weir_scan_id *id_out,
                         struct ArrowSchema *schema_out, struct weir_error *err)
{
    if (client == NULL || request == NULL || id_out == NULL) {
        return refuse(err, client == NULL    ? "client"
                           : request == NULL ? "request"
                                             : "id_out");
    }
    (void)n_ranges;
    (void)schema_out;
    return not_yet(err);
}

weir_err weir_scan_open_range(weir_scan_client *client,
                              const struct weir_scan_id *id, uint32_t range,
                              struct ArrowArrayStream *stream_out,
                              struct weir_error *err)
{
    if (client == NULL || id == NULL || stream_out == NULL) {
        return refuse(err, client == NULL ? "client"
                           : id == NULL   ? "id"
                                          : "stream_out");
    }
    (void)range;
    return not_yet(err);
}

const struct weir_scan_fault *
weir_scan_last_fault(const weir_scan_client *client)
{
    static const struct weir_scan_fault none;
    (void)client;
    return &none;
}

void weir_scan_cancel(weir_scan_client *client)
{
    (void)client;
}

void weir_scan_disconnect(weir_scan_client *client)
{
    (void)client;
}
