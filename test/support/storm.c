/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/storm.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <string.h>

#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "test/support/lab.h"
#include "test/support/rows.h"

enum { MOST_ROWS = 3000, MOST_STEPS = 40 };

static uint64_t draw(struct wt_storm *s, uint64_t n)
{
    s->random = wt_mix(s->random, 1);
    return (s->random >> 16) % n;
}

/* ---- opening and closing ------------------------------------------------- */

void wt_storm_open(struct wt_storm *s, const struct wt_place *place,
                   bool node_rings)
{
    struct wt_cluster_params params = {
        .nodes = WT_STORM_NODES,
        .workers = node_rings ? 2 : 1,
        .node = {.frame_bytes = 4096,
                 .max_shuffles = 4,
                 .max_row_bytes = 1 << 20,
                 .memory_bytes = 397312,
                 .idle_close_ns = 3600 * 1000000000ull,
                 .log_level = WEIR_LOG_ERROR}};
    memset(s, 0, sizeof(*s));
    s->random = 1;
    if (node_rings) {
        params.node.memory_bytes = wt_least_memory(place, &params);
    }
    wt_cluster_open(&s->c, place, &params);
    cr_assert_eq(s->c.node[0]->engine.budget.per_node, node_rings);
}

void wt_storm_close(struct wt_storm *s)
{
    wt_cluster_close(&s->c);
}

/* ---- one query ----------------------------------------------------------- */

static weir_err open_plan(struct wt_storm *s, struct wt_storm_member *m)
{
    return wt_plan_open(&m->plan, s->c.node[m->node], s->id, NULL, 0,
                        1 + s->random % MOST_ROWS, &m->error);
}

static weir_err open_member(struct wt_storm *s, struct wt_storm_member *m)
{
    bool mine = m->node == s->culprit && s->way != NULL;
    m->opened = true;
    if (mine && s->way->open != NULL) {
        m->acted = true;
        return s->way->open(s, m->node);
    }
    return open_plan(s, m);
}

static weir_err end_member(struct wt_storm_member *m, weir_err rc)
{
    m->end = rc;
    if (m->plan.query != NULL && rc < 0) {
        (void)weir_query_status(m->plan.query, &m->error);
    }
    wt_plan_close(&m->plan);
    return WEIR_DONE;
}

/* The culprit's turn; WEIR_DONE: it has closed its query. */
static weir_err maybe_act(struct wt_storm *s, struct wt_storm_member *m)
{
    bool due = m->steps++ >= s->point || m->waited;
    if (s->way == NULL || s->way->act == NULL || m->node != s->culprit ||
        m->acted || !due) {
        return WEIR_OK;
    }
    weir_err rc = s->way->act(s, m->node);
    m->acted = rc != WEIR_AGAIN;
    return rc;
}

static weir_err member_step(void *arg)
{
    struct wt_storm_member *m = arg;
    struct wt_storm *s = m->storm;
    weir_err rc = m->opened ? WEIR_OK : open_member(s, m);
    if (rc != WEIR_OK) {
        return end_member(m, rc);
    }
    if (maybe_act(s, m) == WEIR_DONE) {
        return end_member(m, WEIR_ERR_ABORTED);
    }
    rc = wt_plan_step(&m->plan);
    m->waited = rc == WEIR_AGAIN;
    return rc == WEIR_OK || rc == WEIR_AGAIN ? rc : end_member(m, rc);
}

static void check_exact(const struct wt_storm *s)
{
    struct wt_sums sum = {0};
    for (uint32_t i = 0; i < WT_STORM_NODES; i++) {
        const struct wt_storm_member *m = &s->member[i];
        cr_assert_eq(m->end, WEIR_DONE, "good query, node %u: %s", i,
                     m->error.message);
        sum.made_rows += m->plan.sums.made_rows;
        sum.made_sum += m->plan.sums.made_sum;
        sum.got_rows += m->plan.sums.got_rows;
        sum.got_sum += m->plan.sums.got_sum;
    }
    cr_assert(sum.made_rows == sum.got_rows && sum.made_sum == sum.got_sum);
}

static void count(struct wt_storm *s)
{
    uint32_t failed = 0;
    for (uint32_t i = 0; i < WT_STORM_NODES; i++) {
        struct wt_storm_member *m = &s->member[i];
        failed += m->end < 0 ? 1 : 0;
        cr_assert(m->end == WEIR_DONE || m->error.message[0] != '\0' ||
                      i == s->culprit,
                  "%s: node %u ends with %s and no word", s->way->name, i,
                  weir_err_name(m->end));
        if (m->kept.release != NULL) {
            m->kept.release(&m->kept);
        }
    }
    *(failed != 0 ? &s->failed : &s->done) += 1;
}

void wt_storm_run(struct wt_storm *s, const struct wt_way *way)
{
    s->id++;
    s->way = way;
    s->culprit = (uint32_t)draw(s, WT_STORM_NODES);
    s->point = (uint32_t)draw(s, MOST_STEPS);
    s->c.n_tasks = 0;
    for (uint32_t i = 0; i < WT_STORM_NODES; i++) {
        s->member[i] = (struct wt_storm_member){.storm = s, .node = i};
        (void)wt_task(&s->c, i, 0, member_step, &s->member[i]);
    }
    bool ran = wt_cluster_run(&s->c);
    cr_assert(ran, "%s by node %u at step %u: %s",
              way != NULL ? way->name : "good", s->culprit, s->point, s->c.why);
    if (way == NULL) {
        check_exact(s);
    } else {
        count(s);
    }
}

/* ---- what is left -------------------------------------------------------- */

static bool link_is_free(const struct wi_link *l)
{
    const struct wi_budget *b = &l->engine->budget;
    for (uint32_t k = 0; l->used != NULL && k < (b->n_units + 63) / 64; k++) {
        if (l->used[k] != 0) {
            return false;
        }
    }
    return wi_list_empty(&l->ins) && wi_list_empty(&l->outs) &&
           wi_list_empty(&l->waiting) && l->live_outs == 0 &&
           (l->state != WI_LINK_OPEN || l->peer_free == l->peer_units);
}

static bool node_is_free(weir_node *node)
{
    struct wi_engine *e = &node->engine;
    wi_node_lock(node);
    bool is_free = wi_list_empty(&e->dead) && wi_list_empty(&e->limbo) &&
                   wi_list_empty(&e->strays) && wi_list_empty(&e->queries) &&
                   e->open_shuffles == 0;
    for (uint32_t i = 0; is_free && i < e->n_members; i++) {
        const struct wi_link *l = e->members[i].link;
        is_free = l == NULL || link_is_free(l);
    }
    wi_node_unlock(node);
    return is_free;
}

static bool all_free(void *arg)
{
    struct wt_storm *s = arg;
    for (uint32_t i = 0; i < WT_STORM_NODES; i++) {
        if (!node_is_free(s->c.node[i])) {
            /* Its worker takes off what it was told of. */
            (void)weir_worker_wait(s->c.node[i], 0, 0);
            return false;
        }
    }
    return true;
}

void wt_storm_settle(struct wt_storm *s)
{
    bool settled = wt_until(&s->c, all_free, s);
    cr_assert(settled, "something of the queries is left");
}

static uint32_t count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint32_t n = 0;
    cr_assert_not_null(dir);
    while (readdir(dir) != NULL) {
        n++;
    }
    (void)closedir(dir);
    return n;
}

struct wt_holdings wt_storm_holdings(struct wt_storm *s)
{
    struct wt_holdings h = {.heap_bytes = wt_heap_bytes(),
                            .descriptors = count_descriptors()};
    for (uint32_t i = 0; i < WT_STORM_NODES; i++) {
        struct weir_node_stats stats;
        weir_node_stats_get(s->c.node[i], &stats);
        cr_assert_eq(stats.queries_open, 0);
        cr_assert_eq(stats.links_lost, 0, "a link was lost");
        h.memory_bytes += stats.memory_bytes;
        h.area_bytes += s->c.node[i]->engine.budget.area_bytes;
    }
    return h;
}
