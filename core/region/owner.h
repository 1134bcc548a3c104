/* SPDX-License-Identifier: Apache-2.0 */
/** The owner's side of a link: what it has granted of its regions. */
#ifndef WI_OWNER_H
#define WI_OWNER_H

#include "core/region/regions.h"

/** The region of a name, or NULL. */
struct weir_region *wi_region_by_name(const struct wi_engine *e,
                                      const struct weir_name *name);

/** Publish a region under a name that is free, and the end of that. */
void wi_owner_name(struct weir_region *r, const struct weir_name *name);
void wi_owner_unname(struct weir_region *r);

/** Answer a FIND, which came as call `since` (wi_regions.last_id). WEIR_AGAIN:
 *  it has to wait, nothing was sent. */
weir_err wi_owner_find(struct wi_share *s, const struct wi_msg_find *m,
                       uint64_t since);

/** Answer it with an error. */
void wi_owner_refuse(struct wi_share *s, uint32_t call, weir_err code,
                     const char *text);

/** DROP. */
weir_err wi_owner_on_drop(struct wi_share *s, const struct wi_msg_grant *m,
                          struct weir_error *err);

/** SYNC: what the peer wrote before is there. */
void wi_owner_on_sync(struct wi_share *s, uint32_t call);

/** The endpoint is gone, and all its grants with it. */
void wi_owner_link_over(struct wi_share *s);

/** End grants that were dropped; a part of the step. */
void wi_owner_ungrant(struct wi_share *s);

#endif /* WI_OWNER_H */
