/* SPDX-License-Identifier: Apache-2.0 */
/** One node of the sockets opponent, as its connections and workers see it. */
#ifndef WB_SOCKETS_NODE_H
#define WB_SOCKETS_NODE_H

#include <pthread.h>

#include "bench/lib/plan.h"
#include "bench/opponents/buffers.h"

/* One socket. Its receiving side is used by the reader thread only, its sending
 * side by one worker. */
struct wb_conn {
    int fd;
    uint32_t peer;            /* worker at the other end, by id */
    uint32_t worker;          /* ours, on this node */
    struct wb_buffer *buffer; /* being received; NULL: none */
};

struct wb_sockets {
    const struct wb_node *node;
    uint32_t workers;     /* on each node */
    uint32_t all_workers; /* in the cluster */
    uint32_t max_conns;
    uint32_t n_conns;
    int listen;
    int epoll;
    int stop; /* eventfd: the reader ends */
    pthread_t reader;
    struct wb_conn *conns;
    int *fd; /* [own worker * all_workers + peer worker's id] */
    struct wb_pool pool;
    struct wb_queue *queues; /* [own worker] */
};

/** Both stages of one worker; see wb_engine_ops.work. */
weir_err wb_sockets_work(struct wb_sockets *s, struct wb_worker *worker,
                         struct weir_error *err);

#endif /* WB_SOCKETS_NODE_H */
