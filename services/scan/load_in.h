/* SPDX-License-Identifier: Apache-2.0 */
/** A load, inside: load.c (asks), load_stream.c (the engine's side), and
 *  load_read.c (bytes of the client). */
#ifndef WI_SCAN_LOAD_IN_H
#define WI_SCAN_LOAD_IN_H

#include "services/scan/load.h"
#include "services/scan/shape.h"

/** A FILL that waits. */
struct wi_scan_fill {
    TAILQ_ENTRY(wi_scan_fill) next;
    struct weir_ask ask;
    struct wi_scan_ask a;
    struct wi_scan_slot *room; /* whose user it is; NULL: bytes follow */
};
TAILQ_HEAD(wi_scan_fills, wi_scan_fill);

struct wi_scan_load {
    struct wi_scan_key key;
    TAILQ_ENTRY(wi_scan_load) on_session;
    struct weir_scan_server *server;
    uint32_t holders; /* session, scan, stream */
    bool held;        /* a scan wants, or has wanted it */
    bool over;        /* no more is wanted */
    bool last;        /* its last FILL has come, */
    bool ended;       /* and was read */
    struct wi_scan_fills fills;
    pthread_cond_t more; /* monotonic */
    /* constant once it is made */
    struct ArrowSchema schema;
    /* of the engine's thread, without the lock */
    struct wi_scan_shape shape;
    bool shaped;
    struct ArrowArray *batches; /* of the FILL read last */
    uint32_t n;
    uint32_t at; /* taken of these */
    bool failed; /* with text; written under the lock */
    bool cut;    /* the engine was told of an error, with text */
    char *text;  /* of get_last_error; of malloc */
};

/** load.c: one holder less. The lock is held. */
void wi_scan_load_leave(struct wi_scan_load *load);

/** load.c: a FILL is over; err: NULL, or what is wrong with it. The lock is
 *  held. */
void wi_scan_load_answer(struct wi_scan_load *load, struct wi_scan_fill *fill,
                         const struct weir_error *err);

/**
 * load_read.c: a load of a schema, its session the holder.
 *
 * @param shared  a peer can write to bytes: they are copied first
 *
 * Errors:     NULL: WEIR_ERR_DATA, WEIR_ERR_SCHEMA (a type that is not known
 *             here), WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  wi_scan_load_free
 */
struct wi_scan_load *wi_scan_load_make(struct weir_scan_server *s,
                                       const uint8_t *bytes, uint64_t len,
                                       bool shared, struct weir_error *err);
void wi_scan_load_free(struct wi_scan_load *load);

/**
 * load_read.c: the batches of a FILL, copied. Those before were taken.
 *
 * Errors:     WEIR_ERR_DATA, WEIR_ERR_NO_MEMORY; load->text has it, too
 * Blocks:     never
 * Threads:    the engine's, the lock not held
 * Ownership:  the load's
 */
weir_err wi_scan_load_read(struct wi_scan_load *load,
                           const struct wi_scan_fill *fill,
                           struct weir_error *err);

#endif /* WI_SCAN_LOAD_IN_H */
