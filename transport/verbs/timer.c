/* SPDX-License-Identifier: Apache-2.0 */
/* What is due at a time: acknowledgements, nudges, ends of waits; and the timer
 * of a sleep. */
#include "transport/verbs/timer.h"

#include <sys/timerfd.h>

#include "core/base/atomic.h"
#include "transport/verbs/cq.h"

void wi_vb_pay(struct vb_transport *t, uint64_t soon_ns)
{
    struct wi_list *n;
    if (wi_list_empty(&t->owing) || t->owing_ns > t->now_ns + soon_ns) {
        return;
    }
    while ((n = wi_list_take(&t->owing)) != NULL) {
        struct vb_ep *ep = wi_container_of(n, struct vb_ep, owing);
        wi_vb_ep_owed(ep);
    }
}

/*
 * Soft-iWARP as of Linux 6.1 can miss the first messages of a connection: those
 * that reach the accepting side before siw_accept() has handed the socket to
 * the queue pair lie in the socket until something else arrives.
 */
void wi_vb_nudge(struct vb_transport *t)
{
    wi_list_each(n, &t->unheard)
    {
        struct vb_ep *ep = wi_container_of(n, struct vb_ep, unheard);
        if (ep->state != VB_UP || wi_load_rlx(&ep->rx_got) != 0) { /* own */
            wi_list_remove(n);
        } else if (ep->until_ns <= t->now_ns) {
            ep->until_ns = t->now_ns + (VB_NUDGE_NS << ep->nudges);
            ep->nudges += ep->nudges < 6 ? 1 : 0;
            wi_vb_want(ep, VB_ACK_NUDGE);
        }
    }
}

static uint64_t first_deadline(struct vb_transport *t)
{
    struct wi_list *const lists[] = {&t->greeting, &t->linger};
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < WI_ARRAY_LEN(lists); i++) {
        wi_list_each(n, lists[i])
        {
            const struct vb_ep *ep = wi_container_of(n, struct vb_ep, all);
            first = wi_min_u64(first, ep->until_ns);
        }
    }
    wi_list_each(u, &t->unheard)
    {
        const struct vb_ep *ep = wi_container_of(u, struct vb_ep, unheard);
        first = wi_min_u64(first, ep->until_ns);
    }
    wi_list_each(n, &t->owing)
    {
        struct vb_ep *ep = wi_container_of(n, struct vb_ep, owing);
        if (!wi_vb_ep_owes(ep)) {
            wi_list_remove(n); /* a message has carried it */
        }
    }
    return wi_list_empty(&t->owing) ? first : wi_min_u64(first, t->owing_ns);
}

void wi_vb_set_timer(struct vb_transport *t)
{
    uint64_t first = first_deadline(t);
    if (first == UINT64_MAX || (t->timer_ns != 0 && t->timer_ns <= first)) {
        return; /* to fire early does no harm */
    }
    /* Relative: the engine's clock need not be this one. */
    uint64_t left = first > t->now_ns ? first - t->now_ns : 1;
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(left / 1000000000u),
                     .tv_nsec = (long)(left % 1000000000u)},
    };
    (void)timerfd_settime(t->timer_fd, 0, &when, NULL);
    t->timer_ns = first;
}
