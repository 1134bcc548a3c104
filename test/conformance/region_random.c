/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gets, puts and asks of four nodes among each other, while regions come and
 * go, links break, nodes stand still, and processes are killed and started
 * again, all at random; simulator only.
 *
 * What holds in every run:
 *  - each operation ends once, with the right bytes or an error of the right
 *    kind; what its fetch was closed with does not end any more;
 *  - nobody reads memory that was let go: its owner overwrites it then;
 *  - in the end, when nothing breaks any more, all are served, all memory that
 *    was lent to the library is back, and nodes hold as much as at the start.
 */
#include "test/conformance/region.h"
#include "test/support/rows.h"

#include <stdlib.h>

#include <weir/stats.h>

/* Instrumented builds are ten times slower and look at every access instead. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SEEDS = 6 };
#else
enum { SEEDS = 30 };
#endif

enum {
    NODES = 4,
    REGIONS = 3, /* of each node */
    BYTES = 40000,
    OPS = 24, /* of a node at a time */
    ROUNDS = 120,
    HELD = 6, /* asks that are answered later */
    REGION_SPACE = 7,
    ASK_SPACE = 9,
};

/* Memory of a region, as long as the library may have it. */
struct loan {
    uint8_t *base;
    uint64_t id;
    uint32_t *out; /* how many are out, all together */
};

enum op_kind { GET, PUT, ASK };

struct op {
    bool used;
    bool lent; /* ended, and not given back */
    enum op_kind kind;
    uint64_t id; /* of the name */
    uint64_t off;
    uint64_t bytes;
    uint8_t *dst;
    struct weir_got got;
};

struct actor {
    struct world *world;
    uint32_t node;
    weir_fetch *fetch;
    weir_peer *peer[NODES];
    weir_asks *asks;
    weir_region *region[REGIONS];
    uint32_t life; /* of each region: part of its name */
    struct weir_ask held[HELD];
    uint32_t n_held;
    struct op op[OPS];
    uint64_t step;
    bool resting; /* posts nothing */
};

struct world {
    struct wt_cluster c;
    struct actor actor[NODES];
    uint64_t seed;
    uint64_t draws;
    uint64_t memory[NODES]; /* held at the start */
    uint32_t lent;          /* loans that are out */
    uint32_t ended[2];      /* operations: badly, well */
    uint32_t restarts;
};

static uint64_t draw(struct world *w, uint64_t n)
{
    return wt_mix(w->seed, w->draws++) % n;
}

/* ---- regions ------------------------------------------------------------- */

/* The same for all lives, so that whoever asks need not know them. */
static uint64_t region_id(uint32_t node, uint32_t i)
{
    return 1000 + node * 10 + i;
}

static void let_go(void *arg)
{
    struct loan *loan = arg;
    memset(loan->base, 0xee, BYTES);
    free(loan->base);
    --*loan->out;
    free(loan);
}

static void open_region(struct actor *a, uint32_t i)
{
    struct world *w = a->world;
    struct loan *loan = malloc(sizeof(*loan));
    const struct weir_name name = {REGION_SPACE, region_id(a->node, i)};
    *loan = (struct loan){malloc(BYTES), name.id, &w->lent};
    for (uint64_t at = 0; at < BYTES; at++) {
        loan->base[at] = wt_byte(name.id, at);
    }
    const struct weir_region_params p = {.kind = WEIR_REGION_BORROWED,
                                         .base = loan->base,
                                         .bytes = BYTES,
                                         .release = let_go,
                                         .release_arg = loan,
                                         .writable = i == 0};
    struct weir_error err;
    w->lent++;
    cr_assert_eq(weir_region_open(w->c.node[a->node], &p, &a->region[i], &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_region_publish(a->region[i], &name, &err), WEIR_OK, "%s",
                 err.message);
}

static void close_region(struct actor *a, uint32_t i)
{
    weir_region_close(a->region[i]);
    a->region[i] = NULL;
}

/* ---- operations ---------------------------------------------------------- */

static struct op *free_op(struct actor *a)
{
    for (uint32_t i = 0; i < OPS; i++) {
        if (!a->op[i].used) {
            return &a->op[i];
        }
    }
    return NULL;
}

static weir_err post(struct actor *a, struct op *op, uint32_t to)
{
    const uint64_t tag = (uint64_t)(op - a->op);
    const struct weir_name name = {op->kind == ASK ? ASK_SPACE : REGION_SPACE,
                                   op->id};
    uint32_t taken = 0;
    if (op->kind == GET) {
        const struct weir_get get = {name, op->off, op->bytes, op->dst, tag};
        return weir_fetch_get(a->fetch, a->peer[to], &get, 1, &taken);
    }
    if (op->kind == PUT) {
        const struct weir_put put = {name, op->off, op->bytes, op->dst, tag};
        return weir_fetch_put(a->fetch, a->peer[to], &put, 1, &taken);
    }
    return weir_fetch_ask(a->fetch, a->peer[to], &name, "why",
                          (uint32_t)op->bytes, tag);
}

/* Puts write what is there: gets beside them see right bytes, if any. */
static void begin_op(struct actor *a, struct op *op)
{
    struct world *w = a->world;
    const uint32_t to = (uint32_t)draw(w, NODES);
    *op = (struct op){.used = true, .kind = (enum op_kind)draw(w, 3)};
    op->id = op->kind == ASK ? draw(w, 100) : region_id(to, 0);
    op->bytes = op->kind == ASK ? draw(w, 4) : 1 + draw(w, BYTES / 2);
    if (op->kind == GET) {
        op->id += draw(w, REGIONS + 1); /* also one that never is */
        op->off = draw(w, BYTES);       /* also beyond the end */
    } else if (op->kind == PUT) {
        op->id += draw(w, 2); /* also one that is read only */
        op->off = draw(w, BYTES / 2);
    }
    if (op->kind == PUT || (op->kind == GET && draw(w, 2) == 0)) {
        op->dst = malloc(op->bytes);
        for (uint64_t i = 0; i < op->bytes; i++) {
            op->dst[i] = op->kind == PUT ? wt_byte(op->id, op->off + i) : 0;
        }
    }
    weir_err rc = post(a, op, to);
    cr_assert(rc == WEIR_OK || rc == WEIR_AGAIN, "%s", weir_err_name(rc));
    if (rc == WEIR_AGAIN) {
        free(op->dst);
        *op = (struct op){.used = false};
    }
}

static void give_back(struct actor *a, struct op *op)
{
    if (op->lent) { /* all the time that it was lent, it stayed as it was */
        cr_assert(wt_bytes_are(op->got.ptr, op->id, op->off, op->bytes));
        weir_fetch_release(a->fetch, &op->got);
    }
    free(op->dst);
    *op = (struct op){.used = false};
}

/* What may come of it, besides what breaks links. */
static bool may_end(const struct op *op, weir_err code)
{
    const bool beyond = op->off + op->bytes > BYTES;
    const bool writable = op->id % 10 == 0;
    if (weir_err_scope(code) == WEIR_SCOPE_PEER || code == WEIR_ERR_TIMEOUT ||
        code == WEIR_ERR_NOT_FOUND) {
        return true;
    }
    if (op->kind == ASK) {
        return code == WEIR_OK || code == WEIR_AGAIN ||
               code == WEIR_ERR_QUERY_DATA;
    }
    if (op->kind == PUT && !writable) {
        return code == WEIR_ERR_STATE;
    }
    return code == (beyond ? WEIR_ERR_ARG : WEIR_OK);
}

static void check_bytes(const struct actor *a, const struct op *op)
{
    const struct weir_got *got = &op->got;
    if (op->kind == ASK) {
        cr_assert(got->bytes == 3 && memcmp(got->ptr, "yes", 3) == 0);
    } else if (op->kind == GET) {
        cr_assert_eq(got->bytes, op->bytes);
        cr_assert(op->dst == NULL || got->ptr == op->dst);
        cr_assert(wt_bytes_are(got->ptr, op->id, op->off, op->bytes),
                  "seed %lu: wrong bytes, node %u",
                  (unsigned long)a->world->seed, a->node);
    }
}

static void end_op(struct actor *a, const struct weir_got *got)
{
    struct world *w = a->world;
    cr_assert_lt(got->tag, OPS);
    struct op *op = &a->op[got->tag];
    cr_assert(op->used && !op->lent, "seed %lu: ended twice",
              (unsigned long)w->seed);
    cr_assert(may_end(op, got->code), "seed %lu, kind %d: %s: %s",
              (unsigned long)w->seed, (int)op->kind, weir_err_name(got->code),
              weir_fetch_error(a->fetch));
    w->ended[got->code == WEIR_OK]++;
    op->got = *got;
    op->lent = got->lent != 0;
    if (got->code == WEIR_OK) {
        check_bytes(a, op);
    }
    if (!op->lent || op->kind != GET || draw(w, 3) != 0) {
        op->lent = op->lent && op->kind == GET;
        if (got->lent != 0 && !op->lent) {
            weir_fetch_release(a->fetch, got);
        }
        give_back(a, op);
    }
}

/* ---- what a node does ---------------------------------------------------- */

static void answer(struct actor *a, uint32_t i)
{
    const bool well = draw(a->world, 4) != 0;
    const struct weir_ask *ask = &a->held[i];
    cr_assert_eq(
        weir_ask_answer(ask, well ? WEIR_OK : WEIR_ERR_QUERY_DATA, "yes", 3),
        WEIR_OK);
    a->held[i] = a->held[--a->n_held];
}

/* Some at once, some later, in any order; when it rests, all of them. */
static void serve(struct actor *a)
{
    while (a->n_held > 0 &&
           (a->resting || a->n_held == HELD || draw(a->world, 3) == 0)) {
        answer(a, (uint32_t)draw(a->world, a->n_held));
    }
    while (a->n_held < HELD &&
           weir_asks_next(a->asks, &a->held[a->n_held]) == WEIR_OK) {
        a->n_held++;
        if (a->resting || draw(a->world, 2) == 0) {
            answer(a, a->n_held - 1);
        }
    }
}

static void come_and_go(struct actor *a)
{
    const uint32_t i = (uint32_t)draw(a->world, REGIONS);
    if (a->region[i] == NULL) {
        open_region(a, i);
    } else if (draw(a->world, 4) == 0) {
        close_region(a, i);
    }
}

static void take_ends(struct actor *a)
{
    struct weir_got got;
    weir_err rc;
    while ((rc = weir_fetch_next(a->fetch, &got)) == WEIR_OK) {
        end_op(a, &got);
    }
    cr_assert(rc == WEIR_AGAIN || rc == WEIR_DONE);
}

static void give_some_back(struct actor *a, bool all)
{
    for (uint32_t i = 0; i < OPS; i++) {
        if (a->op[i].lent && (all || draw(a->world, 5) == 0)) {
            give_back(a, &a->op[i]);
        }
    }
}

static weir_err act(void *arg)
{
    struct actor *a = arg;
    struct world *w = a->world;
    struct op *op;
    a->step++;
    take_ends(a);
    serve(a);
    give_some_back(a, a->resting);
    if (!a->resting) {
        come_and_go(a);
        for (uint64_t n = draw(w, 4); n > 0 && (op = free_op(a)) != NULL; n--) {
            begin_op(a, op);
        }
    }
    weir_sim_busy(w->c.sim, 2000 + draw(w, 60000));
    return WEIR_OK; /* until the run's time is over */
}

/* ---- lives of nodes ------------------------------------------------------ */

static void begin_life(struct actor *a)
{
    struct world *w = a->world;
    weir_node *node = w->c.node[a->node];
    const struct weir_fetch_params p = {.max_bytes = 3 * BYTES,
                                        .timeout_ns = 3000000000u};
    struct weir_error err;
    cr_assert_eq(weir_fetch_open(node, &p, &a->fetch, &err), WEIR_OK);
    cr_assert_eq(weir_asks_open(node, ASK_SPACE, 0, &a->asks, &err), WEIR_OK);
    for (uint32_t i = 0; i < NODES; i++) {
        struct weir_member m;
        cr_assert_eq(weir_node_member(node, i, &m), WEIR_OK);
        cr_assert_eq(weir_peer_open(node, m.address, &a->peer[i], &err),
                     WEIR_OK, "%s", err.message);
    }
    a->n_held = 0;
}

/* Regions and asks may be left to the node's end; each half of the time. */
static void end_life(struct actor *a, bool tidy)
{
    weir_fetch_close(a->fetch);
    for (uint32_t i = 0; i < OPS; i++) {
        give_back(a, &a->op[i]);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        weir_peer_close(a->peer[i]);
    }
    for (uint32_t i = 0; i < REGIONS; i++) {
        if (tidy && a->region[i] != NULL) {
            weir_region_close(a->region[i]);
        }
        a->region[i] = NULL;
    }
    if (tidy) {
        weir_asks_close(a->asks);
    }
}

static void restart(struct world *w, uint32_t node)
{
    struct actor *a = &w->actor[node];
    struct weir_error err;
    end_life(a, draw(w, 2) == 0);
    cr_assert_eq(weir_sim_restart(w->c.sim, node, &err), WEIR_OK, "%s",
                 err.message);
    w->c.node[node] = weir_sim_node(w->c.sim, node);
    begin_life(a);
    w->restarts++;
}

/* ---- a run --------------------------------------------------------------- */

static weir_err step(void *arg, uint64_t now_ns)
{
    (void)now_ns;
    return act(arg);
}

static void add_task(struct world *w, uint32_t node)
{
    cr_assert_eq(weir_sim_task(w->c.sim, node, 0, step, &w->actor[node]),
                 WEIR_OK);
}

static void run_for(struct world *w, uint64_t ns)
{
    struct weir_error err;
    weir_err rc = weir_sim_run(w->c.sim, weir_sim_now(w->c.sim) + ns, &err);
    cr_assert_eq(rc, WEIR_ERR_TIMEOUT, "seed %lu: %s", (unsigned long)w->seed,
                 err.message);
}

/* Something breaks, or nothing. */
static void strike(struct world *w)
{
    const uint64_t now = weir_sim_now(w->c.sim);
    const uint32_t a = (uint32_t)draw(w, NODES);
    const uint32_t b = (uint32_t)draw(w, NODES);
    switch (draw(w, 8)) {
    case 0:
        weir_sim_cut(w->c.sim, a, b, now + draw(w, 100000));
        break;
    case 1:
        weir_sim_drop(w->c.sim, a, b, now, now + draw(w, 3000000));
        break;
    case 2:
        weir_sim_stall(w->c.sim, a, now, now + draw(w, 2000000));
        break;
    case 3:
        restart(w, a);
        add_task(w, a);
        break;
    default:
        break;
    }
}

static void keep_quiet(void *arg, weir_log_level level, const char *line)
{
    (void)arg, (void)level, (void)line; /* regions are left open on purpose */
}

static void open_world(struct world *w, uint64_t seed)
{
    const struct wt_place place = {.transport = "sim", .sim = true};
    static struct wt_place where;
    memset(w, 0, sizeof(*w));
    where = place;
    w->seed = seed;
    wt_cluster_open(&w->c, &where,
                    &(struct wt_cluster_params){
                        .nodes = NODES,
                        .node = {.log = keep_quiet, .detect_ns = 4000000},
                        .sim = {.seed = seed, .jitter_ns = 3000}});
    for (uint32_t i = 0; i < NODES; i++) {
        w->actor[i].world = w;
        w->actor[i].node = i;
        begin_life(&w->actor[i]);
        add_task(w, i);
    }
}

static bool is_served(const struct actor *a)
{
    for (uint32_t i = 0; i < OPS; i++) {
        if (a->op[i].used) {
            return false;
        }
    }
    return true;
}

/* Nothing breaks any more: each gets a piece of each. */
static void check_service(struct world *w)
{
    for (uint32_t i = 0; i < NODES * NODES; i++) {
        struct actor *a = &w->actor[i / NODES];
        const uint32_t to = i % NODES;
        uint32_t before = w->ended[1];
        a->op[0] = (struct op){
            .used = true, .id = region_id(to, 1), .off = i, .bytes = BYTES / 2};
        cr_assert_eq(post(a, &a->op[0], to), WEIR_OK);
        run_for(w, 50000000);
        cr_assert(is_served(a) && w->ended[1] == before + 1,
                  "seed %lu: node %u gets nothing of node %u",
                  (unsigned long)w->seed, a->node, to);
    }
}

static void rest(struct world *w)
{
    for (uint32_t i = 0; i < NODES; i++) {
        w->actor[i].resting = true;
    }
    run_for(w, 8000000000u); /* longer than any operation may take */
    for (uint32_t i = 0; i < NODES; i++) {
        cr_assert(is_served(&w->actor[i]), "seed %lu: node %u waits",
                  (unsigned long)w->seed, i);
    }
}

static void hold_regions(struct world *w, bool open)
{
    for (uint32_t i = 0; i < NODES * REGIONS; i++) {
        struct actor *a = &w->actor[i / REGIONS];
        const uint32_t k = i % REGIONS;
        if (open && a->region[k] == NULL) {
            open_region(a, k);
        } else if (!open && a->region[k] != NULL) {
            close_region(a, k);
        }
    }
}

static uint64_t memory_of(struct world *w, uint32_t node)
{
    struct weir_node_stats stats;
    weir_node_stats_get(w->c.node[node], &stats);
    return stats.memory_bytes;
}

/* All regions are gone, and all that was lent for them is back. */
static void settle(struct world *w, uint64_t *memory_out)
{
    rest(w);
    hold_regions(w, true);
    check_service(w); /* all links are open */
    hold_regions(w, false);
    run_for(w, 100000000);
    cr_assert_eq(w->lent, 0, "seed %lu: %u loans are out",
                 (unsigned long)w->seed, w->lent);
    for (uint32_t i = 0; i < NODES; i++) {
        memory_out[i] = memory_of(w, i);
        w->actor[i].resting = false;
    }
}

static void close_world(struct world *w)
{
    for (uint32_t i = 0; i < NODES; i++) {
        end_life(&w->actor[i], true);
    }
    wt_cluster_close(&w->c);
}

void wt_region_random_faults_under_gets_and_asks(const struct wt_place *place)
{
    static struct world w;
    uint32_t ended[2] = {0, 0};
    uint32_t restarts = 0;
    (void)place;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t after[NODES];
        open_world(&w, seed);
        settle(&w, w.memory);
        for (uint32_t i = 0; i < ROUNDS; i++) {
            run_for(&w, draw(&w, 400000));
            strike(&w);
        }
        settle(&w, after);
        for (uint32_t i = 0; i < NODES; i++) {
            cr_assert_leq(after[i], w.memory[i], "seed %lu, node %u",
                          (unsigned long)seed, i);
        }
        ended[0] += w.ended[0];
        ended[1] += w.ended[1];
        restarts += w.restarts;
        close_world(&w);
    }
    cr_assert(
        restarts > SEEDS && ended[0] > SEEDS * 100 && ended[1] > SEEDS * 100,
        "%u restarts, %u ended badly, %u well", restarts, ended[0], ended[1]);
}
