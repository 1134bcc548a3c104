/* SPDX-License-Identifier: Apache-2.0 */
/* What a query waits for (missing.h), and since when. */
#include "core/node/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/neutral.h"
#include "core/link/edge.h"
#include "core/link/link.h"
#include "core/query/missing.h"
#include "core/query/query.h"
#include "core/query/reader.h"
#include "core/query/shuffle.h"
#include "core/query/writer.h"

/* Lines of one stall in the log. */
#define STALL_LINES 20u

void wi_report_say(struct wi_report *r, const char *fmt, ...)
{
    char line[512];
    int at = snprintf(line, sizeof(line), "%s: ", r->who);
    va_list args;
    va_start(args, fmt);
    (void)wi_neutral_vformat(line + at, sizeof(line) - (size_t)at, fmt, args);
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
        [WI_LINK_PROOF] = "waiting for its proof",
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
    (void)wi_neutral_format(text, WI_REPORT_LINK_BYTES, "%s for %.1f s",
                            states[l->state], wi_report_secs(r, l->since_ns));
}

/* For how long nothing has happened to either. */
static double still_secs(const struct wi_report *r, const struct wi_watch *a,
                         const struct wi_watch *b)
{
    return wi_report_secs(r, wi_max_u64(a->since_ns, b->since_ns));
}

/* ---- what is missing, and since when ------------------------------------- */

struct lines {
    struct wi_report *report;
    const struct weir_writer *unreleased; /* of which that was said */
};

static void say_of_writer(struct lines *l, const struct wi_missing *m,
                          const char *what)
{
    struct wi_report *r = l->report;
    const struct weir_writer *w = m->at->writers[m->worker];
    const struct wi_out *o = m->out;
    char link[WI_REPORT_LINK_BYTES];
    switch (m->kind) {
    case WI_MISSING_LINK:
        wi_report_link(r, m->member, link);
        wi_report_say(r, "%s, which is %s", what, link);
        break;
    case WI_MISSING_PLACE:
        wi_report_say(r, "%s, all %u units are in use there", what,
                      o->link->peer_units);
        break;
    case WI_MISSING_ROOM:
        wi_report_say(r,
                      "%s, ring full for %.1f s, %" PRIu64
                      " of %u bytes not released there",
                      what, still_secs(r, &o->put, &o->taken), m->bytes,
                      o->size);
        break;
    case WI_BESIDES_UNRELEASED:
        l->unreleased = w;
        wi_report_say(r, "%s for %.1f s", what,
                      still_secs(r, &o->put, &o->taken));
        break;
    default: /* END: perhaps the consumer holds it up */
        if (l->unreleased != w) {
            wi_report_say(r, "%s, nothing published for %.1f s", what,
                          wi_report_secs(r, w->put.since_ns));
        }
        break;
    }
}

static void say_of_reader(struct wi_report *r, const struct wi_missing *m,
                          const char *what)
{
    const struct weir_reader *rd = m->at->readers[m->worker];
    const struct wi_in *in = m->in;
    char link[WI_REPORT_LINK_BYTES];
    switch (m->kind) {
    case WI_MISSING_RING:
        wi_report_link(r, m->member, link);
        wi_report_say(r, "%s, for %.1f s; the link is %s", what,
                      wi_report_secs(r, rd->opened_ns), link);
        break;
    case WI_MISSING_ROWS: /* of a ring that is over it has not looked at any */
        wi_report_say(
            r, "%s, none for %.1f s", what,
            wi_report_secs(r, wi_max_u64(in->came.since_ns, in->opened_ns)));
        break;
    case WI_MISSING_TAKING:
        wi_report_say(r, "%s for %.1f s", what,
                      still_secs(r, &in->came, &in->read));
        break;
    case WI_BESIDES_HELD:
        wi_report_say(
            r, "%s for %.1f s, %" PRIu64 " of %u bytes of its ring are in use",
            what, wi_report_secs(r, in->freed.since_ns), m->bytes, in->size);
        break;
    default: /* ENDED */
        wi_report_say(r, "%s", what);
        break;
    }
}

static void say_missing(void *arg, const struct wi_missing *m)
{
    struct lines *l = arg;
    struct wi_report *r = l->report;
    char who[WI_MISSING_WHO_BYTES];
    char what[320];
    wi_missing_who(m, who);
    (void)wi_missing_say(r->engine, m, what, sizeof(what));
    (void)snprintf(r->who, sizeof(r->who), "query %" PRIu64 " shuffle %u%s%s",
                   m->query, m->shuffle, m->at != NULL ? m->at->name : "", who);
    if (m->kind == WI_MISSING_SHUFFLE) {
        wi_report_say(r, "%s for %.1f s", what,
                      wi_report_secs(r, m->in->opened_ns));
    } else if (m->kind == WI_MISSING_READER || m->kind == WI_MISSING_WRITER) {
        wi_report_say(r, "%s, the shuffle is open for %.1f s", what,
                      wi_report_secs(r, m->at->opened_ns));
    } else if (m->writes) {
        say_of_writer(l, m, what);
    } else {
        say_of_reader(r, m, what);
    }
}

void wi_report_query(struct wi_report *r, const struct weir_query *q)
{
    struct lines l = {.report = r};
    wi_missing_each(q, say_missing, &l);
}

void wi_report_unopened(struct wi_report *r)
{
    struct lines l = {.report = r};
    wi_missing_strays(r->engine, NULL, say_missing, &l);
}

/* ---- stalls -------------------------------------------------------------- */

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
