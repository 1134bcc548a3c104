/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/transfer.h"

#include "core/link/post.h"

/* Bytes of one operation, and of one turn: what a ring gets. */
#define PIECE_BYTES 65536u

/* Operations in flight per link. They complete in one order with the writes of
 * rings, which must not wait long, and tcp takes 16 reads at a time. */
#define IN_FLIGHT 16u

static struct wi_transfer *first_of(struct wi_link *l)
{
    return wi_container_of(l->transferring.next, struct wi_transfer, posting);
}

void wi_transfer_start(struct wi_link *l, struct wi_transfer *t)
{
    t->posted = 0;
    t->done = 0;
    t->over = false;
    wi_list_init(&t->posting);
    wi_store_rlx(&t->stop, 0); /* rlx: not started yet */
    wi_lq_put(&l->transfers, &t->node);
    wi_link_leave(l, &l->transfer);
}

void wi_transfer_stop(struct wi_link *l, struct wi_transfer *t)
{
    wi_store_rlx(&t->stop, 1); /* rlx: queueing the item orders it (E6) */
    wi_link_post(l, &l->transfer);
}

static void take_new(struct wi_link *l)
{
    struct wi_lq_node *n;
    while ((n = wi_lq_take(&l->transfers)) != NULL) {
        struct wi_transfer *t = wi_container_of(n, struct wi_transfer, node);
        wi_list_push_back(&l->transferring, &t->posting);
        l->tally_due |= l->tally_into != NULL && !t->write;
    }
}

/* Is it complete, as far as it is to go? */
static void settle(struct wi_transfer *t)
{
    if (t->done == t->posted && wi_list_empty(&t->posting)) {
        t->over = true;
        t->ended(t);
    }
}

/* What is in flight, of a transfer or for all of them; false: the transport is
 * full, or broken. */
static bool posted(struct wi_link *l, weir_err rc, struct wi_transfer *t,
                   uint32_t bytes)
{
    if (rc != WEIR_OK) {
        l->broken = l->broken || rc != WEIR_AGAIN;
        return false;
    }
    l->posted[l->posted_end++ % WI_POSTED_MAX] =
        (struct wi_posted){.transfer = t, .pos = bytes};
    l->transfers_posted++;
    return true;
}

/* Once for all transfers that are new: operations complete in order, so it is
 * there before the bytes of the first. */
static bool post_tally(struct wi_link *l)
{
    const struct wi_rma op = {
        .local = l->tally_into,
        .bytes = sizeof(*l->tally_into),
        .key = l->tally_key,
        .remote_off = l->tally_off,
    };
    l->tally_due =
        !posted(l, l->ep->transport->ops->read(l->ep, &op), NULL, op.bytes);
    return !l->tally_due;
}

/* False: the transport is full, or broken. */
static bool post_piece(struct wi_link *l, struct wi_transfer *t)
{
    const struct wi_transport_ops *ops = l->ep->transport->ops;
    struct wi_rma op = {
        .local = t->local + t->posted,
        .bytes = (uint32_t)wi_min_u64(t->bytes - t->posted, PIECE_BYTES),
        .key = t->key,
        .remote_off = t->off + t->posted,
    };
    weir_err rc = t->write ? ops->write(l->ep, &op) : ops->read(l->ep, &op);
    if (!posted(l, rc, t, op.bytes)) {
        return false;
    }
    t->posted += op.bytes;
    wi_list_remove(&t->posting);
    if (t->posted < t->bytes) { /* the others first */
        wi_list_push_back(&l->transferring, &t->posting);
    }
    return true;
}

/* Take those out that are to stop; each node is looked at once. */
static void drop_stopped(struct wi_link *l)
{
    wi_list_each(n, &l->transferring)
    {
        struct wi_transfer *t = wi_container_of(n, struct wi_transfer, posting);
        if (wi_load_rlx(&t->stop) != 0) { /* rlx: see wi_transfer_stop() */
            wi_list_remove(n);
            settle(t);
        }
    }
}

bool wi_transfers_post(struct wi_link *l, bool *more)
{
    uint64_t bytes = 0;
    take_new(l);
    drop_stopped(l);
    while (bytes < PIECE_BYTES && !wi_list_empty(&l->transferring)) {
        struct wi_transfer *t = first_of(l);
        uint64_t before = t->posted;
        if (l->transfers_posted == IN_FLIGHT) {
            return true; /* the next completion goes on */
        }
        if (l->posted_end - l->posted_begin == WI_POSTED_MAX ||
            !(l->tally_due ? post_tally(l) : post_piece(l, t))) {
            return false;
        }
        bytes += t->posted - before;
    }
    *more = !wi_list_empty(&l->transferring);
    return true;
}

void wi_transfer_posted(struct wi_link *l, struct wi_transfer *t,
                        uint64_t bytes)
{
    l->transfers_posted--;
    if (t != NULL) {
        t->done += bytes;
        settle(t);
    }
    if (!wi_list_empty(&l->transferring) && !l->transfer.active) {
        l->transfer.active = true;
        wi_list_push_back(&l->active, &l->transfer.posting);
    }
}
