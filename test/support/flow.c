/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/flow.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { BUSY_NS = 300 }; /* a batch, on the simulator */

static const struct weir_field usual_fields[] = {
    {"id", "l", 0}, {"k", "l", 0}, {"text", "u", 1}};
static const char *const usual_keys[] = {"k"};

/* ---- queries ------------------------------------------------------------- */

void wt_query_open(struct wt_query *q, struct wt_cluster *c, uint64_t id,
                   const struct weir_query_params *params)
{
    static const struct weir_query_params none;
    struct weir_query_params p = params != NULL ? *params : none;
    memset(q, 0, sizeof(*q));
    q->cluster = c;
    q->id = id;
    p.id = id;
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        struct weir_error err = {0};
        bool member = p.n_members == 0;
        for (uint32_t m = 0; m < p.n_members; m++) {
            member = member || p.members[m] == i;
        }
        if (member) {
            cr_assert_eq(weir_query_open(c->node[i], &p, &q->query[i], &err),
                         WEIR_OK, "node %u: %s", i, err.message);
        }
    }
}

void wt_query_close(struct wt_query *q)
{
    for (uint32_t i = 0; i < q->cluster->n_nodes; i++) {
        /* A crashed node of the simulator closes its own. */
        if (q->cluster->sim == NULL ||
            weir_sim_node(q->cluster->sim, i) != NULL) {
            weir_query_close(q->query[i]);
        }
        q->query[i] = NULL;
    }
}

void wt_query_failed(const struct wt_query *q, weir_err code, const char *text)
{
    for (uint32_t i = 0; i < q->cluster->n_nodes; i++) {
        if (q->query[i] != NULL) {
            struct weir_error err = {0};
            weir_err rc = weir_query_status(q->query[i], &err);
            cr_assert_eq(rc, code, "node %u: %s, not %s: %s", i,
                         weir_err_name(rc), weir_err_name(code), err.message);
            cr_assert_not_null(strstr(err.message, text),
                               "node %u: no \"%s\" in: %s", i, text,
                               err.message);
        }
    }
}

bool wt_query_has_failed(void *arg)
{
    const struct wt_query *q = arg;
    for (uint32_t i = 0; i < q->cluster->n_nodes; i++) {
        if (q->query[i] != NULL &&
            weir_query_status(q->query[i], NULL) == WEIR_OK) {
            return false;
        }
    }
    return true;
}

/* ---- sources ------------------------------------------------------------- */

uint32_t wt_flow_dest(const struct wt_flow *f, uint64_t id)
{
    return (uint32_t)(wt_mix(id, 5) % f->n_dests);
}

static void next_batch(struct wt_source *s)
{
    struct wt_flow *f = s->flow;
    uint64_t n = s->end - s->next;
    n = n < f->batch_rows ? n : f->batch_rows;
    wt_rows_make(&f->rows, s->next, (uint32_t)n, &s->batch);
    if (s->layout != WT_LAYOUT_PLAIN) {
        wt_relaid_make(f->rows.fields, s->layout, &s->batch);
    }
    for (uint32_t i = 0; i < n && f->params.partitioning == WEIR_VECTOR; i++) {
        s->dest[i] = wt_flow_dest(f, s->next + i);
    }
    s->have = true;
}

static weir_err push(struct wt_source *s, const struct ArrowArray *batch)
{
    return s->flow->params.partitioning == WEIR_VECTOR
               ? weir_writer_push_to(s->writer, batch, s->dest)
               : weir_writer_push(s->writer, batch);
}

static weir_err finish(struct wt_source *s)
{
    weir_err rc = wt_gate_pass(s->flow->cluster, s->finish_gate);
    if (rc != WEIR_DONE) {
        return rc;
    }
    rc = weir_writer_finish(s->writer);
    if (rc == WEIR_OK && s->closes) {
        weir_writer_close(s->writer);
        s->writer = NULL;
    }
    return rc == WEIR_OK ? WEIR_DONE : rc;
}

weir_err wt_source_step(void *arg)
{
    struct wt_source *s = arg;
    weir_err rc = wt_gate_pass(s->flow->cluster, s->gate);
    if (rc != WEIR_DONE) {
        return rc;
    }
    if (s->endless && s->next == s->end) {
        s->next = s->begin;
    }
    if (!s->have && (s->next == s->end || s->saw_done)) {
        return finish(s);
    }
    if (!s->have) {
        next_batch(s);
    }
    rc = push(s, &s->batch);
    if (rc == WEIR_AGAIN) {
        return rc;
    }
    s->next += (uint64_t)s->batch.length;
    s->batch.release(&s->batch);
    s->have = false;
    s->saw_done = s->saw_done || rc == WEIR_DONE;
    if (s->flow->cluster->sim != NULL) { /* else all is done at one instant */
        weir_sim_busy(s->flow->cluster->sim, BUSY_NS);
    }
    return rc < 0 ? rc : WEIR_OK;
}

weir_err wt_source_step_flushed(void *arg)
{
    struct wt_source *s = arg;
    weir_err rc = wt_source_step(s);
    if (rc == WEIR_OK) {
        (void)weir_writer_flush(s->writer);
    }
    return rc;
}

/* ---- sinks --------------------------------------------------------------- */

static void enter(struct wt_sink *s, const struct ArrowArray *batch)
{
    struct wt_flow *f = s->flow;
    char why[WT_WHY_BYTES];
    for (int64_t row = 0; row < batch->length; row++) {
        uint64_t id = wt_rows_id(batch, row);
        if (id >= f->n_ids) {
            wt_complain(f->cluster, "destination %u: id %llu", s->dest,
                        (unsigned long long)id);
            return;
        }
        if (!wt_rows_check(&f->rows, batch, row, why)) {
            wt_complain(f->cluster, "destination %u: %s", s->dest, why);
        }
        f->seen[s->dest * f->n_ids + id]++;
    }
    s->rows += (uint64_t)batch->length;
    s->batches++;
    wt_gate_open(f->cluster, s->opens_early);
}

static void hold(struct wt_sink *s, const struct ArrowArray *batch)
{
    s->held[s->held_end++ % WT_HOLD] = *batch;
    while (s->held_end - s->held_begin > s->hold) {
        struct ArrowArray *oldest = &s->held[s->held_begin++ % WT_HOLD];
        oldest->release(oldest);
    }
}

static weir_err sink_end(struct wt_sink *s, weir_err rc)
{
    while (!s->keep && s->held_begin != s->held_end) {
        struct ArrowArray *oldest = &s->held[s->held_begin++ % WT_HOLD];
        oldest->release(oldest);
    }
    wt_gate_open(s->flow->cluster, s->opens);
    return rc;
}

static weir_err relay_step(struct wt_relay *r);
static weir_err relay_take(struct wt_relay *r, const struct ArrowArray *batch);

/* Where to after a batch was taken. */
static weir_err pass_on(struct wt_sink *s, struct ArrowArray *batch)
{
    if (s->detach) {
        weir_err rc = weir_batch_detach(batch);
        if (rc != WEIR_OK) {
            wt_complain(s->flow->cluster, "detach: %s", weir_err_name(rc));
        }
    }
    enter(s, batch);
    if (s->relay != NULL) {
        return relay_take(s->relay, batch);
    }
    hold(s, batch);
    return WEIR_OK;
}

weir_err wt_sink_step(void *arg)
{
    struct wt_sink *s = arg;
    struct ArrowArray batch;
    weir_err rc = wt_gate_pass(s->flow->cluster, s->gate);
    if (rc != WEIR_DONE) {
        return rc;
    }
    if (s->relay != NULL && s->relay->have) {
        return relay_step(s->relay);
    }
    if (!s->stopped && s->rows >= s->stop_after) {
        weir_reader_stop(s->reader);
        s->stopped = true;
    }
    rc = weir_reader_next(s->reader, &batch);
    if (rc == WEIR_OK) {
        return pass_on(s, &batch);
    }
    s->told += rc == WEIR_HELD;
    if (rc == WEIR_AGAIN || rc == WEIR_HELD) {
        if (s->held_begin == s->held_end || s->keep ||
            (s->stubborn && rc == WEIR_AGAIN)) {
            return WEIR_AGAIN;
        }
        struct ArrowArray *oldest = &s->held[s->held_begin++ % WT_HOLD];
        oldest->release(oldest);
        return WEIR_OK;
    }
    return sink_end(s, rc);
}

/* ---- relays -------------------------------------------------------------- */

static weir_err relay_step(struct wt_relay *r)
{
    weir_err all = WEIR_OK;
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->taken[i]) {
            continue;
        }
        weir_err rc = push(r->to[i], &r->batch);
        if (rc < 0) {
            return rc;
        }
        r->taken[i] = rc != WEIR_AGAIN;
        all = rc == WEIR_AGAIN ? rc : all;
    }
    if (all == WEIR_OK) {
        r->batch.release(&r->batch);
        r->have = false;
        memset(r->taken, 0, sizeof(r->taken));
    }
    return all;
}

/* Where the rows of a batch go next. */
static void direct(struct wt_source *s, const struct ArrowArray *batch)
{
    free(s->dest);
    s->dest = calloc((size_t)batch->length, sizeof(*s->dest));
    cr_assert_not_null(s->dest);
    for (int64_t i = 0; i < batch->length; i++) {
        s->dest[i] = wt_flow_dest(s->flow, wt_rows_id(batch, i));
    }
}

static weir_err relay_take(struct wt_relay *r, const struct ArrowArray *batch)
{
    r->batch = *batch;
    r->have = true;
    for (uint32_t i = 0; i < r->n; i++) {
        direct(r->to[i], batch);
    }
    return relay_step(r);
}

/* A relayed source only finishes, once the sink before it has ended. */
static weir_err relayed_step(void *arg)
{
    struct wt_source *s = arg;
    const struct wt_relay *r = s->relay;
    if (r->from->task->end == WEIR_AGAIN) {
        return WEIR_AGAIN;
    }
    if (r->from->task->end != WEIR_DONE) {
        return r->from->task->end;
    }
    return finish(s);
}

void wt_relay_open(struct wt_relay *r, struct wt_sink *from,
                   struct wt_source *a, struct wt_source *b)
{
    memset(r, 0, sizeof(*r));
    r->from = from;
    r->to[0] = a;
    r->to[1] = b;
    r->n = b != NULL ? 2 : 1;
    from->relay = r;
    for (uint32_t i = 0; i < r->n; i++) {
        r->to[i]->relay = r;
        r->to[i]->task->step = relayed_step;
    }
}

/* ---- flows --------------------------------------------------------------- */

static bool takes_part(const uint32_t *list, uint32_t n, uint32_t node)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == node) {
            return true;
        }
    }
    return n == 0;
}

static uint32_t workers_of(const struct wt_cluster *c, uint32_t limit)
{
    return limit != 0 && limit < c->n_workers ? limit : c->n_workers;
}

static void open_source(struct wt_flow *f, uint32_t node, uint32_t worker,
                        bool relayed)
{
    struct wt_source *s = calloc(1, sizeof(*s));
    struct weir_error err = {0};
    cr_assert_not_null(s);
    cr_assert_eq(weir_writer_open(f->shuffle[node], worker, &s->writer, &err),
                 WEIR_OK, "%s", err.message);
    s->flow = f;
    if (!relayed) {
        s->begin = f->n_ids;
        s->next = s->begin;
        f->n_ids += f->n_rows;
        s->end = f->n_ids;
    }
    s->dest = calloc(f->batch_rows, sizeof(*s->dest));
    s->task = wt_task(f->cluster, node, worker, wt_source_step, s);
    f->source[node][worker] = s;
}

static void open_sink(struct wt_flow *f, uint32_t node, uint32_t worker)
{
    struct wt_sink *s = calloc(1, sizeof(*s));
    struct weir_error err = {0};
    cr_assert_not_null(s);
    cr_assert_eq(weir_reader_open(f->shuffle[node], worker, &s->reader, &err),
                 WEIR_OK, "%s", err.message);
    s->flow = f;
    s->dest = weir_reader_destination(s->reader);
    s->stop_after = UINT64_MAX;
    s->task = wt_task(f->cluster, node, worker, wt_sink_step, s);
    f->sink[node][worker] = s;
}

static void fill_params(struct wt_flow *f, const struct wt_flow_params *p)
{
    f->rows = p->rows;
    if (f->rows.fields == NULL) {
        f->rows.fields = usual_fields;
        f->rows.n_fields = 3;
    }
    f->params = p->shuffle;
    f->params.schema = &f->schema;
    f->params.id = p->shuffle.id != 0 ? p->shuffle.id : 1;
    if (f->params.n_keys == 0 && f->params.partitioning <= WEIR_RANGE) {
        f->params.keys = usual_keys;
        f->params.n_keys = 1;
    }
    f->n_rows = p->n_rows != 0 ? p->n_rows : 1000;
    f->batch_rows = p->batch_rows != 0 ? p->batch_rows : 97;
    f->n_ids = p->relayed ? p->n_ids : 0;
}

static void open_shuffles(struct wt_flow *f)
{
    struct weir_error err = {0};
    if (f->rows.n_nested == 0) {
        cr_assert_eq(weir_schema_build(f->rows.fields, f->rows.n_fields,
                                       &f->schema, &err),
                     WEIR_OK, "%s", err.message);
    } else {
        wt_rows_schema(&f->rows, false, &f->schema);
    }
    for (uint32_t i = 0; i < f->cluster->n_nodes; i++) {
        if (f->query->query[i] != NULL) {
            cr_assert_eq(weir_shuffle_open(f->query->query[i], &f->params,
                                           &f->shuffle[i], &err),
                         WEIR_OK, "node %u: %s", i, err.message);
            f->n_dests = weir_shuffle_destinations(f->shuffle[i]);
        }
    }
    cr_assert_leq(f->n_dests, WT_DESTS);
}

void wt_flow_open(struct wt_flow *f, struct wt_query *q,
                  const struct wt_flow_params *params)
{
    static const struct wt_flow_params usual;
    struct wt_cluster *c = q->cluster;
    params = params != NULL ? params : &usual;
    memset(f, 0, sizeof(*f));
    f->cluster = c;
    f->query = q;
    fill_params(f, params);
    open_shuffles(f);
    const struct weir_shuffle_params *p = &f->params;
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        bool member = q->query[i] != NULL;
        uint32_t n = member && takes_part(p->consumers, p->n_consumers, i)
                         ? workers_of(c, p->consumer_workers)
                         : 0;
        if (p->partitioning == WEIR_GATHER) { /* the first, and no other */
            uint32_t first = p->n_consumers != 0 ? p->consumers[0] : 0;
            n = i == first ? 1 : 0;
        }
        for (uint32_t w = 0; w < n; w++) {
            open_sink(f, i, w);
        }
        n = member && takes_part(p->producers, p->n_producers, i)
                ? workers_of(c, p->producer_workers)
                : 0;
        for (uint32_t w = 0; w < n; w++) {
            open_source(f, i, w, params->relayed);
        }
    }
    f->seen = calloc(f->n_dests * f->n_ids + 1, 1);
    cr_assert_not_null(f->seen);
}

void wt_flow_close(struct wt_flow *f)
{
    for (uint32_t i = 0; i < f->cluster->n_nodes; i++) {
        for (uint32_t w = 0; w < f->cluster->n_workers; w++) {
            struct wt_source *s = f->source[i][w];
            if (s != NULL && s->have) {
                s->batch.release(&s->batch);
            }
            if (s != NULL) {
                free(s->dest);
            }
            struct wt_sink *t = f->sink[i][w];
            if (t != NULL && t->relay != NULL && t->relay->have) {
                t->relay->batch.release(&t->relay->batch);
            }
            while (t != NULL && t->held_begin != t->held_end) {
                struct ArrowArray *a = &t->held[t->held_begin++ % WT_HOLD];
                a->release(a);
            }
            free(s);
            free(t);
        }
    }
    f->schema.release(&f->schema);
    free(f->seen);
    f->cluster->n_tasks = 0;
}

/* ---- checking ------------------------------------------------------------ */

static bool tasks_ended(const struct wt_flow *f)
{
    struct wt_cluster *c = f->cluster;
    for (uint32_t i = 0; i < c->n_nodes * c->n_workers; i++) {
        uint32_t node = i / c->n_workers;
        const struct wt_source *s = f->source[node][i % c->n_workers];
        const struct wt_sink *t = f->sink[node][i % c->n_workers];
        weir_err end = s != NULL ? s->task->end : WEIR_DONE;
        struct weir_error err = {0};
        end = end == WEIR_DONE && t != NULL ? t->task->end : end;
        if (end != WEIR_DONE) {
            if (f->query->query[node] != NULL) {
                (void)weir_query_status(f->query->query[node], &err);
            }
            wt_complain(c, "node %u: a task ended with %s: %s", node,
                        weir_err_name(end), err.message);
            return false;
        }
    }
    return true;
}

static bool belongs(const struct wt_flow *f, uint64_t id, uint32_t dest,
                    uint32_t *owner)
{
    uint64_t key = wt_rows_key(&f->rows, id);
    const int64_t *bounds;
    uint32_t n_bounds;
    switch (f->params.partitioning) {
    case WEIR_HASH:
        if (f->rows.keys == 0) {
            return true;
        }
        if (owner[key] == 0) {
            owner[key] = dest + 1;
        }
        return owner[key] == dest + 1;
    case WEIR_VECTOR:
        return dest == wt_flow_dest(f, id);
    case WEIR_GATHER:
        return dest == 0;
    case WEIR_RANGE:
        bounds = f->params.bounds->children[0]->buffers[1];
        n_bounds = (uint32_t)f->params.bounds->length;
        return dest <= n_bounds &&
               (dest == 0 || (int64_t)key >= bounds[dest - 1]) &&
               (dest == n_bounds || (int64_t)key < bounds[dest]);
    default:
        return true;
    }
}

/* Have all its readers stopped? Those of a node have one destination. */
static bool stopped(const struct wt_flow *f, uint32_t dest)
{
    bool any = false;
    for (uint32_t i = 0; i < WT_NODES * WT_WORKERS; i++) {
        const struct wt_sink *s = f->sink[i / WT_WORKERS][i % WT_WORKERS];
        if (s != NULL && s->dest == dest) {
            any = true;
            if (!s->stopped) {
                return false;
            }
        }
    }
    return any;
}

static bool id_came(const struct wt_flow *f, uint64_t id, uint32_t *owner)
{
    bool broadcast = f->params.partitioning == WEIR_BROADCAST;
    bool any_stopped = false;
    uint32_t copies = 0;
    for (uint32_t d = 0; d < f->n_dests; d++) {
        uint32_t n = f->seen[d * f->n_ids + id];
        bool wanted = !stopped(f, d);
        any_stopped = any_stopped || !wanted;
        copies += n;
        if (n > 1 || (broadcast && n == 0 && wanted) ||
            (n == 1 && !belongs(f, id, d, owner))) {
            wt_complain(f->cluster,
                        "id %llu (key %llu) came %u times to destination %u",
                        (unsigned long long)id,
                        (unsigned long long)wt_rows_key(&f->rows, id), n, d);
            return false;
        }
    }
    if (!broadcast && copies != 1 && (copies != 0 || !any_stopped)) {
        wt_complain(f->cluster, "id %llu came to %u destinations",
                    (unsigned long long)id, copies);
        return false;
    }
    return true;
}

bool wt_flow_ok(const struct wt_flow *f)
{
    uint32_t *owner = calloc(f->rows.keys + 1, sizeof(*owner));
    cr_assert_not_null(owner);
    bool ok = f->cluster->why[0] == '\0' && tasks_ended(f);
    for (uint64_t id = 0; ok && id < f->n_ids; id++) {
        ok = id_came(f, id, owner);
    }
    free(owner);
    return ok;
}

void wt_flow_check(const struct wt_flow *f)
{
    bool ok = wt_flow_ok(f);
    cr_assert(ok, "%s", f->cluster->why);
}

void wt_flow_run(struct wt_cluster *c, uint64_t id,
                 const struct wt_flow_params *params)
{
    struct wt_query q;
    struct wt_flow f;
    wt_query_open(&q, c, id, NULL);
    wt_flow_open(&f, &q, params);
    bool ran = wt_cluster_run(c);
    cr_assert(ran, "query %llu: %s", (unsigned long long)id, c->why);
    wt_flow_check(&f);
    wt_query_close(&q);
    wt_flow_close(&f);
}

void wt_flow_end(struct wt_flow *f)
{
    struct wt_query *q = f->query;
    struct wt_cluster *c = f->cluster;
    bool ran = wt_cluster_run(c);
    cr_assert(ran, "%s", c->why);
    wt_flow_check(f);
    wt_query_close(q);
    wt_flow_close(f);
    wt_cluster_close(c);
}

void wt_flow_once(const struct wt_place *place,
                  const struct wt_cluster_params *cluster,
                  const struct wt_flow_params *flow)
{
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, place, cluster);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, flow);
    wt_flow_end(&f);
}

struct weir_shuffle_params wt_way(uint32_t id, const struct ArrowSchema *schema,
                                  const uint32_t *from, const uint32_t *to)
{
    return (struct weir_shuffle_params){.id = id,
                                        .schema = schema,
                                        .partitioning = WEIR_GATHER,
                                        .producers = from,
                                        .n_producers = 1,
                                        .consumers = to,
                                        .n_consumers = 1};
}
