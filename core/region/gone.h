/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Mappings and descriptors that nobody uses any more. The last of them that is
 * of a removed file frees the file, which takes some 100 ms for 128 MiB. So
 * large ones are let go of by the node's stager (core/node/stager.h), while
 * others have the node's lock.
 */
#ifndef WI_GONE_H
#define WI_GONE_H

#include "core/region/regions.h"

struct wi_gone {
    struct wi_list on_gone;
    struct wi_transport *home; /* of a mapping of a peer's memory, else NULL */
    void *base;
    uint64_t bytes;
    int fd; /* or -1 */
};

/** Let go of it, at once or soon. Under the node's lock. */
void wi_gone_let(struct wi_engine *e, const struct wi_gone *what);

/** The next one, or NULL. Whoever takes it ends it. Under the node's lock. */
struct wi_gone *wi_gone_take(struct wi_engine *e);

/** Unmap, close, free. With or without the lock. */
void wi_gone_end(struct wi_gone *g);

#endif /* WI_GONE_H */
