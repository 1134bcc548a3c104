/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/members.h"
#include "core/partition/partition_hash.h"
#include "core/query/query.h"
#include "core/query/query_fail.h"
#include "core/query/shuffle.h"

#define MOST_WORDS 32768u    /* of one: about what a core keeps in its L2 */
#define ALL_WORDS (2u << 20) /* of a shuffle */
#define SHARE_OF_MEMORY 16u  /* 1/16 of memory_bytes for those of a node */
#define TRIAL_ROWS 8192u     /* of a lane, before it is judged */
#define WRITER_ROWS 16384u   /* of a writer, before all are judged */
#define WORTH 8u             /* one of so many rows dropped pays */

/* What a consuming worker said. Under the node's lock, but for `whole`. */
struct wi_filter_slot {
    struct wi_bloom *filter;                /* being put together, or whole */
    uint32_t got;                           /* words of it */
    bool refused;                           /* there is no memory for it */
    _Atomic(const struct wi_bloom *) whole; /* E13 */
};

uint32_t wi_filter_most_words(const struct weir_shuffle *s)
{
    uint32_t share = ALL_WORDS / s->n_dest;
    return share < WI_FILTER_PIECE ? WI_FILTER_PIECE
                                   : wi_min_u32(share, MOST_WORDS);
}

/* ---- pieces that come ---------------------------------------------------- */

/* A member of the query sent what no honest one does. */
static void refuse(struct wi_link *l, struct weir_shuffle *s, const char *what)
{
    char text[WI_TEXT_BYTES];
    (void)snprintf(
        text, sizeof(text), "%s (member %u): FILTER of shuffle %u: %s",
        wi_member_name(l->engine, l->member), l->member, s->id, what);
    wi_query_fail(s->query, WEIR_ERR_PEER_PROTOCOL, text);
}

/* How many words of a filter have come. */
static uint32_t words_of(const struct weir_shuffle *s, uint32_t dest)
{
    return s->filters != NULL ? s->filters[dest].got : 0;
}

/* What is wrong with a piece; NULL: nothing. */
static const char *check(const struct weir_shuffle *s, uint32_t dest,
                         const struct wi_msg_filter *m)
{
    if (s->kind != WEIR_HASH) {
        return "its rows have no keys";
    }
    if (dest == UINT32_MAX) {
        return "that worker does not consume";
    }
    if (m->n_words == 0 || m->n_words > wi_filter_most_words(s)) {
        return "its size";
    }
    uint32_t got = words_of(s, dest);
    if (m->first >= m->n_words || (got != 0 && m->first != got)) {
        return "pieces come in order, and once";
    }
    if (got != 0 && !s->filters[dest].refused &&
        s->filters[dest].filter->n_words != m->n_words) {
        return "pieces of different filters";
    }
    return NULL;
}

/* Memory for a filter, within the node's share for filters. */
static struct wi_bloom *begin(struct wi_engine *e, uint32_t n_words)
{
    uint64_t bytes = n_words * sizeof(uint64_t);
    if (e->filter_bytes + bytes > e->cfg.memory_bytes / SHARE_OF_MEMORY) {
        return NULL;
    }
    struct wi_bloom *f = wi_bloom_open(n_words);
    e->filter_bytes += f != NULL ? bytes : 0;
    return f;
}

static void take_piece(struct weir_shuffle *s, uint32_t dest,
                       const struct wi_msg_filter *m)
{
    struct wi_filter_slot *slot = &s->filters[dest];
    uint32_t n = wi_min_u32(m->n_words - slot->got, WI_FILTER_PIECE);
    if (slot->got == 0) {
        slot->filter = begin(s->query->engine, m->n_words);
        slot->refused = slot->filter == NULL;
    }
    if (!slot->refused) {
        memcpy(slot->filter->words + slot->got, m->words, n * sizeof(uint64_t));
    }
    slot->got += n;
    if (slot->got == m->n_words && !slot->refused) {
        /* E13 release: words of the filter; pairs with E13 acquire in
         * sift_lane() */
        wi_store_rel(&slot->whole, slot->filter);
        /* E13 release: the first one comes with the array of slots; pairs with
         * E13 acquire in wi_writer_sifts() */
        wi_store_rel(&s->n_filters, ++s->n_whole);
    }
}

void wi_query_on_filter(struct wi_link *l, const struct wi_msg_filter *m)
{
    struct weir_query *q = wi_query_find(l->engine, m->query);
    if (q == NULL || q->failing || !wi_query_has(q, l->member)) {
        return; /* over, not open yet, or none of the sender's business */
    }
    struct weir_shuffle *s = wi_shuffle_find(q, m->shuffle);
    if (s == NULL || !s->self_produces) {
        return;
    }
    uint32_t dest = wi_shuffle_dest(s, l->member, m->worker);
    const char *wrong = check(s, dest, m);
    if (wrong != NULL) {
        refuse(l, s, wrong);
        return;
    }
    if (m->first != 0 && words_of(s, dest) == 0) {
        return; /* it began before the shuffle was open here */
    }
    if (s->filters == NULL) {
        s->filters = calloc(s->n_dest, sizeof(*s->filters));
    }
    if (s->filters != NULL) {
        take_piece(s, dest, m);
    }
}

void wi_filters_free(struct weir_shuffle *s)
{
    for (uint32_t d = 0; s->filters != NULL && d < s->n_dest; d++) {
        if (s->filters[d].filter != NULL) {
            s->query->engine->filter_bytes -=
                s->filters[d].filter->n_words * sizeof(uint64_t);
            free(s->filters[d].filter);
        }
    }
    free(s->filters);
}

/* ---- rows that are pushed ------------------------------------------------ */

/* What a writer needs to take rows out of its splits. While filters come, it
 * judges them anew whenever twice as many are there. */
struct wi_sieve {
    uint64_t rows; /* of lanes that have a filter, since then */
    uint64_t dropped;
    uint32_t next; /* as many filters as are judged anew */
    uint64_t hashes[WI_SPLIT_ROWS];
    uint32_t idx[WI_SPLIT_ROWS + 8]; /* wi_bloom_keep() */
    bool fed;                        /* the splits write the hashes */
    uint32_t *begin;                 /* [n_lanes] */
    uint32_t *count;
};

static struct wi_sieve *open_sieve(uint32_t n_lanes)
{
    struct wi_sieve *v = calloc(1, sizeof(*v) + 2 * n_lanes * sizeof(uint32_t));
    if (v != NULL) {
        v->next = 1;
        v->begin = (uint32_t *)(v + 1);
        v->count = v->begin + n_lanes;
    }
    return v;
}

/* Asking costs a part of what copying the row does. */
static bool is_useless(const struct wi_lane *lane)
{
    return lane->sifted >= TRIAL_ROWS && lane->filtered < lane->sifted / WORTH;
}

/* Rows of one lane's list that are left, at `out`. */
static uint32_t sift_lane(const struct weir_writer *w, uint32_t d,
                          uint32_t *out)
{
    struct wi_lane *lane = &w->lanes[d];
    const struct wi_split *split = &w->split;
    /* E13 acquire: words of the filter; pairs with E13 release in
     * take_piece() */
    const struct wi_bloom *f = wi_load_acq(&w->shuffle->filters[d].whole);
    const struct wi_bloom_list list = {
        .hashes = w->sieve->hashes,
        .first = split->first,
        .idx = split->idx != NULL ? split->idx + split->begin[d] : NULL,
        .n = split->count[d]};
    w->sieve->rows += f != NULL ? list.n : 0;
    if (f == NULL || lane->done || is_useless(lane)) {
        for (uint32_t i = 0; i < list.n; i++) {
            out[i] = list.idx != NULL ? list.idx[i] : list.first + i;
        }
        return list.n;
    }
    uint32_t kept = wi_bloom_keep(f, &list, wi_isa_best(), out);
    lane->sifted += list.n;
    lane->filtered += list.n - kept;
    w->sieve->dropped += list.n - kept;
    return kept;
}

/* Rows that are dropped have to pay for all: for hashes that are kept, and for
 * lists, without which a writer of many destinations scatters its rows. */
static bool pays(const struct wi_sieve *v)
{
    return v->rows < WRITER_ROWS || v->dropped >= v->rows / WORTH;
}

bool wi_writer_sifts(struct weir_writer *w)
{
    /* E13 acquire: the slots; pairs with E13 release in take_piece() */
    uint32_t n = wi_load_acq(&w->shuffle->n_filters);
    struct wi_sieve *v = w->sieve;
    if (wi_likely(n == 0) || v == NULL) {
        return n != 0;
    }
    if (wi_unlikely(n >= v->next)) {
        v->rows = 0;
        v->dropped = 0;
        v->next = n < w->n_lanes ? wi_min_u32(2 * n, w->n_lanes) : UINT32_MAX;
    }
    return pays(v);
}

/* Splits write the hashes of their rows, or do not need them any more. */
static void feed(struct weir_writer *w, bool fed)
{
    struct wi_sieve *v = w->sieve;
    wi_partition_keep_hashes(w->partition, fed ? v->hashes : NULL);
    v->fed = fed;
}

void wi_writer_sift(struct weir_writer *w)
{
    if (!wi_writer_sifts(w)) {
        return;
    }
    if (w->sieve == NULL) { /* once; without memory the rows stay */
        w->sieve = open_sieve(w->n_lanes);
    }
    struct wi_sieve *v = w->sieve;
    uint32_t at = 0;
    if (v == NULL) {
        return;
    }
    if (!v->fed || w->split.idx == NULL) {
        wi_partition_hashes(w->partition, w->views, w->split.first, w->split.n,
                            v->hashes);
        feed(w, true);
    }
    for (uint32_t d = 0; d < w->n_lanes; d++) {
        v->begin[d] = at;
        v->count[d] = sift_lane(w, d, v->idx + at);
        at += v->count[d];
    }
    w->split.idx = v->idx;
    w->split.begin = v->begin;
    w->split.count = v->count;
    if (!pays(v)) {
        feed(w, false);
    }
}
