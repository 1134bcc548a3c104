/* SPDX-License-Identifier: Apache-2.0 */
/* Deferred free over call_rcu: its helper thread sleeps while it has nothing
 * to do. */
#include "core/base/rcu.h"

#include "core/base/cc.h"

char wi_rcu_readers;

static void free_object(struct rcu_head *head)
{
    wi_tsan_acquire(head);
    wi_tsan_acquire(&wi_rcu_readers);
    struct wi_rcu_head *h = wi_container_of(head, struct wi_rcu_head, head);
    free(h->object);
}

void wi_rcu_free(struct wi_rcu_head *h, void *object)
{
    h->object = object;
    wi_tsan_release(&h->head);
    call_rcu(&h->head, free_object);
}
