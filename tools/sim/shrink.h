/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The shortest run that still fails: by delta debugging over the faults of its
 * schedule (Zeller, Hildebrandt, "Simplifying and isolating failure-inducing
 * input", IEEE TSE 2002, algorithm ddmin), then by fewer nodes and rows.
 */
#ifndef WS_SHRINK_H
#define WS_SHRINK_H

#include "tools/sim/shape.h"

struct ws_shrinking {
    /** Run it: does it still fail? */
    bool (*fails)(void *arg, const struct ws_options *o);
    void *arg;
    uint32_t trials; /* [out] how many there were */
    uint32_t most;   /* no more than this */
};

/** Make *o as small as it gets while it fails. Its schedule is given, and it
 *  has failed so. */
void ws_shrink(struct ws_shrinking *s, struct ws_options *o);

#endif /* WS_SHRINK_H */
