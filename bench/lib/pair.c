/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lib/pair.h"

#include <stddef.h>

#include "core/base/err.h"

weir_err wb_pair_open(struct wb_pair *pair, struct weir_error *err)
{
    pair->nodes.n = 2;
    pair->nodes.params.workers = 1;
    return wl_nodes_open(&pair->nodes, pair->self, &pair->node, err);
}

weir_err wb_pair_join(struct wb_pair *pair, struct weir_error *err)
{
    struct weir_query_params params = {.id = 1};
    weir_err rc = wl_nodes_join(&pair->nodes, pair->node, err);
    return rc == WEIR_OK
               ? weir_query_open(pair->node, &params, &pair->query, err)
               : rc;
}

static weir_err open_end(struct wb_pair *pair,
                         const struct weir_shuffle_params *params,
                         struct wb_pair_end *out, struct weir_error *err)
{
    weir_shuffle *shuffle = NULL;
    *out = (struct wb_pair_end){.writer = NULL};
    weir_err rc = weir_shuffle_open(pair->query, params, &shuffle, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    return pair->self == params->producers[0]
               ? weir_writer_open(shuffle, 0, &out->writer, err)
               : weir_reader_open(shuffle, 0, &out->reader, err);
}

weir_err wb_pair_shuffle(struct wb_pair *pair, uint32_t id, uint32_t from,
                         struct wb_pair_end *out, struct weir_error *err)
{
    static const struct weir_field field = {.name = "value", .format = "l"};
    const uint32_t to = 1 - from;
    struct ArrowSchema schema;
    weir_err rc = weir_schema_build(&field, 1, &schema, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_shuffle_params params = {
        .id = id,
        .schema = &schema,
        .partitioning = WEIR_GATHER,
        .producers = &from,
        .n_producers = 1,
        .consumers = &to,
        .n_consumers = 1,
    };
    rc = open_end(pair, &params, out, err);
    schema.release(&schema);
    return rc;
}

weir_err wb_pair_status(struct wb_pair *pair, weir_err rc,
                        struct weir_error *err)
{
    weir_err why = weir_query_status(pair->query, err);
    return why != WEIR_OK ? why : wi_fail(err, rc, "%s", weir_err_text(rc));
}

void wb_pair_close(struct wb_pair *pair)
{
    weir_query_close(pair->query);
    wl_nodes_close(pair->node);
}
