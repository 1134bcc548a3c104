/* SPDX-License-Identifier: Apache-2.0 */
/* The seed tells what there is to tell. */
#include "core/link/news_send.h"

#include "core/base/clock.h"
#include "core/link/join_list.h"
#include "core/link/life.h"
#include "core/link/members.h"
#include "core/link/send.h"

static void send_member(struct wi_link *l, uint32_t idx)
{
    const struct wi_engine *e = l->engine;
    union wi_msg m;
    wi_join_fill_entry(e, idx, &m);
    m.member.n_members = e->n_members;
    m.member.self = l->member;
    wi_link_send(l, &m);
}

static void send_news(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    struct wi_member *to = &e->members[l->member];
    if (to->heard + 1 == e->change) { /* most often: the last one */
        send_member(l, e->changed_last);
    } else {
        for (uint32_t i = 0; i < e->n_members; i++) {
            if (e->members[i].change > to->heard && i != l->member &&
                wi_member_here(e, i)) {
                send_member(l, i);
            }
        }
    }
    to->heard = e->change;
}

/* Is there anything that member p has not heard? */
static bool is_behind(struct wi_engine *e, uint32_t p)
{
    struct wi_member *m = &e->members[p];
    if (e->closing || p == e->self || !wi_member_here(e, p)) {
        return false;
    }
    if (m->heard + 1 == e->change && e->changed_last == p) {
        m->heard = e->change; /* it is about itself */
    }
    return m->heard != e->change;
}

/* A link that is not open yet, or is being closed, comes back to this. */
static void tell(struct wi_engine *e, uint32_t p)
{
    if (!is_behind(e, p)) {
        return;
    }
    struct wi_link *l = wi_link_need(e, p);
    if (l == NULL || l->state != WI_LINK_OPEN) {
        return;
    }
    if ((l->caps & WI_WIRE_CAP_GROW) != 0) {
        send_news(l);
    }
    e->members[p].heard = e->change; /* or its program has to be told */
}

static void tell_all(struct wi_engine *e)
{
    for (uint32_t p = 0; p < e->n_members; p++) {
        tell(e, p);
    }
    wi_engine_kick(e);
}

void wi_news_tick(struct wi_engine *e)
{
    if (e->now_ns >= e->news_ns) {
        e->news_ns = UINT64_MAX;
        tell_all(e);
    } else {
        wi_engine_due(e, e->news_ns);
    }
}
