/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/in_use.h"

#include "core/link/engine.h"

bool wi_in_has_readers(const struct wi_in *in)
{
    if (wi_load_rlx(&in->common) != NULL) { /* rlx: as below */
        return true;
    }
    for (uint32_t i = 0; i < in->n_streams; i++) {
        /* rlx: only the engine sets it, under the node's lock */
        if (wi_load_rlx(&in->streams[i].reader) != NULL) {
            return true;
        }
    }
    return false;
}

bool wi_in_may_wait(const struct wi_in *in)
{
    const struct wi_link *l = in->link;
    /* The next query takes as many, and finds short rings beyond half of them
     * (edge_out.c). rlx: only a number */
    uint32_t taken = wi_load_rlx(&l->taken_units);
    return taken <= l->engine->budget.n_units / 4 && wi_in_has_readers(in);
}

void wi_in_count_units(struct wi_link *l, int32_t n)
{
    /* rlx: changed under the node's lock */
    uint32_t had = wi_load_rlx(&l->taken_units);
    wi_store_rlx(&l->taken_units, had + (uint32_t)n); /* rlx: as above */
}

void wi_in_told(struct wi_link *l)
{
    wi_in_count_units(l, -(int32_t)l->late_units);
    l->late_units = 0;
}
