/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of an endpoint: connecting or accepted, up, lost or disconnected.
 *
 * disconnect may not let go of what was kicked, nor of what the device still
 * reads. Writes and reads under way are cut: the queue pair ends at once. If
 * only messages are under way, a last one (BYE) is posted after them, and the
 * queue pair lives on without its endpoint, and without grants, until BYE is
 * complete: at most VB_LINGER_NS, and at most VB_MAX_LINGER of them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/neutral.h"
#include "transport/verbs/mr.h"
#include "transport/verbs/verbs.h"

/* ---- tables -------------------------------------------------------------- */

struct vb_ep *wi_vb_ep_find(struct vb_transport *t, uint32_t qp_num)
{
    for (uint32_t i = qp_num;; i++) {
        struct vb_ep *ep = t->by_qp[i & t->by_qp_mask];
        if (ep == NULL || ep->qp->qp_num == qp_num) {
            return ep;
        }
    }
}

/* Queue pairs come and go with connections, which cost far more than this. */
void wi_vb_ep_index(struct vb_transport *t)
{
    memset(t->by_qp, 0, (t->by_qp_mask + 1) * sizeof(struct vb_ep *));
    for (uint32_t k = 0; k < t->max_eps; k++) {
        struct vb_ep *ep = t->by_idx[k];
        if (ep == NULL || ep->qp == NULL) {
            continue;
        }
        uint32_t i = ep->qp->qp_num;
        while (t->by_qp[i & t->by_qp_mask] != NULL) {
            i++;
        }
        t->by_qp[i & t->by_qp_mask] = ep;
    }
}

static uint32_t free_idx(const struct vb_transport *t)
{
    uint32_t i = 0;
    while (i < t->max_eps && t->by_idx[i] != NULL) {
        i++;
    }
    return i;
}

/* ---- open and close ------------------------------------------------------ */

/* All places are taken: endpoints that only wait to close, or have not said
 * who they are, make room for a node. */
static void make_room(struct vb_transport *t)
{
    struct wi_list *from =
        wi_list_empty(&t->linger) ? &t->greeting : &t->linger;
    if (!wi_list_empty(from)) {
        wi_vb_ep_close(wi_container_of(from->next, struct vb_ep, all));
    }
}

struct vb_ep *wi_vb_ep_open(struct vb_transport *t, struct rdma_cm_id *id,
                            bool accepted)
{
    uint32_t idx = free_idx(t);
    if (idx == t->max_eps) {
        make_room(t);
        idx = free_idx(t);
    }
    struct vb_ep *ep = idx < t->max_eps ? calloc(1, sizeof(*ep)) : NULL;
    if (ep == NULL) {
        return NULL;
    }
    ep->base.transport = &t->base;
    ep->idx = idx;
    ep->id = id;
    ep->accepted = accepted;
    ep->state = accepted ? VB_CONNECTING : VB_RESOLVING;
    ep->tag = (uint8_t)(t->next_tag++ % VB_KEY_TAGS);
    wi_list_init(&ep->ready);
    wi_list_init(&ep->owing);
    wi_list_init(&ep->unheard);
    wi_list_init(&ep->grants);
    wi_list_push_back(accepted ? &t->greeting : &t->eps, &ep->all);
    t->by_idx[idx] = ep;
    t->n_greeting += accepted ? 1 : 0;
    t->n_links += accepted ? 0 : 1;
    if (accepted) {
        ep->until_ns = t->now_ns + VB_GREETING_NS;
    }
    id->context = ep;
    return ep;
}

static bool is_stranger(const struct vb_ep *ep)
{
    return ep->accepted && !ep->reported;
}

/* It is counted in one of three places. */
static void uncount(struct vb_ep *ep)
{
    struct vb_transport *t = vb_home(ep);
    if (ep->state == VB_LINGER) {
        t->n_linger--;
    } else if (is_stranger(ep)) {
        t->n_greeting--;
    } else {
        t->n_links--;
    }
}

void wi_vb_ep_close(struct vb_ep *ep)
{
    struct vb_transport *t = vb_home(ep);
    wi_list_remove(&ep->all);
    wi_list_remove(&ep->ready);
    wi_list_remove(&ep->owing);
    wi_list_remove(&ep->unheard);
    uncount(ep);
    wi_vb_qp_close(ep);
    wi_vb_revoke(ep);
    if (ep->id != NULL) {
        (void)rdma_destroy_id(ep->id);
    }
    t->by_idx[ep->idx] = NULL;
    free(ep);
}

/* ---- changes ------------------------------------------------------------- */

void wi_vb_ep_todo(struct vb_ep *ep, uint32_t todo)
{
    if (ep->state == VB_LINGER || is_stranger(ep)) {
        return; /* the core does not know it (any more) */
    }
    ep->todo |= todo;
    if (wi_list_empty(&ep->ready)) {
        wi_list_push_back(&vb_home(ep)->ready, &ep->ready);
    }
}

void wi_vb_ep_up(struct vb_ep *ep)
{
    struct vb_transport *t = vb_home(ep);
    ep->state = VB_UP;
    if (ep->accepted) {
        wi_list_remove(&ep->all);
        wi_list_push_back(&t->eps, &ep->all);
        t->n_greeting--;
        t->n_links++;
        ep->until_ns = 0;
        ep->reported = true; /* by the caller */
    } else if (wi_vb_say(ep, VB_FIRST)) {
        ep->reported = true;
        wi_vb_ep_todo(ep, VB_TODO_UP);
        if (t->dev.iwarp) {
            ep->until_ns = t->now_ns + VB_NUDGE_NS;
            wi_list_push_back(&t->unheard, &ep->unheard);
        }
    } else {
        wi_vb_ep_lose(ep, "%s: the first message could not be sent", ep->peer);
    }
}

void wi_vb_ep_lose(struct vb_ep *ep, const char *fmt, ...)
{
    va_list args;
    if (ep->state == VB_LINGER || ep->state == VB_LOST) {
        ep->until_ns = 0;
        return;
    }
    va_start(args, fmt);
    (void)wi_neutral_vformat(ep->reason, sizeof(ep->reason), fmt, args);
    va_end(args);
    if (ep->state == VB_UP && !vb_home(ep)->dead) {
        (void)rdma_disconnect(ep->id); /* so that the peer learns of it now */
    }
    ep->state = VB_LOST;
    vb_home(ep)->cq_empty = false; /* messages may have come until now */
    ep->until_ns = 0;              /* a stranger is dropped in the next poll */
    /* Relaxed: from now on send and kick refuse. */
    wi_store_rlx(&ep->lost, true);
    wi_vb_ep_todo(ep, VB_TODO_CLOSED);
}

static void lose_list(struct wi_list *list, const char *reason)
{
    wi_list_each(n, list)
    {
        struct vb_ep *ep = wi_container_of(n, struct vb_ep, all);
        ep->deaf = true;
        wi_vb_ep_lose(ep, "%s", reason);
    }
}

void wi_vb_all_lost(struct vb_transport *t, const char *fmt, ...)
{
    va_list args;
    if (!t->dead) {
        va_start(args, fmt);
        (void)wi_neutral_vformat(t->dead_reason, sizeof(t->dead_reason), fmt,
                                 args);
        va_end(args);
    }
    t->dead = true;
    lose_list(&t->eps, t->dead_reason);
    lose_list(&t->greeting, t->dead_reason);
    lose_list(&t->linger, t->dead_reason);
}

/* ---- disconnect ---------------------------------------------------------- */

/* Everything that was posted, except messages, is complete. */
static bool is_quiet(struct vb_ep *ep)
{
    /* Relaxed: written by poll, which is in this thread. */
    return wi_load_rlx(&ep->base.completed) == ep->tx.ops &&
           ep->tx.wr_posted == ep->tx.wr_end;
}

static void linger(struct vb_ep *ep)
{
    struct vb_transport *t = vb_home(ep);
    if (t->n_linger == VB_MAX_LINGER) {
        wi_vb_ep_close(wi_container_of(t->linger.next, struct vb_ep, all));
    }
    wi_list_remove(&ep->ready);
    wi_list_remove(&ep->owing);
    wi_list_remove(&ep->unheard);
    wi_list_remove(&ep->all);
    uncount(ep);
    ep->state = VB_LINGER;
    ep->todo = 0;
    ep->bye_wr = ep->tx.wr_end;
    ep->until_ns = t->now_ns + VB_LINGER_NS;
    t->n_linger++;
    wi_list_push_back(&t->linger, &ep->all);
}

void wi_vb_disconnect(struct wi_ep *base)
{
    struct vb_ep *ep = vb_ep_of(base);
    wi_vb_revoke(ep);
    if (ep->state == VB_UP && is_quiet(ep) && wi_vb_say(ep, VB_BYE)) {
        linger(ep);
    } else {
        wi_vb_ep_close(ep);
    }
}
