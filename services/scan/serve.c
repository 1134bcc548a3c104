/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client says is checked before anything is changed: that it is an ask
 * (answer.c), whose it is (session.c), and then each kind's own.
 */
#include "services/scan/serve.h"

#include <stdlib.h>
#include <string.h>

#include "services/scan/answer.h"
#include "services/scan/load.h"
#include "services/scan/reader.h"
#include "services/scan/scan.h"
#include "services/scan/session.h"
#include "services/scan/slots.h"

/* An ask that was read. */
struct asked {
    struct weir_scan_server *s;
    struct wi_scan_session *session;
    const struct weir_ask *ask;
    struct wi_scan_ask a;
    const uint8_t *bytes; /* that follow */
};

/* ---- slots --------------------------------------------------------------- */

static bool give(struct asked *q)
{
    uint32_t n = (uint32_t)(q->a.n_bytes / sizeof(uint64_t));
    weir_err code = wi_scan_slots_give(q->s, q->session, q->bytes, n,
                                       (q->a.flags & WI_SCAN_KEPT) != 0);
    if (code != WEIR_OK) {
        wi_scan_answer_refuse(q->ask, code,
                              code == WEIR_ERR_NOT_FOUND
                                  ? "no such slot of this client"
                                  : "a slot that is given back twice");
    }
    return code == WEIR_OK;
}

static void on_give(struct asked *q)
{
    if (give(q)) {
        wi_scan_answer_plain(q->ask, 0);
    }
}

/* ---- opening ------------------------------------------------------------- */

enum { RANGES_MAX = 65536 };

/* Rows that no request takes: the client is told when it sends some. */
static void end_load(struct asked *q)
{
    struct wi_scan_load *load = wi_scan_load_find(q->session, q->a.id);
    if (load != NULL && wi_scan_load_hold(load)) {
        wi_scan_load_drop(load);
    }
}

/* A call is one more than none before, and there is a reader to be had. */
static bool begin_call(struct asked *q)
{
    const struct weir_scan_server *s = q->s;
    if (q->a.call <= q->session->last_call) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_DATA,
                              "a number of a call that was used before");
        return false;
    }
    if (s->stats.readers + s->n_shared >= s->p.max_readers) {
        end_load(q);
        wi_scan_answer_refuse(q->ask, WEIR_ERR_BUDGET,
                              "the server has %u readers open: its max_readers",
                              s->p.max_readers);
        return false;
    }
    return true;
}

/* Room or copy of the request. */
static bool take_request(struct asked *q, struct wi_scan_scan *scan)
{
    scan->n_bytes = q->a.n_bytes;
    if (q->a.region != 0) {
        scan->room =
            wi_scan_room_find(q->s, q->session, q->a.region, q->a.n_bytes);
        if (scan->room == NULL) {
            wi_scan_answer_refuse(q->ask, WEIR_ERR_NOT_FOUND,
                                  "no such room of this client");
        }
        return scan->room != NULL;
    }
    scan->bytes = malloc(scan->n_bytes + 1);
    if (scan->bytes == NULL) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_NO_MEMORY,
                              "no memory for a request");
        return false;
    }
    memcpy(scan->bytes, q->bytes, scan->n_bytes);
    return true;
}

static bool take_load(struct asked *q, struct wi_scan_scan *scan)
{
    if (q->a.id[0] == 0 && q->a.id[1] == 0) {
        return true;
    }
    scan->load = wi_scan_load_find(q->session, q->a.id);
    if (scan->load == NULL || !wi_scan_load_hold(scan->load)) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_NOT_FOUND,
                              "no such load of this client, or it is used");
        scan->load = NULL;
        return false;
    }
    return true;
}

static bool share(struct asked *q, struct wi_scan_scan *scan)
{
    if (q->a.n > RANGES_MAX) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_DATA,
                              "n = %u ranges, allowed is %d", q->a.n,
                              RANGES_MAX);
        return false;
    }
    scan->n_ranges = q->a.n;
    scan->taken = q->a.n > 0 ? calloc(q->a.n, 1) : NULL;
    if (q->a.n > 0 && scan->taken == NULL) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_NO_MEMORY,
                              "no memory for a shared scan");
        return false;
    }
    return true;
}

static void on_open(struct asked *q)
{
    struct wi_scan_reader *r = NULL;
    if (!begin_call(q)) {
        return;
    }
    struct wi_scan_scan *scan = wi_scan_scan_make(q->s);
    if (scan == NULL) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_NO_MEMORY,
                              "no memory for a scan");
        return;
    }
    if (!share(q, scan) || !take_request(q, scan) || !take_load(q, scan)) {
        wi_scan_scan_free(scan);
        return;
    }
    r = wi_scan_reader_make(q->session, scan, q->ask, q->a.call);
    if (r == NULL) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_NO_MEMORY,
                              "no memory for a reader");
        if (scan->load != NULL) {
            wi_scan_load_drop(scan->load);
        }
        wi_scan_scan_free(scan);
        return;
    }
    scan->task.share = wi_scan_share_hold(q->session->share);
    r->announces = scan->n_ranges > 0;
    if (scan->n_ranges == 0) {
        scan->state = wi_scan_state_hold(q->session->state);
        scan->job.keep = &scan->state->keep;
    }
    if (scan->room != NULL) {
        scan->room->users++;
    }
    q->session->last_call = q->a.call;
}

static void on_range(struct asked *q)
{
    struct wi_scan_scan *scan = wi_scan_ids_find(&q->s->scans_by_id, q->a.id);
    if (scan == NULL) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_NOT_FOUND,
                              "no such shared scan, or it is over");
    } else if (q->a.n >= scan->n_ranges) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_ARG,
                              "range = %u, the scan has %u", q->a.n,
                              scan->n_ranges);
    } else if (scan->taken[q->a.n]) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_STATE,
                              "range %u was opened before", q->a.n);
    } else if (begin_call(q)) {
        if (wi_scan_reader_make(q->session, scan, q->ask, q->a.call) == NULL) {
            wi_scan_answer_refuse(q->ask, WEIR_ERR_NO_MEMORY,
                                  "no memory for a reader");
            return;
        }
        q->session->last_call = q->a.call;
        wi_scan_scan_open_range(scan, q->a.n);
    }
}

/* ---- readers ------------------------------------------------------------- */

static void on_next(struct asked *q)
{
    struct wi_scan_reader *r = wi_scan_reader_find(q->s, q->session, q->a.id);
    if (r == NULL) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_NOT_FOUND,
                              "no such reader of this client, or it is over");
    } else if (give(q)) {
        wi_scan_reader_next(r, q->ask);
    }
}

static void on_end(struct asked *q)
{
    struct wi_scan_reader *r;
    if (q->a.call > q->session->last_call) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_DATA, "no call of that number");
        return;
    }
    if (!give(q)) {
        return;
    }
    wi_scan_answer_plain(q->ask, 0);
    TAILQ_FOREACH(r, &q->session->readers, on_session)
    {
        if (r->call == q->a.call) {
            wi_scan_reader_end(r);
            return;
        }
    }
}

/* ---- rows of the client -------------------------------------------------- */

static void on_room(struct asked *q)
{
    wi_scan_room_open(q->s, q->session, q->ask, q->a.n_bytes);
}

/* The bytes of a LOAD or FILL: in a room, or here. */
static bool find_bytes(struct asked *q, struct wi_scan_slot **room_out)
{
    *room_out = NULL;
    if (q->a.region != 0) {
        *room_out =
            wi_scan_room_find(q->s, q->session, q->a.region, q->a.n_bytes);
        if (*room_out == NULL) {
            wi_scan_answer_refuse(q->ask, WEIR_ERR_NOT_FOUND,
                                  "no such room of this client");
            return false;
        }
    }
    return true;
}

static void on_load(struct asked *q)
{
    struct wi_scan_slot *room;
    if (find_bytes(q, &room)) {
        wi_scan_load_open(q->s, q->session, q->ask, &q->a, room);
    }
}

static void on_fill(struct asked *q)
{
    struct wi_scan_slot *room;
    struct wi_scan_load *load = wi_scan_load_find(q->session, q->a.id);
    if (load == NULL) {
        wi_scan_answer_refuse(q->ask, WEIR_ERR_NOT_FOUND,
                              "no such load of this client");
    } else if (find_bytes(q, &room)) {
        wi_scan_load_fill(load, q->ask, &q->a, room);
    }
}

/* ---- asks ---------------------------------------------------------------- */

static void take(struct weir_scan_server *s, const struct weir_ask *ask)
{
    static void (*const kinds[])(struct asked * q) = {
        [WI_SCAN_ASK_OPEN] = on_open, [WI_SCAN_ASK_RANGE] = on_range,
        [WI_SCAN_ASK_NEXT] = on_next, [WI_SCAN_ASK_GIVE] = on_give,
        [WI_SCAN_ASK_END] = on_end,   [WI_SCAN_ASK_ROOM] = on_room,
        [WI_SCAN_ASK_LOAD] = on_load, [WI_SCAN_ASK_FILL] = on_fill,
    };
    struct asked q = {.s = s, .ask = ask};
    if (!wi_scan_ask_read(ask, &q.a, &q.bytes)) {
        return;
    }
    if (q.a.kind == WI_SCAN_ASK_HOLD) {
        wi_scan_session_open(s, ask, &q.a);
        return;
    }
    q.session = wi_scan_session_of(s, ask, &q.a);
    if (q.session != NULL) {
        kinds[q.a.kind](&q);
    }
}

enum { AT_ONCE = 256 };

/* Not more than some at a time: what they are for is to be done, too. */
static uint32_t take_all(struct weir_scan_server *s)
{
    struct weir_ask ask;
    uint32_t n = 0;
    while (n < AT_ONCE && !s->stopping &&
           weir_asks_next(s->asks, &ask) == WEIR_OK) {
        take(s, &ask);
        n++;
    }
    return n;
}

/* ---- who is gone, or idle ------------------------------------------------ */

/* Looking at all clients costs: not more often than this while asks come. */
static const uint64_t check_ns = 10000000;

static bool is_idle(const struct weir_scan_server *s, uint64_t asked_ns)
{
    return s->p.idle_ns != WEIR_FOREVER &&
           wi_scan_now_ns() - asked_ns > s->p.idle_ns;
}

static void leave_all(struct weir_scan_server *s)
{
    struct wi_scan_session *c = TAILQ_FIRST(&s->sessions);
    while (c != NULL) {
        if (!c->gone && !weir_ask_waits(&c->hold)) {
            wi_scan_session_leave(s, c);
            c = TAILQ_FIRST(&s->sessions); /* the lock was let go */
        } else {
            c = TAILQ_NEXT(c, on_server);
        }
    }
}

static struct wi_scan_reader *idle_reader(struct weir_scan_server *s)
{
    struct wi_scan_session *c;
    struct wi_scan_reader *r;
    TAILQ_FOREACH(c, &s->sessions, on_server)
    {
        TAILQ_FOREACH(r, &c->readers, on_session)
        {
            if (!r->over && !r->busy && !r->waits && is_idle(s, r->asked_ns)) {
                return r;
            }
        }
    }
    return NULL;
}

static struct wi_scan_scan *idle_scan(struct weir_scan_server *s)
{
    struct wi_scan_scan *scan;
    TAILQ_FOREACH(scan, &s->shared, on_server)
    {
        if (is_idle(s, scan->asked_ns)) {
            return scan;
        }
    }
    return NULL;
}

static struct wi_scan_scan *late_scan(struct weir_scan_server *s)
{
    struct wi_scan_session *c;
    struct wi_scan_reader *r;
    TAILQ_FOREACH(c, &s->sessions, on_server)
    {
        TAILQ_FOREACH(r, &c->readers, on_session)
        {
            if (wi_scan_scan_is_late(r->scan)) {
                return r->scan;
            }
        }
    }
    return NULL;
}

static void end_late(struct weir_scan_server *s)
{
    struct wi_scan_scan *scan = NULL;
    while (s->p.statement_ns != WEIR_FOREVER && (scan = late_scan(s)) != NULL) {
        wi_scan_scan_expire(scan);
    }
}

static void end_idle(struct weir_scan_server *s)
{
    struct wi_scan_reader *r;
    struct wi_scan_scan *scan;
    while ((r = idle_reader(s)) != NULL) {
        wi_scan_reader_end(r);
    }
    while ((scan = idle_scan(s)) != NULL) {
        wi_scan_scan_unlist(scan);
    }
}

/* What is looked at by the clock is found a quarter of its time late. */
static uint64_t clock_ns(const struct weir_scan_server *s)
{
    const uint64_t idle = s->p.idle_ns;
    const uint64_t statement = s->p.statement_ns;
    const uint64_t least = idle < statement ? idle : statement;
    return least == WEIR_FOREVER ? WEIR_FOREVER : least / 4 + 1;
}

/* Somebody may be gone if the worker was woken and no ask was there; asks may
 * hide it, so after those it is looked at by the clock. */
static bool should_check(const struct weir_scan_server *s, uint32_t n_asks,
                         uint64_t now_ns)
{
    uint64_t since_ns = now_ns - s->checked_ns;
    return (s->woken && n_asks == 0) ||
           (s->unchecked && since_ns >= check_ns) || since_ns >= clock_ns(s);
}

static uint64_t wait_ns(const struct weir_scan_server *s)
{
    bool anything = !TAILQ_EMPTY(&s->sessions) || !TAILQ_EMPTY(&s->shared);
    uint64_t clock = anything ? clock_ns(s) : WEIR_FOREVER;
    return s->unchecked && check_ns < clock ? check_ns : clock;
}

void wi_scan_lead(void *arg)
{
    struct weir_scan_server *s = arg;
    uint32_t n_asks = take_all(s);
    uint64_t now_ns = wi_scan_now_ns();
    s->unchecked |= n_asks > 0;
    if (should_check(s, n_asks, now_ns)) {
        s->checked_ns = now_ns;
        s->unchecked = false;
        leave_all(s);
        end_idle(s);
        end_late(s);
    }
    s->woken = false;
    if (!wi_scan_work_can_run(&s->work)) {
        uint64_t timeout_ns = wait_ns(s);
        (void)pthread_mutex_unlock(&s->lock);
        s->woken =
            weir_worker_wait(s->node, s->p.worker, timeout_ns) == WEIR_OK;
        (void)pthread_mutex_lock(&s->lock);
    }
}
