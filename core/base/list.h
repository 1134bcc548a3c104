/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Intrusive doubly linked lists with a head node; no allocation, O(1).
 * A node that is on no list points to itself.
 */
#ifndef WI_BASE_LIST_H
#define WI_BASE_LIST_H

#include <stdbool.h>

struct wi_list {
    struct wi_list *next;
    struct wi_list *prev;
};

static inline void wi_list_init(struct wi_list *l)
{
    l->next = l;
    l->prev = l;
}

static inline bool wi_list_empty(const struct wi_list *l)
{
    return l->next == l;
}

static inline void wi_list_push_back(struct wi_list *l, struct wi_list *n)
{
    n->prev = l->prev;
    n->next = l;
    l->prev->next = n;
    l->prev = n;
}

static inline void wi_list_remove(struct wi_list *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    wi_list_init(n);
}

/** Take the first node, or NULL. */
static inline struct wi_list *wi_list_take(struct wi_list *l)
{
    struct wi_list *n = l->next;
    if (n == l) {
        return (struct wi_list *)0;
    }
    wi_list_remove(n);
    return n;
}

/** Loop that allows the current node to be removed. */
#define wi_list_each(n, l)                                                     \
    for (struct wi_list *n = (l)->next, *n##_next = n->next; n != (l);         \
         n = n##_next, n##_next = n->next)

#endif /* WI_BASE_LIST_H */
