/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Scans: a request, the stream that an engine answers it with, and whose turn
 * it is to take batches of it.
 *
 *   made (OPEN) --> queued <--> busy: opened, then batches for the first of
 *                                     ready, until nobody is left
 *
 * When nobody wants it any more, the engine is told (job); when its last reader
 * is freed, the stream is released.
 */
#ifndef WI_SCAN_SCAN_H
#define WI_SCAN_SCAN_H

#include "services/scan/buf.h"
#include "services/scan/job.h"
#include "services/scan/server.h"
#include "services/scan/shape.h"

struct wi_scan_scan {
    struct wi_scan_key key; /* of a shared one; first */
    struct wi_scan_task task;
    TAILQ_ENTRY(wi_scan_scan) on_server; /* listed */
    struct weir_scan_server *server;
    struct wi_scan_readers ready;
    uint32_t holders; /* readers, the queue, who is busy, the list of shared
                         ones: it is freed when the last thread leaves it */
    uint32_t wanted;  /* by readers that are not over, and ranges that nobody
                         has opened */
    bool queued;
    bool busy;
    bool opened;
    bool counted;       /* as failed */
    uint64_t begun_ns;  /* when who is busy with it began */
    uint64_t worked_ns; /* before that */
    /* shared */
    uint32_t n_ranges; /* 0: not shared */
    uint32_t n_left;   /* of these, nobody has opened yet */
    uint8_t *taken;    /* [range]: opened */
    uint64_t asked_ns;
    bool listed; /* there are ranges left, and whoever knows it may open them */
    struct wi_scan_state *state; /* of its client; NULL: it is shared */
    /* the request, until it is opened */
    uint8_t *bytes;
    uint64_t n_bytes;
    struct wi_scan_slot *room; /* where it lies; NULL: in bytes */
    struct wi_scan_load *load; /* rows to take in */
    /* of who is busy, without the lock; what is not "kept" or "ended" stays as
       it is once it is opened */
    struct weir_scan_job job;
    struct ArrowArrayStream stream;
    struct wi_scan_shape shape;
    bool shaped;
    struct wi_scan_buf schema;
    int64_t rows;
    struct ArrowArray kept; /* a batch that did not fit */
    bool ended;
    weir_err code; /* it has failed, with */
    struct wi_scan_buf fault;
};

/** A new one, without holders. NULL: no memory. */
struct wi_scan_scan *wi_scan_scan_make(struct weir_scan_server *s);
/** Free one that never had any. */
void wi_scan_scan_free(struct wi_scan_scan *scan);

/** Has the engine worked at it for longer than it may? The lock is held. */
bool wi_scan_scan_is_late(const struct wi_scan_scan *scan);
/** It is cancelled for that. As wi_scan_scan_unwant. */
void wi_scan_scan_expire(struct wi_scan_scan *scan);

/** It has failed: every reader is told; if its time was over, that instead. Who
 *  is busy with it. */
void wi_scan_scan_fail(struct wi_scan_scan *scan, weir_err code,
                       const char *text);

/* What follows is called with the lock held. */

/** A reader comes, and is freed (by a thread that runs the scan). */
void wi_scan_scan_join(struct wi_scan_scan *scan);
void wi_scan_scan_leave(struct wi_scan_scan *scan);

/** A reader waits for its turn. */
void wi_scan_scan_ready(struct wi_scan_scan *scan,
                        struct wi_scan_reader *reader);

/** So many do not want it any more. If nobody does, the engine is told, without
 *  the lock: scan may be freed by then. */
void wi_scan_scan_unwant(struct wi_scan_scan *scan, uint32_t n);

/** A range is opened by a reader that has joined. */
void wi_scan_scan_open_range(struct wi_scan_scan *scan, uint32_t range);

/** Ranges that nobody has opened are given up, as wi_scan_scan_unwant. */
void wi_scan_scan_unlist(struct wi_scan_scan *scan);

#endif /* WI_SCAN_SCAN_H */
