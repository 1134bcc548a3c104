/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Buffers of the sockets opponent: a pool, and the queue of one worker.
 *
 *   message on the wire and in a buffer, 64 KiB at most:
 *   +-----------+-------+-----+---------+---------- ... -+
 *   | bytes u32 | stage | end | zero u16| zero u64 | rows |
 *   +-----------+-------+-----+---------+---------- ... -+
 */
#ifndef WB_BUFFERS_H
#define WB_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/lib/plan.h"

#define WB_BUFFER_BYTES 65536u

struct wb_message {
    uint32_t bytes; /* this header included */
    uint8_t stage;  /* 0 or 1 */
    uint8_t end;    /* 1: the last of its stage from its sender */
    uint16_t reserved16;
    uint64_t reserved64;
};
_Static_assert(sizeof(struct wb_message) == 16, "wire layout");

#define WB_BUFFER_ROWS_BYTES                                                   \
    (WB_BUFFER_BYTES - (uint32_t)sizeof(struct wb_message))

struct wb_buffer {
    struct wb_buffer *next;
    uint32_t source; /* producer's number, set by who queues it */
    uint32_t filled; /* bytes received so far */
    _Alignas(64) struct wb_message message;
    uint8_t rows[WB_BUFFER_ROWS_BYTES]; /* packed (bench/lib/row.h) */
};

_Static_assert(offsetof(struct wb_buffer, rows) ==
                   offsetof(struct wb_buffer, message) +
                       sizeof(struct wb_message),
               "header and rows are sent and received in one piece");

/** Rows of `row_bytes` in a complete message. */
static inline uint32_t wb_buffer_count(const struct wb_buffer *b,
                                       uint32_t row_bytes)
{
    return (b->message.bytes - (uint32_t)sizeof(b->message)) / row_bytes;
}

/* Free buffers, last in first out. Threads: any. */
struct wb_pool {
    pthread_mutex_t lock;
    struct wb_buffer *free;
};

weir_err wb_pool_init(struct wb_pool *pool, struct weir_error *err);
void wb_pool_fini(struct wb_pool *pool);
/** A buffer, or NULL: no memory. */
struct wb_buffer *wb_pool_take(struct wb_pool *pool);
void wb_pool_put(struct wb_pool *pool, struct wb_buffer *b);

struct wb_list {
    struct wb_buffer *first;
    struct wb_buffer *last;
};

void wb_list_append(struct wb_list *list, struct wb_buffer *b);
struct wb_buffer *wb_list_take(struct wb_list *list);

/* Buffers for one worker, by stage. Producers: the node's reader thread and its
 * workers; consumer: the worker. Unbounded. */
struct wb_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    bool waiting; /* under lock, as everything here */
    bool failed;  /* nothing more will come */
    struct wb_list list[WB_STAGES];
};

weir_err wb_queue_init(struct wb_queue *q, struct weir_error *err);
void wb_queue_fini(struct wb_queue *q);
void wb_queue_put(struct wb_queue *q, struct wb_buffer *b);
/** Nothing more will come: waits end. */
void wb_queue_fail(struct wb_queue *q);

/**
 * Move all that is queued to the ends of out[].
 *
 * @param wait  park while there is nothing
 *
 * Returns:    WEIR_OK | WEIR_AGAIN (nothing there, not with wait)
 * Errors:     WEIR_ERR_PEER_LOST: the queue failed and is empty
 * Blocks:     only with wait
 * Threads:    the worker
 */
weir_err wb_queue_take(struct wb_queue *q, struct wb_list out[WB_STAGES],
                       bool wait);

#endif /* WB_BUFFERS_H */
