/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/reader.h"

#include "core/base/err.h"
#include "core/link/common.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/scan.h"
#include "core/link/worker.h"
#include "core/query/collect.h"
#include "core/query/query.h"
#include "core/query/ring_fail.h"
#include "core/query/shuffle.h"
#include "core/query/take.h"

/* A reader with at most this many rings looks at them itself before it asks the
 * bell: that saves a cache miss or two of latency. */
#define DIRECT_LOOK 4u

/* True if there is no need to ask the bell: all rings there will ever be were
 * looked at. Their marks stay, for weir_worker_wait(). */
static bool look_directly(struct weir_reader *r)
{
    /* E9 acquire: streams[]; pairs with E9 release in attach_stream() */
    uint32_t n = wi_load_acq(&r->n_streams);
    bool all = n == r->n_expected && n <= DIRECT_LOOK;
    for (uint32_t i = 0; i < n && n <= DIRECT_LOOK; i++) {
        struct wi_stream *st = r->streams[i];
        const struct wi_in *in = st->in;
        all = all && in->consumer_worker != WI_ANY_WORKER;
        /* rlx: only a look; wi_in_scan() acquires */
        if (!wi_stream_has_ended(st) && in->consumer_worker != WI_ANY_WORKER &&
            wi_load_rlx(&in->ctl->tail) !=
                wi_load_rlx(&in->scan)) { /* rlx: our own */
            wi_in_prefetch(in);
            wi_reader_make_ready(r, st);
        }
    }
    return all;
}

/* ---- credits that are held back ------------------------------------------ */

/* A credit is sent after this time though the worker has other work: a producer
 * may wait for it with a part-filled frame. */
#define PATIENCE_NS 20000000u

/* The stream has nothing more for now. To its producer an empty ring means a
 * reader that waits, which gets frames that are not full; so the credit is held
 * back until the worker has nothing else to do. */
static void owe(struct weir_reader *r, struct wi_stream *st)
{
    if (st->in->mapped || st->in->consumer_worker == WI_ANY_WORKER) {
        return;
    }
    wi_list_remove(&st->owing);
    wi_list_push_back(&r->owing, &st->owing);
    st->owing_ns = wi_worker_now(r->worker);
    r->worker->owes = true;
}

/* A producer that has ended needs no room. */
static void pay_first(struct weir_reader *r)
{
    struct wi_list *n = wi_list_take(&r->owing);
    const struct wi_stream *st = wi_container_of(n, struct wi_stream, owing);
    if (!wi_stream_has_ended(st)) {
        wi_in_reader_waits(st->in);
    }
}

void wi_reader_pay(struct weir_reader *r)
{
    if (r->owes) {
        r->owes = false;
        wi_common_pay(r->common);
    }
    while (!wi_list_empty(&r->owing)) {
        pay_first(r);
    }
}

/* Has a credit that is held back since then waited for too long? */
static bool is_due(const struct weir_reader *r, uint64_t *since_ns)
{
    uint64_t now_ns = wi_worker_now(r->worker);
    *since_ns = wi_min_u64(*since_ns, now_ns); /* see run_clock.h */
    return now_ns - *since_ns > PATIENCE_NS;
}

static bool first_is_due(struct weir_reader *r)
{
    struct wi_stream *st =
        wi_container_of(r->owing.next, struct wi_stream, owing);
    return is_due(r, &st->owing_ns);
}

/* A worker that looks so often and does nothing else waits, though it does not
 * sleep: that would have sent the credits, too (wait.c). */
#define IDLE_LOOKS 16u

/* The reader has nothing. If its worker has done nothing for some looks, the
 * reader waits. If it has, those that are due are sent: all of them, as the
 * next look may be a while away. */
static void pay_if_idle(struct weir_reader *r)
{
    bool same = r->progress == r->worker->progress;
    r->idle_looks = same ? r->idle_looks + 1 : 0;
    bool idle = r->idle_looks >= IDLE_LOOKS;
    if (r->owes && (idle || is_due(r, &r->owing_ns))) {
        wi_reader_pay(r);
    }
    while (!wi_list_empty(&r->owing) && (idle || first_is_due(r))) {
        pay_first(r);
    }
    r->progress = r->worker->progress;
}

/* ---- held batches -------------------------------------------------------- */

/* Do batches that the caller holds leave the producer no room for its next
 * frame? In a mapped ring that is room for all of it; a posted one is filled in
 * pieces up to the last byte. A node ring may be full of what other workers
 * hold. */
static bool is_full(const struct wi_stream *st)
{
    const struct wi_in *in = st->in;
    /* rlx: only the scanner writes it, which is this worker. E10 acquire: as in
     * held_slot() */
    uint32_t end = wi_load_rlx(&in->held_end);
    uint32_t begin = wi_load_acq(&in->held_begin); /* E10: as above */
    if (end == begin || wi_stream_has_ended(st)) {
        return false;
    }
    const struct wi_held *first = &in->held[begin % WI_HELD_MAX];
    /* E10 acquire: released already, and another thread is moving the head; as
     * in advance_once() */
    if (wi_load_acq(&first->released) != 0) {
        return false;
    }
    if (end - begin == WI_HELD_MAX) {
        return true;
    }
    uint64_t head = first->end - first->header.bytes;
    if (!in->mapped) {
        return in->tail_seen - head >= in->size;
    }
    uint32_t frame =
        wi_min_u32(in->link->engine->cfg.frame_bytes, in->size / 2);
    return in->scan == in->tail_seen &&
           wi_ring_reserve(in->size, in->scan, head, frame, frame).bytes == 0;
}

/* The stream has nothing more for now: because the ring has no room? */
static void note_full(struct weir_reader *r, struct wi_stream *st)
{
    if (st->in->consumer_worker != WI_ANY_WORKER && wi_list_empty(&st->full) &&
        is_full(st)) {
        wi_list_push_back(&r->full, &st->full);
    }
}

static uint32_t count_full(struct weir_reader *r)
{
    uint32_t n = 0;
    wi_list_each(item, &r->full)
    {
        if (is_full(wi_container_of(item, struct wi_stream, full))) {
            n++;
        } else {
            wi_list_remove(item);
        }
    }
    return n;
}

/* ---- the next batch ------------------------------------------------------ */

/* Next batch of one stream, or WEIR_AGAIN. */
static weir_err next_of(struct weir_reader *r, struct wi_stream *st,
                        struct ArrowArray *out)
{
    struct weir_error err;
    weir_err rc = WEIR_DONE;
    while (rc == WEIR_DONE && !wi_stream_has_ended(st)) {
        struct wi_held *slot = NULL;
        if (st->in->consumer_worker == WI_ANY_WORKER && r->common == NULL) {
            struct wi_lq_node *n = wi_lq_take(&st->frames);
            slot = n == NULL ? NULL : wi_container_of(n, struct wi_held, local);
            rc = slot == NULL ? WEIR_AGAIN : WEIR_OK;
        } else {
            rc = wi_in_scan(st->in, &slot, &err);
        }
        if (rc < 0) {
            rc = wi_query_fail_ring(st->in, rc, err.message);
        } else if (rc == WEIR_OK) {
            rc = wi_take_frame(r, st, slot, out);
        }
    }
    if (rc == WEIR_AGAIN && !wi_stream_has_ended(st)) {
        owe(r, st);
        note_full(r, st);
    }
    return wi_stream_has_ended(st) ? WEIR_AGAIN : rc;
}

bool wi_reader_complete(const struct weir_reader *r)
{
    return r->common != NULL ? wi_common_complete(r->common)
                             : r->n_ended == r->n_expected;
}

static void note_source(struct weir_reader *r, const struct wi_stream *st)
{
    r->last_member = st->in->link->member;
    r->last_worker = st->in->producer_worker;
}

static weir_err take_ready(struct weir_reader *r, struct ArrowArray *out)
{
    while (!wi_list_empty(&r->ready)) {
        struct wi_stream *st =
            wi_container_of(r->ready.next, struct wi_stream, ready);
        weir_err rc = next_of(r, st, out);
        if (rc == WEIR_OK) {
            if (st->ready.next != &r->ready) { /* the others' turn */
                wi_list_remove(&st->ready);
                wi_list_push_back(&r->ready, &st->ready);
            }
            note_source(r, st);
            return rc;
        }
        wi_list_remove(&st->ready);
        if (rc != WEIR_AGAIN) {
            return rc;
        }
    }
    return WEIR_AGAIN;
}

/* ---- rings of all workers ------------------------------------------------ */

/* As owe(), of a ring that was left. */
static void owe_common(struct weir_reader *r)
{
    if (!r->owes) {
        r->owes = true;
        r->owing_ns = wi_worker_now(r->worker);
        r->worker->owes = true;
    }
}

/* The next frame of a ring that is ready. */
static weir_err take_common(struct weir_reader *r, struct ArrowArray *out)
{
    struct wi_common *c = r->common;
    struct wi_stream *st;
    weir_err rc = WEIR_AGAIN;
    while (rc == WEIR_AGAIN && (st = wi_common_take(c, &r->turn)) != NULL) {
        rc = next_of(r, st, out);
        if (rc == WEIR_OK) {
            note_source(r, st);
        }
        if (wi_common_leave(c, st, rc == WEIR_OK)) {
            owe_common(r);
        }
    }
    if (rc != WEIR_AGAIN) {
        (void)wi_common_forget(c, r->worker->idx);
        (void)wi_common_share(c, WI_ANY_WORKER);
    }
    return rc;
}

void wi_reader_pass_on(struct weir_reader *r)
{
    if (r->common != NULL) {
        wi_common_pass_on(r->common, r->worker->idx);
    }
}

bool wi_readers_look(struct wi_worker *w)
{
    bool fed = false;
    wi_list_each(n, &w->readers)
    {
        struct weir_reader *r =
            wi_container_of(n, struct weir_reader, on_worker);
        if (r->common != NULL) {
            wi_common_look(r->common);
            fed = wi_common_share(r->common, w->idx) || fed;
        }
    }
    w->happened = w->happened || fed;
    return fed;
}

static weir_err next_common(struct weir_reader *r, struct ArrowArray *out)
{
    struct wi_common *c = r->common;
    wi_common_asks(c, r->worker->idx);
    weir_err rc = take_common(r, out);
    if (rc != WEIR_AGAIN) {
        return rc;
    }
    wi_worker_collect(r->worker, r);
    do {
        wi_common_look(c);
        rc = take_common(r, out);
        if (rc == WEIR_AGAIN && wi_common_complete(c)) {
            return WEIR_DONE;
        }
    } while (rc == WEIR_AGAIN && !wi_common_hunger(c, r->worker->idx));
    if (rc == WEIR_AGAIN) {
        pay_if_idle(r);
    }
    return rc;
}

/* ---- all of them --------------------------------------------------------- */

/* The next batch of the streams that are this reader's own. */
static weir_err next_own(struct weir_reader *r, struct ArrowArray *out)
{
    weir_err rc = wi_list_empty(&r->ready) ? WEIR_AGAIN : take_ready(r, out);
    if (rc == WEIR_AGAIN) {
        if (!look_directly(r) && wi_list_empty(&r->ready)) {
            wi_worker_collect(r->worker, r);
        }
        rc = wi_list_empty(&r->ready) ? WEIR_AGAIN : take_ready(r, out);
    }
    if (rc == WEIR_AGAIN && wi_reader_complete(r)) {
        return WEIR_DONE;
    }
    if (rc == WEIR_AGAIN) {
        pay_if_idle(r);
        rc = count_full(r) != 0 ? WEIR_HELD : rc;
    }
    return rc;
}

weir_err weir_reader_next(weir_reader *r, struct ArrowArray *batch_out)
{
    if (wi_unlikely(r == NULL)) {
        return WEIR_ERR_ARG;
    }
    if (wi_unlikely(batch_out == NULL)) {
        return wi_fail_null(&r->error, "batch_out");
    }
    weir_err rc = wi_query_code(r->shuffle->query);
    if (wi_unlikely(rc != WEIR_OK)) {
        return rc;
    }
    if (r->stopped) {
        return WEIR_DONE;
    }
    rc = r->common != NULL ? next_common(r, batch_out) : next_own(r, batch_out);
    r->worker->progress += rc == WEIR_OK;
    return rc;
}

bool wi_reader_may_get(struct weir_reader *r)
{
    return count_full(r) < r->n_expected - r->n_ended;
}

/* ---- asking -------------------------------------------------------------- */

uint32_t weir_reader_destination(const weir_reader *reader)
{
    if (reader == NULL) {
        return UINT32_MAX;
    }
    const struct weir_shuffle *s = reader->shuffle;
    return s->first_dest + (s->to_node ? 0 : reader->worker->idx);
}

void weir_reader_source(const weir_reader *reader, uint32_t *member_out,
                        uint32_t *worker_out)
{
    if (member_out != NULL) {
        *member_out = reader != NULL ? reader->last_member : UINT32_MAX;
    }
    if (worker_out != NULL) {
        *worker_out = reader != NULL ? reader->last_worker : UINT32_MAX;
    }
}

int weir_reader_source_ended(const weir_reader *reader, uint32_t member,
                             uint32_t worker)
{
    /* E9 acquire: streams[]; pairs with E9 release in attach_stream() */
    uint32_t n = reader != NULL ? wi_load_acq(&reader->n_streams) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct wi_stream *st = reader->streams[i];
        if (st->in->producer_worker == worker &&
            st->in->link->member == member) {
            return wi_stream_has_ended(st) ? 1 : 0;
        }
    }
    return 0;
}

weir_err weir_reader_error(const weir_reader *reader, struct weir_error *err)
{
    if (reader == NULL) {
        return wi_fail_null(err, "reader");
    }
    return wi_error_of(reader->shuffle->query, &reader->error, err);
}

bool wi_reader_expects(const struct weir_reader *r, uint32_t member)
{
    const struct weir_shuffle *s = r->shuffle;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < s->n_producers && !r->stopped; i++) {
        if (s->producers[i] == member) {
            missing = wi_shuffle_workers(s, member, s->producer_workers);
        }
    }
    uint32_t n = wi_load_rlx(&r->n_streams); /* rlx: only the engine adds */
    for (uint32_t i = 0; i < n && missing != 0; i++) {
        missing -= r->streams[i]->in->link->member == member ? 1 : 0;
    }
    return missing != 0;
}
