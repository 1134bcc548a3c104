/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merge: one ordered stream out of those of all senders.
 *
 *   sender 0   [chunk of the batch that is being read] [batch] [batch]
 *   sender 1   [chunk                                ] [batch]
 *                ^ next row
 *
 * A heap has the senders in the order of their next rows. Rows are picked until
 * some sender has none left in its chunk; then the picked ones are copied out,
 * a column at a time. Batches stay in the receive rings until they are read, so
 * a sender that is far ahead of the others fills its ring and waits.
 */
#include <stdlib.h>
#include <string.h>

#include "operators/base/arrow.h"
#include "operators/base/fail.h"
#include "operators/base/hash.h"
#include "operators/op/ops.h"

struct sender {
    struct wi_arrow_in *arrow;
    struct wi_chunk chunk;
    uint32_t row;            /* next row of the chunk */
    struct ArrowArray *held; /* [room] batches; held[first] is being read */
    uint32_t first;
    uint32_t n;
    uint32_t room;
    int64_t at; /* rows of held[first] already in chunks */
    uint32_t member;
    uint32_t worker;
};

struct merge {
    struct wi_op op;
    const struct wi_merge_params *p;
    weir_reader *reader;
    struct sender *senders;
    uint32_t n_senders;
    uint32_t *first_of; /* [n_members] index of a member's worker 0 */
    uint32_t *heap;     /* senders with a row, least first */
    uint32_t n_heap;
    uint32_t *dry; /* senders of which a row is needed before the next pick */
    uint32_t n_dry;
    struct wi_vec *own; /* memory of what is given out */
    struct wi_vec *col;
    uint32_t n; /* picked */
    uint32_t from[WI_CHUNK_ROWS];
    uint32_t pos[WI_CHUNK_ROWS];
};

/* ---- order --------------------------------------------------------------- */

static int compare_key(const struct wi_sort_key *key, const struct wi_chunk *a,
                       uint32_t pos_a, const struct wi_chunk *b, uint32_t pos_b)
{
    const struct wi_vec *va = &a->col[key->col];
    const struct wi_vec *vb = &b->col[key->col];
    bool null_a = va->null != NULL && va->null[pos_a];
    bool null_b = vb->null != NULL && vb->null[pos_b];
    if (null_a || null_b) {
        int order = (int)null_a - (int)null_b;
        return key->nulls_first ? -order : order;
    }
    int order = wi_value_compare(va, pos_a, vb, pos_b);
    return key->descending ? -order : order;
}

/* Does sender a's next row come before sender b's? */
static bool before(const struct merge *m, uint32_t a, uint32_t b)
{
    const struct sender *sa = &m->senders[a];
    const struct sender *sb = &m->senders[b];
    for (uint32_t k = 0; k < m->p->n_keys; k++) {
        int order = compare_key(&m->p->keys[k], &sa->chunk, sa->row, &sb->chunk,
                                sb->row);
        if (order != 0) {
            return order < 0;
        }
    }
    return a < b;
}

static void sift_down(struct merge *m, uint32_t i)
{
    uint32_t moved = m->heap[i];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child + 1 < m->n_heap &&
            before(m, m->heap[child + 1], m->heap[child])) {
            child++;
        }
        if (child >= m->n_heap || !before(m, m->heap[child], moved)) {
            break;
        }
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = moved;
}

static void heap_put(struct merge *m, uint32_t sender)
{
    uint32_t i = m->n_heap++;
    while (i != 0 && before(m, sender, m->heap[(i - 1) / 2])) {
        m->heap[i] = m->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    m->heap[i] = sender;
}

/* ---- batches ------------------------------------------------------------- */

static void release_first(struct sender *s)
{
    struct ArrowArray *batch = &s->held[s->first++];
    batch->release(batch);
    s->at = 0;
    if (s->first == s->n) {
        s->first = s->n = 0;
    }
}

/* Room for one more batch of a sender. */
static weir_err make_room(struct merge *m, struct sender *s)
{
    if (s->n < s->room) {
        return WEIR_OK;
    }
    if (s->first != 0) {
        s->n -= s->first;
        memmove(s->held, s->held + s->first, s->n * sizeof(*s->held));
        s->first = 0;
        return WEIR_OK;
    }
    void *held = s->held;
    uint32_t room = s->room == 0 ? 4 : s->room * 2;
    weir_err rc = wi_mem_grow(&m->op.mem, &held, s->room * sizeof(*s->held),
                              room * sizeof(*s->held), &m->op.ctx->err);
    if (rc == WEIR_OK) {
        s->held = held;
        s->room = room;
    }
    return rc;
}

/* Queue a batch that has just come. */
static weir_err keep(struct merge *m, struct ArrowArray *batch)
{
    uint32_t member;
    uint32_t worker;
    weir_reader_source(m->reader, &member, &worker);
    weir_err rc;
    if (member >= m->p->n_members || worker >= m->p->n_workers[member]) {
        rc = wi_exec_fail(&m->op.ctx->err, WEIR_ERR_QUERY_DATA,
                          "rows came from worker %u of member %u, which sends "
                          "none",
                          worker, member);
    } else {
        struct sender *s = &m->senders[m->first_of[member] + worker];
        rc = make_room(m, s);
        if (rc == WEIR_OK) {
            s->held[s->n++] = *batch;
            return WEIR_OK;
        }
    }
    batch->release(batch);
    return rc;
}

/* The next chunk of what is held. False: there is none. The batch of the chunk
 * before is released: its rows were given out before this step. */
static bool next_chunk(struct sender *s)
{
    if (s->first != s->n && s->at == s->held[s->first].length) {
        release_first(s);
    }
    if (s->first == s->n) {
        return false;
    }
    struct ArrowArray *batch = &s->held[s->first];
    int64_t left = batch->length - s->at;
    uint32_t rows = left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS;
    wi_arrow_in_slice(s->arrow, batch, s->at, rows, &s->chunk);
    s->at += rows;
    s->row = 0;
    return true;
}

/* Give the dry senders that have rows their place in the heap. */
static void feed(struct merge *m)
{
    uint32_t still = 0;
    for (uint32_t i = 0; i < m->n_dry; i++) {
        uint32_t sender = m->dry[i];
        struct sender *s = &m->senders[sender];
        if (next_chunk(s)) {
            heap_put(m, sender);
        } else if (weir_reader_source_ended(m->reader, s->member, s->worker) ==
                   0) {
            m->dry[still++] = sender;
        }
    }
    m->n_dry = still;
}

/* Take batches until every sender has ended or has a row. */
static enum wi_state fill(struct merge *m)
{
    struct ArrowArray batch;
    feed(m);
    while (m->n_dry != 0) {
        weir_err rc = weir_reader_next(m->reader, &batch);
        if (rc < 0) {
            struct weir_error said;
            (void)weir_reader_error(m->reader, &said);
            return wi_op_core_failed(&m->op, &said, "merge");
        }
        if (rc == WEIR_OK && keep(m, &batch) != WEIR_OK) {
            return wi_op_failed(&m->op);
        }
        feed(m);
        if (rc == WEIR_DONE) {
            m->n_dry = 0;                            /* all have ended */
        } else if (rc != WEIR_OK && m->n_dry != 0) { /* also WEIR_HELD */
            return WI_WAIT_INPUT;
        }
    }
    return m->n_heap == 0 ? WI_DONE : WI_MOVED;
}

/* ---- rows ---------------------------------------------------------------- */

static void pick(struct merge *m)
{
    m->n = 0;
    while (m->n_heap != 0 && m->n_dry == 0 && m->n < WI_CHUNK_ROWS) {
        uint32_t sender = m->heap[0];
        struct sender *s = &m->senders[sender];
        m->from[m->n] = sender;
        m->pos[m->n++] = s->row++;
        if (s->row == s->chunk.n) {
            m->dry[m->n_dry++] = sender;
            m->heap[0] = m->heap[--m->n_heap];
        }
        if (m->n_heap > 1) {
            sift_down(m, 0);
        }
    }
}

#define COPY(TYPE)                                                             \
    do {                                                                       \
        TYPE *to = m->own[c].values;                                           \
        for (uint32_t i = 0; i < m->n; i++) {                                  \
            const TYPE *values = m->senders[m->from[i]].chunk.col[c].values;   \
            to[i] = values[m->pos[i]];                                         \
        }                                                                      \
    } while (0)

static void copy_values(struct merge *m, uint32_t c)
{
    switch (m->own[c].rep) {
    case WI_BOOL:
        COPY(uint8_t);
        break;
    case WI_I64:
        COPY(int64_t);
        break;
    case WI_I128:
        COPY(wi_i128);
        break;
    case WI_F64:
        COPY(double);
        break;
    case WI_STR:
        COPY(struct wi_str);
        break;
    }
}

static void copy_nulls(struct merge *m, uint32_t c)
{
    uint8_t any = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const uint8_t *null = m->senders[m->from[i]].chunk.col[c].null;
        m->own[c].null[i] = null == NULL ? 0 : null[m->pos[i]];
        any |= m->own[c].null[i];
    }
    m->col[c] = m->own[c];
    if (any == 0) {
        m->col[c].null = NULL;
    }
}

static enum wi_state step(struct wi_op *op, struct wi_chunk *out)
{
    struct merge *m = (struct merge *)op;
    enum wi_state state = fill(m);
    if (state != WI_MOVED) {
        return state;
    }
    pick(m);
    for (uint32_t c = 0; c < m->p->columns->n; c++) {
        copy_values(m, c);
        copy_nulls(m, c);
    }
    *out =
        (struct wi_chunk){.n = m->n, .n_cols = m->p->columns->n, .col = m->col};
    return WI_MOVED;
}

/* ---- opening, stopping, closing ------------------------------------------ */

static void stop(struct wi_op *op)
{
    weir_reader_stop(((struct merge *)op)->reader);
}

static void close_sender(struct merge *m, struct sender *s)
{
    while (s->first != s->n) {
        release_first(s);
    }
    wi_mem_put(&m->op.mem, s->held, s->room * sizeof(*s->held));
    wi_arrow_in_close(s->arrow);
}

static void close(struct wi_op *op)
{
    struct merge *m = (struct merge *)op;
    for (uint32_t i = 0; m->senders != NULL && i < m->n_senders; i++) {
        close_sender(m, &m->senders[i]);
    }
    weir_reader_close(m->reader);
    wi_vecs_close(m->own, m->p->columns->n, &m->op.mem);
    free(m->col);
    free(m->senders);
    free(m->first_of);
    free(m->heap);
    free(m->dry);
    free(m);
}

static const struct wi_op_ops ops = {"merge", step, stop, close};

static weir_err open_senders(struct merge *m)
{
    const struct wi_merge_params *p = m->p;
    uint32_t at = 0;
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; i < p->n_members; i++) {
        m->first_of[i] = at;
        for (uint32_t w = 0; w < p->n_workers[i] && rc == WEIR_OK; w++) {
            struct sender *s = &m->senders[at];
            s->member = i;
            s->worker = w;
            rc = wi_arrow_in_open(p->columns, &m->op.mem, &s->arrow,
                                  &m->op.ctx->err);
            m->dry[m->n_dry++] = at++;
        }
    }
    return rc;
}

static weir_err open_parts(struct merge *m)
{
    const struct wi_merge_params *p = m->p;
    struct weir_error *err = &m->op.ctx->err;
    for (uint32_t i = 0; i < p->n_members; i++) {
        m->n_senders += p->n_workers[i];
    }
    size_t n = (size_t)m->n_senders + 1;
    m->senders = calloc(n, sizeof(*m->senders));
    m->heap = calloc(n, sizeof(*m->heap));
    m->dry = calloc(n, sizeof(*m->dry));
    m->first_of = calloc((size_t)p->n_members + 1, sizeof(*m->first_of));
    m->col = calloc((size_t)p->columns->n + 1, sizeof(*m->col));
    if (m->senders == NULL || m->heap == NULL || m->dry == NULL ||
        m->first_of == NULL || m->col == NULL) {
        return wi_exec_no_memory(err, n * sizeof(*m->senders));
    }
    weir_err rc = wi_vecs_open(p->columns, &m->op.mem, &m->own, err);
    return rc == WEIR_OK ? open_senders(m) : rc;
}

weir_err wi_merge_open(struct wi_ctx *ctx, const struct wi_merge_params *p,
                       weir_reader *reader, struct wi_op **out)
{
    struct merge *m = wi_op_new(ctx, &ops, sizeof(*m), NULL);
    if (m == NULL) {
        weir_reader_close(reader);
        return ctx->err.code;
    }
    m->p = p;
    m->reader = reader;
    weir_err rc = open_parts(m);
    return wi_op_opened(&m->op, rc, out);
}
