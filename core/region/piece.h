/* SPDX-License-Identifier: Apache-2.0 */
/** The reader's side of a link: finds, and what comes of them. */
#ifndef WI_PIECE_H
#define WI_PIECE_H

#include "core/region/piece_table.h"

/** A FIND on its way. */
struct wi_find {
    struct wi_list on_share;
    struct wi_list ops;  /* that wait for it, */
    struct wi_list late; /* and that begun when it was sent: they look again */
    uint64_t begun;      /* wi_regions.begun when it was sent */
    struct weir_name name;
    uint64_t off;
    uint32_t access;
    uint32_t call;
};

/** Ask for the piece that the operation needs next, for which it waits then
 *  (WI_OP_FINDING); or it has failed for want of memory. False: too many are
 *  asked for already, and the end of one of them goes on with those that
 *  wait. */
bool wi_piece_find(struct wi_share *s, struct wi_op *op);

/** The operation does not wait for its find any more. */
void wi_find_leave(struct wi_op *op);

/** FOUND and REVOKE. */
weir_err wi_piece_on_found(struct wi_share *s, const struct wi_msg_found *m,
                           struct weir_error *err);
void wi_piece_on_revoke(struct wi_share *s, const struct wi_msg_grant *m);

/** Revoke what this node has found of its own part of a region. */
void wi_pieces_revoke_own(struct wi_engine *e, const struct wi_extent *part);

/** The link is gone: forget all pieces and finds. */
void wi_pieces_forget(struct wi_share *s);

#endif /* WI_PIECE_H */
