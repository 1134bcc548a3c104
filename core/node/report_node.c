/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a node. Its lines are gathered under the lock and handed out
 * after it, so the receiver may be slow, or call back. */
#include <weir/report.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/link/members.h"
#include "core/link/send.h"
#include "core/link/worker.h"
#include "core/node/report.h"
#include "core/node/stall.h"
#include "core/query/query.h"

static uint32_t length(const struct wi_list *list)
{
    uint32_t n = 0;
    wi_list_each(each, list)
    {
        n++;
    }
    return n;
}

static void say_node(struct wi_report *r)
{
    const struct wi_engine *e = r->engine;
    uint32_t links = 0;
    wi_each_link(e, l)
    {
        links++;
    }
    uint32_t queries = length(&e->queries);
    (void)snprintf(r->who, sizeof(r->who), "node");
    wi_report_say(r, "%u %s, %u %s, %.1f of %.1f MiB", queries,
                  queries == 1 ? "query" : "queries", links,
                  links == 1 ? "link" : "links",
                  (double)e->mem_bytes / (1 << 20),
                  (double)e->budget.cap_bytes / (1 << 20));
}

/* ---- links --------------------------------------------------------------- */

static void say_open_link(struct wi_report *r, const struct wi_link *l,
                          const char *state)
{
    uint32_t queued = wi_link_queued(l);
    wi_report_say(
        r,
        "%s over %s, heard %.1f s ago, %u %s queued, rings %u out, %u "
        "in",
        state, l->ep->transport->ops->name, wi_report_secs(r, l->last_rx_ns),
        queued, queued == 1 ? "message" : "messages", length(&l->outs),
        length(&l->ins));
}

static void say_link(struct wi_report *r, const struct wi_link *l)
{
    char state[WI_REPORT_LINK_BYTES];
    wi_report_link(r, l->member, state);
    (void)snprintf(r->who, sizeof(r->who), "link to %s",
                   wi_member_name(r->engine, l->member));
    if (l->self) {
        wi_report_say(r, "%s, to the node itself, rings %u out, %u in", state,
                      length(&l->outs), length(&l->ins));
    } else if (l->state == WI_LINK_OPEN || l->state == WI_LINK_CLOSING) {
        say_open_link(r, l, state);
    } else {
        uint32_t n = length(&l->waiting);
        wi_report_say(r, "%s to %s, %u %s for it", state,
                      r->engine->members[l->member].address, n,
                      n == 1 ? "ring waits" : "rings wait");
    }
}

/* ---- workers and queries ------------------------------------------------- */

static void say_worker(struct wi_report *r, const struct wi_worker *w)
{
    static const char *const states[] = {
        [WI_AWAKE] = "in the program, has neither moved a frame nor waited",
        [WI_PARKED] = "asleep in weir_worker_wait",
        [WI_ARMED] = "asleep on its descriptor",
        [WI_DOZING] = "asleep in weir_worker_wait, on the network",
    };
    uint64_t state = wi_watch_number(&w->rested) & 3;
    (void)snprintf(r->who, sizeof(r->who), "worker %u", w->idx);
    wi_report_say(r, "%s for %.1f s", states[state],
                  wi_report_secs(r, w->rested.since_ns));
}

static void say_query(struct wi_report *r, const struct weir_query *q)
{
    (void)snprintf(r->who, sizeof(r->who), "query %" PRIu64, q->id);
    double secs = wi_report_secs(r, q->opened_ns);
    if (q->failing) {
        wi_report_say(r, "open for %.1f s, failed, has to be closed: %s: %s",
                      secs, weir_err_name(q->error.code), q->error.message);
        return;
    }
    if (q->report.code != WEIR_OK) {
        wi_report_say(r,
                      "open for %.1f s, failed here, waits for the other "
                      "members: %s: %s",
                      secs, weir_err_name(q->report.code), q->report.message);
    } else {
        wi_report_say(r, "open for %.1f s, nothing moved for %.1f s", secs,
                      wi_report_secs(r, q->moved.since_ns));
    }
    wi_report_query(r, q);
}

static void say_all(struct wi_report *r)
{
    const struct wi_engine *e = r->engine;
    say_node(r);
    wi_each_link(e, l)
    {
        say_link(r, l);
    }
    for (uint32_t i = 0; i < e->cfg.workers; i++) {
        say_worker(r, &e->workers[i]);
    }
    wi_list_each(n, &e->queries)
    {
        say_query(r, wi_query_of(n));
    }
    wi_report_unopened(r);
}

/* ---- the public call ----------------------------------------------------- */

static void gather(void *arg, const char *line)
{
    (void)fprintf(arg, "%s\n", line);
}

/* Split at newlines: no line contains one. */
static void hand_out(char *lines, weir_report_fn fn, void *arg)
{
    char *rest = NULL;
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        fn(arg, line);
    }
}

weir_err weir_node_report(weir_node *node, weir_report_fn fn, void *arg)
{
    char *lines = NULL;
    size_t bytes = 0;
    if (node == NULL || fn == NULL) {
        return WEIR_ERR_ARG;
    }
    if (wi_engine_inherited(&node->engine)) {
        return WEIR_ERR_STATE;
    }
    FILE *file = open_memstream(&lines, &bytes);
    if (file == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    struct wi_report r = {.engine = &node->engine, .fn = gather, .arg = file};
    wi_node_lock(node);
    wi_watch_all(&node->engine);
    say_all(&r);
    wi_node_unlock(node);
    bool whole = ferror(file) == 0;
    if (fclose(file) != 0 || !whole) {
        free(lines);
        return WEIR_ERR_NO_MEMORY;
    }
    hand_out(lines, fn, arg);
    free(lines);
    return WEIR_OK;
}
