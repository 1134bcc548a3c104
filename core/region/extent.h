/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Parts of regions: memory that can be granted over one transport.
 *
 * Where peers cannot be given the memory itself (a file's, and over links that
 * are mapped the program's), a part is a copy of up to WI_STAGED_BYTES, made on
 * a thread of its own (core/node/stager.h):
 *
 *   wi_extent_find   -> `to_fill`   WEIR_AGAIN: the FIND waits
 *   wi_extent_take   the copy is made without the lock
 *   wi_extent_filled -> `filled`    waiting FINDs get it, or its error
 *
 * Copies are shared by the readers of a transport and freed when nobody has
 * them any more; when they take too much, those least recently found are
 * revoked. The copy of a file that may change, or of memory that peers write
 * to, is compared with it for each FIND that comes, on the same way, and is
 * revoked if it is old:
 *
 *   wi_extent_take   of a copy that has bytes
 *   wi_extent_filled it is as the file is, or
 *   wi_extent_stale  it is not: waiting FINDs make another
 */
#ifndef WI_EXTENT_H
#define WI_EXTENT_H

#include "core/region/regions.h"

/** What is looked for: the part at `off`, as the file is after call `since`. */
struct wi_wanted {
    struct weir_region *region;
    struct wi_link *link;
    uint64_t off;
    uint64_t since; /* of wi_regions.last_id */
};

/** The part of a region at an offset inside it, as links like this one see it.
 *  WEIR_AGAIN: it is being made or compared, or there is no room yet. */
weir_err wi_extent_find(const struct wi_wanted *w, struct wi_extent **out,
                        struct weir_error *err);

/** It is a copy of a file that may change, or of memory that peers write to. */
bool wi_extent_may_age(const struct wi_extent *p);

/** A holder, or a piece of this node itself, has let go of a part. */
void wi_extent_rest(struct wi_extent *p);

/** The next copy to be made or compared, or NULL. Whoever takes it does that,
 *  and says so. Under the node's lock. */
struct wi_extent *wi_extent_take(struct wi_engine *e);

/** So many bytes are there; what keeps the rest from it is in p->why. Under the
 *  node's lock. */
void wi_extent_filled(struct wi_extent *p, uint64_t bytes);

/** What it was made of has other bytes by now. Under the node's lock. */
void wi_extent_stale(struct wi_extent *p);

/** All FINDs that waited have been tried again: forget what failed. */
void wi_extents_told(struct wi_engine *e);

/** A closed region: free what nobody holds, and the region at last. */
void wi_region_settle(struct weir_region *r);

/** Tell all holders of a region to let go. */
void wi_region_revoke(struct weir_region *r);

#endif /* WI_EXTENT_H */
