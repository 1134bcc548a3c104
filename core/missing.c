/* SPDX-License-Identifier: Apache-2.0 */
/* What a query waits for on this node: which worker, in which shuffle, for what
 * of whom. Under the node's lock; what workers write is read as it is. */
#include "core/missing.h"

#include <stdio.h>

#include "core/base/cc.h"
#include "core/shuffle.h"

struct look {
    const struct weir_query *query;
    wi_missing_fn fn;
    void *arg;
    struct wi_missing at; /* filled in from the outside in */
};

static void miss(struct look *k, enum wi_missing_kind kind, uint32_t member,
                 uint32_t peer)
{
    k->at.kind = kind;
    k->at.member = member;
    k->at.peer = peer;
    k->fn(k->arg, &k->at);
}

/* ---- consuming -------------------------------------------------------------- */

static const struct wi_stream *stream_of(const struct weir_reader *r,
                                         uint32_t member, uint32_t worker)
{
    uint32_t n = wi_load_rlx(&r->n_streams); /* rlx: only the engine adds */
    for (uint32_t i = 0; i < n; i++) {
        const struct wi_in *in = r->streams[i]->in;
        if (in->link->member == member && in->producer_worker == worker) {
            return r->streams[i];
        }
    }
    return NULL;
}

static void look_at_source(struct look *k, const struct weir_reader *r,
                           uint32_t member, uint32_t worker)
{
    const struct wi_stream *st = stream_of(r, member, worker);
    if (st == NULL) {
        miss(k, WI_MISSING_RING, member, worker);
    } else if (!wi_load_rlx(&st->ended)) { /* rlx: only a look */
        miss(k, WI_MISSING_ROWS, member, worker);
    }
}

static void look_at_reader(struct look *k, const struct weir_shuffle *s,
                           uint32_t worker)
{
    const struct weir_reader *r = s->readers[worker];
    if ((s->was_read >> worker & 1) != 0 || (r != NULL && r->stopped)) {
        return;
    }
    if (r == NULL) {
        miss(k, WI_MISSING_READER, 0, 0);
        return;
    }
    for (uint32_t i = 0; i < s->n_producers; i++) {
        uint32_t member = s->producers[i];
        uint32_t n = wi_shuffle_workers(s, member, s->producer_workers);
        for (uint32_t w = 0; w < n; w++) {
            look_at_source(k, r, member, w);
        }
    }
}

/* ---- producing -------------------------------------------------------------- */

/* True: this ring is what the writer waits for. */
static bool look_at_ring(struct look *k, const struct wi_out *o)
{
    const struct wi_link *l = o->link;
    /* rlx: only the engine changes it, under the node's lock */
    uint32_t state = wi_load_rlx(&o->state);
    if (state == WI_OUT_WAITING) {
        bool open = l->state == WI_LINK_OPEN || l->state == WI_LINK_CLOSING;
        miss(k, open ? WI_MISSING_PLACE : WI_MISSING_LINK, l->member,
             o->consumer_worker);
        return true;
    }
    /* rlx: only a look */
    if (state == WI_OUT_OPEN && wi_load_rlx(&o->stop_all) == 0 &&
        wi_load_rlx(&o->ctl->want) != 0) { /* rlx: as above */
        miss(k, WI_MISSING_ROOM, l->member, o->consumer_worker);
        return true;
    }
    return false;
}

static void look_at_writer(struct look *k, const struct weir_shuffle *s,
                           uint32_t worker)
{
    const struct weir_writer *w = s->writers[worker];
    bool found = false;
    if ((s->wrote >> worker & 1) != 0 ||
        (w != NULL && wi_load_rlx(&w->finished))) { /* rlx: only a look */
        return;
    }
    if (w == NULL) {
        miss(k, WI_MISSING_WRITER, 0, 0);
        return;
    }
    for (uint32_t d = 0; d < w->n_lanes; d++) {
        const struct wi_lane *lane = &w->lanes[d];
        found = (lane->owner && look_at_ring(k, lane->out)) || found;
    }
    if (!found) {
        miss(k, WI_MISSING_END, 0, 0);
    }
}

/* ---- all of it -------------------------------------------------------------- */

static void look_at_shuffle(struct look *k, const struct weir_shuffle *s)
{
    uint32_t self = k->query->engine->self;
    uint32_t n =
        s->self_consumes ? wi_shuffle_workers(s, self, s->consumer_workers) : 0;
    k->at.shuffle = s->id;
    for (k->at.worker = 0; k->at.worker < n; k->at.worker++) {
        look_at_reader(k, s, k->at.worker);
    }
    n = s->self_produces ? wi_shuffle_workers(s, self, s->producer_workers) : 0;
    for (k->at.worker = 0; k->at.worker < n; k->at.worker++) {
        look_at_writer(k, s, k->at.worker);
    }
}

/* Rings of members that have opened a shuffle which this one has not. */
static void look_at_strays(struct look *k, const struct wi_link *l)
{
    const struct weir_query *q = k->query;
    wi_list_each(n, &l->ins)
    {
        const struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
        if (in->query_id == q->id && wi_query_has(q, l->member) &&
            wi_shuffle_find(q, in->shuffle_id) == NULL) {
            k->at.shuffle = in->shuffle_id;
            k->at.worker = in->consumer_worker;
            miss(k, WI_MISSING_SHUFFLE, l->member, in->producer_worker);
        }
    }
}

void wi_missing_each(const struct weir_query *q, wi_missing_fn fn, void *arg)
{
    struct look k = {.query = q, .fn = fn, .arg = arg};
    wi_list_each(n, &q->shuffles)
    {
        look_at_shuffle(&k, wi_container_of(n, struct weir_shuffle, on_query));
    }
    for (uint32_t i = 0; i < q->n_members; i++) {
        const struct wi_link *l = q->engine->members[q->members[i]].link;
        if (l != NULL) {
            look_at_strays(&k, l);
        }
    }
}

int wi_missing_say(const struct weir_query *q, const struct wi_missing *m,
                   char *text, size_t bytes)
{
    static const char *const says[WI_MISSING_KINDS] = {
        [WI_MISSING_SHUFFLE] = "has not opened it, rows come from",
        [WI_MISSING_RING] = "waits for the first rows of",
        [WI_MISSING_ROWS] = "waits for rows of",
        [WI_MISSING_LINK] = "waits for a link to",
        [WI_MISSING_PLACE] = "waits for a free ring at",
        [WI_MISSING_ROOM] = "waits for room in the ring to",
        [WI_MISSING_READER] = "has not opened its reader",
        [WI_MISSING_WRITER] = "has not opened its writer",
        [WI_MISSING_END] = "has not finished its writer",
    };
    char worker[24] = "";
    char whom[112] = "";
    if (m->worker != WI_ANY_WORKER && m->kind != WI_MISSING_SHUFFLE) {
        (void)snprintf(worker, sizeof(worker), " worker %u", m->worker);
    }
    if (m->kind <= WI_MISSING_ROOM) {
        int at =
            snprintf(whom, sizeof(whom), " %s (member %u)",
                     wi_engine_member_name(q->engine, m->member), m->member);
        if (m->peer != WI_ANY_WORKER && m->kind != WI_MISSING_LINK) {
            (void)snprintf(whom + at, sizeof(whom) - (size_t)at, " worker %u",
                           m->peer);
        }
    }
    return snprintf(text, bytes, "shuffle %u: %s%s %s%s", m->shuffle,
                    q->engine->name, worker, says[m->kind], whom);
}

struct summary {
    struct wi_missing first; /* of those that tell most */
    uint32_t n;
};

static void sum_up(void *arg, const struct wi_missing *m)
{
    struct summary *s = arg;
    if (s->n++ == 0 || m->kind < s->first.kind) {
        s->first = *m;
    }
}

void wi_missing_text(const struct weir_query *q, char *text, size_t bytes)
{
    struct summary s = {.n = 0};
    text[0] = '\0';
    wi_missing_each(q, sum_up, &s);
    if (s.n == 0) {
        return;
    }
    int at = wi_missing_say(q, &s.first, text, bytes);
    if (s.n > 1 && at >= 0 && (size_t)at < bytes) {
        (void)snprintf(text + at, bytes - (size_t)at, " (and %u more)",
                       s.n - 1);
    }
}
