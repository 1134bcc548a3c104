/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Lock-free queue, many producers and one consumer at a time: liburcu's
 * wfcqueue (wait-free enqueue; M. Desnoyers and L. Jiangshan, urcu/wfcqueue.h).
 *
 * Which calls may meet: put with put and with take; take with take only under
 * the caller's own exclusion. A node is on one queue at a time.
 */
#ifndef WI_BASE_LQ_H
#define WI_BASE_LQ_H

#include <stdbool.h>
#include <urcu/wfcqueue.h>

#include "core/base/tsan.h"

struct wi_lq_node {
    struct cds_wfcq_node node;
};

struct wi_lq {
    struct cds_wfcq_tail tail;   /* written by: producers */
    struct __cds_wfcq_head head; /* written by: the consumer */
};

static inline void wi_lq_init(struct wi_lq *q)
{
    __cds_wfcq_init(&q->head, &q->tail);
}

/** E2 release: what the node's owner wrote before; pairs with E2 acquire in
 *  wi_lq_take(). */
static inline void wi_lq_put(struct wi_lq *q, struct wi_lq_node *n)
{
    cds_wfcq_node_init(&n->node);
    wi_tsan_release(q);
    (void)cds_wfcq_enqueue(&q->head, &q->tail, &n->node);
}

/** First node or NULL. E2 acquire: pairs with E2 release in wi_lq_put(). A
 *  producer that was interrupted inside put hides what comes after it until
 *  it goes on; nothing waits for it here. */
static inline struct wi_lq_node *wi_lq_take(struct wi_lq *q)
{
    struct cds_wfcq_node *n =
        __cds_wfcq_dequeue_nonblocking(&q->head, &q->tail);
    if (n == NULL || n == CDS_WFCQ_WOULDBLOCK) {
        return NULL;
    }
    wi_tsan_acquire(q);
    return caa_container_of(n, struct wi_lq_node, node);
}

static inline bool wi_lq_empty(struct wi_lq *q)
{
    return cds_wfcq_empty(&q->head, &q->tail);
}

#endif /* WI_BASE_LQ_H */
