/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A stream of a client: NEXTs under way, and payloads in their order.
 *
 *   ahead = NEXTs under way + payloads here that were not handed out whole
 */
#ifndef WI_SCAN_CLIENT_STREAM_H
#define WI_SCAN_CLIENT_STREAM_H

#include <weir/batch.h>

#include "services/scan/client_call.h"
#include "services/scan/parts.h"
#include "services/scan/shape.h"

struct wi_scan_stream {
    TAILQ_ENTRY(wi_scan_stream) next;
    struct weir_scan_client *client; /* NULL: it is gone */
    struct ArrowSchema schema;
    struct wi_scan_shape shape;
    uint64_t id[2];      /* the reader's */
    uint64_t number;     /* of its OPEN or RANGE */
    uint64_t session[2]; /* the client's number then */
    uint32_t cancels;    /* as of its call */
    uint64_t next_seq;
    struct wi_scan_calls here; /* answered NEXTs with payloads, by seq */
    uint32_t n_here;
    uint32_t asked;             /* NEXTs under way */
    bool walking;               /* the first payload is handed out in parts */
    struct wi_scan_parts parts; /* of that */
    bool over;                  /* the server has sent its end */
    bool later;                 /* it had no memory, */
    uint64_t later_gives;       /* as of so many gives */
    bool filling;               /* its rows are still being sent: no bound */
    struct weir_error gone;     /* a NEXT found no reader */
    struct weir_error err;
    char *text; /* the whole message of err, NULL: err has it */
};

/**
 * A stream, of an OPEN or RANGE that is over and went well.
 *
 * @param call  its payload becomes the stream's first; taken over in any case
 * @param wait  of the call of the program
 *
 * Errors:     WEIR_ERR_SCHEMA, WEIR_ERR_DATA, WEIR_ERR_NO_MEMORY: the reader
 *             has to be ended
 * Blocks:     never
 * Threads:    the worker's
 * Ownership:  wi_scan_stream_free
 */
weir_err wi_scan_stream_make(struct wi_scan_call *call,
                             const struct wi_scan_wait *wait,
                             struct wi_scan_stream **out,
                             struct weir_error *err);

/** Tell the server that no more is wanted, and free. */
void wi_scan_stream_free(struct wi_scan_stream *s);

/** Ask for as many payloads as it may have. Never waits. */
void wi_scan_stream_ask(struct wi_scan_stream *s);

/** Make it the program's. */
void wi_scan_stream_export(struct wi_scan_stream *s,
                           struct ArrowArrayStream *out);

/** The client is given up with streams open: they fail from now on. */
void wi_scan_streams_leave(struct weir_scan_client *c);

#endif /* WI_SCAN_CLIENT_STREAM_H */
