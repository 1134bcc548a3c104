/* SPDX-License-Identifier: Apache-2.0 */
/* What a member hears from its seed. */
#include "core/link/news_in.h"

#include "core/base/err.h"
#include "core/link/grow.h"
#include "core/link/join_list.h"
#include "core/link/warn.h"

static weir_err check_news(const struct wi_link *l,
                           const struct wi_msg_member *m,
                           struct weir_error *err)
{
    const struct wi_engine *e = l->engine;
    struct weir_error why;
    if ((l->caps & WI_WIRE_CAP_GROW) == 0 || l->member != 0) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "MEMBER from member %u, which was not agreed upon or is "
                       "no seed",
                       l->member);
    }
    if (m->magic != WI_WIRE_MAGIC || m->self != e->self || m->idx == e->self ||
        m->idx >= m->n_members || m->n_members > e->cfg.max_members) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "MEMBER %u of %u for member %u: this is member %u, "
                       "max_members %u",
                       m->idx, m->n_members, m->self, e->self,
                       e->cfg.max_members);
    }
    if (wi_join_check_entry(e, m, &why) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL, "MEMBER %u: %.300s", m->idx,
                       why.message);
    }
    return WEIR_OK;
}

weir_err wi_news_on_member(struct wi_link *l, const union wi_msg *msg,
                           struct weir_error *err)
{
    const struct wi_msg_member *m = &msg->member;
    struct wi_engine *e = l->engine;
    struct weir_error why;
    weir_err rc = check_news(l, m, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    const struct weir_member member = {
        .name = m->name, .address = m->address, .workers = m->workers};
    if (wi_member_add(e, m->idx, &member, &why) != WEIR_OK) {
        wi_warn(e, l->member, WI_CAUSE_JOIN,
                "the seed tells of a member that cannot be added: %s",
                why.message);
    }
    return WEIR_OK;
}
