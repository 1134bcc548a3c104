/* SPDX-License-Identifier: Apache-2.0 */
/* A program of somebody else that links libweir-scan: nobody serves yet. */
#include <stdio.h>
#include <weir/scan.h>
#include <weir/weir.h>

int main(void)
{
    struct weir_error err;
    weir_node *node = NULL;
    weir_scan_client *client = NULL;
    struct weir_scan_client_params params = {};
    struct weir_scan_request request = {};
    struct ArrowArrayStream rows;
    if (weir_node_open(NULL, &node, &err) != WEIR_OK) {
        return 1;
    }
    params.address = weir_node_address(node);
    if (weir_scan_connect(node, &params, &client, &err) != WEIR_OK) {
        return 1;
    }
    weir_err rc = weir_scan_open(client, &request, &rows, NULL, &err);
    printf("%s\n", err.message);
    weir_scan_disconnect(client);
    weir_node_close(node);
    return rc == WEIR_ERR_NOT_FOUND ? 0 : 1;
}
