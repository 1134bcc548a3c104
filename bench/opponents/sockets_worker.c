/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker of the sockets opponent: makes rows, forwards those of stage 1,
 * counts and sums those of stage 2; what has arrived goes first, the last
 * stage before the first.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bench/lib/keys.h"
#include "bench/lib/row.h"
#include "bench/opponents/sockets_node.h"
#include "core/base/cc.h"
#include "core/base/err.h"

/* The buffer being filled for one destination. */
struct slot {
    uint8_t *next; /* where the next row goes */
    uint8_t *end;  /* no row begins here or later */
    struct wb_buffer *buffer;
};

struct task {
    struct wb_sockets *s;
    struct wb_worker *worker;
    struct wb_list pending[WB_STAGES];
    struct slot *slots[WB_STAGES]; /* [destination] */
    uint32_t ended[WB_STAGES];     /* producers whose end has come */
    uint64_t made;
    uint32_t row_bytes;
    /* The batch that is made. */
    _Alignas(64) uint8_t rows[WB_BATCH_ROWS * WB_MOST_ROW_BYTES];
};

static const uint64_t stage_seed[WB_STAGES] = {WB_SEED_STAGE1, WB_SEED_STAGE2};

static weir_err send_all(int fd, const void *bytes, size_t len,
                         struct weir_error *err)
{
    const char *p = bytes;
    while (len > 0) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            return wi_fail_errno(err, errno, "send to a peer");
        }
        p += n;
        len -= (size_t)n;
    }
    return WEIR_OK;
}

static weir_err fill_slot(struct task *t, struct slot *slot,
                          struct weir_error *err)
{
    struct wb_buffer *b = wb_pool_take(&t->s->pool);
    slot->buffer = b;
    if (b == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a buffer");
    }
    slot->next = b->rows;
    slot->end = b->rows + WB_BUFFER_ROWS_BYTES / t->row_bytes * t->row_bytes;
    return WEIR_OK;
}

/* Send the buffer of one destination: over its socket, or, to a worker of this
 * node, by handing it over. Leaves an empty one in its place. */
static weir_err send_buffer(struct task *t, uint32_t stage, uint32_t dest,
                            bool end, struct weir_error *err)
{
    struct wb_sockets *s = t->s;
    struct slot *slot = &t->slots[stage][dest];
    struct wb_buffer *b = slot->buffer;
    b->message.bytes = (uint32_t)(slot->next - (uint8_t *)&b->message);
    b->message.stage = (uint8_t)stage;
    b->message.end = end;
    slot->next = b->rows;
    if (dest / s->workers != s->node->self) {
        int fd = s->fd[(size_t)t->worker->worker * s->all_workers + dest];
        return send_all(fd, &b->message, b->message.bytes, err);
    }
    b->source = t->worker->id;
    wb_queue_put(&s->queues[dest % s->workers], b);
    return fill_slot(t, slot, err);
}

static weir_err send_ends(struct task *t, uint32_t stage,
                          struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    /* Start at the own number: else all workers would meet at the first. */
    for (uint32_t i = 0; i < t->s->all_workers && rc == WEIR_OK; i++) {
        uint32_t dest = (t->worker->id + i) % t->s->all_workers;
        rc = send_buffer(t, stage, dest, true, err);
    }
    return rc;
}

/* Partition n rows with these destinations into the open buffers. `bytes`, of a
 * row, is a constant. */
static inline __attribute__((always_inline)) weir_err
scatter(struct task *t, uint32_t stage, const uint8_t *rows, uint32_t n,
        const uint16_t *dest, size_t bytes, struct weir_error *err)
{
    struct slot *slots = t->slots[stage];
    for (uint32_t i = 0; i < n; i++) {
        struct slot *slot = &slots[dest[i]];
        uint8_t *next = slot->next;
        memcpy(next, rows + i * bytes, bytes);
        next += bytes;
        slot->next = next;
        if (wi_unlikely(next == slot->end)) {
            weir_err rc = send_buffer(t, stage, dest[i], false, err);
            if (rc != WEIR_OK) {
                return rc;
            }
        }
    }
    return WEIR_OK;
}

/* Partition up to WB_BATCH_ROWS rows. */
static weir_err push(struct task *t, uint32_t stage, const uint8_t *rows,
                     uint32_t n, struct weir_error *err)
{
    int64_t copied[WB_BATCH_ROWS];
    uint16_t dest[WB_BATCH_ROWS];
    const enum wb_row row = t->worker->row;
    const int64_t *keys = (const int64_t *)(const void *)rows;
    if (row != WB_ROW_NARROW) {
        wb_packed_keys(copied, row, rows, n);
        keys = copied;
    }
    wb_dest_make(dest, keys, n, stage_seed[stage], t->s->all_workers);
    switch (row) {
    case WB_ROW_MIXED:
        return scatter(t, stage, rows, n, dest, WB_MIXED_ROW_BYTES, err);
    case WB_ROW_WIDE:
        return scatter(t, stage, rows, n, dest, WB_WIDE_ROW_BYTES, err);
    default:
        return scatter(t, stage, rows, n, dest, sizeof(int64_t), err);
    }
}

static weir_err forward(struct task *t, const struct wb_buffer *b,
                        struct weir_error *err)
{
    uint32_t n = wb_buffer_count(b, t->row_bytes);
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; i < n && rc == WEIR_OK; i += WB_BATCH_ROWS) {
        rc = push(t, 1, b->rows + (size_t)i * t->row_bytes,
                  wi_min_u32(n - i, WB_BATCH_ROWS), err);
    }
    return rc;
}

static weir_err count(struct task *t, const struct wb_buffer *b, uint32_t n,
                      struct weir_error *err)
{
    struct wb_worker *w = t->worker;
    w->tally->got_rows += n;
    w->tally->got_sum += wb_packed_sum(w->row, b->rows, n);
    if (w->checks_values && !wb_packed_is_right(w->row, b->rows, n)) {
        return wi_fail(err, WEIR_ERR_INTEGRITY, "values changed on their way");
    }
    return WEIR_OK;
}

static weir_err take_buffer(struct task *t, uint32_t stage, struct wb_buffer *b,
                            struct weir_error *err)
{
    uint32_t n = wb_buffer_count(b, t->row_bytes);
    bool end = b->message.end != 0;
    t->worker->edge[stage][b->source] += n;
    weir_err rc = stage == 0 ? forward(t, b, err) : count(t, b, n, err);
    wb_pool_put(&t->s->pool, b);
    if (rc == WEIR_OK && end && ++t->ended[stage] == t->s->all_workers &&
        stage == 0) {
        rc = send_ends(t, 1, err);
    }
    return rc;
}

static weir_err make_batch(struct task *t, struct weir_error *err)
{
    struct wb_worker *w = t->worker;
    struct wb_row_range range = {
        .first = w->first_row + t->made,
        .n = (uint32_t)wi_min_u64(w->rows - t->made, WB_BATCH_ROWS),
        .distinct = w->distinct};
    w->tally->made_sum += wb_packed_make(t->rows, w->row, &range);
    w->tally->made_rows += range.n;
    t->made += range.n;
    weir_err rc = push(t, 0, t->rows, range.n, err);
    return rc == WEIR_OK && t->made == w->rows ? send_ends(t, 0, err) : rc;
}

static weir_err run(struct task *t, struct weir_error *err)
{
    uint32_t producers = t->s->all_workers;
    struct wb_queue *q = &t->s->queues[t->worker->worker];
    bool makes = true;
    while (t->ended[1] < producers) {
        struct wb_buffer *b = NULL;
        uint32_t stage = WB_STAGES;
        while (b == NULL && stage-- > 0) {
            b = wb_list_take(&t->pending[stage]);
        }
        weir_err rc = WEIR_OK;
        if (b != NULL) {
            rc = take_buffer(t, stage, b, err);
        } else {
            rc = wb_queue_take(q, t->pending, !makes);
            if (rc == WEIR_AGAIN) {
                rc = make_batch(t, err);
                makes = t->made < t->worker->rows;
            }
        }
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    return WEIR_OK;
}

static weir_err open_slots(struct task *t, struct weir_error *err)
{
    uint32_t n = t->s->all_workers;
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        t->slots[s] = calloc(n, sizeof(struct slot));
        if (t->slots[s] == NULL) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u slots",
                           n);
        }
        for (uint32_t d = 0; d < n; d++) {
            weir_err rc = fill_slot(t, &t->slots[s][d], err);
            if (rc != WEIR_OK) {
                return rc;
            }
        }
    }
    return WEIR_OK;
}

static void close_slots(struct task *t)
{
    for (uint32_t s = 0; s < WB_STAGES; s++) {
        for (uint32_t d = 0; t->slots[s] != NULL && d < t->s->all_workers;
             d++) {
            if (t->slots[s][d].buffer != NULL) {
                wb_pool_put(&t->s->pool, t->slots[s][d].buffer);
            }
        }
        free(t->slots[s]);
    }
}

weir_err wb_sockets_work(struct wb_sockets *s, struct wb_worker *worker,
                         struct weir_error *err)
{
    struct task *t = aligned_alloc(64, sizeof(*t));
    if (t == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a worker");
    }
    memset(t, 0, offsetof(struct task, rows));
    t->s = s;
    t->worker = worker;
    t->row_bytes = wb_packed_bytes(worker->row);
    weir_err rc = open_slots(t, err);
    if (rc == WEIR_OK) {
        rc = run(t, err);
    }
    close_slots(t);
    free(t);
    if (rc == WEIR_ERR_PEER_LOST) {
        rc = wi_fail(err, rc, "a peer closed its socket before its end");
    }
    return rc;
}
