/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Two processes, a node with one worker in each, one query over both, and
 * shuffles from one to the other with rows of one int64 column.
 *
 *   each process:  open --> wl_group_meet --> join --> shuffle ... --> close
 */
#ifndef WB_PAIR_H
#define WB_PAIR_H

#include <weir/query.h>
#include <weir/shuffle.h>

#include "launch/nodes.h"

struct wb_pair {
    struct wl_nodes nodes; /* filled in by the caller, except n */
    uint32_t self;         /* 0 or 1; likewise */
    weir_node *node;
    weir_query *query;
};

/** This process's end of a shuffle. */
struct wb_pair_end {
    weir_writer *writer; /* of the sender, else NULL */
    weir_reader *reader; /* of the receiver, else NULL */
};

/** Open this process's node, and once both are open, join it and open the
 *  query. Errors: as weir_node_open, weir_node_join, weir_query_open.
 *  Blocks: shortly; as weir_node_join. Threads: one.
 *  Ownership: wb_pair_close, unless it failed (the process ends then). */
weir_err wb_pair_open(struct wb_pair *pair, struct weir_error *err);
weir_err wb_pair_join(struct wb_pair *pair, struct weir_error *err);

/** Open the shuffle from process `from`, which is the sender, to the other; at
 *  most one each way per id. Errors: as weir_shuffle_open, weir_writer_open,
 *  weir_reader_open, weir_schema_build. Blocks: never. Threads: one.
 *  Ownership: the query's. */
weir_err wb_pair_shuffle(struct wb_pair *pair, uint32_t id, uint32_t from,
                         struct wb_pair_end *out, struct weir_error *err);

/** Why the query failed, or `rc` with its text.
 *  Errors: that. Blocks: never. Threads: any. Ownership: nothing. */
weir_err wb_pair_status(struct wb_pair *pair, weir_err rc,
                        struct weir_error *err);

/** Errors: none. Blocks: shortly. Threads: one. Ownership: frees all. */
void wb_pair_close(struct wb_pair *pair);

#endif /* WB_PAIR_H */
