/* SPDX-License-Identifier: Apache-2.0 */
/* What programs call to open scans: OPEN and RANGE. */
#include <stdlib.h>
#include <string.h>

#include "services/scan/client_answer.h"
#include "services/scan/client_load.h"
#include "services/scan/client_stream.h"
#include "services/scan/fail.h"
#include "services/scan/request_bytes.h"

/* A call of the program, from its begin to its end. */
struct opening {
    struct weir_scan_client *c;
    struct wi_scan_wait wait;
    struct wi_scan_ask ask;
    struct wi_scan_call *call;     /* NULL: its stream has it, or nobody */
    struct wi_scan_stream *stream; /* made as soon as there is an answer */
    struct wi_scan_answer answer;  /* of the call, once it is over */
    struct ArrowArrayStream *bind;
    bool sent;
    bool answered;
    struct weir_error err;
};

/* ---- beginning and ending ------------------------------------------------ */

static weir_err begin(struct opening *o, struct weir_scan_client *c)
{
    *o = (struct opening){.c = c};
    if (wi_scan_client_inherited(c)) {
        return wi_scan_fail(&o->err, WEIR_ERR_STATE,
                            "the client was connected before this process was "
                            "forked: a child connects one of its own");
    }
    o->wait = wi_scan_wait_begin(c);
    wi_scan_client_fault(c, NULL, NULL);
    wi_scan_pump(c);
    wi_scan_send_gives(c);
    if (c->p.one_session && c->begun && c->hold == NULL) {
        return wi_scan_fail(&o->err,
                            c->hold_err.code != WEIR_OK ? c->hold_err.code
                                                        : WEIR_ERR_STATE,
                            "the session with the server is over, and what it "
                            "had with it: connect again (%s)",
                            c->hold_err.message);
    }
    weir_err code = wi_scan_hold(c);
    if (code == WEIR_AGAIN) {
        code = WEIR_ERR_BUDGET;
    }
    o->call = code == WEIR_OK ? wi_scan_call_make(c) : NULL;
    if (o->call == NULL) {
        return wi_scan_fail(&o->err,
                            code != WEIR_OK ? code : WEIR_ERR_NO_MEMORY,
                            "too much is under way, or no memory, to open a "
                            "scan");
    }
    o->call->brings = true;
    o->call->number = o->ask.call = ++c->last_call;
    return WEIR_OK;
}

static void stop(struct opening *o)
{
    const struct wi_scan_ask ask = {.kind = WI_SCAN_ASK_END,
                                    .call = o->ask.call};
    if (o->stream != NULL) {
        wi_scan_stream_free(o->stream); /* ends the call, too */
    } else if (o->sent && o->c->hold != NULL && o->answer.code == WEIR_OK &&
               (o->answer.flags & WI_SCAN_END) == 0) {
        wi_scan_send_giving(o->c, &ask);
    }
    if (o->call != NULL) {
        wi_scan_call_drop(o->call);
    }
    o->stream = NULL;
    o->call = NULL;
}

/* The last word on an error: the client's fault has its whole text. */
static weir_err finish(struct opening *o, weir_err code, struct weir_error *err)
{
    if (code != WEIR_OK) {
        stop(o);
        if (o->c->fault.text == NULL) {
            wi_scan_client_fault(o->c, o->err.message, NULL);
        }
        if (err != NULL) {
            *err = o->err;
        }
    }
    return code;
}

/* ---- answers ------------------------------------------------------------- */

/* Of asks that the server does not know the client of: why its HOLD ended. */
static weir_err refused(struct opening *o)
{
    const struct weir_error *hold = &o->c->hold_err;
    o->err = o->call->err;
    if (o->err.code == WEIR_ERR_NOT_FOUND && o->c->hold == NULL &&
        hold->code != WEIR_OK) {
        o->err = *hold;
    }
    return o->err.code;
}

/* Look at what came. The stream takes over the call. */
static weir_err take_answer(struct opening *o)
{
    struct wi_scan_call *call = o->call;
    o->answered = true;
    o->c->begun |= call->err.code == WEIR_OK;
    if (call->err.code != WEIR_OK) {
        o->sent = call->err.code == WEIR_ERR_CANCELLED; /* nothing to end */
        return refused(o);
    }
    o->answer = call->answer;
    if (call->answer.code != WEIR_OK) {
        return wi_scan_answer_fault(o->c, call, &o->err);
    }
    if ((call->answer.flags & WI_SCAN_SHARED) != 0) {
        return WEIR_OK;
    }
    o->call = NULL;
    weir_err code = wi_scan_stream_make(call, &o->wait, &o->stream, &o->err);
    if (code == WEIR_OK) {
        wi_scan_stream_ask(o->stream);
    }
    return code;
}

/* Between FILLs: results may have to be taken before more rows are. */
static bool look(void *arg)
{
    struct opening *o = arg;
    if (o->answered) {
        if (o->stream != NULL) {
            wi_scan_stream_ask(o->stream);
        }
        return o->stream != NULL;
    }
    if (o->call->state != WI_SCAN_CALL_OVER) {
        return true;
    }
    weir_err code = take_answer(o);
    if (o->stream != NULL) {
        o->stream->filling = true;
        wi_scan_stream_ask(o->stream);
    }
    return code == WEIR_OK;
}

/* An error of bind comes before the engine's, which is about that; the engine's
 * says more than that it took no more rows. */
static weir_err fill(struct opening *o)
{
    struct weir_error err = {0};
    weir_err code =
        wi_scan_load_rows(&o->wait, o->bind, o->ask.id, look, o, &err);
    if (o->stream != NULL) {
        o->stream->filling = false;
    }
    if (o->answered && o->err.code != WEIR_OK && code != WEIR_ERR_DATA) {
        return o->err.code;
    }
    o->err = err;
    return code;
}

static weir_err say(struct opening *o, const void *here)
{
    weir_err code =
        wi_scan_call_post(&o->wait, o->call, &o->ask, here, &o->err);
    o->sent = code == WEIR_OK;
    if (code == WEIR_OK && o->bind != NULL) {
        code = fill(o);
    }
    if (code != WEIR_OK || o->answered) {
        return code;
    }
    code = wi_scan_call_wait(&o->wait, o->call, &o->err);
    return o->call->state == WI_SCAN_CALL_OVER ? take_answer(o) : code;
}

static weir_err request(struct opening *o, const struct weir_scan_request *r)
{
    struct wi_scan_buf bytes = {0};
    const void *here;
    o->ask.kind = WI_SCAN_ASK_OPEN;
    weir_err code = wi_scan_request_encode(r, &bytes, &o->err);
    if (code == WEIR_OK && o->bind != NULL) {
        code = wi_scan_load_begin(&o->wait, o->bind, o->ask.id, &o->err);
    }
    if (code == WEIR_OK) {
        code = wi_scan_place_bytes(&o->wait, &bytes, &o->ask, &here, &o->err);
    }
    if (code == WEIR_OK) {
        o->c->room_in_use = o->ask.region; /* until OPEN is answered */
        code = say(o, here);
        o->c->room_in_use = 0;
    }
    free(bytes.bytes);
    return code;
}

static void export(struct opening *o, struct ArrowArrayStream *out)
{
    if (out != NULL) {
        wi_scan_stream_export(o->stream, out);
    } else {
        wi_scan_stream_free(o->stream);
    }
    o->stream = NULL;
}

/* ---- the program's ------------------------------------------------------- */

static weir_err null(struct weir_error *err, const char *what)
{
    return wi_scan_fail(err, WEIR_ERR_ARG, "%s is NULL", what);
}

static weir_err not_what_it_is(struct opening *o)
{
    return wi_scan_fail(&o->err, WEIR_ERR_PEER_PROTOCOL,
                        "the server has opened something else");
}

static void release_bind(struct ArrowArrayStream *bind)
{
    if (bind != NULL && bind->release != NULL) {
        bind->release(bind);
    }
}

weir_err weir_scan_open(weir_scan_client *client,
                        const struct weir_scan_request *request_in,
                        struct ArrowArrayStream *stream_out, int64_t *rows_out,
                        struct weir_error *err)
{
    struct opening o;
    if (client == NULL || request_in == NULL) {
        release_bind(request_in != NULL ? request_in->bind : NULL);
        return null(err, client == NULL ? "client" : "request");
    }
    weir_err code = begin(&o, client);
    o.bind = request_in->bind;
    if (code == WEIR_OK) {
        code = request(&o, request_in);
    }
    release_bind(o.bind);
    if (code == WEIR_OK && o.stream == NULL) {
        code = not_what_it_is(&o);
    }
    if (code == WEIR_OK) {
        export(&o, stream_out);
        if (rows_out != NULL) {
            *rows_out = o.answer.rows;
        }
    }
    return finish(&o, code, err);
}

weir_err weir_scan_share(weir_scan_client *client,
                         const struct weir_scan_request *request_in,
                         uint32_t n_ranges, struct weir_scan_id *id_out,
                         struct ArrowSchema *schema_out, struct weir_error *err)
{
    struct opening o;
    if (client == NULL || request_in == NULL || id_out == NULL) {
        return null(err, client == NULL       ? "client"
                         : request_in == NULL ? "request"
                                              : "id_out");
    }
    if (n_ranges == 0 || n_ranges > 65536 || request_in->bind != NULL ||
        request_in->kind != WEIR_SCAN_QUERY) {
        release_bind(request_in->bind);
        return wi_scan_fail(err, WEIR_ERR_ARG,
                            "n_ranges = %u, of 1..65536, or not a QUERY "
                            "without bind",
                            n_ranges);
    }
    weir_err code = begin(&o, client);
    o.ask.n = n_ranges;
    if (code == WEIR_OK) {
        code = request(&o, request_in);
    }
    if (code == WEIR_OK && o.call == NULL) {
        code = not_what_it_is(&o);
    }
    if (code == WEIR_OK && schema_out != NULL) {
        code = wi_scan_answer_schema(o.call, schema_out, &o.err);
    }
    if (code == WEIR_OK) {
        memcpy(id_out->words, o.answer.id, sizeof(id_out->words));
        wi_scan_call_drop(o.call);
        o.call = NULL;
    }
    return finish(&o, code, err);
}

weir_err weir_scan_open_range(weir_scan_client *client,
                              const struct weir_scan_id *id, uint32_t range,
                              struct ArrowArrayStream *stream_out,
                              struct weir_error *err)
{
    struct opening o;
    if (client == NULL || id == NULL || stream_out == NULL) {
        return null(err, client == NULL ? "client"
                         : id == NULL   ? "id"
                                        : "stream_out");
    }
    weir_err code = begin(&o, client);
    o.ask.kind = WI_SCAN_ASK_RANGE;
    o.ask.n = range;
    memcpy(o.ask.id, id->words, sizeof(o.ask.id));
    if (code == WEIR_OK) {
        code = say(&o, NULL);
    }
    if (code == WEIR_OK && o.stream == NULL) {
        code = not_what_it_is(&o);
    }
    if (code == WEIR_OK) {
        export(&o, stream_out);
    }
    return finish(&o, code, err);
}
