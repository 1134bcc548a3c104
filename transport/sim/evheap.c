/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four children per entry instead of two: half the levels, and the children of
 * one entry lie in two cache lines at most.
 */
#include "transport/sim/evheap.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/cc.h"

/* One wide comparison, which compiles without a branch: which of the children
 * is the earliest is not predictable. */
static bool before(const struct wi_evheap_entry *a,
                   const struct wi_evheap_entry *b)
{
    unsigned __int128 x = (unsigned __int128)a->at_ns << 64 | a->order;
    unsigned __int128 y = (unsigned __int128)b->at_ns << 64 | b->order;
    return x < y;
}

void wi_evheap_fini(struct wi_evheap *h)
{
    free(h->entries);
    *h = (struct wi_evheap){0};
}

WI_COLD static bool grow(struct wi_evheap *h)
{
    size_t room = h->room == 0 ? 64 : h->room * 2;
    struct wi_evheap_entry *p = realloc(h->entries, room * sizeof(*p));
    if (p == NULL) {
        return false;
    }
    h->entries = p;
    h->room = room;
    return true;
}

bool wi_evheap_push(struct wi_evheap *h, uint64_t at_ns, unsigned kind,
                    void *what)
{
    assert(kind < 8);
    if (h->n == h->room && !grow(h)) {
        return false;
    }
    struct wi_evheap_entry e = {at_ns, h->pushes++ * 8 + kind, what};
    size_t i = h->n++;
    while (i > 0) {
        size_t up = (i - 1) / 4;
        if (before(&h->entries[up], &e)) {
            break;
        }
        h->entries[i] = h->entries[up];
        i = up;
    }
    h->entries[i] = e;
    return true;
}

struct wi_evheap_entry wi_evheap_pop(struct wi_evheap *h)
{
    assert(h->n > 0);
    struct wi_evheap_entry top = h->entries[0];
    struct wi_evheap_entry e = h->entries[--h->n];
    size_t i = 0;
    for (;;) {
        size_t first = i * 4 + 1;
        if (first >= h->n) {
            break;
        }
        size_t end = first + 4 < h->n ? first + 4 : h->n;
        size_t best = first;
        for (size_t c = first + 1; c < end; c++) {
            best = before(&h->entries[c], &h->entries[best]) ? c : best;
        }
        if (!before(&h->entries[best], &e)) {
            break;
        }
        h->entries[i] = h->entries[best];
        i = best;
    }
    if (h->n > 0) {
        h->entries[i] = e;
    }
    return top;
}
