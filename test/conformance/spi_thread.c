/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conformance case of threads: a worker posts and kicks under the post lock of
 * its link while this thread polls both ends, as workers and engine do.
 */
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "core/base/atomic.h"
#include "test/conformance/spi.h"

enum {
    COUNT = 6000,
    SLOTS = 32,
    SLOT_BYTES = 8192,
    READ_EVERY = 16,
    RING_BYTES = SLOTS * SLOT_BYTES,
};

enum phase { WRITE, READ, SEND, NEXT };

/* Work item i: a write to slot i % SLOTS, now and then a read, a message i. */
struct job {
    struct wt_end *from;
    struct wt_end *to;
    struct wi_mem local;  /* slots, then as much room for reads */
    struct wi_mem remote; /* slots, then bytes that are read */
    uint64_t key;
    uint32_t caps;

    pthread_mutex_t post;  /* the link's post lock */
    pthread_cond_t change; /* `changes` has grown */
    uint64_t changes;      /* under post: SENDABLE or received */
    uint64_t received;     /* under post */
    uint64_t posted;       /* under post: writes and reads */
    uint64_t reads;        /* under post */

    /* the worker's */
    uint64_t item;
    enum phase phase;
};

static void *local_slot(const struct job *job, uint64_t i)
{
    return (uint8_t *)job->local.base + i % SLOTS * SLOT_BYTES;
}

static weir_err post_write(struct job *job)
{
    uint64_t off = job->item % SLOTS * SLOT_BYTES;
    struct wi_rma op = {local_slot(job, job->item), SLOT_BYTES, job->key, off};
    if ((job->caps & WI_CAP_WRITE) == 0) {
        return WEIR_OK;
    }
    wt_fill(op.local, SLOT_BYTES, job->item);
    weir_err rc = job->from->ep->transport->ops->write(job->from->ep, &op);
    job->posted += rc == WEIR_OK;
    return rc;
}

static weir_err post_read(struct job *job)
{
    uint64_t off = RING_BYTES + job->item % SLOTS * SLOT_BYTES;
    struct wi_rma op = {(uint8_t *)job->local.base + off, SLOT_BYTES, job->key,
                        off};
    if ((job->caps & WI_CAP_READ) == 0 || job->item % READ_EVERY != 0) {
        return WEIR_OK;
    }
    weir_err rc = job->from->ep->transport->ops->read(job->from->ep, &op);
    job->posted += rc == WEIR_OK;
    job->reads += rc == WEIR_OK;
    return rc;
}

/* One phase of one item. WEIR_AGAIN: not before a change. */
static weir_err step(struct job *job)
{
    switch (job->phase) {
    case WRITE:
        if (job->item - job->received == SLOTS) {
            return WEIR_AGAIN;
        }
        return post_write(job);
    case READ:
        return post_read(job);
    case SEND:
        return job->from->ep->transport->ops->send(job->from->ep, &job->item,
                                                   sizeof(job->item));
    default:
        job->item++;
        return WEIR_OK;
    }
}

static void *run_worker(void *arg)
{
    struct job *job = arg;
    while (job->item < COUNT) {
        pthread_mutex_lock(&job->post);
        uint64_t seen = job->changes;
        weir_err rc = step(job);
        cr_assert(rc == WEIR_OK || rc == WEIR_AGAIN);
        if (job->phase == SEND || rc == WEIR_AGAIN) {
            weir_err kicked =
                job->from->ep->transport->ops->kick(job->from->ep);
            cr_assert(kicked == WEIR_OK || kicked == WEIR_AGAIN);
        }
        if (rc == WEIR_OK) {
            job->phase = job->phase == NEXT ? WRITE : job->phase + 1;
        }
        while (rc == WEIR_AGAIN && job->changes == seen) {
            pthread_cond_wait(&job->change, &job->post);
        }
        pthread_mutex_unlock(&job->post);
    }
    return NULL;
}

static void tell(struct job *job, uint32_t received)
{
    job->received += received;
    job->changes++;
    pthread_cond_signal(&job->change);
}

static void check_item(struct job *job, const struct wi_event *ev)
{
    uint64_t item;
    cr_assert_eq(ev->len, sizeof(item));
    memcpy(&item, ev->bytes, sizeof(item));
    /* Only this thread writes `received`. */
    cr_assert_eq(item, job->received, "messages out of order");
    if (job->caps & WI_CAP_WRITE) {
        uint8_t *slot = (uint8_t *)job->remote.base + item % SLOTS * SLOT_BYTES;
        cr_assert(wt_is_filled(slot, SLOT_BYTES, item), "write %lu",
                  (unsigned long)item);
    }
    pthread_mutex_lock(&job->post);
    tell(job, 1);
    pthread_mutex_unlock(&job->post);
}

static void poll_node(struct wt_spi *spi, uint32_t node, struct job *job)
{
    struct wi_event events[8];
    struct wi_transport *t = spi->t[node];
    uint32_t n = t->ops->poll(t, wt_spi_now(spi), events, 8);
    for (uint32_t i = 0; i < n; i++) {
        struct wt_end *end = events[i].ep->user;
        switch (events[i].kind) {
        case WI_EV_MESSAGE:
            check_item(job, &events[i]);
            break;
        case WI_EV_READ_DONE:
            end->reads_done++;
            break;
        case WI_EV_SENDABLE:
            pthread_mutex_lock(&job->post);
            t->ops->kick(end->ep);
            tell(job, 0);
            pthread_mutex_unlock(&job->post);
            break;
        default:
            cr_assert_fail("event %d", (int)events[i].kind);
        }
    }
}

static bool is_over(struct job *job)
{
    pthread_mutex_lock(&job->post);
    bool over = job->received == COUNT && job->from->reads_done == job->reads &&
                wt_end_completed(job->from) == job->posted;
    pthread_mutex_unlock(&job->post);
    return over;
}

static void poll_beside(struct wt_spi *spi, struct job *job)
{
    for (;;) {
        struct pollfd p[2];
        uint32_t asleep = 0;
        poll_node(spi, 0, job);
        poll_node(spi, 1, job);
        if (is_over(job)) {
            return;
        }
        for (uint32_t i = 0; i < 2; i++) {
            asleep += spi->t[i]->ops->arm(spi->t[i]) == WEIR_OK;
            p[i] = (struct pollfd){.fd = spi->t[i]->ops->fd(spi->t[i]),
                                   .events = POLLIN};
        }
        cr_assert(asleep < 2 || poll(p, 2, 20000) > 0, "a wake-up was lost");
    }
}

void wt_spi_work_is_posted_beside_poll(const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct job job = {.caps = wt_spi_ep_ops(fixture)->caps};
    pthread_t thread;
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &job.from, &job.to);
    wt_spi_drain(&spi);
    job.local = wt_mem_open(&spi, 0, 2 * RING_BYTES);
    job.remote = wt_mem_open(&spi, 1, 2 * RING_BYTES);
    job.key = wt_end_grant(job.to, &job.remote);
    uint8_t *source = (uint8_t *)job.remote.base + RING_BYTES;
    wt_fill(source, RING_BYTES, 99);
    pthread_mutex_init(&job.post, NULL);
    pthread_cond_init(&job.change, NULL);
    cr_assert_eq(pthread_create(&thread, NULL, run_worker, &job), 0);
    poll_beside(&spi, &job);
    pthread_join(thread, NULL);
    if (job.caps & WI_CAP_READ) {
        /* Reads hit every READ_EVERY-th slot. */
        for (uint64_t i = 0; i < SLOTS; i += READ_EVERY) {
            cr_assert_eq(
                memcmp((uint8_t *)job.local.base + RING_BYTES + i * SLOT_BYTES,
                       source + i * SLOT_BYTES, SLOT_BYTES),
                0);
        }
    }
    pthread_cond_destroy(&job.change);
    pthread_mutex_destroy(&job.post);
    wt_end_drop(job.from);
    wt_end_drop(job.to);
    fixture->ops->mem_close(spi.t[0], &job.local);
    fixture->ops->mem_close(spi.t[1], &job.remote);
    wt_spi_close(&spi);
}
