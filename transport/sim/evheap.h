/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A heap of things to do at a virtual time, four children per entry.
 *
 *   [0] earliest
 *   [1..4] children of 0, [5..8] children of 1, ...   (24 bytes per entry)
 *
 * Entries of the same time come out in the order in which they went in, which
 * makes a simulation a function of its inputs. One thread.
 */
#ifndef WI_SIM_EVHEAP_H
#define WI_SIM_EVHEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WI_NEVER UINT64_MAX

struct wi_evheap_entry {
    uint64_t at_ns;
    uint64_t order; /* number of the push, times 8, plus kind */
    void *what;
};

/** All zero is an empty heap. */
struct wi_evheap {
    struct wi_evheap_entry *entries;
    size_t n;
    size_t room;
    uint64_t pushes;
};

/** Free the entries, not what they point to. */
void wi_evheap_fini(struct wi_evheap *h);

/** Add an entry; kind 0..7. False: no memory, nothing was added. */
bool wi_evheap_push(struct wi_evheap *h, uint64_t at_ns, unsigned kind,
                    void *what);

/** Time of the earliest entry, WI_NEVER if there is none. */
static inline uint64_t wi_evheap_next(const struct wi_evheap *h)
{
    return h->n == 0 ? WI_NEVER : h->entries[0].at_ns;
}

/** Take the earliest entry; the heap is not empty. */
struct wi_evheap_entry wi_evheap_pop(struct wi_evheap *h);

static inline unsigned wi_evheap_kind(const struct wi_evheap_entry *e)
{
    return (unsigned)(e->order & 7u);
}

#endif /* WI_SIM_EVHEAP_H */
