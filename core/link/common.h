/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rings whose rows any worker of this node may take (WEIR_TO_NODE).
 *
 *   ring of n1's worker 0 --+                +--> worker 0
 *   ring of n1's worker 1 --+-- ready bits --+--> worker 1
 *   ring of n2's worker 0 --+                +--> worker 2
 *
 * There is no queue of frames. A worker that asks for rows takes a ring that is
 * ready, scans one frame of it as a single reader would, and lets go of it:
 *
 *   IDLE --mark--> READY --take--> TAKEN --leave--> IDLE, or READY: has more
 *                                    | mark
 *                                  AGAIN --leave--> READY
 *
 * The producer of a mapped ring rings the bell of a worker that sleeps, or, if
 * none does, of a certain one. Any worker that has said that it sleeps looks at
 * the rings once more: it may have seemed awake to a producer, and that certain
 * worker may be busy for long.
 *
 * So frames leave a ring in order, one taker at a time, and different workers
 * work on them side by side. Who hears that a ring has data marks it: a worker
 * whose bell names it, or the network thread.
 *
 * Who is woken (edge E17): a worker that asked and got nothing is *hungry*. It
 * sets its bit and looks once more; who makes a ring ready looks at the bits
 * then, takes one of them off and wakes that worker, no other. A worker that
 * takes a frame passes on what is ready besides in the same way. So nobody is
 * woken who is not waiting, and no ready ring is left while a worker is hungry.
 */
#ifndef WI_COMMON_H
#define WI_COMMON_H

#include "core/link/edge.h"

/* State of a ring's turn, wi_in.turn. */
enum wi_turn { WI_TURN_IDLE, WI_TURN_READY, WI_TURN_TAKEN, WI_TURN_AGAIN };

struct wi_common {
    struct wi_rcu_head rcu;
    struct wi_engine *engine; /* constant */
    uint32_t n_expected;      /* constant: producing workers */
    uint32_t n_words;         /* constant: of `ready` */
    /* written by: engine */
    uint64_t takers;            /* bits: workers that have not had enough */
    uint64_t *came;             /* bits: sources whose ring is among them */
    _Atomic uint32_t n_streams; /* E9: streams[0..n_streams) are set */
    struct wi_stream **streams; /* n_expected of them */
    /* written by: takers */
    _Atomic uint32_t n_ended;
    alignas(WI_CACHE_LINE) _Atomic uint64_t hungry; /* bits: workers */
    _Atomic uint64_t fed; /* bits: workers woken, and not here since */
    /* bits: streams that are ready; n_words further on, those of posted rings
     * that were read up to the tail, which the producer does not know yet */
    alignas(WI_CACHE_LINE) _Atomic uint64_t ready[];
};

/** A ring may have data: make it ready. By anyone, under RCU or with a reader
 *  open. Wakes nobody. */
void wi_common_mark(struct wi_common *c, struct wi_in *in);

/** If a ring is ready, wake a hungry worker; `self`, if it is hungry, rather
 *  than others, and by the return value alone: true. WI_ANY_WORKER: no worker
 *  asks. */
bool wi_common_share(struct wi_common *c, uint32_t self);

/** Take a ring that is ready, the first from *turn on, which moves behind it;
 *  NULL: none is. By a worker. */
struct wi_stream *wi_common_take(struct wi_common *c, uint32_t *turn);

/** Let go of it. @param fed  it had a frame, and may have more
 *  True: there is nothing more, and its producer is to be told so by
 *  wi_common_pay() when the worker has nothing else to do. */
bool wi_common_leave(struct wi_common *c, struct wi_stream *st, bool fed);

/** Tell producers that their rings were read, as wi_in_reader_waits(): a
 *  message each, so not while there is work. */
void wi_common_pay(struct wi_common *c);

/** Mark mapped rings that have data and were not marked here: the worker whose
 *  bell names them is busy. */
void wi_common_look(struct wi_common *c);

/** The worker is hungry from now on. False: there is something, or the end:
 *  it is not. */
bool wi_common_hunger(struct wi_common *c, uint32_t worker);

/** The worker asks for rows; or goes to sleep: what it was woken for, and has
 *  not asked for since, is for another one. */
void wi_common_asks(struct wi_common *c, uint32_t worker);
void wi_common_pass_on(struct wi_common *c, uint32_t worker);

/** The worker is hungry no more. False: it was not, or another one has taken
 *  its bit off to wake it. */
bool wi_common_forget(struct wi_common *c, uint32_t worker);

/** The stream that was taken has ended. Wakes everybody at the last one. */
void wi_common_ended(struct wi_common *c);

/** All streams have ended, and so all their rows were taken. */
static inline bool wi_common_complete(const struct wi_common *c)
{
    /* E17 sc: after the worker's bit in `hungry`; pairs with E17 sc in
     * wi_common_ended() */
    return wi_load_sc(&c->n_ended) == c->n_expected;
}

#endif /* WI_COMMON_H */
