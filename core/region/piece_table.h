/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Pieces that a link has found: by name and place for gets and puts, by handle
 * for what their owner says of them. How many stay when nobody uses them:
 * WI_PIECES_OF_LINK.
 */
#ifndef WI_PIECE_TABLE_H
#define WI_PIECE_TABLE_H

#include "core/region/op.h"

/** Look for the piece that the operation needs next; with a user more. NULL:
 *  it is not in the table. */
struct wi_piece *wi_piece_get(struct wi_share *s, const struct wi_op *op);

/** The piece that a FOUND tells of, if it was found before; or NULL. */
struct wi_piece *wi_piece_known(struct wi_share *s,
                                const struct wi_msg_found *m);

/** Room for one more: the least recently used ones that nobody uses go. What is
 *  in use then may be more than the limit, until the next one is found. */
void wi_pieces_make_room(struct wi_share *s);

/** Into the table, which is a user. */
void wi_piece_list(struct wi_piece *p);

/** Out of it. What is mapped stays so while it is used, without the owner;
 *  what is posted is dropped after its last user. */
void wi_piece_unlist(struct wi_piece *p);

/** Which of the parts with its region's name it is: copies of parts have the
 *  name of the region; one that is all of it is 0. */
static inline uint64_t wi_piece_unit(const struct wi_piece *p)
{
    return p->bytes == p->region_bytes ? 0 : p->off >> WI_STAGED_SHIFT;
}

/** Pieces of a handle, and some others: a chain for wi_piece_of(). */
static inline struct wi_list *wi_pieces_of(const struct wi_share *s,
                                           uint64_t handle)
{
    return wi_table_chain(&s->by_handle, wi_hash_words(handle, 0));
}

static inline struct wi_piece *wi_piece_of(struct wi_list *n)
{
    return wi_container_of(n, struct wi_piece, by_handle.chain);
}

/** A user more, or less. Any thread. */
void wi_piece_hold(struct wi_piece *p);
void wi_piece_drop(struct wi_piece *p);

/** Give back what FOUNDs have brought. */
void wi_piece_send_drop(struct wi_share *s, uint64_t handle, uint64_t key,
                        uint32_t founds);
/** The same of a part of this node itself. */
void wi_piece_leave_part(struct wi_extent *part);

/** Free pieces without users; a part of the step. Returns how many. */
uint32_t wi_pieces_sweep(struct wi_engine *e);

#endif /* WI_PIECE_TABLE_H */
