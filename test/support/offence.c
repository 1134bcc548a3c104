/* SPDX-License-Identifier: Apache-2.0 */
/* How an offence is tried: queries at work before, exact ones after. */
#include "test/support/offence.h"

#include <stdio.h>

#include "core/base/atomic.h"
#include "test/support/wares.h"

enum {
    HONEST_ROWS = 4000,
    SHARED_ROWS = 400,
    PATIENCE_S = 60,
    MOST_GROWTH = 4 << 20
};

/* ---- before -------------------------------------------------------------- */

/* The node has rings at the rogue, with rows in them. */
static bool at_work(struct wt_lab *lab)
{
    const struct wt_rogue_link *l = lab->link[0];
    return l->closed || (l->n_edges != 0 && l->edge[0].pos != 0);
}

static void set_up(struct wt_lab *lab, const struct wt_offence *o)
{
    wt_lab_meet(lab);
    wt_lab_begin(lab, WT_LAB_HONEST, HONEST_ROWS);
    wt_lab_begin(lab, WT_LAB_SHARED, SHARED_ROWS);
    WT_MUST(wt_lab_until(lab, at_work, PATIENCE_S) && !lab->link[0]->closed,
            "%s: no rows come to the rogue before", o->name);
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        wi_store_rlx(&lab->named[i], 0);
    }
}

/* ---- what comes of it ---------------------------------------------------- */

static bool link_ended(struct wt_lab *lab)
{
    return lab->link[0]->closed;
}

static bool ended_anyhow(struct wt_lab *lab)
{
    return lab->link[0]->closed || wt_lab_shared_ended(lab);
}

static void expect_failure(struct wt_lab *lab, const struct wt_offence *o)
{
    WT_MUST(wt_lab_until(lab, wt_lab_shared_ended, PATIENCE_S),
            "%s: the query goes on", o->name);
    WT_MUST(!lab->link[0]->closed, "%s: the link ended: %s", o->name, lab->log);
    WT_MUST(lab->end[WT_LAB_SHARED][0] == o->code, "%s: %s, not %s: %s",
            o->name, weir_err_name(lab->end[WT_LAB_SHARED][0]),
            weir_err_name(o->code), lab->error[WT_LAB_SHARED][0].message);
}

static void expect_outcome(struct wt_lab *lab, const struct wt_offence *o)
{
    switch (o->outcome) {
    case WT_LINK_ENDS:
        WT_MUST(wt_lab_until(lab, link_ended, PATIENCE_S),
                "%s: the link goes on; query %s %s", o->name,
                weir_err_name(lab->end[WT_LAB_SHARED][0]),
                lab->error[WT_LAB_SHARED][0].message);
        break;
    case WT_QUERY_FAILS:
        expect_failure(lab, o);
        break;
    case WT_ENDS_ANYHOW:
        WT_MUST(wt_lab_until(lab, ended_anyhow, PATIENCE_S),
                "%s: link and query go on", o->name);
        break;
    case WT_DEPENDS:
        break;
    default:
        WT_MUST(wt_lab_until(lab, wt_lab_honest_ended, PATIENCE_S),
                "%s: the honest query hangs", o->name);
        WT_MUST(!ended_anyhow(lab), "%s: link %s, query %s %s; %s", o->name,
                lab->link[0]->closed ? "closed" : "open",
                weir_err_name(lab->end[WT_LAB_SHARED][0]),
                lab->error[WT_LAB_SHARED][0].message, lab->log);
        break;
    }
}

static bool is_named(struct wt_lab *lab)
{
    bool all = true;
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        all = all && wi_load_rlx(&lab->named[i]) != 0;
    }
    return all;
}

/* What ends its link or its query stands in the log of everybody who has a
 * query with it, with its name. */
static void check_logs(struct wt_lab *lab, const struct wt_offence *o)
{
    bool ends = o->outcome == WT_LINK_ENDS || o->outcome == WT_QUERY_FAILS;
    if (ends && !o->nameless) {
        WT_MUST(wt_lab_until(lab, is_named, PATIENCE_S),
                "%s: it is named in %u and %u lines of the logs", o->name,
                wi_load_rlx(&lab->named[0]), wi_load_rlx(&lab->named[1]));
    }
}

/* ---- after --------------------------------------------------------------- */

static void check_message(struct wt_lab *lab, const struct wt_offence *o)
{
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        const struct weir_error *e = &lab->error[WT_LAB_SHARED][i];
        WT_MUST(lab->end[WT_LAB_SHARED][i] < 0 && e->message[0] != '\0',
                "%s: node %u ends with %s", o->name, i,
                weir_err_name(lab->end[WT_LAB_SHARED][i]));
        WT_MUST(o->nameless || strstr(e->message, lab->rogue.name) != NULL,
                "%s: node %u names nobody: %s", o->name, i, e->message);
        WT_MUST(o->outcome != WT_LINK_ENDS ||
                    e->code != WEIR_ERR_PEER_PROTOCOL ||
                    strstr(e->message, "lost to ") != NULL,
                "%s: nobody says who saw it: %s", o->name, e->message);
        for (const char *c = e->message; *c != '\0'; c++) {
            WT_MUST((unsigned char)*c >= ' ', "%s: control character in: %s",
                    o->name, e->message);
        }
    }
}

static void check_memory(struct wt_lab *lab, const struct wt_offence *o)
{
    static uint64_t first;
    uint64_t now = wt_heap_bytes();
    first = first == 0 ? now : first;
    WT_MUST(now < first + MOST_GROWTH, "%s: %llu bytes of heap, %llu at first",
            o->name, (unsigned long long)now, (unsigned long long)first);
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        struct weir_node_stats s;
        weir_node_stats_get(lab->node[i], &s);
        WT_MUST(s.memory_peak_bytes <= s.memory_cap_bytes, "%s: %llu bytes",
                o->name, (unsigned long long)s.memory_peak_bytes);
        WT_MUST(s.queries_open == 0, "%s: a query is open", o->name);
    }
}

static void clean_up(struct wt_lab *lab, const struct wt_offence *o)
{
    wt_lab_end(lab, WT_LAB_HONEST);
    wt_lab_end(lab, WT_LAB_SHARED);
    WT_MUST(wt_lab_until(lab, wt_lab_at_rest, PATIENCE_S),
            "%s: something is left", o->name);
    check_memory(lab, o);
}

void wt_offend(struct wt_lab *lab, const struct wt_offence *o)
{
    if (o->tcp && !lab->tcp) {
        return;
    }
    set_up(lab, o);
    o->play(lab, o);
    expect_outcome(lab, o);
    check_logs(lab, o);
    WT_MUST(wt_lab_until(lab, wt_lab_honest_ended, PATIENCE_S),
            "%s: the honest query hangs", o->name);
    wt_lab_exact(lab, o->name);
    WT_MUST(o->op == 0 || o->op == WEIR_ERR_PEER_LOST ||
                wt_lab_until(lab, wt_wares_ended, PATIENCE_S),
            "%s: the operation goes on", o->name);
    wt_lab_part(lab);
    WT_MUST(wt_lab_until(lab, wt_lab_shared_ended, PATIENCE_S),
            "%s: the query hangs without the rogue", o->name);
    check_message(lab, o);
    clean_up(lab, o);
}

/* ---- strangers ----------------------------------------------------------- */

static bool stranger_ended(struct wt_lab *lab)
{
    return lab->link[0]->closed;
}

static bool stranger_up(struct wt_lab *lab)
{
    return lab->link[0]->up || lab->link[0]->closed;
}

void wt_intrude(struct wt_lab *lab, const struct wt_offence *o)
{
    if (o->tcp && !lab->tcp) {
        return;
    }
    wt_lab_begin(lab, WT_LAB_HONEST, HONEST_ROWS);
    lab->link[0] = wt_rogue_dial(&lab->rogue, lab->number[0],
                                 weir_node_address(lab->node[0]));
    WT_MUST(wt_lab_until(lab, stranger_up, PATIENCE_S), "%s: no connection",
            o->name);
    o->play(lab, o);
    WT_MUST(o->outcome == WT_IS_BORNE ||
                wt_lab_until(lab, stranger_ended, PATIENCE_S),
            "%s: it may stay", o->name);
    WT_MUST(wt_lab_until(lab, wt_lab_honest_ended, PATIENCE_S),
            "%s: the honest query hangs", o->name);
    wt_lab_exact(lab, o->name);
    wt_lab_part(lab);
    clean_up(lab, o);
}
