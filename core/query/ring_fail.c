/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/ring_fail.h"

#include <stdio.h>

#include "core/link/edge.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/link/members.h"
#include "core/query/query.h"
#include "core/query/query_fail.h"

static void fail_query(const struct wi_in *in, weir_err code, const char *why)
{
    struct weir_query *q = wi_load_rlx(&in->query); /* rlx: set long ago */
    char text[WI_TEXT_BYTES];
    (void)snprintf(text, sizeof(text), "rows from %s worker %u: %.120s",
                   wi_member_name(q->engine, in->link->member),
                   in->producer_worker, why);
    wi_query_fail(q, code, text);
}

void wi_query_ring_failed(struct wi_in *in)
{
    if (!in->stray) { /* else nobody reads it; query and link may be gone */
        fail_query(in, in->fail_code, in->fail_why);
    }
    wi_store_sc(&in->fail_queued, 2); /* E10 sc: no stray any more */
}

WI_COLD weir_err wi_query_fail_ring(struct wi_in *in, weir_err code,
                                    const char *why)
{
    struct weir_query *q = wi_load_rlx(&in->query); /* rlx: set long ago */
    wi_node_lock(q->node);
    fail_query(in, code, why);
    wi_node_unlock(q->node);
    return weir_query_status(q, NULL);
}
