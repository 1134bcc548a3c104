/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/in_ring.h"

#include "core/link/engine.h"
#include "core/link/in_use.h"
#include "core/link/link.h"
#include "core/link/post.h"
#include "core/link/scan.h"
#include "core/link/worker.h"

void wi_in_wake_producer(struct wi_in *in)
{
    struct wi_link *l = in->link;
    wi_store_rlx(&in->ctl->producer_waits,
                 0); /* rlx: set again if still full */
    if (l->self) {
        wi_worker_notify(&l->engine->workers[in->producer_worker],
                         WI_ATTN_SPACE);
        return;
    }
    struct wi_bell *bell =
        (struct wi_bell *)(void *)(l->peer_bells + (size_t)in->producer_worker *
                                                       l->peer_bell_stride);
    if (wi_bell_attention(bell, WI_ATTN_SPACE) == WI_WAKE_FD) {
        /* E6: pairs with the exchange in send_bells() */
        (void)wi_or_sc(&l->bells, 1ull << in->producer_worker);
        wi_link_pump(l);
    }
}

/* Mapped ring: the producer reads `head` itself. If it asked, it is woken once
 * the ring is all but empty (half empty, the two would take turns twice as
 * often); at once if the reader has read everything, for it may hold batches
 * while it waits for more. */
static void tell_producer(struct wi_in *in, uint64_t head)
{
    /* E5 sc: `head` was stored before; pairs with E5 sc in wi_lane_room() */
    if (wi_likely(wi_load_sc(&in->ctl->producer_waits) == 0)) {
        return;
    }
    /* E1 acquire: only to compare; pairs with E1 release in the producer.
     * E5 sc: pairs with E5 sc in nothing_there(), which looks at
     * `producer_waits` then */
    if (wi_load_acq(&in->ctl->tail) - head <= in->size / 8 ||
        wi_load_sc(&in->reader_waits) != 0) { /* E5 sc: as above */
        wi_in_wake_producer(in);
    }
}

/* Posted ring: send a credit for every half of the ring; and at once, as in
 * tell_producer(), when the reader waits for more and the producer wants to
 * know. That the reader waits is told once. Less than that goes with whatever
 * is sent next: where rows go both ways, most credits cost no message. */
static void send_credit(struct wi_in *in, uint64_t head)
{
    /* rlx: one that was sent meanwhile costs a credit too many */
    uint64_t more = head - wi_load_rlx(&in->credited);
    bool waits = wi_load_sc(&in->reader_waits) != 0; /* E5 sc: as above */
    /* E5 sc: after `reader_waits`; pairs with E5 sc in post_in() */
    bool told = wi_load_sc(&in->credit_told) != 0;
    /* E5 sc: after `reader_waits`; pairs with E5 sc in wi_in_on_notify() */
    bool asked = wi_load_sc(&in->more_follows) == 0;
    if (more >= in->size / 2 || (waits && asked && (more != 0 || !told))) {
        wi_link_post(in->link, &in->item);
    } else if (more != 0) {
        wi_link_leave(in->link, &in->item);
    }
}

static void move_head(struct wi_in *in, uint64_t head)
{
    /* E5 sc: the batch was read before this; pairs with E5 acquire in
     * wi_lane_room(). sc, because `producer_waits` is read next. */
    wi_store_sc(&in->ctl->head, head);
    if (wi_load_acq(&in->dead) != 0) { /* E7: nobody is there any more */
        return;
    }
    if (in->mapped) {
        tell_producer(in, head);
    } else {
        send_credit(in, head);
    }
}

void wi_in_mark(struct wi_in *in, uint32_t worker)
{
    struct wi_engine *e = in->link->engine;
    wi_worker_mark(&e->workers[worker],
                   in->link->slot * e->budget.n_units + in->edge);
}

/* Scanning may go on: by the reader, who finds its ring marked; for a node
 * ring, which no certain worker looks at, here. */
static void scan_again(struct wi_in *in)
{
    if (in->consumer_worker == WI_ANY_WORKER) {
        wi_in_came(in);
    } else {
        wi_in_mark(in, in->consumer_worker);
    }
}

static void advance_once(struct wi_in *in)
{
    /* rlx: only the holder of `advancing` writes it */
    uint32_t begin = wi_load_rlx(&in->held_begin);
    uint32_t first = begin;
    /* E10 acquire: entries before held_end; pairs with E10 release in the
     * reader */
    uint32_t end = wi_load_acq(&in->held_end);
    uint64_t head = 0;
    while (begin != end) {
        struct wi_held *h = &in->held[begin % WI_HELD_MAX];
        /* E10 acquire: the user's reads of the batch; pairs with the E10
         * release in its release callback */
        if (wi_load_acq(&h->released) == 0) {
            break;
        }
        head = h->end;
        begin++;
    }
    if (begin != first) {
        /* E10 sc: entries may be filled again, then the look at `fifo_full`;
         * pairs with E10 in held_slot() */
        wi_store_sc(&in->held_begin, begin);
        move_head(in, head);
        if (wi_xchg_sc(&in->fifo_full, 0) != 0) { /* E10 sc: FIFO has room */
            scan_again(in);
        }
    }
    /* rlx: only the holder of `advancing` writes head of a posted ring */
    head = wi_load_rlx(&in->ctl->head);
    if (!in->mapped && begin == first &&
        wi_load_acq(&in->dead) == 0) { /* E7: as in move_head() */
        send_credit(in, head);
    }
    uint32_t asked = 1;
    /* E10 sc: nobody reads any more, so nothing is added to held_end: only
     * then does it say whether all was released */
    if (wi_load_sc(&in->finish) == 1 &&
        begin == wi_load_acq(&in->held_end) && /* E10: as above */
        wi_cas_ar(&in->finish, &asked, 2)) {
        bool waits = wi_in_may_wait(in);
        wi_lq_put(&in->link->engine->inbox, &in->inbox);
        if (!waits) {
            wi_engine_kick(in->link->engine);
        }
    }
}

void wi_in_advance(struct wi_in *in)
{
    wi_rcu_lock(); /* the engine may free `in` as soon as it is empty */
    for (;;) {
        /* E10 sc: the lock; if it is taken, the wish and then another look, as
         * its holder lets go and then looks for wishes */
        if (wi_xchg_sc(&in->advancing, 1) != 0) {
            wi_store_sc(&in->again, 1);            /* E10 sc: as above */
            if (wi_load_sc(&in->advancing) != 0) { /* E10 sc: as above */
                break;
            }
            continue;
        }
        advance_once(in);
        wi_store_sc(&in->advancing, 0);               /* E10 sc: as above */
        if (wi_likely(wi_load_sc(&in->again) == 0) || /* E10 sc: as above */
            wi_xchg_sc(&in->again, 0) == 0) {         /* E10 sc: as above */
            break;
        }
    }
    wi_rcu_unlock();
}

void wi_in_finish_when_empty(struct wi_in *in)
{
    uint32_t no = 0;
    (void)wi_cas_ar(&in->finish, &no, 1); /* E10: read by advance_once() */
    wi_in_advance(in);
}
