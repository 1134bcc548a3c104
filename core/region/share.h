/* SPDX-License-Identifier: Apache-2.0 */
/** Where links and regions meet. */
#ifndef WI_SHARE_H
#define WI_SHARE_H

#include "core/region/regions.h"

extern const struct wi_share_upcalls wi_region_upcalls;

/** What a link has of regions, made when first needed. NULL: no memory. */
struct wi_share *wi_share_of(struct wi_link *l);

#endif /* WI_SHARE_H */
