/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cc.h"
#include "tools/sim/exec.h"
#include "tools/sim/hostile.h"
#include "tools/sim/judge.h"
#include "tools/sim/part.h"
#include "tools/sim/strike.h"
#include "tools/sim/wares.h"
#include "tools/sim/watch.h"
#include "transport/sim/harness.h"

enum { SETTLE_STEPS = 200, LAST = WS_QUERIES - 1 };

/* Longest that a query may take once nothing is wrong any more: to find peers
 * lost, to connect again, to ask another judge, and to move its rows. */
static uint64_t patience_ns(const struct ws_world *w)
{
    return 3000000000u + 12 * w->shape.sim.node.detect_ns;
}

void ws_violate(struct ws_world *w, const char *rule, const char *fmt, ...)
{
    va_list args;
    if (ws_violated(w)) {
        return;
    }
    (void)snprintf(w->finding.rule, sizeof(w->finding.rule), "%s", rule);
    int n = snprintf(
        w->finding.text, sizeof(w->finding.text),
        "at %" PRIu64 " ns: ", w->sim != NULL ? weir_sim_now(w->sim) : 0);
    va_start(args, fmt);
    (void)vsnprintf(w->finding.text + n, sizeof(w->finding.text) - (size_t)n,
                    fmt, args);
    va_end(args);
}

/* ---- opening and closing ------------------------------------------------- */

/* A node logs that it has lost a link. Where nobody but hostile nodes breaks
 * anything, it is the link to one of these. */
static void look_loss(struct ws_world *w, const char *line)
{
    unsigned node = 0;
    unsigned peer = 0;
    char first = 0;
    if (sscanf(line, "n%u: link lost: peer %c", &node, &first) != 2 ||
        node >= WS_NODES) {
        return;
    }
    w->node[node].losses++;
    /* Who is looked for by its address has no name until it says so; who comes
     * from outside may have any. */
    if ((sscanf(line, "n%u: link lost: peer n%u ", &node, &peer) != 2 &&
         sscanf(line, "n%u: link lost: peer sim:%u ", &node, &peer) != 2) ||
        peer >= WS_NODES) {
        return;
    }
    w->node[node].lost |= 1u << peer;
    if (ws_hostile_alone(w) && !w->node[node].hostile &&
        !w->node[peer].hostile) {
        ws_violate(w, "innocent", "between honest nodes: %s", line);
    }
}

static void take_line(void *arg, weir_log_level level, const char *line)
{
    struct ws_world *w = arg;
    (void)level;
    look_loss(w, line);
    if (w->shape.log) {
        (void)fprintf(stderr, "%12" PRIu64 " %s\n",
                      w->sim != NULL ? weir_sim_now(w->sim) : 0, line);
    }
}

static void open_world(struct ws_world *w)
{
    struct weir_error err = {0};
    struct weir_sim_params params = w->shape.sim;
    const uint32_t at_first = w->shape.nodes - w->shape.late;
    params.node.log = take_line;
    params.node.log_arg = w;
    params.node.log_level = w->shape.log ? WEIR_LOG_DEBUG : WEIR_LOG_WARN;
    for (uint32_t i = 0; i < WS_QUERIES; i++) {
        w->query[i] = w->shape.query[i];
    }
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        w->node[i].there = i < at_first;
    }
    if (ws_rows_schema(&w->schema, &err) != WEIR_OK ||
        wi_sim_open(&params, at_first, &w->sim, &err) != WEIR_OK ||
        ws_watch_open(w) != WEIR_OK) {
        ws_violate(w, "machine", "cannot open: %s", err.message);
        return;
    }
    ws_hostile_open(w);
    ws_wares_open(w);
    ws_exec_open(w);
}

static void close_world(struct ws_world *w)
{
    ws_watch_close(w);
    for (uint32_t i = 0; i < WS_QUERIES * WS_NODES; i++) {
        struct ws_part *p = &w->part[i / WS_NODES][i % WS_NODES];
        ws_part_die(p);
    }
    ws_wares_close(w);
    weir_sim_close(w->sim);
    ws_wares_free(w);
    ws_exec_close(w);
    ws_hostile_close(w);
    if (w->schema.release != NULL) {
        w->schema.release(&w->schema);
    }
    free(w);
}

/* ---- time ---------------------------------------------------------------- */

static weir_err tick(void *arg, uint64_t now_ns)
{
    const struct ws_world *w = arg;
    if (now_ns >= w->tick_ns) {
        return WEIR_DONE;
    }
    weir_sim_busy(w->sim, w->tick_ns - now_ns);
    return WEIR_OK;
}

static uint32_t live_node(const struct ws_world *w)
{
    uint32_t i = 0;
    while (i < w->shape.nodes && w->node[i].down) {
        i++;
    }
    return i;
}

static void name_waiting(const struct ws_world *w, char *text, size_t room)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < WS_QUERIES * WS_NODES; i++) {
        const struct ws_part *p = &w->part[i / WS_NODES][i % WS_NODES];
        if (ws_part_lives(p)) {
            const size_t used = strlen(text);
            (void)snprintf(text + used, room - used, "%squery %u on node %u%s",
                           used != 0 ? ", " : "", p->query, p->node,
                           p->state == WS_AWAITED ? " (not open)" : "");
        }
    }
    if (ws_wares_left(w) != 0) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, room - used, "%s%u gets, puts and asks",
                       used != 0 ? ", " : "", ws_wares_left(w));
    }
}

/* Run until then, or until all that was to do is done. */
static weir_err run_until(struct ws_world *w, uint64_t until_ns)
{
    struct weir_error err = {0};
    char waiting[400];
    weir_err rc = weir_sim_run(w->sim, until_ns, &err);
    if (rc != WEIR_OK && rc != WEIR_ERR_TIMEOUT) {
        name_waiting(w, waiting, sizeof(waiting));
        ws_violate(w, rc == WEIR_ERR_STATE ? "hang" : "machine", "%s; %s",
                   waiting, err.message);
    }
    return rc;
}

/* The same, and time passes also if there is nothing to do. */
static void pass_until(struct ws_world *w, uint64_t until_ns)
{
    const uint32_t node = live_node(w);
    if (until_ns <= weir_sim_now(w->sim) || ws_violated(w) ||
        node == w->shape.nodes) {
        return;
    }
    wi_sim_look(w->sim, node, until_ns);
    if (run_until(w, until_ns) != WEIR_OK) {
        return;
    }
    w->tick_ns = until_ns;
    if (weir_sim_task(w->sim, node, 0, tick, w) != WEIR_OK) {
        ws_violate(w, "machine", "no memory for a task");
        return;
    }
    (void)run_until(w, until_ns);
}

/* ---- a run --------------------------------------------------------------- */

static uint32_t next_query(const struct ws_world *w)
{
    uint32_t next = WS_QUERIES;
    for (uint32_t i = 0; i < w->shape.n_queries; i++) {
        if (!w->begun[i] && (next == WS_QUERIES ||
                             w->query[i].begin_ns < w->query[next].begin_ns)) {
            next = i;
        }
    }
    return next;
}

static uint64_t next_call_off(const struct ws_world *w)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < WS_QUERIES; i++) {
        const uint64_t at = w->call_off_ns[i];
        next = at != 0 ? wi_min_u64(next, at) : next;
    }
    return next;
}

static void call_off_due(struct ws_world *w)
{
    for (uint32_t i = 0; i < WS_QUERIES; i++) {
        if (w->call_off_ns[i] != 0 &&
            w->call_off_ns[i] <= weir_sim_now(w->sim)) {
            ws_query_call_off(w, i);
        }
    }
}

static void run_all(struct ws_world *w)
{
    struct ws_strikes strikes;
    ws_strikes_init(&strikes, &w->shape.schedule);
    while (!ws_violated(w)) {
        const uint32_t q = next_query(w);
        const uint64_t begin =
            q < WS_QUERIES ? w->query[q].begin_ns : UINT64_MAX;
        uint64_t at = wi_min_u64(begin, ws_strikes_next(&strikes));
        at = wi_min_u64(at, next_call_off(w));
        if (at == UINT64_MAX) {
            break;
        }
        pass_until(w, at);
        ws_strikes_due(&strikes, w);
        if (begin <= weir_sim_now(w->sim)) {
            ws_query_begin(w, q);
        }
        call_off_due(w);
        ws_strike_leaves(w);
    }
}

/* Nothing is wrong any more: what runs ends. */
static void end_all(struct ws_world *w)
{
    char waiting[400];
    const uint64_t until = weir_sim_now(w->sim) + patience_ns(w);
    if (!ws_violated(w) && run_until(w, until) == WEIR_ERR_TIMEOUT) {
        name_waiting(w, waiting, sizeof(waiting));
        ws_violate(w, "hang", "%s; nothing was wrong for %" PRIu64 " ns",
                   waiting, patience_ns(w));
    }
}

/* What is left, where. */
struct remainder {
    const char *what; /* NULL: nothing */
    uint32_t node;
    uint32_t peer;
};

static struct remainder find_left(struct ws_world *w)
{
    struct remainder r = {0};
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        weir_node *node = weir_sim_node(w->sim, i);
        for (uint32_t k = 0; node != NULL && k < w->shape.workers; k++) {
            (void)weir_worker_wait(node, k, 0); /* takes off what ended */
        }
        if (r.what == NULL) {
            r.node = i;
            r.what = ws_watch_left(w, i, &r.peer);
        }
    }
    return r;
}

static void settle(struct ws_world *w, const char *after)
{
    const uint64_t step = patience_ns(w) / SETTLE_STEPS;
    struct remainder r = {0};
    for (uint32_t i = 0; i < SETTLE_STEPS && !ws_violated(w); i++) {
        r = find_left(w);
        if (r.what == NULL) {
            return;
        }
        pass_until(w, weir_sim_now(w->sim) + (i < 20 ? step / 100 : step));
    }
    ws_violate(w, "left", "after %s, on node %u, of its link to node %u: %s",
               after, r.node, r.peer, r.what);
}

/* Until links that were tried in vain are given up, too. */
static void rest(struct ws_world *w)
{
    const struct weir_node_params *n = &w->shape.sim.node;
    pass_until(w, weir_sim_now(w->sim) + 2 * (n->connect_ns + n->detect_ns));
}

/* A query on all who are well: it succeeds, whatever was before. */
static void run_last(struct ws_world *w)
{
    uint32_t members = 0;
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        const struct ws_node *n = &w->node[i];
        const bool well = n->there && !n->leaving && !n->hostile &&
                          weir_sim_node(w->sim, i) != NULL;
        members |= well ? 1u << i : 0;
    }
    if (members == 0 || ws_violated(w)) {
        return;
    }
    memset(w->tamper, 0, sizeof(w->tamper)); /* what was not done yet */
    ws_query_last(&w->query[LAST], members);
    w->query[LAST].deadline_ns = 20000000000u;
    ws_query_begin(w, LAST);
    end_all(w);
}

static void note_result(const struct ws_world *w, struct ws_result *out)
{
    if (w->sim == NULL) {
        return;
    }
    const struct wi_simnet *net = wi_sim_net(w->sim);
    out->trace = wi_simnet_trace(net);
    out->events = wi_simnet_events(net);
    out->virtual_ns = weir_sim_now(w->sim);
    for (uint32_t i = 0; i < WS_QUERIES * WS_NODES; i++) {
        const struct ws_part *p = &w->part[i / WS_NODES][i % WS_NODES];
        out->trace = ws_mix(out->trace ^ (uint64_t)p->state) ^
                     (uint64_t)(int64_t)p->outcome.code;
    }
}

void ws_world_run(const struct ws_shape *shape, struct ws_result *out)
{
    struct ws_world *w = calloc(1, sizeof(*w));
    *out = (struct ws_result){0};
    if (w == NULL) {
        (void)snprintf(out->finding.rule, WS_RULE_BYTES, "machine");
        return;
    }
    w->shape = *shape;
    open_world(w);
    run_all(w);
    end_all(w);
    settle(w, "the faults");
    rest(w);
    run_last(w);
    settle(w, "the last query");
    if (!ws_violated(w)) {
        ws_judge(w, out);
    }
    note_result(w, out);
    out->finding = w->finding;
    close_world(w);
}
