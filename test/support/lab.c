/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/lab.h"

#include <malloc.h>
#include <stdio.h>
#include <time.h>

#include "core/base/atomic.h"
#include "core/base/rcu.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/node/step.h"
#include "test/support/wares.h"
#include "transport/sim/simnet.h"

enum { ROGUE_PORT = 2, PORTS = 3, STEPS = 64 };

static const uint64_t second_ns = 1000000000u;

/* ---- opening ------------------------------------------------------------- */

static const char *const names[WT_LAB_NODES] = {"ann", "bob"};

static void note_name(struct wt_lab *lab, const char *line)
{
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        if (strncmp(line, names[i], strlen(names[i])) == 0 &&
            strstr(line, lab->rogue.name) != NULL) {
            (void)wi_add_rlx(&lab->named[i], 1);
        }
    }
}

static void note_log(void *arg, weir_log_level level, const char *line)
{
    struct wt_lab *lab = arg;
    (void)level;
    note_name(lab, line);
    WT_MUST(strpbrk(line, "\n\r\x1b") == NULL, "a log line of several: %s",
            line);
    if (!lab->tcp) { /* else from several threads */
        (void)snprintf(lab->log, sizeof(lab->log), "%s", line);
    }
}

static void open_node(struct wt_lab *lab, uint32_t i,
                      const struct wt_lab_params *params)
{
    struct wi_simport_ref ref = {.net = lab->net, .port = i};
    struct weir_node_params p = {.name = names[i],
                                 .transport = lab->tcp ? "tcp" : "sim",
                                 .workers = params->workers,
                                 .max_members = 3,
                                 .max_shuffles = 8,
                                 .frame_bytes = 4096,
                                 .memory_bytes = 64u << 20,
                                 .max_row_bytes = 1u << 20,
                                 .detect_ns = 4 * second_ns,
                                 .connect_ns = 2 * second_ns,
                                 .manual = !lab->tcp,
                                 .log_level = WEIR_LOG_WARN,
                                 .log = note_log,
                                 .log_arg = lab,
                                 .transport_arg = lab->tcp ? NULL : &ref};
    struct weir_error err;
    WT_MUST(weir_node_open(&p, &lab->node[i], &err) == WEIR_OK, "%s",
            err.message);
}

static void join(struct wt_lab *lab, const struct wt_lab_params *params)
{
    struct weir_member members[3];
    struct weir_error err;
    struct wt_rogue *r = &lab->rogue;
    members[r->self] = (struct weir_member){r->name, r->address, r->workers};
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        lab->number[i] = i + (r->self == 0 ? 1 : 0);
        members[lab->number[i]] = (struct weir_member){
            weir_node_name(lab->node[i]), weir_node_address(lab->node[i]),
            params->workers};
    }
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        WT_MUST(weir_node_join(lab->node[i], members, 3, &err) == WEIR_OK, "%s",
                err.message);
    }
}

void wt_lab_open(struct wt_lab *lab, const struct wt_lab_params *params)
{
    static const struct wi_simnet_params net = {.ports = PORTS,
                                                .seed = 1,
                                                .bandwidth = 12500000000u,
                                                .latency_ns = 2000,
                                                .overhead_bytes = 64};
    struct wt_lab_params p = *params;
    p.workers = p.workers != 0 ? p.workers : 1;
    memset(lab, 0, sizeof(*lab));
    lab->tcp = p.tcp;
    lab->rogue = (struct wt_rogue){.name = "mallory",
                                   .self = p.rogue,
                                   .n_members = 3,
                                   .workers = 1,
                                   .frame_bytes = 4096,
                                   .incarnation = 1};
    if (!lab->tcp) {
        WT_MUST(wi_simnet_open(&net, &lab->net, NULL) == WEIR_OK, "no net");
    }
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        open_node(lab, i, &p);
    }
    lab->rogue.unit_bytes = lab->node[0]->engine.budget.unit_bytes;
    if (lab->tcp) {
        wt_rogue_on_tcp(&lab->rogue);
    } else {
        wt_rogue_on_sim(&lab->rogue, lab->net, ROGUE_PORT);
    }
    join(lab, &p);
}

void wt_lab_close(struct wt_lab *lab)
{
    wt_lab_end(lab, WT_LAB_HONEST);
    wt_lab_end(lab, WT_LAB_SHARED);
    wt_lab_part(lab);
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        weir_node_close(lab->node[i]);
    }
    if (lab->tcp) {
        wt_rogue_off_tcp(&lab->rogue);
    } else {
        wt_rogue_off_sim(&lab->rogue);
        wi_simnet_close(lab->net);
    }
}

/* ---- moving -------------------------------------------------------------- */

static bool step_plan(struct wt_lab *lab, int kind, uint32_t i)
{
    struct wt_plan *p = &lab->plan[kind][i];
    bool moved = false;
    for (uint32_t k = 0; lab->end[kind][i] == WEIR_AGAIN && k < STEPS; k++) {
        weir_err rc = wt_plan_step(p);
        if (rc == WEIR_AGAIN) {
            return moved;
        }
        moved = true;
        if (rc != WEIR_OK) {
            lab->end[kind][i] = rc;
            (void)weir_query_status(p->query, &lab->error[kind][i]);
        }
    }
    return moved;
}

/* A worker that has nothing to do: it publishes what it holds back. Once, until
 * it has done something again or time has passed: each look wakes the
 * engine. */
static bool look(struct wt_lab *lab, uint32_t i, bool ran)
{
    if (!ran && !lab->tcp && lab->looked_ns[i] == lab->now_ns + 1) {
        return false;
    }
    bool awake = weir_worker_wait(lab->node[i], 0, 0) == WEIR_OK;
    lab->looked_ns[i] = awake ? 0 : lab->now_ns + 1;
    return awake;
}

static bool move_all(struct wt_lab *lab)
{
    bool moved = lab->rogue.carrier->poll(&lab->rogue) != 0;
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        uint64_t next;
        for (uint32_t k = 0; !lab->tcp && k < STEPS; k++) {
            if (weir_node_step(lab->node[i], lab->now_ns, &next) != WEIR_OK) {
                break;
            }
            moved = true;
        }
        bool ran = false;
        for (int kind = 0; kind < 2; kind++) {
            ran = (lab->open[kind] && step_plan(lab, kind, i)) || ran;
        }
        moved = look(lab, i, ran) || moved || ran;
    }
    moved = (lab->wares != NULL && wt_wares_move(lab)) || moved;
    return moved;
}

/* Whatever comes next: in the network, or by a node's clock. */
static uint64_t next_ns(const struct wt_lab *lab)
{
    uint64_t at = wi_simnet_next(lab->net);
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        uint64_t t = wi_engine_next(&lab->node[i]->engine);
        at = t < at ? t : at;
    }
    return at;
}

bool wt_lab_step(struct wt_lab *lab)
{
    if (move_all(lab)) {
        return true;
    }
    if (lab->tcp) {
        (void)weir_worker_wait(lab->node[0], 0, 200000);
        return true;
    }
    uint64_t at = next_ns(lab);
    if (at == UINT64_MAX) {
        return false;
    }
    lab->now_ns = at > lab->now_ns ? at : lab->now_ns;
    wi_simnet_advance(lab->net, lab->now_ns);
    return true;
}

static uint64_t clock_of(const struct wt_lab *lab)
{
    struct timespec t;
    if (!lab->tcp) {
        return lab->now_ns;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * second_ns + (uint64_t)t.tv_nsec;
}

bool wt_lab_until(struct wt_lab *lab, bool (*cond)(struct wt_lab *lab),
                  uint32_t seconds)
{
    uint64_t until = clock_of(lab) + seconds * second_ns;
    uint64_t at_ns = 0;
    uint64_t rounds = 0; /* at one instant */
    while (!cond(lab)) {
        if (clock_of(lab) > until || !wt_lab_step(lab)) {
            return cond(lab);
        }
        rounds = lab->now_ns == at_ns ? rounds + 1 : 0;
        at_ns = lab->now_ns;
        WT_MUST(lab->tcp || rounds < 100000, "the clock stands still");
    }
    return true;
}

/* ---- the rogue ----------------------------------------------------------- */

static bool dialled(struct wt_lab *lab)
{
    return (lab->link[0]->up || lab->link[0]->closed) &&
           (lab->link[1]->up || lab->link[1]->closed);
}

static bool met(struct wt_lab *lab)
{
    return lab->link[0]->open && lab->link[1]->open;
}

void wt_lab_meet(struct wt_lab *lab)
{
    lab->rogue.incarnation++;
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        lab->link[i] = wt_rogue_dial(&lab->rogue, lab->number[i],
                                     weir_node_address(lab->node[i]));
    }
    WT_MUST(wt_lab_until(lab, dialled, 20), "the rogue cannot connect");
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        struct wt_msg m = wt_rogue_hello(lab->link[i], WT_HELLO);
        wt_rogue_send(lab->link[i], &m);
    }
    WT_MUST(wt_lab_until(lab, met, 20), "the rogue is not let in");
}

void wt_lab_part(struct wt_lab *lab)
{
    for (uint32_t i = 0; i < WT_ROGUE_LINKS; i++) {
        wt_rogue_hang_up(&lab->rogue.link[i]);
    }
}

/* ---- queries ------------------------------------------------------------- */

void wt_lab_begin(struct wt_lab *lab, int kind, uint64_t rows)
{
    uint32_t members[3] = {lab->number[0], lab->number[1]};
    uint32_t shared[3] = {0, 1, 2};
    bool all = kind == WT_LAB_SHARED;
    struct weir_error err;
    lab->id[kind] = ++lab->queries;
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        weir_err rc =
            wt_plan_open(&lab->plan[kind][i], lab->node[i], lab->id[kind],
                         all ? shared : members, all ? 3 : 2, rows, &err);
        WT_MUST(rc == WEIR_OK || all, "query %llu: %s",
                (unsigned long long)lab->id[kind], err.message);
        lab->end[kind][i] = rc == WEIR_OK ? WEIR_AGAIN : rc;
        if (rc != WEIR_OK) {
            lab->error[kind][i] = err;
        }
    }
    lab->open[kind] = true;
}

static bool ended(const struct wt_lab *lab, int kind)
{
    return lab->end[kind][0] != WEIR_AGAIN && lab->end[kind][1] != WEIR_AGAIN;
}

bool wt_lab_honest_ended(struct wt_lab *lab)
{
    return ended(lab, WT_LAB_HONEST);
}

bool wt_lab_shared_ended(struct wt_lab *lab)
{
    return ended(lab, WT_LAB_SHARED);
}

void wt_lab_exact(struct wt_lab *lab, const char *after)
{
    struct wt_sums s = {0};
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        const struct wt_sums *one = &lab->plan[WT_LAB_HONEST][i].sums;
        WT_MUST(lab->end[WT_LAB_HONEST][i] == WEIR_DONE,
                "%s: the honest query on node %u: %s %s", after, i,
                weir_err_name(lab->end[WT_LAB_HONEST][i]),
                lab->error[WT_LAB_HONEST][i].message);
        s.made_rows += one->made_rows;
        s.made_sum += one->made_sum;
        s.got_rows += one->got_rows;
        s.got_sum += one->got_sum;
    }
    WT_MUST(s.made_rows == s.got_rows && s.made_sum == s.got_sum,
            "%s: %llu rows made, %llu came", after,
            (unsigned long long)s.made_rows, (unsigned long long)s.got_rows);
}

void wt_lab_end(struct wt_lab *lab, int kind)
{
    for (uint32_t i = 0; lab->open[kind] && i < WT_LAB_NODES; i++) {
        wt_plan_close(&lab->plan[kind][i]);
    }
    lab->open[kind] = false;
}

/* ---- what is left -------------------------------------------------------- */

static bool units_free(const struct wi_link *l)
{
    const struct wi_budget *b = &l->engine->budget;
    for (uint32_t k = 0; k < (b->n_units + 63) / 64; k++) {
        if (l->used != NULL && l->used[k] != 0) {
            return false;
        }
    }
    return l->state != WI_LINK_OPEN || l->peer_free == l->peer_units;
}

static bool at_rest(struct wt_lab *lab, uint32_t i)
{
    struct wi_engine *e = &lab->node[i]->engine;
    wi_node_lock(lab->node[i]);
    bool rest = wi_list_empty(&e->dead) && wi_list_empty(&e->limbo) &&
                wi_list_empty(&e->queries) && wi_list_empty(&e->greeting) &&
                e->members[lab->rogue.self].link == NULL;
    for (uint32_t m = 0; rest && m < e->n_members; m++) {
        const struct wi_link *l = e->members[m].link;
        rest = l == NULL || units_free(l);
    }
    wi_node_unlock(lab->node[i]);
    return rest;
}

bool wt_lab_at_rest(struct wt_lab *lab)
{
    return at_rest(lab, 0) && at_rest(lab, 1);
}

/* Of the sanitizers, which have a malloc of their own. */
extern size_t __sanitizer_get_current_allocated_bytes(void)
    __attribute__((weak));

uint64_t wt_heap_bytes(void)
{
    wi_rcu_barrier(); /* what readers might have held is free, too */
    if (__sanitizer_get_current_allocated_bytes != NULL) {
        return __sanitizer_get_current_allocated_bytes();
    }
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}
