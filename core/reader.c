/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers: the consuming half of a row's path.
 *
 *   bell --collect--> ready rings of each reader --take--> next frame
 *        --check, export--> ArrowArray whose columns lie in the ring
 *        --release, any thread, any order--> head of the ring moves
 *
 * What lies in a ring was written by a peer: a header is copied before it is
 * checked, and the checked copy is what is used.
 */
#include "core/shuffle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

/* Rings that a reader looks at itself before it asks the bell: with few of
 * them that saves a cache miss or two of latency. */
#define DIRECT_LOOK 4u

/* A batch that owns its memory: reassembled from chunks, or detached. */
struct owned {
    struct wi_export *export_;
    uint8_t *image;
};

/* ---- ready rings ------------------------------------------------------------------- */

struct collect {
    struct wi_worker *worker;
    const struct weir_reader *reader;
    bool others;
};

static void make_ready(struct weir_reader *r, struct wi_in *in)
{
    if (wi_list_empty(&in->ready)) {
        wi_list_push_back(&r->ready, &in->ready);
    }
}

static void collect_one(void *arg, uint32_t id)
{
    struct collect *c = arg;
    struct wi_engine *e = c->worker->engine;
    uint32_t slot = id / e->budget.n_units;
    if (slot >= e->n_slots) {
        return;
    }
    /* E9 acquire: link and in as published; pairs with E9 release in make(),
     * open_in() and add_to_reader(). RCU keeps them while we look. */
    struct wi_link *l = wi_load_acq(&e->slots[slot]);
    struct wi_in *in = l == NULL ? NULL
                                 : wi_load_acq(&l->in[id % e->budget.n_units]);
    if (in == NULL || in->consumer_worker != c->worker->idx) {
        return;
    }
    struct weir_reader *r = wi_load_acq(&in->reader); /* E9: as above */
    if (r != NULL) {
        make_ready(r, in);
        c->others = c->others || r != c->reader;
    }
}

void wi_worker_collect(struct wi_worker *w, const struct weir_reader *reader)
{
    struct collect c = {.worker = w, .reader = reader};
    wi_rcu_lock();
    (void)wi_bell_take(w->bell, collect_one, &c);
    wi_rcu_unlock();
    w->happened = w->happened || c.others;
}

static void look_directly(struct weir_reader *r)
{
    /* E9 acquire: ins[]; pairs with E9 release in add_to_reader() */
    uint32_t n = wi_load_acq(&r->n_ins);
    for (uint32_t i = 0; i < n && n <= DIRECT_LOOK; i++) {
        struct wi_in *in = r->ins[i];
        /* rlx: only a look; take_frame() acquires */
        if (!in->ended && wi_load_rlx(&in->ctl->tail) != in->scan) {
            make_ready(r, in);
        }
    }
}

/* ---- release --------------------------------------------------------------------------- */

static void release_held(struct ArrowArray *batch)
{
    struct wi_held *h = batch->private_data;
    struct wi_in *in = h->in;
    batch->release = NULL;
    /* E10 release: the user's reads; pairs with E10 acquire in
     * advance_once() */
    wi_store_rel(&h->released, 1);
    wi_in_advance(in);
}

static void release_owned(struct ArrowArray *batch)
{
    struct owned *o = batch->private_data;
    batch->release = NULL;
    wi_export_close(o->export_);
    free(o->image);
    free(o);
}

/* Make *out own the frame in image. */
static bool export_owned(const struct wi_schema *s, uint8_t *image,
                         struct ArrowArray *out)
{
    struct owned *o = malloc(sizeof(*o));
    struct wi_export *x = wi_export_open(s);
    if (o == NULL || x == NULL) {
        free(o);
        if (x != NULL) {
            wi_export_close(x);
        }
        return false;
    }
    struct wi_frame_header h;
    memcpy(&h, image, sizeof(h));
    wi_frame_export(s, &h, image, x, out);
    *o = (struct owned){.export_ = x, .image = image};
    out->release = release_owned;
    out->private_data = o;
    return true;
}

weir_err weir_batch_detach(struct ArrowArray *batch)
{
    if (batch->release != release_held) {
        return WEIR_OK; /* owns its memory already */
    }
    struct wi_held *h = batch->private_data;
    uint8_t *image = aligned_alloc(WI_CACHE_LINE, h->bytes);
    if (image == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    memcpy(image, h->frame, h->bytes);
    memcpy(image, &h->header, sizeof(h->header));
    struct ArrowArray copy;
    if (!export_owned(h->in->schema, image, &copy)) {
        free(image);
        return WEIR_ERR_NO_MEMORY;
    }
    release_held(batch);
    *batch = copy;
    return WEIR_OK;
}

/* ---- taking frames ----------------------------------------------------------------------- */

static WI_COLD weir_err fail(struct weir_reader *r, const struct wi_in *in,
                             weir_err code, const char *why)
{
    struct weir_query *q = r->shuffle->query;
    char text[WI_TEXT_BYTES];
    (void)snprintf(text, sizeof(text), "rows from %s worker %u: %.120s",
                   wi_engine_member_name(q->engine, in->link->member),
                   in->producer_worker, why);
    wi_node_lock(q->node);
    wi_query_fail(q, code, text, true);
    wi_node_unlock(q->node);
    return weir_query_status(q, NULL);
}

/* Room in the FIFO of held frames; if not, the release wakes us (E10). */
static struct wi_held *held_slot(struct wi_in *in)
{
    /* rlx: only this worker writes it */
    uint32_t end = wi_load_rlx(&in->held_end);
    /* E10 acquire: the slot was released; pairs with E10 release in
     * advance_once() */
    if (end - wi_load_acq(&in->held_begin) == WI_HELD_MAX) {
        wi_store_sc(&in->starved, 1); /* E10 sc: the wish, then the look */
        /* E10 sc: as above */
        if (end - wi_load_sc(&in->held_begin) == WI_HELD_MAX) {
            return NULL;
        }
    }
    return &in->held[end % WI_HELD_MAX];
}

/* The frame at scan is taken; `released` at once, or when its batch is. */
static void hold(struct wi_in *in, struct wi_held *h, uint32_t bytes,
                 bool released)
{
    in->scan += bytes;
    h->end = in->scan;
    h->in = in;
    wi_store_rlx(&h->released, released ? 1 : 0); /* rlx: E10 below orders */
    /* E10 release: the slot; pairs with E10 acquire in advance_once() */
    wi_store_rel(&in->held_end, wi_load_rlx(&in->held_end) + 1);
    if (released) {
        wi_in_advance(in);
    }
}

static void tally(struct weir_reader *r, struct wi_in *in,
                  const struct wi_frame_header *h)
{
    in->rows += h->rows;
    in->bytes += h->bytes;
    in->checksum += h->checksum;
    in->frames++;
    struct wi_worker_stats *st = &r->worker->stats;
    /* rlx: statistics; only this worker writes them */
    wi_store_rlx(&st->rows_received, wi_load_rlx(&st->rows_received) + h->rows);
    wi_store_rlx(&st->bytes_received,
                 wi_load_rlx(&st->bytes_received) + h->bytes); /* rlx */
    wi_store_rlx(&st->frames_received,
                 wi_load_rlx(&st->frames_received) + 1); /* rlx: as above */
}

static weir_err take_data(struct weir_reader *r, struct wi_in *in,
                          struct wi_held *slot,
                          const struct wi_frame_header *h, const uint8_t *mem,
                          struct ArrowArray *out)
{
    struct weir_error err;
    weir_err rc = wi_frame_check(in->schema, h, mem, &err);
    if (rc != WEIR_OK) {
        return fail(r, in, rc, err.message);
    }
    if (slot->export_ == NULL) {
        slot->export_ = wi_export_open(in->schema);
        if (slot->export_ == NULL) {
            return fail(r, in, WEIR_ERR_QUERY_MEMORY, "no memory");
        }
    }
    wi_frame_export(in->schema, h, mem, slot->export_, out);
    out->release = release_held;
    out->private_data = slot;
    slot->header = *h;
    slot->frame = mem;
    slot->bytes = h->bytes;
    tally(r, in, h);
    hold(in, slot, h->bytes, false);
    return WEIR_OK;
}

static weir_err take_end(struct weir_reader *r, struct wi_in *in,
                         struct wi_held *slot, const uint8_t *mem)
{
    struct wi_frame_end end = wi_frame_get_end(mem);
    if (end.rows != in->rows || end.bytes != in->bytes ||
        end.frames != in->frames || end.checksum != in->checksum ||
        in->image != NULL) {
        char why[160];
        (void)snprintf(why, sizeof(why),
                       "%" PRIu64 " rows in %" PRIu64 " frames were sent, %" PRIu64
                       " in %" PRIu64 " came (checksums %s)",
                       end.rows, end.frames, in->rows, in->frames,
                       end.checksum == in->checksum ? "agree" : "differ");
        return fail(r, in, WEIR_ERR_INTEGRITY, why);
    }
    in->ended = true;
    r->n_ended++;
    hold(in, slot, in->end_bytes, true);
    wi_in_finish_when_empty(in);
    return WEIR_AGAIN;
}

/* Collect one piece of a large row. */
static weir_err take_chunk(struct weir_reader *r, struct wi_in *in,
                           struct wi_held *slot,
                           const struct wi_frame_header *h, const uint8_t *mem,
                           struct ArrowArray *out)
{
    if (in->image == NULL) {
        uint64_t most = in->link->engine->cfg.max_row_bytes;
        if (h->total_bytes > most || h->total_bytes % 64 != 0) {
            return fail(r, in, WEIR_ERR_QUERY_MEMORY,
                        "a row is larger than max_row_bytes here");
        }
        in->image = aligned_alloc(WI_CACHE_LINE, h->total_bytes);
        in->image_bytes = h->total_bytes;
        in->image_used = 0;
    }
    if (in->image == NULL || h->chunk_off != in->image_used ||
        h->total_bytes != in->image_bytes ||
        h->chunk_bytes > in->image_bytes - in->image_used ||
        (h->checksum != 0 && wi_frame_checksum(h, mem) != h->checksum)) {
        return fail(r, in, WEIR_ERR_INTEGRITY, "a row's chunks do not fit");
    }
    memcpy(in->image + in->image_used, mem + sizeof(*h), h->chunk_bytes);
    in->image_used += h->chunk_bytes;
    tally(r, in, h);
    hold(in, slot, h->bytes, true);
    if (in->image_used < in->image_bytes) {
        return WEIR_DONE; /* look at the next frame */
    }
    struct weir_error err;
    struct wi_frame_header row;
    memcpy(&row, in->image, sizeof(row));
    weir_err rc = WEIR_ERR_PEER_PROTOCOL;
    if (row.magic == WI_FRAME_MAGIC && row.kind == WI_FRAME_DATA &&
        row.rows == 1 && row.bytes == in->image_bytes) {
        rc = wi_frame_check(in->schema, &row, in->image, &err);
    }
    if (rc != WEIR_OK) {
        return fail(r, in, rc, "a row in chunks is malformed");
    }
    if (!export_owned(in->schema, in->image, out)) {
        return fail(r, in, WEIR_ERR_QUERY_MEMORY, "no memory");
    }
    in->image = NULL;
    return WEIR_OK;
}

/* The rest of a frame has not come. Look again if it has by now. */
static weir_err more_to_come(struct wi_in *in)
{
    uint64_t seen = in->tail_seen;
    in->tail_seen = wi_load_acq(&in->ctl->tail); /* E1 acquire: as below */
    return in->tail_seen != seen ? WEIR_DONE : WEIR_AGAIN;
}

/* Next batch of one ring. WEIR_AGAIN: none now; WEIR_DONE: look again. */
static weir_err take_frame(struct weir_reader *r, struct wi_in *in,
                           struct ArrowArray *out)
{
    if (in->scan == in->tail_seen) {
        /* E1 acquire: frame bytes before tail; pairs with E1 release in
         * publish() (mapped) and on_notify() (posted) */
        in->tail_seen = wi_load_acq(&in->ctl->tail);
        if (in->scan == in->tail_seen) {
            return WEIR_AGAIN;
        }
    }
    struct wi_held *slot = held_slot(in);
    if (slot == NULL) {
        return WEIR_AGAIN;
    }
    const uint8_t *mem = in->mem + in->scan % in->size;
    struct wi_frame_header h;
    struct weir_error err;
    uint64_t avail = in->tail_seen - in->scan;
    if (in->tail_seen - in->scan > in->size || in->tail_seen % 64 != 0) {
        return fail(r, in, WEIR_ERR_PEER_PROTOCOL, "ring position is wrong");
    }
    memcpy(&h, mem, sizeof(h));
    uint64_t to_end = in->size - in->scan % in->size;
    weir_err rc = wi_frame_check_header(&h, in->scan, in->epoch, to_end, &err);
    if (rc != WEIR_OK) {
        return fail(r, in, rc, err.message);
    }
    if (h.bytes > avail) {
        return more_to_come(in); /* posted rings travel in pieces of any size */
    }
    switch (h.kind) {
    case WI_FRAME_DATA:
        return take_data(r, in, slot, &h, mem, out);
    case WI_FRAME_CHUNK:
        return take_chunk(r, in, slot, &h, mem, out);
    case WI_FRAME_END:
        in->end_bytes = h.bytes;
        return take_end(r, in, slot, mem);
    default:
        hold(in, slot, h.bytes, true);
        return WEIR_DONE;
    }
}

/* ---- the public calls ----------------------------------------------------------------------- */

bool wi_reader_complete(const struct weir_reader *r)
{
    return r->n_ended == r->n_expected;
}

static weir_err take_ready(struct weir_reader *r, struct ArrowArray *out)
{
    while (!wi_list_empty(&r->ready)) {
        struct wi_in *in = wi_container_of(r->ready.next, struct wi_in, ready);
        weir_err rc = WEIR_AGAIN;
        if (!in->ended) {
            do {
                rc = take_frame(r, in, out);
            } while (rc == WEIR_DONE);
        }
        wi_list_remove(&in->ready);
        if (rc == WEIR_OK) {
            wi_list_push_back(&r->ready, &in->ready); /* the others' turn */
            r->last_member = in->link->member;
            r->last_worker = in->producer_worker;
        }
        if (rc != WEIR_AGAIN) {
            return rc;
        }
    }
    return WEIR_AGAIN;
}

weir_err weir_reader_next(weir_reader *r, struct ArrowArray *batch_out)
{
    /* E8 acquire: as in weir_query_status() */
    weir_err rc = (weir_err)wi_load_acq(&r->shuffle->query->code);
    if (wi_unlikely(rc != WEIR_OK)) {
        return rc;
    }
    if (r->stopped) {
        return WEIR_DONE;
    }
    rc = take_ready(r, batch_out);
    if (rc == WEIR_AGAIN) {
        look_directly(r);
        if (wi_list_empty(&r->ready)) {
            wi_worker_collect(r->worker, r);
        }
        rc = take_ready(r, batch_out);
    }
    if (rc == WEIR_AGAIN && wi_reader_complete(r)) {
        return WEIR_DONE;
    }
    return rc;
}

weir_err weir_reader_next_wait(weir_reader *reader,
                               struct ArrowArray *batch_out)
{
    weir_node *node = reader->shuffle->query->node;
    weir_err rc;
    while ((rc = weir_reader_next(reader, batch_out)) == WEIR_AGAIN) {
        (void)weir_worker_wait(node, reader->worker->idx, WEIR_FOREVER);
    }
    return rc;
}

uint32_t weir_reader_destination(const weir_reader *reader)
{
    return reader->shuffle->first_dest + reader->worker->idx;
}

void weir_reader_source(const weir_reader *reader, uint32_t *member_out,
                        uint32_t *worker_out)
{
    *member_out = reader->last_member;
    *worker_out = reader->last_worker;
}

/* ---- opening, stopping, closing ---------------------------------------------------------------- */

/* Links to the producers, so that their loss is noticed; and the edges that
 * came before this reader was open. */
static void find_producers(struct weir_reader *r)
{
    struct weir_shuffle *s = r->shuffle;
    struct wi_engine *e = s->query->engine;
    for (uint32_t i = 0; i < s->n_producers; i++) {
        struct wi_link *l = wi_link_need(e, s->producers[i]);
        if (l == NULL) {
            continue;
        }
        wi_list_each(n, &l->ins)
        {
            struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
            if (in->query_id == s->query->id && in->shuffle_id == s->id &&
                in->consumer_worker == r->worker->idx) {
                wi_in_attach(in, s->query);
            }
        }
    }
}

static weir_err open_locked(struct weir_shuffle *s, uint32_t worker,
                            struct weir_reader **out, struct weir_error *err)
{
    struct wi_engine *e = s->query->engine;
    uint32_t n = s->self_consumes
                     ? wi_shuffle_workers(s, e->self, s->consumer_workers)
                     : 0;
    if (worker >= n) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "worker %u of %s does not consume from shuffle %u",
                       worker, e->name, s->id);
    }
    if (s->readers[worker] != NULL) {
        return wi_fail(err, WEIR_ERR_DUPLICATE,
                       "worker %u has a reader of shuffle %u", worker, s->id);
    }
    struct weir_reader *r = calloc(1, sizeof(*r));
    struct wi_in **ins = calloc(s->n_sources, sizeof(struct wi_in *));
    if (r == NULL || ins == NULL) {
        free(r);
        free(ins);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a reader");
    }
    r->ins = ins;
    r->shuffle = s;
    r->worker = &e->workers[worker];
    r->n_expected = s->n_sources;
    wi_list_init(&r->ready);
    s->readers[worker] = r;
    find_producers(r);
    *out = r;
    return weir_query_status(s->query, err);
}

weir_err weir_reader_open(weir_shuffle *shuffle, uint32_t worker,
                          weir_reader **reader_out, struct weir_error *err)
{
    struct weir_reader *r = NULL;
    wi_node_lock(shuffle->query->node);
    weir_err rc = weir_query_status(shuffle->query, err);
    if (rc == WEIR_OK) {
        rc = open_locked(shuffle, worker, &r, err);
    }
    if (rc == WEIR_OK) {
        *reader_out = r;
    } else if (r != NULL) {
        wi_reader_free(r);
    }
    wi_node_unlock(shuffle->query->node);
    return rc;
}

void weir_reader_stop(weir_reader *reader)
{
    struct weir_query *q = reader->shuffle->query;
    if (reader->stopped || wi_reader_complete(reader)) {
        return;
    }
    wi_node_lock(q->node);
    reader->stopped = true;
    uint32_t n = wi_load_rlx(&reader->n_ins); /* rlx: under the lock */
    for (uint32_t i = 0; i < n; i++) {
        if (!reader->ins[i]->ended) {
            wi_in_stop(reader->ins[i]);
            wi_in_finish_when_empty(reader->ins[i]);
        }
    }
    wi_node_unlock(q->node);
}

void wi_reader_free(struct weir_reader *r)
{
    uint32_t n = wi_load_rlx(&r->n_ins); /* rlx: under the lock */
    for (uint32_t i = 0; i < n; i++) {
        if (wi_load_rlx(&r->ins[i]->reader) == r) { /* rlx: under the lock */
            wi_in_detach(r->ins[i]);
        }
    }
    r->shuffle->readers[r->worker->idx] = NULL;
    free(r->ins);
    wi_rcu_free(&r->rcu, r); /* a collecting worker may be looking at it */
}

void weir_reader_close(weir_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    weir_node *node = reader->shuffle->query->node;
    wi_node_lock(node);
    wi_reader_free(reader);
    wi_node_unlock(node);
}
