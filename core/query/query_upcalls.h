/* SPDX-License-Identifier: Apache-2.0 */
/** The queries' side of core/link/upcalls.h. */
#ifndef WI_QUERY_UPCALLS_H
#define WI_QUERY_UPCALLS_H

#include "core/link/upcalls.h"

extern const struct wi_upcalls wi_query_upcalls;

#endif /* WI_QUERY_UPCALLS_H */
