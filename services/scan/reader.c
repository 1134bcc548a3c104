/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/reader.h"

#include <stdlib.h>

#include "services/scan/answer.h"
#include "services/scan/fault_bytes.h"
#include "services/scan/session.h"
#include "services/scan/slots.h"

/* ---- asks ---------------------------------------------------------------- */

static void park(struct wi_scan_reader *r, struct wi_scan_parked *parked,
                 const struct weir_ask *ask)
{
    parked->ask = *ask;
    TAILQ_INSERT_TAIL(&r->asks, parked, next);
}

/* The oldest. There is one. */
static struct weir_ask take_ask(struct wi_scan_reader *r)
{
    struct wi_scan_parked *parked = TAILQ_FIRST(&r->asks);
    struct weir_ask ask = parked->ask;
    TAILQ_REMOVE(&r->asks, parked, next);
    free(parked);
    return ask;
}

static void answer_all(struct wi_scan_reader *r, uint32_t flags)
{
    while (!TAILQ_EMPTY(&r->asks)) {
        struct weir_ask ask = take_ask(r);
        wi_scan_answer_plain(&ask, flags);
    }
}

void wi_scan_reader_next(struct wi_scan_reader *r, const struct weir_ask *ask)
{
    struct wi_scan_parked *parked = malloc(sizeof(*parked));
    if (parked == NULL) {
        wi_scan_answer_refuse(ask, WEIR_ERR_NO_MEMORY, "no memory for a NEXT");
        return;
    }
    park(r, parked, ask);
    r->asked_ns = r->scan->asked_ns = wi_scan_now_ns();
    wi_scan_scan_ready(r->scan, r);
}

/* ---- coming and going ---------------------------------------------------- */

struct wi_scan_reader *wi_scan_reader_make(struct wi_scan_session *session,
                                           struct wi_scan_scan *scan,
                                           const struct weir_ask *ask,
                                           uint64_t call)
{
    struct weir_scan_server *s = scan->server;
    struct wi_scan_reader *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return NULL;
    }
    r->key = wi_scan_key_random();
    if (!wi_scan_ids_put(&s->readers_by_id, &r->key)) {
        free(r);
        return NULL;
    }
    r->session = session;
    r->scan = scan;
    r->call = call;
    r->open = *ask;
    r->opening = true;
    r->asked_ns = wi_scan_now_ns();
    TAILQ_INIT(&r->asks);
    TAILQ_INSERT_TAIL(&session->readers, r, on_session);
    s->stats.readers++;
    wi_scan_scan_join(scan);
    wi_scan_scan_ready(scan, r);
    return r;
}

struct wi_scan_reader *wi_scan_reader_find(struct weir_scan_server *s,
                                           const struct wi_scan_session *of,
                                           const uint64_t *id)
{
    struct wi_scan_reader *r = wi_scan_ids_find(&s->readers_by_id, id);
    return r != NULL && r->session == of && !r->opening ? r : NULL;
}

/* The server closes: that is not the end of the rows. */
static void refuse_all(struct wi_scan_reader *r)
{
    while (!TAILQ_EMPTY(&r->asks)) {
        struct weir_ask ask = take_ask(r);
        wi_scan_answer_refuse(&ask, WEIR_ERR_NOT_FOUND, "nobody serves here");
    }
}

void wi_scan_reader_end(struct wi_scan_reader *r)
{
    struct wi_scan_scan *scan = r->scan;
    bool stopping = scan->server->stopping;
    if (r->over) {
        return;
    }
    r->over = true;
    wi_scan_ids_drop(&scan->server->readers_by_id, &r->key);
    if (stopping) {
        refuse_all(r);
    } else {
        answer_all(r, WI_SCAN_END);
    }
    if (r->opening) {
        r->opening = false;
        wi_scan_answer_refuse(
            &r->open, stopping ? WEIR_ERR_NOT_FOUND : WEIR_ERR_CANCELLED,
            stopping ? "nobody serves here" : "the client has cancelled it");
    }
    wi_scan_scan_ready(scan, r);
    wi_scan_scan_unwant(scan, 1);
}

/* Lets the lock go for the engine's batches. */
static void destroy(struct wi_scan_reader *r)
{
    struct wi_scan_session *session = r->session;
    struct weir_scan_server *s = r->scan->server;
    (void)pthread_mutex_unlock(&s->lock);
    wi_scan_payload_fini(&r->payload);
    (void)pthread_mutex_lock(&s->lock);
    wi_scan_slots_forget(session, r);
    TAILQ_REMOVE(&session->readers, r, on_session);
    s->stats.readers--;
    wi_scan_scan_leave(r->scan);
    free(r);
    wi_scan_session_settle(s, session);
}

/* ---- answers ------------------------------------------------------------- */

/* What goes to the client this time. */
struct sending {
    struct wi_scan_answer answer;
    bool last;
    uint8_t here[WI_SCAN_ANSWER_INLINE];
};

static bool has_schema(const struct wi_scan_reader *r)
{
    return r->opening && r->payload.code == WEIR_OK;
}

/* A fault, or batches; before the first ones the schema. */
static void begin(const struct wi_scan_reader *r, struct sending *out)
{
    const struct wi_scan_scan *scan = r->scan;
    const struct wi_scan_payload *p = &r->payload;
    struct wi_scan_answer *a = &out->answer;
    *a = (struct wi_scan_answer){.code = p->code, .seq = r->seq};
    out->last = p->end || p->code != WEIR_OK || r->announces;
    if (p->code != WEIR_OK) {
        a->n_bytes = scan->fault.len;
        return;
    }
    a->n_batches = p->n;
    a->flags = p->end ? WI_SCAN_END : 0;
    if (has_schema(r)) {
        const struct wi_scan_key *id = r->announces ? &scan->key : &r->key;
        a->id[0] = id->words[0];
        a->id[1] = id->words[1];
        a->flags |= r->announces ? WI_SCAN_SHARED : 0;
        a->rows = scan->rows;
        a->schema_bytes = (uint32_t)scan->schema.len;
    }
    a->n_bytes = wi_scan_parts_bytes(a->schema_bytes, p->splits, p->n);
}

/* Reads what does not change while the reader is busy. */
static void copy(const struct wi_scan_reader *r, const struct sending *out,
                 uint8_t *dst)
{
    const struct wi_scan_scan *scan = r->scan;
    if (r->payload.code != WEIR_OK) {
        memcpy(dst, scan->fault.bytes, scan->fault.len);
    } else {
        wi_scan_parts_copy(scan->schema.bytes, out->answer.schema_bytes,
                           r->payload.splits, r->payload.n, dst);
    }
}

static void count(struct wi_scan_reader *r, const struct sending *out)
{
    struct weir_scan_stats *stats = &r->scan->server->stats;
    stats->batches += r->payload.n;
    stats->rows += r->payload.rows;
    stats->sent_bytes += out->answer.n_bytes;
    if (r->payload.code != WEIR_OK && !r->scan->counted) {
        r->scan->counted = true;
        stats->failed++;
    }
}

/* All is in its place: the oldest ask is answered. None is left if the reader
 * has ended meanwhile. */
static void send(struct wi_scan_reader *r, struct sending *out,
                 struct wi_scan_slot *slot)
{
    struct weir_scan_server *s = r->scan->server;
    if (r->over) {
        if (slot != NULL) {
            wi_scan_slot_free(s, slot);
        }
        return;
    }
    struct weir_ask ask = r->opening ? r->open : take_ask(r);
    uint32_t len = 0;
    r->opening = false;
    r->seq++;
    if (slot != NULL) {
        slot->state = WI_SCAN_SLOT_OUT;
        slot->reader = r;
        r->n_out++;
        out->answer.region = slot->key.words[0];
    } else {
        len = (uint32_t)out->answer.n_bytes;
    }
    count(r, out);
    r->asked_ns = r->scan->asked_ns = wi_scan_now_ns();
    struct wi_scan_scan *scan = r->scan;
    if (out->last) {
        r->over = true;
        wi_scan_ids_drop(&s->readers_by_id, &r->key);
    }
    wi_scan_answer_send(&ask, &out->answer, out->here, len);
    if (out->last) {
        answer_all(r, WI_SCAN_END);
        wi_scan_scan_unwant(scan, 1);
    }
}

/* Memory for it is not to be had. */
static void fail_memory(struct wi_scan_reader *r, const struct weir_error *err)
{
    const struct weir_scan_fault none = {0};
    struct wi_scan_buf fault = {0};
    struct sending out = {.answer = {.code = err->code, .seq = r->seq},
                          .last = true};
    wi_scan_fault_encode(&none, err->message, &fault);
    if (!fault.failed) { /* else an error without a text */
        out.answer.n_bytes = fault.len;
        memcpy(out.here, fault.bytes, fault.len);
    }
    free(fault.bytes);
    send(r, &out, NULL);
}

static void deliver(struct wi_scan_reader *r)
{
    struct weir_scan_server *s = r->scan->server;
    struct weir_error err = {0};
    struct wi_scan_slot *slot = NULL;
    weir_err code = WEIR_OK;
    struct sending out;
    begin(r, &out);
    if (out.answer.n_bytes > sizeof(out.here)) {
        bool must = r->opening || r->n_out == 0;
        slot = wi_scan_slot_take(s, r->session, out.answer.n_bytes, must, &code,
                                 &err);
        if (slot == NULL && code == WEIR_AGAIN) {
            answer_all(r, WI_SCAN_LATER);
            return;
        }
        if (slot == NULL) {
            fail_memory(r, &err);
            return;
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    copy(r, &out, slot != NULL ? slot->base : out.here);
    (void)pthread_mutex_lock(&s->lock);
    send(r, &out, slot);
    (void)pthread_mutex_unlock(&s->lock);
    wi_scan_payload_clear(&r->payload);
    (void)pthread_mutex_lock(&s->lock);
}

void wi_scan_reader_serve(struct wi_scan_reader *r)
{
    if (!r->over && r->payload.taken) {
        deliver(r);
    } else if (!r->over) {
        answer_all(r, WI_SCAN_LATER);
    }
    r->busy = false;
    if (r->over) {
        destroy(r);
    } else if (!TAILQ_EMPTY(&r->asks)) {
        wi_scan_scan_ready(r->scan, r);
    }
}
