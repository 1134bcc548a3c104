/* SPDX-License-Identifier: Apache-2.0 */
/* What a query waits for on this node: which worker, in which shuffle, for
 * what, from whom. Under the node's lock; fields of workers are read while they
 * run. */
#include "core/query/missing.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/bitmap.h"
#include "core/link/edge.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/members.h"
#include "core/query/query.h"
#include "core/query/reader.h"
#include "core/query/shuffle.h"
#include "core/query/tomb.h"
#include "core/query/writer.h"

struct look {
    wi_missing_fn fn;
    void *arg;
    struct wi_missing m; /* filled in level by level */
};

static void report_missing(struct look *k, enum wi_missing_kind kind)
{
    k->m.kind = kind;
    k->fn(k->arg, &k->m);
}

/* Bytes between two positions of a ring. They were read one after the other, so
 * the second may be ahead; those of a mapped ring may be anything. */
static uint64_t between(uint64_t end, uint64_t begin, uint32_t size)
{
    uint64_t bytes = end - begin;
    return bytes <= size ? bytes : bytes >> 63 != 0 ? 0 : size;
}

static uint64_t bit_of(uint16_t worker)
{
    return worker == WI_ANY_WORKER ? 0 : 1ull << worker;
}

/* ---- producing ----------------------------------------------------------- */

/* What the consumer has not released. */
static uint64_t unreleased(const struct wi_out *o)
{
    /* rlx: positions of others, a moment old */
    uint64_t put = wi_load_rlx(&o->ctl->tail);
    uint64_t taken = o->mapped ? wi_load_rlx(&o->ctl->head) /* rlx: as above */
                               : wi_load_rlx(&o->credit);
    return between(put, taken, o->size);
}

/* True: this ring is what the writer waits for. */
static bool look_at_ring(struct look *k, const struct wi_out *o, bool finished)
{
    /* rlx: only the engine changes them, under the node's lock */
    uint32_t state = wi_load_rlx(&o->state);
    bool over = o->closed || wi_load_rlx(&o->stop_all) != 0; /* rlx: as above */
    k->m.out = o;
    k->m.member = o->link->member;
    if (state == WI_OUT_WAITING) {
        bool open = o->link->state == WI_LINK_OPEN;
        k->m.peers = 0;
        report_missing(k, open ? WI_MISSING_PLACE : WI_MISSING_LINK);
        return true;
    }
    k->m.peers = bit_of(o->consumer_worker);
    k->m.bytes = over ? 0 : unreleased(o);
    /* rlx: only a look */
    if (!over && !finished && state == WI_OUT_OPEN &&
        wi_load_rlx(&o->ctl->producer_waits) ==
            WI_WAITS_FOR_ROOM) { /* rlx: as above */
        report_missing(k, WI_MISSING_ROOM);
        return true;
    }
    if (k->m.bytes != 0) {
        report_missing(k, WI_BESIDES_UNRELEASED);
    }
    return false;
}

static void look_at_writer(struct look *k, const struct weir_shuffle *s)
{
    const struct weir_writer *w = s->writers[k->m.worker];
    if (w == NULL) {
        if ((s->wrote >> k->m.worker & 1) == 0) {
            report_missing(k, WI_MISSING_WRITER);
        }
        return;
    }
    bool finished = wi_load_rlx(&w->finished); /* rlx: only a look */
    bool waits = false;
    for (uint32_t d = 0; d < w->n_lanes; d++) {
        const struct wi_lane *lane = &w->lanes[d];
        waits = (lane->owner && look_at_ring(k, lane->out, finished)) || waits;
    }
    if (!finished && !waits) {
        report_missing(k, WI_MISSING_END);
    }
}

/* ---- consuming ----------------------------------------------------------- */

static uint32_t count_held(const struct wi_in *in)
{
    /* rlx: numbers of others, a moment old; slots are never freed before */
    uint32_t begin = wi_load_rlx(&in->held_begin);
    uint32_t end = wi_load_rlx(&in->held_end); /* rlx: as above */
    uint32_t n = 0;
    for (uint32_t i = begin; i != end && i - begin < WI_HELD_MAX; i++) {
        /* rlx: as above */
        n += wi_load_rlx(&in->held[i % WI_HELD_MAX].released) == 0;
    }
    return n;
}

static void look_at_stream(struct look *k, const struct wi_in *in)
{
    enum wi_missing_kind kind = WI_MISSING_ROWS;
    k->m.in = in;
    k->m.member = in->link->member;
    k->m.peers = bit_of(in->producer_worker);
    /* rlx: engine's; the control block of a closed ring may be another one's */
    if (!in->closed && wi_load_rlx(&in->dead) == 0) {
        /* rlx: positions of others, a moment old */
        uint64_t came = wi_load_rlx(&in->ctl->tail);
        uint64_t scan = wi_load_rlx(&in->scan);      /* rlx: as above */
        uint64_t head = wi_load_rlx(&in->ctl->head); /* rlx: as above */
        k->m.n = count_held(in);
        k->m.bytes = between(came, head, in->size);
        if (k->m.n != 0) {
            report_missing(k, WI_BESIDES_HELD);
        }
        k->m.bytes = between(came, scan, in->size);
        kind = k->m.bytes != 0 ? WI_MISSING_TAKING : WI_MISSING_ROWS;
    }
    report_missing(k, kind);
}

/* Producing workers whose rings have not come. */
static void look_at_sources(struct look *k, const struct weir_reader *r)
{
    const struct weir_shuffle *s = r->shuffle;
    uint32_t source = 0;
    for (uint32_t i = 0; i < s->n_producers; i++) {
        k->m.member = s->producers[i];
        k->m.peers = 0;
        uint32_t n = wi_shuffle_workers(s, k->m.member, s->producer_workers);
        for (uint32_t w = 0; w < n; w++) {
            bool came = wi_bitmap_test(r->came, source++);
            k->m.peers |= (uint64_t)!came << w;
        }
        if (k->m.peers != 0) {
            report_missing(k, WI_MISSING_RING);
        }
    }
}

static void look_at_reader(struct look *k, const struct weir_shuffle *s)
{
    const struct weir_reader *r = s->readers[k->m.worker];
    if (r == NULL && (s->was_read >> k->m.worker & 1) == 0) {
        report_missing(k, WI_MISSING_READER);
    }
    if (r == NULL || r->stopped) {
        return;
    }
    uint32_t n = wi_load_rlx(&r->n_streams); /* rlx: only the engine adds */
    uint32_t ended = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (wi_load_rlx(&r->streams[i]->ended)) { /* rlx: only a look */
            ended++;
        } else {
            look_at_stream(k, r->streams[i]->in);
        }
    }
    look_at_sources(k, r);
    k->m.n = ended;
    if (ended != 0 && ended != s->n_sources) {
        report_missing(k, WI_BESIDES_ENDED);
    }
}

/* ---- all of it ----------------------------------------------------------- */

static void look_at_shuffle(struct look *k, const struct weir_shuffle *s)
{
    uint32_t self = s->query->engine->self;
    uint32_t write = wi_shuffle_workers(s, self, s->producer_workers);
    uint32_t read = wi_shuffle_workers(s, self, s->consumer_workers);
    k->m.at = s;
    k->m.shuffle = s->id;
    for (uint32_t i = 0; i < s->query->engine->cfg.workers; i++) {
        k->m.worker = i;
        k->m.writes = true;
        if (s->self_produces && i < write) {
            look_at_writer(k, s);
        }
        k->m.writes = false;
        if (s->self_consumes && i < read) {
            look_at_reader(k, s);
        }
    }
}

static bool is_stray(const struct wi_in *in, const struct weir_query *q)
{
    struct wi_engine *e = in->link->engine;
    if (q != NULL) {
        return in->query_id == q->id && wi_query_has(q, in->link->member) &&
               wi_shuffle_find(q, in->shuffle_id) == NULL;
    }
    /* rlx: engine's */
    return wi_load_rlx(&in->query) == NULL && !in->abandoned &&
           wi_load_rlx(&in->dead) == 0 && /* rlx: as above */
           wi_query_find(e, in->query_id) == NULL &&
           wi_tomb_find(e, in->query_id) == NULL;
}

/* One ring of each shuffle is enough. */
static void look_at_strays(struct look *k, const struct wi_link *l,
                           const struct weir_query *q)
{
    const struct wi_in *last = NULL;
    wi_list_each(n, &l->ins)
    {
        const struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
        bool same = last != NULL && last->query_id == in->query_id &&
                    last->shuffle_id == in->shuffle_id;
        if (same || !is_stray(in, q)) {
            continue;
        }
        last = in;
        k->m = (struct wi_missing){.query = in->query_id,
                                   .shuffle = in->shuffle_id,
                                   .member = l->member,
                                   .peers = bit_of(in->producer_worker),
                                   .in = in};
        report_missing(k, WI_MISSING_SHUFFLE);
    }
}

/* Most queries have none, and a node has the rings of hundreds. */
static bool may_have_strays(const struct wi_engine *e,
                            const struct weir_query *q)
{
    if (q == NULL) {
        return true;
    }
    wi_list_each(n, &e->ins_of[wi_query_list(q->id)])
    {
        if (is_stray(wi_container_of(n, struct wi_in, on_query), q)) {
            return true;
        }
    }
    return false;
}

void wi_missing_strays(const struct wi_engine *e, const struct weir_query *q,
                       wi_missing_fn fn, void *arg)
{
    struct look k = {.fn = fn, .arg = arg};
    bool any = may_have_strays(e, q);
    for (uint32_t i = 0; any && i < e->n_members; i++) {
        const struct wi_link *l = e->members[i].link;
        if (l != NULL) {
            look_at_strays(&k, l, q);
        }
    }
}

void wi_missing_each(const struct weir_query *q, wi_missing_fn fn, void *arg)
{
    struct look k = {.fn = fn, .arg = arg, .m = {.query = q->id}};
    wi_list_each(n, &q->shuffles)
    {
        look_at_shuffle(&k, wi_container_of(n, struct weir_shuffle, on_query));
    }
    wi_missing_strays(q->engine, q, fn, arg);
}

/* ---- in words ------------------------------------------------------------ */

void wi_missing_who(const struct wi_missing *m, char text[WI_MISSING_WHO_BYTES])
{
    text[0] = '\0';
    if (m->at != NULL) {
        (void)snprintf(text, WI_MISSING_WHO_BYTES, " worker %u %s", m->worker,
                       m->writes ? "writer" : "reader");
    }
}

/* "n1 worker 0 1"; of a node ring: "n1". */
static void whom_text(const struct wi_engine *e, const struct wi_missing *m,
                      char *text, size_t bytes)
{
    int at = snprintf(text, bytes, "%s%s", wi_member_name(e, m->member),
                      m->peers != 0 ? " worker" : "");
    for (uint32_t i = 0; i < 64 && at >= 0 && (size_t)at < bytes; i++) {
        if ((m->peers >> i & 1) != 0) {
            at += snprintf(text + at, bytes - (size_t)at, " %u", i);
        }
    }
}

static int say_held(const struct wi_missing *m, const char *whom, char *text,
                    size_t bytes)
{
    bool shared = m->in->consumer_worker == WI_ANY_WORKER;
    return snprintf(text, bytes, "%s %u %s of %s",
                    shared ? "this node's workers have not released"
                           : "the program holds",
                    m->n, m->n == 1 ? "batch" : "batches", whom);
}

int wi_missing_say(const struct wi_engine *e, const struct wi_missing *m,
                   char *text, size_t bytes)
{
    char to[WI_NAME_BYTES + 160];
    whom_text(e, m, to, sizeof(to));
    switch (m->kind) {
    case WI_MISSING_SHUFFLE:
        return snprintf(text, bytes, "was never opened here, %s sends to it",
                        to);
    case WI_MISSING_RING:
        return snprintf(text, bytes, "waits for %s to open its writer", to);
    case WI_MISSING_ROWS:
        return snprintf(text, bytes, "waits for rows of %s", to);
    case WI_MISSING_LINK:
        return snprintf(text, bytes, "waits for the link to %s", to);
    case WI_MISSING_PLACE:
        return snprintf(text, bytes, "waits for a ring at %s", to);
    case WI_MISSING_ROOM:
        return snprintf(text, bytes, "waits for room at %s", to);
    case WI_MISSING_TAKING:
        return snprintf(text, bytes, "has not taken %" PRIu64 " bytes of %s",
                        m->bytes, to);
    case WI_MISSING_END:
        return snprintf(text, bytes, "not finished");
    case WI_BESIDES_UNRELEASED:
        return snprintf(text, bytes,
                        "%s has not released %" PRIu64 " of %u bytes", to,
                        m->bytes, m->out->size);
    case WI_BESIDES_HELD:
        return say_held(m, to, text, bytes);
    case WI_BESIDES_ENDED:
        return snprintf(text, bytes, "%u of %u producing workers have ended",
                        m->n, m->at->n_sources);
    default: /* READER, WRITER */
        return snprintf(text, bytes, "was never opened");
    }
}

struct summary {
    const struct wi_engine *engine;
    struct wi_missing first; /* the most telling */
    uint32_t n;
};

/* Less is more telling. What one worker of this node wants of another one, that
 * one has a line about as well. */
static uint32_t rank(const struct summary *s, const struct wi_missing *m)
{
    bool waits = m->kind <= WI_MISSING_ROWS;
    bool own = waits && m->member == s->engine->self;
    return m->kind + (own ? (uint32_t)WI_MISSING_KINDS : 0);
}

static void sum_up(void *arg, const struct wi_missing *m)
{
    struct summary *s = arg;
    if (m->kind < WI_MISSING_KINDS &&
        (s->n++ == 0 || rank(s, m) < rank(s, &s->first))) {
        s->first = *m;
    }
}

bool wi_missing_text(const struct weir_query *q, char *text, size_t bytes)
{
    struct summary s = {.engine = q->engine};
    char who[WI_MISSING_WHO_BYTES];
    char what[WI_TEXT_BYTES];
    char more[24] = "";
    text[0] = '\0';
    wi_missing_each(q, sum_up, &s);
    if (s.n == 0) {
        return false;
    }
    wi_missing_who(&s.first, who);
    (void)wi_missing_say(q->engine, &s.first, what, sizeof(what));
    if (s.n > 1) {
        (void)snprintf(more, sizeof(more), " (and %u more)", s.n - 1);
    }
    (void)snprintf(text, bytes, "shuffle %u%s: %s%s: %s%s", s.first.shuffle,
                   s.first.at != NULL ? s.first.at->name : "", q->engine->name,
                   who, what, more);
    return s.first.kind < WI_MISSING_RING;
}
