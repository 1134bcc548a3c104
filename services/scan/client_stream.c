/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/client_stream.h"

#include <stdlib.h>
#include <string.h>

#include "services/scan/client_answer.h"
#include "services/scan/client_lend.h"
#include "services/scan/fail.h"

/* ---- failing ------------------------------------------------------------- */

/* Once; its text is that of the client's last fault if there is one. */
static void fail(struct wi_scan_stream *s, const struct weir_error *err,
                 const char *text)
{
    if (s->err.code == WEIR_OK) {
        s->err = *err;
        s->text = text != NULL ? strdup(text) : NULL;
    }
}

static void refuse(struct wi_scan_stream *s, weir_err code, const char *text)
{
    struct weir_error err;
    (void)wi_scan_fail(&err, code, "%s", text);
    fail(s, &err, NULL);
}

/* ---- NEXT ---------------------------------------------------------------- */

/* In order of seq; most come so. False: that one was here before. */
static bool put_in_order(struct wi_scan_stream *s, struct wi_scan_call *call)
{
    uint64_t seq = call->answer.seq;
    struct wi_scan_call *after;
    TAILQ_FOREACH_REVERSE(after, &s->here, wi_scan_calls, next)
    {
        if (after->answer.seq <= seq) {
            break;
        }
    }
    if (seq < s->next_seq || (after != NULL && after->answer.seq == seq)) {
        return false;
    }
    if (after != NULL) {
        TAILQ_INSERT_AFTER(&s->here, after, call, next);
    } else {
        TAILQ_INSERT_HEAD(&s->here, call, next);
    }
    s->n_here++;
    return true;
}

static void take_payload(struct wi_scan_stream *s, struct wi_scan_call *call)
{
    const struct wi_scan_answer *a = &call->answer;
    s->over = s->over || a->code != WEIR_OK || (a->flags & WI_SCAN_END) != 0;
    if (a->code == WEIR_OK && call->payload == NULL) {
        if ((a->flags & WI_SCAN_END) == 0) {
            refuse(s, WEIR_ERR_PEER_PROTOCOL, "an answer without a payload");
        }
        wi_scan_call_drop(call);
    } else if (!put_in_order(s, call)) {
        refuse(s, WEIR_ERR_PEER_PROTOCOL, "a payload came twice");
        wi_scan_call_drop(call);
    }
}

static void next_over(struct wi_scan_call *call)
{
    struct wi_scan_stream *s = call->owner;
    s->asked--;
    if (call->err.code == WEIR_OK &&
        (call->answer.flags & WI_SCAN_LATER) == 0) {
        take_payload(s, call);
        return;
    }
    if (call->err.code == WEIR_ERR_NOT_FOUND) {
        s->gone = call->err; /* unless its end is on the way */
    } else if (call->err.code != WEIR_OK) {
        fail(s, &call->err, NULL);
    } else {
        s->later = true;
        s->later_gives = s->client->n_gives;
    }
    wi_scan_call_drop(call);
}

static bool ask_next(struct wi_scan_stream *s)
{
    struct wi_scan_ask ask = {.kind = WI_SCAN_ASK_NEXT,
                              .id = {s->id[0], s->id[1]}};
    struct wi_scan_call *call = wi_scan_call_make(s->client);
    if (call == NULL) {
        refuse(s, WEIR_ERR_NO_MEMORY, "no memory for an ask");
        return false;
    }
    call->brings = true;
    call->number = s->number;
    call->over = next_over;
    call->owner = s;
    weir_err code = wi_scan_call_ask_giving(call, &ask);
    if (code != WEIR_OK) {
        wi_scan_call_drop(call);
        if (code < 0) {
            refuse(s, code, "an ask was not sent");
        }
        return false;
    }
    s->asked++;
    return true;
}

/* The server had no memory: something was given back since, or nothing of the
 * stream is here any more. What the program keeps counts as not here: its slots
 * are said to be kept, so that the server does not use them again. */
static void end_later(struct wi_scan_stream *s)
{
    struct weir_scan_client *c = s->client;
    (void)pthread_mutex_lock(&c->lock);
    bool given = !TAILQ_EMPTY(&c->given);
    (void)pthread_mutex_unlock(&c->lock);
    if (given || c->n_gives != s->later_gives) {
        s->later = false;
    } else if (s->asked == 0 && s->n_here == 0) {
        s->later = !wi_scan_send_keeping(c, s->number);
    }
}

static bool is_held(const struct wi_scan_stream *s)
{
    return s->client->hold != NULL &&
           memcmp(s->session, s->client->number, sizeof(s->session)) == 0;
}

void wi_scan_stream_ask(struct wi_scan_stream *s)
{
    uint32_t most = s->client->p.ahead;
    if (!s->over && !is_held(s)) {
        const struct weir_error *why = &s->client->hold_err;
        if (why->code != WEIR_OK) {
            fail(s, why, NULL);
        } else {
            refuse(s, WEIR_ERR_PEER_LOST, "the server was lost meanwhile");
        }
    }
    if (s->later) {
        end_later(s);
    }
    while (!s->over && !s->later && s->err.code == WEIR_OK &&
           s->gone.code == WEIR_OK &&
           s->asked + (s->filling ? 0 : s->n_here) < most) {
        if (!ask_next(s)) {
            return;
        }
    }
}

/* ---- batches ------------------------------------------------------------- */

static void drop_first(struct wi_scan_stream *s)
{
    struct wi_scan_call *first = TAILQ_FIRST(&s->here);
    TAILQ_REMOVE(&s->here, first, next);
    s->n_here--;
    s->next_seq++;
    s->walking = false;
    wi_scan_call_drop(first);
}

static weir_err begin_walk(struct wi_scan_stream *s,
                           const struct wi_scan_call *call,
                           struct weir_error *err)
{
    const struct wi_scan_payload *p = call->payload;
    s->walking = true;
    return wi_scan_parts_init(&s->parts, p->base, p->bytes,
                              call->answer.schema_bytes, call->answer.n_batches,
                              err);
}

static weir_err join(struct wi_scan_stream *s, struct wi_scan_payload *p,
                     const struct wi_scan_part_view *v, struct ArrowArray *out,
                     struct weir_error *err)
{
    const struct wi_scan_body body = {v->body, v->body_bytes,
                                      wi_scan_payload_drop, p, p->shared};
    wi_scan_payload_hold(p);
    weir_err code =
        wi_scan_join(&s->shape, v->head, v->head_bytes, &body, out, err);
    if (code != WEIR_OK) {
        wi_scan_payload_drop(p);
    }
    return code;
}

/* The next batch of the first payload; WEIR_DONE: it has no more. */
static weir_err take_batch(struct wi_scan_stream *s, struct ArrowArray *out,
                           struct weir_error *err)
{
    struct wi_scan_call *first = TAILQ_FIRST(&s->here);
    struct wi_scan_part_view v;
    weir_err code = WEIR_OK;
    if (first->answer.code != WEIR_OK) {
        return wi_scan_answer_fault(s->client, first, err);
    }
    if (!s->walking) {
        code = begin_walk(s, first, err);
    }
    if (code == WEIR_OK) {
        code = wi_scan_parts_next(&s->parts, &v, err);
    }
    return code == WEIR_OK ? join(s, first->payload, &v, out, err) : code;
}

/* Is there nothing more to wait for? */
static bool is_at_end(struct wi_scan_stream *s)
{
    const struct wi_scan_call *first = TAILQ_FIRST(&s->here);
    if (s->asked > 0) {
        return false;
    }
    if (first != NULL) {
        refuse(s, WEIR_ERR_PEER_PROTOCOL, "a payload is missing");
    } else if (!s->over && s->gone.code != WEIR_OK) {
        fail(s, &s->gone, NULL);
    }
    return s->over && s->err.code == WEIR_OK;
}

/* What can be handed out now. WEIR_AGAIN: wait; WEIR_DONE: the end. */
static weir_err try_next(struct wi_scan_stream *s, struct ArrowArray *out)
{
    struct weir_error err = {0};
    weir_err code = WEIR_DONE;
    wi_scan_pump(s->client);
    wi_scan_stream_ask(s);
    while (code == WEIR_DONE && s->err.code == WEIR_OK) {
        const struct wi_scan_call *first = TAILQ_FIRST(&s->here);
        if (first == NULL || first->answer.seq != s->next_seq) {
            return is_at_end(s)             ? WEIR_DONE
                   : s->err.code != WEIR_OK ? s->err.code
                                            : WEIR_AGAIN;
        }
        code = take_batch(s, out, &err);
        if (code == WEIR_DONE) {
            drop_first(s);
            wi_scan_stream_ask(s);
        } else if (code != WEIR_OK) {
            fail(s, &err, s->client->fault.text);
        }
    }
    return s->err.code != WEIR_OK ? s->err.code : code;
}

/* ---- the program's ------------------------------------------------------- */

static int status_of(weir_err code)
{
    switch (code) {
    case WEIR_OK:
        return 0;
    case WEIR_ERR_CANCELLED:
        return ECANCELED;
    case WEIR_ERR_NO_MEMORY:
        return ENOMEM;
    case WEIR_ERR_TIMEOUT:
        return ETIMEDOUT;
    case WEIR_ERR_ARG:
        return EINVAL;
    default:
        return weir_err_scope(code) == WEIR_SCOPE_PEER ? ECONNRESET : EIO;
    }
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const struct wi_scan_stream *s = stream->private_data;
    return ArrowSchemaDeepCopy(&s->schema, out);
}

static int give_up(struct wi_scan_stream *s, const struct weir_error *err)
{
    fail(s, err, NULL);
    if (s->client != NULL) {
        const char *text = s->text != NULL ? s->text : s->err.message;
        if (s->client->fault.text == NULL) {
            wi_scan_client_fault(s->client, text, NULL);
        }
    }
    return status_of(s->err.code);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct wi_scan_stream *s = stream->private_data;
    struct weir_error err = {0};
    if (s->client != NULL && wi_scan_client_inherited(s->client)) {
        refuse(s, WEIR_ERR_STATE,
               "the stream was opened before this process was forked");
    }
    if (s->client == NULL || s->err.code != WEIR_OK) {
        return status_of(s->err.code);
    }
    struct wi_scan_wait wait = wi_scan_wait_begin(s->client);
    wait.cancels = s->cancels;
    wi_scan_client_fault(s->client, NULL, NULL);
    for (;;) {
        if (wi_scan_wait_cancelled(&wait)) {
            (void)wi_scan_wait_for(&wait, &err); /* says so */
            return give_up(s, &err);
        }
        weir_err code = try_next(s, out);
        if (code == WEIR_DONE) {
            memset(out, 0, sizeof(*out));
        }
        if (code == WEIR_OK || code == WEIR_DONE) {
            return 0;
        }
        if (code != WEIR_AGAIN) {
            return give_up(s, &s->err);
        }
        if (wi_scan_wait_for(&wait, &err) != WEIR_OK) {
            return give_up(s, &err);
        }
    }
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    const struct wi_scan_stream *s = stream->private_data;
    if (s->err.code == WEIR_OK) {
        return NULL;
    }
    return s->text != NULL ? s->text : s->err.message;
}

static void release(struct ArrowArrayStream *stream)
{
    struct wi_scan_stream *s = stream->private_data;
    stream->release = NULL;
    if (s->client == NULL || !wi_scan_client_inherited(s->client)) {
        wi_scan_stream_free(s);
    }
}

void wi_scan_stream_export(struct wi_scan_stream *s,
                           struct ArrowArrayStream *out)
{
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error,
                                     release, s};
}

/* ---- coming and going ---------------------------------------------------- */

static weir_err init(struct wi_scan_stream *s, const struct wi_scan_call *call,
                     struct weir_error *err)
{
    weir_err code = wi_scan_answer_schema(call, &s->schema, err);
    if (code != WEIR_OK) {
        return code;
    }
    code = wi_scan_shape_init(&s->shape, &s->schema, err);
    if (code != WEIR_OK) {
        s->schema.release(&s->schema);
    }
    return code;
}

weir_err wi_scan_stream_make(struct wi_scan_call *call,
                             const struct wi_scan_wait *wait,
                             struct wi_scan_stream **out,
                             struct weir_error *err)
{
    struct weir_scan_client *c = wait->client;
    struct wi_scan_stream *s = calloc(1, sizeof(*s));
    weir_err code = s != NULL ? init(s, call, err)
                              : wi_scan_fail(err, WEIR_ERR_NO_MEMORY,
                                             "no memory for a stream");
    if (code != WEIR_OK) {
        free(s);
        wi_scan_call_drop(call);
        return code;
    }
    TAILQ_INIT(&s->here);
    s->client = c;
    memcpy(s->id, call->answer.id, sizeof(s->id));
    memcpy(s->session, c->number, sizeof(s->session));
    s->number = call->number;
    s->cancels = wait->cancels;
    TAILQ_INSERT_TAIL(&c->streams, s, next);
    s->over = (call->answer.flags & WI_SCAN_END) != 0;
    if (call->payload == NULL) {
        s->next_seq = 1; /* the schema of no columns has no bytes */
        wi_scan_call_drop(call);
    } else {
        take_payload(s, call);
    }
    *out = s;
    return WEIR_OK;
}

static void drop_here(struct wi_scan_stream *s)
{
    struct wi_scan_call *call;
    while ((call = TAILQ_FIRST(&s->here)) != NULL) {
        TAILQ_REMOVE(&s->here, call, next);
        wi_scan_call_drop(call);
    }
    s->n_here = 0;
}

/* Its NEXTs that are under way are nobody's. */
static void drop_asked(struct wi_scan_stream *s, struct wi_scan_calls *calls)
{
    struct wi_scan_call *call = TAILQ_FIRST(calls);
    while (call != NULL) {
        struct wi_scan_call *next = TAILQ_NEXT(call, next);
        if (call->owner == s) {
            wi_scan_call_drop(call);
        }
        call = next;
    }
}

/* All that it has of the client goes back. */
static void leave(struct wi_scan_stream *s)
{
    struct weir_scan_client *c = s->client;
    drop_here(s);
    drop_asked(s, &c->calls);
    drop_asked(s, &c->to_get);
    TAILQ_REMOVE(&c->streams, s, next);
    if (is_held(s) && s->over) {
        wi_scan_send_gives(c);
    } else if (is_held(s)) {
        const struct wi_scan_ask ask = {.kind = WI_SCAN_ASK_END,
                                        .call = s->number};
        wi_scan_send_giving(c, &ask);
    }
    s->client = NULL;
}

void wi_scan_stream_free(struct wi_scan_stream *s)
{
    if (s->client != NULL) {
        leave(s);
    }
    wi_scan_shape_fini(&s->shape);
    s->schema.release(&s->schema);
    free(s->text);
    free(s);
}

void wi_scan_streams_leave(struct weir_scan_client *c)
{
    struct wi_scan_stream *s;
    while ((s = TAILQ_FIRST(&c->streams)) != NULL) {
        refuse(s, WEIR_ERR_STATE, "its client was disconnected");
        leave(s);
    }
}
