/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of a session. */
#include "connectors/adbc/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/adbc/error.h"

struct stream {
    struct ArrowArrayStream inner;
    struct wi_adbc_session *session;
    struct AdbcError error; /* of the last call */
    AdbcStatusCode status;
};

static AdbcStatusCode status_of(int number)
{
    switch (number) {
    case ECANCELED:
        return ADBC_STATUS_CANCELLED;
    case ETIMEDOUT:
        return ADBC_STATUS_TIMEOUT;
    case EINVAL:
        return ADBC_STATUS_INVALID_ARGUMENT;
    case ECONNRESET:
        return ADBC_STATUS_IO;
    default: /* of the engine, or no memory */
        return ADBC_STATUS_INTERNAL;
    }
}

static int refuse(struct stream *s, int why)
{
    s->status = wi_adbc_session_refuse(s->session, why, &s->error);
    return why;
}

/* After each call, with the session's turn, which it ends. */
static int finish(struct stream *s, int bad)
{
    wi_adbc_drop(&s->error);
    s->error.vendor_code = ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA;
    s->status = ADBC_STATUS_OK;
    if (bad != 0) {
        const char *why = s->inner.get_last_error(&s->inner);
        s->status = wi_adbc_fail(&s->error, status_of(bad), "%s",
                                 why != NULL ? why : strerror(bad));
    }
    wi_adbc_session_leave(s->session);
    return bad;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct stream *s = stream->private_data;
    int why = wi_adbc_session_enter(s->session);
    if (why != 0) {
        return refuse(s, why);
    }
    return finish(s, s->inner.get_schema(&s->inner, out));
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream *s = stream->private_data;
    int why = wi_adbc_session_enter(s->session);
    if (why != 0) {
        return refuse(s, why);
    }
    return finish(s, s->inner.get_next(&s->inner, out));
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    struct stream *s = stream->private_data;
    return s->error.message;
}

/* One that was bound to a statement of its own session may be released in its
 * turn: then there is no other thread to wait for. Another process leaves it to
 * the one that it came from. */
static void release(struct ArrowArrayStream *stream)
{
    struct stream *s = stream->private_data;
    int why = wi_adbc_session_enter(s->session);
    if (why != ECHILD) {
        s->inner.release(&s->inner);
    }
    if (why == 0) {
        wi_adbc_session_leave(s->session);
    }
    wi_adbc_drop(&s->error);
    wi_adbc_session_drop(s->session);
    free(s);
    stream->release = NULL;
}

AdbcStatusCode wi_adbc_stream_init(struct ArrowArrayStream *stream_out,
                                   struct ArrowArrayStream *inner,
                                   struct wi_adbc_session *session,
                                   struct AdbcError *error)
{
    struct stream *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        int entered = wi_adbc_session_enter(session) == 0;
        inner->release(inner);
        if (entered) {
            wi_adbc_session_leave(session);
        }
        return wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory");
    }
    s->inner = *inner;
    s->session = wi_adbc_session_hold(session);
    *stream_out = (struct ArrowArrayStream){get_schema, get_next,
                                            get_last_error, release, s};
    return ADBC_STATUS_OK;
}

const struct AdbcError *wi_adbc_stream_error(struct ArrowArrayStream *stream,
                                             AdbcStatusCode *status)
{
    if (stream == NULL || stream->release != release) {
        return NULL;
    }
    struct stream *s = stream->private_data;
    if (s->status == ADBC_STATUS_OK) {
        return NULL;
    }
    if (status != NULL) {
        *status = s->status;
    }
    return &s->error;
}
