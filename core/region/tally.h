/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tallies: is what a reader has found of a region still published?
 *
 *   owner                                    reader
 *   weir_region_close
 *     REVOKE --------------------------->    `heard`: REVOKEs that have come
 *     one more on the link's tally   <---    looks at the tally
 *
 * An owner counts the REVOKEs that it sends over a link, before the call that
 * revokes returns. A reader that looks at that count after its get has begun,
 * and has heard as many, knows of every region that was closed before the get
 * began. If it has heard fewer it asks (FIND). How it looks:
 *
 *   mapped memory   the count is a word of a page that the reader has mapped
 *   WI_CAP_TALLY    it comes with what is read
 *   else            it is read like other memory, ahead of what is read
 *
 * A link that the owner has given up has a tally of TALLY_VOID, which nobody
 * has heard. Under the node's lock, but for wi_tally_is_even().
 */
#ifndef WI_TALLY_H
#define WI_TALLY_H

#include "core/region/regions.h"

/** At a reader that maps memory; its pieces have it, and the share. */
struct wi_tally {
    const _Atomic uint64_t *word; /* the owner's */
    _Atomic uint64_t heard;       /* REVOKEs whose pieces are out of the table;
                                     written by: engine */
    uint32_t users;
    struct wi_transport *home;
};

/** Have all REVOKEs been heard that the owner has sent so far? Any thread that
 *  keeps a piece. NULL: yes. */
static inline bool wi_tally_is_even(const struct wi_tally *t)
{
    if (t == NULL) {
        return true;
    }
    /* E16 acquire: what was revoked before this look is in the count; pairs
     * with E16 release in tell() of tally.c */
    uint64_t told = wi_load_acq(t->word);
    /* E16 acquire: and if it was heard, the piece says that it is revoked;
     * pairs with E16 release in wi_tally_hear() */
    return wi_load_acq(&t->heard) >= told;
}

/* ---- the owner's side ---------------------------------------------------- */

/** Say in a FOUND where the tally is, which is made for the first. WEIR_AGAIN:
 *  not now. Without memory for it the FOUND says nothing. */
weir_err wi_tally_grant(struct wi_share *s, struct wi_msg_found *m);

/** One more REVOKE was sent. */
void wi_tally_count(struct wi_share *s);

/** The link is gone: nothing that was found over it is good any more. */
void wi_tally_void(struct wi_share *s);

/* ---- the reader's side --------------------------------------------------- */

/** Take what a FOUND says of it. False: what is found is for once. */
bool wi_tally_take(struct wi_share *s, const struct wi_msg_found *m);

/** A REVOKE has come, and its pieces are out of the table. */
void wi_tally_hear(struct wi_share *s);

/** Of what was read: had all REVOKEs been heard that were sent by then? */
bool wi_tally_was_even(const struct wi_share *s);

/** A piece less; NULL is allowed. */
void wi_tally_drop(struct wi_tally *t);

/* ---- both ---------------------------------------------------------------- */

/** The endpoint is gone, and its grants. */
void wi_tally_link_over(struct wi_share *s);

#endif /* WI_TALLY_H */
