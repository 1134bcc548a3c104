/* SPDX-License-Identifier: Apache-2.0 */
/* What a query waits for: each writer and reader of it that is not done says
 * for whom, and since when. */
#include "core/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/shuffle.h"
#include "core/tomb.h"

/* Lines of one stall in the log. */
#define STALL_LINES 20u

void wi_report_say(struct wi_report *r, const char *fmt, ...)
{
    char line[512];
    int at = snprintf(line, sizeof(line), "%s: ", r->who);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line + at, sizeof(line) - (size_t)at, fmt, args);
    va_end(args);
    r->n++;
    r->fn(r->arg, line);
}

double wi_report_secs(const struct wi_report *r, uint64_t since_ns)
{
    return (double)(r->engine->now_ns - since_ns) / 1e9;
}

void wi_report_link(const struct wi_report *r, uint32_t member, char *text)
{
    static const char *const states[] = {
        [WI_LINK_CONNECTING] = "connecting",
        [WI_LINK_HELLO] = "waiting for its answer",
        [WI_LINK_READY] = "waiting for its answer",
        [WI_LINK_OPEN] = "open",
        [WI_LINK_CLOSING] = "closing",
        [WI_LINK_DEAD] = "dead",
    };
    const struct wi_link *l = r->engine->members[member].link;
    if (l == NULL) {
        (void)snprintf(text, WI_REPORT_LINK_BYTES, "closed");
        return;
    }
    (void)snprintf(text, WI_REPORT_LINK_BYTES, "%s for %.1f s",
                   states[l->state], wi_report_secs(r, l->since_ns));
}

static const char *name_of(const struct wi_report *r, uint32_t member)
{
    return wi_engine_member_name(r->engine, member);
}

/* Nothing has happened to either since then. */
static double still_secs(const struct wi_report *r, const struct wi_watch *a,
                         const struct wi_watch *b)
{
    return wi_report_secs(r, wi_max_u64(a->since_ns, b->since_ns));
}

/* Bytes between two positions of a ring. They were read one after the other, so
 * the second may be ahead; and those of a mapped ring may be anything. */
static uint64_t between(const struct wi_watch *end,
                        const struct wi_watch *begin, uint32_t size)
{
    uint64_t bytes = wi_watch_number(end) - wi_watch_number(begin);
    return bytes <= size ? bytes : bytes >> 63 != 0 ? 0 : size;
}

/* ---- writers ------------------------------------------------------------------ */

/* A ring that is not there yet. */
static void say_waiting(struct wi_report *r, const struct wi_out *o)
{
    char link[WI_REPORT_LINK_BYTES];
    const struct wi_link *l = o->link;
    wi_report_link(r, l->member, link);
    if (l->state == WI_LINK_OPEN) {
        wi_report_say(r,
                      "waits for a ring at %s, all %u units are in use there",
                      name_of(r, l->member), l->peer_units);
    } else {
        wi_report_say(r, "waits for the link to %s, which is %s",
                      name_of(r, l->member), link);
    }
}

/* "n1 worker 0"; a node ring is read by all of them. */
static void consumer_text(const struct wi_report *r, const struct wi_out *o,
                          char *text, size_t bytes)
{
    const char *name = name_of(r, o->link->member);
    if (o->consumer_worker == WI_ANY_WORKER) {
        (void)snprintf(text, bytes, "%s", name);
    } else {
        (void)snprintf(text, bytes, "%s worker %u", name, o->consumer_worker);
    }
}

static void say_out(struct wi_report *r, const struct wi_out *o)
{
    char to[WI_NAME_BYTES + 16];
    uint32_t state = wi_load_rlx(&o->state); /* rlx: engine's */
    if (state == WI_OUT_WAITING) {
        say_waiting(r, o);
        return;
    }
    /* rlx: engine's */
    if (o->closed || o->put.seen == 0 || wi_load_rlx(&o->stop_all) != 0) {
        return;
    }
    uint64_t bytes = between(&o->put, &o->taken, o->size);
    double secs = still_secs(r, &o->put, &o->taken);
    consumer_text(r, o, to, sizeof(to));
    if (wi_load_rlx(&o->ctl->want) == WI_WANT_ROOM) { /* rlx: a moment old */
        wi_report_say(r,
                      "waits for room at %s, ring full for %.1f s, %" PRIu64
                      " of %u bytes not released there",
                      to, secs, bytes, o->size);
    } else if (bytes != 0) {
        wi_report_say(r,
                      "%s has not released %" PRIu64 " of %u bytes for %.1f s",
                      to, bytes, o->size, secs);
    }
}

static void say_writer(struct wi_report *r, const struct weir_writer *w)
{
    uint32_t before = r->n;
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        if (w->lanes[i].owner) {
            say_out(r, w->lanes[i].out);
        }
    }
    /* rlx: a moment old */
    if (!wi_load_rlx(&w->finished) && r->n == before) {
        wi_report_say(r, "not finished, nothing published for %.1f s",
                      wi_report_secs(r, w->put.since_ns));
    }
}

/* ---- readers ------------------------------------------------------------------- */

/* Frames that were taken from the ring and not released. */
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

static void say_held(struct wi_report *r, const struct wi_in *in,
                     const char *name, uint32_t n)
{
    wi_report_say(r,
                  "%s %u %s of %s worker %u for %.1f s, %" PRIu64
                  " of %u bytes of its ring are in use",
                  in->consumer_worker == WI_ANY_WORKER ? "this node's workers "
                                                         "have not released"
                                                       : "the program holds",
                  n, n == 1 ? "batch" : "batches", name, in->producer_worker,
                  wi_report_secs(r, in->freed.since_ns),
                  between(&in->came, &in->freed, in->size), in->size);
}

static void say_stream(struct wi_report *r, const struct wi_stream *st)
{
    const struct wi_in *in = st->in;
    const char *name = name_of(r, in->link->member);
    /* rlx: a moment old */
    if (wi_load_rlx(&st->ended) || in->came.seen == 0 || in->closed ||
        wi_load_rlx(&in->dead) != 0) { /* rlx: engine's */
        return;
    }
    uint32_t held = count_held(in);
    if (held != 0) {
        say_held(r, in, name, held);
    }
    uint64_t bytes = between(&in->came, &in->read, in->size);
    if (bytes != 0) {
        wi_report_say(
            r, "has not taken %" PRIu64 " bytes of %s worker %u for %.1f s",
            bytes, name, in->producer_worker,
            still_secs(r, &in->came, &in->read));
    } else {
        wi_report_say(r, "waits for rows of %s worker %u, none for %.1f s",
                      name, in->producer_worker,
                      wi_report_secs(r, in->came.since_ns));
    }
}

/* Producing workers of a member whose rings did not come. */
static void say_missing(struct wi_report *r, const struct weir_reader *rd,
                        uint32_t member, uint64_t have)
{
    const struct weir_shuffle *s = rd->shuffle;
    uint32_t n = wi_shuffle_workers(s, member, s->producer_workers);
    char link[WI_REPORT_LINK_BYTES];
    char workers[160] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < n && at < sizeof(workers) - 8; i++) {
        if ((have >> i & 1) == 0) {
            at +=
                (size_t)snprintf(workers + at, sizeof(workers) - at, " %u", i);
        }
    }
    if (at != 0) {
        wi_report_link(r, member, link);
        wi_report_say(r,
                      "waits for %s worker%s to open its writer, for %.1f s; "
                      "the link is %s",
                      name_of(r, member), workers,
                      wi_report_secs(r, rd->opened_ns), link);
    }
}

static void say_reader(struct wi_report *r, const struct weir_reader *rd)
{
    const struct weir_shuffle *s = rd->shuffle;
    uint32_t n = wi_load_rlx(&rd->n_streams); /* rlx: engine's */
    uint64_t *have = calloc(r->engine->n_members, sizeof(*have));
    uint32_t ended = 0;
    if (rd->stopped || have == NULL) {
        free(have);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct wi_stream *st = rd->streams[i];
        have[st->in->link->member] |= 1ull << st->in->producer_worker;
        ended += wi_load_rlx(&st->ended); /* rlx: a moment old */
        say_stream(r, st);
    }
    for (uint32_t i = 0; i < s->n_producers; i++) {
        say_missing(r, rd, s->producers[i], have[s->producers[i]]);
    }
    if (ended != 0 && ended != s->n_sources) {
        wi_report_say(r, "%u of %u producing workers have ended", ended,
                      s->n_sources);
    }
    free(have);
}

/* ---- queries --------------------------------------------------------------------- */

static void say_unopened_end(struct wi_report *r, const struct weir_shuffle *s)
{
    wi_report_say(r, "was never opened, the shuffle is open for %.1f s",
                  wi_report_secs(r, s->opened_ns));
}

static void set_who(struct wi_report *r, const struct weir_shuffle *s,
                    uint32_t worker, const char *end)
{
    (void)snprintf(r->who, sizeof(r->who),
                   "query %" PRIu64 " shuffle %u worker %u %s", s->query->id,
                   s->id, worker, end);
}

static void say_worker(struct wi_report *r, const struct weir_shuffle *s,
                       uint32_t worker)
{
    uint32_t self = r->engine->self;
    bool writes = s->self_produces &&
                  worker < wi_shuffle_workers(s, self, s->producer_workers);
    bool reads = s->self_consumes &&
                 worker < wi_shuffle_workers(s, self, s->consumer_workers);
    set_who(r, s, worker, "writer");
    if (s->writers[worker] != NULL) {
        say_writer(r, s->writers[worker]);
    } else if (writes && (s->wrote >> worker & 1) == 0) {
        say_unopened_end(r, s);
    }
    set_who(r, s, worker, "reader");
    if (s->readers[worker] != NULL) {
        say_reader(r, s->readers[worker]);
    } else if (reads && (s->was_read >> worker & 1) == 0) {
        say_unopened_end(r, s);
    }
}

static bool is_unopened(const struct wi_in *in, const struct weir_query *q)
{
    struct wi_engine *e = in->link->engine;
    /* rlx: engine's */
    if (wi_load_rlx(&in->query) != NULL || in->closed || in->abandoned ||
        wi_load_rlx(&in->dead) != 0) { /* rlx: as above */
        return false;
    }
    struct weir_query *its = wi_query_find(e, in->query_id);
    return its == q && (q != NULL ? wi_shuffle_find(its, in->shuffle_id) == NULL
                                  : wi_tomb_find(e, in->query_id) == NULL);
}

/* Of several rings of one shuffle the first is enough. */
static void unopened_of_link(struct wi_report *r, const struct wi_link *l,
                             const struct weir_query *q)
{
    const struct wi_in *last = NULL;
    wi_list_each(n, &l->ins)
    {
        const struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
        bool same = last != NULL && last->query_id == in->query_id &&
                    last->shuffle_id == in->shuffle_id;
        if (same || !is_unopened(in, q)) {
            continue;
        }
        last = in;
        (void)snprintf(r->who, sizeof(r->who), "query %" PRIu64 " shuffle %u",
                       in->query_id, in->shuffle_id);
        wi_report_say(r,
                      "was never opened here, %s worker %u sends to it for "
                      "%.1f s",
                      name_of(r, l->member), in->producer_worker,
                      wi_report_secs(r, in->opened_ns));
    }
}

void wi_report_unopened(struct wi_report *r, const struct weir_query *q)
{
    for (uint32_t i = 0; i < r->engine->n_members; i++) {
        const struct wi_link *l = r->engine->members[i].link;
        if (l != NULL) {
            unopened_of_link(r, l, q);
        }
    }
}

void wi_report_query(struct wi_report *r, const struct weir_query *q)
{
    wi_list_each(n, &q->shuffles)
    {
        const struct weir_shuffle *s =
            wi_container_of(n, struct weir_shuffle, on_query);
        for (uint32_t i = 0; i < r->engine->cfg.workers; i++) {
            say_worker(r, s, i);
        }
    }
    wi_report_unopened(r, q);
}

/* ---- stalls ------------------------------------------------------------------------ */

struct stall {
    const struct weir_query *query;
    uint32_t n;
};

static void log_line(void *arg, const char *line)
{
    struct stall *s = arg;
    const struct weir_query *q = s->query;
    const struct wi_log *log = &q->engine->log;
    if (s->n++ == 0) {
        wi_log(log, WI_LOG_ERROR,
               "query %" PRIu64 ": nothing moved for %.1f s (stall_ns); it "
               "waits for what follows",
               q->id, (double)(q->engine->now_ns - q->moved.since_ns) / 1e9);
    }
    if (s->n <= STALL_LINES) {
        wi_log(log, WI_LOG_ERROR, "%s", line);
    }
}

bool wi_report_stall(const struct weir_query *q)
{
    struct stall s = {.query = q};
    struct wi_report r = {.engine = q->engine, .fn = log_line, .arg = &s};
    wi_report_query(&r, q);
    if (s.n > STALL_LINES) {
        wi_log(&q->engine->log, WI_LOG_ERROR,
               "query %" PRIu64 ": and %u lines more, weir_node_report() has "
               "them",
               q->id, s.n - STALL_LINES);
    }
    return s.n != 0;
}
