/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Mappings and descriptors that nobody uses any more. With the last one of a
 * removed file the kernel frees the file, page by page. So large ones are left
 * to the node's stager (core/node/stager.h), which ends them without the node's
 * lock. The step that follows tells it that there are some.
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
