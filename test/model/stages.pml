/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finite rings and several stages do not deadlock under the rule of
 * docs/concurrency.md, "Why nothing deadlocks": a worker that is blocked on the
 * output of stage k goes on consuming at every stage after k, and parks only
 * when no stage can move.
 *
 * A plan that is a tree: each of WORKERS workers makes ROWS rows (a row stands
 * for a frame) and shuffles them (stage 1); whoever receives one shuffles it
 * again (stage 2, and 3 with STAGES=3); the last stage swallows it. Any row may
 * go to any worker. One ring per stage, producer and consumer, of RING frames.
 *
 * Mirrors what test/support and tools make of the API: a row in hand is a push
 * that returned WEIR_AGAIN (weir_writer_push() in core/query/writer.c); the
 * stages that may move are tried in every order, not only farthest downstream
 * first, so any scheduler that keeps the rule is covered. Parking is perfect:
 * that a worker wakes when it could move is shown by bell.pml and ring.pml.
 *
 * Mutation, which must be found:
 * -DNO_RULE  a worker that is blocked on an output does nothing but wait for it
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef ROWS
#define ROWS 3
#endif
#ifndef RING
#define RING 1
#endif

/* ring[stage * WORKERS * WORKERS + producer * WORKERS + consumer]: frames */
byte ring[STAGES * WORKERS * WORKERS];
#define at(stage, from, to)                                                  \
    ring[(stage) * WORKERS * WORKERS + (from) * WORKERS + (to)]

byte swallowed;

/* Is a push of this stage or of an earlier one blocked? */
#ifdef NO_RULE
#define free_to_take (hand[0] == NONE && hand[1] == NONE && hand[2] == NONE)
#else
#define free_to_take true
#endif
#define NONE 255

proctype worker(byte me)
{
    byte left = ROWS;
    byte hand[3]; /* hand[k]: where the row in hand goes in stage k, or NONE */
    byte k, from;
    atomic { hand[0] = NONE; hand[1] = NONE; hand[2] = NONE };
    do
    /* the source: a row for anybody */
    :: atomic {
           left > 0 && hand[0] == NONE && free_to_take ->
           left--;
           select(from : 0 .. WORKERS - 1);
           hand[0] = from;
           from = 0
       }
    /* push */
    :: atomic {
           hand[0] != NONE && at(0, me, hand[0]) < RING ->
           at(0, me, hand[0])++;
           hand[0] = NONE
       }
    :: atomic {
           hand[1] != NONE && at(1, me, hand[1]) < RING ->
           at(1, me, hand[1])++;
           hand[1] = NONE
       }
#if STAGES == 3
    :: atomic {
           hand[2] != NONE && at(2, me, hand[2]) < RING ->
           at(2, me, hand[2])++;
           hand[2] = NONE
       }
#endif
    /* take a row of stage k, if there is a hand free for it in stage k + 1 */
#define TAKE(stage, from)                                                    \
    :: atomic {                                                              \
           at(stage, from, me) > 0 && hand[(stage) + 1] == NONE &&           \
               free_to_take ->                                               \
           at(stage, from, me)--;                                            \
           select(k : 0 .. WORKERS - 1);                                     \
           hand[(stage) + 1] = k;                                            \
           k = 0                                                             \
       }
#define SWALLOW(from)                                                        \
    :: atomic {                                                              \
           at(STAGES - 1, from, me) > 0 && free_to_take ->                   \
           at(STAGES - 1, from, me)--;                                       \
           swallowed++                                                       \
       }
    TAKE(0, 0)
    TAKE(0, 1)
    SWALLOW(0)
    SWALLOW(1)
#if STAGES == 3
    TAKE(1, 0)
    TAKE(1, 1)
#endif
#if WORKERS == 3
    TAKE(0, 2)
    SWALLOW(2)
#if STAGES == 3
    TAKE(1, 2)
#endif
#endif
    :: swallowed == WORKERS * ROWS -> break
    od
}

init {
    atomic {
        run worker(0);
        run worker(1);
#if WORKERS == 3
        run worker(2);
#endif
    }
}
