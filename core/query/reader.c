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
#include "core/query/shuffle.h"

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

static void make_ready(struct weir_reader *r, struct wi_stream *st)
{
    if (wi_list_empty(&st->ready)) {
        wi_list_push_back(&r->ready, &st->ready);
    }
}

static void collect_stream(struct collect *c, struct wi_stream *st)
{
    /* E9 acquire: pairs with E9 release in attach_stream(). RCU keeps the
     * reader while we look. */
    struct weir_reader *r = wi_load_acq(&st->reader);
    if (r != NULL) {
        make_ready(r, st);
        c->others = c->others || r != c->reader;
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
    /* E9 acquire: link and in as published; pairs with E9 release in
     * wi_link_make(), open_in(). RCU keeps them while we look. */
    struct wi_link *l = wi_load_acq(&e->slots[slot]);
    struct wi_in *in =
        l == NULL ? NULL : wi_load_acq(&l->in[id % e->budget.n_units]);
    if (in == NULL) {
        return;
    }
    if (in->consumer_worker == WI_ANY_WORKER) {
        wi_in_dispatch(in);
    } else if (in->consumer_worker == c->worker->idx) {
        collect_stream(c, &in->streams[0]);
    }
}

/* The local queue: streams of node rings that got frames. */
static void collect_local(struct collect *c)
{
    struct wi_lq_node *n;
    while ((n = wi_lq_take(&c->worker->local)) != NULL) {
        struct wi_stream *st = wi_container_of(n, struct wi_stream, local);
        /* E12 sc: cleared before its frames are taken; pairs with E12 sc in
         * deliver() */
        (void)wi_xchg_sc(&st->queued, 0);
        collect_stream(c, st);
    }
}

void wi_worker_collect(struct wi_worker *w, const struct weir_reader *reader)
{
    struct collect c = {.worker = w, .reader = reader};
    wi_rcu_lock();
    (void)wi_bell_take(w->bell, w->engine->n_ids, collect_one, &c);
    collect_local(&c);
    wi_rcu_unlock();
    w->happened = w->happened || c.others;
}

static bool has_ended(const struct wi_stream *st)
{
    return wi_load_rlx(&st->ended); /* rlx: our own; reports look at it */
}

/* True if there is no need to ask the bell: all rings there will ever be were
 * looked at. Their marks stay for weir_worker_wait(). */
static bool look_directly(struct weir_reader *r)
{
    /* E9 acquire: streams[]; pairs with E9 release in attach_stream() */
    uint32_t n = wi_load_acq(&r->n_streams);
    bool all = n == r->n_expected && n <= DIRECT_LOOK;
    for (uint32_t i = 0; i < n && n <= DIRECT_LOOK; i++) {
        struct wi_stream *st = r->streams[i];
        const struct wi_in *in = st->in;
        all = all && in->consumer_worker != WI_ANY_WORKER;
        /* rlx: only a look; wi_in_scan() acquires */
        if (!has_ended(st) && in->consumer_worker != WI_ANY_WORKER &&
            wi_load_rlx(&in->ctl->tail) !=
                wi_load_rlx(&in->scan)) { /* rlx: our own */
            wi_in_prefetch(in);
            make_ready(r, st);
        }
    }
    return all;
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

/* Check the frame in image and make *out own it. */
static weir_err export_owned(const struct wi_schema *s, uint8_t *image,
                             struct ArrowArray *out, struct weir_error *err)
{
    struct owned *o = malloc(sizeof(*o));
    struct wi_export *x = wi_export_open(s);
    weir_err rc = WEIR_ERR_NO_MEMORY;
    if (o != NULL && x != NULL) {
        struct wi_frame_header h;
        memcpy(&h, image, sizeof(h));
        rc = wi_frame_export(x, &(struct wi_frame_at){.h = &h, .mem = image},
                             out, err);
    }
    if (rc != WEIR_OK) {
        free(o);
        wi_export_close(x);
        return rc;
    }
    *o = (struct owned){.export_ = x, .image = image};
    out->release = release_owned;
    out->private_data = o;
    return WEIR_OK;
}

weir_err weir_batch_detach(struct ArrowArray *batch)
{
    if (batch == NULL || batch->release == NULL) {
        return WEIR_ERR_ARG;
    }
    if (batch->release != release_held) {
        return WEIR_OK; /* owns its memory already */
    }
    struct wi_held *h = batch->private_data;
    uint8_t *image = aligned_alloc(WI_CACHE_LINE, h->header.bytes);
    if (image == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    struct wi_frame_header header = h->header;
    header.checksum = 0; /* compared already */
    memcpy(image, h->frame, header.bytes);
    memcpy(image, &header, sizeof(header));
    struct ArrowArray copy;
    weir_err rc = export_owned(h->in->schema, image, &copy, NULL);
    if (rc != WEIR_OK) {
        free(image);
        return rc;
    }
    release_held(batch);
    *batch = copy;
    return WEIR_OK;
}

/* ---- taking frames ----------------------------------------------------------------------- */

static void tally(struct weir_reader *r, struct wi_stream *st,
                  const struct wi_frame_header *h)
{
    st->rows += h->rows;
    st->bytes += h->bytes;
    st->checksum += h->checksum;
    st->n_frames++;
    struct wi_worker_stats *s = &r->worker->stats;
    wi_stat_add(&s->rows_received, h->rows);
    wi_stat_add(&s->bytes_received, h->bytes);
    wi_stat_add(&s->frames_received, 1);
}

static weir_err take_data(struct weir_reader *r, struct wi_stream *st,
                          struct wi_held *slot, struct ArrowArray *out)
{
    struct wi_in *in = st->in;
    struct weir_error err;
    if (wi_unlikely(slot->export_ == NULL)) {
        slot->export_ = wi_export_open(in->schema);
        if (slot->export_ == NULL) {
            return wi_in_fail(in, WEIR_ERR_QUERY_MEMORY, "no memory");
        }
    }
    struct wi_frame_at at = {.h = &slot->header, .mem = slot->frame};
    if (in->offsets != NULL) {
        at.offsets = in->offsets + (slot->frame - in->mem);
    }
    weir_err rc = wi_frame_export(slot->export_, &at, out, &err);
    if (wi_unlikely(rc != WEIR_OK)) {
        return wi_in_fail(in, rc, err.message);
    }
    out->release = release_held;
    out->private_data = slot;
    tally(r, st, &slot->header);
    return WEIR_OK;
}

static weir_err take_end(struct weir_reader *r, struct wi_stream *st,
                         const struct wi_held *slot)
{
    struct wi_frame_end end = wi_frame_get_end(slot->frame);
    if (end.rows != st->rows || end.bytes != st->bytes ||
        end.frames != st->n_frames || end.checksum != st->checksum ||
        st->image != NULL) {
        char why[160];
        (void)snprintf(why, sizeof(why),
                       "%" PRIu64 " rows in %" PRIu64
                       " frames were sent, %" PRIu64 " in %" PRIu64
                       " came (checksums %s)",
                       end.rows, end.frames, st->rows, st->n_frames,
                       end.checksum == st->checksum ? "agree" : "differ");
        return wi_in_fail(st->in, WEIR_ERR_INTEGRITY, why);
    }
    r->n_ended++;
    wi_stream_ended(st);
    return WEIR_DONE;
}

/* Where the chunks of a large row are collected; false: they do not fit. */
static bool chunk_room(struct wi_stream *st, const struct wi_frame_header *h,
                       const uint8_t *mem)
{
    if (st->image == NULL && h->total_bytes % 64 == 0) {
        st->image = aligned_alloc(WI_CACHE_LINE, h->total_bytes);
        st->image_bytes = h->total_bytes;
        st->image_used = 0;
    }
    return st->image != NULL && h->chunk_off == st->image_used &&
           h->total_bytes == st->image_bytes &&
           h->chunk_bytes <= st->image_bytes - st->image_used &&
           (h->checksum == 0 || wi_frame_checksum(h, mem) == h->checksum);
}

/* All chunks of a row are there: it is a frame of one row. */
static weir_err take_row(struct wi_stream *st, struct ArrowArray *out)
{
    struct weir_error err = {.message = "malformed"};
    struct wi_frame_header row;
    memcpy(&row, st->image, sizeof(row));
    weir_err rc = WEIR_ERR_PEER_PROTOCOL;
    if (row.magic == WI_FRAME_MAGIC && row.kind == WI_FRAME_DATA &&
        row.rows == 1 && row.bytes == st->image_bytes) {
        rc = export_owned(st->in->schema, st->image, out, &err);
    }
    if (rc == WEIR_ERR_NO_MEMORY) {
        return wi_in_fail(st->in, WEIR_ERR_QUERY_MEMORY, "no memory");
    }
    if (rc != WEIR_OK) {
        return wi_in_fail(st->in, rc, err.message);
    }
    st->image = NULL;
    return WEIR_OK;
}

static weir_err take_chunk(struct weir_reader *r, struct wi_stream *st,
                           const struct wi_held *slot, struct ArrowArray *out)
{
    const struct wi_frame_header *h = &slot->header;
    if (h->total_bytes > st->in->link->engine->cfg.max_row_bytes) {
        return wi_in_fail(st->in, WEIR_ERR_QUERY_MEMORY,
                          "a row is larger than max_row_bytes here");
    }
    if (!chunk_room(st, h, slot->frame)) {
        return wi_in_fail(st->in, WEIR_ERR_INTEGRITY,
                          "the chunks of a row do not fit together");
    }
    memcpy(st->image + st->image_used, slot->frame + sizeof(*h),
           h->chunk_bytes);
    st->image_used += h->chunk_bytes;
    tally(r, st, h);
    return st->image_used < st->image_bytes ? WEIR_DONE : take_row(st, out);
}

/* One frame of a stream: WEIR_OK: a batch; WEIR_DONE: look at the next. The
 * slot of a frame that gives no batch, or none that points to it, is released:
 * also of one that is refused, or the ring and its link would never be let go. */
static weir_err take_slot(struct weir_reader *r, struct wi_stream *st,
                          struct wi_held *slot, struct ArrowArray *out)
{
    weir_err rc = WEIR_DONE;
    switch (slot->header.kind) {
    case WI_FRAME_DATA:
        rc = take_data(r, st, slot, out);
        if (rc == WEIR_OK) {
            return rc; /* the slot is released with the batch */
        }
        break;
    case WI_FRAME_CHUNK:
        rc = take_chunk(r, st, slot, out);
        break;
    case WI_FRAME_END:
        rc = take_end(r, st, slot);
        break;
    default:
        break;
    }
    wi_store_rel(&slot->released, 1); /* E10: as in release_held() */
    wi_in_advance(st->in);
    return rc;
}

/* Polls of a reader after which credits are sent though its worker has other
 * work: a producer may sleep on a part-filled frame until it has them. */
#define PATIENCE 1024u

/* The stream has nothing more for now. Its producer takes a ring without
 * anything in it as a reader that waits, and sends frames that are not full: so
 * that credit is held back until the worker has nothing else to do. */
static void owe(struct weir_reader *r, struct wi_stream *st)
{
    if (!st->in->mapped && st->in->consumer_worker != WI_ANY_WORKER &&
        wi_list_empty(&st->owing)) {
        wi_list_push_back(&r->owing, &st->owing);
        r->worker->owes = true;
    }
}

void wi_reader_pay(struct weir_reader *r)
{
    struct wi_list *n;
    r->polls = 0;
    while ((n = wi_list_take(&r->owing)) != NULL) {
        wi_in_starve(wi_container_of(n, struct wi_stream, owing)->in);
    }
}

/* The reader has nothing. If its worker has done nothing else since it was
 * last so, it waits. */
static void pay_if_idle(struct weir_reader *r)
{
    if (wi_list_empty(&r->owing)) {
        return;
    }
    if (r->progress == r->worker->progress || ++r->polls == PATIENCE) {
        wi_reader_pay(r);
    }
    r->progress = r->worker->progress;
}

/* ---- held batches ---------------------------------------------------------------------- */

/* Do batches that the caller holds leave the producer no room for its next
 * frame? In a mapped ring it begins one only where there is room for all of it;
 * into a posted one it goes in pieces, up to the last byte. A node ring may be
 * full of what other workers hold. */
static bool is_full(const struct wi_stream *st)
{
    const struct wi_in *in = st->in;
    /* rlx: only who scans writes it, which is this worker. E10 acquire: as in
     * held_slot() */
    uint32_t end = wi_load_rlx(&in->held_end);
    uint32_t begin = wi_load_acq(&in->held_begin); /* E10: as above */
    if (end == begin || has_ended(st)) {
        return false;
    }
    const struct wi_held *first = &in->held[begin % WI_HELD_MAX];
    /* E10 acquire: released already, and another thread that was at it moves the
     * head; as in advance_once() */
    if (wi_load_acq(&first->released) != 0) {
        return false;
    }
    if (end - begin == WI_HELD_MAX) {
        return true;
    }
    uint64_t head = first->end - first->header.bytes;
    if (!in->mapped) {
        return in->tail_seen - head >= in->size;
    }
    uint32_t frame = in->link->engine->cfg.frame_bytes;
    return in->scan == in->tail_seen &&
           wi_ring_reserve(in->size, in->scan, head, frame, frame).bytes == 0;
}

/* The stream has nothing more for now: is that for want of room? */
static void note_full(struct weir_reader *r, struct wi_stream *st)
{
    if (st->in->consumer_worker != WI_ANY_WORKER && wi_list_empty(&st->full) &&
        is_full(st)) {
        wi_list_push_back(&r->full, &st->full);
    }
}

/* Streams that are still full. */
static uint32_t count_full(struct weir_reader *r)
{
    uint32_t n = 0;
    wi_list_each(item, &r->full)
    {
        if (is_full(wi_container_of(item, struct wi_stream, full))) {
            n++;
        } else {
            wi_list_remove(item);
        }
    }
    return n;
}

/* Next batch of one stream, or WEIR_AGAIN. */
static weir_err take_frame(struct weir_reader *r, struct wi_stream *st,
                           struct ArrowArray *out)
{
    weir_err rc = WEIR_DONE;
    while (rc == WEIR_DONE && !has_ended(st)) {
        struct wi_held *slot = NULL;
        if (st->in->consumer_worker == WI_ANY_WORKER) {
            struct wi_lq_node *n = wi_lq_take(&st->frames);
            slot = n == NULL ? NULL : wi_container_of(n, struct wi_held, local);
            rc = slot == NULL ? WEIR_AGAIN : WEIR_OK;
        } else {
            rc = wi_in_scan(st->in, &slot);
        }
        if (rc == WEIR_OK) {
            rc = take_slot(r, st, slot, out);
        }
    }
    if (rc == WEIR_AGAIN && !has_ended(st)) {
        owe(r, st);
        note_full(r, st);
    }
    return has_ended(st) ? WEIR_AGAIN : rc;
}

/* ---- the public calls ----------------------------------------------------------------------- */

bool wi_reader_complete(const struct weir_reader *r)
{
    return r->n_ended == r->n_expected;
}

static weir_err take_ready(struct weir_reader *r, struct ArrowArray *out)
{
    while (!wi_list_empty(&r->ready)) {
        struct wi_stream *st =
            wi_container_of(r->ready.next, struct wi_stream, ready);
        weir_err rc = take_frame(r, st, out);
        if (rc == WEIR_OK) {
            if (st->ready.next != &r->ready) { /* the others' turn */
                wi_list_remove(&st->ready);
                wi_list_push_back(&r->ready, &st->ready);
            }
            r->last_member = st->in->link->member;
            r->last_worker = st->in->producer_worker;
            return rc;
        }
        wi_list_remove(&st->ready);
        if (rc != WEIR_AGAIN) {
            return rc;
        }
    }
    return WEIR_AGAIN;
}

weir_err weir_reader_next(weir_reader *r, struct ArrowArray *batch_out)
{
    if (wi_unlikely(r == NULL)) {
        return WEIR_ERR_ARG;
    }
    if (wi_unlikely(batch_out == NULL)) {
        return wi_fail_null(&r->error, "batch_out");
    }
    /* E8 acquire: as in weir_query_status() */
    weir_err rc = (weir_err)wi_load_acq(&r->shuffle->query->code);
    if (wi_unlikely(rc != WEIR_OK)) {
        return rc;
    }
    if (r->stopped) {
        return WEIR_DONE;
    }
    rc = wi_list_empty(&r->ready) ? WEIR_AGAIN : take_ready(r, batch_out);
    if (rc == WEIR_AGAIN) {
        if (!look_directly(r) && wi_list_empty(&r->ready)) {
            wi_worker_collect(r->worker, r);
        }
        rc = wi_list_empty(&r->ready) ? WEIR_AGAIN : take_ready(r, batch_out);
    }
    if (rc == WEIR_AGAIN && wi_reader_complete(r)) {
        return WEIR_DONE;
    }
    if (rc == WEIR_AGAIN) {
        pay_if_idle(r);
        rc = count_full(r) != 0 ? WEIR_HELD : rc;
    }
    r->worker->progress += rc == WEIR_OK;
    return rc;
}

/* Is there a producer that has room, or has not come yet? */
static bool may_come(struct weir_reader *r)
{
    return count_full(r) < r->n_expected - r->n_ended;
}

weir_err weir_reader_next_wait(weir_reader *reader,
                               struct ArrowArray *batch_out)
{
    if (reader == NULL) {
        return WEIR_ERR_ARG;
    }
    weir_node *node = reader->shuffle->query->node;
    weir_err rc;
    while ((rc = weir_reader_next(reader, batch_out)) == WEIR_AGAIN ||
           (rc == WEIR_HELD && may_come(reader))) {
        (void)weir_worker_wait(node, reader->worker->idx, WEIR_FOREVER);
    }
    return rc;
}

uint32_t weir_reader_destination(const weir_reader *reader)
{
    return reader != NULL ? reader->shuffle->first_dest + reader->worker->idx
                          : UINT32_MAX;
}

void weir_reader_source(const weir_reader *reader, uint32_t *member_out,
                        uint32_t *worker_out)
{
    if (member_out != NULL) {
        *member_out = reader != NULL ? reader->last_member : UINT32_MAX;
    }
    if (worker_out != NULL) {
        *worker_out = reader != NULL ? reader->last_worker : UINT32_MAX;
    }
}

int weir_reader_source_ended(const weir_reader *reader, uint32_t member,
                             uint32_t worker)
{
    /* E9 acquire: streams[]; pairs with E9 release in attach_stream() */
    uint32_t n = reader != NULL ? wi_load_acq(&reader->n_streams) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct wi_stream *st = reader->streams[i];
        if (st->in->producer_worker == worker &&
            st->in->link->member == member) {
            return has_ended(st) ? 1 : 0;
        }
    }
    return 0;
}

weir_err weir_reader_error(const weir_reader *reader, struct weir_error *err)
{
    if (reader == NULL) {
        return wi_fail_null(err, "reader");
    }
    return wi_error_of(reader->shuffle->query, &reader->error, err);
}

bool wi_reader_expects(const struct weir_reader *r, uint32_t member)
{
    const struct weir_shuffle *s = r->shuffle;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < s->n_producers && !r->stopped; i++) {
        if (s->producers[i] == member) {
            missing = wi_shuffle_workers(s, member, s->producer_workers);
        }
    }
    uint32_t n = wi_load_rlx(&r->n_streams); /* rlx: only the engine adds */
    for (uint32_t i = 0; i < n && missing != 0; i++) {
        missing -= r->streams[i]->in->link->member == member ? 1 : 0;
    }
    return missing != 0;
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
            if (in->query_id == s->query->id && in->shuffle_id == s->id) {
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
                       "worker %u of %s does not consume from shuffle %u: "
                       "%u of its workers do, from 0 on (consumers, "
                       "consumer_workers)",
                       worker, e->name, s->id, n);
    }
    if (s->readers[worker] != NULL) {
        return wi_fail(err, WEIR_ERR_DUPLICATE,
                       "worker %u has a reader of shuffle %u", worker, s->id);
    }
    if ((s->was_read >> worker & 1) != 0) {
        return wi_fail(err, WEIR_ERR_STATE,
                       "worker %u has closed its reader of shuffle %u: one "
                       "reader for each worker and shuffle",
                       worker, s->id);
    }
    struct weir_reader *r = calloc(1, sizeof(*r));
    struct wi_stream **streams =
        calloc(s->n_sources, sizeof(struct wi_stream *));
    uint64_t *came = calloc((s->n_sources + 63) / 64, sizeof(*came));
    if (r == NULL || streams == NULL || came == NULL) {
        free(r);
        free(streams);
        free(came);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a reader");
    }
    r->streams = streams;
    r->came = came;
    r->shuffle = s;
    r->worker = &e->workers[worker];
    r->n_expected = s->n_sources;
    r->opened_ns = e->now_ns;
    wi_list_init(&r->ready);
    wi_list_init(&r->owing);
    wi_list_init(&r->full);
    wi_list_push_back(&r->worker->readers, &r->on_worker);
    s->readers[worker] = r;
    find_producers(r);
    *out = r;
    return weir_query_status(s->query, err);
}

weir_err weir_reader_open(weir_shuffle *shuffle, uint32_t worker,
                          weir_reader **reader_out, struct weir_error *err)
{
    struct weir_error why; /* for the other members */
    weir_err rc = wi_check_args(err, WI_ARG(shuffle), WI_ARG(reader_out));
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_reader *r = NULL;
    struct weir_query *q = shuffle->query;
    err = err != NULL ? err : &why;
    wi_node_lock(q->node);
    rc = weir_query_status(q, err);
    if (rc == WEIR_OK) {
        rc = open_locked(shuffle, worker, &r, err);
    }
    if (rc == WEIR_OK) {
        wi_query_opened(q, WI_MISSING_READER, shuffle->id, worker);
        *reader_out = r;
    } else {
        wi_query_refused(q, WI_MISSING_READER, shuffle->id, worker, err);
    }
    if (rc != WEIR_OK && r != NULL) {
        wi_reader_free(r);
    }
    wi_node_unlock(q->node);
    return rc;
}

void weir_reader_stop(weir_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    struct weir_query *q = reader->shuffle->query;
    if (reader->stopped || wi_reader_complete(reader)) {
        return;
    }
    wi_node_lock(q->node);
    reader->stopped = true;
    uint32_t n = wi_load_rlx(&reader->n_streams); /* rlx: under the lock */
    for (uint32_t i = 0; i < n; i++) {
        wi_stream_stop(reader->streams[i]);
    }
    wi_node_unlock(q->node);
}

void wi_reader_free(struct weir_reader *r)
{
    uint32_t n = wi_load_rlx(&r->n_streams); /* rlx: under the lock */
    for (uint32_t i = 0; i < n; i++) {
        wi_stream_detach(r->streams[i]);
    }
    r->shuffle->readers[r->worker->idx] = NULL;
    r->shuffle->was_read |= 1ull << r->worker->idx;
    wi_list_remove(&r->on_worker);
    free(r->streams);
    free(r->came);
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
