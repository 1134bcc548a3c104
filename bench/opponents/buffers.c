/* SPDX-License-Identifier: Apache-2.0 */
/* Pool and queues under mutexes, one lock operation per 64 KiB. */
#define _GNU_SOURCE 1
#include "bench/opponents/buffers.h"

#include <stdlib.h>

#include "core/base/err.h"

weir_err wb_pool_init(struct wb_pool *pool, struct weir_error *err)
{
    pool->free = NULL;
    int rc = pthread_mutex_init(&pool->lock, NULL);
    return rc == 0 ? WEIR_OK : wi_fail_errno(err, rc, "pthread_mutex_init");
}

void wb_pool_fini(struct wb_pool *pool)
{
    while (pool->free != NULL) {
        struct wb_buffer *b = pool->free;
        pool->free = b->next;
        free(b);
    }
    (void)pthread_mutex_destroy(&pool->lock);
}

struct wb_buffer *wb_pool_take(struct wb_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    struct wb_buffer *b = pool->free;
    if (b != NULL) {
        pool->free = b->next;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    if (b == NULL) {
        b = aligned_alloc(64, sizeof(*b));
        if (b == NULL) {
            return NULL;
        }
    }
    b->next = NULL;
    b->filled = 0;
    b->message = (struct wb_message){.bytes = sizeof(b->message)};
    return b;
}

void wb_pool_put(struct wb_pool *pool, struct wb_buffer *b)
{
    (void)pthread_mutex_lock(&pool->lock);
    b->next = pool->free;
    pool->free = b;
    (void)pthread_mutex_unlock(&pool->lock);
}

void wb_list_append(struct wb_list *list, struct wb_buffer *b)
{
    b->next = NULL;
    if (list->first == NULL) {
        list->first = b;
    } else {
        list->last->next = b;
    }
    list->last = b;
}

struct wb_buffer *wb_list_take(struct wb_list *list)
{
    struct wb_buffer *b = list->first;
    if (b != NULL) {
        list->first = b->next;
        b->next = NULL;
    }
    return b;
}

static void splice(struct wb_list *to, struct wb_list *from)
{
    if (from->first == NULL) {
        return;
    }
    if (to->first == NULL) {
        *to = *from;
    } else {
        to->last->next = from->first;
        to->last = from->last;
    }
    *from = (struct wb_list){NULL, NULL};
}

weir_err wb_queue_init(struct wb_queue *q, struct weir_error *err)
{
    *q = (struct wb_queue){.waiting = false};
    int rc = pthread_mutex_init(&q->lock, NULL);
    if (rc != 0) {
        return wi_fail_errno(err, rc, "pthread_mutex_init");
    }
    rc = pthread_cond_init(&q->filled, NULL);
    if (rc != 0) {
        (void)pthread_mutex_destroy(&q->lock);
        return wi_fail_errno(err, rc, "pthread_cond_init");
    }
    return WEIR_OK;
}

void wb_queue_fini(struct wb_queue *q)
{
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        struct wb_buffer *b;
        while ((b = wb_list_take(&q->list[s])) != NULL) {
            free(b);
        }
    }
    (void)pthread_cond_destroy(&q->filled);
    (void)pthread_mutex_destroy(&q->lock);
}

void wb_queue_put(struct wb_queue *q, struct wb_buffer *b)
{
    (void)pthread_mutex_lock(&q->lock);
    wb_list_append(&q->list[b->message.stage], b);
    bool wake = q->waiting;
    q->waiting = false;
    (void)pthread_mutex_unlock(&q->lock);
    if (wake) {
        (void)pthread_cond_signal(&q->filled);
    }
}

void wb_queue_fail(struct wb_queue *q)
{
    (void)pthread_mutex_lock(&q->lock);
    q->failed = true;
    (void)pthread_mutex_unlock(&q->lock);
    (void)pthread_cond_signal(&q->filled);
}

weir_err wb_queue_take(struct wb_queue *q, struct wb_list out[WB_STAGES],
                       bool wait)
{
    weir_err rc = WEIR_OK;
    (void)pthread_mutex_lock(&q->lock);
    while (q->list[0].first == NULL && q->list[1].first == NULL) {
        if (q->failed || !wait) {
            rc = q->failed ? WEIR_ERR_PEER_LOST : WEIR_AGAIN;
            break;
        }
        q->waiting = true;
        (void)pthread_cond_wait(&q->filled, &q->lock);
    }
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        splice(&out[s], &q->list[s]);
    }
    (void)pthread_mutex_unlock(&q->lock);
    return rc;
}
