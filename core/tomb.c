/* SPDX-License-Identifier: Apache-2.0 */
/* Tombs: queries that are over on this node, or that failed before they were
 * opened here. */
#include "core/tomb.h"

#include <string.h>

#include "core/engine.h"

struct wi_tomb *wi_tomb_find(struct wi_engine *e, uint64_t id)
{
    for (uint32_t i = 0; i < wi_min_u32(e->n_tombs, WI_TOMBS); i++) {
        if (e->tombs[i].id == id) {
            return &e->tombs[i];
        }
    }
    return NULL;
}

struct wi_tomb *wi_tomb_add(struct wi_engine *e, uint64_t id)
{
    struct wi_tomb *t = wi_tomb_find(e, id);
    if (t == NULL) {
        t = &e->tombs[e->n_tombs++ % WI_TOMBS];
        memset(t, 0, sizeof(*t));
        t->id = id;
    }
    return t;
}
