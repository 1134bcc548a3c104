/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/grant.h"

#include <stdlib.h>

#include "core/base/cc.h"
#include "core/base/err.h"

enum { FIRST_ROOM = 4 };

static weir_err grow(struct wi_grants *g, struct weir_error *err)
{
    uint32_t room = g->room == 0 ? (uint32_t)FIRST_ROOM : g->room * 2;
    void *slots =
        room > g->room ? realloc(g->slots, room * sizeof(*g->slots)) : NULL;
    if (slots == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "no memory for more than %u grants on one link",
                       g->room);
    }
    g->slots = slots;
    g->room = room;
    return WEIR_OK;
}

weir_err wi_grants_add(struct wi_grants *g, const struct wi_granted *what,
                       uint32_t noise, uint64_t *key_out,
                       struct weir_error *err)
{
    uint32_t i = g->free != 0 ? g->free - 1 : g->n;
    if (i == g->room) {
        weir_err rc = grow(g, err);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    if (i == g->n) {
        g->n++;
    } else {
        g->free = g->slots[i].next;
    }
    struct wi_granted *slot = &g->slots[i];
    *slot = *what;
    slot->next = 0;
    /* Not 0 in any place: the upper half is odd. */
    slot->key = (uint64_t)(noise | 1) << 32 | i;
    *key_out = slot->key;
    return WEIR_OK;
}

static struct wi_granted *slot_of(const struct wi_grants *g, uint64_t key)
{
    uint32_t i = wi_grant_index(key);
    return key != 0 && i < g->n && g->slots[i].key == key ? &g->slots[i] : NULL;
}

const struct wi_granted *wi_grants_find(const struct wi_grants *g, uint64_t key,
                                        uint32_t access, uint64_t off,
                                        uint64_t bytes)
{
    const struct wi_granted *slot = slot_of(g, key);
    /* In this form nothing can wrap around. */
    bool fits = slot != NULL && (slot->access & access) == access &&
                bytes <= slot->bytes && off <= slot->bytes - bytes;
    return fits ? slot : NULL;
}

void wi_grants_drop(struct wi_grants *g, uint64_t key)
{
    struct wi_granted *slot = slot_of(g, key);
    if (slot != NULL) {
        slot->key = 0;
        slot->next = g->free;
        g->free = wi_grant_index(key) + 1;
    }
}

void wi_grants_fini(struct wi_grants *g)
{
    free(g->slots);
    *g = (struct wi_grants){0};
}
