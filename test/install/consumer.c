/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has nothing of Weir but what is installed: opens a node,
 * which pulls in core and transports, and a schema. Valid as C and as C++. */
#include <stdio.h>
#include <string.h>

#include <weir/weir.h>

static int open_schema(void)
{
    struct weir_field field;
    field.name = "key";
    field.format = "l";
    field.nullable = 0;
    struct ArrowSchema schema;
    struct weir_error err;
    if (weir_schema_build(&field, 1, &schema, &err) != WEIR_OK) {
        (void)fprintf(stderr, "schema: %s\n", err.message);
        return 1;
    }
    int64_t columns = schema.n_children;
    schema.release(&schema);
    return columns == 1 ? 0 : 1;
}

static int open_node(void)
{
    struct weir_node_params params;
    (void)memset(&params, 0, sizeof(params));
    params.transport = "tcp";
    params.max_members = 2;
    weir_node *node = NULL;
    struct weir_error err;
    if (weir_node_open(&params, &node, &err) != WEIR_OK) {
        (void)fprintf(stderr, "node: %s\n", err.message);
        return 1;
    }
    int wrong = strncmp(weir_node_address(node), "tcp:127.0.0.1:", 14) != 0;
    (void)printf("a node at %s\n", weir_node_address(node));
    weir_node_close(node);
    return wrong;
}

int main(void)
{
    if (strcmp(weir_err_name(WEIR_ERR_PEER_LOST), "WEIR_ERR_PEER_LOST") != 0) {
        return 1;
    }
    return open_schema() + open_node();
}
