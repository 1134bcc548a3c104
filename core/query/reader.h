/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Readers: the consuming half of a row's path.
 *
 *   bell --collect.c--> ready rings of each reader --scan.c--> next frame
 *        --take.c: check, export--> ArrowArray whose columns lie in the ring
 *        --release, any thread, any order--> head of the ring moves
 *
 * All calls are made by the reader's worker unless they say otherwise.
 */
#ifndef WI_READER_H
#define WI_READER_H

#include <weir/shuffle.h>

#include "core/base/list.h"
#include "core/base/rcu.h"
#include "core/link/edge.h"

struct wi_common;
struct wi_reader_filter;

struct weir_reader {
    struct wi_rcu_head rcu;
    struct weir_shuffle *shuffle;
    struct wi_worker *worker;
    struct wi_list on_worker;
    struct wi_list ready; /* wi_stream with frames; written by: the worker */
    struct wi_list owing; /* wi_stream read up to the tail, in the order in
                           * which they were; the same */
    struct wi_list full;  /* wi_stream without room for more; the same */
    uint32_t progress;    /* the worker's when this reader last had nothing */
    uint32_t idle_looks;  /* how often it has had nothing since then */
    _Atomic uint32_t n_streams; /* E9: streams[0..n_streams) are set */
    struct wi_stream **streams; /* n_sources of them */
    uint64_t *came; /* bits, engine's: sources whose stream is among them */
    uint32_t n_expected;
    uint32_t n_ended;         /* of its own streams */
    struct wi_common *common; /* constant; all its streams are in it; NULL: they
                               * are its own */
    uint32_t turn;            /* there: where it looks next */
    bool owes;                /* there: rings read up to the tail, */
    uint64_t owing_ns;        /* since then */
    uint64_t opened_ns;
    bool stopped;                    /* written under the node's lock */
    struct wi_reader_filter *filter; /* written by: the worker; NULL: none */
    uint32_t last_member;
    uint32_t last_worker;
    struct weir_error error; /* of the last call that failed here */
};

/** Has the stream had its END? By its worker. */
static inline bool wi_stream_has_ended(const struct wi_stream *st)
{
    return wi_load_rlx(&st->ended); /* rlx: our own; reports look at it */
}

/** A ring of the reader may have frames: put it on the ready list. */
static inline void wi_reader_make_ready(struct weir_reader *r,
                                        struct wi_stream *st)
{
    if (wi_list_empty(&st->ready)) {
        wi_list_push_back(&r->ready, &st->ready);
    }
}

/** Send the credits that are held back while the worker has other work. */
void wi_reader_pay(struct weir_reader *r);

/** The worker goes to sleep. If it was woken for rows that others may take as
 *  well, and did not ask for them, they are for another one. */
void wi_reader_pass_on(struct weir_reader *r);

/** A last look of a worker that has said that it sleeps, at the rings that it
 *  has in common with others. True: there is something for it. Under the node's
 *  lock: whoever closes its query may close the rings' memory, too. */
bool wi_readers_look(struct wi_worker *w);

/** Were all ends reached, and everything reconciled? */
bool wi_reader_complete(const struct weir_reader *r);

/** After WEIR_HELD: is there a producer that has room, or one that has not come
 *  yet? */
bool wi_reader_may_get(struct weir_reader *r);

/** Does it wait for producers of a member that have not come yet? Under the
 *  node's lock. */
bool wi_reader_expects(const struct weir_reader *r, uint32_t member);

#endif /* WI_READER_H */
