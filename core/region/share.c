/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region/share.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/region/call.h"
#include "core/region/op.h"
#include "core/region/owner.h"
#include "core/region/piece.h"
#include "core/region/tally.h"

struct wi_share *wi_share_of(struct wi_link *l)
{
    if (l->share != NULL) {
        return l->share;
    }
    struct wi_share *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    s->link = l;
    wi_list_init(&s->on_regions);
    wi_list_init(&s->holders);
    wi_table_init(&s->held);
    wi_list_init(&s->ending);
    wi_list_init(&s->calls);
    wi_list_init(&s->pieces);
    wi_table_init(&s->by_name);
    wi_table_init(&s->by_handle);
    wi_list_init(&s->leaving);
    wi_list_init(&s->finds);
    wi_list_init(&s->ops);
    wi_list_init(&s->looking);
    wi_list_init(&s->asking);
    wi_list_push_back(&l->engine->regions->shares, &s->on_regions);
    l->share = s;
    return s;
}

static weir_err message(struct wi_link *l, const union wi_msg *m,
                        struct weir_error *err)
{
    struct wi_share *s = wi_share_of(l);
    if (s == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for its regions");
    }
    switch (m->head.type) {
    case WI_MSG_FIND:
        return wi_call_on_find(s, &m->find, err);
    case WI_MSG_ASK:
        return wi_call_on_ask(s, &m->ask, err);
    case WI_MSG_LEAVE:
        wi_call_on_leave(s, m->word.arg);
        return WEIR_OK;
    case WI_MSG_DROP:
        return wi_owner_on_drop(s, &m->grant, err);
    case WI_MSG_FOUND:
        return wi_piece_on_found(s, &m->found, err);
    case WI_MSG_REVOKE:
        wi_piece_on_revoke(s, &m->grant);
        return WEIR_OK;
    case WI_MSG_ANSWER:
        return wi_op_on_answer(s, &m->answer, err);
    case WI_MSG_SYNC:
        wi_owner_on_sync(s, m->word.arg);
        return WEIR_OK;
    default: /* SYNCED */
        wi_op_on_synced(s, m->word.arg);
        return WEIR_OK;
    }
}

static void link_opened(struct wi_link *l)
{
    if (l->share != NULL) {
        wi_ops_go_on(l->share);
    }
}

static void link_gone(struct wi_link *l, bool clean, weir_err code,
                      const char *why)
{
    if (l->share != NULL) {
        wi_tally_void(l->share);
        wi_pieces_forget(l->share);
        wi_calls_forget(l->share);
        wi_ops_link_gone(l->share, clean, code, why);
    }
}

static void link_over(struct wi_link *l)
{
    struct wi_share *s = l->share;
    if (s != NULL) {
        wi_ops_link_over(s);
        wi_owner_link_over(s);
        wi_tally_link_over(s);
        wi_list_remove(&s->on_regions);
        wi_table_fini(&s->held);
        wi_table_fini(&s->by_name);
        wi_table_fini(&s->by_handle);
        free(s);
        l->share = NULL;
    }
}

static bool busy(const struct wi_link *l)
{
    const struct wi_share *s = l->share;
    return s != NULL && (!wi_list_empty(&s->ops) || !wi_list_empty(&s->calls));
}

const struct wi_share_upcalls wi_region_upcalls = {
    .message = message,
    .link_opened = link_opened,
    .link_gone = link_gone,
    .link_over = link_over,
    .busy = busy,
};
