/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to tell. news_send.c tells it, in a step: who reports here may
 * hold links that sending would end. */
#include "core/link/news.h"

#include "core/base/clock.h"
#include "core/link/members.h"

/* Tell at this time at the latest. */
static void tell_at(struct wi_engine *e, uint64_t at_ns)
{
    e->news_ns = wi_min_u64(e->news_ns, at_ns);
    wi_engine_due(e, e->news_ns);
    wi_engine_kick(e);
}

void wi_news_changed(struct wi_engine *e, uint32_t idx)
{
    if (!e->seed) {
        return;
    }
    e->members[idx].change = ++e->change;
    e->changed_last = idx;
    tell_at(e, e->now_ns);
}

static bool carries_news(const struct wi_link *l)
{
    const struct wi_engine *e = l->engine;
    return e->seed && e->change != 0 && !l->outside && !l->self;
}

void wi_news_link_opened(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    if (!carries_news(l)) {
        return;
    }
    struct wi_member *m = &e->members[l->member];
    if (m->heard_by != l->peer_incarnation) {
        m->heard_by = l->peer_incarnation;
        m->heard = 0;
    }
    if (m->heard != e->change) {
        tell_at(e, e->now_ns);
    }
}

void wi_news_link_gone(struct wi_link *l, bool clean)
{
    struct wi_engine *e = l->engine;
    if (!carries_news(l)) {
        return;
    }
    struct wi_member *m = &e->members[l->member];
    if (!clean) {
        m->heard = 0;
        tell_at(e, wi_time_add(e->now_ns, e->cfg.connect_ns));
    } else if (m->heard != e->change) {
        tell_at(e, e->now_ns); /* it came while the link was being closed */
    }
}
