/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/query_upcalls.h"

#include "core/link/edge.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/stream.h"
#include "core/query/agree.h"
#include "core/query/attach.h"
#include "core/query/filter.h"
#include "core/query/judge.h"
#include "core/query/lost.h"
#include "core/query/query.h"
#include "core/query/query_fail.h"
#include "core/query/reader.h"
#include "core/query/shuffle.h"

static void message(struct wi_link *l, const union wi_msg *m)
{
    if (m->head.type == WI_MSG_FAIL) {
        wi_query_on_fail(l, &m->fail);
    } else if (m->head.type == WI_MSG_FILTER) {
        wi_query_on_filter(l, &m->filter);
    } else {
        wi_query_on_agree(l, m);
    }
}

/* ---- edges --------------------------------------------------------------- */

static void edge_opened(struct wi_in *in)
{
    struct wi_link *l = in->link;
    struct weir_query *q = wi_query_find(l->engine, in->query_id);
    if (q != NULL) {
        wi_query_attach(in, q);
    } else if (wi_query_over(l, in->query_id, in->shuffle_id) ||
               wi_query_without(l, in->query_id)) {
        wi_in_refuse(in);
    } else if (l->engine->closing) {
        wi_query_decline(l);
    }
}

static void edge_freed(struct wi_in *in)
{
    wi_query_drop(wi_load_rlx(&in->query)); /* rlx: engine's */
}

static void edge_failed(struct wi_out *o, weir_err code, const char *why)
{
    struct weir_query *q = wi_query_find(o->link->engine, o->query_id);
    weir_scope scope = weir_err_scope(code);
    bool known = scope == WEIR_SCOPE_QUERY || scope == WEIR_SCOPE_PEER;
    if (q != NULL) {
        wi_query_report(q, known ? code : WEIR_ERR_QUERY_MEMORY, why);
    }
}

/* ---- links --------------------------------------------------------------- */

static void link_opened(struct wi_link *l)
{
    wi_query_tell_failed(l);
    wi_judge_repeat(l);
    wi_query_announce(l);
}

static bool needs(const struct wi_engine *e, uint32_t member)
{
    wi_list_each(n, &e->queries)
    {
        /* E8 acquire: as in weir_query_status() */
        if (wi_load_acq(&wi_query_of(n)->code) == WEIR_OK &&
            wi_query_has(wi_query_of(n), member)) {
            return true;
        }
    }
    return false;
}

static bool knows(const struct wi_engine *e, uint32_t member)
{
    wi_list_each(n, &e->queries)
    {
        if (wi_query_has(wi_query_of(n), member)) {
            return true;
        }
    }
    for (uint32_t i = 0; i < wi_tombs(e); i++) {
        const struct wi_tomb *t = wi_tomb_at(e, i);
        if (t->members != NULL && wi_tomb_has(t, member)) {
            return true;
        }
    }
    return false;
}

static bool waits_for(const struct weir_query *q, uint32_t member)
{
    wi_list_each(n, &q->shuffles)
    {
        const struct weir_shuffle *s =
            wi_container_of(n, struct weir_shuffle, on_query);
        for (uint32_t i = 0; i < q->engine->cfg.workers; i++) {
            const struct weir_reader *r = s->readers[i];
            if (r != NULL && wi_reader_expects(r, member)) {
                return true;
            }
        }
    }
    return false;
}

static bool expects(const struct wi_engine *e, uint32_t member)
{
    wi_list_each(n, &e->queries)
    {
        /* E8 acquire: as in weir_query_status() */
        if (wi_load_acq(&wi_query_of(n)->code) == WEIR_OK &&
            waits_for(wi_query_of(n), member)) {
            return true;
        }
    }
    return false;
}

const struct wi_upcalls wi_query_upcalls = {
    .message = message,
    .edge_opened = edge_opened,
    .edge_freed = edge_freed,
    .edge_failed = edge_failed,
    .link_opened = link_opened,
    .peer_lost = wi_query_peer_lost,
    .link_gone = wi_query_unlinked,
    .needs = needs,
    .knows = knows,
    .expects = expects,
};
