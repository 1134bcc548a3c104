/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/actor.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/sim/part.h"

enum {
    USE_ACTOR = 100,
    MOST_TRIES = 200,  /* of opening, while members come */
    TRY_NS = 20000,    /* between two of them */
    LATE_NS = 300000,  /* members begin within this time */
    PAUSE_NS = 100000, /* longest between two ends that are opened */
};

static const struct ws_query *query_of(const struct ws_actor *a)
{
    return &a->part->world->query[a->part->query];
}

static const struct ws_stage *stage_of(const struct ws_actor *a, uint32_t s)
{
    return &query_of(a)->stage[s];
}

static bool takes_part(const struct ws_actor *a, uint32_t set)
{
    return (set >> a->part->node & 1) != 0;
}

static bool is_held(const struct ws_actor *a)
{
    const struct ws_world *w = a->part->world;
    return w->node[a->part->node].hold_until_ns > weir_sim_now(w->sim);
}

/* ---- batches that are kept ----------------------------------------------- */

/* It is as it was when it came, however long ago that is. */
static void give_back(struct ws_actor *a, struct ws_end *e, uint32_t i)
{
    struct ws_kept *k = &e->kept[i];
    struct ws_sums now = {0};
    if (!ws_batch_check(&query_of(a)->rows, &k->batch, &now) ||
        now.rows != k->sums.rows || now.sum != k->sums.sum) {
        ws_violate(a->part->world, "kept",
                   "query %u, node %u, worker %u, stage %u: rows of a batch "
                   "changed while it was held",
                   a->part->query, a->part->node, a->worker,
                   (uint32_t)(e - a->end));
    }
    k->batch.release(&k->batch);
    e->kept[i] = e->kept[--e->n_kept];
}

/* Returns true if there was one. */
static bool give_all_back(struct ws_actor *a)
{
    bool any = false;
    for (uint32_t s = 0; s < WS_STAGES; s++) {
        while (a->end[s].n_kept > 0) {
            give_back(a, &a->end[s], 0);
            any = true;
        }
    }
    return any;
}

static void give_one_back(struct ws_actor *a)
{
    struct ws_end *e = &a->end[ws_pick(&a->random, WS_STAGES)];
    if (e->n_kept > 0 && ws_pick(&a->random, 2) == 0) {
        give_back(a, e, ws_pick(&a->random, e->n_kept));
    }
}

/* ---- taking -------------------------------------------------------------- */

static void stop_reading(struct ws_end *e)
{
    weir_reader_stop(e->reader);
    e->stopped = true;
    e->drained = true;
}

static void note_keys(struct ws_actor *a, const struct ArrowArray *b)
{
    for (int64_t i = 0; i < b->length; i++) {
        uint64_t k = ws_row_key(&query_of(a)->rows, ws_batch_id(b, i));
        a->keys[k / 64] |= 1ull << k % 64;
    }
}

static weir_err take_batch(struct ws_actor *a, uint32_t s,
                           struct ArrowArray *batch, bool sends_on)
{
    const struct ws_stage *t = stage_of(a, s);
    struct ws_end *e = &a->end[s];
    struct ws_sums sums = {0};
    if (!ws_batch_check(&query_of(a)->rows, batch, &sums)) {
        ws_violate(a->part->world, "rows",
                   "query %u, node %u, worker %u, stage %u: a batch of %" PRId64
                   " rows has a value that nobody sent",
                   a->part->query, a->part->node, a->worker, s, batch->length);
    }
    e->got.rows += sums.rows;
    e->got.sum += sums.sum;
    if (sends_on) {
        a->end[t->to].moving = *batch;
        a->end[t->to].moves = true;
        a->end[t->to].at = 0;
        return WEIR_OK;
    }
    if (t->to != WS_NONE) {
        note_keys(a, batch);
    }
    if (e->n_kept < WS_HELD && ws_pick(&a->random, 3) == 0) {
        e->kept[e->n_kept++] = (struct ws_kept){*batch, sums};
    } else {
        batch->release(batch);
    }
    return WEIR_OK;
}

/* A join reads its first stage to the end, then the other one. */
static bool may_send_on(const struct ws_actor *a, const struct ws_stage *t)
{
    const struct ws_stage *next = stage_of(a, t->to);
    return !a->end[t->to].moves &&
           (next->probe == WS_NONE || a->end[next->from].drained);
}

static weir_err take(struct ws_actor *a, uint32_t s)
{
    const struct ws_stage *t = stage_of(a, s);
    struct ws_end *e = &a->end[s];
    struct ArrowArray batch;
    if (e->reader == NULL || e->drained || is_held(a)) {
        return WEIR_AGAIN;
    }
    if (e->wanted) {
        stop_reading(e);
        return WEIR_OK;
    }
    const bool builds = t->to != WS_NONE && stage_of(a, t->to)->from == s &&
                        stage_of(a, t->to)->probe != WS_NONE;
    const bool sends_on = t->to != WS_NONE && !builds;
    if (sends_on && !may_send_on(a, t)) {
        return WEIR_AGAIN;
    }
    weir_err rc = weir_reader_next(e->reader, &batch);
    if (rc == WEIR_OK) {
        return take_batch(a, s, &batch, sends_on);
    }
    e->drained = rc == WEIR_DONE;
    if (rc == WEIR_HELD) {
        return give_all_back(a) ? WEIR_OK : WEIR_AGAIN;
    }
    return rc == WEIR_DONE ? WEIR_OK : rc;
}

/* ---- making -------------------------------------------------------------- */

static weir_err add_row(struct ws_actor *a, struct ws_end *e, uint64_t id)
{
    if (!ws_batch_add(e->batch, &query_of(a)->rows, id)) {
        ws_violate(a->part->world, "machine", "no memory for rows");
        return WEIR_ERR_NO_MEMORY;
    }
    return WEIR_OK;
}

static void let_go(struct ws_end *e)
{
    if (e->moves) {
        e->moving.release(&e->moving);
        e->moves = false;
    }
}

static weir_err make_rows(struct ws_actor *a, uint32_t s)
{
    struct ws_end *e = &a->end[s];
    const uint32_t left = stage_of(a, s)->rows - e->made;
    const uint32_t most = left < WS_BATCH_ROWS ? left : WS_BATCH_ROWS;
    weir_err rc = WEIR_OK;
    if (left == 0) {
        e->idle = true;
        return WEIR_OK;
    }
    ws_batch_clear(e->batch);
    for (uint32_t n = 1 + ws_pick(&a->random, most); n > 0 && rc == WEIR_OK;
         n--) {
        rc = add_row(
            a, e,
            ws_row_id(a->part->query, s, a->part->node, a->worker, e->made++));
    }
    e->pushing = rc == WEIR_OK;
    return rc;
}

/* What came and has a key that came before. */
static weir_err join_rows(struct ws_actor *a, struct ws_end *e)
{
    weir_err rc = WEIR_OK;
    ws_batch_clear(e->batch);
    while (rc == WEIR_OK && e->at < e->moving.length &&
           e->batch->array.length < WS_BATCH_ROWS) {
        const uint64_t id = ws_batch_id(&e->moving, e->at++);
        const uint64_t k = ws_row_key(&query_of(a)->rows, id);
        if ((a->keys[k / 64] >> k % 64 & 1) != 0) {
            rc = add_row(a, e, id);
        }
    }
    e->pushing = rc == WEIR_OK && e->batch->array.length > 0;
    if (e->at == e->moving.length) {
        let_go(e);
    }
    return rc;
}

/* Find something to push. */
static weir_err fill(struct ws_actor *a, uint32_t s)
{
    const struct ws_stage *t = stage_of(a, s);
    struct ws_end *e = &a->end[s];
    if (t->from == WS_NONE) {
        return make_rows(a, s);
    }
    const uint32_t source = t->probe != WS_NONE ? t->probe : t->from;
    if (e->moves && t->probe != WS_NONE) {
        return join_rows(a, e);
    }
    e->pushing = e->moves;
    e->idle = !e->moves && a->end[source].drained && a->end[t->from].drained;
    return e->pushing || e->idle ? WEIR_OK : WEIR_AGAIN;
}

static weir_err push(struct ws_actor *a, uint32_t s)
{
    struct ws_end *e = &a->end[s];
    const struct ws_stage *t = stage_of(a, s);
    const bool moving = t->from != WS_NONE && t->probe == WS_NONE;
    const struct ArrowArray *b = moving ? &e->moving : &e->batch->array;
    if (t->kind != WEIR_VECTOR) {
        return weir_writer_push(e->writer, b);
    }
    const uint32_t n = weir_shuffle_destinations(a->part->shuffle[s]);
    if (b->length > WS_DEST_ROWS) {
        ws_violate(a->part->world, "machine", "a batch of too many rows");
        return WEIR_ERR_DATA;
    }
    for (int64_t i = 0; i < b->length; i++) {
        e->batch->dest[i] = (uint32_t)(ws_batch_id(b, i) % n);
    }
    return weir_writer_push_to(e->writer, b, e->batch->dest);
}

/* Nobody wants more: nor does this worker, of what it would send on. */
static void have_enough(struct ws_actor *a, uint32_t s)
{
    const struct ws_stage *t = stage_of(a, s);
    a->end[s].idle = true;
    if (t->from != WS_NONE) {
        a->end[t->from].wanted = true;
    }
    if (t->probe != WS_NONE) {
        a->end[t->probe].wanted = true;
    }
}

static weir_err produce(struct ws_actor *a, uint32_t s)
{
    struct ws_end *e = &a->end[s];
    weir_err rc = WEIR_OK;
    if (e->writer == NULL || e->finished) {
        return WEIR_AGAIN;
    }
    if (!e->pushing && !e->idle) {
        rc = fill(a, s);
    } else if (!e->pushing) {
        rc = weir_writer_finish(e->writer);
        e->finished = rc == WEIR_OK;
    } else {
        rc = push(a, s);
        e->pushing = rc == WEIR_AGAIN;
        if (rc == WEIR_DONE) {
            have_enough(a, s);
        }
        if ((rc == WEIR_OK || rc == WEIR_DONE) &&
            stage_of(a, s)->probe == WS_NONE) {
            let_go(e);
        }
    }
    if (e->idle && (rc == WEIR_OK || rc == WEIR_DONE)) {
        let_go(e);
    }
    return rc == WEIR_DONE ? WEIR_OK : rc;
}

/* ---- a step -------------------------------------------------------------- */

static bool is_done(const struct ws_actor *a)
{
    for (uint32_t s = 0; s < query_of(a)->n_stages; s++) {
        const struct ws_end *e = &a->end[s];
        if ((e->writer != NULL && !e->finished) ||
            (e->reader != NULL && !e->drained)) {
            return false;
        }
    }
    return true;
}

static weir_err move(struct ws_actor *a)
{
    weir_err rc = WEIR_AGAIN;
    for (uint32_t s = query_of(a)->n_stages; s-- > 0 && rc == WEIR_AGAIN;) {
        rc = take(a, s);
    }
    for (uint32_t s = query_of(a)->n_stages; s-- > 0 && rc == WEIR_AGAIN;) {
        rc = produce(a, s);
    }
    return rc;
}

static bool reads(const struct ws_actor *a, const struct ws_stage *t)
{
    return takes_part(a, t->consumers) &&
           (t->kind != WEIR_GATHER || a->worker == 0);
}

/* One end in a step, so that a run has moments between any two of them. */
static weir_err open_one(struct ws_actor *a)
{
    struct ws_part *p = a->part;
    const uint32_t s = a->opened / 2;
    const struct ws_stage *t = stage_of(a, s);
    struct ws_end *e = &a->end[s];
    struct weir_error *err = &p->outcome;
    weir_err rc = WEIR_OK;
    if (a->opened % 2 == 0 && takes_part(a, t->producers)) {
        e->batch = malloc(sizeof(*e->batch));
        if (e->batch == NULL) {
            return WEIR_ERR_NO_MEMORY;
        }
        ws_batch_init(e->batch);
        rc = weir_writer_open(p->shuffle[s], a->worker, &e->writer, err);
    } else if (a->opened % 2 != 0 && reads(a, t)) {
        rc = weir_reader_open(p->shuffle[s], a->worker, &e->reader, err);
    } else if (a->opened % 2 != 0) {
        e->drained = true;
    }
    a->opened++;
    if (ws_pick(&a->random, 8) == 0) {
        weir_sim_busy(p->world->sim, ws_below(&a->random, PAUSE_NS));
    }
    return rc;
}

/* The first worker opens the query, the others wait for that. */
static weir_err begin(struct ws_actor *a)
{
    struct ws_world *w = a->part->world;
    if (a->worker != 0) {
        return WEIR_AGAIN;
    }
    if (a->tries++ == 0) {
        weir_sim_busy(w->sim, ws_below(&a->random, LATE_NS));
        return WEIR_OK;
    }
    weir_err rc = ws_part_open(a->part);
    if (rc == WEIR_AGAIN) {
        weir_sim_busy(w->sim, TRY_NS);
        return a->tries < MOST_TRIES ? WEIR_OK : WEIR_ERR_NOT_FOUND;
    }
    ws_part_wake(a->part);
    return rc;
}

static weir_err step(struct ws_actor *a)
{
    if (a->part->state == WS_AWAITED) {
        return begin(a);
    }
    if (a->part->run != NULL) {
        return weir_run_step(a->part->run, a->worker);
    }
    if (a->opened < 2 * query_of(a)->n_stages) {
        return open_one(a);
    }
    if (is_done(a)) {
        return WEIR_DONE;
    }
    if (!is_held(a)) {
        give_one_back(a);
    }
    weir_err rc = move(a);
    if (rc == WEIR_AGAIN && !is_held(a) && give_all_back(a)) {
        return WEIR_OK;
    }
    return rc;
}

static weir_err task(void *arg, uint64_t now_ns)
{
    struct ws_actor *a = arg;
    struct ws_part *p = a->part;
    (void)now_ns;
    if (ws_violated(p->world) || !ws_part_lives(p)) {
        return WEIR_DONE;
    }
    weir_sim_busy(p->world->sim,
                  1 + ws_below(&a->random, p->world->shape.step_ns));
    weir_err rc = step(a);
    if (rc == WEIR_DONE) {
        a->done = true;
        (void)give_all_back(a);
        ws_part_leave(p);
    } else if (rc < 0) {
        ws_part_fail(p, rc);
        return WEIR_DONE;
    }
    return rc;
}

void ws_actors_begin(struct ws_part *p)
{
    struct ws_world *w = p->world;
    p->actors_left = w->shape.workers;
    for (uint32_t i = 0; i < w->shape.workers; i++) {
        struct ws_actor *a = &p->actor[i];
        const uint64_t use = USE_ACTOR + p->query * 1000 + p->node * 10 + i;
        a->part = p;
        a->worker = i;
        a->random = ws_random_of(w->shape.seed, use);
        if (weir_sim_task(w->sim, p->node, i, task, a) != WEIR_OK) {
            ws_violate(w, "machine", "no memory for a task");
        }
    }
}

void ws_actor_close(struct ws_actor *a)
{
    (void)give_all_back(a);
    for (uint32_t s = 0; s < WS_STAGES; s++) {
        struct ws_end *e = &a->end[s];
        let_go(e);
        if (e->batch != NULL) {
            ws_batch_fini(e->batch);
            free(e->batch);
        }
        e->batch = NULL;
        e->writer = NULL;
        e->reader = NULL;
    }
}
