/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a load as the engine sees them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nanoarrow/nanoarrow.h>

#include "services/scan/load_in.h"

static int say(struct wi_scan_load *load, int status, const char *text)
{
    free(load->text);
    load->text = strdup(text);
    return status;
}

/* The oldest FILL. Lets the lock go while its batches are copied. */
static void take_fill(struct wi_scan_load *load)
{
    struct weir_error err = {0};
    struct wi_scan_fill *fill = TAILQ_FIRST(&load->fills);
    TAILQ_REMOVE(&load->fills, fill, next);
    (void)pthread_mutex_unlock(&load->server->lock);
    weir_err code = wi_scan_load_read(load, fill, &err);
    (void)pthread_mutex_lock(&load->server->lock);
    load->ended = (fill->a.flags & WI_SCAN_END) != 0;
    load->failed = code != WEIR_OK || (fill->a.flags & WI_SCAN_FAILED) != 0;
    wi_scan_load_answer(load, fill, code != WEIR_OK ? &err : NULL);
}

/* Waits for a FILL. Returns 0 or an errno value. */
static int wait_fill(struct wi_scan_load *load)
{
    static const uint64_t second = 1000000000;
    struct weir_scan_server *s = load->server;
    if (s->p.idle_ns == WEIR_FOREVER) {
        return pthread_cond_wait(&load->more, &s->lock);
    }
    uint64_t until_ns = wi_scan_now_ns() + s->p.idle_ns;
    struct timespec until = {(time_t)(until_ns / second),
                             (long)(until_ns % second)};
    return pthread_cond_timedwait(&load->more, &s->lock, &until);
}

/* The lock is held. */
static int next(struct wi_scan_load *load, struct ArrowArray *out)
{
    int status = 0;
    while (status == 0) {
        if (load->over) {
            return say(load, ECANCELED, "the client has cancelled, or is gone");
        }
        if (load->failed) {
            return EIO;
        }
        if (load->at < load->n) {
            *out = load->batches[load->at++];
            return 0;
        }
        if (load->ended) {
            out->release = NULL;
            return 0;
        }
        if (!TAILQ_EMPTY(&load->fills)) {
            take_fill(load);
        } else {
            status = wait_fill(load);
        }
    }
    return say(load, status, "the client sends no more rows");
}

static int stream_schema(struct ArrowArrayStream *stream,
                         struct ArrowSchema *out)
{
    const struct wi_scan_load *load = stream->private_data;
    return ArrowSchemaDeepCopy(&load->schema, out);
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct wi_scan_load *load = stream->private_data;
    (void)pthread_mutex_lock(&load->server->lock);
    int status = next(load, out);
    load->cut = load->cut || status != 0;
    (void)pthread_mutex_unlock(&load->server->lock);
    return status;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    const struct wi_scan_load *load = stream->private_data;
    return load->text;
}

static void stream_release(struct ArrowArrayStream *stream)
{
    struct wi_scan_load *load = stream->private_data;
    struct weir_scan_server *s = load->server;
    stream->release = NULL;
    (void)pthread_mutex_lock(&s->lock);
    wi_scan_load_cancel(load);
    wi_scan_load_leave(load);
    (void)pthread_mutex_unlock(&s->lock);
}

char *wi_scan_load_why_cut(struct wi_scan_load *load)
{
    char *why = NULL;
    (void)pthread_mutex_lock(&load->server->lock);
    if (load->cut) {
        why = strdup(load->text != NULL ? load->text : "the rows failed");
    }
    (void)pthread_mutex_unlock(&load->server->lock);
    return why;
}

void wi_scan_load_bind(struct wi_scan_load *load,
                       struct ArrowArrayStream *stream_out)
{
    (void)pthread_mutex_lock(&load->server->lock);
    load->holders++;
    (void)pthread_mutex_unlock(&load->server->lock);
    *stream_out = (struct ArrowArrayStream){stream_schema, stream_next,
                                            stream_error, stream_release, load};
}
