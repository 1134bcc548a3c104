/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/warn.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/neutral.h"
#include "core/link/engine.h"

#define WINDOW_NS 1000000000ull

static const char *const kinds[WI_CAUSES] = {
    [WI_CAUSE_CONNECT] = "link that does not come up",
    [WI_CAUSE_LOST] = "link lost",
    [WI_CAUSE_REFUSED] = "link refused",
    [WI_CAUSE_JOIN] = "join refused",
    [WI_CAUSE_CROWD] = "silent connection dropped",
    [WI_CAUSE_OUTSIDE] = "not a member of a query",
};

static struct wi_gate *gate_of(struct wi_engine *e, uint32_t member,
                               enum wi_cause cause)
{
    /* Entries of nodes that come without being members are new each time. */
    uint32_t kept = e->cfg.max_members + (uint32_t)e->cfg.max_peers;
    return member < kept ? &e->members[member].gates[cause]
                         : &e->strangers[cause];
}

void wi_warn(struct wi_engine *e, uint32_t member, enum wi_cause cause,
             const char *fmt, ...)
{
    struct wi_gate *g = gate_of(e, member, cause);
    char text[512];
    va_list args;
    if (e->now_ns < g->open_ns) {
        g->held++;
        wi_engine_due(e, g->open_ns);
        return;
    }
    g->open_ns = wi_time_add(e->now_ns, WINDOW_NS);
    va_start(args, fmt);
    (void)wi_neutral_vformat(text, sizeof(text), fmt, args);
    va_end(args);
    wi_log(&e->log, WI_LOG_WARN, "%s", text);
}

static void tick(struct wi_engine *e, struct wi_gate *gates, const char *who)
{
    for (uint32_t i = 0; i < WI_CAUSES; i++) {
        struct wi_gate *g = &gates[i];
        if (g->held == 0) {
            continue;
        }
        if (e->now_ns >= g->open_ns) {
            wi_log(&e->log, WI_LOG_WARN, "%s: %s: %u more like this", who,
                   kinds[i], g->held);
            g->held = 0;
            g->open_ns = wi_time_add(e->now_ns, WINDOW_NS);
        } else {
            wi_engine_due(e, g->open_ns);
        }
    }
}

void wi_warn_tick(struct wi_engine *e)
{
    for (uint32_t i = 0; i < wi_engine_entries(e); i++) {
        tick(e, e->members[i].gates, wi_member_name(e, i));
    }
    tick(e, e->strangers, "strangers");
}
