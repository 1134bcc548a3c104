/* SPDX-License-Identifier: Apache-2.0 */
/* Receives: posted, handed out by completions, and posted again. */
#include "transport/verbs/receive.h"

#include <string.h>

#include "core/base/atomic.h"
#include "transport/verbs/cq.h"

/* A list of receives that is handed over in pieces. */
struct batch {
    struct ibv_recv_wr wr[VB_WC];
    struct ibv_sge sge[VB_WC];
    uint32_t n;
};

static void batch_add(struct vb_transport *t, struct batch *b, uint32_t buf)
{
    uint32_t i = b->n++;
    b->sge[i] = (struct ibv_sge){.addr = (uintptr_t)t->bufs[buf],
                                 .length = VB_BUF_BYTES,
                                 .lkey = t->buf_lkey[buf]};
    b->wr[i].wr_id = buf;
    b->wr[i].sg_list = &b->sge[i];
    b->wr[i].num_sge = 1;
    b->wr[i].next = NULL;
    if (i > 0) {
        b->wr[i - 1].next = &b->wr[i];
    }
}

static void batch_post(struct vb_transport *t, struct vb_ep *ep,
                       struct batch *b)
{
    struct ibv_recv_wr *bad = NULL;
    int rc = 0;
    if (b->n > 0) {
        rc = t->srq != NULL ? ibv_post_srq_recv(t->srq, b->wr, &bad)
                            : ibv_post_recv(ep->qp, b->wr, &bad);
    }
    if (rc != 0 && t->srq != NULL) {
        wi_vb_all_lost(t, "%s takes no receives: %s", t->dev.name,
                       strerror(rc));
    } else if (rc != 0) {
        wi_vb_ep_lose(ep, "receives for %s: %s", ep->peer, strerror(rc));
    }
    b->n = 0;
}

void wi_vb_feed(struct vb_transport *t, struct vb_ep *ep,
                const struct vb_slab *slab)
{
    struct batch b;
    b.n = 0;
    for (uint32_t i = 0; i < slab->n_bufs; i++) {
        batch_add(t, &b, slab->first_buf + i);
        if (b.n == VB_WC) {
            batch_post(t, ep, &b);
        }
    }
    batch_post(t, ep, &b);
}

/* One more receive is posted again for this peer. */
static void count_freed(struct vb_ep *ep)
{
    uint32_t freed = wi_load_rlx(&ep->rx_freed) + 1; /* rlx: own counter */
    /* E53 release: the receive is posted; pairs with E53 acquire in stamp() of
     * qp.c */
    wi_store_rel(&ep->rx_freed, freed);
    /* Relaxed: a smaller number only asks once more. */
    if (vb_ack_due(freed, wi_load_rlx(&ep->told_freed), VB_WINDOW) &&
        ep->state == VB_UP) {
        wi_vb_want(ep, VB_ACK_DUE);
    }
}

void wi_vb_refill(struct vb_transport *t)
{
    struct batch b;
    uint32_t at = 0;
    b.n = 0;
    while (at < t->n_held) {
        uint32_t first = at;
        struct vb_ep *ep = t->held_by[at];
        if (t->srq == NULL && ep == NULL) {
            at++; /* its queue is gone */
            continue;
        }
        while (at < t->n_held && b.n < VB_WC &&
               (t->srq != NULL || t->held_by[at] == ep)) {
            batch_add(t, &b, t->held[at++]);
        }
        batch_post(t, ep, &b);
        for (uint32_t i = first; i < at; i++) {
            if (t->held_by[i] != NULL) {
                count_freed(t->held_by[i]);
            }
        }
    }
    t->n_held = 0;
}

void wi_vb_hold(struct vb_transport *t, uint32_t buf, struct vb_ep *ep)
{
    if (ep != NULL || t->srq != NULL) {
        t->held[t->n_held] = buf;
        t->held_by[t->n_held++] = ep;
    }
}
