/* SPDX-License-Identifier: Apache-2.0 */
/** Tombs: queries that are over on this node, or that failed before they were
 *  opened here; the last WI_TOMBS. Everything under the node's lock. */
#ifndef WI_TOMB_H
#define WI_TOMB_H

#include <stdbool.h>
#include <stdint.h>

#include "core/wire.h"

struct wi_engine;

struct wi_tomb {
    uint64_t id;
    bool closed;   /* was open here; else only heard of */
    uint32_t from; /* not closed: the member that told of it */
    weir_err code; /* what failed it, or WEIR_OK */
    char text[WI_TEXT_BYTES];
};
#define WI_TOMBS 512u

struct wi_tomb *wi_tomb_find(struct wi_engine *e, uint64_t id);
struct wi_tomb *wi_tomb_add(struct wi_engine *e, uint64_t id);

#endif /* WI_TOMB_H */
