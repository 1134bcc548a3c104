/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/scan.h"

#include <stddef.h>
#include <stdlib.h>

#include "services/scan/fault_bytes.h"
#include "services/scan/load.h"
#include "services/scan/open.h"
#include "services/scan/reader.h"
#include "services/scan/session.h"
#include "services/scan/slots.h"

/* ---- turns --------------------------------------------------------------- */

/* The queue is a holder, and so is the thread that is busy. */
static void queue(struct wi_scan_scan *scan)
{
    if (!scan->queued && !scan->busy) {
        scan->queued = true;
        scan->holders++;
        wi_scan_work_put(&scan->server->work, &scan->task);
    }
}

void wi_scan_scan_ready(struct wi_scan_scan *scan,
                        struct wi_scan_reader *reader)
{
    if (!reader->waits && !reader->busy) {
        reader->waits = true;
        TAILQ_INSERT_TAIL(&scan->ready, reader, on_ready);
        queue(scan);
    }
}

/* ---- holders ------------------------------------------------------------- */

void wi_scan_scan_join(struct wi_scan_scan *scan)
{
    scan->holders++;
    scan->wanted++;
}

void wi_scan_scan_leave(struct wi_scan_scan *scan)
{
    scan->holders--; /* the thread that runs it is one, too */
}

/* The engine is told, without the lock. */
static void tell(struct wi_scan_scan *scan,
                 void (*how)(struct weir_scan_job *job))
{
    struct weir_scan_server *s = scan->server;
    scan->holders++;
    if (scan->load != NULL) {
        wi_scan_load_cancel(scan->load);
    }
    (void)pthread_mutex_unlock(&s->lock);
    how(&scan->job);
    (void)pthread_mutex_lock(&s->lock);
    queue(scan); /* frees it, if this was its last holder */
    scan->holders--;
}

void wi_scan_scan_unwant(struct wi_scan_scan *scan, uint32_t n)
{
    scan->wanted -= n;
    if (scan->wanted == 0) {
        tell(scan, wi_scan_job_cancel);
    }
}

/* ---- time ---------------------------------------------------------------- */

bool wi_scan_scan_is_late(const struct wi_scan_scan *scan)
{
    return scan->busy && scan->begun_ns != 0 &&
           scan->worked_ns + (wi_scan_now_ns() - scan->begun_ns) >
               scan->server->p.statement_ns;
}

void wi_scan_scan_expire(struct wi_scan_scan *scan)
{
    scan->begun_ns = 0; /* once */
    tell(scan, wi_scan_job_expire);
}

static void begin(struct wi_scan_scan *scan)
{
    scan->busy = true;
    scan->begun_ns = wi_scan_now_ns();
}

static void end(struct wi_scan_scan *scan)
{
    scan->busy = false;
    if (scan->begun_ns != 0) {
        scan->worked_ns += wi_scan_now_ns() - scan->begun_ns;
    }
}

void wi_scan_scan_unlist(struct wi_scan_scan *scan)
{
    struct weir_scan_server *s = scan->server;
    if (scan->listed) {
        uint32_t n = scan->n_left;
        scan->listed = false;
        scan->n_left = 0;
        wi_scan_ids_drop(&s->scans_by_id, &scan->key);
        TAILQ_REMOVE(&s->shared, scan, on_server);
        queue(scan);
        scan->holders--;
        s->n_shared--;
        wi_scan_scan_unwant(scan, n);
    }
}

void wi_scan_scan_open_range(struct wi_scan_scan *scan, uint32_t range)
{
    scan->taken[range] = 1;
    scan->n_left--;
    scan->wanted--;
    scan->asked_ns = wi_scan_now_ns();
    if (scan->n_left == 0) {
        wi_scan_scan_unlist(scan);
    }
}

/* A shared scan can be found from now on, if its engine has said yes. */
static void list(struct wi_scan_scan *scan)
{
    struct weir_scan_server *s = scan->server;
    if (scan->n_ranges == 0 || scan->code != WEIR_OK || scan->wanted == 0) {
        return;
    }
    if (!wi_scan_ids_put(&s->scans_by_id, &scan->key)) {
        wi_scan_scan_fail(scan, WEIR_ERR_NO_MEMORY,
                          "no memory for a shared scan");
        return;
    }
    scan->listed = true;
    scan->n_left = scan->n_ranges;
    scan->wanted += scan->n_ranges;
    scan->holders++;
    scan->asked_ns = wi_scan_now_ns();
    s->n_shared++;
    TAILQ_INSERT_TAIL(&s->shared, scan, on_server);
}

/* ---- work ---------------------------------------------------------------- */

static void drop_room(struct wi_scan_scan *scan)
{
    if (scan->room != NULL) {
        wi_scan_room_drop(scan->server, scan->room);
        scan->room = NULL;
    }
}

static void destroy(struct wi_scan_scan *scan)
{
    struct weir_scan_server *s = scan->server;
    drop_room(scan);
    (void)pthread_mutex_unlock(&s->lock);
    if (scan->kept.release != NULL) {
        scan->kept.release(&scan->kept);
    }
    wi_scan_scan_release(scan);
    (void)pthread_mutex_lock(&s->lock);
    if (scan->load != NULL) {
        wi_scan_load_drop(scan->load);
    }
    if (scan->state != NULL) {
        wi_scan_state_drop(scan->state);
    }
    free(scan->schema.bytes);
    free(scan->fault.bytes);
    wi_scan_scan_free(scan);
}

/* Batches for a reader that has none. */
static void take(struct wi_scan_scan *scan, struct wi_scan_reader *r)
{
    struct weir_scan_server *s = scan->server;
    if (r->over || r->payload.taken ||
        (r->n_out > 0 && !wi_scan_slots_may(s, r->session))) {
        return;
    }
    uint64_t schema =
        r->opening ? wi_scan_parts_bytes((uint32_t)scan->schema.len, NULL, 0)
                   : 0;
    uint64_t limit = s->p.batch_bytes > schema ? s->p.batch_bytes - schema : 0;
    if (r->announces) {
        r->payload.taken = true;
        r->payload.code = scan->code;
        return;
    }
    (void)pthread_mutex_unlock(&s->lock);
    wi_scan_payload_take(scan, &r->payload, limit);
    (void)pthread_mutex_lock(&s->lock);
}

static void open_first(struct wi_scan_scan *scan)
{
    struct weir_scan_server *s = scan->server;
    scan->opened = true;
    s->stats.opened++;
    (void)pthread_mutex_unlock(&s->lock);
    wi_scan_scan_open(scan);
    (void)pthread_mutex_lock(&s->lock);
    drop_room(scan);
    list(scan);
}

static void run(struct wi_scan_task *task)
{
    struct wi_scan_scan *scan =
        (struct wi_scan_scan *)((char *)task -
                                offsetof(struct wi_scan_scan, task));
    scan->queued = false;
    begin(scan);
    if (!scan->opened && scan->wanted > 0) {
        open_first(scan);
    }
    struct wi_scan_reader *r = TAILQ_FIRST(&scan->ready);
    if (r != NULL) {
        TAILQ_REMOVE(&scan->ready, r, on_ready);
        r->waits = false;
        r->busy = true;
        take(scan, r);
    }
    end(scan);
    if (!TAILQ_EMPTY(&scan->ready)) { /* while this one is copied */
        queue(scan);
        wi_scan_work_wake(&scan->server->work, 0);
    }
    if (r != NULL) {
        wi_scan_reader_serve(r);
    }
    if (--scan->holders == 0) {
        destroy(scan);
    }
}

struct wi_scan_scan *wi_scan_scan_make(struct weir_scan_server *s)
{
    struct wi_scan_scan *scan = calloc(1, sizeof(*scan));
    if (scan != NULL) {
        scan->task.run = run;
        scan->key = wi_scan_key_random();
        scan->server = s;
        scan->rows = -1;
        TAILQ_INIT(&scan->ready);
        wi_scan_job_init(&scan->job);
    }
    return scan;
}

void wi_scan_scan_free(struct wi_scan_scan *scan)
{
    if (scan->task.share != NULL) {
        wi_scan_share_drop(scan->task.share);
    }
    wi_scan_job_fini(&scan->job);
    free(scan->taken);
    free(scan->bytes);
    free(scan);
}

void wi_scan_scan_fail(struct wi_scan_scan *scan, weir_err code,
                       const char *text)
{
    const struct weir_scan_fault none = {0};
    const bool late = wi_scan_job_late(&scan->job);
    scan->code = late ? WEIR_ERR_TIMEOUT : code;
    scan->fault.len = 0;
    wi_scan_fault_encode(&none,
                         late ? "the statement has taken all the time that the "
                                "server gives to one"
                              : text,
                         &scan->fault);
    scan->fault.len = scan->fault.failed ? 0 : scan->fault.len;
}
