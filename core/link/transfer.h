/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Transfers: bytes between memory of this node and memory that a peer granted,
 * one-sided, in pieces that take turns with rings and with each other.
 *
 *   wi_transfer_start()  any thread   -> queue
 *   wi_transfers_post()  post lock    -> reads or writes, a few in flight
 *   ended()              post lock    <- the last piece is complete
 *
 * A transfer on a link that dies ends without a call of ended(): whoever
 * started it hears of the link's end (upcalls.h, link_over).
 */
#ifndef WI_TRANSFER_H
#define WI_TRANSFER_H

#include "core/link/link.h"

struct wi_transfer {
    /* constant after start */
    struct wi_lq_node node;
    uint8_t *local;
    uint64_t key;
    uint64_t off; /* from the base of the granted memory */
    uint64_t bytes;
    bool write;
    void (*ended)(struct wi_transfer *t);
    _Atomic uint32_t stop; /* post no more of it; then ended() comes early */
    /* written by: post lock holder */
    struct wi_list posting;
    uint64_t posted;
    uint64_t done; /* == bytes: all of it */
    bool over;     /* ended() was called */
};

/** Queue a transfer; wi_link_pump() starts it. Nothing of it but what is
 *  constant need be set. */
void wi_transfer_start(struct wi_link *l, struct wi_transfer *t);

/** Post no more of a transfer that was started; ended() comes when what is in
 *  flight is complete. */
void wi_transfer_stop(struct wi_link *l, struct wi_transfer *t);

/** One turn of all transfers of a link; false: the transport is full. Holder of
 *  the post lock. */
bool wi_transfers_post(struct wi_link *l, bool *more);

/** An operation of a transfer is complete, or of all of them (NULL). Holder of
 *  the post lock. */
void wi_transfer_posted(struct wi_link *l, struct wi_transfer *t,
                        uint64_t bytes);

#endif /* WI_TRANSFER_H */
